# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inertia shifted across joints: every link has an inverse inertia, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import find
from phalanx.robot.inertia_shift import is_definite
from phalanx.spatial import dense
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import ordering
from reference.chains import pinocchio_accelerations
from reference.sampling import agree

ARMS = ("puma560", "stanford", "two_link")
SOLID = {"mass": 1.0, "com": (0.3, 0.1, -0.2), "inertia": (0.1, 0.12, 0.09)}
POINT = {"mass": 1.0, "com": (0.3, 0.1, -0.2)}


def arm(links: list[dict[str, Any]], kinds: tuple[str, ...] = ("revolute",)) -> px.Robot:
    """A chain of links with joints of these types in turn, its axes in different directions."""
    builder, last = px.RobotBuilder("arm"), "base"
    builder.add_link("base")
    rng = np.random.default_rng(3)
    for k, link in enumerate(links):
        builder.add_link(f"link{k}", **link)
        axis = rng.standard_normal(3)
        builder.add_joint(
            f"joint{k}", kinds[k % len(kinds)], last, f"link{k}", axis=axis, origin=(0.4, 0.1, 0.2)
        )
        last = f"link{k}"
    return builder.build()


CASES = {
    "point mass at the tip": arm([SOLID, SOLID, POINT]),
    "point masses": arm([POINT, POINT, POINT]),
    "slides": arm([SOLID, POINT, SOLID, POINT], ("revolute", "prismatic")),
    "screws": arm([SOLID, {"mass": 2.0}, SOLID], ("helical",)),
    "massless links": arm([SOLID, {}, SOLID, {}, SOLID]),
    "massless link on the world": arm([{}, SOLID, SOLID]),
}


@pytest.mark.parametrize("name", [*ARMS, *CASES])
def test_every_link_has_an_inverse_inertia(name: str) -> None:
    model = (px.load(name) if name in ARMS else CASES[name]).model
    assert not is_definite(model.inertia[model.links]).all()
    shifted = model.definite_inertia[model.links]
    assert is_definite(shifted).all()
    assert (np.linalg.eigvalsh(dense(shifted)) > 0.0).all()


@pytest.mark.parametrize("name", [*ARMS, *CASES])
def test_forces_and_accelerations_stay(name: str) -> None:
    robot = px.load(name) if name in ARMS else CASES[name]
    model, shifted = robot.model, replace(robot.model, inertia=robot.model.definite_inertia)
    q, qd, qdd = robot.random_state((5,), rng=2)
    newton_euler = find("inverse_dynamics", "newton_euler")
    with ordering(Sequential(model.parents)):
        agree(newton_euler(shifted, q, qd, qdd), newton_euler(model, q, qd, qdd), 1e-12)


@pytest.mark.parametrize("name", ["point mass at the tip", "slides", "massless links"])
@pytest.mark.parametrize("algorithm", ["cfa", ("cfa", {"solver": "serial", "bias": "global"}), "dca"])
def test_constraint_forces_agree_with_pinocchio(name: str, algorithm: Any) -> None:
    robot = CASES[name]
    q, qd, tau = robot.random_state((3,), rng=4)
    found = robot.forward_dynamics(q, qd, tau, algorithm=algorithm, backend="numpy")
    agree(found, pinocchio_accelerations(robot, q, qd, tau), 1e-9)


@pytest.mark.parametrize("name", ARMS)
def test_arms_run_by_constraint_forces(name: str) -> None:
    robot = px.load(name)
    q, qd, tau = robot.random_state((20,), rng=1)
    wanted = robot.forward_dynamics(q, qd, tau, algorithm="aba", backend="numpy")
    for algorithm in ("cfa", ("cfa", {"solver": "odd_even", "bias": "global"}), "dca"):
        found = robot.forward_dynamics(q, qd, tau, algorithm=algorithm, backend="numpy")
        agree(found, wanted, 1e-11)


def test_compiled_kernels_have_the_shift() -> None:
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    robot = px.load("two_link")
    state = robot.random_state((20,), rng=1)
    wanted = robot.forward_dynamics(*state, algorithm="aba", backend="numpy")
    agree(robot.forward_dynamics(*state, algorithm="cfa", backend="native"), wanted, 1e-12)


def test_definite_links_stay_as_they_are() -> None:
    for robot in (px.load("panda"), px.chain(5)):
        assert robot.model.inertia_shift is None
        assert robot.model.definite_inertia is robot.model.inertia


def test_more_point_masses_in_a_row_than_digits_allow_are_refused() -> None:
    robot = arm([POINT] * 8)
    with pytest.raises(px.PhalanxError, match=r'the inertia of link "link\d" has no inverse; use "aba"'):
        robot.forward_dynamics(*robot.random_state(rng=0), algorithm="cfa")
