# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Descriptions that are no tree or hold numbers that no robot has are refused, each with one message."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import phalanx as px
from phalanx.robot.checks import unphysical
from phalanx.robot.description import Description, Joint, Link, Pose, ordered, packed_inertia, pose
from reference.sampling import agree, seeds

Rotation = pytest.importorskip("scipy.spatial.transform", reason="SciPy is not installed").Rotation

A, B, C, D = (Link(name, 1.0) for name in "abcd")


def joint(name: str, parent: str, child: str, **more: Any) -> Joint:
    return Joint(name, more.pop("type", "revolute"), parent, child, **more)


def robot(*joints: Joint, links: tuple[Link, ...] = (A, B, C)) -> Description:
    return Description("r", links, joints)


TREES = [
    (robot(links=()), 'robot "r": the robot has no links; expected at least one.'),
    (
        robot(joint("x", "a", "b"), links=(A, B, B)),
        'robot "r": two links are named "b"; expected unique names. Rename one.',
    ),
    (
        robot(joint("x", "a", "b"), joint("x", "b", "c")),
        'robot "r": two joints are named "x"; expected unique names. Rename one.',
    ),
    (
        robot(joint("x", "a", "b"), joint("y", "z", "c")),
        'robot "r": joint "y" has the unknown parent link "z"; links: "a", "b", "c".',
    ),
    (
        robot(joint("x", "a", "b"), joint("y", "a", "z")),
        'robot "r": joint "y" has the unknown child link "z"; links: "a", "b", "c".',
    ),
    (
        robot(joint("x", "a", "b"), joint("y", "a", "c"), joint("z", "b", "c")),
        'robot "r": link "c" is the child of two joints, "y" and "z"; a tree allows one. '
        "Cut one of them (loops are not supported).",
    ),
    (
        robot(joint("x", "a", "b"), joint("y", "b", "c"), joint("z", "c", "a")),
        'robot "r": the links form a cycle ("a", "c", "b"); expected one link without a parent. '
        "Remove one joint of the cycle.",
    ),
    (
        robot(joint("x", "b", "c"), joint("y", "c", "b")),
        'robot "r": the links form a cycle ("b", "c") that is not connected to the root "a". '
        "Remove one joint of the cycle.",
    ),
    (
        robot(joint("x", "a", "a")),
        'robot "r": 2 root links ("b", "c"); expected one. '
        "Connect them with a fixed joint, or load them as separate robots.",
    ),
    (
        robot(joint("x", "a", "b")),
        'robot "r": 2 root links ("a", "c"); expected one. '
        "Connect them with a fixed joint, or load them as separate robots.",
    ),
]


@pytest.mark.parametrize(("described", "message"), TREES)
def test_what_is_no_tree_is_refused(described: Description, message: str) -> None:
    with pytest.raises(px.PhalanxError) as caught:
        px.load(described)
    assert str(caught.value) == message


def test_the_file_stands_before_the_message() -> None:
    with pytest.raises(px.PhalanxError, match=r"^arm\.urdf: the robot has no links"):
        ordered(replace(robot(links=()), source="arm.urdf"))


nan = float("nan")
NUMBERS = [
    (
        joint("x", "a", "b", type="wobbly"),
        'joint "x" has the type "wobbly"; supported: "fixed", "revolute", ',
    ),
    (joint("x", "a", "b", type="revolut"), 'joint "x" has the type "revolut"; did you mean "revolute"?'),
    (
        joint("x", "a", "b", axis=(0.0, 0.0, 0.0)),
        'joint "x" (revolute) has the axis (0, 0, 0); expected a direction. '
        "Give it a non-zero axis or make the joint fixed.",
    ),
    (joint("x", "a", "b", axis=(0.0, nan, 0.0)), 'joint "x" has axis = nan; expected finite numbers.'),
    (joint("x", "a", "b", axis=(0.0, np.inf, 0.0)), 'joint "x" has axis = inf; expected finite numbers.'),
    (joint("x", "a", "b", pitch=nan), 'joint "x" has pitch = nan; expected finite numbers.'),
    (joint("x", "a", "b", lower=(nan,)), 'joint "x" has lower = nan; expected finite numbers.'),
    (joint("x", "a", "b", damping=(np.inf,)), 'joint "x" has damping = inf; expected finite numbers.'),
    (joint("x", "a", "b", armature=(-1.0,)), 'joint "x" has the negative armature -1; expected >= 0.'),
    (
        joint("x", "a", "b", lower=(0.5,), upper=(-0.5,)),
        'joint "x" has the lower limit 0.5 above its upper limit -0.5; expected lower <= upper. Swap them,',
    ),
    (
        joint("x", "a", "b", type="planar", lower=(0.0, 0.0, 3.0), upper=(0.0, 1.0, 2.0)),
        'joint "x" has the lower limit 3 above its upper limit 2;',
    ),
    (joint("x", "a", "b", upper=(1.0, 2.0)), 'joint "x" (revolute) has 2 values of upper; expected 1.'),
    (
        joint("x", "a", "b", type="planar", velocity=(1.0,)),
        'joint "x" (planar) has 1 values of velocity; expected 3.',
    ),
    (
        joint("x", "a", "b", type="universal", axis2=(0.0, 0.0, 2.0)),
        'joint "x" (universal) has parallel axes; expected two directions.',
    ),
    (
        joint("x", "a", "b", type="universal", axis2=(0.0, 0.0, 0.0)),
        'joint "x" (universal) has the axis (0, 0, 0); expected a direction.',
    ),
    (
        joint("x", "a", "b", origin=Pose.of(2 * np.eye(3))),
        'joint "x" has the pose origin, which is not a rotation; expected a right-handed orthonormal matrix.',
    ),
    (
        joint("x", "a", "b", after=Pose.of(-np.eye(3))),
        'joint "x" has the pose after, which is not a rotation; expected a right-handed orthonormal matrix.',
    ),
    (
        joint("x", "a", "b", origin=Pose.of(None, (0.0, 0.0, nan))),
        'joint "x" has origin = nan; expected finite',
    ),
]


@pytest.mark.parametrize(("bad", "message"), NUMBERS)
def test_joints_with_impossible_numbers_are_refused(bad: Joint, message: str) -> None:
    with pytest.raises(px.PhalanxError) as caught:
        px.load(robot(bad, links=(A, B)))
    assert str(caught.value).startswith(f'robot "r": {message}')


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (Link("b", -0.5), 'link "b" has the negative mass -0.5 kg; expected >= 0.'),
        (Link("b", nan), 'link "b" has mass = nan; expected finite numbers.'),
        (Link("b", 1.0, (0.0, np.inf, 0.0)), 'link "b" has com = inf; expected finite numbers.'),
        (Link("b", 1.0, inertia=(nan,) * 6), 'link "b" has inertia = nan; expected finite numbers.'),
    ],
)
def test_links_with_impossible_numbers_are_refused(bad: Link, message: str) -> None:
    with pytest.raises(px.PhalanxError) as caught:
        px.load(robot(joint("x", "a", "b"), links=(A, bad)))
    assert str(caught.value) == f'robot "r": {message}'


def test_gravity_has_to_be_finite() -> None:
    with pytest.raises(px.PhalanxError, match="the robot has gravity = nan; expected finite numbers"):
        px.load(replace(robot(links=(A,)), gravity=(0.0, 0.0, nan)))


def test_zero_axes_of_fixed_joints_do_not_matter() -> None:
    assert px.load(robot(joint("x", "a", "b", type="fixed", axis=(0.0, 0.0, 0.0)), links=(A, B))).nv == 0


def test_joints_are_ordered_parents_first_and_otherwise_as_in_the_file() -> None:
    joints = (joint("late", "c", "d"), joint("first", "a", "b"), joint("second", "a", "c"))
    root, found = ordered(robot(*joints, links=(A, B, C, D)))
    assert root == "a"
    assert [j.name for j in found] == ["first", "second", "late"]


def test_inertias_of_solid_bodies_and_points_are_physical() -> None:
    links = (
        Link("point", 1.0),
        Link("rod", 1.0, inertia=(0, 0, 0, 1, 0, 1)),
        Link("plate", 1.0, inertia=(1, 0, 0, 1, 0, 2)),
    )
    assert unphysical(Description("r", links, ())) == []


@given(seeds)
def test_breaches_are_found_in_any_axes_with_their_amount(seed: int) -> None:
    R = Rotation.from_quat(np.random.default_rng(seed).standard_normal(4)).as_matrix()
    links = tuple(
        Link(name, 1.0, inertia=packed_inertia(R @ np.diag(moments) @ R.T, name))
        for name, moments in (
            ("thin", (1.0, 1.0, 2.5)),
            ("odd", (-0.25, 1.0, 1.0)),
            ("fine", (1.0, 1.5, 2.0)),
        )
    )
    (thin, what, by), (odd, why, amount) = unphysical(Description("r", links, ()))
    assert (thin, what, odd, why) == (
        "thin",
        "triangle inequality exceeded by",
        "odd",
        "negative principal moment",
    )
    agree([by, amount], [0.5, -0.25], 1e-12)


def test_a_link_that_is_not_there_is_named() -> None:
    described = px.chain(2).description
    assert described.link("link1").name == "link1"
    with pytest.raises(px.PhalanxError, match='robot "chain": no link "arm"; links: "base", "link1"'):
        described.link("arm")


def test_inertias_are_read_in_three_forms() -> None:
    assert packed_inertia(None, "x") == (0.0,) * 6
    assert packed_inertia((1, 2, 3), "x") == (1.0, 0.0, 0.0, 2.0, 0.0, 3.0)
    assert packed_inertia((1, 2, 3, 4, 5, 6), "x") == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert packed_inertia([[1, 2, 3], [2, 4, 5], [3, 5, 6]], "x") == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)


def test_poses_compose_as_matrices() -> None:
    rng = np.random.default_rng(0)
    first, second = (
        Pose.of(Rotation.random(random_state=k).as_matrix(), rng.standard_normal(3)) for k in (1, 2)
    )
    agree((first @ second).matrix, first.matrix @ second.matrix, 1e-15)
    assert pose(None, "x") == Pose()
    assert pose(first, "x") is first
    agree(pose(first.matrix, "x").matrix, first.matrix, 1e-15)


@pytest.mark.parametrize("value", ["here", np.eye(3), [1, 2], [1, 2, "x"], object()])
def test_what_is_no_pose_is_refused(value: Any) -> None:
    with pytest.raises(px.PhalanxError, match=r'^joint "x": got .*, expected a'):
        pose(value, 'joint "x"')


def test_implausible_magnitudes_are_told() -> None:
    links = (A, Link("b", 1.0, (0.0, 1e8, 0.0), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1)), Link("c", 2e12))
    far = robot(joint("x", "a", "b"), joint("y", "b", "c"), links=links)
    with pytest.warns(px.PhalanxWarning, match="1e\\+08") as caught:
        px.Robot(far)
    assert str(caught[0].message) == (
        'robot "r": 2 links have inertias that no robot has; check the units ("b": mass centre at a '
        'distance [m] of 1e+08; "c": mass [kg] 2e+12). The numbers are used as they are; '
        "strict=True refuses them."
    )
    with pytest.raises(px.PhalanxError, match="that no robot has; check the units"):
        px.Robot(far, strict=True)


@pytest.mark.parametrize("given", [(-1.0, 0.0, 0.0, 0.0, 0.0, 0.0), (1.0,), (0.0,) * 7])
def test_armature_of_the_base_is_none_or_six_positive_numbers(given: tuple[float, ...]) -> None:
    with pytest.raises(px.PhalanxError, match=r"base_armature is .*; expected none or six numbers >= 0"):
        px.Robot(replace(robot(joint("x", "a", "b"), links=(A, B)), floating_base=True, base_armature=given))
