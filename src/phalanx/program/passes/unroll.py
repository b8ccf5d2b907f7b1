# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Unroll loops: a program runs on recording scalars, so that all of it is folded and hash-consed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..builder import straight
from ..graph import Graph
from ..interpret import Interpretation
from ..ir import Attributed, Program, Until, Value, checked
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


class _Unrolling(Interpretation):
    """A running program, whose memory and values are scalars of one graph, or floats."""

    def __init__(self, program: Program) -> None:
        super().__init__(program, np.dtype(object), {})
        self.graph = Graph()
        for buffer, numbers in self.memory.items():
            given = buffer.kind in ("input", "uniform")
            numbers[:] = [self.graph.input(buffer.name, k) if given else 0.0 for k in range(len(numbers))]

    def value(self, s: Value) -> None:
        self.graph.quantity = s.quantity
        args = [self.real(a).item() for a in s.args]
        if s.op in (FMA, FMS, FNMA):
            product, c = args[0] * args[1], args[2]
            made = product + c if s.op is FMA else product - c if s.op is FMS else c - product
        else:
            made = OPS[s.op].record(self.graph, *args)
        self.values[s] = np.full(1, made, dtype=object)

    def attributed(self, s: Attributed) -> None:
        outside, self.graph.body_index = self.graph.body_index, self.whole(s.body_index)
        self.body(s.body)
        self.graph.body_index = outside

    def until(self, s: Until) -> None:
        raise TypeError("unroll: no rule for the statement Until, whose iterations depend on data.")
