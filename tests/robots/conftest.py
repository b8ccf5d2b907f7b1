# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pinocchio as an independent reader of our descriptions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from phalanx.description import Description, Link, Pose, ordered


@pytest.fixture
def pinocchio_model() -> Callable[[Description], Any]:
    """A function that builds Pinocchio's model of a robot with revolute, prismatic and fixed joints."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")

    def placement(pose: Pose) -> Any:
        return pin.SE3(np.reshape(pose.rotation, (3, 3)), np.array(pose.translation))

    def inertia(link: Link) -> Any:
        xx, xy, xz, yy, yz, zz = link.inertia
        return pin.Inertia(
            link.mass, np.array(link.com), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        )

    def build(description: Description) -> Any:
        model = pin.Model()
        model.gravity.linear = np.array(description.gravity)
        motions = {"revolute": pin.JointModelRevoluteUnaligned, "prismatic": pin.JointModelPrismaticUnaligned}
        root, joints = ordered(description)
        place = {root: (0, pin.SE3.Identity())}  # link -> joint that carries it, pose in that joint's frame
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
        armature = {joint.name: joint.armature for joint in joints}
        model.armature = np.array([(armature[name] or (0.0,))[0] for name in model.names[1:]])
        return model

    return build
