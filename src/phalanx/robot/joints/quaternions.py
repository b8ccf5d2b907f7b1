# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Elementary functions of any array type, and quaternions xyzw."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ... import reproducible
from ...reproducible import cos_sin
from ...spatial import Array, cross, dot, inner, join, namespace

# Squared angles below this one do not show in float32 or float64, and their roots do not vanish.
_LEAST = 1e-30
_SMALL = 0.25  # squared angle up to which series have all digits
_SERIES = [(-1.0) ** k / math.factorial(2 * k + 3) for k in range(8)]  # of (x - sin x) / x^3 in powers of x^2
# Of plain floats: constants of a robot, of which every processor shall make the same.
_FLOATS: dict[str, Callable[[float], float]] = {
    "sin": lambda x: cos_sin(x)[1],
    "cos": lambda x: cos_sin(x)[0],
    "sqrt": math.sqrt,
}


# ------------------------------------------------------------------- elementary functions


def sin(x: Array) -> Array:
    """Sine of floats, JAX arrays or traced scalars."""
    return _elementwise("sin", x)


def cos(x: Array) -> Array:
    """Cosine of floats, JAX arrays or traced scalars."""
    return _elementwise("cos", x)


def sqrt(x: Array) -> Array:
    """Square root of floats, JAX arrays or traced scalars."""
    return _elementwise("sqrt", x)


def arctan2(y: Array, x: Array) -> Array:
    """Angle of points (x, y) of floats, JAX arrays or traced scalars."""
    if y.dtype.kind != "O":
        return namespace(y).arctan2(y, x)
    return _objects([_angle(*each) for each in zip(y.ravel(), x.ravel(), strict=True)], y)


def choose_less(x: Array, bound: float, a: Array, b: Array) -> Array:
    """a where x < bound, else b, of floats, JAX arrays or traced scalars."""
    if x.dtype.kind != "O":
        return namespace(x).where(x < bound, a, b)
    return _objects([_chosen(*each, bound) for each in zip(x.ravel(), a.ravel(), b.ravel(), strict=True)], x)


def at_least(x: Array, bound: float) -> Array:
    """x, or the bound where that is more, of floats, JAX arrays or traced scalars."""
    if x.dtype.kind != "O":
        return namespace(x).maximum(x, x.dtype.type(bound))
    return _objects([v.maximum(bound) if hasattr(v, "maximum") else max(v, bound) for v in x.ravel()], x)


def _elementwise(name: str, x: Array) -> Array:
    if x.dtype.kind != "O":
        return getattr(namespace(x), name)(x)
    return _objects([_scalar(name, v) for v in x.ravel()], x)


def _objects(flat: list[Any], like: np.ndarray) -> np.ndarray:
    result = np.empty(len(flat), dtype=object)
    result[:] = flat
    return result.reshape(like.shape)


def _chosen(x: Any, a: Any, b: Any, bound: float) -> Any:
    if hasattr(x, "graph"):
        return x.graph.choose(x.graph.less(x, bound), a, b)
    return a if x < bound else b


def _angle(y: Any, x: Any) -> Any:
    graph = getattr(y, "graph", None) or getattr(x, "graph", None)
    return reproducible.arctan2(y, x) if graph is None else graph.arctan2(y, x)


def _scalar(name: str, v: Any) -> Any:
    """The function of a plain float, a traced scalar or a number of arbitrary precision (mpmath)."""
    if isinstance(v, float):
        return _FLOATS[name](v)
    if hasattr(v, name):
        return getattr(v, name)()
    return getattr(v.context, name)(v)


# ------------------------------------------------------------------- scaling by powers of two


def leveled(q: Array) -> Array:
    """q (…, k) times a power of two, so that the largest of its components is between two and four.

    What does not depend on the length of q keeps its bits, unless it would overflow or vanish.
    """
    if q.dtype.kind == "O":
        return q * _of_objects(q)
    xp = namespace(q)
    size = xp.abs(q)
    largest = reduce(xp.maximum, (size[..., k] for k in range(q.shape[-1])))
    own = rescale if xp is np else xp.rescale
    return q * own(largest)[..., None]


def rescale(x: np.ndarray) -> np.ndarray:
    """The power of two with 2 <= x * power < 4 for each normal x > 0; that of the least one below."""
    x = np.maximum(x, np.finfo(x.dtype).tiny)
    _, exponent = np.frexp(x)
    return np.ldexp(np.ones((), x.dtype), 2 - exponent)


def _of_objects(q: np.ndarray) -> np.ndarray:
    """The powers of two of traced scalars; of other objects, which do not overflow, one."""
    made = np.empty((*q.shape[:-1], 1), dtype=object)
    for index in np.ndindex(q.shape[:-1]):
        components = q[index].tolist()
        made[index] = _rescaled(components) if hasattr(components[0], "rescale") else 1.0
    return made


def _rescaled(components: list[Any]) -> Any:
    return reduce(lambda a, b: a.maximum(b), map(abs, components)).rescale()


# ------------------------------------------------------------------- quaternions


def transpose_quaternion(q: Array) -> Array:
    """Rotation from the parent's to the rotated axes, for quaternions xyzw of any length."""
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


def rotated_by(q: Array, step: Array) -> Array:
    """The unit quaternion of a rotation q, of any length, followed by that of the unit quaternion `step`."""
    near = leveled(q)
    # The length of q, not of the product: errors of length do not add up, and the root need not wait.
    return quaternion_product(near, step) * (1.0 / sqrt(inner(near, near)))


def quaternion_rate(q: Array, w: Array) -> Array:
    """How fast a quaternion changes at an angular velocity w in the rotated axes."""
    v, s = q[..., :3], q[..., 3:]
    return join(s * w + cross(v, w), -inner(v, w)) * 0.5


def quaternion_rates(q: Array, slope: Array) -> Array:
    """Derivatives with respect to a quaternion as derivatives along rotations about the rotated axes."""
    v, s = q[..., :3], q[..., 3:]
    return (s * slope[..., :3] - cross(v, slope[..., :3]) - slope[..., 3:] * v) * 0.5


def angular_velocity_of(q: Array, change: Array) -> Array:
    """The angular velocity, in the rotated axes, at which a quaternion of any length changes so.

    A change of its length is no rotation.
    """
    near = leveled(q)
    return quaternion_rates(near, change) * (4.0 / inner(near, q))


def rotation_slopes(q: Array, slope: Array) -> Array:
    """Derivatives along rotations as derivatives with respect to a quaternion: the transpose of the above."""
    near = leveled(q)
    return quaternion_rate(near, slope) * (4.0 / inner(near, q))


def conjugate(q: Array) -> Array:
    """A quaternion of the inverse rotation."""
    q = leveled(q)
    return join(-q[..., :3], q[..., 3:])


def rotate(q: Array, v: Array) -> Array:
    """Vectors rotated by quaternions of any length."""
    q = leveled(q)
    t = cross(q[..., :3], v) * (2.0 / inner(q, q))
    return v + q[..., 3:] * t + cross(q[..., :3], t)


def rotate_back(unit: Array, v: Array) -> Array:
    """Vectors rotated back by quaternions of unit length."""
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
    """What `quaternion_log` returns, for arrays of symbols: without comparisons that need numbers."""
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


def quaternion_of(rotation: np.ndarray) -> np.ndarray:
    """The unit quaternion xyzw, w >= 0, of a rotation matrix (3, 3)."""
    trace = rotation.trace()
    # Four times the products of its components; the row of the largest one loses no digits.
    products = np.empty((4, 4))
    products[:3, :3] = rotation + rotation.T + (1.0 - trace) * np.eye(3)
    products[3, :3] = products[:3, 3] = (
        rotation[2, 1] - rotation[1, 2],
        rotation[0, 2] - rotation[2, 0],
        rotation[1, 0] - rotation[0, 1],
    )
    products[3, 3] = 1.0 + trace
    row = products[int(np.argmax(np.diagonal(products)))]
    unit: np.ndarray = row / math.sqrt(sum(x * x for x in row.tolist()))
    return -unit if unit[3] < 0.0 else unit
