# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The articulated-body algorithm against inverse dynamics and the textbook."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import phalanx as px
from reference import dynamics as textbook
from reference.sampling import agree, conditioning, seeds, trees

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


@given(trees(), seeds)
def test_it_inverts_newton_euler(robot: px.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, qd, qdd = robot.random_state((2,), rng=rng)
    external = rng.standard_normal((2, robot.n_links, 6))
    tau = robot.inverse_dynamics(q, qd, qdd, external=external)
    M = robot.mass_matrix(q)
    back = robot.forward_dynamics(q, qd, tau, external=external, algorithm="aba")
    # The forces themselves are rounded, which the inverse of M magnifies.
    growth = float(np.abs(np.linalg.inv(M)).sum(-1).max() * np.abs(tau).max() / np.abs(qdd).max())
    agree(back, qdd, 1e-14 * (growth + conditioning(M)) + 1e-12)


@given(trees(), seeds)
def test_it_agrees_with_the_textbook(robot: px.Robot, seed: int) -> None:
    q, qd, tau = robot.random_state(rng=seed)
    tolerance = 1e-14 * conditioning(robot.mass_matrix(q)) + 1e-11
    agree(
        robot.forward_dynamics(q, qd, tau, algorithm="aba"),
        textbook.forward_dynamics(robot, q, qd, tau),
        tolerance,
    )


@given(trees(), seeds)
def test_a_falling_robot_feels_no_weight(robot: px.Robot, seed: int) -> None:
    if not robot.description.floating_base:
        robot = robot.with_floating_base()
    rest = robot.random_state(rng=seed)[0]
    zero = np.zeros(robot.nv)
    qdd = robot.forward_dynamics(rest, zero, zero)
    R = robot.forward_kinematics(rest)[0, :3, :3]
    fall = np.r_[np.zeros(3), R.T @ robot.gravity, zero[6:]]
    if (robot.armature == 0.0).all():
        agree(qdd, fall, 1e-11 * max(1.0, conditioning(robot.mass_matrix(rest)) / 1e3))


def test_coupled_robots_are_refused_with_the_algorithm_that_serves_them() -> None:
    builder = px.RobotBuilder("gripper")
    builder.add_link("palm", mass=1.0)
    for side in ("left", "right"):
        builder.add_link(side, mass=0.1, com=(0.1, 0.0, 0.0), inertia=(1e-3,) * 3)
    builder.add_joint("left_joint", "revolute", "palm", "left")
    builder.add_joint("right_joint", "revolute", "palm", "right", mimic=("left_joint", -1.0, 0.0))
    robot = builder.build()
    message = (
        'forward_dynamics: algorithm "aba" does not cover robot "gripper" with its mimic joints; '
        'use "jsiia", or load the robot with mimic="independent".'
    )
    with pytest.raises(px.PhalanxError) as caught:
        robot.forward_dynamics([0.1], [0.0], [0.0], algorithm="aba")
    assert str(caught.value) == message
