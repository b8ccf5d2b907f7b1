# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The chain rule along Newton-Euler beside the algorithm with the fewest operations."""

from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.sampling import agree

FUNCTION = "inverse_dynamics_derivatives"


def count(robot: px.Robot, algorithm: str) -> int:
    return px.cost(robot, FUNCTION, algorithm).total


@pytest.mark.parametrize("robot", ["ur5", "panda", "puma560"])
def test_auto_is_the_cheaper_one(robot: Any) -> None:
    robot = px.load(robot)
    assert count(robot, "auto") == count(robot, "idsva") < count(robot, "carpentier_mansard")


def test_work_grows_with_links_times_depth() -> None:
    chains = [count(px.chain(n), "carpentier_mansard") for n in (4, 8, 16)]
    assert 3.0 < chains[2] / chains[1] < 5.5  # a cube would give eight
    # Joints on other branches change nothing: a column has as many bodies as stand above and below.
    bush = px.tree(16, branching=1.0, seed=0)
    assert count(bush, "carpentier_mansard") < 0.6 * chains[2]


def test_gives_what_the_other_algorithm_gives_for_other_inertias() -> None:
    robot = px.load("ur5")
    inputs = robot.random_state(4, rng=0)
    inertias = robot.inertial_parameters.reshape(-1, 10) * np.linspace(1.0, 2.0, 4)[:, None, None]
    one, other = (
        robot.inverse_dynamics_derivatives(*inputs, inertias=inertias, algorithm=name, backend="numpy")
        for name in ("idsva", "carpentier_mansard")
    )
    for mine, theirs in zip(other, one, strict=True):
        agree(mine, theirs, 1e-13)
