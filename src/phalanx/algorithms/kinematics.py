# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Where the links are, and how the joints move a frame."""

from dataclasses import dataclass
from typing import ClassVar

from ..robot.frames import Placement
from ..robot.model import Model, identity_transform, joint_kinematics, pose_matrix
from ..spatial import (
    Array,
    Field,
    Transform,
    angular,
    cross,
    join,
    linear,
    matvec,
    motion_cross,
    namespace,
    transpose,
)
from ..sweeps.verbs import ancestor_pairs, marked, propagate
from .registry import REFERENCE, algorithm

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


@algorithm("jacobian", name="recursive", options=REFERENCE, **FORWARD)
def jacobian(model: Model, q: Array, *, frame: Placement, reference: str = "world_aligned") -> Array:
    """Jacobian J (…, 6, nv) of a frame: J @ qd is its velocity [angular; linear].

    `frame` is a name in `robot.frame_names`: of any link of the file, welded or not. The first three rows
    give its angular velocity (rad/s), the last three a velocity (m/s): that of its origin along the axes of
    the base frame of the file (`reference="world_aligned"`) or along its own ("local"), or that of the point
    of its link at the world's origin, along the world's axes ("world").
    """
    X_w = body_transforms(model, q)
    X_f = frame_transform(model, X_w, frame)
    w, v = referred(*columns(model, X_w, X_f, frame), X_f, reference)
    return transpose(model.joint_columns(join(w, v)))


def referred(w: Array, v: Array, X_f: Transform, reference: str) -> tuple[Array, Array]:
    """Velocities (…, k, 3) of a frame and its origin along the world's axes, in another reference."""
    if reference == "local":
        E_f = X_f.E[..., None, :, :]
        return matvec(E_f, w), matvec(E_f, v)
    return (w, v + cross(X_f.r[..., None, :], w)) if reference == "world" else (w, v)


def columns(model: Model, X_w: Transform, X_f: Transform, frame: Placement) -> tuple[Array, Array]:
    """What a unit rate of each body's joint does to a frame: angular velocity and velocity of its origin."""
    Et = transpose(X_w.E)
    w = matvec(Et, angular(model.axis)) * frame.moves
    v = matvec(Et, linear(model.axis)) * frame.moves + cross(w, X_f.r[..., None, :] - X_w.r)
    return w, v


@dataclass(frozen=True)
class Motions(Field):
    """The twist and the acceleration of every body, in its own coordinates."""

    V: Array
    Vd: Array
    ranks: ClassVar[tuple[int, ...]] = (1, 1)


@algorithm("frame_velocity", name="recursive", options=REFERENCE, **FORWARD)
def frame_velocity(
    model: Model, q: Array, qd: Array, *, frame: Placement, reference: str = "world_aligned"
) -> Array:
    """Velocity (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame.

    `frame` is a name in `robot.frame_names`. It is J qd of the frame's Jacobian with the same `reference`:
    "world_aligned", "world" or "local".
    """
    return frame_motion(model, q, qd, qd * 0.0, frame, reference)[0]


@algorithm("frame_acceleration", name="recursive", options=REFERENCE, **FORWARD)
def frame_acceleration(
    model: Model, q: Array, qd: Array, qdd: Array, *, frame: Placement, reference: str = "world_aligned"
) -> Array:
    """Acceleration (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame.

    `frame` is a name in `robot.frame_names`. The linear half is what an accelerometer at rest in the world
    would see of the origin: the second derivative of its position, without gravity. With
    `reference="local"` both halves are along the frame's own axes; with "world" the linear half is that of
    the point of its link at the world's origin.
    """
    return frame_motion(model, q, qd, qdd, frame, reference)[1]


def frame_motion(
    model: Model, q: Array, qd: Array, qdd: Array, frame: Placement, reference: str
) -> tuple[Array, Array]:
    """Velocity and classical acceleration of a frame in a reference."""
    X, S, cJ = joint_kinematics(model, q)
    VJ = S @ qd
    V = propagate(X, VJ)
    Vd = propagate(X, S @ qdd + cJ + motion_cross(V, VJ))
    X_w: Transform = propagate(X, root=identity_transform(model))
    X_f = frame_transform(model, X_w, frame)
    body = marked(Motions(V, Vd), frame.at)
    twist, rate = frame.X @ body.V, frame.X @ body.Vd
    w, v = angular(twist), linear(twist)
    if reference == "local":
        return twist, join(angular(rate), linear(rate) + cross(w, v))
    Et = transpose(X_f.E)
    velocity = join(matvec(Et, w), matvec(Et, v))
    acceleration = join(matvec(Et, angular(rate)), matvec(Et, linear(rate) + cross(w, v)))
    if reference == "world":
        w, wd, r = angular(velocity), angular(acceleration), X_f.r
        velocity = join(w, linear(velocity) - cross(w, r))
        acceleration = join(wd, linear(acceleration) - cross(wd, r) - cross(w, cross(w, r)))
    return velocity, acceleration


@algorithm("jacobian_time_derivative", name="recursive", options=REFERENCE, **FORWARD)
def jacobian_time_derivative(
    model: Model, q: Array, qd: Array, *, frame: Placement, reference: str = "world_aligned"
) -> Array:
    """The time derivative dJ/dt (…, 6, nv) of a frame's Jacobian, entry by entry.

    `frame` is a name in `robot.frame_names`, `reference` that of the Jacobian: "world_aligned", "world" or
    "local". The frame's acceleration is J qdd + dJ/dt qd; with "world" and "local" it is the spatial
    acceleration, to which the classical one adds the product of angular and linear velocity.
    """
    X, S, _ = joint_kinematics(model, q)
    VJ = S @ qd
    V = propagate(X, VJ)
    X_w: Transform = propagate(X, root=identity_transform(model))
    X_f = frame_transform(model, X_w, frame)
    twist = frame.X @ marked(Motions(V, V), frame.at).V
    velocity = matvec(transpose(X_f.E), linear(twist))  # of the frame's origin
    Et, U = transpose(X_w.E), V - VJ + S.across(qd)  # axes are fixed in the last body of their joint
    turn = matvec(Et, angular(U))
    w, v = columns(model, X_w, X_f, frame)
    wd = cross(turn, w)
    slide = cross(turn, matvec(Et, linear(model.axis))) * frame.moves
    away = velocity[..., None, :] - matvec(Et, linear(U))
    vd = slide + cross(wd, X_f.r[..., None, :] - X_w.r) + cross(w, away)
    if reference == "local":
        spin = matvec(transpose(X_f.E), angular(twist))[..., None, :]  # of the axes
        wd, vd = wd - cross(spin, w), vd - cross(spin, v)
    wd, vd = referred(wd, vd, X_f, reference)
    if reference == "world":
        vd = vd + cross(velocity[..., None, :], w)
    return transpose(model.joint_columns(join(wd, vd)))


@dataclass(frozen=True)
class JacobianColumn(Field):
    """A column of the Jacobian on its way along the ancestors, and whether these still share its joint."""

    w: Array
    v: Array
    own: Array  # (n, 1)
    ranks: ClassVar[tuple[int, ...]] = (1, 1, 1)


@algorithm(
    "kinematic_hessian", name="pairs", work="O(n depth)", symmetric=False, options=REFERENCE, **FORWARD
)
def kinematic_hessian(model: Model, q: Array, *, frame: Placement, reference: str = "world_aligned") -> Array:
    """The derivative (…, 6, nv, nv) of a frame's Jacobian in the tangent space of q.

    Entry [:, j, k] is that of column j along joint k. `frame` is a name in `robot.frame_names`, `reference`
    that of the Jacobian: "world_aligned", "world" or "local". A joint turns the columns of all joints beyond
    it, and moves the frame that those before it turn.
    """
    X_w = body_transforms(model, q)
    X_f = frame_transform(model, X_w, frame)
    w, v = referred(*columns(model, X_w, X_f, frame), X_f, reference)
    first = model.axes().first

    def emit(x: JacobianColumn, w: Array, v: Array, first: Array) -> tuple[Array, Array]:
        if reference != "world_aligned":
            bracket = motion_cross(join(w, v), join(x.w, x.v))
            # Bodies beyond a joint move together: seen from the world they turn, from the frame they rest.
            if reference == "world":
                return bracket, -bracket * x.own
            return bracket * 0.0, bracket - bracket * x.own
        mine = join(cross(w, x.w), cross(w, x.v))  # of the column beyond
        same = join(cross(x.w, w), cross(x.w, v))  # axes of one joint are fixed in its last body
        far = join(x.w * 0.0, cross(w, x.v))
        return mine, same * x.own + far - far * x.own

    dJ = ancestor_pairs(
        JacobianColumn(w, v, w[..., :1] * 0.0 + 1.0),
        carry=lambda x, w, v, first: JacobianColumn(x.w, x.v, x.own - x.own * first),
        emit=emit,
        along=(w, v, first),
    )
    parts = [model.joint_matrix(dJ[..., k]) for k in range(6)]
    return namespace(dJ).stack(parts, axis=-3)
