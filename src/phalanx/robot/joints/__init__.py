# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The joint types: the only code that knows them (`types.py`, on the motions of `motions.py`).

A joint is a sequence of *bodies* with one degree of freedom each. A revolute joint is one
body; a universal joint two in a row with a massless link between them; a spherical joint
three of which the first carries the rotation and the others stand still, so that their
axes are the components of one angular velocity. So every equation sees scalar joints only.

Each body brings, for its coordinates q and rates qd, the contract `(X, S, cJ)`: X the
transform from the parent body, S its constant axis in its own frame, cJ the part of its
acceleration that neither qdd nor the velocity product V x VJ explains. All the bodies here
have cJ = 0: constant axes leave none.
"""

from .motions import Helix, Motion, nearly_straight, split_rotation
from .quaternions import (
    at_least,
    choose_less,
    cos,
    leveled,
    quaternion_exp,
    quaternion_log,
    quaternion_of,
    quaternion_product,
    rescale,
    rotate,
    sin,
    transpose_quaternion,
    unit_quaternion,
)
from .types import (
    CONTINUOUS,
    FREE,
    REVOLUTE,
    SPHERICAL,
    WELD,
    JointBody,
    JointType,
    frame_along,
    joint_type,
    joint_types,
    pose_of,
    register,
    screw,
)

__all__ = [
    "CONTINUOUS",
    "FREE",
    "REVOLUTE",
    "SPHERICAL",
    "WELD",
    "Helix",
    "JointBody",
    "JointType",
    "Motion",
    "at_least",
    "choose_less",
    "cos",
    "frame_along",
    "joint_type",
    "joint_types",
    "leveled",
    "nearly_straight",
    "pose_of",
    "quaternion_exp",
    "quaternion_log",
    "quaternion_of",
    "quaternion_product",
    "register",
    "rescale",
    "rotate",
    "screw",
    "sin",
    "split_rotation",
    "transpose_quaternion",
    "unit_quaternion",
]
