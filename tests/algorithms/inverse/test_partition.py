# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse dynamics of a chain in segments: against Pinocchio, the serial recursion and extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import find
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import ordering
from reference.chains import KINDS, SIZES, chain, chains_of_all_types, pinocchio_chain
from reference.sampling import agree

BACKENDS = ("numpy", "native")


def cut(count: Any) -> Any:
    return ("partition", {"segments": count})


def pinocchio_forces(robot: px.Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """Joint forces of a chain of one-axis joints by Pinocchio."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    model, _ = pinocchio_chain(robot)
    data = model.createData()
    return np.array([pin.rnea(model, data, *state) for state in zip(q, qd, qdd, strict=True)])


@pytest.mark.parametrize("kind", KINDS)
def test_it_agrees_with_pinocchio(kind: str) -> None:
    for n in SIZES:
        robot = chain(n, kind)
        state = robot.random_state((2,), rng=n)
        wanted = pinocchio_forces(robot, *state)
        for count, backend in ((8, "numpy"), (8, "native"), (13, "native")):
            found = robot.inverse_dynamics(*state, algorithm=cut(count), backend=backend)
            agree(found, wanted, 1e-11)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("count", [1, 2, 3, 8, 9, 200])
def test_any_number_of_segments_gives_the_same(count: int, backend: str) -> None:
    for n in (1, 10, 37):
        robot = chain(n, "prismatic").replace(armature=0.01)
        state = robot.random_state(3, rng=n)
        wanted = robot.inverse_dynamics(*state, algorithm="newton_euler", backend="numpy")
        agree(robot.inverse_dynamics(*state, algorithm=cut(count), backend=backend), wanted, 1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_all_joint_types_wrenches_and_a_moving_base(backend: str, every: bool) -> None:
    for k, robot in enumerate(chains_of_all_types()):
        rng = np.random.default_rng(k)
        state = robot.random_state((2, 2), rng=rng)
        given = {
            "external": rng.standard_normal((2, 2, robot.n_links, 6)),
            "base_velocity": rng.standard_normal((2, 2, 6)),
            "base_acceleration": rng.standard_normal((2, 2, 6)),
        }
        alone = [(), *((name,) for name in given)]
        for names in [*alone, tuple(given)] if every else [(alone[k % 4], tuple(given))[backend == "native"]]:
            more = {name: given[name] for name in names}
            wanted = robot.inverse_dynamics(*state, algorithm="newton_euler", backend="numpy", **more)
            found = robot.inverse_dynamics(*state, algorithm=cut(3), backend=backend, **more)
            agree(found, wanted, 1e-11)


def test_the_motion_along_segments_is_that_along_links() -> None:
    # A chain of one segment has nothing to join: the equations are those of the serial recursion.
    robot = chain(30, "mixed")
    q, qd, qdd = robot.random_state(2, rng=0)
    with ordering(Sequential(robot.model.parents, robot.model.pattern)):
        one, serial = (
            find("inverse_dynamics", name).run(robot.model, q, qd, qdd, **options)
            for name, options in (("partition", {"segments": 1}), ("cartesian_tensor", {}))
        )
    np.testing.assert_array_equal(one, serial)


@pytest.mark.parametrize("make", [px.chain, px.snake, lambda n: px.chain(n, prismatic=0.4)])
def test_it_is_as_accurate_as_the_serial_recursion(make: Any) -> None:
    robot = make(160)
    found = px.accuracy(robot, "inverse_dynamics", algorithm="partition", states=4)
    assert found.digits_lost < 0.7
    assert found.error < 1e-13
