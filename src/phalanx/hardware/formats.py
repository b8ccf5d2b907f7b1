# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Fixed-point formats for all values of a program, and a bound on the error of its results.

Ranges (`program/analyses/ranges.py`) fix the bits before the point. A result differs from the exact one by
the sum of the rounding errors of all operations, each times the derivative of the result with respect to it
(mean value theorem); adjoints in magnitudes bound these sensitivities over the whole domain. The ranges are
those of the rounded computation, so that the bound holds without a remainder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import PhalanxError
from ..program import ops
from ..program.analyses.ranges import ranges
from ..program.interpret import interpret
from ..program.intervals import Interval
from ..program.ir import Load, Program, Store, Value
from . import approximations
from .approximations import root_scale
from .pivots import KnownValues

SMALLEST, WIDEST = 8, 64  # bits of a word that can be requested
_WORDS = (32, 40, 48, 56, 64)
_STATES = 16  # at which results are computed
_SMALL = 0.05  # of the largest result: the error up to which it is worth having
_SINE_USERS = 8  # operations that a bit of an angle makes wider
_GUARD = 2  # bits by which a constant factor is finer than the product


@dataclass(frozen=True)
class FixedPoint:
    """A word of two's complement: `width` bits, the lowest of which stands for 2^-fraction."""

    width: int
    fraction: int


@dataclass(frozen=True)
class Formats:
    """The formats of all values, and what they promise."""

    of: dict[Any, FixedPoint]
    ranges: dict[Any, Interval]
    outputs: dict[str, list[FixedPoint]]
    error: dict[str, np.ndarray]  # bound on the error of each element
    sines: int  # fraction bits of sines and cosines inside their unit

    @property
    def error_bound(self) -> float:
        return max((float(e.max(initial=0.0)) for e in self.error.values()), default=0.0)


def fitting(interval: Interval, fraction: int) -> int:
    """The bits of a word that holds an interval in units of 2^-fraction, rounded down."""
    low = math.floor(math.ldexp(interval.low, fraction))
    high = math.floor(math.ldexp(interval.high, fraction))
    return max((x if x >= 0 else ~x).bit_length() for x in (low, high)) + 1


def error_bounds(
    program: Program,
    bounds: Mapping[str, tuple[np.ndarray, np.ndarray]],
    where: str,
    known: KnownValues,
    error: Callable[[Any, Callable[[Any], Interval]], float],
) -> dict[str, np.ndarray] | None:
    """Bounds on the errors of all results where `error` bounds the rounding of each operation by its range.

    None if rounding could take a known range beyond its margin.
    """
    analysis = _Analysis(program, bounds, where, known)
    for _ in range(3):  # ranges of rounded values, which change the errors again, by ever less
        errors = {s: 1.001 * error(s, analysis._interval) for s in analysis.nodes}
        analysis._analyse(errors)
    if any(error(s, analysis._interval) > e for s, e in errors.items()):
        return None
    bound = np.array([errors[s] for s in analysis.nodes]) @ analysis.sensitivity
    if not (bound[len(analysis.results) :] <= list(analysis.margin.values())).all():
        return None
    by_value = dict(zip(analysis.results, bound.tolist(), strict=False))
    made = {buffer.name: np.zeros(buffer.size) for buffer in program.outputs}
    for s in analysis.stores:
        at: Any = s.index
        made[s.buffer.name][at] = abs(s.value) * 2.0**-24 if isinstance(s.value, float) else by_value[s.value]
    return made


def chosen(
    program: Program,
    bounds: Mapping[str, tuple[np.ndarray, np.ndarray]],
    *,
    accuracy: float | None,
    word: int | None,
    relative: float,
    where: str,
    known: KnownValues | None = None,
) -> Formats:
    """Formats for a promised error of all results, or of a given width.

    Without both, the error is `relative` to the largest result; where that cannot be proven, the shortest of
    `_WORDS` is taken that keeps divisors from zero. The largest result is that of interval arithmetic, which
    grows with the length of a robot far beyond what results reach: a promise that is not small against
    those of random states is refused.
    """
    analysis = _Analysis(program, bounds, where, known)
    if word is not None:
        return analysis.for_word(int(word))
    if accuracy is not None:
        return analysis.for_accuracy(float(accuracy))
    largest = max((analysis.ranges[x].magnitude for x in analysis.results), default=1.0)
    try:
        made = analysis.for_accuracy(relative * largest)
    except PhalanxError:
        made = _shortest(lambda: _Analysis(program, bounds, where, known))
    _require_small(made, program, bounds, where)
    return made


def _shortest(analysis: Callable[[], _Analysis]) -> Formats:
    for width in _WORDS[:-1]:
        with suppress(PhalanxError):
            return analysis().for_word(width)
    return analysis().for_word(_WORDS[-1])


def _require_small(
    made: Formats, program: Program, bounds: Mapping[str, tuple[np.ndarray, np.ndarray]], where: str
) -> None:
    """Raise where the bound on the errors of an output is not small against what it reaches."""
    rng = np.random.default_rng(0)
    states = [{name: rng.uniform(*ends) for name, ends in bounds.items()} for _ in range(_STATES)]
    results = [interpret(program, x) for x in states]
    for name, error in made.error.items():
        reached = max(float(np.abs(x[name]).max(initial=0.0)) for x in results)
        worst = float(error.max(initial=0.0))
        if math.isfinite(reached) and worst > _SMALL * reached > 0.0:
            raise PhalanxError(
                f"{where}: {name} reaches {reached:.2g} at random states, errors are proven to stay below "
                f"{worst:.2g} only; narrow the ranges of the inputs by bounds={{…}}, say by accuracy=… what "
                "error is small enough, or export it as C."
            )


class _Analysis:
    """Ranges and sensitivities of a straight-line program."""

    def __init__(
        self,
        program: Program,
        bounds: Mapping[str, tuple[np.ndarray, np.ndarray]],
        where: str,
        known: KnownValues | None,
    ) -> None:
        self.program, self.bounds, self.where = program, bounds, where
        self.known = known or KnownValues()
        self.nodes: list[Any] = []
        self.stores: list[Store] = []
        for s in program.body:
            if isinstance(s, Store):
                self.stores.append(s)
            elif isinstance(s, Load | Value):
                self.nodes.append(s)
            else:
                raise TypeError(f"formats: no rule for the statement {type(s).__name__}.")
        for s in self.nodes:
            if isinstance(s, Value) and s.op not in _PARTIALS:
                raise PhalanxError(
                    f"{where} has the operation {s.op}, for which there is no unit; there are units for "
                    f"{', '.join(sorted(_PARTIALS))}; export it as C."
                )
        self.results = list(dict.fromkeys(s.value for s in self.stores if isinstance(s.value, Load | Value)))
        self.index = {s: k for k, s in enumerate(self.nodes)}
        # Known ranges are those of exact values: rounded ones may leave them by a margin, which is checked.
        self.margin = self.known.margins
        self.watched = [*self.results, *self.margin]
        self._analyse({})

    def _analyse(self, errors: Mapping[Any, float]) -> None:
        """Computes ranges of the values with these rounding errors, and sensitivities."""
        ends = {name: [np.array(x, dtype=float) for x in pair] for name, pair in self.bounds.items()}
        for s in self.nodes:
            if isinstance(s, Load):
                low, high = ends[s.buffer.name]
                at: Any = s.index
                low[at], high[at] = low[at] - errors.get(s, 0.0), high[at] + errors.get(s, 0.0)
        within = {name: (low, high) for name, (low, high) in ends.items()}
        found = ranges(self.program, within, errors=errors, known=self.known.widened())
        self.ranges: dict[Any, Interval] = dict(found.values)
        for s in self.nodes:
            if isinstance(s, Load):
                at = s.index
                self.ranges[s] = Interval(*(float(x[at]) for x in ends[s.buffer.name]))
            elif s.op == ops.SQRT and self._interval(s.args[0]).low <= 0:
                raise PhalanxError(
                    f"{self.where}: the argument of a root of {_quantity(s)} may be zero or negative, where "
                    'no fixed point is accurate; add a small positive number to it, or give dtype="float32".'
                )
            elif not math.isfinite(self.ranges[s].magnitude):
                raise PhalanxError(
                    f"{self.where}: no bound is found for a {s.op} of {_quantity(s)}; narrow the ranges of "
                    'the inputs by bounds={…}, or give dtype="float32".'
                )
        self.sensitivity = self._adjoints(errors)

    def _adjoints(self, errors: Mapping[Any, float]) -> np.ndarray:
        """(nodes, results and divisors): bounds on their derivatives with respect to each value."""
        made = np.zeros((len(self.nodes), len(self.watched)))
        for k, x in enumerate(self.watched):
            made[self.index[x], k] = 1.0
        columns: dict[Any, list[int]] = {}
        for k, x in enumerate(self.watched):
            columns.setdefault(x, []).append(k)
        limited = {
            s: [(k, most) for x, most in found.items() for k in columns.get(x, ())]
            for s, found in self.known.slopes.items()
        }
        # A rotation x sin a + y cos a has adjoints of the same form: pairs of them add up to at most their
        # norm.
        turned: list[dict[Any, tuple[list[np.ndarray], list[np.ndarray]]]] = [{} for _ in self.nodes]
        slack = 1.0 + 4 * max((e for s, e in errors.items() if s.op in (ops.SIN, ops.COS)), default=0.0)
        for k in range(len(self.nodes) - 1, -1, -1):
            s = self.nodes[k]
            for sines, cosines in turned[k].values():
                for a, b in zip(sines, cosines, strict=False):
                    made[k] += np.hypot(a, b) * slack
                few = min(len(sines), len(cosines))
                made[k] += sum((*sines[few:], *cosines[few:]), np.zeros(len(self.watched)))
            for column, most in limited.get(s, ()):
                made[k, column] = min(made[k, column], most)
            mine = made[k]
            if isinstance(s, Load) or not mine.any():
                continue
            for a, (size, by) in zip(s.args, _PARTIALS[s.op](s, self._interval), strict=True):
                if isinstance(a, float):
                    continue
                at = self.index[a]
                if isinstance(by, tuple):  # a sine or a cosine of an angle
                    kind, angle = by
                    turned[at].setdefault(angle, ([], []))[kind].append(mine)
                else:
                    made[at] += size * mine
        return made

    def _interval(self, x: Any) -> Interval:
        return Interval(x, x) if isinstance(x, float) else self.ranges[x]

    # ------------------------------------------------------------------- choices

    def for_accuracy(self, accuracy: float) -> Formats:
        """The shortest words for which every result is proven to be within `accuracy`.

        An operation gets a share of the error of the result that it disturbs most, in proportion to its
        users, each of which pays for its bits; all shares are the largest that keep the promise.
        """
        # Beyond the largest result, the ranges of coarsely rounded values grow without end.
        accuracy = min(accuracy, max((self.ranges[x].magnitude for x in self.results), default=accuracy))
        share = 0.0  # log2
        users = np.ones(len(self.nodes))
        for s in self.nodes:
            for a in s.args:
                if not isinstance(a, float):
                    users[self.index[a]] += 1 if s.op != ops.SIN else _SINE_USERS
        limits = np.array([accuracy] * len(self.results) + list(self.margin.values()))
        wanted = np.log2(np.maximum((self.sensitivity / limits).max(axis=1, initial=0.0), 1e-300) / users)
        low, high = 0.0, 40.0
        while high - low > 0.125:
            share = (low + high) / 2
            made = self._formats(self._fractions(wanted + share))
            if (self._bound(made) <= limits).all():
                high = share
            else:
                low = share
        for _ in range(20):
            made = self._formats(self._fractions(wanted + high))
            self._analyse(self._errors(made))
            made = self._formats(self._fractions(wanted + high))  # with the ranges of the rounded values
            if (self._bound(made) <= limits).all():
                return self._promised(made)
            high += 0.125
        reached = float(self._bound(made)[: len(self.results)].max(initial=0.0))
        raise PhalanxError(
            f"{self.where}: accuracy={accuracy:g} cannot be proven; {_rounded_up(reached)} can. Narrow the "
            "ranges of the inputs by bounds={…}, or give word."
        )

    def for_word(self, word: int) -> Formats:
        """The finest formats in words of a given width."""
        fractions = {s: word - fitting(self.ranges[s], 0) for s in self.nodes}
        for s in self.nodes:
            if s.op in (ops.SIN, ops.COS):
                fractions[s] = word - 2  # all sines have one format, that of [-1, 1]
        for _ in range(20):
            made = self._formats(fractions)
            self._analyse(self._errors(made))
            wide = [s for s in self.nodes if fitting(self.ranges[s], made[s].fraction) > word]
            if not wide:
                break
            for s in wide:
                fractions[s] -= 1
        self._require(word, fractions)
        made = self._formats(fractions)
        if (self._bound(made)[len(self.results) :] > list(self.margin.values())).any():
            raise PhalanxError(
                f"{self.where}: word={word} is too small: rounding could bring a divisor to zero; "
                + (f"use word={min(word + 8, WIDEST)} or more." if word < WIDEST else "export it as C.")
            )
        return self._promised(made)

    def _require(self, word: int, fractions: Mapping[Any, int]) -> None:
        worst = min(self.nodes, key=lambda s: fractions[s])
        if fractions[worst] < 0:
            size, needed = self.ranges[worst].magnitude, word - fractions[worst]
            raise PhalanxError(
                f"{self.where}: word={word} is too small: {_quantity(worst)} reaches {size:.3g}, "
                f"which takes {needed} bits; use word={needed + 8} or more."
            )

    def _fractions(self, wanted: np.ndarray) -> dict[Any, int]:
        return {s: math.ceil(x) for s, x in zip(self.nodes, wanted.tolist(), strict=True)}

    def _formats(self, fractions: Mapping[Any, int]) -> dict[Any, FixedPoint]:
        """Formats with at most these fractions: exact results need no more bits than they have."""
        made: dict[Any, FixedPoint] = {}
        trigonometric = [fractions[s] for s in self.nodes if s.op in (ops.SIN, ops.COS)]
        sines = max(trigonometric, default=0)
        for s in self.nodes:
            fraction = fractions[s]
            if isinstance(s, Value):
                known = [made[a].fraction for a in s.args if not isinstance(a, float)]
                if s.op in (ops.ADD, ops.SUB, ops.NEG) and len(known) == len(s.args):
                    fraction = min(fraction, max(known))
                elif s.op == ops.MUL and len(known) == 2:
                    fraction = min(fraction, sum(known))
                elif s.op in (ops.SIN, ops.COS):
                    fraction = min(sines, approximations.FINEST)
                elif s.op == ops.SQRT:
                    x = made[s.args[0]]
                    fraction = min(fraction, approximations.FINEST_ROOT - root_scale(x.width, x.fraction))
                elif s.op == ops.DIV:
                    least = math.floor(math.log2(self.ranges[s.args[1]].low))
                    fraction = min(fraction, approximations.FINEST_RECIPROCAL + min(least, 0))
            made[s] = FixedPoint(max(fitting(self.ranges[s], fraction), 2), fraction)
        return made

    # ------------------------------------------------------------------- errors

    def _errors(self, made: Mapping[Any, FixedPoint]) -> dict[Any, float]:
        """The largest rounding error of each operation, and of the inputs."""
        return {s: self._error(s, made) for s in self.nodes}

    def _error(self, s: Any, made: Mapping[Any, FixedPoint]) -> float:
        f = made[s].fraction
        unit = math.ldexp(1.0, -f)
        if isinstance(s, Load):
            return unit / 2
        known = [made[a].fraction for a in s.args if not isinstance(a, float)]
        if s.op in (ops.ADD, ops.SUB, ops.NEG):
            cut = max(known) > f
            return (unit if cut else 0.0) + (unit / 2 if len(known) < len(s.args) else 0.0)
        if s.op == ops.MUL:
            if len(known) == 2:
                return unit if sum(known) > f else 0.0
            factor = next(a for a in s.args if isinstance(a, float))
            x = next(a for a in s.args if not isinstance(a, float))
            digits = factor_fraction(factor, f, self.ranges[x].magnitude)
            number = round(math.ldexp(factor, digits))
            off = abs(math.ldexp(factor, digits) - number)
            exact = (known[0] + digits <= f) or number % (1 << (known[0] + digits - f)) == 0
            return (0.0 if exact else unit) + math.ldexp(off, -digits) * self.ranges[x].magnitude
        if s.op in (ops.SIN, ops.COS):
            return approximations.SINE_ERROR * unit
        if s.op == ops.DIV:
            return approximations.RECIPROCAL_ERROR * unit
        if s.op == ops.SQRT:
            return approximations.SHIFTED_ROOT_ERROR * unit
        raise TypeError(f"formats: no error is stated for the operation {s.op}.")

    def _bound(self, made: Mapping[Any, FixedPoint]) -> np.ndarray:
        """The bound on the error of each result."""
        errors = self._errors(made)
        return np.array([errors[s] for s in self.nodes]) @ self.sensitivity

    def _promised(self, made: dict[Any, FixedPoint]) -> Formats:
        bound = dict(zip(self.watched, self._bound(made).tolist(), strict=True))
        outputs: dict[str, list[FixedPoint]] = {}
        error: dict[str, np.ndarray] = {}
        finest = max((made[s].fraction for s in self.results), default=0)
        for buffer in self.program.outputs:
            stored: dict[int, Any] = {s.index: s.value for s in self.stores if s.buffer is buffer}  # type: ignore[misc]
            outputs[buffer.name] = [
                made[x] if not isinstance(x, float) else constant_format(x, finest)
                for x in (stored[k] for k in range(buffer.size))
            ]
            error[buffer.name] = np.array(
                [
                    bound[x] if not isinstance(x, float) else abs(x - rounded(x, finest))
                    for x in (stored[k] for k in range(buffer.size))
                ]
            )
        sines = max((made[s].fraction for s in self.nodes if s.op in (ops.SIN, ops.COS)), default=0)
        return Formats(made, self.ranges, outputs, error, sines)


def constant_format(x: float, fraction: int) -> FixedPoint:
    """The format of a constant result."""
    return FixedPoint(
        max(fitting(Interval(rounded(x, fraction), rounded(x, fraction)), fraction), 2), fraction
    )


def rounded(x: float, fraction: int) -> float:
    """A number rounded to the nearest multiple of 2^-fraction."""
    return math.ldexp(round(math.ldexp(x, fraction)), -fraction)


def factor_fraction(factor: float, fraction: int, magnitude: float) -> int:
    """The fraction bits of a constant factor: its rounding disturbs the product less than cutting it does."""
    return fraction + _GUARD + max(math.frexp(magnitude)[1], 0)


def _rounded_up(x: float) -> str:
    """A positive number with two digits that is no smaller."""
    if not 0.0 < x < math.inf:
        return f"{x:g}"
    step = 10.0 ** (math.floor(math.log10(x)) - 1)
    return f"{math.ceil(x / step) * step:.2g}"


def _quantity(s: Any) -> str:
    if isinstance(s, Load):
        return f"{s.buffer.name}[{s.index}]"
    return s.quantity or "the program"


# ------------------------------------------------------------------- partial derivatives

# For each operand: (bound on the partial derivative, None), or (1, (0 or 1, angle)) where it is the sine or
# the cosine of an angle.


def _plain(size: float) -> tuple[float, None]:
    return size, None


def _factor(x: Any, interval: Any) -> tuple[float, Any]:
    if isinstance(x, Value) and x.op in (ops.SIN, ops.COS):
        return 1.0, (int(x.op == ops.COS), x.args[0])
    return _plain(interval(x).magnitude)


_PARTIALS: dict[str, Any] = {
    ops.ADD: lambda s, interval: (_plain(1.0), _plain(1.0)),
    ops.SUB: lambda s, interval: (_plain(1.0), _plain(1.0)),
    ops.NEG: lambda s, interval: (_plain(1.0),),
    ops.MUL: lambda s, interval: (_factor(s.args[1], interval), _factor(s.args[0], interval)),
    ops.SIN: lambda s, interval: ((1.0, (1, s.args[0])),),
    ops.COS: lambda s, interval: ((1.0, (0, s.args[0])),),
    ops.SQRT: lambda s, interval: (_plain(0.5 / math.sqrt(interval(s.args[0]).low)),),
    ops.DIV: lambda s, interval: (_plain(0.0), _plain(1.0 / interval(s.args[1]).low ** 2)),
}
