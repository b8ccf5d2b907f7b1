# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Phases of a program of one state: parallel loops, whose iterations cores share, and what stands between.

A parallel loop that stands in no other statement is a phase of its own; a barrier is before and after it. All
statements between two of them are one phase with a single iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ....program.ir import (
    Buffer,
    Containers,
    For,
    Index,
    InductionVariable,
    IntExpr,
    Load,
    ParallelFor,
    Program,
    SimdRegion,
    Store,
    apart,
    counters_of,
    evaluate,
    statements,
)

_FEW = 1 << 12  # iterations of a loop whose numbers are prefetched
_MOST = 1 << 10  # numbers that are
_FIELD = 1 << 16  # iterations that threads can share: `runtime/team.ll` counts them in 16 bits


class Phase(NamedTuple):
    """Statements between two barriers, and the number of iterations that cores may share; 0 for none."""

    body: tuple[Any, ...]
    iterations: int


def phases(program: Program) -> list[Phase]:
    """The phases of a program in order; none unless its lanes are its own and it has a loop to share."""
    if program.lanes == 1:
        return []
    made: list[Phase] = []
    for shared, statements_of in groupby(program.body, _is_shared):
        body = tuple(statements_of)
        made += [Phase((s,), s.end) for s in body] if shared else [Phase(body, 0)]
    return made if any(phase.iterations for phase in made) else []


def _is_shared(s: Any) -> bool:
    return isinstance(s, ParallelFor) and s.first == 0 and isinstance(s.end, int) and s.end < _FIELD


def counters_used(body: tuple[Any, ...]) -> set[InductionVariable]:
    """The counters on which integers of some statements depend."""
    fields = ("index", "condition", "first", "end", "limit", "successor", "body_index")
    return set().union(*(counters_of(getattr(s, f, None)) for s in statements(body) for f in fields))


class Prefetch(NamedTuple):
    """Numbers of scratch memory to prefetch: buffer, index, whether a store follows."""

    numbers: tuple[tuple[Buffer, Index, bool], ...]


def prefetch(phase: Phase, lanes: int) -> Prefetch:
    """The addresses to prefetch before a phase, or before each iteration of its parallel loop.

    Indices of the result are those of a register of `lanes` numbers.
    """
    found: dict[tuple[Buffer, Index], bool] = {}

    def visit(body: tuple[Any, ...], width: int, counters: dict[InductionVariable, Any]) -> None:
        for s in body:
            if isinstance(s, Load | Store):
                for place in _places(s, width, counters):
                    found[place] = found.get(place, False) or isinstance(s, Store)
            elif (
                isinstance(s, For)
                and s.successor is None
                and isinstance(s.first, int)
                and isinstance(s.end, int)
            ):
                few = s.end - s.first <= _FEW and not shared
                visit(s.body, width, {**counters, s.counter: np.arange(s.first, s.end)} if few else counters)
            elif isinstance(s, Containers):
                visit(s.body, s.width if isinstance(s, SimdRegion) else width, counters)

    def _places(s: Load | Store, width: int, counters: dict[InductionVariable, Any]) -> list[Any]:
        variable, _ = apart(s.index)
        if not isinstance(s.buffer, Buffer) or s.buffer.kind != "scratch" or _names_lanes(variable):
            return []
        if shared:
            return [(s.buffer, s.index)] if counters_of(s.index) <= shared and width == lanes else []
        if not counters_of(s.index) <= counters.keys() or len(counters_of(s.index)) > 1:
            return []
        numbers = np.unique(evaluate(s.index, counters, {})) // (lanes // width)
        return [(s.buffer, int(k)) for k in np.unique(numbers)]

    body = phase.body
    shared = {s.counter for s in body} if phase.iterations else set()
    visit(body[0].body if shared else body, lanes, {})
    numbers = tuple((buffer, index, stores) for (buffer, index), stores in found.items())
    return Prefetch(numbers[:_MOST])


def _names_lanes(index: Index) -> bool:
    return isinstance(index, IntExpr) and index.op == "lanes"


def shared_functions(
    name: str, sizes: Sequence[int], operands: int, *, uniforms: bool, get: str, put: str
) -> str:
    """`groups()`, the most iterations of a phase, and `shared(args, uniforms, helpers, run)`, one state.

    `run` gets the function `phase(context, number, first, end)`, the context, the iterations of each phase,
    their count and the number of helpers. `get` allocates scratch memory at `%scratch`, `put` frees it.
    """
    most = max(sizes, default=0)
    head = f"define i64 @groups() {{\n  ret i64 {most}\n}}\n"
    if not sizes:
        return (
            f"{head}define void @shared(ptr %args, ptr %uniforms, i64 %helpers, ptr %run) {{\n  ret void\n}}"
        )
    table = ", ".join(f"i64 {n}" for n in sizes)
    pointers = [
        f"%a{k} = getelementptr ptr, ptr %args, i64 {k}\n  %p{k} = load ptr, ptr %a{k}"
        for k in range(operands)
    ]
    context = [*(f"%p{k}" for k in range(operands)), "%uniforms", "%scratch"]
    stores = [
        f"%c{k} = getelementptr ptr, ptr %context, i64 {k}\n  store ptr {x}, ptr %c{k}"
        for k, x in enumerate(context)
    ]
    loads = [
        f"%c{k} = getelementptr ptr, ptr %context, i64 {k}\n  {x} = load ptr, ptr %c{k}"
        for k, x in enumerate(context)
    ]
    passed = ", ".join(f"ptr %p{k}, i64 0" for k in range(operands))
    passed += ", ptr %uniforms" * uniforms + ", ptr %scratch, i64 %first, i64 %end"
    cases = " ".join(f"i64 {k}, label %is{k}" for k in range(len(sizes)))
    calls = [f"is{k}:\n  call void @{name}_phase{k}({passed})\n  ret void" for k in range(len(sizes))]
    lines = "\n  "
    return f"""{head}@sizes = internal constant [{len(sizes)} x i64] [ {table} ]
define internal void @phase(ptr %context, i64 %number, i64 %first, i64 %end) nounwind {{
  {lines.join(loads)}
  switch i64 %number, label %none [ {cases} ]
{chr(10).join(calls)}
none:
  ret void
}}
define void @shared(ptr %args, ptr %uniforms, i64 %helpers, ptr %run) #0 {{
  %context = alloca [{len(context)} x ptr]
  {lines.join(pointers)}
  {get}
  {lines.join(stores)}
  call void %run(ptr @phase, ptr %context, ptr @sizes, i64 {len(sizes)}, i64 {most}, i64 %helpers)
  {put}
  ret void
}}"""
