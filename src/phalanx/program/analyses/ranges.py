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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import ops
from ..interpret import Interpretation
from ..intervals import EVERYTHING, SLACK, Interval, add, outward, square, sub
from ..ir import Program, Until, Value


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
    run = _IntervalRun(program, np.dtype(object), {})
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
        rule = ops.OPS[s.op].interval
        found = [self._bounded(s, rule(*each), lane) for lane, each in enumerate(zip(*operands, strict=True))]
        if (k := self.known.get(s)) is not None:
            found = [Interval(max(x.low, k.low), min(x.high, k.high)) for x in found]
        if e := self.errors.get(s):
            found = [outward(x.low - e, x.high + e) for x in found]
        made = self.values[s] = np.empty(len(found), dtype=object)
        made[:] = found
        for x in found:
            self.ranges[s] = self.ranges[s].joined(x) if s in self.ranges else x

    def _bounded(self, s: Value, found: Interval, lane: int) -> Interval:
        """An interval, narrowed by the correlations in squares and rotations."""

        def at(x: Any) -> Interval:
            return _interval(np.atleast_1d(self.real(x))[lane])

        if s.op == ops.MUL and s.args[0] is s.args[1]:
            return square(at(s.args[0]))
        terms = _terms(s)
        if s.op in (ops.FMA, ops.FMS, ops.FNMA) and s.args[0] is s.args[1]:
            first, rest = square(at(s.args[0])), at(s.args[2])
            found = {ops.FMA: add(first, rest), ops.FMS: sub(first, rest)}.get(s.op, sub(rest, first))
        if terms is None:
            return found
        (one, x), (other, y), is_sum = terms
        off = sum(self.errors.get(a, 0.0) for a in s.args)  # of the products
        turned = self.errors.get(one, 0.0) + self.errors.get(other, 0.0)
        if is_sum and one is x and other is y:
            slack = 4 * SLACK + off + turned * (2 + turned)
            return Interval(1.0 - slack, 1.0 + slack)
        norm = math.hypot(at(x).magnitude, at(y).magnitude)
        return found.within(norm * (1 + 8 * SLACK + turned) + off)

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
