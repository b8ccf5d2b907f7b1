# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How the frame of one body moves: the motions that joints consist of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from ...reproducible import arctan2, cos_sin
from ...spatial import Array, Displacement, Transform, dot, namespace
from .quaternions import cos, left_jacobian_tail, quaternion_exp, sin, transpose_quaternion


class Motion(ABC):
    """The motion of one body's frame relative to its frame at rest."""

    nq: ClassVar[int]
    nv: ClassVar[int] = 1  # rates of it, those of the bodies behind it that stand still
    # Whether the body rotates about z and translates along z in proportion to its one coordinate: per unit by
    # as much as its axis says, [0, 0, radians, 0, 0, metres]. `Helix` computes all of them.
    is_screw: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, axis: Array) -> Transform:
        """X from the parent at coordinates q (…, k, nq) for k bodies at rest in `rest`.

        `offset` (k,) is added to the angles of screws, `axis` (k, 6) is the joint axis in the body's frame.
        """

    @classmethod
    @abstractmethod
    def displacement(cls, step: Array, axis: Array) -> Displacement:
        """How k bodies move against their parents at constant rates (…, k, nv) for unit time."""


def _rotated(q: Array, rest: Transform) -> Array:
    """Rotation parent to body after a rotation by q about the body's z axis."""
    xp = namespace(q)
    c, s = cos(q)[..., None], sin(q)[..., None]
    x, y, z = rest.E[..., 0, :], rest.E[..., 1, :], rest.E[..., 2, :]
    xx, yy = c * x + s * y, c * y - s * x
    return xp.stack([xx, yy, xp.broadcast_to(z, xx.shape)], axis=-2)


def _translated(q: Array, rest: Transform) -> Array:
    """Origin of the body after a translation by q along its z axis."""
    return rest.r + q[..., None] * rest.E[..., 2, :]


def _along_z(x: Array) -> Array:
    """Vectors along z of that length."""
    o = x * 0.0
    return namespace(x).stack([o, o, x], axis=-1)


def _screw_displacement(angle: Array, distance: Array) -> Displacement:
    half = angle * 0.5
    return Displacement(_along_z(sin(half)), cos(half)[..., None], _along_z(distance))


class Helix(Motion):
    """Rotation about z and translation along z, both in proportion to q, as the axis says."""

    nq = 1
    is_screw = True

    @classmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, axis: Array) -> Transform:
        angle, distance = q[..., 0] * axis[..., 2], q[..., 0] * axis[..., 5]
        return Transform(_rotated(angle + offset, rest), _translated(distance, rest))

    @classmethod
    def displacement(cls, step: Array, axis: Array) -> Displacement:
        return _screw_displacement(step[..., 0] * axis[..., 2], step[..., 0] * axis[..., 5])


class Turn(Helix):
    """Rotation about z by q."""

    @classmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, axis: Array) -> Transform:
        E = _rotated(q[..., 0] + offset, rest)
        return Transform(E, namespace(q).broadcast_to(rest.r, E.shape[:-1]))

    @classmethod
    def displacement(cls, step: Array, axis: Array) -> Displacement:
        return _screw_displacement(step[..., 0], step[..., 0] * 0.0)


class Slide(Helix):
    """Translation along z by q."""

    @classmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, axis: Array) -> Transform:
        r = _translated(q[..., 0], rest)
        return Transform(namespace(q).broadcast_to(rest.E, (*r.shape, 3)), r)

    @classmethod
    def displacement(cls, step: Array, axis: Array) -> Displacement:
        return _screw_displacement(step[..., 0] * 0.0, step[..., 0])


class Screw(Helix):
    """Rotation about z by q with a translation along z in proportion to it."""

    @classmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, axis: Array) -> Transform:
        angle = q[..., 0]
        return Transform(_rotated(angle + offset, rest), _translated(angle * axis[..., 5], rest))

    @classmethod
    def displacement(cls, step: Array, axis: Array) -> Displacement:
        return _screw_displacement(step[..., 0], step[..., 0] * axis[..., 5])


class Ball(Motion):
    """Rotation by a quaternion xyzw of any length but zero."""

    nq = 4
    nv = 3

    @classmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, axis: Array) -> Transform:
        E = transpose_quaternion(q) @ rest.E
        return Transform(E, namespace(q).broadcast_to(rest.r, E.shape[:-1]))

    @classmethod
    def displacement(cls, step: Array, axis: Array) -> Displacement:
        rotation = quaternion_exp(step)
        return Displacement(rotation[..., :3], rotation[..., 3:], step * 0.0)


class Free(Motion):
    """Translation xyz, then rotation by a quaternion."""

    nq = 7
    nv = 6

    @classmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, axis: Array) -> Transform:
        p = q[..., :3]
        moved = dot(rest.E.swapaxes(-1, -2), p[..., None, :])
        return Transform(transpose_quaternion(q[..., 3:]) @ rest.E, rest.r + moved)

    @classmethod
    def displacement(cls, step: Array, axis: Array) -> Displacement:
        w, v = step[..., :3], step[..., 3:]
        rotation = quaternion_exp(w)
        return Displacement(rotation[..., :3], rotation[..., 3:], v + left_jacobian_tail(w, v))


class Still(Motion):
    """No motion of its own: one more axis of the body before it."""

    nq = 0
    nv = 0

    @classmethod
    def transform(cls, q: Array, rest: Transform, offset: Array, axis: Array) -> Transform:
        xp = namespace(q)
        batch = q.shape[:-2]
        return Transform(
            xp.broadcast_to(rest.E, (*batch, *rest.E.shape)), xp.broadcast_to(rest.r, (*batch, *rest.r.shape))
        )

    @classmethod
    def displacement(cls, step: Array, axis: Array) -> Displacement:
        nothing = namespace(step).zeros((*step.shape[:-1], 3)).astype(step.dtype)
        return Displacement(nothing, nothing[..., :1] + 1.0, nothing)


def nearly_straight(E: np.ndarray) -> np.ndarray:
    """For which of the rotations (k, 3, 3) `split_rotation` may have something to do."""
    rows = np.abs(E[:, :2])
    small, large = rows.min(axis=1), rows.max(axis=1)
    return ((small > 1e-15) & (small < 1e-6) & (large >= 0.1)).any(axis=-1)


def split_rotation(E: np.ndarray) -> tuple[np.ndarray, float]:
    """(E0, offset): E is a rotation by `offset` about z after E0, which has exact zeros if E nearly has.

    Files print right angles with twelve digits. What is left over about the joint's own axis
    moves into its angle, where it costs one addition instead of many products.
    """
    x, y = E[0], E[1]
    best = (E, 0.0)
    for j in range(3):
        small, large = sorted((x[j], y[j]), key=abs)
        if not 1e-15 < abs(small) < 1e-6 or abs(large) < 0.1:
            continue
        offset = arctan2(float(x[j] / y[j] if small == x[j] else -y[j] / x[j]), 1.0)
        c, s = cos_sin(offset)
        E0 = np.array([c * x - s * y, c * y + s * x, E[2]])
        E0[np.abs(E0) < 1e-15] = 0.0
        if np.count_nonzero(E0) < np.count_nonzero(best[0]):
            best = (E0, offset)
    return best


def screw_motion(turn: float, slide: float) -> type[Motion]:
    """The motion of least arithmetic by `turn` radians about z and `slide` metres along z per unit of q."""
    if turn == 1.0:
        return Turn if slide == 0.0 else Screw
    return Slide if (turn, slide) == (0.0, 1.0) else Helix
