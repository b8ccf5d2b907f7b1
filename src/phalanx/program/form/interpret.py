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
    Choice,
    Clear,
    Final,
    Flag,
    For,
    If,
    Load,
    Move,
    Number,
    Owned,
    Part,
    Program,
    Region,
    Store,
    Turn,
    Value,
    Weave,
)
from .wholes import Counter, Index, evaluate

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
    ops.MIN: np.minimum,
    ops.MAX: np.maximum,
    ops.SQRT: np.sqrt,
    ops.RESCALE: rescale,
    ops.ABS: np.abs,
    ops.LESS: lambda a, b: np.where(a < b, a.dtype.type(1), a.dtype.type(0)),
    ops.CHOOSE: lambda mask, a, b: np.where(mask != 0, a, b),
}

Turned = Callable[[Any], tuple[Any, Any]]


def interpret(
    program: Program, inputs: Mapping[str, Any], dtype: Any = np.float64, turned: Turned | None = None
) -> dict[str, np.ndarray]:
    """The outputs of a program for one state; `turned` gives sines and cosines other than NumPy's."""
    run = _Run(program, np.dtype(dtype), turned or (lambda x: (np.sin(x), np.cos(x))))
    for region in (r for r in run.memory if r.kind in ("input", "uniform")):
        run.memory[region][:] = np.asarray(inputs[region.name], dtype=dtype).ravel()
    with np.errstate(all="ignore"):
        run.body(program.body)
    return {r.name: run.memory[r].reshape(program.shapes[r.name]) for r in program.outputs}


class _Run:
    """A program under way: its memory, the values of its statements and of its counters."""

    def __init__(self, program: Program, dtype: np.dtype, turned: Turned) -> None:
        self.dtype, self.turned = dtype, turned
        self.width = self.lanes = program.lanes
        arguments = [*program.inputs, *program.outputs]
        arguments += [] if program.uniform is None else [program.uniform]
        self.memory = {r: np.full(r.size, np.nan, dtype) for r in arguments}
        self.memory |= {r: np.full(r.size * program.lanes, np.nan, dtype) for r in program.scratch}
        self.values: dict[Any, Any] = {}
        self.counters: dict[Counter, int] = {}

    def body(self, statements: tuple[Any, ...]) -> None:
        for s in statements:
            rule = _STATEMENTS.get(type(s))
            if rule is None:
                raise TypeError(f"interpreter: no rule for the statement {type(s).__name__}.")
            rule(self, s)

    def whole(self, index: Index) -> int:
        return int(evaluate(index, self.counters, {}))

    def real(self, x: Any) -> Any:
        if isinstance(x, float):
            return np.full(self.width, x, self.dtype)
        return self.values[x.carried] if isinstance(x, Final) else self.values[x]

    def place(self, region: Region, index: Index, width: int = 0) -> slice:
        at, width = self.whole(index), width or self.width
        at *= 1 if region.kind in ("input", "output") else width
        assert 0 <= at < len(self.memory[region]) or not width, (region, at)
        return slice(at, at + width)

    # ------------------------------------------------------------- real numbers

    def load(self, s: Load) -> None:
        if s.region.kind == "uniform" or s.alike:
            self.values[s] = np.full(self.width, self.memory[s.region][self.whole(s.index)])
        else:
            self.values[s] = self.memory[s.region][self.place(s.region, s.index)].copy()

    def number(self, s: Number) -> None:
        flat, at = s.table.values.ravel(), self.whole(s.index)
        wide = s.table.wide and self.width > 1
        found = flat[at * self.width : (at + 1) * self.width] if wide else np.full(self.width, flat[at])
        self.values[s] = found.astype(self.dtype)

    def flag(self, s: Flag) -> None:
        self.values[s] = self.real(float(bool(self.whole(s.condition))))

    def choice(self, s: Choice) -> None:
        self.values[s] = self.real(s.a if self.whole(s.condition) else s.b)

    def value(self, s: Value) -> None:
        self.values[s] = RULES[s.op](*(self.real(a) for a in s.args))

    def turn(self, s: Turn) -> None:
        for angle, sine, cosine in zip(s.angles, s.sines, s.cosines, strict=True):
            self.values[sine], self.values[cosine] = self.turned(self.real(angle))

    # ------------------------------------------------------------- memory

    def store(self, s: Store) -> None:
        self.memory[s.region][self.place(s.region, s.index)] = self.real(s.value)

    def clear(self, s: Clear) -> None:
        self.memory[s.region][: s.count * self.lanes] = 0.0

    def move(self, s: Move) -> None:
        to, index, k = self.whole(s.to), self.whole(s.index), np.arange(self.whole(s.count) * self.lanes)
        assert s.step == 1 or self.lanes == 1
        self.memory[s.target][to + k] = self.memory[s.source][index + s.step * k]

    def weave(self, s: Weave) -> None:
        at, starts = self.whole(s.index), [self.whole(x) for x in s.starts]
        region = (
            np.concatenate([self.real(x) for x in s.values]) if s.region is None else self.memory[s.region]
        )
        for k in range(s.count):
            for lane, start in enumerate(starts):
                place = (at + k) * self.width + lane
                if s.back:
                    self.memory[s.memory][start + k] = region[place]
                else:
                    region[place] = self.memory[s.memory][start + k]

    # ------------------------------------------------------------- control

    def loop(self, s: For) -> None:
        self.values.update({c: self.real(c.start) for c in s.carried})
        at = self.whole(s.first)
        if s.following is not None:
            while at >= 0:
                self._round(s, at)
                at = self.whole(s.following)
            return
        rounds = range(at, self.whole(s.end))
        assert len(rounds) > 0, "a loop runs at least once"
        for at in reversed(rounds) if s.down else rounds:
            self._round(s, at)

    def _round(self, s: For, at: int) -> None:
        self.counters[s.counter] = at
        self.body(s.body)
        fed = [self.real(x) for x in s.again]
        self.values.update(zip(s.carried, fed, strict=True))

    def when(self, s: If) -> None:
        if self.whole(s.condition):
            self.body(s.body)

    def owned(self, s: Owned) -> None:
        self.body(s.body)

    def part(self, s: Part) -> None:
        self.width = s.width
        self.body(s.body)
        self.width = self.lanes


_STATEMENTS: dict[type, Callable[[_Run, Any], None]] = {
    Load: _Run.load,
    Number: _Run.number,
    Flag: _Run.flag,
    Choice: _Run.choice,
    Value: _Run.value,
    Turn: _Run.turn,
    Store: _Run.store,
    Clear: _Run.clear,
    Move: _Run.move,
    Weave: _Run.weave,
    For: _Run.loop,
    If: _Run.when,
    Owned: _Run.owned,
    Part: _Run.part,
}
