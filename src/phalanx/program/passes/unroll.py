# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Unroll loops: a program runs on recording scalars, so that all of it is folded and hash-consed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..builder import straight
from ..graph import Graph
from ..ir import (
    Attributed,
    For,
    If,
    InductionVariable,
    Load,
    Program,
    Select,
    SimdRegion,
    Store,
    Table,
    Value,
    checked,
    counter_values,
    evaluate,
)
from ..ops import FMA, FMS, FNMA, OPS


def unroll(program: Program) -> Program:
    """The same program as straight-line code without multiply-adds, entries of tables as constants."""
    if program.lanes != 1 or program.sizes:
        raise TypeError("unroll: no rule for lanes that are segments, nor for loops of any length.")
    run = _Unrolling(program)
    run.body(program.body)
    shapes = program.shapes
    outputs = {r.name: shapes[r.name] for r in program.outputs}
    results = [x for r in program.outputs for x in run.memory[r]]
    uniforms = 0 if program.uniform is None else program.uniform.size
    made = straight({r.name: shapes[r.name] for r in program.inputs}, outputs, results, uniforms)
    return checked(replace(made, bodies=program.bodies))


class _Unrolling:
    """A running program, whose memory and values are scalars of one graph, or floats."""

    def __init__(self, program: Program) -> None:
        self.graph = Graph()
        self.memory: dict[Any, list[Any]] = {r: [0.0] * r.size for r in (*program.outputs, *program.scratch)}
        given = (*program.inputs, *([] if program.uniform is None else [program.uniform]))
        self.memory |= {r: [self.graph.input(r.name, k) for k in range(r.size)] for r in given}
        self.values: dict[Any, Any] = {}
        self.counters: dict[InductionVariable, int] = {}

    def body(self, statements: tuple[Any, ...]) -> None:
        for s in statements:
            if isinstance(s, Load):
                self.values[s] = self._loaded(s)
            elif isinstance(s, Value):
                self.graph.quantity = s.quantity
                self.values[s] = self._computed(s.op, [self.real(a) for a in s.args])
            elif isinstance(s, Select):
                self.values[s] = self.real(s.a if self.integer(s.condition) else s.b)
            elif isinstance(s, Store):
                self.memory[s.buffer][self.integer(s.index)] = self.real(s.value)
            elif isinstance(s, For):
                self._loop(s)
            elif isinstance(s, If):
                if self.integer(s.condition):
                    self.body(s.body)
            elif isinstance(s, Attributed):
                outside, self.graph.body_index = self.graph.body_index, self.integer(s.body_index)
                self.body(s.body)
                self.graph.body_index = outside
            elif isinstance(s, SimdRegion) and s.width == 1:
                self.body(s.body)
            else:
                raise TypeError(f"unroll: no rule for the statement {type(s).__name__}.")

    def integer(self, index: Any) -> int:
        return int(evaluate(index, self.counters, {}))

    def real(self, x: Any) -> Any:
        return x if isinstance(x, float) else self.values[x]

    def _loaded(self, s: Load) -> Any:
        index = self.integer(s.index)
        if isinstance(s.buffer, Table):
            return float(s.buffer.values.flat[index])
        return self.memory[s.buffer][index]

    def _computed(self, op: str, args: list[Any]) -> Any:
        if op in (FMA, FMS, FNMA):
            product, c = args[0] * args[1], args[2]
            return product + c if op is FMA else product - c if op is FMS else c - product
        return OPS[op].record(self.graph, *args)

    def _loop(self, s: For) -> None:
        self.values.update({c: self.real(c.start) for c in s.carried})
        for at in counter_values(s, self.counters):
            self.counters[s.counter] = at
            self.body(s.body)
            yields = [self.real(x) for x in s.yields]
            self.values.update(zip(s.carried, yields, strict=True))
