# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The work of a kernel, by kinds that have a unit cost each: counted, never measured.

A kernel computes a block of states, one per SIMD lane, or one state with its segments in the lanes. Its
instructions are known before it is compiled; the number of spills follows from their order and the number of
registers.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ..program.analyses.count import runs
from ..program.ir import Load, Scalar, Store, Value
from ..program.ops import COS, DIV, NEG, SIN
from ..program.passes.fuse import fuse
from ..program.task import Call

# Registers that code generators reserve.
_RESERVED = 4


@dataclass(frozen=True)
class Workload:
    """Counts for one block of states.

    `operations` are multiplications, additions and multiply-adds, `angles` sines and cosines of one
    argument, `moves` spilled values, written to memory and read back. In loops over bodies, values passed
    from loop to loop are moves as well. `inputs` and `outputs` are numbers that enter and
    leave with every state. A block holds one state if it is `alone`, else as many as there are lanes.
    """

    inputs: int
    outputs: int
    operations: float = 0.0
    divisions: float = 0.0
    angles: float = 0.0
    moves: float = 0.0
    looped: bool = False
    alone: bool = False

    def plus(self, body: Sequence[Any], times: float, *, moves: float = 0.0, registers: int) -> Workload:
        """This workload plus that of a block of statements executed `times` times."""
        counts = _counted(body)
        return replace(
            self,
            operations=self.operations + times * counts[0],
            divisions=self.divisions + times * counts[1],
            angles=self.angles + times * counts[2],
            moves=self.moves + times * (spills(body, registers) + moves),
        )


def workload(call: Call, dtype: Any = np.float64) -> Workload:
    """The work of a kernel, counted before it is compiled; remembered by the robot."""
    from ..backends.native.compile import host  # loads the compiler

    lanes = host().lanes(np.dtype(dtype).itemsize)
    key = ("workload", call.algorithm.function, call.algorithm.name, call.options, lanes)
    found: Workload = call.robot._memoized(key, lambda: _workload(call, lanes))
    return found


def _workload(call: Call, lanes: int) -> Workload:
    from ..backends.native.compile import host
    from ..program.lowering import looped, traced

    f = call.function
    sizes = {name: call.sizes(symbols) for name, symbols in f.inputs.items()}
    empty = Workload(sum(map(prod, sizes.values())), sum(map(prod, call.output_sizes().values())))
    registers = _registers(host())
    program = looped(call, ())
    if program is None:
        return empty.plus(fuse(traced(call, ())).body, 1, registers=registers)
    built = program.built(lanes)
    work = replace(empty, looped=True, alone=built.lanes > 1)
    for run in runs(built):
        body = [s for s in run.body if type(s) is not Load]  # loads are counted where their values are used
        work = work.plus(body, run.rounds, moves=run.moves, registers=registers)
    return work


def _registers(target: Any) -> int:
    """The number of vector registers for values: 32 with AVX-512 and on ARM, 16 on older machines."""
    many = target.bits >= 512 or target.triple.startswith(("aarch64", "arm64"))
    return (32 if many else 16) - _RESERVED


# ------------------------------------------------------------------- straight-line code


def _counted(body: Sequence[Any]) -> tuple[int, int, int]:
    """The numbers of operations, divisions and angles in some statements."""
    values = [s for s in body if type(s) is Value]
    arithmetic = [s for s in values if s.op not in (NEG, SIN, COS)]
    divisions = sum(s.op is DIV for s in arithmetic)
    angles = {s.args[0] for s in values if s.op in (SIN, COS)}
    return len(arithmetic) - divisions, divisions, len(angles)


def spills(body: Sequence[Any], registers: int) -> int:
    """The number of spill stores and reloads with this number of registers, by Belady's rule.

    Whenever there is one value too many, the one with the furthest next use is spilled.
    """
    order, own = _in_order(body), {s for s in body if type(s) is Value}
    index = {x: k for k, x in enumerate(order)}
    operands = [{index[a] for a in x.args if not isinstance(a, float)} if x in own else set() for x in order]
    uses: dict[int, list[int]] = {}
    for here, needed in enumerate(operands):
        for a in needed:
            uses.setdefault(a, []).append(here)
    for a in {index[s.value] for s in body if type(s) is Store and not isinstance(s.value, float)}:
        uses.setdefault(a, []).append(len(order))
    for indices in uses.values():
        indices.reverse()  # the next use is the last entry
    held: dict[int, int] = {}  # value to its next use
    far: list[tuple[int, int]] = []
    in_memory: set[int] = set()
    moves = 0

    def hold(value: int) -> None:
        held[value] = uses[value][-1]
        heapq.heappush(far, (-held[value], value))

    for here, x in enumerate(order):
        for a in operands[here]:
            moves += a not in held
            held.pop(a, None)
            uses[a].pop()
            if uses[a]:
                hold(a)
        if x not in own:
            in_memory.add(here)
        if here in uses:
            hold(here)
        while len(held) > registers:
            when, value = heapq.heappop(far)
            if held.get(value) == -when:
                del held[value]
                moves += value not in in_memory
                in_memory.add(value)
    return moves


def _in_order(body: Sequence[Any]) -> list[Any]:
    """The values of a block in order; values from outside the block appear at their first use."""
    order: dict[Any, None] = {}
    for s in body:
        used = s.args if type(s) is Value else (s.value,) if type(s) is Store else ()
        order.update((a, None) for a in used if not isinstance(a, float))
        if isinstance(s, Scalar):
            order[s] = None
    return list(order)
