# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What is attached to links is checked: loops between links that exist, with numbers that make sense."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.description import Loop, Pose

LOOP = Loop("rod", "revolute", "link1", "link3", Pose.of(None, (0.1, 0.0, 0.0)))


def closed(*loops: Loop) -> px.Robot:
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
        ({"pitch": float("nan")}, r'loop "rod" has pitch = \[nan\]; expected finite numbers'),
        (
            {"successor_pose": Pose.of(2 * np.eye(3))},
            r'loop "rod" has the pose successor_pose, which is not a rotation',
        ),
    ],
)
def test_loops_without_sense_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        closed(replace(LOOP, **change))


def test_names_of_loops_are_unique() -> None:
    with pytest.raises(px.PhalanxError, match=r'two loops are named "rod"; expected unique names'):
        closed(LOOP, LOOP)
