# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Where the links are, and how the joints move a frame."""

from ..robot.frames import Placement
from ..robot.model import Model, identity_transform, joint_kinematics, pose_matrix
from ..spatial import Array, Transform, angular, cross, join, linear, matvec, transpose
from ..sweeps.verbs import marked, propagate
from .registry import AXES, algorithm

FORWARD = {"source": "Featherstone 2008, section 4.3", "coupled": True}


def body_transforms(model: Model, q: Array) -> Transform:
    """X of every body from the world."""
    X, _, _ = joint_kinematics(model, q)
    X_w: Transform = propagate(X, root=identity_transform(model))
    return X_w


@algorithm("forward_kinematics", name="recursive", **FORWARD)
def forward_kinematics(model: Model, q: Array) -> Array:
    """Poses (…, n_links, 4, 4) of all moving links (`robot.link_names`) in the base frame of the file."""
    return pose_matrix(model.link_frame @ body_transforms(model, q)[model.links])


def frame_transform(model: Model, X_w: Transform, frame: Placement) -> Transform:
    """X of a frame from the world, where bodies have X_w."""
    X_b = marked(X_w, frame.at)
    still = identity_transform(model)
    X_f: Transform = frame.X @ Transform(X_b.E + still.E * frame.world, X_b.r)
    return X_f


@algorithm("frame_pose", name="recursive", **FORWARD)
def frame_pose(model: Model, q: Array, *, frame: Placement) -> Array:
    """Pose (…, 4, 4) of a frame in the base frame of the file: rotation and origin.

    `frame` is a name in `robot.frame_names`: of any link of the file, welded or not.
    """
    return pose_matrix(frame_transform(model, body_transforms(model, q), frame))


@algorithm("jacobian", name="recursive", options=AXES, **FORWARD)
def jacobian(model: Model, q: Array, *, frame: Placement, axes: str = "world") -> Array:
    """Jacobian J (…, 6, nv) of a frame: J @ qd is its velocity [angular; linear].

    `frame` is a name in `robot.frame_names`: of any link of the file, welded or not. The first three rows
    give its angular velocity (rad/s), the last three the velocity of its origin (m/s), both along the
    axes of the base frame of the file, or with `axes="local"` along those of the frame itself.
    """
    X_w = body_transforms(model, q)
    X_f = frame_transform(model, X_w, frame)
    Et = transpose(X_w.E)
    w = matvec(Et, angular(model.axis)) * frame.moves
    v = matvec(Et, linear(model.axis)) * frame.moves + cross(w, X_f.r[..., None, :] - X_w.r)
    if axes == "local":
        E_f = X_f.E[..., None, :, :]
        w, v = matvec(E_f, w), matvec(E_f, v)
    return transpose(model.joint_columns(join(w, v)))
