# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Paths of targets followed within velocity limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px

START = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8])


def path(robot: px.Robot, count: int, far: float) -> np.ndarray:
    """Poses on a straight line."""
    poses = np.tile(robot.frame_pose(START, "panda_hand"), (count, 1, 1))
    poses[:, 1, 3] += np.linspace(0.0, far, count)
    return poses


def test_a_slow_path_is_followed_and_a_fast_one_as_fast_as_joints_can() -> None:
    robot = px.load("panda")
    dt = 0.02
    s = robot.track({"panda_hand": path(robot, 60, 0.2)}, START, dt=dt)
    assert s.q.shape == (60, 7)
    assert s.error.shape == (60, 6)
    assert s.converged.all()
    assert np.abs(robot.frame_pose(s.q, "panda_hand") - path(robot, 60, 0.2)).max() < 3e-6
    fast = robot.track({"panda_hand": path(robot, 4, 0.4)}, START, dt=dt)
    assert fast.converged[0]
    assert not fast.converged[1:].any()
    steps = np.abs(np.diff(np.concatenate([START[None], fast.q]), axis=0))
    most = dt * robot.limits.velocity
    assert (steps <= most * (1.0 + 1e-9)).all()
    assert (steps[1:] > 0.999 * most).any(axis=-1).all()
    free = robot.track({"panda_hand": path(robot, 4, 0.4)}, START)
    assert free.converged.all()


def test_batches_of_paths_and_starts() -> None:
    robot = px.load("panda")
    paths = np.stack([path(robot, 5, 0.05), path(robot, 5, -0.05)])
    starts = START + np.random.default_rng(0).normal(size=(3, 1, 7)) * 0.01
    s = robot.track({"panda_hand": paths}, starts)
    assert s.q.shape == (3, 2, 5, 7)
    assert s.converged.shape == s.iterations.shape == (3, 2, 5)
    alone = robot.track({"panda_hand": paths[1]}, starts[2, 0])
    assert np.array_equal(alone.q, s.q[2, 1])
    both = {"panda_hand": [px.target.point(paths[0, :, :3, 3]), px.target.axis(paths[0, :, :3, 2])]}
    assert robot.track(both, START).error.shape == (5, 5)
    assert robot.track({"panda_hand": paths[:, :0]}, START).q.shape == (2, 0, 7)


def test_a_moment_without_a_target_is_flagged_alone() -> None:
    robot = px.load("panda")
    poses = path(robot, 5, 0.02)
    poses[2] = np.nan
    s = robot.track({"panda_hand": poses}, START, dt=0.02)
    assert s.converged.tolist() == [True, True, False, True, True]
    assert np.isnan(s.q[2]).all()
    assert np.isfinite(s.q[3:]).all()


@pytest.mark.parametrize(
    ("targets", "options", "message"),
    [
        ({"panda_hand": np.eye(4)}, {}, "an axis of moments"),
        ({"panda_hand": np.zeros((3, 3)), "panda_link4": np.zeros((2, 3))}, {}, "as many of each"),
        ({"panda_hand": np.zeros((3, 3))}, {"dt": -1.0}, "dt is -1.0"),
        ({"panda_hnd": np.zeros((3, 3))}, {}, "did you mean"),
    ],
)
def test_bad_paths_are_named(targets: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        px.load("panda").track(targets, START, **options)
