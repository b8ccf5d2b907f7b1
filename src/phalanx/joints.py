# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The joint types: the only code that knows them.

A joint is a sequence of *bodies* with one degree of freedom each. A revolute joint is one
body; a universal joint two in a row with a massless link between them; a spherical joint
three of which the first carries the rotation and the others stand still, so that their
axes are the components of one angular velocity. So every equation sees scalar joints only.

Each body brings, for its coordinates q and rates qd, the contract `(X, S, cJ)`: X the
transform from the parent body, S its constant axis in its own frame, cJ the part of its
acceleration that neither qdd nor the velocity product V x VJ explains. The bodies below
have cJ = 0: constant axes leave none.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .errors import PhalanxError, nearest
from .spatial import Array, Transform, dot, namespace

# ------------------------------------------------------------------- motions of one body


class Motion(ABC):
    """How the frame of one body moves in the frame it has at rest."""

    nq: ClassVar[int]
    turns: ClassVar[bool] = False  # whether its coordinate is an angle about z
    keeps_axis: ClassVar[bool] = False  # whether the points of the z axis stay where they are
    rates: ClassVar[tuple[float, float] | None] = None  # turn about z and slide along z per unit of q

    @classmethod
    @abstractmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, pitch: Array) -> Transform:
        """X from the parent at coordinates q (…, k, nq) for k bodies at rest in `rest`.

        `offset` (k,) is added to angles, `pitch` (k,) moves a screw by that much per radian.
        """


def _turned(q: Array, rest: Transform) -> Array:
    """Rotation parent to body after a turn by q about the body's z axis."""
    xp = namespace(q)
    c, s = cos(q)[..., None], sin(q)[..., None]
    x, y, z = rest.E[..., 0, :], rest.E[..., 1, :], rest.E[..., 2, :]
    xx, yy = c * x + s * y, c * y - s * x
    return xp.stack([xx, yy, xp.broadcast_to(z, xx.shape)], axis=-2)


def _slid(q: Array, rest: Transform) -> Array:
    """Origin of the body after a slide by q along its z axis."""
    return rest.r + q[..., None] * rest.E[..., 2, :]


class Turn(Motion):
    """Rotation about z."""

    nq = 1
    turns = True
    keeps_axis = True
    rates = (1.0, 0.0)

    @classmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, pitch: Array) -> Transform:
        E = _turned(q[..., 0] + offset, rest)
        return Transform(E, namespace(q).broadcast_to(rest.r, E.shape[:-1]))


class Slide(Motion):
    """Translation along z."""

    nq = 1
    rates = (0.0, 1.0)

    @classmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, pitch: Array) -> Transform:
        r = _slid(q[..., 0], rest)
        return Transform(namespace(q).broadcast_to(rest.E, (*r.shape, 3)), r)


class Screw(Motion):
    """Rotation about z with a translation of `pitch` metres per radian along it."""

    nq = 1
    turns = True
    rates = (1.0, 0.0)

    @classmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, pitch: Array) -> Transform:
        angle = q[..., 0]
        return Transform(_turned(angle + offset, rest), _slid(angle * pitch, rest))


class Helix(Motion):
    """A turn about z and a slide along it at rates of their own: what the motions above have in common.

    `pitch` (k, 2) holds both rates, a turn and a slide per unit of q.
    """

    nq = 1

    @classmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, pitch: Array) -> Transform:
        angle, way = q[..., 0] * pitch[..., 0], q[..., 0] * pitch[..., 1]
        return Transform(_turned(angle + offset, rest), _slid(way, rest))


class Ball(Motion):
    """Rotation by a quaternion xyzw of any length but zero."""

    nq = 4

    @classmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, pitch: Array) -> Transform:
        E = transpose_quaternion(q) @ rest.E
        return Transform(E, namespace(q).broadcast_to(rest.r, E.shape[:-1]))


class Free(Motion):
    """Translation xyz, then rotation by a quaternion."""

    nq = 7

    @classmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, pitch: Array) -> Transform:
        p = q[..., :3]
        moved = dot(rest.E.swapaxes(-1, -2), p[..., None, :])
        return Transform(transpose_quaternion(q[..., 3:]) @ rest.E, rest.r + moved)


class Still(Motion):
    """No motion of its own: one more axis of the body before it."""

    nq = 0
    rates = (0.0, 0.0)

    @classmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, pitch: Array) -> Transform:
        xp = namespace(q)
        batch = q.shape[:-2]
        return Transform(
            xp.broadcast_to(rest.E, (*batch, *rest.E.shape)), xp.broadcast_to(rest.r, (*batch, *rest.r.shape))
        )


def split_turn(E: np.ndarray) -> tuple[np.ndarray, float]:
    """(E0, offset) with E = a turn by `offset` about z after E0, E0 with exact zeros if E nearly has them.

    Files print right angles with twelve digits. What is left over about the joint's own axis
    moves into its angle, where it costs one addition instead of many products.
    """
    x, y = E[0], E[1]
    best = (E, 0.0)
    for j in range(3):
        small, large = sorted((x[j], y[j]), key=abs)
        if not 1e-15 < abs(small) < 1e-6 or abs(large) < 0.1:
            continue
        offset = math.atan(x[j] / y[j] if small == x[j] else -y[j] / x[j])
        c, s = math.cos(offset), math.sin(offset)
        E0 = np.array([c * x - s * y, c * y + s * x, E[2]])
        E0[np.abs(E0) < 1e-15] = 0.0
        if np.count_nonzero(E0) < np.count_nonzero(best[0]):
            best = (E0, offset)
    return best


MOTIONS: tuple[type[Motion], ...] = (Turn, Slide, Screw, Ball, Free, Still)


def sin(x: Array) -> Array:
    """Sine of floats, JAX arrays or traced scalars."""
    return _elementwise("sin", x)


def cos(x: Array) -> Array:
    """Cosine of floats, JAX arrays or traced scalars."""
    return _elementwise("cos", x)


def _elementwise(name: str, x: Array) -> Array:
    if x.dtype.kind != "O":
        return getattr(namespace(x), name)(x)
    flat = [_scalar(name, v) for v in x.ravel()]
    result = np.empty(len(flat), dtype=object)
    result[:] = flat
    return result.reshape(x.shape)


def _scalar(name: str, v: Any) -> Any:
    """The function of a plain float, a traced scalar or a number of arbitrary precision (mpmath)."""
    if isinstance(v, float):
        return getattr(math, name)(v)
    if hasattr(v, name):
        return getattr(v, name)()
    return getattr(v.context, name)(v)


def transpose_quaternion(q: Array) -> Array:
    """Rotation from the parent's to the turned axes, for quaternions xyzw of any length."""
    xp = namespace(q)
    scale = 2.0 / dot(q, q)
    x, y, z, w = (q[..., k] for k in range(4))
    sx, sy, sz = x * scale, y * scale, z * scale
    xx, yy, zz = x * sx, y * sy, z * sz
    xy, xz, yz = x * sy, x * sz, y * sz
    wx, wy, wz = w * sx, w * sy, w * sz
    rows = [
        1.0 - (yy + zz), xy + wz, xz - wy,
        xy - wz, 1.0 - (xx + zz), yz + wx,
        xz + wy, yz - wx, 1.0 - (xx + yy),
    ]  # fmt: skip
    return xp.stack(rows, axis=-1).reshape((*q.shape[:-1], 3, 3))


# ------------------------------------------------------------------- joint types


@dataclass(frozen=True)
class Step:
    """One body of a joint: its motion, its axis, and the rotation of its frame.

    `frame` holds the axes of the body's frame in the joint's frame as columns; `carrier`
    tells how many bodies further on the joint's twist is complete.
    """

    motion: type[Motion]
    axis: tuple[float, ...]
    frame: np.ndarray
    pitch: float = 0.0
    carrier: int = 0


_ANGULAR_Z = (0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
_LINEAR_Z = (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


def frame_along(axis: Sequence[float] | np.ndarray) -> np.ndarray:
    """A rotation whose third column is the direction `axis`; sparse where the axis is."""
    z = np.asarray(axis, dtype=float)
    z = z / np.linalg.norm(z)
    z[np.abs(z) < 1e-12] = 0.0
    z = z / np.linalg.norm(z)
    main = int(np.argmax(np.abs(z)))
    # The cyclic order keeps a frame along x, y or z a signed permutation.
    x = np.eye(3)[(main + 1) % 3]
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


class JointType(ABC):
    """A type of joint: its coordinates, its bodies and the geometry of its coordinates."""

    name: ClassVar[str]
    nq: ClassVar[int]
    nv: ClassVar[int]
    axes: ClassVar[int] = 0  # how many axis vectors of the description it reads
    quaternion: ClassVar[slice | None] = None

    @classmethod
    @abstractmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[Step]:
        """The bodies of the joint, from the parent to the child."""

    @classmethod
    def neutral(cls) -> np.ndarray:
        """Coordinates of the zero position."""
        q = np.zeros(cls.nq)
        if cls.quaternion is not None:
            q[cls.quaternion] = (0.0, 0.0, 0.0, 1.0)
        return q

    @classmethod
    def integrate(cls, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """Coordinates after moving from q with the constant rate dq for unit time."""
        return q + dq

    @classmethod
    def difference(cls, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The rate dq with integrate(q0, dq) = q1."""
        return q1 - q0


class Fixed(JointType):
    name, nq, nv = "fixed", 0, 0

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[Step]:
        return []


class Revolute(JointType):
    name, nq, nv, axes = "revolute", 1, 1, 1

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[Step]:
        return [Step(Turn, _ANGULAR_Z, frame_along(axis))]


class Continuous(Revolute):
    name = "continuous"


class Prismatic(JointType):
    name, nq, nv, axes = "prismatic", 1, 1, 1

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[Step]:
        return [Step(Slide, _LINEAR_Z, frame_along(axis))]


class Helical(JointType):
    name, nq, nv, axes = "helical", 1, 1, 1

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[Step]:
        return [Step(Screw, (0.0, 0.0, 1.0, 0.0, 0.0, pitch), frame_along(axis), pitch)]


class Universal(JointType):
    """A turn about `axis`, then about `axis2` as that turn has moved it."""

    name, nq, nv, axes = "universal", 2, 2, 2

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[Step]:
        return [Step(Turn, _ANGULAR_Z, frame_along(axis)), Step(Turn, _ANGULAR_Z, frame_along(axis2))]


class Planar(JointType):
    """Two slides in the plane normal to `axis`, then a turn about it: q = [x, y, angle]."""

    name, nq, nv, axes = "planar", 3, 3, 1

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[Step]:
        frame = frame_along(axis)
        x, y = frame[:, 0], frame[:, 1]
        return [
            Step(Slide, _LINEAR_Z, frame_along(x)),
            Step(Slide, _LINEAR_Z, frame_along(y)),
            Step(Turn, _ANGULAR_Z, frame),
        ]


class Spherical(JointType):
    """q = quaternion xyzw; qd = angular velocity of the child in its own coordinates."""

    name, nq, nv = "spherical", 4, 3
    quaternion = slice(0, 4)

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[Step]:
        return _unit_steps(Ball, range(3))

    @classmethod
    def integrate(cls, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        return quaternion_product(q, quaternion_exp(dq))

    @classmethod
    def difference(cls, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        return quaternion_log(quaternion_product(_conjugate(q0), q1))


class Floating(JointType):
    """q = [x y z, quaternion xyzw]; qd = [angular; linear] of the child in its own coordinates."""

    name, nq, nv = "floating", 7, 6
    quaternion = slice(3, 7)

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[Step]:
        return _unit_steps(Free, range(6))

    @classmethod
    def integrate(cls, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        p, turn = q[..., :3], q[..., 3:]
        w, v = dq[..., :3], dq[..., 3:]
        moved = p + rotate(turn, v + _left_jacobian_tail(w, v))
        return np.concatenate([moved, quaternion_product(turn, quaternion_exp(w))], axis=-1)

    @classmethod
    def difference(cls, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        back = _conjugate(q0[..., 3:])
        w = quaternion_log(quaternion_product(back, q1[..., 3:]))
        v = _inverse_left_jacobian(w, rotate(back, q1[..., :3] - q0[..., :3]))
        return np.concatenate([w, v], axis=-1)


def _unit_steps(motion: type[Motion], components: range) -> list[Step]:
    """One body per component of a twist: the first moves, all complete the last one's twist."""
    eye = np.eye(6)
    last = len(components) - 1
    return [
        Step(motion if k == 0 else Still, tuple(eye[k].tolist()), np.eye(3), carrier=last - k)
        for k in components
    ]


_TYPES: dict[str, type[JointType]] = {
    t.name: t
    for t in (Fixed, Revolute, Continuous, Prismatic, Helical, Universal, Planar, Spherical, Floating)
}


WELD, FREE = Fixed.name, Floating.name  # what a payload hangs on, what a floating base stands on


def joint_types() -> list[str]:
    """Names of all joint types."""
    return list(_TYPES)


def joint_type(name: str, *, where: str = "joint", joint: str = "") -> type[JointType]:
    """The joint type of that name, or an error naming the nearest."""
    try:
        return _TYPES[name]
    except KeyError:
        of = f' "{joint}"' if joint else ""
        raise PhalanxError(
            f'{where}: joint{of} has the type "{name}";{nearest(name, _TYPES, what="supported")}'
        ) from None


# ------------------------------------------------------------------- quaternions xyzw


def quaternion_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Hamilton product."""
    av, aw = a[..., :3], a[..., 3:]
    bv, bw = b[..., :3], b[..., 3:]
    return np.concatenate(
        [aw * bv + bw * av + np.cross(av, bv), aw * bw - np.sum(av * bv, axis=-1, keepdims=True)], axis=-1
    )


def _conjugate(q: np.ndarray) -> np.ndarray:
    return q * np.array([-1.0, -1.0, -1.0, 1.0], dtype=q.dtype)


def rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors turned by quaternions of any length."""
    t = np.cross(q[..., :3], v) * (2.0 / np.sum(q * q, axis=-1, keepdims=True))
    return v + q[..., 3:] * t + np.cross(q[..., :3], t)


def quaternion_exp(w: np.ndarray) -> np.ndarray:
    """Unit quaternion of a rotation vector."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    return np.concatenate([0.5 * np.sinc(angle / (2 * np.pi)) * w, np.cos(0.5 * angle)], axis=-1)


def quaternion_log(q: np.ndarray) -> np.ndarray:
    """Rotation vector, at most pi long, of a quaternion of any length."""
    q = np.where(q[..., 3:] < 0, -q, q)
    size = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(size, q[..., 3:])
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(size > 0, angle / size, 2.0 / q[..., 3:])
    return scale * q[..., :3]


def _left_jacobian_tail(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(J(w) - 1) v with J the left Jacobian of the rotation group."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    a = 0.5 * np.sinc(angle / (2 * np.pi)) ** 2  # (1 - cos) / angle^2 without its cancellation
    b = np.where(small, 1 / 6 - angle**2 / 120, (safe - np.sin(safe)) / safe**3)
    wv = np.cross(w, v)
    return a * wv + b * np.cross(w, wv)


def _inverse_left_jacobian(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """J(w)^-1 v with J the left Jacobian of the rotation group."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    half = 0.5 * safe
    b = np.where(small, 1 / 12 + angle**2 / 720, (1 - half * np.cos(half) / np.sin(half)) / safe**2)
    wv = np.cross(w, v)
    return v - 0.5 * wv + b * np.cross(w, wv)


def pose_of(steps: list[Step], q: Any) -> np.ndarray:
    """4x4 pose of the joint's child side in its parent side at coordinates q (nq,)."""
    T = np.eye(4)
    q = np.asarray(q, dtype=float)
    for step in steps:
        rest = Transform(step.frame.T[None], np.zeros((1, 3)))
        n = step.motion.nq
        X = step.motion.transform(q[None, :n], rest, np.zeros(1), np.array([step.pitch]))
        q = q[n:]
        local = np.eye(4)
        local[:3, :3] = X.E[0].T @ step.frame.T
        local[:3, 3] = X.r[0]
        T = T @ local
    return T
