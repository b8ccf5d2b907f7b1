# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pinocchio as an independent reader of our descriptions and as an independent inverse dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.robot.description import Description, Link, Pose, ordered

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")


def placement(pose: Pose) -> Any:
    """The pose as Pinocchio writes it."""
    return pin.SE3(np.reshape(pose.rotation, (3, 3)), np.array(pose.translation))


def inertia(link: Link) -> Any:
    """The inertia of a link as Pinocchio writes it."""
    xx, xy, xz, yy, yz, zz = link.inertia
    return pin.Inertia(link.mass, np.array(link.com), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


def model_of(description: Description, *, free_base: bool = False) -> tuple[Any, dict[str, Any]]:
    """Pinocchio's model of revolute, prismatic and fixed joints, and (joint, pose) of every link."""
    model = pin.Model()
    model.gravity.linear = np.array(description.gravity)
    motions = {"revolute": pin.JointModelRevoluteUnaligned, "prismatic": pin.JointModelPrismaticUnaligned}
    root, joints = ordered(description)
    base = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base") if free_base else 0
    place = {root: (base, pin.SE3.Identity())}
    for joint in joints:
        above, pose = place[joint.parent]
        at = pose * placement(joint.origin)
        if joint.type == "fixed":
            place[joint.child] = above, at * placement(joint.after)
        else:
            number = model.addJoint(above, motions[joint.type](np.array(joint.axis)), at, joint.name)
            place[joint.child] = number, placement(joint.after)
    for link in description.links:
        model.appendBodyToJoint(place[link.name][0], inertia(link), place[link.name][1])
    armature = {joint.name: (joint.armature or (0.0,))[0] for joint in joints}
    rotors = [armature[name] for name in model.names[1 + free_base :]]
    model.armature = np.array([0.0] * 6 * free_base + rotors)
    return model, place


def inverse_dynamics(
    robot: px.Robot,
    q: np.ndarray,
    qd: np.ndarray,
    qdd: np.ndarray,
    external: np.ndarray | None = None,
    base_velocity: np.ndarray | None = None,
    base_acceleration: np.ndarray | None = None,
) -> np.ndarray:
    """Joint forces (nv,) of one state; a moving base is a free flyer that moves as told."""
    free = base_velocity is not None or base_acceleration is not None
    model, place = model_of(robot.description, free_base=free)
    forces = pin.StdVec_Force()
    forces.extend([pin.Force.Zero() for _ in range(model.njoints)])
    for name, wrench in zip(
        robot.link_names, () if external is None else external, strict=external is not None
    ):
        joint, pose = place[name]
        forces[joint] = forces[joint] + pose.act(pin.Force(wrench[3:], wrench[:3]))
    if free:
        still = np.zeros(6)
        swapped = [3, 4, 5, 0, 1, 2]
        q = np.r_[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, q]
        qd = np.r_[(still if base_velocity is None else base_velocity)[swapped], qd]
        qdd = np.r_[(still if base_acceleration is None else base_acceleration)[swapped], qdd]
    tau = pin.rnea(model, model.createData(), q, qd, qdd, forces)
    return tau[6 * free :].copy()
