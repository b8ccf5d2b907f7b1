# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Poses and Jacobians of links and frames."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import phalanx as px
from reference import dynamics as textbook
from reference.sampling import agree, seeds, trees

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


@given(trees(), seeds)
def test_poses_agree_with_the_textbook(robot: px.Robot, seed: int) -> None:
    q, _, _ = robot.random_state(rng=seed)
    agree(robot.forward_kinematics(q), textbook.forward_kinematics(robot, q))
    for frame in robot.frame_names:
        agree(robot.frame_pose(q, frame), textbook.frame_pose(robot, q, frame))


@given(trees(), seeds)
def test_the_jacobian_is_the_slope_of_the_pose(robot: px.Robot, seed: int) -> None:
    q, _, _ = robot.random_state(rng=seed)
    frame = robot.frame_names[seed % len(robot.frame_names)]
    h = 1e-5
    steps = h * np.eye(robot.nv)
    T = robot.frame_pose(q, frame)
    up = robot.frame_pose(robot.integrate(q, steps), frame)
    down = robot.frame_pose(robot.integrate(q, -steps), frame)
    slope = (up - down) / (2 * h)
    spin = slope[:, :3, :3] @ T[:3, :3].T
    wanted = np.concatenate([spin[:, [2, 0, 1], [1, 2, 0]], slope[:, :3, 3]], axis=1).T
    size = 1.0 + np.abs(wanted).max(initial=0.0)
    np.testing.assert_allclose(robot.jacobian(q, frame), wanted, rtol=0.0, atol=1e-8 * size)


@given(trees(), seeds)
def test_jacobians_agree_with_the_textbook(robot: px.Robot, seed: int) -> None:
    q, _, _ = robot.random_state(rng=seed)
    for frame in robot.frame_names:
        agree(robot.jacobian(q, frame), textbook.jacobian(robot, q, frame))


@pytest.mark.parametrize("reference", ["world_aligned", "world", "local"])
@given(trees(), seeds)
def test_motions_of_frames_agree_with_the_textbook_in_every_reference(
    reference: str, robot: px.Robot, seed: int
) -> None:
    q, qd, qdd = robot.random_state(rng=seed)
    frame = robot.frame_names[seed % len(robot.frame_names)]
    for function, state in {
        "jacobian": (q,),
        "frame_velocity": (q, qd),
        "frame_acceleration": (q, qd, qdd),
        "jacobian_time_derivative": (q, qd),
        "kinematic_hessian": (q,),
    }.items():
        wanted = getattr(textbook, function)(robot, *state, frame, reference)
        agree(getattr(robot, function)(*state, frame, reference=reference), wanted, 1e-8, least=1.0)


def test_a_point_of_a_link_at_the_origin_of_the_world_has_the_velocity_of_reference_world() -> None:
    """A link turns about an axis through (1, 0, 0): its point at the origin moves along -y."""
    builder = px.RobotBuilder("arm")
    builder.add_link("base")
    builder.add_link("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.add_link("tool")
    builder.add_joint("turn", "revolute", "base", "arm", origin=(1.0, 0.0, 0.0))
    builder.add_joint("mount", "fixed", "arm", "tool", origin=(0.5, 0.0, 0.0))
    robot, q, qd = builder.build(), [np.pi / 2], [2.0]
    wanted = {
        "world_aligned": [0, 0, 2, -1, 0, 0],
        "local": [0, 0, 2, 0, 1, 0],
        "world": [0, 0, 2, 0, -2, 0],
    }
    for reference, velocity in wanted.items():
        agree(robot.frame_velocity(q, qd, "tool", reference=reference), velocity)
    # Each point falls towards the axis with w^2 times its distance.
    agree(robot.frame_acceleration(q, qd, [0.0], "tool", reference="world"), [0, 0, 0, 4, 0, 0])
    agree(robot.frame_acceleration(q, qd, [0.0], "tool", reference="local"), [0, 0, 0, -2, 0, 0])


def test_a_welded_frame_stands_where_the_file_puts_it() -> None:
    builder = px.RobotBuilder("arm")
    builder.add_link("base")
    builder.add_link("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.add_link("tool")
    builder.add_link("stand")
    builder.add_joint("turn", "revolute", "base", "arm", origin=(0.0, 0.0, 1.0))
    builder.add_joint("mount", "fixed", "arm", "tool", origin=(1.0, 0.0, 0.0))
    builder.add_joint("foot", "fixed", "base", "stand", origin=(0.0, 2.0, 0.0))
    robot = builder.build()
    agree(robot.frame_pose([np.pi / 2], "tool")[:3, 3], [0.0, 1.0, 1.0])
    agree(robot.jacobian([0.0], "tool")[:, 0], [0.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    agree(robot.frame_pose(np.zeros((2, 1)), "stand")[1, :3, 3], [0.0, 2.0, 0.0])
    assert (robot.jacobian([0.0], "stand") == 0.0).all()


@pytest.mark.parametrize("frame", [["lnik1"], "lnik1", ""])
def test_unknown_frames_are_refused_with_the_known_ones(frame: object) -> None:
    robot = px.chain(2)
    for function in (robot.frame_pose, robot.jacobian):
        with pytest.raises(
            px.PhalanxError, match=r'robot "chain" has no frame .*frames: "base", "link1", "link2"'
        ):
            function([0.0, 0.0], frame)


@pytest.mark.parametrize("frame", [None, 3])
def test_what_is_no_name_of_a_frame_is_refused_with_a_name(frame: object) -> None:
    robot = px.chain(2)
    for function in (robot.frame_pose, robot.jacobian):
        with pytest.raises(px.PhalanxError, match=r'expected the name of one, such as frame="link2"'):
            function([0.0, 0.0], frame)
