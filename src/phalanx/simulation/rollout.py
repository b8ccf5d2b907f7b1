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

from ..program.builder import Builder, Inlined, OpenLoop, template
from ..program.graph import symbols
from ..program.ir import Index, Program, Real, Scalar, int_expr, plus, times
from ..program.ops import ADD, INPUT, LESS, MUL
from ..program.passes.differentiate import adjoints, tangents
from ..program.passes.fuse import fuse
from ..program.passes.order import behind, with_sincos_first
from ..robot.configurations import tangent_map
from .inner import InnerLoop, emit
from .integrators import Next
from .step import Step

TIME, COUNT = "time", "start"  # the moment of a step, and how many steps came before the first
# Single precision counts to 2**24. So there are two counts, of steps and of those in past ages; their sum is
# rounded once, so that time does not depend on where an age began.
CLOCK, AGE = 2, 1 << 22


@dataclass(frozen=True)
class Repeated:
    """A step to be repeated.

    `state` are the results that become its inputs of the same names in the next step, `shown` results of the
    last step that records may hold. Inputs are `held` over some steps, or `fixed` for all of them: each of
    these is made of one or more inputs, side by side.
    """

    dt: float
    state: Mapping[str, np.ndarray]
    held: Mapping[str, int]
    fixed: Mapping[str, Mapping[str, int]]
    shown: Mapping[str, np.ndarray] = field(default_factory=dict)
    records: Mapping[str, np.ndarray] = field(default_factory=dict)
    loops: Sequence[InnerLoop] = ()


def one_array_each(**sizes: int) -> dict[str, dict[str, int]]:
    """Fixed inputs that are one array each, those without numbers left out."""
    return {name: {name: size} for name, size in sizes.items() if size}


def _loaded(b: Builder, fixed: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """The numbers of fixed inputs, those of their parts one after another."""
    return {
        name: [b.load(b.inputs[part], k) for part, size in parts.items() for k in range(size)]
        for name, parts in fixed.items()
    }


def _code(results: Iterable[np.ndarray], loops: Sequence[InnerLoop] = ()) -> Program:
    flat = [x for array in results for x in array.ravel().tolist()]
    flat += [x for loop in loops for x in loop.operands]
    return fuse(template(flat, [None] * len(flat)))


def final(name: str) -> str:
    """The output that holds the state after the last step."""
    return f"final {name}"


def record(name: str) -> str:
    """The name of the output that holds a record; no other output has it, whatever users call records."""
    return f"record {name}"


def forward(step: Repeated, steps: Index, every: Index, hold: Index, b: Builder) -> Program:
    """The program of a rollout: `steps` steps, every `every`-th recorded, inputs held for `hold` steps."""
    fixed = _loaded(b, step.fixed)
    start, ages = (b.load(b.inputs[COUNT], k) for k in range(CLOCK))
    state = {
        name: [b.load(b.inputs[name], k) for k in range(array.size)] for name, array in step.state.items()
    }
    known: dict[str, Any] = dict(fixed)
    code = _code([*step.state.values(), *step.shown.values()], step.loops)
    moving = _Portions(b, code, known, set(fixed), step.loops)
    recording = _Portions(b, _code(step.records.values()), known, set(fixed))
    moving.before()
    recording.before()
    with b.loop(int_expr("div", steps, every)) as outer:
        passed = outer.carry(start)
        carried = _carried(outer, state)
        shown = {name: [0.0] * array.size for name, array in step.shown.items()}
        with b.loop(every) as inner:
            number = inner.carry(passed)
            inside, also = _carried(inner, carried), _carried(inner, shown)
            row = int_expr("div", plus(times(outer.index, every), inner.index), hold)
            known |= inside | {TIME: [_time(b, number, ages, step.dt)]}
            known |= {name: _Row(b, name, size, row) for name, size in step.held.items()}
            results = iter(moving.now())
            inner.feed(number, b.value(ADD, number, 1.0))
            for values in (*inside.values(), *also.values()):
                for value in values:
                    inner.feed(value, next(results))
        last = int_expr("div", plus(times(plus(outer.index, 1), every), -1), hold)
        known |= inside | also | {TIME: [_time(b, number, ages, step.dt)]}
        known |= {name: _Row(b, name, size, last) for name, size in step.held.items()}
        recorded = iter(recording.now())
        for name, array in step.records.items():
            first = times(outer.index, array.size)
            _store(b, record(name), first, [next(recorded) for _ in range(array.size)])
        for start, end in zip(_flat(carried), _flat(inside), strict=True):
            outer.feed(start, end)
        outer.feed(passed, number)
    for name, ends in carried.items():
        _store(b, final(name), 0, ends)
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
    join them. Inputs are `held` over some steps, `fixed` for all of them, or `per_step`.
    `summed` results add up, `rows` are stored for each step.
    """

    dt: float
    state: Mapping[str, np.ndarray]
    held: Mapping[str, int]
    fixed: Mapping[str, Mapping[str, int]]
    per_step: Mapping[str, int]
    summed: Mapping[str, np.ndarray]
    rows: Mapping[str, np.ndarray]
    loops: Sequence[InnerLoop] = ()


def backward(step: Reversed) -> Program:
    """The program of an adjoint step whose numbers of steps are runtime arguments."""
    inputs: dict[str, tuple[int, ...]] = {COUNT: (CLOCK,)}
    inputs |= {name: (size,) for parts in step.fixed.values() for name, size in parts.items()}
    inputs |= {name: (0, size) for name, size in (*step.held.items(), *step.per_step.items())}
    inputs |= {added(name): (0, array.size) for name, array in step.state.items()}
    finals = {final(name): array.shape for name, array in (*step.state.items(), *step.summed.items())}
    b = Builder(inputs, finals | {name: (0, array.size) for name, array in step.rows.items()})
    steps, every, hold = b.size(), b.size(), b.size()
    known: dict[str, Any] = _loaded(b, step.fixed)
    code = _code([*step.state.values(), *step.summed.values(), *step.rows.values()], step.loops)
    moving = _Portions(b, code, known, set(step.fixed), step.loops)
    moving.before()
    zeros = {name: [0.0] * array.size for name, array in (*step.state.items(), *step.summed.items())}
    end, ages = (b.load(b.inputs[COUNT], k) for k in range(CLOCK))
    with b.loop(int_expr("div", steps, every), down=True) as outer:
        passed, carried = outer.carry(end), _carried(outer, zeros)
        starts = dict(carried)
        for name, array in step.state.items():
            row = _Row(b, added(name), array.size, outer.index)
            starts[name] = [b.value(ADD, x, row[k]) for k, x in enumerate(carried[name])]
        with b.loop(every, down=True) as inner:
            number, inside = inner.carry(passed), _carried(inner, starts)
            now = b.value(ADD, number, -1.0)
            at = plus(times(outer.index, every), inner.index)
            known |= inside | {TIME: [_time(b, now, ages, step.dt)]}
            known |= {n: _Row(b, n, size, int_expr("div", at, hold)) for n, size in step.held.items()}
            known |= {n: _Row(b, n, size, at) for n, size in step.per_step.items()}
            results = iter(moving.now())
            inner.feed(number, now)
            for name, values in inside.items():
                for value in values:
                    made = next(results)
                    inner.feed(value, made if name in step.state else b.value(ADD, value, made))
            for name, array in step.rows.items():
                _store(b, name, times(at, array.size), [next(results) for _ in range(array.size)])
        outer.feed(passed, number)
        for start, end in zip(_flat(carried), _flat(inside), strict=True):
            outer.feed(start, end)
    for name, ends in carried.items():
        _store(b, final(name), 0, ends)
    return b.finished()


def added(name: str) -> str:
    """The name of the input that is added to a cotangent at each record."""
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
    """Code in portions: what only `fixed` inputs enter, what each inner loop needs, and the rest of a step.

    The last results of the code are the operands of the loops.
    """

    def __init__(
        self,
        b: Builder,
        code: Program,
        known: dict[str, Any],
        fixed: set[str],
        loops: Sequence[InnerLoop] = (),
    ) -> None:
        self._b, self._known, self._loops = b, known, loops
        every = list(code.results)
        count = len(every) - sum(len(loop.operands) for loop in loops)
        self._results = every[:count]
        self._operands = []
        for loop in loops:
            self._operands.append(every[count : count + len(loop.operands)])
            count += len(loop.operands)
        self._inlined = Inlined(b, lambda s: known[s.buffer.name][s.index])
        self._order = with_sincos_first(code.values)
        self._constant: set[Any] = set()
        for s in code.values:
            operands = [a for a in s.args if isinstance(a, Scalar)]
            if s.leaf.name in fixed if s.op is INPUT else all(a in self._constant for a in operands):
                self._constant.add(s)

    def before(self) -> None:
        """Append the values that are constant over the loop, in front of it."""
        for s in self._order:
            if s in self._constant:
                self._inlined.append(s)

    def now(self) -> list[Real]:
        """Append the values of one iteration; return the results."""
        left = [s for s in self._order if s not in self._constant]
        for loop, operands in zip(self._loops, self._operands, strict=True):
            needed = behind(operands)
            for s in left:
                if s in needed:
                    self._inlined.append(s)
            left = [s for s in left if s not in needed]
            values = [self._inlined(x) for x in operands]
            starts = len(loop.starts)
            self._known[loop.name] = emit(self._b, loop, values[:starts], values[starts:])
        for s in left:
            self._inlined.append(s)
        return [self._inlined(x) for x in self._results]


def builder_of(step: Repeated, steps: int = 0, every: int = 1, rows: int = 0) -> Builder:
    """A builder with the inputs and outputs of a rollout's program; sizes known only at run time are 0."""
    inputs = {name: array.shape for name, array in step.state.items()} | {COUNT: (CLOCK,)}
    inputs |= {name: (size,) for parts in step.fixed.values() for name, size in parts.items()}
    inputs |= {name: (rows, size) for name, size in step.held.items()}
    outputs = {final(name): array.shape for name, array in step.state.items()} | {final(COUNT): (CLOCK,)}
    outputs |= {record(name): (steps // every, array.size) for name, array in step.records.items()}
    return Builder(inputs, outputs)


def repeated_program(step: Repeated) -> Program:
    """The program of a step whose numbers of steps are runtime arguments."""
    b = builder_of(step)
    return forward(step, b.size(), b.size(), b.size(), b)


# ------------------------------------------------------------------------ derivatives of a step


def along(step: Step, after: Next) -> Repeated:
    """A step together with its derivative along tangents of state, controls and parameters."""
    s, graph = step.settings, step.graph
    dq, dqd = symbols(graph, "dq", (s.nv,)), symbols(graph, "dqd", (s.nv,))
    seeds = _numbered(step.q, step.rates(step.q, dq)) | _numbered(step.qd, dqd)
    seeds |= _numbered(step.u, symbols(graph, "du", (s.controls,)))
    flat = symbols(graph, "parameters", (s.packed,))
    seeds |= _numbered(flat, symbols(graph, "dparameters", (s.packed,)))
    nq = len(step.q)
    moved = _objects(tangents([*after.q.tolist(), *after.qd.tolist()], seeds))
    change = tangent_map(s.robot._coordinates, "rates_of", after.q, moved[:nq])
    state = {"q": after.q, "qd": after.qd, "dq": change, "dqd": moved[nq:]}
    return Repeated(
        dt=s.dt,
        state=state,
        held={"u": s.controls, "du": s.controls} if s.controls else {},
        fixed=one_array_each(parameters=s.packed, dparameters=s.packed),
        records={name: symbols(graph, name, (s.nv,)) for name in ("dq", "dqd")},
        loops=step.loops,
    )


def against(step: Step, after: Next) -> Reversed:
    """The adjoint of a step: from cotangents of the state after it to those of all its inputs."""
    s, graph = step.settings, step.graph
    lq, lqd = symbols(graph, "lq", (s.nv,)), symbols(graph, "lqd", (s.nv,))
    weights = [*tangent_map(s.robot._coordinates, "coordinate_slopes", after.q, lq).tolist(), *lqd.tolist()]
    found = adjoints([*after.q.tolist(), *after.qd.tolist()], weights)
    slope: Callable[[np.ndarray], np.ndarray] = lambda leaves: _objects(  # noqa: E731
        [found.get(x.number, 0.0) for x in leaves.tolist()]
    )
    flat = symbols(graph, "parameters", (s.packed,))
    return Reversed(
        dt=s.dt,
        state={
            "lq": tangent_map(s.robot._coordinates, "along_rates", step.q, slope(step.q)),
            "lqd": slope(step.qd),
        },
        held={"u": s.controls} if s.controls else {},
        fixed=one_array_each(parameters=s.packed),
        per_step={"q": s.robot.nq, "qd": s.nv},
        summed={"lparameters": slope(flat)} if s.packed else {},
        rows={"lu": slope(step.u)} if s.controls else {},
        loops=step.loops,
    )


def _numbered(leaves: np.ndarray, rates: np.ndarray) -> dict[int, Any]:
    return {x.number: r for x, r in zip(leaves.tolist(), rates.tolist(), strict=True)}


def _objects(values: list[Any]) -> np.ndarray:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
