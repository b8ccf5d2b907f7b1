# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Newton-Euler against the loops of the textbook and against what physics demands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from reference import dynamics as textbook
from reference.sampling import agree, seeds, trees
from scipy.spatial.transform import Rotation

import phalanx as px
from phalanx.model import gravity_twist, joint_kinematics
from phalanx.schedule.sequential import Sequential
from phalanx.spatial import motion_cross
from phalanx.sweeps import ordering, propagate


@given(trees(), seeds)
def test_it_agrees_with_the_textbook(robot: px.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, qd, qdd = robot.random_state(rng=rng)
    more = {
        "external": rng.standard_normal((robot.n_links, 6)),
        "base_velocity": rng.standard_normal(6),
        "base_acceleration": rng.standard_normal(6),
    }
    agree(robot.inverse_dynamics(q, qd, qdd, **more), textbook.inverse_dynamics(robot, q, qd, qdd, **more))


@given(trees(types=("revolute", "prismatic", "helical", "fixed", "universal")), seeds)
def test_twists_and_accelerations_of_the_bodies_agree_too(robot: px.Robot, seed: int) -> None:
    q, qd, qdd = robot.random_state(rng=seed)
    model = robot.model
    with ordering(Sequential(model.parents)):
        X, S, cJ = joint_kinematics(model, q)
        VJ = S @ qd
        V = propagate(X, VJ)
        Vd = propagate(X, S @ qdd + cJ + motion_cross(V, VJ), root=-gravity_twist(model))
    twists, rates = model.link_frame @ V[model.links], model.link_frame @ Vd[model.links]
    wanted_V, wanted_Vd = {}, {}
    for b in textbook.bodies(robot, q, qd):
        VJ = b.S @ qd[b.v]
        wanted_V[b.name] = b.X @ wanted_V.get(b.parent, np.zeros(6)) + VJ
        above = wanted_Vd.get(b.parent, np.r_[0.0, 0.0, 0.0, -robot.gravity])
        wanted_Vd[b.name] = b.X @ above + b.S @ qdd[b.v] + b.cJ + textbook.ad(wanted_V[b.name]) @ VJ
    agree(twists, np.array([wanted_V[n] for n in robot.link_names]))
    agree(rates, np.array([wanted_Vd[n] for n in robot.link_names]))


@given(trees(), seeds)
def test_bias_and_gravity_forces_are_its_special_cases(robot: px.Robot, seed: int) -> None:
    q, qd, _ = robot.random_state(rng=seed)
    zero = np.zeros(robot.nv)
    agree(robot.bias_forces(q, qd), robot.inverse_dynamics(q, qd, zero), 1e-14)
    agree(robot.gravity_forces(q), robot.inverse_dynamics(q, zero, zero), 1e-12)


@given(trees(), seeds)
def test_gravity_equals_a_base_that_accelerates_upward(robot: px.Robot, seed: int) -> None:
    state = robot.random_state(rng=seed)
    lift = np.r_[0.0, 0.0, 0.0, -robot.gravity]
    agree(
        robot.replace(gravity=(0.0, 0.0, 0.0)).inverse_dynamics(*state, base_acceleration=lift),
        robot.inverse_dynamics(*state),
        1e-13,
    )


@given(trees(), seeds)
def test_a_wrench_on_a_link_acts_through_its_jacobian(robot: px.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, qd, qdd = robot.random_state(rng=rng)
    link = int(rng.integers(robot.n_links))
    wrench = rng.standard_normal(6)
    external = np.zeros((robot.n_links, 6))
    external[link] = wrench
    R = robot.forward_kinematics(q)[link, :3, :3]
    in_world = np.r_[R @ wrench[:3], R @ wrench[3:]]
    wanted = robot.inverse_dynamics(q, qd, qdd) - robot.jacobian(q, robot.link_names[link]).T @ in_world
    agree(robot.inverse_dynamics(q, qd, qdd, external=external), wanted)


@given(trees(types=("revolute", "prismatic", "helical", "spherical", "planar")), seeds)
def test_a_moving_base_equals_the_base_of_a_floating_robot(robot: px.Robot, seed: int) -> None:
    fixed = px.Robot(replace(robot.description, floating_base=False))
    if fixed.nv == 0:
        return
    floating = fixed.with_floating_base()
    rng = np.random.default_rng(seed)
    q, qd, qdd = fixed.random_state(rng=rng)
    velocity, acceleration = rng.standard_normal((2, 6))
    home = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    wanted = floating.inverse_dynamics(np.r_[home, q], np.r_[velocity, qd], np.r_[acceleration, qdd])
    moved = fixed.inverse_dynamics(q, qd, qdd, base_velocity=velocity, base_acceleration=acceleration)
    agree(moved, wanted[6:], 1e-10)


@given(trees(), seeds)
def test_the_base_frame_does_not_matter(robot: px.Robot, seed: int) -> None:
    fixed = px.Robot(replace(robot.description, floating_base=False))
    if fixed.nv == 0:
        return
    rng = np.random.default_rng(seed)
    R = Rotation.from_quat(rng.standard_normal(4)).as_matrix()
    T = textbook.pose(R, rng.standard_normal(3))
    moved = textbook.mounted(fixed, T).replace(gravity=R @ fixed.gravity)
    q, qd, qdd = fixed.random_state(rng=rng)
    agree(moved.inverse_dynamics(q, qd, qdd), fixed.inverse_dynamics(q, qd, qdd))
    agree(moved.mass_matrix(q), fixed.mass_matrix(q))
    poses = T @ fixed.forward_kinematics(q)
    agree(moved.forward_kinematics(q), poses)
    agree(moved.center_of_mass(q), (T @ np.r_[fixed.center_of_mass(q), 1.0])[:3])


@given(trees(types=("spherical", "floating", "revolute")), seeds)
def test_the_length_of_quaternions_does_not_matter(robot: px.Robot, seed: int) -> None:
    q, qd, qdd = robot.random_state(rng=seed)
    stretched = q.copy()
    for name, part in robot.q_slices.items():
        size = part.stop - part.start
        if size in (4, 7):
            stretched[part.stop - 4 : part.stop] *= -3.7 if name == "joint1" else 0.01
    agree(robot.inverse_dynamics(stretched, qd, qdd), robot.inverse_dynamics(q, qd, qdd))


def test_a_pendulum_feels_its_weight() -> None:
    builder = px.RobotBuilder("pendulum")
    builder.add_link("base")
    builder.add_link("bob", mass=2.0, com=(0.5, 0.0, 0.0))
    builder.add_joint("hinge", "revolute", "base", "bob", axis=(0.0, 1.0, 0.0))
    tau = builder.build().gravity_forces([0.0])
    assert tau == pytest.approx([-2.0 * 9.81 * 0.5], rel=1e-14)
