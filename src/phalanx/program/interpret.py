# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The reference interpreter: it executes the statements of a program one after another on NumPy numbers.

Slow and plain on purpose: compiled code is tested against it. A multiply-add rounds twice here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .ir import (
    Attributed,
    Buffer,
    For,
    If,
    Index,
    InductionVariable,
    Load,
    ParallelFor,
    Program,
    Scalar,
    Select,
    SimdRegion,
    Store,
    Table,
    Until,
    Value,
    counter_values,
    evaluate,
)
from .ops import INPUT, OPS

Rules = Mapping[str, Callable[..., Any]]
Order = Callable[[Sequence[int]], Sequence[int]]


def interpret(
    program: Program,
    inputs: Mapping[str, Any],
    dtype: Any = np.float64,
    rules: Rules | None = None,
    *,
    order: Order = tuple,
    sizes: Sequence[int] = (),
    iterations: dict[Until, list[int]] | None = None,
) -> dict[str, np.ndarray]:
    """The outputs of a program for one state; `rules` replace NumPy's for some operations.

    `order` permutes the iterations of a `ParallelFor`; `sizes` are the integers given with the
    call. `iterations` collects how many iterations each run of an `Until` took.
    """
    run = Interpretation(program, np.dtype(dtype), dict(rules or {}))
    run.order, run.iterations = order, iterations
    run.counters.update(zip(program.sizes, sizes, strict=True))
    for buffer in (r for r in run.memory if r.kind in ("input", "uniform")):
        run.memory[buffer][:] = np.asarray(inputs[buffer.name], dtype=dtype).ravel()
    with np.errstate(all="ignore"):
        run.body(program.body)
    return {r.name: run.memory[r].reshape(program.shapes[r.name]) for r in program.outputs}


class Interpretation:
    """A running program: its memory, the values of its statements and of its counters."""

    def __init__(self, program: Program, dtype: np.dtype, rules: Rules) -> None:
        self.dtype, self.rules = dtype, rules
        self.width = program.lanes
        arguments = [*program.inputs, *program.outputs]
        arguments += [] if program.uniform is None else [program.uniform]
        self.memory = {r: np.full(r.size, np.nan, dtype) for r in arguments}
        self.memory |= {r: np.full(r.size * program.lanes, np.nan, dtype) for r in program.scratch}
        self.values: dict[Any, Any] = {}
        self.counters: dict[InductionVariable, int] = {}
        self.active: np.ndarray | None = None  # lanes that are not done, inside of an `Until`
        self.order: Order = tuple
        self.iterations: dict[Until, list[int]] | None = None

    def body(self, statements: tuple[Any, ...]) -> None:
        for s in statements:
            rule = _STATEMENTS.get(type(s))
            if rule is None:
                raise TypeError(f"interpreter: no rule for the statement {type(s).__name__}.")
            getattr(self, rule.__name__)(s)  # by name: a subclass may override it

    def whole(self, index: Index) -> int:
        return int(evaluate(index, self.counters, {}))

    def real(self, x: Any) -> Any:
        return np.full(self.width, x, self.dtype) if isinstance(x, float) else self.values[x]

    def addresses_of(self, buffer: Buffer | Table, index: Index, size: int) -> np.ndarray:
        """The index in memory of each lane's element."""
        at, lanes = evaluate(index, self.counters, {}), np.arange(self.width)
        if (
            isinstance(at, np.ndarray)
            or buffer.kind == "uniform"
            or (isinstance(buffer, Table) and not buffer.wide)
        ):
            addresses = at + 0 * lanes
        else:
            addresses = at * (1 if buffer.kind in ("input", "output") else self.width) + lanes
        assert addresses.min() >= 0, (buffer, at)
        assert addresses.max() < size, (buffer, at)
        return addresses

    # ------------------------------------------------------------- real numbers and memory

    def load(self, s: Load) -> None:
        memory = s.buffer.values.ravel() if isinstance(s.buffer, Table) else self.memory[s.buffer]
        self.values[s] = memory[self.addresses_of(s.buffer, s.index, len(memory))].astype(self.dtype)

    def store(self, s: Store) -> None:
        memory, value = self.memory[s.buffer], self.real(s.value)
        addresses = self.addresses_of(s.buffer, s.index, len(memory))
        memory[addresses] = value if self.active is None else np.where(self.active, value, memory[addresses])

    def choice(self, s: Select) -> None:
        self.values[s] = self.real(s.a if self.whole(s.condition) else s.b)

    def value(self, s: Value) -> None:
        rule = self.rules.get(s.op) or OPS[s.op].numpy
        self.values[s] = rule(*(self.real(a) for a in s.args))

    # ------------------------------------------------------------- control

    def loop(self, s: For) -> None:
        self.values.update({c: self.real(c.start) for c in s.carried})
        for at in counter_values(s, self.counters):
            self.counters[s.counter] = at
            self.body(s.body)
            yields = [self.real(x) for x in s.yields]
            self.values.update(zip(s.carried, yields, strict=True))

    def until(self, s: Until) -> None:
        outside, limit = self.active, self.whole(s.limit)
        assert limit > 0, "a loop runs at least once"
        self.values.update({c: self.real(c.start) for c in s.carried})
        self.active = np.ones(self.width, dtype=bool) if outside is None else outside
        for at in range(limit):
            self.counters[s.counter] = at
            self.body(s.body)
            fed = [
                np.where(self.active, self.real(x), self.real(c))
                for c, x in zip(s.carried, s.yields, strict=True)
            ]
            self.values.update(zip(s.carried, fed, strict=True))
            self.active = self.active & ~(self.real(s.stop) != 0)
            if not self.active.any():
                break
        if self.iterations is not None:
            self.iterations.setdefault(s, []).append(at + 1)
        self.active = outside

    def parallel(self, s: ParallelFor) -> None:
        counted = range(self.whole(s.first), self.whole(s.end))
        assert len(counted) > 0, "a loop runs at least once"
        for at in self.order(counted):
            self.counters[s.counter] = at
            self.body(s.body)

    def when(self, s: If) -> None:
        if self.whole(s.condition):
            self.body(s.body)

    def attributed(self, s: Attributed) -> None:
        self.body(s.body)

    def part(self, s: SimdRegion) -> None:
        outside, self.width = self.width, s.width
        self.body(s.body)
        self.width = outside


_STATEMENTS: dict[type, Callable[[Interpretation, Any], None]] = {
    Load: Interpretation.load,
    Value: Interpretation.value,
    Select: Interpretation.choice,
    Store: Interpretation.store,
    For: Interpretation.loop,
    Until: Interpretation.until,
    ParallelFor: Interpretation.parallel,
    If: Interpretation.when,
    Attributed: Interpretation.attributed,
    SimdRegion: Interpretation.part,
}


def program_on_arrays(program: Program, inputs: Mapping[str, np.ndarray]) -> Any:
    """The outputs (states, …) of straight-line code for inputs (states, …): one array, or several."""
    first = next(iter(inputs.values()))
    count, dtype = len(first), first.dtype
    flat = {name: array.reshape(count, -1) for name, array in inputs.items()}
    values: dict[Any, Any] = {}

    def value(x: Any) -> Any:
        return values[x] if isinstance(x, Scalar) else dtype.type(x)

    for node in program.values:
        if node.op is INPUT:
            values[node] = flat[node.buffer.name][:, node.index]
        else:
            values[node] = OPS[node.op].numpy(*map(value, node.args))
    results, made = iter(program.results), []
    for buffer in program.outputs:
        columns = np.empty((count, buffer.size), dtype)
        for k in range(buffer.size):
            columns[:, k] = value(next(results))
        made.append(columns.reshape((count, *program.shapes[buffer.name])))
    return made if len(made) > 1 else made[0]
