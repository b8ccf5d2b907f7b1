# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a machine has to do for a call, by kinds that have a price each: counted, never measured.

A kernel computes a block of states, one per lane, or one state whose segments go side by side. Its
instructions are known before it is compiled; how many values do not fit into the registers follows from
their order.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ...backends.base import Call
from ...program.form.count import runs
from ...program.ops import COS, DIV, INPUT, NEG, SIN
from ...program.rewrite import Code, instructions

# Registers that code generators keep for themselves.
_RESERVED = 4


@dataclass(frozen=True)
class Workload:
    """Counts for one block of states.

    `operations` are multiplications, additions and multiply-adds, `angles` sines and cosines of one
    argument, `moves` values written to memory and read back for want of registers. In loops over bodies
    whatever is handed from loop to loop moves as well. `inputs` and `outputs` are numbers that enter and
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

    def plus(self, code: Code, times: float, *, moves: float = 0.0, registers: int) -> Workload:
        """The same and some instructions carried out so many times."""
        counts = _counted(code)
        return replace(
            self,
            operations=self.operations + times * counts[0],
            divisions=self.divisions + times * counts[1],
            angles=self.angles + times * counts[2],
            moves=self.moves + times * (spills(code, registers) + moves),
        )


def workload(call: Call, dtype: Any = np.float64) -> Workload:
    """The work of a kernel, counted before it is compiled; remembered by the robot."""
    from ...backends.native.compile import host  # loads the compiler

    lanes = host().lanes(np.dtype(dtype).itemsize)
    key = ("workload", call.algorithm.function, call.algorithm.name, call.options, lanes)
    found: Workload = call.robot._memoized(key, lambda: _workload(call, lanes))
    return found


def _workload(call: Call, lanes: int) -> Workload:
    from ...backends.native.compile import host
    from ...backends.native.lowering import looped, traced

    f = call.function
    sizes = {name: call.sizes(symbols) for name, symbols in f.inputs.items()}
    empty = Workload(sum(map(prod, sizes.values())), sum(map(prod, call.output_sizes().values())))
    registers = _registers(host())
    program = looped(call, ())
    if program is None:
        return empty.plus(instructions(traced(call, ())), 1, registers=registers)
    built = program.built(lanes)
    work = replace(empty, looped=True, alone=built.lanes > 1)
    for run in runs(built):
        work = work.plus(run.code, run.rounds, moves=run.moves, registers=registers)
    return work


def _registers(target: Any) -> int:
    """Vector registers for values: AVX-512 and ARM have 32, older machines half of them."""
    many = target.bits >= 512 or target.triple.startswith(("aarch64", "arm64"))
    return (32 if many else 16) - _RESERVED


# ------------------------------------------------------------------- straight-line code


def _counted(code: Code) -> tuple[int, int, int]:
    """Operations, divisions and angles of some instructions."""
    arithmetic = [i for i in code.instructions if i.op not in (INPUT, NEG, SIN, COS)]
    divisions = sum(i.op is DIV for i in arithmetic)
    angles = {i.args[0] for i in code.instructions if i.op in (SIN, COS)}
    return len(arithmetic) - divisions, divisions, len(angles)


def spills(code: Code, registers: int) -> int:
    """Writes and reads of values that do not fit into the registers, if the best ones are kept.

    Whenever there is one value too many, the one needed last gives way.
    """
    uses: dict[int, list[int]] = {}
    for place, i in enumerate(code.instructions):
        for a in _operands(i):
            uses.setdefault(a, []).append(place)
    for a in {r for r in code.results if isinstance(r, int)}:
        uses.setdefault(a, []).append(len(code.instructions))
    for places in uses.values():
        places.reverse()  # the next use stands last
    held: dict[int, int] = {}  # value to its next use
    far: list[tuple[int, int]] = []
    in_memory: set[int] = set()
    moves = 0

    def hold(value: int) -> None:
        held[value] = uses[value][-1]
        heapq.heappush(far, (-held[value], value))

    for place, i in enumerate(code.instructions):
        for a in _operands(i):
            moves += a not in held
            held.pop(a, None)
            uses[a].pop()
            if uses[a]:
                hold(a)
        if i.op is INPUT:
            in_memory.add(place)
        if place in uses:
            hold(place)
        while len(held) > registers:
            when, value = heapq.heappop(far)
            if held.get(value) == -when:
                del held[value]
                moves += value not in in_memory
                in_memory.add(value)
    return moves


def _operands(i: Any) -> set[int]:
    return set() if i.op is INPUT else {a for a in i.args if isinstance(a, int)}
