# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Steps against a loop in NumPy: all joint types, forces of joints, a law, a wrench, parameters of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.simulation.step import SLIDING

H, STEPS, BATCH = 1e-3, 8, 3
KINDS = ("revolute", "prismatic", "helical", "universal", "planar", "spherical", "continuous")


def zoo() -> px.Robot:
    """A tree with one joint of each kind, with dampers, friction and springs."""
    rng, builder = np.random.default_rng(5), px.RobotBuilder("zoo")
    builder.add_link("base")
    sizes = {"universal": 2, "planar": 3, "spherical": 3}
    for k, (kind, parent) in enumerate(zip(KINDS, ("base", "0", "1", "1", "3", "2", "5"), strict=True)):
        moments = np.diag(rng.uniform(0.04, 0.06, 3))
        builder.add_link(str(k), mass=rng.uniform(0.5, 2.0), com=rng.normal(size=3) * 0.1, inertia=moments)
        size = sizes.get(kind, 1)
        builder.add_joint(
            f"joint{k}",
            kind,
            parent,
            str(k),
            origin=rng.normal(size=3) * 0.3,
            axis=(0, 0.6, 0.8),
            axis2=(0, 0.8, -0.6),
            pitch=0.1 * (kind == "helical"),
            stiffness=rng.uniform(1.0, 2.0, size),
            armature=rng.uniform(0.01, 0.1, size),
        )
    tip = np.eye(4)
    tip[:3, :3], tip[:3, 3] = [[0.6, -0.8, 0], [0.8, 0.6, 0], [0, 0, 1]], [0.1, 0.2, 0.3]
    builder.add_frame("tip", "6", tip)
    return builder.build()


def law(t: Any, q: Any, qd: Any, u: Any, robot: Any, *, gain: Any) -> Any:
    return gain * np.tanh(u) - 0.3 * qd + np.cos(10.0 * t)


def push(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return {"tip": np.stack([0.1 * q[0], 0.2, u[0], np.sin(30.0 * t), qd[1], 1.0])}


@pytest.mark.parametrize("integrator", ["euler", "implicit", "rk4"])
def test_steps_are_those_of_a_loop_in_numpy(integrator: str) -> None:
    robot, rng = zoo(), np.random.default_rng(0)
    n = robot.nv
    q, qd, _ = robot.random_state((BATCH,), rng)
    u = rng.normal(size=(BATCH, STEPS, n))
    inertias = robot.inertial_parameters.reshape(-1, 10)
    given = {
        "gravity": np.array([0.0, 0.0, -9.81]) + rng.normal(size=(BATCH, 3)),
        "inertias": inertias * rng.uniform(0.8, 1.2, (BATCH, 1, 1)),
        "damping": rng.uniform(0.1, 0.4, (BATCH, n)),
        "friction": rng.uniform(0.1, 0.4, (BATCH, n)),
        "gain": rng.uniform(1.0, 2.0, (BATCH, n)),
    }
    sizes = {name: array.shape[1:] for name, array in given.items()}
    sim = robot.simulation(H, integrator=integrator, control=law, forces=push, parameters=sizes)
    found = sim.rollout(q, qd, u, steps=STEPS, every=STEPS, parameters=given).final
    for k in range(BATCH):
        own = {name: array[k] for name, array in given.items()}
        meant = by_hand(robot, integrator, q[k], qd[k], u[k], own)
        assert np.allclose(found[0][k], meant[0], rtol=0.0, atol=1e-12)
        assert np.allclose(found[1][k], meant[1], rtol=0.0, atol=1e-11)


def push_slopes(robot: Any, q: Any) -> tuple[Any, Any]:
    """How the forces of `push` in joints 0 and 1 fall with their own coordinate and rate, (nv,) both."""
    jacobian, turn = robot.jacobian(q, "tip"), robot.frame_pose(q, "tip")[:3, :3]
    k, d = np.zeros(robot.nv), np.zeros(robot.nv)
    k[0] = max(0.0, -0.1 * jacobian[:3, 0] @ turn[:, 0])
    d[1] = max(0.0, -jacobian[3:, 1] @ turn[:, 1])
    return k, d


def by_hand(robot: Any, integrator: str, q: Any, qd: Any, u: Any, own: Any) -> tuple[Any, Any]:
    robot = robot.replace(gravity=own["gravity"])
    more = {"inertias": own["inertias"], "backend": "numpy"}

    def acceleration(t: float, q: Any, qd: Any, u: Any, implicit: bool = False) -> Any:
        slip = own["friction"] / np.maximum(np.abs(qd), SLIDING)
        tau = law(t, q, qd, u, robot, gain=own["gain"]) - (own["damping"] + slip) * qd
        tau = tau + robot.stiffness * robot.difference(q, robot.spring_reference)
        external = robot.wrenches(push(t, q, qd, u, robot))
        if not implicit:
            return robot.forward_dynamics(q, qd, tau, external=external, **more)
        mass, (more_k, more_d) = robot.mass_matrix(q, **more), push_slopes(robot, q)
        k, d = robot.stiffness + more_k, own["damping"] + slip + 0.3 + more_d
        right = mass @ robot.forward_dynamics(q, qd, tau - H * k * qd, external=external, **more)
        return np.linalg.solve(mass + np.diag(H * d + H * H * k), right)

    def slopes(t: float, q: Any, qd: Any, u: Any) -> Any:
        rates = np.empty_like(q)
        for c in robot._coordinates:
            if c.kind.quaternion is not None:  # half the product with the rate
                (x, y, z, w), (a, b, d) = q[c.q], qd[c.v]
                rates[c.q] = 0.5 * np.array(
                    [
                        w * a + y * d - z * b,
                        w * b + z * a - x * d,
                        w * d + x * b - y * a,
                        -x * a - y * b - z * d,
                    ]
                )
            else:
                rates[c.q] = qd[c.v]
        return np.concatenate([rates, acceleration(t, q, qd, u)])

    nq = robot.nq
    for k in range(STEPS):
        t = k * H
        if integrator != "rk4":
            qd = qd + H * acceleration(t, q, qd, u[k], integrator == "implicit")
            q = robot.integrate(q, H * qd)
            continue
        x = np.concatenate([q, qd])
        one = slopes(t, q, qd, u[k])
        two = slopes(t + H / 2, *np.split(x + H / 2 * one, [nq]), u[k])
        three = slopes(t + H / 2, *np.split(x + H / 2 * two, [nq]), u[k])
        four = slopes(t + H, *np.split(x + H * three, [nq]), u[k])
        q, qd = np.split(x + H / 6 * (one + 2 * two + 2 * three + four), [nq])
        q = robot.normalize(q)
    return q, qd
