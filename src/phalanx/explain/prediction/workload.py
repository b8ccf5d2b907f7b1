# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a machine has to do for a call, by kinds that have a price each: counted, never measured.

A kernel computes a block of states, one per lane. Its instructions are known before it is compiled;
how many values do not fit into the registers follows from their order.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ...backends.base import Call
from ...errors import PhalanxError
from ...ir.ops import COS, DIV, INPUT, NEG, SIN
from ...ir.rewrite import Code, instructions
from ...ir.rolled import Factor, InverseOut, Loop, MatrixOut, Once, Pairs, RolledProgram, Solve, roll

# Registers that code generators keep for themselves.
_RESERVED = 4


@dataclass(frozen=True)
class Workload:
    """Counts for one block of states.

    `operations` are multiplications, additions and multiply-adds, `angles` sines and cosines of one
    argument, `moves` values written to memory and read back for want of registers. In loops over bodies
    whatever is handed from loop to loop moves as well. `inputs` and `outputs` are numbers that enter and
    leave with every state.
    """

    inputs: int
    outputs: int
    operations: float = 0.0
    divisions: float = 0.0
    angles: float = 0.0
    moves: float = 0.0
    looped: bool = False

    def plus(
        self, code: Code, times: float, *, moves: float = 0.0, angles: float = 0.0, registers: int
    ) -> Workload:
        """The same and some instructions carried out so many times."""
        counts = _counted(code)
        return replace(
            self,
            operations=self.operations + times * counts[0],
            divisions=self.divisions + times * counts[1],
            angles=self.angles + times * (counts[2] + angles),
            moves=self.moves + times * (spills(code, registers) + moves),
        )


def workload(call: Call) -> Workload:
    """The work of a kernel, counted before it is compiled; remembered by the robot.

    Raises for the few kinds of code that cannot be counted: lanes that are segments of one chain, and
    matrices whose columns are loops of their own.
    """
    key = ("workload", call.algorithm.function, call.algorithm.name, call.options)
    found: Workload = call.robot.memo(key, lambda: _workload(call))
    return found


def _workload(call: Call) -> Workload:
    # Imported late: they load the compiler.
    from ...backends.native.build import traced, unrolls
    from ...backends.native.target import host

    if "segments" in call.algorithm.options:
        raise PhalanxError("workload: lanes that are segments of a chain are not counted; time them.")
    f = call.function
    sizes = {name: call.sizes(symbols) for name, symbols in f.inputs.items()}
    output = call.sizes(f.output)
    empty = Workload(sum(map(prod, sizes.values())), prod(output))
    registers = _registers(host())
    if unrolls(call):
        return empty.plus(instructions(traced(call, ())), 1, registers=registers)
    program = roll(call.algorithm, call.robot.model, sizes, {}, output, call.arguments())
    return _of_loops(program, call.robot.model.depth + 1.0, replace(empty, looped=True), registers)


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


# ------------------------------------------------------------------- loops over bodies


def _of_loops(program: RolledProgram, depth: np.ndarray, work: Workload, registers: int) -> Workload:
    """The work of loops over bodies; `depth` counts the ancestors of each and the body itself."""
    pairs, triples = float(depth.sum()), float((depth * (depth + 1.0)).sum() / 2.0)
    chain = program.parents is None
    for stage in program.stages:
        if isinstance(stage, Loop | Once):
            count = _turns(stage, program)
            moves = _traffic(stage.code, stage.targets, chain)
            angles = sum(target[0] == "angle" for target in stage.targets)
            work = work.plus(stage.code, count, moves=moves, angles=angles, registers=registers)
        elif isinstance(stage, MatrixOut | Factor) and isinstance(stage.pairs, Pairs):
            code = stage.pairs.code
            work = work.plus(code, pairs, moves=_traffic(code, [("entry",)], True), registers=registers)
        elif not isinstance(stage, Solve | InverseOut):
            raise PhalanxError(f"workload: nobody has counted what {type(stage).__name__} does; time it.")
        work = _more(work, stage, program.n, pairs, triples)
    return work


def _turns(stage: Loop | Once, program: RolledProgram) -> int:
    """How many times the instructions of a stage run."""
    if isinstance(stage, Once):
        return 1
    return program.n if stage.bodies is None else len(program.maps[stage.bodies])


def _more(work: Workload, stage: Any, n: int, pairs: float, triples: float) -> Workload:
    """What eliminations and solutions add: a multiply-add with a move or two for every entry they touch."""
    operations, moves, divisions = 0.0, 0.0, 0
    if isinstance(stage, Factor):
        operations, moves, divisions = triples, 2.0 * triples, n
    elif isinstance(stage, Solve):
        operations, moves = 2.0 * pairs, 2.0 * pairs
    elif isinstance(stage, InverseOut):
        operations, moves = 2.0 * n * pairs, 2.0 * n * pairs
    return replace(
        work,
        operations=work.operations + operations,
        divisions=work.divisions + divisions,
        moves=work.moves + moves,
    )


def _traffic(code: Code, targets: list[tuple[Any, ...]], chain: bool) -> int:
    """Values that a body reads from memory and leaves there; a chain carries its recursions in registers."""
    kept = ("carry", "total") if chain else ("total",)
    read = sum(i.op is INPUT and i.args[0] not in ("param", *kept) for i in code.instructions)
    return read + sum(target[0] not in kept for target in targets)
