# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Interval arithmetic, rounded outwards: what each row of the table of operations does to intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_HALF = math.pi / 2
SLACK = 1e-15  # relative error of a library's sine, exponential and the like, and of a sum of squares


@dataclass(frozen=True)
class Interval:
    """All numbers from `low` to `high`."""

    low: float
    high: float

    @property
    def magnitude(self) -> float:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))

    def joined(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def within(self, size: float) -> Interval:
        """The part with absolute values up to a size."""
        return Interval(max(self.low, -size), min(self.high, size))


EVERYTHING = Interval(-math.inf, math.inf)


# ------------------------------------------------------------------- operations


def outward(low: float, high: float, slack: float = 0.0) -> Interval:
    """An interval, a rounding error wider; everything if an end is NaN, as a difference of infinities is."""
    low, high = low - slack * abs(low), high + slack * abs(high)
    if math.isnan(low) or math.isnan(high):
        return EVERYTHING
    return Interval(math.nextafter(low, -math.inf), math.nextafter(high, math.inf))


def add(a: Interval, b: Interval) -> Interval:
    return outward(a.low + b.low, a.high + b.high)


def sub(a: Interval, b: Interval) -> Interval:
    return outward(a.low - b.high, a.high - b.low)


def mul(a: Interval, b: Interval) -> Interval:
    ends = [0.0 if 0 in (x, y) else x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return outward(min(ends), max(ends))


def square(a: Interval) -> Interval:
    low = 0.0 if a.low <= 0 <= a.high else min(a.low**2, a.high**2)
    return Interval(low and math.nextafter(low, 0.0), math.nextafter(a.magnitude**2, math.inf))


def div(a: Interval, b: Interval) -> Interval:
    if b.low <= 0 <= b.high:
        return EVERYTHING
    return mul(a, outward(1 / b.high, 1 / b.low)) if math.inf not in (b.high, -b.low) else _by_large(a, b)


def _by_large(a: Interval, b: Interval) -> Interval:
    """A quotient by numbers without bound, but not zero."""
    least = b.low if b.low > 0 else -b.high
    return Interval(-a.magnitude / least, a.magnitude / least)


def neg(a: Interval) -> Interval:
    return Interval(-a.high, -a.low)


def cos(a: Interval) -> Interval:
    """The range of the cosine: its values at both ends, and its extrema between them."""
    if not math.isfinite(a.low) or not math.isfinite(a.high) or a.high - a.low >= 2 * math.pi:
        return Interval(-1.0, 1.0)
    ends = [math.cos(a.low), math.cos(a.high)]
    margin = 1e-15 * (1 + a.magnitude)
    first, last = math.ceil((a.low - margin) / math.pi), math.floor((a.high + margin) / math.pi)
    ends += [1.0 if k % 2 == 0 else -1.0 for k in range(first, last + 1)]
    return Interval(max(min(ends) - 4 * SLACK, -1.0), min(max(ends) + 4 * SLACK, 1.0))


def sin(a: Interval) -> Interval:
    return cos(Interval(math.nextafter(a.low - _HALF, -math.inf), math.nextafter(a.high - _HALF, math.inf)))


def monotone(function: Callable[[float], float]) -> Callable[[Interval], Interval]:
    def rule(a: Interval) -> Interval:
        with np.errstate(all="ignore"):
            return outward(float(function(a.low)), float(function(a.high)), 4 * SLACK)

    return rule


def log(a: Interval) -> Interval:
    return EVERYTHING if a.high <= 0 else monotone(np.log)(Interval(max(a.low, 0.0), a.high))


def sqrt(a: Interval) -> Interval:
    found = monotone(np.sqrt)(Interval(max(a.low, 0.0), max(a.high, 0.0)))
    return Interval(max(found.low, 0.0), found.high)


def arctan2(y: Interval, x: Interval) -> Interval:
    if x.low <= 0:
        return Interval(-math.nextafter(math.pi, 4), math.nextafter(math.pi, 4))
    ends = [math.atan2(a, b) for a in (y.low, y.high) for b in (x.low, x.high)]
    return outward(min(ends), max(ends), 4 * SLACK)


def absolute(a: Interval) -> Interval:
    return Interval(0.0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high)), a.magnitude)


def less(a: Interval, b: Interval) -> Interval:
    return Interval(float(a.high < b.low), float(a.low < b.high))


def chosen(mask: Interval, a: Interval, b: Interval) -> Interval:
    if mask.low > 0 or mask.high < 0:
        return a
    return b if mask.low == mask.high == 0 else a.joined(b)


def rescale(a: Interval) -> Interval:
    """A power of two between 2 / x and 4 / x, for normal numbers."""
    return Interval(1 / a.high if a.high > 1e-300 else 0.0, 8 / a.low if a.low > 1e-300 else math.inf)


def minimum(a: Interval, b: Interval) -> Interval:
    return Interval(min(a.low, b.low), min(a.high, b.high))


def maximum(a: Interval, b: Interval) -> Interval:
    return Interval(max(a.low, b.low), max(a.high, b.high))


def floor(a: Interval) -> Interval:
    return Interval(float(np.floor(a.low)), float(np.floor(a.high)))
