# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Simulation by plain loops: semi-implicit Euler steps of one state, and SciPy's DOP853."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import phalanx as px
from phalanx.robot.joints.quaternions import transpose_quaternion

Force = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


def acceleration(robot: px.Robot, force: Force) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
    """qdd of a state at a time, damping included, by compiled forward dynamics."""
    solve = robot.kernel("forward_dynamics")

    def qdd(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return solve(q, qd, force(t, q, qd) - robot.damping * qd)

    return qdd


def euler(
    robot: px.Robot, q: np.ndarray, qd: np.ndarray, force: Force, h: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """The state after some semi-implicit steps: rates first, then positions by the new rates.

    The rates of floating joints are updated in the axes of the parent, where free flight is straight.
    """
    qdd = acceleration(robot, force)
    kinds = {"": "floating", **dict(zip(robot.joint_names, robot.joint_types, strict=True))}
    floating = [
        (robot.q_slices[name], robot.v_slices[name]) for name in robot.q_slices if kinds[name] == "floating"
    ]
    for k in range(steps):
        a = qdd(h * k, q, qd)
        rates = qd + h * a
        step, turned = h * rates, []
        for part, own in floating:
            turn = transpose_quaternion(q[part][3:]).T
            w, v = qd[own][:3], qd[own][3:]
            y = turn @ (v + h * (a[own][3:] + np.cross(w, v)))
            turned.append((part, own, q[part][:3] + h * y, y))
        q = robot.normalize(robot.integrate(q, step))
        for part, own, x, y in turned:
            q[part.start : part.start + 3] = x
            rates[own.start + 3 : own.stop] = transpose_quaternion(q[part][3:]) @ y
        qd = rates
    return q, qd


def coordinate_rates(robot: px.Robot, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """dq/dt, by a difference along the motion that is exact to rounding.

    `integrate` is analytic in its step: the central difference with right-angled turns would do, but the
    quaternion's rate is simply half of its product with the angular velocity.
    """
    rates = np.empty(robot.nq)
    kinds = {"": "floating", **dict(zip(robot.joint_names, robot.joint_types, strict=True))}
    for name, part in robot.q_slices.items():
        own = qd[robot.v_slices[name]]
        if kinds[name] == "floating":
            turn = transpose_quaternion(q[part][3:]).T
            rates[part] = [*(turn @ own[3:]), *_quaternion_rate(q[part][3:], own[:3])]
        elif kinds[name] == "spherical":
            rates[part] = _quaternion_rate(q[part], own)
        else:
            rates[part] = own
    return rates


def _quaternion_rate(p: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Half of p w, for quaternions xyzw and the angular velocity in the axes of the child."""
    vector, scalar = p[:3], p[3]
    return 0.5 * np.array([*(scalar * w + np.cross(vector, w)), -vector @ w])


def reference(
    robot: px.Robot, q: np.ndarray, qd: np.ndarray, force: Force, seconds: float
) -> tuple[np.ndarray, np.ndarray]:
    """The state after some time by SciPy's DOP853 at the tightest tolerance that it takes."""
    from scipy.integrate import solve_ivp

    qdd = acceleration(robot, force)

    def rates(t: float, x: np.ndarray) -> np.ndarray:
        own, v = x[: robot.nq], x[robot.nq :]
        return np.concatenate([coordinate_rates(robot, own, v), qdd(t, robot.normalize(own), v)])

    found: Any = solve_ivp(
        rates, (0.0, seconds), np.concatenate([q, qd]), method="DOP853", rtol=3e-14, atol=1e-14
    )
    assert found.success, found.message
    return robot.normalize(found.y[: robot.nq, -1]), found.y[robot.nq :, -1]


def distance(robot: px.Robot, one: tuple[Any, Any], other: tuple[Any, Any]) -> float:
    """The largest difference of two states in positions and rates."""
    return float(max(np.abs(robot.difference(one[0], other[0])).max(), np.abs(one[1] - other[1]).max()))
