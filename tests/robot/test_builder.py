# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robots put together by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.robot.description import Pose
from reference import dynamics as textbook
from reference.sampling import ALL_TYPES, agree

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


def pair(**joint: Any) -> px.RobotBuilder:
    builder = px.RobotBuilder("pair")
    builder.add_link("base", mass=1.0)
    builder.add_link("tip", mass=1.0, com=[0.1, 0.2, 0.3], inertia=np.diag([0.1, 0.2, 0.25]))
    builder.add_joint("joint", joint.pop("type", "revolute"), "base", "tip", **joint)
    return builder


@pytest.mark.parametrize("kind", ALL_TYPES)
def test_joints_of_every_type_can_be_added(kind: str) -> None:
    T = textbook.pose(textbook.turn(np.array([0.0, 0.6, 0.8]), 0.4), np.array([0.1, 0.2, 0.3]))
    robot = pair(
        type=kind, origin=T, after=np.linalg.inv(T), axis=(1, 2, 3), axis2=(0, 1, 0), pitch=0.1
    ).build()
    q, qd, qdd = robot.random_state(rng=0)
    agree(robot.inverse_dynamics(q, qd, qdd), textbook.inverse_dynamics(robot, q, qd, qdd), 1e-13)
    agree(robot.frame_pose(q, "tip"), textbook.frame_pose(robot, q, "tip"), 1e-13)


def test_names_are_returned_and_kept() -> None:
    builder = px.RobotBuilder("r", gravity=(0, -9.81, 0))
    assert builder.add_link("a") == "a"
    assert builder.add_link("b", mass=1) == "b"
    assert builder.add_joint("j", "prismatic", "a", "b", origin=Pose.of(None, (1, 0, 0))) == "j"
    robot = builder.build()
    assert robot.gravity.tolist() == [0.0, -9.81, 0.0]
    assert robot.joint_names == ("j",)


def test_numbers_per_joint_may_be_single_or_lists() -> None:
    robot = pair(
        type="universal", lower=(-1, -2), upper=[1, 2], effort=np.array([3, 4]), axis2=(0, 1, 0)
    ).build()
    assert robot.limits.lower.tolist() == [-1.0, -2.0]
    assert robot.limits.effort.tolist() == [3.0, 4.0]
    assert pair(armature=0.5).build().armature.tolist() == [0.5]


def test_a_mimic_has_a_multiplier_of_one_and_no_offset_unless_told() -> None:
    builder = pair()
    builder.add_link("end", mass=1.0)
    builder.add_joint("follower", "prismatic", "tip", "end", mimic=("joint",))
    assert builder.build().mimics["follower"] == ("joint", 1.0, 0.0)
    assert builder.build(mimic="independent").nv == 2


FAULTS: list[tuple[Any, str]] = [
    (lambda: pair(colour=3), 'joint "joint": unknown keyword "colour"; expected "armature", "damping", '),
    (lambda: pair(type="wobbly").build(), 'robot "pair": joint "joint" has the type "wobbly"'),
    (lambda: pair(axis=(1, 2)), 'joint "joint": axis: got shape (2,), expected three numbers.'),
    (lambda: pair(axis="up"), "joint \"joint\": axis: got 'up', expected three numbers."),
    (lambda: pair(axis=(0, 0, 0)).build(), 'joint "joint" (revolute) has the axis (0, 0, 0)'),
    (lambda: pair(pitch=None), 'joint "joint": pitch: got None, expected a number.'),
    (
        lambda: pair(origin=np.eye(3)),
        'joint "joint": got shape (3, 3), expected a 4x4 pose or a translation (3,).',
    ),
    (lambda: pair(lower="low"), "joint \"joint\": lower is 'low'; expected numbers."),
    (lambda: pair(damping=[1, [2]]), 'joint "joint": damping is [1, [2]]; expected numbers.'),
    (lambda: pair(effort=(1, 2)).build(), 'joint "joint" (revolute) has 2 values of effort; expected 1.'),
    (lambda: pair(mimic="joint"), "joint \"joint\": mimic is 'joint'; expected (joint, multiplier, offset)."),
    (lambda: pair(mimic=()), 'joint "joint": mimic is (); expected (joint, multiplier, offset).'),
    (lambda: pair(mimic=3), 'joint "joint": mimic is 3; expected (joint, multiplier, offset).'),
    (lambda: pair(mimic=("joint", "a")), "joint \"joint\": mimic: got 'a', expected a number."),
    (
        lambda: px.RobotBuilder().add_link("a", mass="heavy"),
        "link \"a\": mass: got 'heavy', expected a number.",
    ),
    (lambda: px.RobotBuilder().add_link("a", com=3), 'link "a": com: got shape (), expected three numbers.'),
    (
        lambda: px.RobotBuilder().add_link("a", inertia={"xx": 1.0, "xw": 2.0}),
        'link "a": inertia: unknown entry \'xw\'; entries: "xx", "xy"',
    ),
    (lambda: px.RobotBuilder().add_link("a", inertia="i"), "link \"a\": inertia: got 'i', expected numbers."),
    (lambda: px.RobotBuilder().build(), 'robot "robot": the robot has no links; expected at least one.'),
    (lambda: px.RobotBuilder(gravity=(1, 2)).build(), "gravity: got shape (2,), expected three numbers."),
    (lambda: pair().build(mimic="loose"), 'build: mimic=\'loose\'; choices: "coupled", "independent".'),
]


@pytest.mark.parametrize(("make", "message"), FAULTS)
def test_faults_are_named(make: Any, message: str) -> None:
    with pytest.raises(px.PhalanxError) as caught:
        make()
    assert message in str(caught.value)
