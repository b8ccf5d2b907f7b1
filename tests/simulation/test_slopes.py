# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Slopes of implicit steps: cheap terms keep theirs beside costly ones, which are taken for constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.program.graph import Graph, live
from phalanx.program.ir import Scalar
from phalanx.program.ops import OPS
from phalanx.simulation.slopes import Slopes

RNG = np.random.default_rng(0)
DT, KD = 4e-3, 500.0  # an explicit damper of this size is unstable by far


def network(hidden: int) -> Any:
    """A network whose weights are too small to matter."""
    weights = [1e-9 * RNG.normal(size=(hidden, 4)), 1e-9 * RNG.normal(size=(2, hidden))]
    return px.control.network(weights, [np.zeros(hidden), np.zeros(2)])


def damped(hidden: int, form: str) -> Any:
    net = network(hidden)

    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        made = net(t, q, qd, u, robot)
        if form == "sum":
            return -KD * qd + made + robot.gravity_forces(q)
        if form == "clipped":
            return np.clip(made - KD * qd, -1e6, 1e6)
        return np.where(q > 100.0, made, 2.0 * (made - 0.5 * KD * qd))

    return law


@pytest.mark.parametrize("form", ["sum", "clipped", "chosen"])
def test_a_network_beside_a_damper_leaves_the_step_implicit(form: str) -> None:
    robot = px.load("two_link")
    q, qd = np.array([0.3, 0.2]), np.array([1.0, -1.0])
    plain, beside = (
        robot.simulation(DT, integrator="implicit", control=damped(hidden, form), controls=0).rollout(
            q, qd, steps=50
        )
        for hidden in (1, 24)
    )
    np.testing.assert_allclose(beside.q, plain.q, atol=1e-7)
    assert np.abs(beside.qd[-1]).max() < 0.1


def test_slopes_are_derivatives_of_what_is_cheap() -> None:
    graph = Graph()
    x, y, c = (graph.input(name, 0) for name in "xyc")
    few = graph.tanh(x * 3.0 + y) * -2.0 - x * 5.0
    many: Any = 0.0
    for k in range(40):
        many = many + graph.tanh(x * float(k + 1) + y) * -0.1
    point = {"x": 0.2, "y": 0.1, "c": 7.0}
    slope = 2.0 * 3.0 * (1.0 - np.tanh(0.7) ** 2) + 5.0

    def value(made: Any) -> float:
        known: dict[int, Any] = {}
        for node in live([made]):
            args = [known[a.number] if isinstance(a, Scalar) else a for a in node.args]
            known[node.number] = (
                point[node.buffer.name] if node.op == "input" else OPS[node.op].numpy(*map(np.float64, args))
            )
        return float(known[made.number])

    of = Slopes([few, few + many, many, c * (few + many)])
    assert value(of(few, x)) == pytest.approx(slope)
    assert value(of(few, y)) == pytest.approx(2.0 * (1.0 - np.tanh(0.7) ** 2))
    assert of(few, c) == 0.0
    assert of(many, x) == 0.0  # terms of the same cost: all of them or none
    assert of(few + many, x) == 5.0
    assert value(of(c * (few + many), x)) == pytest.approx(35.0)


def slider() -> px.Robot:
    builder = px.RobotBuilder("slider")
    builder.add_link("rail")
    builder.add_link("mass", mass=2.0, inertia=(0.1, 0.1, 0.1))
    builder.add_joint("slide", "prismatic", "rail", "mass", axis=(0.0, 0.0, 1.0))
    return builder.build()


def test_a_spring_of_ones_own_is_that_of_the_library() -> None:
    def own(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        z, v = robot.frame_pose(q, "mass")[2, 3], robot.frame_velocity(q, qd, "mass")[5]
        return {"mass": np.stack([0.0 * z] * 5 + [-1e8 * z - 10.0 * v])}

    spring = px.contact.spring("mass", None, stiffness=1e8, damping=10.0)
    runs = [slider().simulation(1e-3, forces=f).rollout([0.01], [0.0], steps=500) for f in (own, spring)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-15)
    assert np.abs(runs[0].q).max() < 0.01


def test_dampers_on_rates_do_not_explode() -> None:
    def own(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return {"block": np.concatenate([-50.0 * qd[:3], -5000.0 * qd[3:]])}

    builder = px.RobotBuilder("block")
    builder.add_link("block", mass=2.0, inertia=(0.02, 0.03, 0.04))
    robot = builder.build(floating_base=True)
    run = robot.simulation(2e-3, forces=own).rollout(robot.neutral(), np.ones(6), steps=200)
    assert np.abs(run.qd).max() < 1.0
    # Weight against the damper.
    assert run.qd[-1, 5] == pytest.approx(-2.0 * 9.81 / 5000.0, rel=1e-3)
