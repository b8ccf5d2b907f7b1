# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What is attached to links is checked: frames and loops on links that exist, with sound numbers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.robot.description import FixedFrame, LoopClosure, Pose

LOOP = LoopClosure("rod", "revolute", "link1", "link3", Pose.of(None, (0.1, 0.0, 0.0)))


def closed(*loops: LoopClosure) -> px.Robot:
    return px.Robot(replace(px.chain(3).description, loops=loops))


def test_loops_stay_with_the_robot_and_change_no_result() -> None:
    robot, other = closed(LOOP), px.chain(3)
    assert robot.loops == (LOOP,)
    assert robot != other
    assert robot.fix({robot.joint_names[0]: 0.1}).loops == (LOOP,)
    assert robot.with_payload("link2", 1.0).loops == (LOOP,)
    assert robot.with_floating_base().loops == (LOOP,)
    assert robot.replace(name="x").loops == (LOOP,)
    assert other.loops == ()
    q, qd, qdd = robot.random_state(rng=0)
    np.testing.assert_array_equal(robot.inverse_dynamics(q, qd, qdd), other.inverse_dynamics(q, qd, qdd))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"successor": "link9"}, r'loop "rod": successor is the unknown link "link9"; did you mean "link'),
        ({"predecessor": ""}, r'loop "rod": predecessor is the unknown link ""; links: '),
        ({"type": "wobbly"}, r'"rod" has the type "wobbly"'),
        (
            {"axis": (0.0, 0.0, 0.0)},
            r'loop "rod" \(revolute\) has the axis \(0, 0, 0\); expected a direction',
        ),
        ({"pitch": float("nan")}, r'loop "rod" has pitch = nan; expected finite numbers'),
        (
            {"successor_pose": Pose.of(2 * np.eye(3))},
            r'loop "rod" has a successor_pose that is not rigid',
        ),
    ],
)
def test_loops_without_sense_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        closed(replace(LOOP, **change))


def test_names_of_loops_are_unique() -> None:
    with pytest.raises(px.PhalanxError, match=r'two loops are named "rod"; expected unique names'):
        closed(LOOP, LOOP)


def framed(*frames: FixedFrame) -> px.Robot:
    return px.Robot(replace(px.chain(3).description, frames=frames))


def test_frames_are_named_as_links_are() -> None:
    robot = framed(FixedFrame("tip", "link3", Pose.of(None, (0.1, 0.2, 0.3))))
    assert robot.frame_names[-1] == "tip"
    q, _, _ = robot.random_state(rng=0)
    at = robot.frame_pose(q, "link3")
    np.testing.assert_allclose(
        robot.frame_pose(q, "tip"), at @ robot.description.frames[0].pose.matrix, atol=1e-15
    )
    flying = robot.with_floating_base().fix(dict.fromkeys(robot.joint_names, 0.2))
    assert flying.frames["tip"].link == 0
    loaded = robot.with_payload("tip", 1.0).with_payload("tip", 1.0)
    assert loaded.frame_names[-3:] == ("tip_payload", "tip_payload1", "tip")


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (
            [FixedFrame("tip", "link9")],
            r'frame "tip": its link is the unknown link "link9"; did you mean "link',
        ),
        (
            [FixedFrame("link1", "link2")],
            r'frame "link1" has the name of another link; expected unique names',
        ),
        ([FixedFrame("tip", "link1")] * 2, r'frame "tip" has the name of another frame; expected unique'),
        (
            [FixedFrame("tip", "link1", Pose.of(-np.eye(3)))],
            r'frame "tip" has a pose that is not rigid',
        ),
        (
            [FixedFrame("tip", "link1", Pose.of(None, (0.0, np.inf, 0.0)))],
            r'frame "tip" has pose = .*inf.*; expected finite numbers',
        ),
    ],
)
def test_frames_without_sense_are_refused(frames: list[FixedFrame], message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        framed(*frames)


def test_the_builder_attaches_frames_and_loops() -> None:
    builder = px.RobotBuilder()
    for link in ("a", "b"):
        builder.add_link(link, mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.add_joint("j", "revolute", "a", "b")
    assert builder.add_frame("tip", "b", (0.0, 0.0, 1.0)) == "tip"
    assert builder.add_loop("rod", "spherical", "a", "b", successor_pose=(1.0, 0.0, 0.0)) == "rod"
    robot = builder.build()
    assert robot.frame_names == ("a", "b", "tip")
    assert robot.loops == (
        LoopClosure("rod", "spherical", "a", "b", successor_pose=Pose.of(None, (1.0, 0.0, 0.0))),
    )
