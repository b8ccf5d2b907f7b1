# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Newton-Euler against the loops of the textbook and against what physics demands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import phalanx as px
from phalanx.robot.model import gravity_twist, joint_kinematics
from phalanx.spatial import motion_cross
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import ordering, propagate
from reference import dynamics as textbook
from reference.sampling import agree, seeds, trees

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


@given(trees(), seeds)
def test_it_agrees_with_the_textbook(robot: px.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, qd, qdd = robot.random_state(rng=rng)
    more = {
        "external": rng.standard_normal((robot.n_links, 6)),
        "base_velocity": rng.standard_normal(6),
        "base_acceleration": rng.standard_normal(6),
    }
    tau = robot.inverse_dynamics(q, qd, qdd, **more, algorithm="newton_euler")
    agree(tau, textbook.inverse_dynamics(robot, q, qd, qdd, **more))


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
    for rates, special in ((qd, robot.bias_forces(q, qd)), (zero, robot.gravity_forces(q))):
        agree(special, robot.inverse_dynamics(q, rates, zero, algorithm="newton_euler"), 1e-12)


def test_a_pendulum_feels_its_weight() -> None:
    builder = px.RobotBuilder("pendulum")
    builder.add_link("base")
    builder.add_link("bob", mass=2.0, com=(0.5, 0.0, 0.0))
    builder.add_joint("hinge", "revolute", "base", "bob", axis=(0.0, 1.0, 0.0))
    tau = builder.build().gravity_forces([0.0])
    assert tau == pytest.approx([-2.0 * 9.81 * 0.5], rel=1e-14)
