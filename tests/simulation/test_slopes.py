# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Slopes of implicit steps: cheap terms keep theirs beside costly ones, which are taken for constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.program.evaluate import RULES
from phalanx.program.scalar import Graph, Node, live
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
            args = [known[a.number] if type(a) is Node else a for a in node.args]
            known[node.number] = (
                point[args[0]] if node.op == "input" else RULES[node.op](*map(np.float64, args))
            )
        return float(known[made.number])

    of = Slopes([few, few + many, many, c * (few + many)])
    assert value(of(few, x)) == pytest.approx(slope)
    assert value(of(few, y)) == pytest.approx(2.0 * (1.0 - np.tanh(0.7) ** 2))
    assert of(few, c) == 0.0
    assert of(many, x) == 0.0  # terms of the same cost: all of them or none
    assert of(few + many, x) == 5.0
    assert value(of(c * (few + many), x)) == pytest.approx(35.0)
