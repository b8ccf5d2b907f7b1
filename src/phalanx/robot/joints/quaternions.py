# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Quaternions xyzw, and rotations with a translation along them."""

from __future__ import annotations

from math import factorial

import numpy as np

from ...spatial import Array, cross, dot, inner, join, namespace
from .scaling import leveled
from .trigonometry import arctan2, at_least, choose_less, cos, sin, sqrt

# Squared angles below this one do not show in float32 or float64, and their roots do not vanish.
_LEAST = 1e-30
_SMALL = 0.25  # squared angle up to which series have all digits
_SERIES = [(-1.0) ** k / factorial(2 * k + 3) for k in range(8)]  # of (x - sin x) / x^3 in powers of x^2


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


def quaternion_product(a: Array, b: Array) -> Array:
    """Hamilton product."""
    av, aw = a[..., :3], a[..., 3:]
    bv, bw = b[..., :3], b[..., 3:]
    return join(aw * bv + bw * av + cross(av, bv), aw * bw - inner(av, bv))


def unit_quaternion(q: Array) -> Array:
    """The quaternion of unit length along one of any length; NaN along that of zeros."""
    near = leveled(q)
    return near / sqrt(inner(near, near))


def turned_by(q: Array, step: Array) -> Array:
    """The unit quaternion after a turn q, of any length, and one more by the unit quaternion `step`."""
    near = leveled(q)
    # The length that q had, not that of the product: errors of length do not add up, and nothing waits.
    return quaternion_product(near, step) * (1.0 / sqrt(inner(near, near)))


def quaternion_rate(q: Array, w: Array) -> Array:
    """How fast a quaternion changes at an angular velocity w in the turned axes."""
    v, s = q[..., :3], q[..., 3:]
    return join(s * w + cross(v, w), -inner(v, w)) * 0.5


def quaternion_rates(q: Array, slope: Array) -> Array:
    """Derivatives with respect to a quaternion as derivatives along turns about the turned axes."""
    v, s = q[..., :3], q[..., 3:]
    return (s * slope[..., :3] - cross(v, slope[..., :3]) - slope[..., 3:] * v) * 0.5


def turns_of(q: Array, change: Array) -> Array:
    """The angular velocity, in the turned axes, at which a quaternion of any length changes so.

    What changes its length turns nothing.
    """
    near = leveled(q)
    return quaternion_rates(near, change) * (4.0 / inner(near, q))


def rotation_slopes(q: Array, slope: Array) -> Array:
    """Derivatives along turns as derivatives with respect to a quaternion: the transpose of the above."""
    near = leveled(q)
    return quaternion_rate(near, slope) * (4.0 / inner(near, q))


def conjugate(q: Array) -> Array:
    """A quaternion of the turn back."""
    q = leveled(q)
    return join(-q[..., :3], q[..., 3:])


def rotate(q: Array, v: Array) -> Array:
    """Vectors turned by quaternions of any length."""
    q = leveled(q)
    t = cross(q[..., :3], v) * (2.0 / inner(q, q))
    return v + q[..., 3:] * t + cross(q[..., :3], t)


def rotate_back(unit: Array, v: Array) -> Array:
    """Vectors turned back by quaternions of unit length."""
    t = cross(v, unit[..., :3]) * 2.0
    return v + unit[..., 3:] * t + cross(t, unit[..., :3])


def quaternion_exp(w: Array) -> Array:
    """Unit quaternion of a rotation vector."""
    angle = sqrt(at_least(inner(w, w), _LEAST))
    half = angle * 0.5
    return join(w * (sin(half) / angle), cos(half))


def quaternion_log(q: np.ndarray) -> np.ndarray:
    """Rotation vector, at most pi long, of a quaternion of any length."""
    if q.dtype.kind == "O":
        return _log_of_objects(q)
    q = leveled(np.where(q[..., 3:] < 0, -q, q))
    size = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(size, q[..., 3:])
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(size > 0, angle / size, 2.0 / q[..., 3:])
    return scale * q[..., :3]


def _log_of_objects(q: np.ndarray) -> np.ndarray:
    """The same of traced scalars."""
    ones = np.ones((*q.shape[:-1], 1)).astype(object)
    q = leveled(q * choose_less(q[..., 3:], 0.0, -ones, ones))
    size = sqrt(at_least(inner(q[..., :3], q[..., :3]), _LEAST))
    return q[..., :3] * (2.0 * arctan2(size, q[..., 3:]) / size)


def left_jacobian_tail(w: Array, v: Array) -> Array:
    """(J(w) - 1) v with J the left Jacobian of the rotation group."""
    square = inner(w, w)
    angle = sqrt(at_least(square, _LEAST))
    half = angle * 0.5
    sinc = sin(half) / half
    a = sinc * sinc * 0.5  # (1 - cos) / angle^2 without its cancellation
    safe = at_least(square, _SMALL)
    large = (1.0 - sinc * cos(half)) / safe
    small = square * _SERIES[-1]
    for term in _SERIES[-2:0:-1]:
        small = (small + term) * square
    b = choose_less(square, _SMALL, small + _SERIES[0], large)
    wv = cross(w, v)
    return a * wv + b * cross(w, wv)


def inverse_left_jacobian(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """J(w)^-1 v with J the left Jacobian of the rotation group."""
    if w.dtype.kind == "O":
        square = inner(w, w)
        safe = at_least(square, 1e-8)
        half = sqrt(safe) * 0.5
        b = choose_less(square, 1e-8, 1 / 12 + square / 720, (1.0 - half * cos(half) / sin(half)) / safe)
        return v - 0.5 * cross(w, v) + b * cross(w, cross(w, v))
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    half = 0.5 * safe
    b = np.where(small, 1 / 12 + angle**2 / 720, (1 - half * np.cos(half) / np.sin(half)) / safe**2)
    wv = np.cross(w, v)
    return v - 0.5 * wv + b * np.cross(w, wv)
