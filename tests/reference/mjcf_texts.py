# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robots of hinges, slides, balls and free joints as MJCF text, so that MuJoCo simulates the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

import phalanx as px
from phalanx.robot.description import Joint

TYPES = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "spherical": "ball"}


def mjcf_of(
    robot: px.Robot,
    *,
    options: str = "",
    flags: str = "",
    rest: str = "",
    world: str = "",
    geoms: Mapping[str, str] | None = None,
) -> str:
    """A body for each link of the robot, with its mass, damping and armature; no limits and no friction.

    `options` and `flags` are attributes of these elements, `world` and `rest` stand around the tree,
    `geoms` has elements inside links by name.
    """
    joints = {joint.child: joint for joint in robot.description.joints}
    poses = [np.eye(4), *robot.forward_kinematics(robot.neutral(), backend="numpy")]
    parameters = np.reshape(robot.inertial_parameters, (-1, 10))

    def body(i: int) -> str:
        name = robot.link_names[i]
        place = np.linalg.inv(poses[robot.parents[i] + 1]) @ poses[i + 1]
        joint = _joint(robot, joints[name]) if name in joints else _free(robot)
        inside = "".join(body(k) for k, parent in enumerate(robot.parents) if parent == i)
        shapes = (geoms or {}).get(name, "")
        return f'<body name="{name}" {_pose(place)}>{joint}{_inertial(parameters[i])}{shapes}{inside}</body>'

    tree = "".join(body(k) for k, parent in enumerate(robot.parents) if parent < 0)
    return (
        f'<mujoco><compiler angle="radian" autolimits="false"/>'
        f'<option gravity="{_numbers(robot.gravity)}" {options}><flag {flags}/></option>'
        f"<worldbody>{world}{tree}</worldbody>{rest}</mujoco>"
    )


def _free(robot: px.Robot) -> str:
    return f'<joint type="free" {_constants(robot, "")}/>'


def _joint(robot: px.Robot, joint: Joint) -> str:
    turn, anchor = np.reshape(joint.after.rotation, (3, 3)), np.array(joint.after.translation)
    if joint.type == "spherical":
        assert np.array_equal(turn, np.eye(3)), "MuJoCo turns a ball in the axes of its body"
    # The body's own frame stands `after` the joint.
    where, axis = -turn.T @ anchor, turn.T @ np.array(joint.axis)
    return (
        f'<joint name="{joint.name}" type="{TYPES[joint.type]}" pos="{_numbers(where)}" '
        f'axis="{_numbers(axis)}" {_constants(robot, joint.name)}/>'
    )


def _constants(robot: px.Robot, joint: str) -> str:
    """Damping and armature, which MJCF has once for each joint."""
    told = []
    for name in ("damping", "armature"):
        values = set(getattr(robot, name)[robot.v_slices[joint]].tolist())
        assert len(values) == 1, f"{name} of joint {joint!r} differs between its axes"
        told.append(f'{name}="{_numbers(values)}"')
    return " ".join(told)


def _inertial(parameters: np.ndarray) -> str:
    """From mass, first moments and the inertia about the link's origin."""
    mass, h = parameters[0], parameters[1:4]
    xx, xy, xz, yy, yz, zz = parameters[4:]
    c = h / mass
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - mass * (
        c @ c * np.eye(3) - np.outer(c, c)
    )
    full = (*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2])
    return f'<inertial mass="{mass}" pos="{_numbers(c)}" fullinertia="{_numbers(full)}"/>'


def _pose(place: np.ndarray) -> str:
    return f'pos="{_numbers(place[:3, 3])}" xyaxes="{_numbers([*place[:3, 0], *place[:3, 1]])}"'


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(x)) for x in values)
