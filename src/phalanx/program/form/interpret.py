# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a program means: its statements carried out one after another on NumPy numbers.

Slow and plain on purpose: compiled code is tested against it. A multiply-add rounds twice here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...robot.joints import rescale
from .. import ops
from .program import (
    Attributed,
    Buffer,
    For,
    If,
    Index,
    InductionVariable,
    Load,
    Program,
    Select,
    SimdRegion,
    Store,
    Table,
    Value,
    evaluate,
)

RULES: dict[str, Callable[..., Any]] = {
    ops.ADD: lambda a, b: a + b,
    ops.SUB: lambda a, b: a - b,
    ops.MUL: lambda a, b: a * b,
    ops.DIV: lambda a, b: a / b,
    ops.NEG: lambda a: -a,
    ops.SIN: np.sin,
    ops.COS: np.cos,
    ops.FMA: lambda a, b, c: a * b + c,
    ops.FMS: lambda a, b, c: a * b - c,
    ops.FNMA: lambda a, b, c: c - a * b,
    ops.EXP: np.exp,
    ops.TANH: np.tanh,
    ops.LOG: np.log,
    ops.ARCTAN2: np.arctan2,
    ops.MIN: lambda a, b: np.where((a < b) | np.isnan(a) | ((a == b) & np.signbit(a)), a, b),
    ops.MAX: lambda a, b: np.where((a > b) | np.isnan(a) | ((a == b) & np.signbit(b)), a, b),
    ops.SQRT: np.sqrt,
    ops.RESCALE: rescale,
    ops.ABS: np.abs,
    ops.LESS: lambda a, b: np.where(a < b, a.dtype.type(1), a.dtype.type(0)),
    ops.TAINT: lambda a, b: a * 0.0 + b,
    ops.SELECT: lambda mask, a, b: np.where(mask != 0, a, b),
}

Rules = Mapping[str, Callable[..., Any]]


def interpret(
    program: Program, inputs: Mapping[str, Any], dtype: Any = np.float64, rules: Rules | None = None
) -> dict[str, np.ndarray]:
    """The outputs of a program for one state; `rules` replace NumPy's for some operations."""
    run = _Interpretation(program, np.dtype(dtype), {**RULES, **(rules or {})})
    for buffer in (r for r in run.memory if r.kind in ("input", "uniform")):
        run.memory[buffer][:] = np.asarray(inputs[buffer.name], dtype=dtype).ravel()
    with np.errstate(all="ignore"):
        run.body(program.body)
    return {r.name: run.memory[r].reshape(program.shapes[r.name]) for r in program.outputs}


class _Interpretation:
    """A program under way: its memory, the values of its statements and of its counters."""

    def __init__(self, program: Program, dtype: np.dtype, rules: Rules) -> None:
        self.dtype, self.rules = dtype, rules
        self.width = program.lanes
        arguments = [*program.inputs, *program.outputs]
        arguments += [] if program.uniform is None else [program.uniform]
        self.memory = {r: np.full(r.size, np.nan, dtype) for r in arguments}
        self.memory |= {r: np.full(r.size * program.lanes, np.nan, dtype) for r in program.scratch}
        self.values: dict[Any, Any] = {}
        self.counters: dict[InductionVariable, int] = {}

    def body(self, statements: tuple[Any, ...]) -> None:
        for s in statements:
            rule = _STATEMENTS.get(type(s))
            if rule is None:
                raise TypeError(f"interpreter: no rule for the statement {type(s).__name__}.")
            rule(self, s)

    def whole(self, index: Index) -> int:
        return int(evaluate(index, self.counters, {}))

    def real(self, x: Any) -> Any:
        return np.full(self.width, x, self.dtype) if isinstance(x, float) else self.values[x]

    def places(self, buffer: Buffer | Table, index: Index, size: int) -> np.ndarray:
        """Where each lane finds its number."""
        at, lanes = evaluate(index, self.counters, {}), np.arange(self.width)
        if (
            isinstance(at, np.ndarray)
            or buffer.kind == "uniform"
            or (isinstance(buffer, Table) and not buffer.wide)
        ):
            places = at + 0 * lanes
        else:
            places = at * (1 if buffer.kind in ("input", "output") else self.width) + lanes
        assert places.min() >= 0, (buffer, at)
        assert places.max() < size, (buffer, at)
        return places

    # ------------------------------------------------------------- real numbers and memory

    def load(self, s: Load) -> None:
        memory = s.buffer.values.ravel() if isinstance(s.buffer, Table) else self.memory[s.buffer]
        self.values[s] = memory[self.places(s.buffer, s.index, len(memory))].astype(self.dtype)

    def store(self, s: Store) -> None:
        memory = self.memory[s.buffer]
        memory[self.places(s.buffer, s.index, len(memory))] = self.real(s.value)

    def choice(self, s: Select) -> None:
        self.values[s] = self.real(s.a if self.whole(s.condition) else s.b)

    def value(self, s: Value) -> None:
        rule = self.rules.get(s.op)
        if rule is None:
            raise TypeError(f"interpreter: no rule for the operation {s.op}.")
        self.values[s] = rule(*(self.real(a) for a in s.args))

    # ------------------------------------------------------------- control

    def loop(self, s: For) -> None:
        self.values.update({c: self.real(c.start) for c in s.carried})
        at = self.whole(s.first)
        if s.successor is not None:
            while at >= 0:
                self._round(s, at)
                at = self.whole(s.successor)
            return
        rounds = range(at, self.whole(s.end))
        assert len(rounds) > 0, "a loop runs at least once"
        for at in reversed(rounds) if s.down else rounds:
            self._round(s, at)

    def _round(self, s: For, at: int) -> None:
        self.counters[s.counter] = at
        self.body(s.body)
        fed = [self.real(x) for x in s.yields]
        self.values.update(zip(s.carried, fed, strict=True))

    def when(self, s: If) -> None:
        if self.whole(s.condition):
            self.body(s.body)

    def attributed(self, s: Attributed) -> None:
        self.body(s.body)

    def part(self, s: SimdRegion) -> None:
        outside, self.width = self.width, s.width
        self.body(s.body)
        self.width = outside


_STATEMENTS: dict[type, Callable[[_Interpretation, Any], None]] = {
    Load: _Interpretation.load,
    Value: _Interpretation.value,
    Select: _Interpretation.choice,
    Store: _Interpretation.store,
    For: _Interpretation.loop,
    If: _Interpretation.when,
    Attributed: _Interpretation.attributed,
    SimdRegion: _Interpretation.part,
}
