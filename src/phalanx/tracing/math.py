# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rotations, poses and quaternions (`px.math`), on arrays of any batch shape and inside traced functions.

Rotation vectors are at most pi long, twists are [angular; linear], poses are matrices (…, 4, 4), quaternions
are xyzw. Jacobians are right Jacobians: of a change in the rotated axes, R exp3(dw).
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

__all__ = [
    "damped_solve",
    "exp3",
    "exp3_jacobian",
    "exp6",
    "exp6_jacobian",
    "inverse_pose",
    "log3",
    "log3_jacobian",
    "log6",
    "log6_jacobian",
    "pose_error",
    "pose_error_jacobian",
    "quaternion_conjugate",
    "quaternion_exp",
    "quaternion_log",
    "quaternion_product",
    "quaternion_to_rotation",
    "rotation_to_quaternion",
    "skew",
]

_SMALL = 0.25  # squared angle below which series are used
_TERMS = 9  # of a series
# Of (1 - x cot(x / 2) / 2) / x^2 in powers of x^2, from Bernoulli numbers.
_COTANGENT = (
    1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600,
    3617 / 10670622842880000,
)  # fmt: skip


def skew(v: Any) -> Any:
    """The matrix (…, 3, 3) of the cross product with v (…, 3)."""
    v = _array(v)
    x, y, z = (v[..., k] for k in range(3))
    zero = np.zeros_like(x)
    return _matrix([[zero, -z, y], [z, zero, -x], [-y, x, zero]])


def exp3(w: Any) -> Any:
    """The rotation (…, 3, 3) of a rotation vector w (…, 3)."""
    w = _array(w)
    a, b = _series(w)[:2]
    return _polynomial(w, a, b)


def log3(R: Any) -> Any:  # noqa: N803
    """The rotation vector (…, 3) of a rotation R (…, 3, 3)."""
    return quaternion_log(rotation_to_quaternion(R))


def exp3_jacobian(w: Any) -> Any:
    """The right Jacobian J (…, 3, 3): exp3(w + dw) is exp3(w) exp3(J dw) to first order."""
    w = _array(w)
    _, b, c, *_ = _series(w)
    return _polynomial(w, -b, c)


def log3_jacobian(R: Any) -> Any:  # noqa: N803
    """The derivative (…, 3, 3) of log3(R exp3(dw)) by dw at zero: the inverse of `exp3_jacobian`."""
    w = log3(R)
    return _polynomial(w, 0.5 * np.ones_like(w[..., 0]), _cotangent(w))


def exp6(v: Any) -> Any:
    """The pose (…, 4, 4) reached with the constant twist v (…, 6) in its own axes for unit time."""
    v = _array(v)
    w = v[..., :3]
    _, b, c, *_ = _series(w)
    return _pose(exp3(w), _product(_polynomial(w, b, c), v[..., 3:]))


def log6(T: Any) -> Any:  # noqa: N803
    """The twist (…, 6) of a pose T (…, 4, 4), with exp6(log6(T)) equal to T."""
    T = _array(T)  # noqa: N806
    w = log3(T[..., :3, :3])
    inverse = _polynomial(w, -0.5 * np.ones_like(w[..., 0]), _cotangent(w))
    return np.concatenate([w, _product(inverse, T[..., :3, 3])], axis=-1)


def exp6_jacobian(v: Any) -> Any:
    """The right Jacobian J (…, 6, 6): exp6(v + dv) is exp6(v) exp6(J dv) to first order."""
    v = -_array(v)
    turned = exp3_jacobian(-v[..., :3])
    return _blocks(turned, _coupling(v), turned)


def log6_jacobian(T: Any) -> Any:  # noqa: N803
    """The derivative (…, 6, 6) of log6(T exp6(dv)) by dv at zero: the inverse of `exp6_jacobian`."""
    v = log6(T)
    w = v[..., :3]
    inverse = _polynomial(w, 0.5 * np.ones_like(w[..., 0]), _cotangent(w))
    return _blocks(inverse, -(inverse @ _coupling(-v) @ inverse), inverse)


def inverse_pose(T: Any) -> Any:  # noqa: N803
    """The inverse (…, 4, 4) of a pose."""
    T = _array(T)  # noqa: N806
    back = np.swapaxes(T[..., :3, :3], -1, -2)
    return _pose(back, -_product(back, T[..., :3, 3]))


def pose_error(pose: Any, target: Any) -> Any:
    """The motion (…, 6) from a pose to a target: rotation vector and displacement, in the axes of the base.

    It is a velocity of the frame for unit time as `robot.frame_velocity` gives it.
    """
    pose, target = _array(pose), _array(target)
    turn = target[..., :3, :3] @ np.swapaxes(pose[..., :3, :3], -1, -2)
    return np.concatenate([log3(turn), target[..., :3, 3] - pose[..., :3, 3]], axis=-1)


def pose_error_jacobian(pose: Any, target: Any) -> Any:
    """The matrix (…, 6, 6) that gives, times the Jacobian of a frame, the derivative of its `pose_error`."""
    pose, target = _array(pose), _array(target)
    turn = target[..., :3, :3] @ np.swapaxes(pose[..., :3, :3], -1, -2)
    turned = -log3_jacobian(turn)
    still = np.zeros_like(turned)
    return _blocks(turned, still, still - np.eye(3))


# ------------------------------------------------------------------- quaternions


def quaternion_product(a: Any, b: Any) -> Any:
    """The Hamilton product (…, 4) of quaternions: the rotation b followed by a, as matrices A B."""
    a, b = _array(a), _array(b)
    av, aw, bv, bw = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    scalar = aw * bw - np.sum(av * bv, axis=-1, keepdims=True)
    return np.concatenate([aw * bv + bw * av + np.cross(av, bv), scalar], axis=-1)


def quaternion_conjugate(a: Any) -> Any:
    """The quaternion (…, 4) of the inverse rotation, for one of unit length."""
    a = _array(a)
    return np.concatenate([-a[..., :3], a[..., 3:]], axis=-1)


def quaternion_exp(w: Any) -> Any:
    """The unit quaternion (…, 4) of a rotation vector w (…, 3)."""
    half = 0.5 * _array(w)
    a, b = _series(half)[:2]
    square = np.sum(half * half, axis=-1)
    return np.concatenate([half * a[..., None], (1.0 - square * b)[..., None]], axis=-1)


def quaternion_log(a: Any) -> Any:
    """The rotation vector (…, 3) of a quaternion of any length, at most pi long."""
    a = _array(a)
    a = np.where(a[..., 3:] < 0.0, -a, a)
    v, w = a[..., :3], a[..., 3:]
    square = np.sum(v * v, axis=-1, keepdims=True)
    is_small = square < 1e-8 * w * w
    size = np.sqrt(np.where(is_small, 1.0, square))
    safe = np.where(is_small, w, 1.0)
    near = (2.0 - (2.0 / 3.0) * np.where(is_small, square, 0.0) / (safe * safe)) / safe
    return v * np.where(is_small, near, 2.0 * np.arctan2(size, w) / size)


def quaternion_to_rotation(a: Any) -> Any:
    """The rotation (…, 3, 3) of a quaternion of any length."""
    a = _array(a)
    a = a / np.sqrt(np.sum(a * a, axis=-1, keepdims=True))
    x, y, z, w = (a[..., k] for k in range(4))
    return _matrix(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def rotation_to_quaternion(R: Any) -> Any:  # noqa: N803
    """The unit quaternion (…, 4) of a rotation R (…, 3, 3), its scalar part not negative.

    Of four formulas, that which divides by the largest component.
    """
    R = _array(R)  # noqa: N806
    r = [[R[..., i, j] for j in range(3)] for i in range(3)]
    trace = r[0][0] + r[1][1] + r[2][2]
    x, y, z = r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]
    xy, xz, yz = r[0][1] + r[1][0], r[0][2] + r[2][0], r[1][2] + r[2][1]
    made, largest = np.stack([x, y, z, 1.0 + trace], axis=-1), trace
    others = [
        [1.0 + 2.0 * r[0][0] - trace, xy, xz, x],
        [xy, 1.0 + 2.0 * r[1][1] - trace, yz, y],
        [xz, yz, 1.0 + 2.0 * r[2][2] - trace, z],
    ]
    for k, other in enumerate(others):
        is_larger = r[k][k] > largest
        made = np.where(is_larger[..., None], np.stack(other, axis=-1), made)
        largest = np.maximum(largest, r[k][k])
    made = np.where(made[..., 3:] < 0.0, -made, made)
    return made / np.sqrt(np.sum(made * made, axis=-1, keepdims=True))


def damped_solve(a: Any, b: Any, damping: Any = 1e-6) -> Any:
    """Damped least squares: the x that minimises `|a x - b|² + damping |x|²`, bounded at singularities.

    a is (…, m, n), b (m,) or (…, m, k). The smaller of the two normal equations is solved.
    """
    a, b = _array(a), _array(b)
    flipped = np.swapaxes(a, -1, -2)
    rows, columns = a.shape[-2:]
    vector = b.ndim == 1
    right = b[..., None] if vector else b
    if rows < columns:
        made = flipped @ np.linalg.solve(a @ flipped + damping * np.eye(rows), right)
    else:
        made = np.linalg.solve(flipped @ a + damping * np.eye(columns), flipped @ right)
    return made[..., 0] if vector else made


# ------------------------------------------------------------------- parts


def _array(x: Any) -> Any:
    """An array; traced ones as they are."""
    return x if hasattr(x, "scalars") else np.asarray(x, dtype=np.result_type(x, np.float32))


def _matrix(rows: Any) -> Any:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _product(matrix: Any, v: Any) -> Any:
    return (matrix @ v[..., None])[..., 0]


def _pose(rotation: Any, origin: Any) -> Any:
    upper = np.concatenate([rotation, origin[..., None]], axis=-1)
    zero = np.zeros_like(upper[..., :1, :])
    return np.concatenate([upper, zero + np.array([0.0, 0.0, 0.0, 1.0])], axis=-2)


def _blocks(first: Any, below: Any, last: Any) -> Any:
    """A lower block triangular matrix (…, 6, 6)."""
    upper = np.concatenate([first, np.zeros_like(first)], axis=-1)
    return np.concatenate([upper, np.concatenate([below, last], axis=-1)], axis=-2)


def _polynomial(w: Any, a: Any, b: Any) -> Any:
    """I + a W + b W², where W is the matrix of the cross product with w."""
    W = skew(w)  # noqa: N806
    return a[..., None, None] * W + b[..., None, None] * (W @ W) + np.eye(3)


def _series(w: Any) -> list[Any]:
    """The sums of (-x)^k / (2 k + m)! for m = 1 … 5, where x is the square of w's length."""
    square = np.sum(w * w, axis=-1)
    is_small = square < _SMALL
    safe = np.where(is_small, 1.0, square)
    angle = np.sqrt(safe)
    a, b = np.sin(angle) / angle, (1.0 - np.cos(angle)) / safe
    c = (1.0 - a) / safe
    closed = [a, b, c, (0.5 - b) / safe, (1.0 / 6.0 - c) / safe]
    near = np.where(is_small, square, 0.0)
    made = []
    for m, far in enumerate(closed, start=1):
        total = np.zeros_like(near) + 1.0 / factorial(2 * _TERMS + m)
        for k in reversed(range(_TERMS)):
            total = 1.0 / factorial(2 * k + m) - near * total
        made.append(np.where(is_small, total, far))
    return made


def _cotangent(w: Any) -> Any:
    """(1 - x cot(x / 2) / 2) / x², where x is the length of w."""
    square = np.sum(w * w, axis=-1)
    is_small = square < _SMALL
    safe = np.where(is_small, 1.0, square)
    half = 0.5 * np.sqrt(safe)
    near = np.where(is_small, square, 0.0)
    total = np.zeros_like(near)
    for factor in reversed(_COTANGENT):
        total = factor + near * total
    return np.where(is_small, total, (1.0 - half * np.cos(half) / np.sin(half)) / safe)


def _coupling(v: Any) -> Any:
    """The block of the left Jacobian of twists v by which turning moves the origin."""
    W, P = skew(v[..., :3]), skew(v[..., 3:])  # noqa: N806
    _, _, c, d, e = (x[..., None, None] for x in _series(v[..., :3]))
    WP, PW = W @ P, P @ W  # noqa: N806
    both = WP @ W
    first = 0.5 * P + c * (WP + PW + both)
    return first + d * (W @ WP + PW @ W - 3.0 * both) + 0.5 * (d - 3.0 * e) * (both @ W + W @ both)
