# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`px.math` against the exponential and logarithm of matrices, and inside traced functions."""

from typing import Any

import numpy as np
import pytest

import phalanx as px

linalg = pytest.importorskip("scipy.linalg")
m = px.math
RNG = np.random.default_rng(0)
SIZES = (0.0, 1e-12, 1e-6, 1e-3, 0.3, 0.499, 0.501, 1.0, 2.5, 3.1)
TURNS = [s * (v := RNG.normal(size=3)) / np.linalg.norm(v) for s in SIZES]


def twist_matrix(v: Any) -> Any:
    made = np.zeros((4, 4))
    made[:3, :3], made[:3, 3] = m.skew(v[:3]), v[3:]
    return made


@pytest.mark.parametrize("w", TURNS, ids=map(str, SIZES))
def test_exponentials_logarithms_and_their_jacobians(w: Any) -> None:
    v = np.concatenate([w, RNG.normal(size=3)])
    R, T = m.exp3(w), m.exp6(v)
    np.testing.assert_allclose(R, linalg.expm(m.skew(w)), atol=1e-14)
    np.testing.assert_allclose(T, linalg.expm(twist_matrix(v)), atol=1e-14)
    np.testing.assert_allclose(m.log3(R), w, atol=1e-13)
    np.testing.assert_allclose(m.log6(T), v, atol=1e-12)
    np.testing.assert_allclose(m.quaternion_log(m.quaternion_exp(w)), w, atol=1e-14)
    np.testing.assert_allclose(m.quaternion_to_rotation(m.rotation_to_quaternion(R)), R, atol=1e-14)
    np.testing.assert_allclose(m.inverse_pose(T) @ T, np.eye(4), atol=1e-14)
    h = 1e-6
    for exp, log, x, jacobian, inverse in (
        (m.exp3, m.log3, w, m.exp3_jacobian(w), m.log3_jacobian(R)),
        (m.exp6, m.log6, v, m.exp6_jacobian(v), m.log6_jacobian(T)),
    ):
        np.testing.assert_allclose(jacobian @ inverse, np.eye(len(x)), atol=1e-11)
        for k, unit in enumerate(np.eye(len(x))):
            ahead, behind = (np.linalg.inv(exp(x)) @ exp(x + s * unit) for s in (h, -h))
            column = (log(ahead) - log(behind)) / (2.0 * h)
            np.testing.assert_allclose(jacobian[:, k], column, atol=2e-9)


def test_half_turns_about_any_axis() -> None:
    for axis in (*np.eye(3), np.array([1.0, 2.0, -2.0]) / 3.0):
        w = np.pi * axis
        np.testing.assert_allclose(np.abs(m.log3(m.exp3(w))), np.abs(w), atol=1e-12)


def test_products_of_quaternions_are_those_of_rotations_and_batches_broadcast() -> None:
    a, b = RNG.normal(size=(5, 1, 4)), RNG.normal(size=(3, 4))
    made = m.quaternion_to_rotation(m.quaternion_product(a, b))
    np.testing.assert_allclose(made, m.quaternion_to_rotation(a) @ m.quaternion_to_rotation(b), atol=1e-14)
    assert m.exp6(RNG.normal(size=(2, 3, 6))).shape == (2, 3, 4, 4)


def test_a_pose_error_and_its_jacobian_in_a_traced_function() -> None:
    robot = px.load("panda")

    def error(q: Any, target: Any, robot: Any) -> Any:
        pose = robot.frame_pose(q, "panda_hand")
        slope = m.pose_error_jacobian(pose, target) @ robot.jacobian(q, "panda_hand")
        local = m.log6(m.inverse_pose(pose) @ target)
        step = m.damped_solve(slope, -m.pose_error(pose, target), 1e-8)
        return {"error": m.pose_error(pose, target), "slope": slope, "local": local, "step": step}

    f = robot.function(error, target=(4, 4))
    q = robot.random_state((4,), RNG)[0]
    target = robot.frame_pose(robot.random_state((4,), RNG)[0], "panda_hand")
    made = f(q, target)
    np.testing.assert_allclose(f.jacobian("error", "q")(q, target), made["slope"], atol=1e-12)
    for k in range(4):
        expected = error(q[k], target[k], robot)
        np.testing.assert_allclose(made["local"][k], expected["local"], atol=1e-12)
        np.testing.assert_allclose(made["step"][k], expected["step"], atol=1e-9)
    at = f.jacobian("error", "q")(q[0], robot.frame_pose(q[0], "panda_hand"))  # no error: no NaN
    np.testing.assert_allclose(at, -robot.jacobian(q[0], "panda_hand"), atol=1e-12)
