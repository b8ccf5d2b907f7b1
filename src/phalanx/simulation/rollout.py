# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs that repeat a step: a loop over time, its state in loop-carried values, records stored on the way.

What does not change from step to step is computed before the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..program.form.builder import Builder, OpenLoop, StatementWriter
from ..program.form.program import Index, Program, Real, int_expr, plus, times
from ..program.ops import ADD, INPUT, LESS, MUL
from ..program.rewrite import Code, instructions
from ..program.trace import TracedProgram as Equations

TIME, COUNT = "time", "start"  # the moment of a step, and how many steps came before the first
# Single precision counts to 2**24. So there are two counts, of steps and of those in past ages; their sum is
# rounded once, so that time does not depend on where an age began.
CLOCK, AGE = 2, 1 << 22


@dataclass(frozen=True)
class Repeated:
    """A step to be repeated.

    `state` are the results that become its inputs of the same names in the next round, `shown` results that
    records may tell of the last one. Inputs are `held` over some steps, or `fixed` for all of them: each of
    these is made of one or more inputs, side by side.
    """

    dt: float
    state: Mapping[str, np.ndarray]
    held: Mapping[str, int]
    fixed: Mapping[str, Mapping[str, int]]
    shown: Mapping[str, np.ndarray] = field(default_factory=dict)
    records: Mapping[str, np.ndarray] = field(default_factory=dict)


def whole_of(**sizes: int) -> dict[str, dict[str, int]]:
    """Fixed inputs that are one array each, those without numbers left out."""
    return {name: {name: size} for name, size in sizes.items() if size}


def _loaded(b: Builder, fixed: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """The numbers of fixed inputs, those of their parts one after another."""
    return {
        name: [b.load(b.inputs[part], k) for part, size in parts.items() for k in range(size)]
        for name, parts in fixed.items()
    }


def _code(results: Iterable[np.ndarray]) -> Code:
    flat = [x for array in results for x in array.ravel().tolist()]
    return instructions(Equations({}, {}, flat))


def final(name: str) -> str:
    """The output that holds the state after the last step."""
    return f"final {name}"


def record(name: str) -> str:
    """The output that holds a record, apart from all else whatever users call it."""
    return f"record {name}"


def forward(step: Repeated, steps: Index, every: Index, hold: Index, b: Builder) -> Program:
    """So many `steps`, recorded after each `every`-th of them, with inputs held over `hold` steps."""
    fixed = _loaded(b, step.fixed)
    start, ages = (b.load(b.inputs[COUNT], k) for k in range(CLOCK))
    state = {
        name: [b.load(b.inputs[name], k) for k in range(array.size)] for name, array in step.state.items()
    }
    known: dict[str, Any] = dict(fixed)
    moving = _Portions(b, _code([*step.state.values(), *step.shown.values()]), known, set(fixed))
    telling = _Portions(b, _code(step.records.values()), known, set(fixed))
    moving.before()
    telling.before()
    with b.loop(int_expr("div", steps, every)) as outer:
        passed = outer.carry(start)
        kept = _carried(outer, state)
        shown = {name: [0.0] * array.size for name, array in step.shown.items()}
        with b.loop(every) as inner:
            number = inner.carry(passed)
            inside, also = _carried(inner, kept), _carried(inner, shown)
            row = int_expr("div", plus(times(outer.index, every), inner.index), hold)
            known |= inside | {TIME: [_time(b, number, ages, step.dt)]}
            known |= {name: _Row(b, name, size, row) for name, size in step.held.items()}
            results = iter(moving.now())
            inner.feed(number, b.value(ADD, number, 1.0))
            for places in (*inside.values(), *also.values()):
                for place in places:
                    inner.feed(place, next(results))
        last = int_expr("div", plus(times(plus(outer.index, 1), every), -1), hold)
        known |= inside | also | {TIME: [_time(b, number, ages, step.dt)]}
        known |= {name: _Row(b, name, size, last) for name, size in step.held.items()}
        values = iter(telling.now())
        for name, array in step.records.items():
            first = times(outer.index, array.size)
            _store(b, record(name), first, [next(values) for _ in range(array.size)])
        for place, value in zip(_flat(kept), _flat(inside), strict=True):
            outer.feed(place, value)
        outer.feed(passed, number)
    for name, values_of in kept.items():
        _store(b, final(name), 0, values_of)
    ended = b.value(LESS, AGE - 0.5, passed)
    younger = b.value(ADD, passed, b.value(MUL, ended, -float(AGE)))
    _store(b, final(COUNT), 0, [younger, b.value(ADD, ages, b.value(MUL, ended, float(AGE)))])
    return b.finished()


def _time(b: Builder, number: Real, ages: Real, dt: float) -> Real:
    return b.value(MUL, b.value(ADD, number, ages), dt)


@dataclass(frozen=True)
class Reversed:
    """The adjoint of a step, to be repeated from the last step to the first.

    `state` are cotangents, results that become inputs of the same names; at each record those of `added`
    join them. Inputs are `held` over some steps, `fixed` for all of them, or `laid` out step by step.
    `summed` results add up, `rows` are stored for each step.
    """

    dt: float
    state: Mapping[str, np.ndarray]
    held: Mapping[str, int]
    fixed: Mapping[str, Mapping[str, int]]
    laid: Mapping[str, int]
    summed: Mapping[str, np.ndarray]
    rows: Mapping[str, np.ndarray]


def backward(step: Reversed) -> Program:
    """The program of an adjoint step for numbers of steps that are told with a call."""
    inputs: dict[str, tuple[int, ...]] = {COUNT: (CLOCK,)}
    inputs |= {name: (size,) for parts in step.fixed.values() for name, size in parts.items()}
    inputs |= {name: (0, size) for name, size in (*step.held.items(), *step.laid.items())}
    inputs |= {added(name): (0, array.size) for name, array in step.state.items()}
    finals = {final(name): array.shape for name, array in (*step.state.items(), *step.summed.items())}
    b = Builder(inputs, finals | {name: (0, array.size) for name, array in step.rows.items()})
    steps, every, hold = b.size(), b.size(), b.size()
    known: dict[str, Any] = _loaded(b, step.fixed)
    code = _code([*step.state.values(), *step.summed.values(), *step.rows.values()])
    moving = _Portions(b, code, known, set(step.fixed))
    moving.before()
    zeros = {name: [0.0] * array.size for name, array in (*step.state.items(), *step.summed.items())}
    end, ages = (b.load(b.inputs[COUNT], k) for k in range(CLOCK))
    with b.loop(int_expr("div", steps, every), down=True) as outer:
        passed, kept = outer.carry(end), _carried(outer, zeros)
        starts = dict(kept)
        for name, array in step.state.items():
            row = _Row(b, added(name), array.size, outer.index)
            starts[name] = [b.value(ADD, x, row[k]) for k, x in enumerate(kept[name])]
        with b.loop(every, down=True) as inner:
            number, inside = inner.carry(passed), _carried(inner, starts)
            now = b.value(ADD, number, -1.0)
            at = plus(times(outer.index, every), inner.index)
            known |= inside | {TIME: [_time(b, now, ages, step.dt)]}
            known |= {n: _Row(b, n, size, int_expr("div", at, hold)) for n, size in step.held.items()}
            known |= {n: _Row(b, n, size, at) for n, size in step.laid.items()}
            results = iter(moving.now())
            inner.feed(number, now)
            for name, places in inside.items():
                for place in places:
                    made = next(results)
                    inner.feed(place, made if name in step.state else b.value(ADD, place, made))
            for name, array in step.rows.items():
                _store(b, name, times(at, array.size), [next(results) for _ in range(array.size)])
        outer.feed(passed, number)
        for place, value in zip(_flat(kept), _flat(inside), strict=True):
            outer.feed(place, value)
    for name, values in kept.items():
        _store(b, final(name), 0, values)
    return b.finished()


def added(name: str) -> str:
    """The input with what is added to a cotangent at each record."""
    return f"added {name}"


def _store(b: Builder, name: str, first: Index, values: Sequence[Real]) -> None:
    for k, value in enumerate(values):
        b.store(b.outputs[name], plus(first, k), value)


def _carried(loop: OpenLoop, starts: Mapping[str, Sequence[Real]]) -> dict[str, list[Any]]:
    return {name: [loop.carry(x) for x in values] for name, values in starts.items()}


def _flat(values: Mapping[str, Sequence[Any]]) -> list[Any]:
    return [x for each in values.values() for x in each]


class _Row:
    """A row of an input, each number loaded where it is used first."""

    def __init__(self, b: Builder, name: str, size: int, row: Index) -> None:
        self._read: Callable[[int], Real] = lambda k: b.load(b.inputs[name], plus(times(row, size), k))

    def __getitem__(self, k: int) -> Real:
        return self._read(k)


class _Portions:
    """Instructions in two portions: what only `fixed` inputs enter, and what changes from step to step."""

    def __init__(self, b: Builder, code: Code, known: Mapping[str, Any], fixed: set[str]) -> None:
        self._code = code
        self._written = StatementWriter(b, code, lambda name, k: known[name][k])
        still: list[bool] = []
        for i in code.instructions:
            if i.op == INPUT:
                still.append(i.args[0] in fixed)
            else:
                still.append(all(still[a] for a in i.args if isinstance(a, int)))
        self._still = still

    def before(self) -> None:
        """Append what does not change."""
        self._written.write(n for n in self._written.order if self._still[n])

    def now(self) -> list[Real]:
        """Append all that changes; its results."""
        self._written.write(n for n in self._written.order if not self._still[n])
        return [self._written(x) for x in self._code.results]


def builder_of(step: Repeated, steps: int = 0, every: int = 1, rows: int = 0) -> Builder:
    """Where the program of a step is built; what is told with a call has no size here."""
    inputs = {name: array.shape for name, array in step.state.items()} | {COUNT: (CLOCK,)}
    inputs |= {name: (size,) for parts in step.fixed.values() for name, size in parts.items()}
    inputs |= {name: (rows, size) for name, size in step.held.items()}
    outputs = {final(name): array.shape for name, array in step.state.items()} | {final(COUNT): (CLOCK,)}
    outputs |= {record(name): (steps // every, array.size) for name, array in step.records.items()}
    return Builder(inputs, outputs)


def told(step: Repeated) -> Program:
    """The program of a step for numbers of steps that are told with a call."""
    b = builder_of(step)
    return forward(step, b.size(), b.size(), b.size(), b)
