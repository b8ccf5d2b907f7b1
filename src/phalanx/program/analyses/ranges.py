# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Value ranges: an interval that holds each value of a program, for inputs within given bounds.

The program runs in interval arithmetic, rounded outwards; integers and loops run as always. A loop that
ends on data may end after any iteration. Three correlations narrow plain intervals, since rotations are most
of what robots compute: x x is not negative, x cos a + y sin a has at most the norm of (x, y), and
sin² a + cos² a is one. The ranges hold for finite inputs and for rounded arithmetic in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import ops
from ..interpret import Interpretation
from ..ir import Program, Until, Value

_HALF = math.pi / 2
_SLACK = 1e-15  # relative error of a library's sine, exponential and the like, and of a sum of squares


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


@dataclass(frozen=True)
class Ranges:
    """Intervals of all values that a program computes, by statement, and of its outputs by name."""

    values: dict[Any, Interval] = field(repr=False)
    low: dict[str, np.ndarray]
    high: dict[str, np.ndarray]


def ranges(
    program: Program,
    bounds: Mapping[str, tuple[Any, Any]],
    *,
    sizes: Sequence[int] = (),
    errors: Mapping[Any, float] | None = None,
    known: Mapping[Any, Interval] | None = None,
) -> Ranges:
    """The ranges of a program whose inputs and uniforms lie between (low, high), given by their names.

    With `errors`, an operation may be off by so much: the ranges hold for any arithmetic that rounds so.
    `known` are intervals of single values that follow from elsewhere.
    """
    run = _IntervalRun(program, np.dtype(object), _RULES)
    run.errors, run.known = errors or {}, known or {}
    run.counters.update(zip(program.sizes, sizes, strict=True))
    given = [*program.inputs, *([] if program.uniform is None else [program.uniform])]
    for buffer in given:
        if buffer.name not in bounds:
            raise ValueError(f"ranges: no bounds for {buffer.name}; pass (low, high) for each input.")
        low, high = (np.broadcast_to(np.ravel(x), buffer.size) for x in bounds[buffer.name])
        if not (low <= high).all():
            raise ValueError(f"ranges: a bound of {buffer.name} is NaN or below the other.")
        run.memory[buffer][:] = [Interval(*each) for each in zip(low.tolist(), high.tolist(), strict=True)]
    run.body(program.body)
    ends: tuple[dict[str, np.ndarray], dict[str, np.ndarray]] = ({}, {})
    for buffer in program.outputs:
        found = [_interval(x) for x in run.memory[buffer]]
        for end, numbers in zip(ends, zip(*((x.low, x.high) for x in found), strict=True), strict=False):
            end[buffer.name] = np.array(numbers).reshape(program.shapes[buffer.name])
    return Ranges(run.ranges, *ends)


def _interval(x: Any) -> Interval:
    """A number as an interval; NaN, the mark of memory without a store, as everything."""
    if isinstance(x, Interval):
        return x
    return EVERYTHING if math.isnan(x) else Interval(float(x), float(x))


class _IntervalRun(Interpretation):
    """A running program whose values are arrays of intervals, one for each lane."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.ranges: dict[Any, Interval] = {}
        self.errors: Mapping[Any, float] = {}
        self.known: Mapping[Any, Interval] = {}

    def value(self, s: Value) -> None:
        operands = [[_interval(x) for x in np.atleast_1d(self.real(a))] for a in s.args]
        rule = _RULES.get(s.op)
        if rule is None:
            raise TypeError(f"ranges: no rule for the operation {s.op}.")
        found = [self._bounded(s, rule(*each), lane) for lane, each in enumerate(zip(*operands, strict=True))]
        if (k := self.known.get(s)) is not None:
            found = [Interval(max(x.low, k.low), min(x.high, k.high)) for x in found]
        if e := self.errors.get(s):
            found = [_outward(x.low - e, x.high + e) for x in found]
        made = self.values[s] = np.empty(len(found), dtype=object)
        made[:] = found
        for x in found:
            self.ranges[s] = self.ranges[s].joined(x) if s in self.ranges else x

    def _bounded(self, s: Value, found: Interval, lane: int) -> Interval:
        """An interval, narrowed by the correlations in squares and rotations."""

        def at(x: Any) -> Interval:
            return _interval(np.atleast_1d(self.real(x))[lane])

        if s.op == ops.MUL and s.args[0] is s.args[1]:
            return _square(at(s.args[0]))
        terms = _terms(s)
        if s.op in (ops.FMA, ops.FMS, ops.FNMA) and s.args[0] is s.args[1]:
            square, rest = _square(at(s.args[0])), at(s.args[2])
            found = {ops.FMA: _add(square, rest), ops.FMS: _sub(square, rest)}.get(s.op, _sub(rest, square))
        if terms is None:
            return found
        (first, x), (second, y), is_sum = terms
        off = sum(self.errors.get(a, 0.0) for a in s.args)  # of the products
        turned = self.errors.get(first, 0.0) + self.errors.get(second, 0.0)
        if is_sum and first is x and second is y:
            slack = 4 * _SLACK + off + turned * (2 + turned)
            return Interval(1.0 - slack, 1.0 + slack)
        norm = math.hypot(at(x).magnitude, at(y).magnitude)
        return found.within(norm * (1 + 8 * _SLACK + turned) + off)

    def until(self, s: Until) -> None:
        """All iterations; afterwards loop-carried values may be those of any."""
        self.values.update({c: self.real(c.start) for c in s.carried})
        ends: list[Any] = []
        for at in range(self.whole(s.limit)):
            self.counters[s.counter] = at
            self.body(s.body)
            fed = [self.real(x) for x in s.yields]
            self.values.update(zip(s.carried, fed, strict=True))
            ends = [_joined(a, b) for a, b in zip(ends, fed, strict=True)] if ends else fed
            stop = [_interval(x) for x in np.atleast_1d(self.real(s.stop))]
            if all(x.low > 0 or x.high < 0 for x in stop):
                break
        self.values.update(zip(s.carried, ends, strict=True))


def _joined(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    made = np.empty(len(a), dtype=object)
    made[:] = [_interval(x).joined(_interval(y)) for x, y in zip(a, b, strict=True)]
    return made


def _terms(s: Value) -> tuple[tuple[Any, Any], tuple[Any, Any], bool] | None:
    """((sine, x), (cosine, y), whether they are added) of x sin a ± y cos a in any order; else None."""
    if s.op in (ops.FMA, ops.FMS, ops.FNMA):
        products, is_sum = [s.args[:2], s.args[2]], s.op == ops.FMA
    elif s.op in (ops.ADD, ops.SUB):
        products, is_sum = list(s.args), s.op == ops.ADD
    else:
        return None
    pairs = [p.args if isinstance(p, Value) and p.op == ops.MUL else p for p in products]
    if not all(isinstance(p, tuple) for p in pairs):
        return None
    for a, x in (pairs[0], pairs[0][::-1]):
        for b, y in (pairs[1], pairs[1][::-1]):
            is_sincos = isinstance(a, Value) and isinstance(b, Value) and {a.op, b.op} == {ops.SIN, ops.COS}
            if is_sincos and a.args[0] is b.args[0]:
                return (a, x), (b, y), is_sum
    return None


# ------------------------------------------------------------------- operations


def _outward(low: float, high: float, slack: float = 0.0) -> Interval:
    """An interval, a rounding error wider; everything if an end is NaN, as a difference of infinities is."""
    low, high = low - slack * abs(low), high + slack * abs(high)
    if math.isnan(low) or math.isnan(high):
        return EVERYTHING
    return Interval(math.nextafter(low, -math.inf), math.nextafter(high, math.inf))


def _add(a: Interval, b: Interval) -> Interval:
    return _outward(a.low + b.low, a.high + b.high)


def _sub(a: Interval, b: Interval) -> Interval:
    return _outward(a.low - b.high, a.high - b.low)


def _mul(a: Interval, b: Interval) -> Interval:
    ends = [0.0 if 0 in (x, y) else x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return _outward(min(ends), max(ends))


def _square(a: Interval) -> Interval:
    low = 0.0 if a.low <= 0 <= a.high else min(a.low**2, a.high**2)
    return Interval(low and math.nextafter(low, 0.0), math.nextafter(a.magnitude**2, math.inf))


def _div(a: Interval, b: Interval) -> Interval:
    if b.low <= 0 <= b.high:
        return EVERYTHING
    return _mul(a, _outward(1 / b.high, 1 / b.low)) if math.inf not in (b.high, -b.low) else _by_large(a, b)


def _by_large(a: Interval, b: Interval) -> Interval:
    """A quotient by numbers without bound, but not zero."""
    least = b.low if b.low > 0 else -b.high
    return Interval(-a.magnitude / least, a.magnitude / least)


def _neg(a: Interval) -> Interval:
    return Interval(-a.high, -a.low)


def _cos(a: Interval) -> Interval:
    """The range of the cosine: its values at both ends, and its extrema between them."""
    if not math.isfinite(a.low) or not math.isfinite(a.high) or a.high - a.low >= 2 * math.pi:
        return Interval(-1.0, 1.0)
    ends = [math.cos(a.low), math.cos(a.high)]
    margin = 1e-15 * (1 + a.magnitude)
    first, last = math.ceil((a.low - margin) / math.pi), math.floor((a.high + margin) / math.pi)
    ends += [1.0 if k % 2 == 0 else -1.0 for k in range(first, last + 1)]
    return Interval(max(min(ends) - 4 * _SLACK, -1.0), min(max(ends) + 4 * _SLACK, 1.0))


def _sin(a: Interval) -> Interval:
    return _cos(Interval(math.nextafter(a.low - _HALF, -math.inf), math.nextafter(a.high - _HALF, math.inf)))


def _monotone(function: Callable[[float], float]) -> Callable[[Interval], Interval]:
    def rule(a: Interval) -> Interval:
        with np.errstate(all="ignore"):
            return _outward(float(function(a.low)), float(function(a.high)), 4 * _SLACK)

    return rule


def _log(a: Interval) -> Interval:
    return EVERYTHING if a.high <= 0 else _monotone(np.log)(Interval(max(a.low, 0.0), a.high))


def _sqrt(a: Interval) -> Interval:
    found = _monotone(np.sqrt)(Interval(max(a.low, 0.0), max(a.high, 0.0)))
    return Interval(max(found.low, 0.0), found.high)


def _arctan2(y: Interval, x: Interval) -> Interval:
    if x.low <= 0:
        return Interval(-math.nextafter(math.pi, 4), math.nextafter(math.pi, 4))
    ends = [math.atan2(a, b) for a in (y.low, y.high) for b in (x.low, x.high)]
    return _outward(min(ends), max(ends), 4 * _SLACK)


def _abs(a: Interval) -> Interval:
    return Interval(0.0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high)), a.magnitude)


def _less(a: Interval, b: Interval) -> Interval:
    return Interval(float(a.high < b.low), float(a.low < b.high))


def _choose(mask: Interval, a: Interval, b: Interval) -> Interval:
    if mask.low > 0 or mask.high < 0:
        return a
    return b if mask.low == mask.high == 0 else a.joined(b)


def _rescale(a: Interval) -> Interval:
    """A power of two between 2 / x and 4 / x, for normal numbers."""
    return Interval(1 / a.high if a.high > 1e-300 else 0.0, 8 / a.low if a.low > 1e-300 else math.inf)


_RULES: dict[str, Callable[..., Interval]] = {
    ops.ADD: _add,
    ops.SUB: _sub,
    ops.MUL: _mul,
    ops.DIV: _div,
    ops.NEG: _neg,
    ops.SIN: _sin,
    ops.COS: _cos,
    ops.FMA: lambda a, b, c: _add(_mul(a, b), c),
    ops.FMS: lambda a, b, c: _sub(_mul(a, b), c),
    ops.FNMA: lambda a, b, c: _sub(c, _mul(a, b)),
    ops.EXP: _monotone(np.exp),
    ops.TANH: _monotone(np.tanh),
    ops.LOG: _log,
    ops.ARCTAN2: _arctan2,
    ops.MIN: lambda a, b: Interval(min(a.low, b.low), min(a.high, b.high)),
    ops.MAX: lambda a, b: Interval(max(a.low, b.low), max(a.high, b.high)),
    ops.SQRT: _sqrt,
    ops.RESCALE: _rescale,
    ops.ABS: _abs,
    ops.FLOOR: lambda a: Interval(float(np.floor(a.low)), float(np.floor(a.high))),
    ops.LESS: _less,
    ops.TAINT: lambda a, b: b,
    ops.SELECT: _choose,
}
