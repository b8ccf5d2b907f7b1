# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of steps and rollouts: the analytic ones of the dynamics, differences, and each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.simulation.integrators import INTEGRATORS
from reference.sampling import agree

DT = 1e-2
ROBOTS = {
    "ur5": lambda: px.load("ur5"),
    "floating": lambda: px.tree(4, 0.5, seed=1).with_floating_base(),
    "mixed": lambda: px.tree(5, 0.4, seed=3, joints=("spherical", "revolute", "prismatic")),
}


def states(robot: px.Robot, count: int = 5, rows: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    q, qd, _ = robot.random_state((count,), rng)
    return q, qd, rng.normal(size=(count, rows, robot.nv))


def test_a_semi_implicit_step_has_the_derivatives_of_the_dynamics() -> None:
    """A = [[1 + h^2 F, h (1 + h G)], [h F, 1 + h G]] with F and G those of forward dynamics, B alike."""
    robot = px.load("ur5")
    q, qd, u = states(robot)
    d = robot.forward_dynamics_derivatives(q, qd, u[:, 0])
    A, B = robot.simulation(DT, limits=False, friction=False, damping=False).linearize(q, qd, u[:, 0])
    lower = np.concatenate([DT * d.dq, np.eye(6) + DT * d.dqd], axis=-1)
    upper = (
        np.concatenate([np.broadcast_to(np.eye(6), d.dq.shape), np.zeros_like(d.dq)], axis=-1) + DT * lower
    )
    agree(A, np.concatenate([upper, lower], axis=-2), 1e-12)
    agree(B, np.concatenate([DT * DT * d.dtau, DT * d.dtau], axis=-2), 1e-12)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_linearized_steps_are_differences_of_steps(name: str, integrator: str) -> None:
    if integrator == "variational":  # whose iterations make long code
        robot = px.tree(2, seed=4, joints=("spherical", "prismatic") if name == "mixed" else ("revolute",))
        robot = robot.with_floating_base() if name == "floating" else robot
    else:
        robot = ROBOTS[name]()
    sim = robot.simulation(DT if integrator != "variational" else 1e-3, integrator=integrator, limits=False)
    q, qd, u = states(robot)
    A, B = sim.linearize(q, qd, u[:, 0])
    both, n, e = np.concatenate([A, B], axis=-1), robot.nv, 1e-6

    def moved(change: np.ndarray) -> Any:
        return sim.step(robot.integrate(q, change[:n]), qd + change[n : 2 * n], u[:, 0] + change[2 * n :])

    for j in range(3 * n):
        up, down = (moved(sign * e * np.eye(3 * n)[j]) for sign in (1.0, -1.0))
        column = np.concatenate([robot.difference(down[0], up[0]), up[1] - down[1]], axis=-1) / (2 * e)
        np.testing.assert_allclose(both[..., j], column, atol=3e-8 * max(1.0, np.abs(column).max()))


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("integrator", ["euler", "implicit"])
def test_both_ways_through_a_rollout_agree(name: str, integrator: str) -> None:
    """Cotangents times derivatives along tangents, multiplied out either way; controls held two steps."""
    robot = ROBOTS[name]()
    sim = robot.simulation(DT, integrator=integrator, limits=False)
    q, qd, u = states(robot, rows=3)
    rng = np.random.default_rng(1)
    tangents = [rng.normal(size=(5, robot.nv)), rng.normal(size=(5, robot.nv)), rng.normal(size=u.shape)]
    for every, shape in ((None, (5, robot.nv)), (2, (5, 3, robot.nv))):
        weights = [rng.normal(size=shape) for _ in range(2)]
        along = sim.jvp((q, qd, u), tangents, steps=6, every=every)
        back = sim.vjp((q, qd, u), weights, steps=6, every=every)
        axes = tuple(range(1, len(shape)))
        one = sum((c * d).sum(axis=axes) for c, d in zip(weights, along, strict=True))
        other = (back.q * tangents[0]).sum(-1) + (back.qd * tangents[1]).sum(-1)
        other = other + (back.controls * tangents[2]).sum((-1, -2))
        agree(other, one, 1e-12)


def test_a_rollout_is_its_steps_in_derivatives_too() -> None:
    robot = px.load("two_link")
    sim = robot.simulation(DT)
    q, qd, u = states(robot, rows=4)
    dq = np.random.default_rng(0).normal(size=(5, 2))
    whole = sim.jvp((q, qd, u), (dq, None, None), steps=4)
    rates = (dq, np.zeros_like(dq))
    for k in range(4):
        rates = sim.jvp((q, qd, u[:, k : k + 1]), (*rates, None), steps=1, start=k)
        q, qd = sim.step(q, qd, u[:, k], start=k)
    for a, b in zip(rates, whole, strict=True):
        agree(a, b, 1e-14)


def test_derivatives_with_respect_to_parameters_and_constant_inputs() -> None:
    robot = px.load("two_link")
    sim = robot.simulation(DT, parameters=("gravity", "damping"))
    q, qd, _ = states(robot)
    u = np.array([0.3, -0.2])
    given = {"gravity": np.array([0.1, 0.2, -9.0]), "damping": np.array([0.2, 0.1])}
    weights = (np.ones((5, 2)), np.array([1.0, -2.0]))
    back = sim.vjp((q, qd, u), weights, steps=20, parameters=given)

    def value(u: np.ndarray, given: dict[str, np.ndarray]) -> np.ndarray:
        last = sim.rollout(q, qd, u, steps=20, every=20, parameters=given).final
        return np.asarray((weights[0] * last[0]).sum(-1) + (weights[1] * last[1]).sum(-1))

    e = 1e-6
    for k in range(2):
        step = e * np.eye(2)[k]
        np.testing.assert_allclose(
            back.controls[:, k],
            (value(u + step, given) - value(u - step, given)) / (2 * e),
            rtol=1e-7,
            atol=1e-9,
        )
    for name, array in given.items():
        for k in range(array.size):
            step = e * np.eye(array.size)[k]
            up, down = (value(u, given | {name: array + s * step}) for s in (1.0, -1.0))
            np.testing.assert_allclose(
                back.parameters[name][:, k], (up - down) / (2 * e), rtol=1e-6, atol=1e-8
            )


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda s, q: s.jvp((q,), (q,)), r"jvp: primals is .*expected \(q, qd\)"),
        (lambda s, q: s.jvp((q, q), (q, np.zeros(3))), r"jvp: the tangent of qd has shape \(3,\)"),
        (lambda s, q: s.vjp((q, q), (q, None), steps=4, every=3), "every=3 does not divide steps=4"),
        (
            lambda s, q: s.vjp((q, q), (np.zeros((3, 2)), None), steps=4, every=2),
            "the cotangent of q has shape",
        ),
        (lambda s, q: s.linearize(q, q, np.zeros(3)), r"linearize: controls have shape \(3,\)"),
    ],
)
def test_wrong_derivatives_are_refused(call: Any, text: str) -> None:
    robot = px.load("two_link")
    with pytest.raises(px.PhalanxError, match=text):
        call(robot.simulation(DT), np.zeros(2))
