# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How wrenches that users write themselves yield to motion, so that implicit steps take them at their end.

Of a wrench on a frame the diagonal of its slopes is taken: how each component, along the axes of the base,
falls with the same component of the frame's velocity and position, and how what it does in a joint falls with
that joint's own coordinate and rate. What lies beside the diagonal stays explicit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..program.ops import NEG
from ..program.scalar import Node
from ..spatial import cross
from .loads import FrameLoad
from .slopes import Slopes

ORIGIN = (0.0, 0.0, 0.0)


def yielding(load: FrameLoad, q: Any, qd: Any, robot: Any, h: float) -> FrameLoad:
    """A load by a wrench with its diagonal slopes: resistances of the frame, or itself if it has none."""
    frame, told = load.frame, robot._told
    if robot.frames[frame].link < 0:  # of the world
        return load
    pose, velocity = (x.scalars for x in (robot.frame_pose(q, frame), robot.frame_velocity(q, qd, frame)))
    turn = pose[:3, :3]
    wrench = np.concatenate([turn @ load.wrench[:3], turn @ load.wrench[3:]])
    slope = Slopes(wrench.tolist(), told)
    damping = [_slope(slope, wrench[k], velocity[k]) for k in range(6)]
    stiffness = [0.0, 0.0, 0.0, *(_slope(slope, wrench[3 + k], pose[k, 3]) for k in range(3))]
    size = [h * d + h * h * k for d, k in zip(damping, stiffness, strict=True)]
    if all(type(x) is not Node and x == 0.0 for x in size):
        return load
    spin, v = velocity[:3], velocity[3:]
    swept = cross(spin, v)  # the part of its acceleration that no rate of the frame's twist explains
    axes = np.eye(3, dtype=object)
    pull = [-(h * stiffness[3 + k] * v[k] + size[3 + k] * swept[k]) for k in range(3)]
    return replace(
        load,
        forces=((ORIGIN, np.array(pull, dtype=object)),),
        along=tuple((size[3 + k], ((ORIGIN, axes[k]),)) for k in range(3)),
        turning=tuple((size[k], axes[k]) for k in range(3)),
    )


def _slope(slope: Slopes, result: Any, variable: Any) -> Any:
    """How a result falls with a variable, which may be the negative of a node."""
    if type(variable) is Node and variable.op is NEG:
        return slope(-result, variable.args[0])
    return slope(result, variable)


def in_joints(load: FrameLoad, q: Any, qd: Any, coordinates: Any, robot: Any) -> list[np.ndarray]:
    """How the force of a wrench in each joint falls with the joint's own coordinate and rate, (nv,) both."""
    nv = len(qd.scalars)
    slope = Slopes(load.wrench.tolist(), robot._told)
    made = [np.zeros(nv, dtype=object), np.zeros(nv, dtype=object)]
    for own, values, at in zip(made, (q, qd), (coordinates, range(nv)), strict=True):
        moving = [
            (i, values.scalars[k])
            for i, k in enumerate(at)
            if k is not None and slope.moves(load.wrench.tolist(), values.scalars[k])
        ]
        if not moving:
            continue
        jacobian = robot.jacobian(q, load.frame).scalars
        turn = robot.frame_pose(q, load.frame).scalars[:3, :3]
        wrench = np.concatenate([turn @ load.wrench[:3], turn @ load.wrench[3:]])
        forces = {i: sum(jacobian[:, i] * wrench) for i, _ in moving}
        in_joint = Slopes(list(forces.values()), robot._told)
        for i, variable in moving:
            own[i] = in_joint(forces[i], variable)
    return made
