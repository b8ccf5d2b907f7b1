# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Zomaya and Morris's equations against the form of Luh, Walker and Paul, and on special arms."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from reference.sampling import agree

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


@pytest.mark.parametrize("name", ["puma560", "ur5", "panda", "iiwa14"])
def test_both_ways_of_taking_moments_agree(name: str) -> None:
    # (12) takes moments of the updated f_i, Table 2 of Lathrop those of what the next link hands down.
    robot = px.load(name)
    state = robot.random_state((20,), rng=0)
    external = np.random.default_rng(1).standard_normal((robot.n_links, 6))
    agree(
        robot.inverse_dynamics(*state, external=external, algorithm="zomaya_morris"),
        robot.inverse_dynamics(*state, external=external, algorithm="luh_walker_paul"),
        1e-13,
    )


def test_the_third_torque_of_a_puma_is_a_component_of_its_moment() -> None:
    # The paper projects on the wrong one: alpha_3 is a right angle, so A_3' z0 = (0, 1, 0).
    from phalanx.robot.dh.chain import axes

    alpha = np.deg2rad([-90.0, 0.0, 90.0, -90.0, 90.0, 0.0])
    rows = [{"a": 0.1 * k, "alpha": float(x), "d": 0.2, "mass": 1.0} for k, x in enumerate(alpha)]
    robot = px.Robot.from_dh(rows, convention="standard")
    agree(axes(robot.model.dh)[2], [0.0, 1.0, 0.0], 0.0)
