# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Which points a frame reaches, against the geometry of two links and against random configurations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px


def arm(first: float, second: float) -> px.Robot:
    """Two horizontal links that turn about vertical axes."""
    return px.Robot.from_dh([{"a": first}, {"a": second}])


def test_two_links_reach_a_ring_where_they_move_as_the_sine_of_the_elbow() -> None:
    robot, x = arm(1.0, 0.6), np.linspace(-2.0, 2.0, 41)
    frame = robot.frame_names[-1]
    height = robot.frame_pose(np.zeros(2), frame)[2, 3]
    found = robot.reachable(frame, (x, x, height))
    assert found.points.shape == (41, 41, 3)
    assert found.q.shape == (41, 41, 2)
    far = np.linalg.norm(found.points[..., :2], axis=-1)
    inside = (far > 0.4 + 1e-6) & (far < 1.6 - 1e-6)
    assert found.reached[inside].all()
    assert not found.reached[(far < 0.4 - 1e-4) | (far > 1.6 + 1e-4)].any()
    cosine = (far**2 - 1.0 - 0.36) / 1.2
    volume = 0.6 * np.sqrt(np.maximum(1.0 - cosine**2, 0.0))
    assert np.allclose(found.manipulability[inside], volume[inside], atol=1e-4)
    assert not found.manipulability[~found.reached].any()
    assert np.isnan(found.q[~found.reached]).all()
    there = robot.frame_pose(found.q[inside], frame)[:, :3, 3]
    assert np.abs(there - found.points[inside]).max() < 2e-6


def test_poses_of_an_arm_have_the_best_of_their_solutions() -> None:
    robot = px.load("ur5")
    q = robot.random_state((30,), np.random.default_rng(0))[0]
    poses = robot.frame_pose(q, "tool0").reshape(5, 6, 4, 4)
    found = robot.reachable("tool0", poses, limits=True)
    assert found.reached.mean() > 0.9
    assert np.array_equal(found.points, poses[..., :3, 3])
    own = np.abs(np.linalg.det(robot.jacobian(q, "tool0"))).reshape(5, 6)
    assert (found.manipulability[found.reached] > own[found.reached] - 1e-5).mean() > 0.9
    free = robot.reachable("tool0", poses, position_only=True)
    assert np.array_equal(free.manipulability, robot.reachable("tool0", poses[..., :3, 3]).manipulability)
    assert np.array_equal(robot.reachable("tool0", poses[2, 3]).q, found.q[2, 3])
    assert robot.reachable("tool0", np.empty((0, 3))).reached.shape == (0,)


def test_obstacles_take_points_away() -> None:
    robot = px.load("ur5")
    grid: Any = (np.linspace(-0.9, 0.9, 13), 0.2, np.linspace(-0.6, 0.9, 11))
    floor = [(px.contact.sphere("tool0", 0.05), px.contact.plane((0.0, 0.0, 1.0), 0.0))]
    free, above = robot.reachable("tool0", grid), robot.reachable("tool0", grid, collisions=floor)
    height = free.points[..., 2]
    assert free.reached[height < 0.0].any()
    assert not above.reached[height < 0.05].any()
    assert (above.reached == free.reached)[height > 0.06].mean() > 0.95


@pytest.mark.parametrize(
    ("frame", "grid", "options", "message"),
    [
        ("tool", np.zeros(3), {}, 'did you mean "tool0"'),
        ("tool0", np.zeros(4), {}, "expected points"),
        ("tool0", (np.zeros(2), np.zeros((2, 2)), 0.0), {}, "one axis or a number"),
        ("tool0", px.target.point(np.zeros(3)), {}, "expected points"),
        ("tool0", "here", {}, "convert it"),
        ("tool0", np.zeros(3), {"all": True}, "takes no all"),
        ("tool0", np.zeros(3), {"seeds": 0}, "seeds"),
    ],
)
def test_bad_grids_are_named(frame: str, grid: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        px.load("ur5").reachable(frame, grid, **options)
