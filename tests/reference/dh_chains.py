# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Chains of given geometry, and textbook loops over their Denavit-Hartenberg frames."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

import phalanx as px
from phalanx.robot.dh import chain as dh
from phalanx.robot.dh.chain import DHChain
from phalanx.spatial import unpack
from reference.sampling import agree

PLAIN = {"algorithm": "newton_euler", "backend": "numpy"}
Z = np.array([0.0, 0.0, 1.0])
RIGHT = math.pi / 2


# ------------------------------------------------------------------- robots of given geometry


def turn(axis: Any, angle: float) -> np.ndarray:
    """Rotation matrix about an axis."""
    k = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.eye(3) + math.sin(angle) * K + 2.0 * math.sin(angle / 2.0) ** 2 * K @ K


def robot_of(joints: list[tuple[Any, ...]], seed: int = 0) -> px.Robot:
    """A chain of joints (type, place, axis[, rotation]) in the frame of the link before, random bodies."""
    rng = np.random.default_rng(seed)
    builder = px.RobotBuilder("hand-made", gravity=(1.0, -2.0, -9.0))
    builder.add_link("root")
    for i, (kind, place, axis, *rotation) in enumerate(joints):
        points = rng.normal(size=(3, 4)) * 0.1
        second = points @ points.T
        mass, com = rng.uniform(0.5, 2.0), rng.normal(size=3) * 0.1
        builder.add_link(f"link{i}", mass=mass, com=com, inertia=np.trace(second) * np.eye(3) - second)
        pose = np.eye(4)
        pose[:3, 3] = place
        pose[:3, :3] = rotation[0] if rotation else np.eye(3)
        before = f"link{i - 1}" if i else "root"
        builder.add_joint(f"joint{i}", kind, before, f"link{i}", origin=pose, axis=axis, armature=0.1 * i)
    return builder.build()


def tilted(angle: float, kinds: str, every: int, seed: int, n: int = 7) -> px.Robot:
    """A chain in which all axes but every `every`-th are tilted against the one before by `angle` only."""
    rng = np.random.default_rng(seed)
    joints = []
    for i in range(n):
        kind = "revolute" if kinds[i % len(kinds)] == "R" else "prismatic"
        by = turn([*rng.normal(size=2), 0.0], angle if i % every else rng.uniform(0.5, 2.5))
        joints.append((kind, rng.normal(size=3) * 0.3, Z, by))
    return robot_of(joints, seed)


X, Y, MINUS = (1, 0, 0), (0, 1, 0), (0, 0, -1)
R, P, C = "revolute", "prismatic", "continuous"
HAND_MADE: dict[str, list[tuple[Any, ...]]] = {
    "planar": [(R, (0, 0, 0), Z), (R, (1, 0, 0), Z), (R, (0.5, 0, 0), Z), (R, (0.2, 0, 0), Z)],
    "parallel, scattered": [(R, (0.1, 0.2, 0.3), Z), (R, (0.3, -0.4, 0.7), Z), (R, (-0.2, 0.1, -0.5), Z)],
    "parallel to nothing": [(R, (0.1, 0.2, 0.3), (1, 2, 3)), (R, (0.3, -0.4, 0.7), (1, 2, 3))],
    "antiparallel": [(R, (0, 0, 0.5), Z), (R, (0.4, 0.1, 0), MINUS), (R, (0, 0.3, 0.2), Z), (R, X, Y)],
    "coincident": [(R, (0, 0, 0), Z), (R, (0, 0, 0.3), Z), (R, (0, 0, 0.4), MINUS), (R, (0.1, 0, 0), X)],
    "one point": [(R, (0, 0, 0), Z), (R, (0, 0, 0), Y), (R, (0, 0, 0), X), (R, (0, 0, 0), Z)],
    "intersecting": [(R, (0, 0, 1), Z), (R, (0, 0, 0.2), (0, 1, 1)), (R, (0, 0.3, 0.3), (1, 0, 1))],
    "skew": [(R, (0.1, 0, 1), Y), (R, (0.3, 0.1, 0.2), (0, 1, 2)), (R, (0.2, 0.3, 0.3), (-1, 0.3, 1))],
    "Cartesian": [(P, (0, 0, 0), X), (P, (0, 0.1, 0), Y), (P, (0.2, 0, 0), Z)],
    "slides in line": [(P, (0, 0, 0), Z), (P, (0.1, 0.2, 0.3), Z), (P, (0.1, 0, 0), MINUS), (P, X, Z)],
    "SCARA": [(R, (0, 0, 0.4), Z), (R, (0.3, 0, 0), Z), (P, (0.25, 0, 0), MINUS), (C, (0, 0, 0), MINUS)],
    "slide first": [(P, (0.1, 0.2, 0.3), (1, 1, 0)), (R, (0, 0.3, 0), Z), (R, (0.5, 0, 0), Y)],
    "slide last": [(R, (0, 0.3, 0), Y), (R, (0.5, 0, 0), X), (P, (0.1, 0.2, 0.3), (1, 1, 0))],
    "one turn": [(R, (0.3, 0.2, 0.1), (3, 2, 1))],
    "one slide": [(P, (0.3, 0.2, 0.1), (3, 2, 1))],
    "stacked": [(R, (0.1, 0, 1), Z)] * 30,
    "stacked slides": [(P, (0.3, 0.1, 1), Z), (P, (0.1, 0.3, 1), X)] * 15,
    "straight base": [(C, (0, 0, 0.3), Z, turn(Z, 0.7)), (R, (0, 0.1, 0.2), Y), (R, (0, 0, 0.4), Y)],
}
BUILT_IN = ("puma560", "stanford", "ur5", "panda", "iiwa14", "two_link")


def loaded(name: str) -> px.Robot:
    """A built-in robot; some carry inertias that no rigid body has, as published."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)
        return px.load(name)


# ------------------------------------------------------------------- textbook loops on a chain


def mv(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Matrix times vector."""
    return (A @ x[..., None])[..., 0]


def frames(chain: DHChain, q: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Rotations to the world and origins of O_1 … O_n."""
    A, p = dh.rotations(chain, q), dh.offsets(chain, q)
    turns, origins = [chain.base.E.T], [chain.base.r]
    for i in range(chain.n):
        turns.append(turns[-1] @ A[..., i, :, :])
        origins.append(origins[-1] + mv(turns[-1], p[..., i, :]))
    return turns[1:], origins[1:]


def poses(chain: DHChain, q: np.ndarray) -> np.ndarray:
    """Poses of the links' frames in the file."""
    result = np.zeros((*q.shape, 4, 4))
    for i, (turned, origin) in enumerate(zip(*frames(chain, q), strict=True)):
        result[..., i, :3, :3] = turned @ chain.links.E[i].T
        result[..., i, :3, 3] = origin + mv(turned, chain.links.r[i])
        result[..., i, 3, 3] = 1.0
    return result


def torques(chain: DHChain, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """Lathrop's Table 2, joint after joint."""
    A, p, axes = dh.rotations(chain, q), dh.offsets(chain, q), dh.axes(chain)
    w = wd = np.zeros((*q.shape[:-1], 3))
    pdd = w - chain.gravity
    forces, moments = [], []
    for i in range(chain.n):
        back, z, r, J = np.swapaxes(A[..., i, :, :], -1, -2), axes[i], chain.s[i], unpack(chain.J[i])
        v, a = qd[..., i, None], qdd[..., i, None]
        if chain.turns[i]:
            wd = mv(back, wd + Z * a + np.cross(w, Z * v))
            w = mv(back, w + Z * v)
        else:
            w, wd = mv(back, w), mv(back, wd)
        pdd = mv(back, pdd) + np.cross(wd, p[..., i, :]) + np.cross(w, np.cross(w, p[..., i, :]))
        if not chain.turns[i]:
            pdd = pdd + z * a + 2.0 * np.cross(w, z * v)
        forces.append(chain.m[i] * (np.cross(w, np.cross(w, r)) + np.cross(wd, r) + pdd))
        moments.append(mv(J, wd) + np.cross(w, mv(J, w)))
    tau = np.empty(q.shape)
    f = n = np.zeros(3)
    for i in range(chain.n - 1, -1, -1):
        if i + 1 < chain.n:
            f, n = mv(A[..., i + 1, :, :], f), mv(A[..., i + 1, :, :], n)
        n = n + moments[i] + np.cross(p[..., i, :] + chain.s[i], forces[i]) + np.cross(p[..., i, :], f)
        f = f + forces[i]
        tau[..., i] = ((n if chain.turns[i] else f) * axes[i]).sum(axis=-1)
    return tau + chain.armature * qdd


def check_chain(robot: px.Robot, tolerance: float = 1e-12) -> DHChain:
    """Hold the chain of a robot to the robot's own poses and torques, and return it."""
    q, qd, qdd = robot.random_state(5, rng=1)
    chain = robot.model.dh
    agree(poses(chain, q), robot.forward_kinematics(q, backend="numpy"), tolerance)
    agree(torques(chain, q, qd, qdd), robot.inverse_dynamics(q, qd, qdd, **PLAIN), tolerance)
    return chain


def rebuilt(robot: px.Robot) -> px.Robot:
    """The robot that a robot's DH table describes."""
    table = robot.to_dh()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)
        return px.Robot.from_dh(table.rows, base=table.base, tool=table.tool, gravity=table.gravity)


def check_table(robot: px.Robot, tolerance: float = 1e-12) -> None:
    """Hold the robot of a robot's DH table to the robot itself."""
    other = rebuilt(robot)
    q, qd, qdd = robot.random_state(5, rng=2)
    last = robot.forward_kinematics(q, backend="numpy")[..., -1, :, :]
    agree(other.frame_pose(q, "tool", backend="numpy"), last, tolerance)
    expected = robot.inverse_dynamics(q, qd, qdd, **PLAIN)
    agree(other.inverse_dynamics(q, qd, qdd, **PLAIN), expected, tolerance)
    agree(other.mass_matrix(q, backend="numpy"), robot.mass_matrix(q, backend="numpy"), tolerance)
