# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sine and cosine as kernels without multiply-adds take them, step by step on NumPy numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from phalanx.backends.native.emit.trig import CONSTANTS


def turned(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sine and cosine of arguments below 1e5."""
    number = x.dtype.type
    k = CONSTANTS["double" if number is np.float64 else "float"]
    t = x * number(2.0 / 3.141592653589793) + number(k.magic)
    n = t - number(k.magic)
    r, lost = x, number(0.0)
    for part in map(number, k.split):
        rest = r - n * part
        lost = lost + ((r - rest) - n * part)
        r = rest
    r = r + lost
    r2 = r * r
    s, c = _polynomial(k.sine, r2), _polynomial(k.cosine, r2)
    sine = r * r2 * s + r
    cosine = r2 * (r2 * c + number(-0.5)) + number(1.0)
    quarter = t.view(np.int64 if number is np.float64 else np.int32) & 3
    odd = quarter % 2 == 1
    sine, cosine = np.where(odd, cosine, sine), np.where(odd, sine, cosine)
    return np.where(quarter >= 2, -sine, sine), np.where((quarter == 1) | (quarter == 2), -cosine, cosine)


def _polynomial(coefficients: tuple[float, ...], x: np.ndarray) -> Any:
    number = x.dtype.type
    value: Any = number(coefficients[-1])
    for a in reversed(coefficients[:-1]):
        value = value * x + number(a)
    return value
