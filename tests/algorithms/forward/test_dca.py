# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Divide and conquer: against Pinocchio, articulated bodies and fifty digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import phalanx as px
from reference.chains import (
    KINDS,
    SIZES,
    agrees_with_articulated_bodies,
    agrees_with_pinocchio,
    chain,
    chains_of_all_types,
    error,
)
from reference.sampling import seeds, trees

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


@pytest.mark.parametrize("kind", KINDS)
def test_it_agrees_with_pinocchio(kind: str) -> None:
    for n in (*SIZES, 5, 9):
        agrees_with_pinocchio("dca", kind, n)


def test_it_covers_all_joint_types() -> None:
    for k, robot in enumerate(chains_of_all_types()):
        agrees_with_articulated_bodies("dca", robot, k, scale=1e3)


def test_three_hundred_links_agree_with_the_serial_recursion() -> None:
    robot = chain(300, "mixed")
    q, qd, tau = robot.random_state(rng=1)
    found, wanted = (robot.forward_dynamics(q, qd, tau, algorithm=a) for a in ("dca", "aba"))
    assert np.abs(found - wanted).max() < 1e-9 * np.abs(wanted).max()


def test_it_loses_digits_on_light_links_and_none_under_a_heavy_tip() -> None:
    assert error("dca", "random", 100) < 1e-12
    assert error("dca", "heavy tip", 100) < 1e-2 * error("aba", "heavy tip", 100)
    assert error("dca", "light links", 100) > 1e3 * error("aba", "light links", 100)


@given(trees(largest=14), seeds)
def test_trees_agree_with_articulated_bodies(robot: px.Robot, seed: int) -> None:
    agrees_with_articulated_bodies("dca", robot, seed, scale=1e3)


@pytest.mark.parametrize(
    "robot", [px.generators.dill(6), px.tree(200, 0.2, seed=1), px.tree(200, 1.0, seed=2)]
)
def test_large_trees_agree_with_articulated_bodies(robot: px.Robot) -> None:
    q, qd, tau = robot.random_state((2,), rng=1)
    found, wanted = (robot.forward_dynamics(q, qd, tau, algorithm=a) for a in ("dca", "aba"))
    assert np.abs(found - wanted).max() < 1e-10 * np.abs(wanted).max()


def test_two_arms_on_the_world_do_not_feel_each_other() -> None:
    builder = px.RobotBuilder("pair")
    builder.add_link("base")
    for side, count in (("left", 1), ("right", 4)):
        last = "base"
        for i in range(count):
            name = f"{side}{i}"
            builder.add_link(name, mass=1.0 + i, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25))
            builder.add_joint(f"{name}_joint", "revolute", last, name, axis=(0.0, i % 2, 1.0))
            last = name
    robot = builder.build()
    agrees_with_articulated_bodies("dca", robot, 1)
    q, qd, tau = robot.random_state(rng=2)
    before = robot.forward_dynamics(q, qd, tau, algorithm="dca")
    after = robot.forward_dynamics(q, qd, tau + np.eye(5)[0], algorithm="dca")
    assert np.array_equal(before[1:], after[1:])
