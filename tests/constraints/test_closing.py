# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops closed by Newton's method: nearest configurations, joints that stay, states that cannot."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from reference.constrained import four_bar, ring

START = np.array([[-1.0, 1.0, 1.2], [1.0, -1.0, -1.2], [-1.2, 0.9, 0.8]])


def test_loops_close_and_frames_meet() -> None:
    robot = four_bar("axis")
    closed = robot.close_loops(START)
    assert closed.converged.all()
    assert np.abs(robot.constraint_error(closed.q)).max() <= 1e-10
    assert closed.error.max() <= 1e-10
    assert np.abs(robot.frame_pose(closed.q, "tip")[:, :3, 3] - (0.6, 0.0, 0.0)).max() < 1e-9


def test_joints_that_are_fixed_stay_and_each_state_goes_its_own_way() -> None:
    robot = four_bar("axis")
    start = START.copy()
    start[1, 0] = np.nan
    closed = robot.close_loops(start, fixed=("hinge0",))
    assert np.array_equal(closed.converged, [True, False, True])
    assert np.array_equal(closed.q[[0, 2], 0], start[[0, 2], 0])
    alone = robot.close_loops(start[2], fixed=("hinge0",))
    assert np.array_equal(alone.q, closed.q[2])
    assert bool(alone.converged)


def test_what_cannot_close_says_which_and_by_how_much() -> None:
    far = four_bar("").with_constraint(
        px.constraint.point("bar0", at=(0.0, 0.0, 0.0), name="root"),
        px.constraint.point("tip", at=(2.0, 0.0, 0.0), name="rod"),
    )
    closed = far.close_loops(START[0])
    assert not closed.converged
    assert far.constraints[closed.worst].name == "rod"
    assert closed.error == pytest.approx(0.8, abs=1e-3)  # bars of 1.2 m reach for 2 m


@pytest.mark.parametrize("closure", ["weld", "point"])
def test_rings_close_from_near_configurations(closure: str) -> None:
    robot = ring(20, closure, seed=3)
    q = px.chain(20, seed=3).random_state(rng=3)[0]
    assert np.abs(robot.constraint_error(q)).max() < 1e-12  # it is made closed there
    closed = robot.close_loops(q + 0.1 * np.random.default_rng(0).normal(size=(5, robot.nq)))
    assert closed.converged.all()


def test_floating_bases_move_to_the_ground() -> None:
    b = px.RobotBuilder("puck")
    b.add_link("puck", mass=1.0, inertia=(0.1, 0.1, 0.2))
    held = px.constraint.weld(
        "puck", at=np.block([[np.diag([1.0, -1.0, -1.0]), np.ones((3, 1))], [np.eye(4)[3:]]])
    )
    robot = b.build().with_floating_base().with_constraint(held)
    q = robot.neutral()
    q[3:] = np.array([0.9, 0.1, 0.2, 0.3]) / np.linalg.norm([0.9, 0.1, 0.2, 0.3])
    closed = robot.close_loops(q)
    assert closed.converged
    pose = robot.frame_pose(closed.q, "puck")
    assert np.abs(pose - held.second_pose.matrix).max() < 1e-9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.close_loops(START[:, :2]), r"close_loops: q has shape \(3, 2\), expected \(…, 3\)"),
        (lambda r: r.close_loops(START, fixed=("hinge9",)), r"fixed: robot .* has no joint .hinge9."),
        (lambda r: r.close_loops(START, tolerance=0.0), r"tolerance=0.0, expected a positive number"),
        (lambda r: r.close_loops(START, iterations=0), r"iterations"),
    ],
)
def test_bad_calls_say_what_is_wrong(call: object, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        call(four_bar("axis"))  # type: ignore[operator]


def test_with_strict_a_loop_that_cannot_close_is_an_error_with_its_name_error_and_rank() -> None:
    far = px.constraint.axis("tip", axis=(0.0, 1.0, 0.0), at=(2.0, 0.0, 0.0), name="far pin")
    robot = four_bar("").with_constraint(far)
    q = np.zeros((3, robot.nq))
    message = r'constraint "far pin" of robot "four-bar" cannot close in 3 of 3 states.*of the 5 rows'
    with pytest.raises(px.PhalanxError, match=message):
        robot.close_loops(q, strict=True)
    with pytest.raises(px.PhalanxError, match="is not finite"):
        robot.close_loops(np.full(robot.nq, np.nan), strict=True)
    assert four_bar("axis").close_loops(np.array([-1.2, 0.8, 0.4]), strict=True).converged
