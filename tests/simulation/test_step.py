# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Dry friction, limits, damping and springs of joints in simulation, against what can be said by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px

MASS, FRICTION = 2.0, 3.0
INTEGRATORS = ("euler", "implicit")


def block(**limits: Any) -> px.Robot:
    """A block that slides along x, in free space."""
    builder = px.RobotBuilder("block", gravity=(0.0, 0.0, 0.0))
    builder.add_link("base")
    builder.add_link("block", mass=MASS, inertia=(0.1, 0.1, 0.1))
    builder.add_joint("slide", "prismatic", "base", "block", axis=(1, 0, 0), **limits)
    return builder.build()


def pendulum(**limits: Any) -> px.Robot:
    """A rod that hangs from a hinge."""
    builder = px.RobotBuilder("pendulum")
    builder.add_link("base")
    builder.add_link("rod", mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-3))
    builder.add_joint("hinge", "revolute", "base", "rod", axis=(0, 1, 0), **limits)
    return builder.build()


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_dry_friction_holds_what_is_weaker(integrator: str) -> None:
    sim = block(friction=FRICTION).simulation(dt=1e-3, integrator=integrator)
    run = sim.rollout(np.zeros((2, 1)), np.zeros((2, 1)), controls=[[[0.9 * FRICTION]], [[5.0]]], steps=1000)
    held, pushed = run.qd[:, -1, 0]
    assert 0.0 < held < 0.01  # it creeps, slower than friction needs to be full
    assert pushed == pytest.approx((5.0 - FRICTION) / MASS, rel=0.02)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_dry_friction_brings_to_rest_and_never_turns_back(integrator: str) -> None:
    sim = block(friction=FRICTION).simulation(dt=1e-3, integrator=integrator)
    run = sim.rollout([0.0], [1.0], steps=2000)
    assert run.q[-1, 0] == pytest.approx(MASS / (2 * FRICTION), rel=0.02)
    assert np.all(run.qd >= -1e-12)
    assert run.qd[-1, 0] < 1e-3


def test_friction_of_any_size_is_stable_with_implicit_steps() -> None:
    run = block(friction=1e6).simulation(dt=1e-2, integrator="implicit").rollout([0.0], [1.0], steps=100)
    assert np.all(np.diff(run.qd[:, 0]) <= 0.0)
    assert np.all(run.qd >= 0.0)
    assert run.q[-1, 0] < 0.01


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("dt", [1e-4, 1e-3, 5e-3])
def test_limits_stop_a_joint(integrator: str, dt: float) -> None:
    robot = pendulum(lower=-2.0, upper=0.4)
    sim = robot.simulation(dt=dt, integrator=integrator)
    steps = round(4.0 / dt)
    run = sim.rollout([-1.5], [0.0], steps=steps, record=("q", "qd", "energy"))
    q = run.q[:, 0]
    first = int(np.argmax(q > 0.4))
    assert 0 < first < steps
    assert q.max() < 0.4 + 0.1  # it arrives with about 5 rad/s
    # The stop takes energy out: the rod does not come back to where it was let go.
    assert q[first:].min() > -1.2
    free = robot.simulation(dt=dt, integrator=integrator, limits=False).rollout([-1.5], [0.0], steps=steps)
    assert free.q.max() == pytest.approx(1.5, abs=0.05)


def test_limits_bear_a_load_without_creeping() -> None:
    robot = pendulum(lower=0.3, upper=2.0)
    sim = robot.simulation(dt=1e-3, integrator="implicit")
    run = sim.rollout([0.5], [0.0], steps=3000)
    assert run.q[-1, 0] == pytest.approx(0.3, abs=0.02)
    assert abs(run.qd[-1, 0]) < 1e-6


def test_damping_and_springs_are_those_of_an_oscillator() -> None:
    robot = block(damping=0.8, stiffness=50.0, spring_reference=0.2)
    run = robot.simulation(dt=1e-4, integrator="rk4").rollout([0.7], [0.0], steps=20_000, every=1000)
    rate, decay = np.sqrt(50.0 / MASS), 0.8 / (2 * MASS)
    turn = np.sqrt(rate**2 - decay**2)
    t = run.time
    expected = 0.2 + 0.5 * np.exp(-decay * t) * (np.cos(turn * t) + decay / turn * np.sin(turn * t))
    np.testing.assert_allclose(run.q[:, 0], expected, atol=1e-10)


@pytest.mark.parametrize("what", ["damping", "friction", "springs", "limits"])
def test_each_can_be_left_out(what: str) -> None:
    own = {
        "damping": {"damping": 5.0},
        "friction": {"friction": 5.0},
        "springs": {"stiffness": 50.0},
        "limits": {"lower": -1.0, "upper": 0.1},
    }[what]
    with_it, without, bare = (
        robot.simulation(dt=1e-3, **options).rollout([0.0], [1.0], steps=500, every=500).q[0, 0]
        for robot, options in ((block(**own), {}), (block(**own), {what: False}), (block(), {}))
    )
    assert without == bare == pytest.approx(0.5)
    assert with_it < 0.45


def test_parameters_replace_damping_and_friction() -> None:
    robot = block(damping=1.0, friction=1.0)
    sim = robot.simulation(dt=1e-3, integrator="euler", parameters=["damping", "friction"])
    given = {"damping": [[1.0], [0.0], [0.0]], "friction": [[1.0], [0.0], [4.0]]}
    run = sim.rollout(np.zeros((3, 1)), np.ones((3, 1)), steps=300, every=300, parameters=given)
    own = robot.simulation(dt=1e-3, integrator="euler").rollout([0.0], [1.0], steps=300, every=300)
    assert run.q[0, 0, 0] == pytest.approx(own.q[0, 0], abs=1e-14)
    assert run.q[1, 0, 0] == pytest.approx(0.3)
    assert run.qd[2, 0, 0] == pytest.approx(1.0 - 0.3 * 4.0 / MASS, rel=1e-3)


@pytest.mark.parametrize("multiplier", [2.0, -0.5])
def test_what_mimic_joints_do_is_felt_by_the_joint_they_follow(multiplier: float) -> None:
    builder = px.RobotBuilder("arm")
    builder.add_link("base")
    for name in ("upper", "lower"):
        builder.add_link(name, mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-3))
    own: dict[str, Any] = {"damping": 0.3, "friction": 0.2, "stiffness": 1.5, "spring_reference": 0.1}
    other: dict[str, Any] = {"damping": 0.7, "friction": 0.4, "stiffness": 2.5, "spring_reference": -0.3}
    builder.add_joint("shoulder", "revolute", "base", "upper", axis=(0, 1, 0), **own)
    follows = ("shoulder", multiplier, 0.2)
    builder.add_joint(
        "elbow", "revolute", "upper", "lower", origin=(0, 0, -1), axis=(0, 1, 0), mimic=follows, **other
    )
    robot, free = builder.build(), builder.build(mimic="independent")
    q, qd, h = np.array([0.4]), np.array([0.8]), 1e-3
    all_q, all_qd = robot.expand(q), robot.coupling @ qd
    tau = -free.damping * all_qd - free.friction * np.sign(all_qd)
    tau -= free.stiffness * (all_q - free.spring_reference) + free.bias_forces(all_q, all_qd)
    mass = robot.coupling.T @ free.mass_matrix(all_q) @ robot.coupling
    meant = np.linalg.solve(mass, robot.coupling.T @ tau)
    _, found = robot.simulation(h, integrator="euler").step(q, qd)
    assert np.allclose((found - qd) / h, meant, rtol=1e-9)
