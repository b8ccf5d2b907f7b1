# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A chain in segments: against Pinocchio, the serial recursion and fifty digits, however it is cut."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import find
from phalanx.algorithms.regularisation import shifted_inertia
from phalanx.study.accuracy import exact_result, relative_error
from phalanx.sweeps.orders.segments import starts
from reference.chains import (
    KINDS,
    SIZES,
    agrees_with_articulated_bodies,
    agrees_with_pinocchio,
    chain,
    chains_of_all_types,
    error,
    hard_state,
    pinocchio_accelerations,
    scaled,
)
from reference.sampling import agree

pytestmark = pytest.mark.usefixtures("auto_is_numpy")

COUNTS = (1, 2, 3, 8, 9, 200)


def cut(count: Any) -> Any:
    return ("partition", {"segments": count})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_it_agrees_with_pinocchio(kind: str, n: int) -> None:
    agrees_with_pinocchio(cut(8), kind, n)


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_three_hundred_mixed_links_agree_with_pinocchio(backend: str) -> None:
    robot = chain(300, "mixed")
    q, qd, tau = robot.random_state((2,), rng=1)
    wanted = pinocchio_accelerations(robot, q, qd, tau)
    for count in (8, 13):
        found = robot.forward_dynamics(q, qd, tau, algorithm=cut(count), backend=backend)
        agree(found, wanted, 1e-9)


@pytest.mark.parametrize(
    ("count", "n", "backend"),
    [
        *((count, n, "numpy") for count in COUNTS for n in (1, 10, 37)),
        *((count, (37, 10)[k % 2], "native") for k, count in enumerate(COUNTS)),
        (8, 1, "native"),
    ],
)
def test_any_number_of_segments_gives_the_same(count: int, n: int, backend: str) -> None:
    robot = chain(n, "prismatic").replace(armature=0.01)
    q, qd, tau = robot.random_state(3, rng=n)
    wanted = robot.forward_dynamics(q, qd, tau, algorithm="aba", backend="numpy")
    found = robot.forward_dynamics(q, qd, tau, algorithm=cut(count), backend=backend)
    agree(found, wanted, 1e-11)


@pytest.mark.parametrize("count", [2, 5])
def test_it_covers_all_joint_types_wherever_it_cuts(count: int) -> None:
    for k, robot in enumerate(chains_of_all_types()):
        agrees_with_articulated_bodies(cut(count), robot, k)


@pytest.mark.parametrize("case", ["random", "mass ratio", "light links", "light tail", "heavy tip"])
@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_ten_digits_remain_where_the_serial_recursion_keeps_them(case: str, backend: str) -> None:
    robot, q, qd, tau, exact = hard_state(case, 100)
    found = robot.forward_dynamics(q, qd, tau, algorithm=cut(8), backend=backend)
    assert relative_error(found, exact) < max(1e-10, 10.0 * error("aba", case, 100))


@pytest.mark.parametrize(
    "joints", [("spherical",), ("spherical", "revolute", "prismatic"), ("universal", "planar")]
)
@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_joints_with_several_axes_keep_their_digits(joints: tuple[str, ...], backend: str) -> None:
    robot, q, qd, tau, exact = several_axes(joints)
    for count in (3, 8):
        found = robot.forward_dynamics(q, qd, tau, algorithm=cut(count), backend=backend)
        assert relative_error(found, exact) < 1e-10


@cache
def several_axes(joints: tuple[str, ...]) -> tuple[Any, ...]:
    """(robot, q, qd, tau, exact accelerations) of forty joints on a free base."""
    robot = px.tree(40, 0.0, seed=7, joints=joints).with_floating_base()
    state = robot.random_state(1, rng=7)
    return robot, *state, exact_result(robot, "forward_dynamics", list(state))


def test_without_a_shifted_inertia_light_tips_leave_no_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    tips = set((starts(np.arange(64), 8)[1:] - 1).tolist())
    robot = scaled(chain(64), lambda i: 1e-9 if i in tips else 1.0)
    q, qd, tau = robot.random_state(rng=0)
    wanted = robot.forward_dynamics(q, qd, tau, algorithm="aba", backend="numpy")

    def off() -> float:
        found = robot.forward_dynamics(q, qd, tau, algorithm=cut(8), backend="numpy")
        return float(np.abs(found - wanted).max() / np.abs(wanted).max())

    assert off() < 1e-10
    text = find("forward_dynamics", "partition").run
    nothing = lambda model: shifted_inertia(model).map(lambda a, _: a * 0.0)  # noqa: E731
    monkeypatch.setitem(text.__globals__, "shifted_inertia", nothing)
    assert off() > 1e-6


@pytest.mark.parametrize(("case", "bound"), [("random", 9e-13), ("heavy tip", 2e-9)])
def test_a_thousand_links_keep_their_digits(case: str, bound: float) -> None:
    # Another implementation of segments, in one frame each, was off by 9e-13 and 9e-9.
    robot, q, qd, tau, exact = hard_state(case, 1000)
    for backend in ("numpy", "native"):
        found = robot.forward_dynamics(q, qd, tau, algorithm="partition", backend=backend)
        assert relative_error(found, exact) < bound


def test_short_chains_are_cut_less_often_unless_told() -> None:
    assert starts(np.arange(15), None).tolist() == [0]
    assert starts(np.arange(40), None).tolist() == [0, 20]
    assert len(starts(np.arange(1000), None)) == 8
    assert starts(np.arange(10), 8).tolist() == [0, 1, 2, 3, 5, 6, 7, 8]
    assert starts(np.arange(3), 8).tolist() == [0, 1, 2]


def test_trees_are_refused_with_algorithms_that_cover_them() -> None:
    robot = px.tree(6, 0.9, seed=1)
    with pytest.raises(px.PhalanxError, match=r'"partition" does not cover .* it branches; use "aba"'):
        robot.forward_dynamics(*robot.random_state(rng=0), algorithm="partition")


@pytest.mark.parametrize("count", [0, -1, 2.0, True, "8", None])
def test_what_is_no_number_of_segments_is_refused(count: Any) -> None:
    robot = chain(3)
    with pytest.raises(px.PhalanxError, match=r"segments=.*, expected an integer from 1 on"):
        robot.forward_dynamics(*robot.random_state(rng=0), algorithm=("partition", {"segments": count}))


def test_whole_numbers_of_numpy_count_segments() -> None:
    robot = chain(10)
    state = robot.random_state(rng=0)
    found = [robot.forward_dynamics(*state, algorithm=cut(k), backend="numpy") for k in (3, np.int64(3))]
    np.testing.assert_array_equal(*found)
