# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Solutions that keep bodies of the robot apart, and away from obstacles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px

WALL = px.contact.plane((0.0, 0.0, 1.0), -0.05)
BALL = px.contact.sphere(None, 0.25, (0.45, 0.0, 0.5))
FOREARM = px.contact.capsule("forearm_link", 0.06, (0.0, 0.0, 0.0), (0.39, 0.0, 0.0))
SPHERES = [
    px.contact.sphere("upper_arm_link", 0.07, (0.2, 0.0, 0.0)),
    px.contact.sphere("forearm_link", 0.06, (0.2, 0.0, 0.0)),
    px.contact.sphere("tool0", 0.05),
]


def centers(robot: px.Robot, q: np.ndarray) -> list[np.ndarray]:
    """The centres of the spheres by Pinocchio's kinematics."""
    pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    from reference import pinocchio as other

    model, place = other.model_of(robot.description)
    data = model.createData()
    other.pin.forwardKinematics(model, data, q)
    made = []
    for sphere in SPHERES:
        joint, offset = place[sphere.frame]
        made.append((data.oMi[joint] * offset).act(np.array(sphere.ends[0])))
    return made


def test_spheres_keep_their_clearance_of_an_obstacle_and_of_each_other() -> None:
    robot, clearance = px.load("ur5"), 0.02
    pairs = px.contact.pairs(robot, SPHERES, [BALL])
    q = robot.random_state((600,), np.random.default_rng(0))[0]
    q = q[robot.distances(q, pairs).min(axis=-1) > clearance]
    assert len(q) > 200
    poses = robot.frame_pose(q, "tool0")
    plain = robot.inverse_kinematics({"tool0": poses})
    assert (robot.distances(plain.q, pairs).min(axis=-1) < 0.0).mean() > 0.02
    s = robot.inverse_kinematics({"tool0": poses}, collisions=pairs, clearance=clearance)
    assert s.converged.mean() > 0.98
    assert np.abs(robot.frame_pose(s.q, "tool0") - poses)[s.converged].max() < 3e-6
    assert ((s.q >= robot.limits.lower) & (s.q <= robot.limits.upper)).all()
    for x in s.q[s.converged]:
        a, b, c = centers(robot, x)
        for point, sphere in zip((a, b, c), SPHERES, strict=True):
            assert np.linalg.norm(point - BALL.ends[0]) > sphere.radius + BALL.radius + clearance
        assert np.linalg.norm(a - c) > SPHERES[0].radius + SPHERES[2].radius + clearance
    order = np.random.default_rng(1).permutation(len(q))
    other = robot.inverse_kinematics({"tool0": poses[order]}, collisions=pairs, clearance=clearance)
    for x, y in zip(s[:4], other[:4], strict=True):
        assert np.array_equal(x[order], y)


def test_what_can_only_be_reached_in_collision_is_not_converged() -> None:
    robot = px.load("ur5")
    pose = robot.frame_pose(np.array([0.0, -1.2, 1.0, 0.0, 0.5, 0.0]), "tool0")
    pose[:3, 3] = BALL.ends[0]
    assert robot.inverse_kinematics({"tool0": pose}).converged
    s = robot.inverse_kinematics({"tool0": pose}, collisions=[(SPHERES[2], BALL)])
    assert not s.converged
    assert np.isfinite(s.q).all()


def test_capsules_and_planes_in_float32_and_for_all_solutions() -> None:
    robot = px.load("ur5")
    pairs = [(FOREARM, WALL), (FOREARM, BALL), (SPHERES[2], WALL)]
    q = robot.random_state((200,), np.random.default_rng(2))[0]
    poses = robot.frame_pose(q[robot.distances(q, pairs).min(axis=-1) > 0.01], "tool0")
    for dtype, tolerance in ((np.float64, 1e-6), (np.float32, 1e-4)):
        s = robot.inverse_kinematics({"tool0": poses.astype(dtype)}, collisions=pairs, tolerance=tolerance)
        assert s.q.dtype == dtype
        assert s.converged.mean() > 0.97
        assert (robot.distances(s.q[s.converged].astype(float), pairs) > 0.0).all()
    plain = robot.inverse_kinematics({"tool0": poses})
    pose = poses[np.argmin(robot.distances(plain.q, pairs).min(axis=-1))]
    every = robot.inverse_kinematics({"tool0": pose}, collisions=pairs, all=True, seeds=64).all
    assert len(every) > 0
    assert (robot.distances(every, pairs) > 0.0).all()
    free = robot.inverse_kinematics({"tool0": pose}, all=True, seeds=64).all
    assert (robot.distances(free, pairs) < 0.0).any()


def test_true_stands_for_the_visuals_that_can_be_apart() -> None:
    robot = px.load("puma560")
    q = robot.random_state((200,), np.random.default_rng(4))[0]
    apart = (robot.distances(robot.random_state((400,), np.random.default_rng(5))[0]) > 0.0).any(axis=0)
    q = q[(robot.distances(q)[:, apart] > 0.0).all(axis=-1)]
    poses = robot.frame_pose(q, robot.link_names[-1])
    s = robot.inverse_kinematics({robot.link_names[-1]: poses}, collisions=True)
    assert s.converged.mean() > 0.95
    assert (robot.distances(s.q[s.converged])[:, apart] > 0.0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clearance": 0.1}, "without collisions"),
        ({"collisions": [(SPHERES[2], BALL)], "clearance": -0.1}, "not below zero"),
        ({"collisions": [(SPHERES[2], BALL)], "clearance": np.nan}, "not below zero"),
        ({"collisions": "hand"}, "expected pairs"),
        ({"collisions": [(px.contact.sphere("tool", 0.1), BALL)]}, "tool0"),
    ],
)
def test_bad_pairs_are_named(options: dict[str, Any], message: str) -> None:
    robot = px.load("ur5")
    with pytest.raises(px.PhalanxError, match=message):
        robot.inverse_kinematics({"tool0": robot.frame_pose(np.zeros(6), "tool0")}, **options)
