# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of solutions against differences of the solver, in NumPy, PyTorch and JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px

STEP = 1e-5


def solved(name: str, frame: str, count: int) -> tuple[px.Robot, np.ndarray, np.ndarray]:
    """A robot, solutions that are precise, and their targets."""
    robot = px.load(name)
    q = robot.random_state((count,), np.random.default_rng(2))[0] * 0.9
    poses = robot.frame_pose(q, frame)
    s = robot.inverse_kinematics({frame: poses}, q, tolerance=1e-11)
    assert s.converged.all()
    return robot, s.q, poses


def moved(poses: np.ndarray, k: int, h: float) -> np.ndarray:
    """Poses after a motion along one of the axes of the base: turns about them, then ways."""
    made = poses.copy()
    if k < 3:
        made[:, :3, :3] = px.math.exp3(h * np.eye(3)[k]) @ poses[:, :3, :3]
    else:
        made[:, k - 3, 3] += h
    return made


@pytest.mark.parametrize(("name", "frame"), [("panda", "panda_hand"), ("ur5", "tool0")])
def test_of_poses_against_differences_of_the_solver(name: str, frame: str) -> None:
    robot, q, poses = solved(name, frame, 40)
    found = robot.inverse_kinematics_derivatives(q, {frame: poses})[frame]
    assert found.shape == (40, robot.nv, 6)
    for k in range(6):
        ahead, behind = (
            robot.inverse_kinematics({frame: moved(poses, k, h)}, q, tolerance=1e-11, seeds=1)
            for h in (STEP, -STEP)
        )
        good = ahead.converged & behind.converged
        assert good.mean() > 0.9
        inside = ((q > robot.limits.lower) & (q < robot.limits.upper)).all(axis=-1) & good
        slope = (ahead.q - behind.q) / (2.0 * STEP)
        scale = 1.0 + np.abs(found[inside, :, k]).max(axis=-1, keepdims=True) ** 2
        assert (np.abs(slope[inside] - found[inside, :, k]) / scale).max() < 1e-5


def test_of_points_and_axes_against_differences() -> None:
    robot = px.load("panda")
    q = np.array([0.1, 0.2, -0.3, -1.5, 0.4, 1.3, 0.2])
    pose = robot.frame_pose(q, "panda_hand")
    for make, value in ((px.target.point, pose[:3, 3]), (px.target.look_at, pose[:3, 3] + 0.4 * pose[:3, 2])):
        found = robot.inverse_kinematics_derivatives(q, {"panda_hand": make(value)})["panda_hand"]
        assert found.shape == (7, 3)
        for k in range(3):
            way = STEP * np.eye(3)[k]
            ahead, behind = (
                robot.inverse_kinematics({"panda_hand": make(value + sign * way)}, q, tolerance=1e-12).q
                for sign in (1.0, -1.0)
            )
            assert np.allclose((ahead - behind) / (2.0 * STEP), found[:, k], atol=1e-5)


def test_coordinates_at_a_limit_stay() -> None:
    robot = px.load("panda")
    q = np.array([0.1, 0.2, robot.limits.upper[2], -1.5, 0.4, 1.3, 0.2])
    poses = {"panda_hand": robot.frame_pose(q, "panda_hand")}
    held = robot.inverse_kinematics_derivatives(q, poses)["panda_hand"]
    free = robot.inverse_kinematics_derivatives(q, poses, limits=False)["panda_hand"]
    assert not held[2].any()
    assert np.abs(free[2]).max() > 0.1
    J = robot.jacobian(q, "panda_hand")
    assert np.allclose(J @ held, np.eye(6), atol=1e-6)
    assert np.allclose(free, np.linalg.pinv(J), atol=1e-6)


def test_a_floating_base_and_a_spherical_joint() -> None:
    robot = px.tree(4, seed=3, joints=("revolute", "spherical")).with_floating_base()
    q = robot.random_state((), np.random.default_rng(0))[0]
    frame = robot.link_names[-1]
    found = robot.inverse_kinematics_derivatives(q, {frame: robot.frame_pose(q, frame)})[frame]
    assert np.allclose(found, np.linalg.pinv(robot.jacobian(q, frame)), atol=1e-6)


def loss(q: Any) -> Any:
    return (q * q).sum()


def test_gradients_in_pytorch_against_differences() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is an optional package")
    robot, q, poses = solved("panda", "panda_hand", 5)
    given = torch.from_numpy(poses[:, :3, 3].copy()).requires_grad_()
    options = {"tolerance": 1e-12}
    s = robot.torch.inverse_kinematics({"panda_hand": given}, torch.from_numpy(q), **options)
    assert s.converged.all()
    loss(s.q).backward()
    for k in range(3):
        ahead, behind = (
            robot.inverse_kinematics({"panda_hand": poses[:, :3, 3] + h * np.eye(3)[k]}, q, **options).q
            for h in (STEP, -STEP)
        )
        slope = ((ahead**2).sum(axis=-1) - (behind**2).sum(axis=-1)) / (2.0 * STEP)
        assert np.allclose(given.grad[:, k], slope, atol=1e-4, rtol=1e-4)
    matrix = torch.from_numpy(poses.copy()).requires_grad_()
    whole = robot.torch.inverse_kinematics({"panda_hand": matrix}, q, **options)
    loss(whole.q).backward()
    ways = robot.inverse_kinematics_derivatives(q, {"panda_hand": poses})["panda_hand"]
    assert np.allclose(matrix.grad[:, :3, 3], np.einsum("bi,bij->bj", 2.0 * q, ways[..., 3:]), atol=1e-6)
    turn = torch.from_numpy(px.math.skew(np.array([0.3, -0.2, 0.5])) @ poses[:, :3, :3])
    along = (matrix.grad[:, :3, :3] * turn).sum(dim=(-1, -2))
    assert np.allclose(along, (2.0 * q * (ways[..., :3] @ [0.3, -0.2, 0.5])).sum(axis=-1), atol=1e-6)


def test_gradients_in_jax_under_jit_and_vmap() -> None:
    jax = pytest.importorskip("jax", reason="jax is an optional package")
    robot, q, poses = solved("panda", "panda_hand", 4)
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():

        def total(points: Any) -> Any:
            return loss(robot.jax.inverse_kinematics({"panda_hand": points}, q, tolerance=1e-12).q)

        found = jax.jit(jax.grad(total))(poses[:, :3, 3])
        ways = robot.inverse_kinematics_derivatives(q, {"panda_hand": poses[:, :3, 3]})["panda_hand"]
        assert np.allclose(found, np.einsum("bi,bij->bj", 2.0 * q, ways), atol=1e-6)

        def one(pose: Any, start: Any) -> Any:
            return robot.jax.inverse_kinematics({"panda_hand": pose}, start).q

        assert np.allclose(jax.vmap(one)(poses, q), q, atol=1e-5)
        along = jax.jvp(lambda p: one(p, q[0]), (poses[0],), (_up(),))[1]
        ways = robot.inverse_kinematics_derivatives(q[0], {"panda_hand": poses[0]})["panda_hand"]
        assert np.allclose(along, ways[:, 5], atol=1e-6)


def _up() -> np.ndarray:
    change = np.zeros((4, 4))
    change[2, 3] = 1.0
    return change


def test_what_has_no_derivative_is_refused() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is an optional package")
    robot = px.load("ur5")
    pose = torch.eye(4, dtype=torch.float64)
    with pytest.raises(px.PhalanxError, match="rest has no derivative"):
        robot.torch.inverse_kinematics({"tool0": pose}, rest=np.zeros(6))
    with pytest.raises(px.PhalanxError, match="expected a tensor"):
        robot.torch.inverse_kinematics({"tool0": np.eye(4)})
    with pytest.raises(px.PhalanxError, match="inverse_kinematics_derivatives: limits"):
        robot.inverse_kinematics_derivatives(np.zeros(6), {"tool0": np.eye(4)}, limits="yes")
