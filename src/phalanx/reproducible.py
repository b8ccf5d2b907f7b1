# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Arithmetic with the same bits on every processor, for the numbers of which a robot is built.

BLAS behind `@`, the SIMD loops of `einsum`, `np.sin` and the C library's `sin` round as the processor and
the library's version make them. Sums, products and square roots of single floats do not, nor do integers.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np

from .spatial import Inertia, Transform, shift, symmetric_product, transpose, unpack

_BITS = 128  # after the binary point of the fixed-point integers
_ONE = 1 << _BITS
_STEP = 16  # sines and cosines of k / 16 come from a table, those of the rest from a series
_HALVES = 1.5 * 2.0**19  # adding it rounds to multiples of 2^-33
_DOUBT = 2.0**-62  # four times what rounding leaves of a sum below, at most
_3RD, _4TH, _5TH, _6TH, _7TH, _8TH = (1.0 / math.factorial(k) for k in range(3, 9))
_LARGE = 64  # binary exponent of an angle from which more digits of pi are computed
_RIGHT_ANGLE = math.pi / 2
_RIGHT_ANGLE_TOLERANCE = 1e-14  # what fifteen printed digits of pi/2 leave over


def product(a: Any, b: Any) -> np.ndarray:
    """Matrices (…, n, k) times matrices (…, k, m), summed from left to right."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    total: np.ndarray = a[..., :, 0, None] * b[..., 0, None, :]
    for k in range(1, a.shape[-1]):
        total += a[..., :, k, None] * b[..., k, None, :]
    return total


def times(matrices: Any, vectors: Any) -> np.ndarray:
    """Matrices (…, n, k) times vectors (…, k), summed from left to right."""
    parts = np.asarray(matrices, dtype=float) * np.asarray(vectors, dtype=float)[..., None, :]
    total: np.ndarray = parts[..., 0]
    for k in range(1, parts.shape[-1]):
        total = total + parts[..., k]
    return total


def congruent(rotations: Any, matrices: Any) -> np.ndarray:
    """R A R^T for rotations R and matrices A."""
    rotations = np.asarray(rotations, dtype=float)
    return product(product(rotations, matrices), np.swapaxes(rotations, -1, -2))


def composed(X: Transform, Y: Transform) -> Transform:
    """The transform X @ Y."""
    return Transform(product(X.E, Y.E), Y.r + times(transpose(Y.E), X.r))


def moved(X: Transform, G: Inertia) -> Inertia:
    """The inertia X.T @ G."""
    h, mr = times(transpose(X.E), G.h), G.m[..., None] * X.r
    moment = symmetric_product(X.E, product(unpack(G.moment), X.E)) + shift(X.r, h + mr * 0.5)
    return Inertia(G.m, h + mr, moment)


def length(x: float, y: float) -> float:
    """The distance of the point (x, y) from the origin."""
    exponent = math.frexp(max(abs(x), abs(y)))[1]
    x, y = math.ldexp(x, -exponent), math.ldexp(y, -exponent)  # whose squares neither overflow nor vanish
    return math.ldexp(math.sqrt(x * x + y * y), exponent)


# ------------------------------------------------------------------- angles


@lru_cache(maxsize=4096)  # files repeat their angles
def cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine, correctly rounded."""
    if not math.isfinite(angle):
        return math.nan, math.nan
    if abs(angle) < 2.0**-27:
        return 1.0, angle
    return _quick(angle) or _slow(angle)


def _slow(angle: float) -> tuple[float, float]:
    c, s = _cos_sin(*_reduced(angle))
    return _float(c), _float(s)


def _quick(angle: float) -> tuple[float, float] | None:
    """Cosine and sine where nine bits more than a float has decide how to round, None where not."""
    if not -8.0 < angle < 8.0:
        return None
    k = round(angle * 32.0)
    C, c, S, s = _points(k)  # cosine and sine of k / 32, each as 26 bits and the rest
    d = angle - k * 0.03125
    half = (d + _HALVES) - _HALVES  # 27 bits: its products with C and S are exact
    rest = d - half
    square = d * d
    less = square * (square * (_4TH - square * (_6TH - square * _8TH)) - 0.5)  # cos d - 1
    more = rest + d * square * (square * (_5TH - square * _7TH) - _3RD)  # sin d - half
    cosine = _rounded(C, -S * half, c + ((C + c) * less - (S + s) * more - s * half))
    sine = _rounded(S, C * half, s + ((S + s) * less + (C + c) * more + c * half))
    return None if cosine is None or sine is None else (cosine, sine)


def _rounded(a: float, b: float, rest: float) -> float | None:
    """The rounded sum a + b + rest; None if an error of the rest might change it."""
    total = a + b
    part = total - a
    rest += (a - (total - part)) + (b - part)
    low = total + (rest - _DOUBT)
    return low if low == total + (rest + _DOUBT) else None


@cache
def _points(k: int) -> tuple[float, float, float, float]:
    made = []
    for x in _cos_sin(*_reduced(k / 32.0)):
        short = x >> (_BITS - 26) << (_BITS - 26)
        made += [_float(short), _float(x - short)]
    return made[0], made[1], made[2], made[3]


def arctan2(y: float, x: float) -> float:
    """The angle of the point (x, y) of finite coordinates, correctly rounded."""
    near = math.atan2(y, x)
    (my, ey), (mx, ex) = math.frexp(y), math.frexp(x)
    if x == 0.0 or y == 0.0 or ey - ex > _LARGE or (ex - ey > _LARGE and x < 0.0):
        return near  # a multiple of a right angle, which every library knows
    if ex - ey > _LARGE // 2 and x > 0.0:
        return y / x
    # Integers in the ratio of y and x, then a step of Newton's method on all digits.
    v, u = (int(m * 2**53) << (_LARGE + e - min(ey, ex)) for m, e in ((my, ey), (mx, ex)))
    c, s = _cos_sin(*_reduced(near))
    return _float(_fraction(near, _BITS) + ((v * c - u * s) << _BITS) // (u * c + v * s))


def _cos_sin(quarters: int, rest: int) -> tuple[int, int]:
    """Cosine and sine of `quarters` quarter turns plus a rest of at most an eighth of a turn."""
    k = (rest * _STEP + _ONE // 2) >> _BITS
    d = rest - k * (_ONE // _STEP)
    square = d * d >> _BITS
    s, c = d * _horner(square, 1) >> _BITS, _horner(square, 0)
    ck, sk = _table()[abs(k)]
    sk = -sk if k < 0 else sk
    c, s = (ck * c - sk * s) >> _BITS, (sk * c + ck * s) >> _BITS
    return ((c, s), (-s, c), (-c, -s), (s, -c))[quarters % 4]


def _reduced(angle: float) -> tuple[int, int]:
    """The nearest number of quarter turns, and the remainder of the angle."""
    bits = _BITS + max(math.frexp(angle)[1], 0)
    bits = _BITS + _LARGE if bits <= _BITS + _LARGE else 2 * _BITS + bits
    right = _pi(bits) >> 1
    quarters, rest = divmod(_fraction(angle, bits) + (right >> 1), right)
    return quarters, (rest - (right >> 1)) >> (bits - _BITS)


def _fraction(x: float, bits: int) -> int:
    """A float as a fixed-point integer with `bits` bits after the point, truncated."""
    mantissa, exponent = math.frexp(x)
    shift = bits + exponent - 53
    digits = int(mantissa * 2.0**53)
    return digits << shift if shift >= 0 else digits >> -shift


def _float(x: int) -> float:
    return math.ldexp(float(x), -_BITS)


def _horner(square: int, first: int) -> int:
    """sin(d) / d or cos(d) of the square of |d| <= 1/32: the series with the factorials from `first` on."""
    coefficients = _series()[first]
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = coefficient - (total * square >> _BITS)
    return total


@cache
def _series() -> tuple[list[int], list[int]]:
    cosine, sine = ([_ONE // math.factorial(2 * k + odd) for k in range(9)] for odd in (0, 1))
    return cosine, sine


def coarse(values: Any) -> np.ndarray:
    """Numbers of 24 bits: what processors round differently is the same then, but for one in 100 million.

    For constants that need no more: sizes and gains that kernels or BLAS have computed.
    """
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(mantissa * 2.0**24), exponent - 24))


@cache
def _table() -> list[tuple[int, int]]:
    """Cosine and sine of k / 16 up to an eighth of a turn: those of 1 / 32 added up."""
    d = _ONE // (2 * _STEP)
    square = d * d >> _BITS
    c, s = _horner(square, 0), d * _horner(square, 1) >> _BITS
    c, s = (c * c - s * s) >> _BITS, 2 * s * c >> _BITS  # of 1 / 16
    made = [(_ONE, 0)]
    for _ in range(_STEP):
        a, b = made[-1]
        made.append(((a * c - b * s) >> _BITS, (b * c + a * s) >> _BITS))
    return made


@cache
def _pi(bits: int) -> int:
    """pi with `bits` bits after the point, by Machin's formula."""
    more = 16

    def arctan(n: int) -> int:
        power = (1 << (bits + more)) // n
        total, k = power, 1
        while power:
            power //= -n * n
            k += 2
            total += power // k
        return total

    return 4 * (4 * arctan(5) - arctan(239)) >> more


# ------------------------------------------------------------------- rotations of files


def exact_cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine, exact at multiples of a right angle."""
    if angle == 0.0:
        return 1.0, 0.0
    quarter = round(angle / _RIGHT_ANGLE)
    if abs(angle - quarter * _RIGHT_ANGLE) <= _RIGHT_ANGLE_TOLERANCE:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter % 4]
    return cos_sin(angle)


def rotation_x(angle: float) -> np.ndarray:
    """Rotation about x."""
    c, s = exact_cos_sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_z(angle: float) -> np.ndarray:
    """Rotation about z."""
    c, s = exact_cos_sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_rpy(roll: float, pitch: float, yaw: float) -> tuple[float, ...]:
    """The rows of Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, sr), (cp, sp), (cy, sy) = exact_cos_sin(roll), exact_cos_sin(pitch), exact_cos_sin(yaw)
    return (  # -0.0 becomes 0.0
        cy * cp + 0.0, cy * sp * sr - sy * cr + 0.0, cy * sp * cr + sy * sr + 0.0,
        sy * cp + 0.0, sy * sp * sr + cy * cr + 0.0, sy * sp * cr - cy * sr + 0.0,
        -sp + 0.0, cp * sr + 0.0, cp * cr + 0.0,
    )  # fmt: skip


def roll_pitch_yaw(rotation: np.ndarray) -> tuple[float, float, float]:
    """Angles about fixed x, y, z of `rotation` (3, 3), to rounding everywhere.

    Where the pitch is a right angle only the sum of roll and yaw is defined; the yaw is taken from what
    the roll leaves over, so that their errors cancel nearby too.
    """
    flat = length(float(rotation[2, 1]), float(rotation[2, 2]))
    roll = arctan2(rotation[2, 1], rotation[2, 2]) if flat > 1e-15 else 0.0
    c, s = exact_cos_sin(roll)
    yaw = arctan2(s * rotation[0, 2] - c * rotation[0, 1], c * rotation[1, 1] - s * rotation[1, 2])
    return roll + 0.0, arctan2(-rotation[2, 0], flat) + 0.0, yaw + 0.0
