# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Quaternions xyzw, and rotations with a translation along them."""

from __future__ import annotations

import numpy as np

from ...spatial import Array, cross, dot, inner, join, namespace
from .scaling import leveled


def transpose_quaternion(q: Array) -> Array:
    """Rotation from the parent's to the turned axes, for quaternions xyzw of any length."""
    xp, q = namespace(q), leveled(q)
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


def quaternion_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Hamilton product."""
    av, aw = a[..., :3], a[..., 3:]
    bv, bw = b[..., :3], b[..., 3:]
    return np.concatenate(
        [aw * bv + bw * av + np.cross(av, bv), aw * bw - np.sum(av * bv, axis=-1, keepdims=True)], axis=-1
    )


def quaternion_rate(q: Array, w: Array) -> Array:
    """How fast a quaternion changes at an angular velocity w in the turned axes."""
    v, s = q[..., :3], q[..., 3:]
    return join(s * w + cross(v, w), -inner(v, w)) * 0.5


def along_turns(q: Array, slope: Array) -> Array:
    """Derivatives with respect to a quaternion as derivatives along turns about the turned axes."""
    v, s = q[..., :3], q[..., 3:]
    return (s * slope[..., :3] - cross(v, slope[..., :3]) - slope[..., 3:] * v) * 0.5


def turns_of(q: Array, change: Array) -> Array:
    """The angular velocity, in the turned axes, at which a quaternion of any length changes so.

    What changes its length turns nothing.
    """
    near = leveled(q)
    return along_turns(near, change) * (4.0 / inner(near, q))


def slopes_of_turns(q: Array, slope: Array) -> Array:
    """Derivatives along turns as derivatives with respect to a quaternion: the transpose of the above."""
    near = leveled(q)
    return quaternion_rate(near, slope) * (4.0 / inner(near, q))


def conjugate(q: np.ndarray) -> np.ndarray:
    """A quaternion of the turn back."""
    return leveled(q) * np.array([-1.0, -1.0, -1.0, 1.0], dtype=q.dtype)


def rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors turned by quaternions of any length."""
    q = leveled(q)
    t = np.cross(q[..., :3], v) * (2.0 / np.sum(q * q, axis=-1, keepdims=True))
    return v + q[..., 3:] * t + np.cross(q[..., :3], t)


def quaternion_exp(w: np.ndarray) -> np.ndarray:
    """Unit quaternion of a rotation vector."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    return np.concatenate([0.5 * np.sinc(angle / (2 * np.pi)) * w, np.cos(0.5 * angle)], axis=-1)


def quaternion_log(q: np.ndarray) -> np.ndarray:
    """Rotation vector, at most pi long, of a quaternion of any length."""
    q = leveled(np.where(q[..., 3:] < 0, -q, q))
    size = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(size, q[..., 3:])
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(size > 0, angle / size, 2.0 / q[..., 3:])
    return scale * q[..., :3]


def left_jacobian_tail(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(J(w) - 1) v with J the left Jacobian of the rotation group."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    a = 0.5 * np.sinc(angle / (2 * np.pi)) ** 2  # (1 - cos) / angle^2 without its cancellation
    b = np.where(small, 1 / 6 - angle**2 / 120, (safe - np.sin(safe)) / safe**3)
    wv = np.cross(w, v)
    return a * wv + b * np.cross(w, wv)


def inverse_left_jacobian(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """J(w)^-1 v with J the left Jacobian of the rotation group."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    half = 0.5 * safe
    b = np.where(small, 1 / 12 + angle**2 / 720, (1 - half * np.cos(half) / np.sin(half)) / safe**2)
    wv = np.cross(w, v)
    return v - 0.5 * wv + b * np.cross(w, wv)
