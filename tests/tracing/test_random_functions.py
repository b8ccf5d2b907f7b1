# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of random functions: differences, transposition and symmetry."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phalanx as px

ROBOT = px.tree(2, seed=4, joints=("floating", "revolute"))
LAST = ROBOT.frame_names[-1]
UNARY = (np.sin, np.cos, np.tanh, np.exp, lambda x: x * x, lambda x: np.sqrt(1.0 + x * x), lambda x: -x)
BINARY = (
    np.add,
    np.subtract,
    np.multiply,
    lambda a, b: a / (2.0 + b * b),
    lambda a, b: np.where(a < b, np.sin(a), b),
    np.arctan2,
    lambda a, b: np.linalg.norm(np.stack([a, b, np.ones_like(a)])),
)
LEAVES = (
    lambda q, qd, p, robot: p[0],
    lambda q, qd, p, robot: p[1] + 0.5,
    lambda q, qd, p, robot: robot.frame_pose(q, LAST)[0, 3],
    lambda q, qd, p, robot: robot.bias_forces(q, qd)[-1],
    lambda q, qd, p, robot: robot.mass_matrix(q)[0, 1] * qd[2],
    lambda q, qd, p, robot: robot.frame_velocity(q, qd, LAST) @ np.ones(6),
    lambda q, qd, p, robot: px.math.log3(robot.frame_pose(q, LAST)[:3, :3])[0],
    lambda q, qd, p, robot: np.linalg.solve(robot.mass_matrix(q), qd)[1],
)


def expression(draw: Any, depth: int) -> Any:
    """A random expression of a state and parameters, as a function."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from(LEAVES))
    if draw(st.booleans()):
        rule, inner = draw(st.sampled_from(UNARY)), expression(draw, depth - 1)
        return lambda *given: rule(0.3 * inner(*given))
    join = draw(st.sampled_from(BINARY))
    one, other = expression(draw, depth - 1), expression(draw, depth - 1)
    return lambda *given: join(one(*given), other(*given))


def check(f: Any, seed: int) -> None:
    """Compare jvp, vjp and hvp of a function of two results with differences and each other."""
    rng = np.random.default_rng(seed)
    q, qd, _ = ROBOT.random_state((), rng)
    p, dq, dqd, dp = rng.normal(size=2), *rng.normal(size=(2, ROBOT.nv)), rng.normal(size=2)
    primals, along, w = (q, qd, p), (dq, dqd, dp), rng.normal(size=2)

    def at(s: float) -> tuple[Any, Any, Any]:
        return ROBOT.integrate(q, s * dq), qd + s * dqd, p + s * dp

    def differences(of: Any) -> Any:
        h = 2e-4
        values = {k: of(at(k * h)) for k in (-3, -2, -1, 1, 2, 3)}
        return sum(c * (values[k] - values[-k]) for k, c in ((1, 45.0), (2, -9.0), (3, 1.0))) / (60.0 * h)

    change = f.jvp(primals, along)
    expected = differences(lambda x: f(*x))
    scale = 1.0 + np.abs(expected).max()
    np.testing.assert_allclose(change, expected, atol=1e-8 * scale)
    slopes = f.vjp(primals, w)
    left, right = w @ change, sum(a @ b for a, b in zip(slopes, along, strict=True))
    size = sum(np.abs(a) @ np.abs(b) for a, b in zip(slopes, along, strict=True))
    assert abs(left - right) <= 1e-12 * (1.0 + size)
    second = np.concatenate(f.hvp(primals, w, along))
    expected = differences(lambda x: np.concatenate(f.vjp(x, w)))
    np.testing.assert_allclose(second, expected, atol=1e-8 * (1.0 + np.abs(expected).max() * 10.0))


def made(data: Any) -> Any:
    one, other = (expression(data.draw, 3) for _ in range(2))

    def function(q: Any, qd: Any, p: Any, robot: Any) -> Any:
        return np.stack([one(q, qd, p, robot), other(q, qd, p, robot)])

    return ROBOT.function(function, p=2)


@settings(max_examples=3, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_a_few_random_functions(data: Any) -> None:
    check(made(data), 0)


@pytest.mark.exhaustive
@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_twenty_random_functions(data: Any) -> None:
    check(made(data), 1)
