# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Where the links are, and how the joints move a frame."""

from ..model import Model, identity_transform, joint_kinematics, pose_matrix
from ..spatial import Array, Transform, angular, cross, join, linear, matvec, transpose
from ..sweeps import pick, propagate
from .registry import algorithm

FORWARD = {"source": "Featherstone 2008, section 4.3", "coupled": True}


def body_transforms(model: Model, q: Array) -> Transform:
    """X of every body from the world."""
    X, _, _ = joint_kinematics(model, q)
    X_w: Transform = propagate(X, root=identity_transform(model))
    return X_w


@algorithm("forward_kinematics", name="recursive", **FORWARD)
def forward_kinematics(model: Model, q: Array) -> Array:
    """Poses (…, n_links, 4, 4) of all links, in the frames of the file."""
    return pose_matrix(model.link_frame @ body_transforms(model, q)[model.links])


@algorithm("frame_pose", name="recursive", **FORWARD)
def frame_pose(model: Model, q: Array, *, body: int, X_f_b: Transform) -> Array:
    """Pose (…, 4, 4) of the frame that `X_f_b` places on a body (-1 = world)."""
    X_w = body_transforms(model, q)
    X_b = identity_transform(model, like=X_w) if body < 0 else pick(X_w, body)
    return pose_matrix(X_f_b @ X_b)


@algorithm("jacobian", name="recursive", **FORWARD)
def jacobian(model: Model, q: Array, *, body: int, X_f_b: Transform) -> Array:
    """J (…, 6, nv): twist of a frame per unit rate of each joint, world axes, at the frame's origin."""
    X_w = body_transforms(model, q)
    X_b = identity_transform(model, like=X_w) if body < 0 else pick(X_w, body)
    p = (X_f_b @ X_b).r
    Et = transpose(X_w.E)
    w = matvec(Et, angular(model.axis))
    v = matvec(Et, linear(model.axis)) + cross(w, p[..., None, :] - X_w.r)
    J = join(w, v) * model.moves(body)
    return transpose(model.joint_columns(J))
