# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What physics demands of inverse dynamics, whatever the algorithm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.transform import Rotation

import phalanx as px
from reference import dynamics as textbook
from reference.sampling import agree, seeds, trees

pytestmark = pytest.mark.usefixtures("auto_is_numpy")

each_algorithm = pytest.mark.parametrize(
    "algorithm",
    [a.name for a in px.algorithms("inverse_dynamics") if (a.topology, a.joints) == ("tree", "all")],
)


@each_algorithm
@given(robot=trees(), seed=seeds)
def test_gravity_equals_a_base_that_accelerates_upward(algorithm: str, robot: px.Robot, seed: int) -> None:
    state = robot.random_state(rng=seed)
    lift = np.r_[0.0, 0.0, 0.0, -robot.gravity]
    agree(
        robot.replace(gravity=(0.0, 0.0, 0.0)).inverse_dynamics(
            *state, base_acceleration=lift, algorithm=algorithm
        ),
        robot.inverse_dynamics(*state, algorithm=algorithm),
        1e-13,
    )


@each_algorithm
@given(robot=trees(), seed=seeds)
def test_a_wrench_on_a_link_acts_through_its_jacobian(algorithm: str, robot: px.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, qd, qdd = robot.random_state(rng=rng)
    link = int(rng.integers(robot.n_links))
    wrench = rng.standard_normal(6)
    external = np.zeros((robot.n_links, 6))
    external[link] = wrench
    R = robot.forward_kinematics(q)[link, :3, :3]
    in_world = np.r_[R @ wrench[:3], R @ wrench[3:]]
    wanted = (
        robot.inverse_dynamics(q, qd, qdd, algorithm=algorithm)
        - robot.jacobian(q, robot.link_names[link]).T @ in_world
    )
    agree(robot.inverse_dynamics(q, qd, qdd, external=external, algorithm=algorithm), wanted)


@each_algorithm
@given(robot=trees(types=("revolute", "prismatic", "helical", "spherical", "planar")), seed=seeds)
def test_a_moving_base_equals_the_base_of_a_floating_robot(
    algorithm: str, robot: px.Robot, seed: int
) -> None:
    fixed = px.Robot(replace(robot.description, floating_base=False))
    if fixed.nv == 0:
        return
    floating = fixed.with_floating_base()
    rng = np.random.default_rng(seed)
    q, qd, qdd = fixed.random_state(rng=rng)
    velocity, acceleration = rng.standard_normal((2, 6))
    home = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    wanted = floating.inverse_dynamics(
        np.r_[home, q], np.r_[velocity, qd], np.r_[acceleration, qdd], algorithm=algorithm
    )
    moved = fixed.inverse_dynamics(
        q, qd, qdd, base_velocity=velocity, base_acceleration=acceleration, algorithm=algorithm
    )
    agree(moved, wanted[6:], 1e-10)


@each_algorithm
@given(robot=trees(), seed=seeds)
def test_the_base_frame_does_not_matter(algorithm: str, robot: px.Robot, seed: int) -> None:
    fixed = px.Robot(replace(robot.description, floating_base=False))
    if fixed.nv == 0:
        return
    rng = np.random.default_rng(seed)
    R = Rotation.from_quat(rng.standard_normal(4)).as_matrix()
    T = textbook.pose(R, rng.standard_normal(3))
    moved = textbook.mounted(fixed, T).replace(gravity=R @ fixed.gravity)
    q, qd, qdd = fixed.random_state(rng=rng)
    agree(
        moved.inverse_dynamics(q, qd, qdd, algorithm=algorithm),
        fixed.inverse_dynamics(q, qd, qdd, algorithm=algorithm),
    )
    agree(moved.mass_matrix(q), fixed.mass_matrix(q))
    poses = T @ fixed.forward_kinematics(q)
    agree(moved.forward_kinematics(q), poses)
    agree(moved.center_of_mass(q), (T @ np.r_[fixed.center_of_mass(q), 1.0])[:3])


@each_algorithm
@given(robot=trees(types=("spherical", "floating", "revolute")), seed=seeds)
def test_the_length_of_quaternions_does_not_matter(algorithm: str, robot: px.Robot, seed: int) -> None:
    q, qd, qdd = robot.random_state(rng=seed)
    stretched = q.copy()
    for name, part in robot.q_slices.items():
        size = part.stop - part.start
        if size in (4, 7):
            stretched[part.stop - 4 : part.stop] *= -3.7 if name == "joint1" else 0.01
    agree(
        robot.inverse_dynamics(stretched, qd, qdd, algorithm=algorithm),
        robot.inverse_dynamics(q, qd, qdd, algorithm=algorithm),
    )
