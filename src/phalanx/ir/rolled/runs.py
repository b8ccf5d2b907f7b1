# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How often each instruction of a program of loops runs for one state, in the name of which body.

Emitters add a few instructions of their own to those of the program: sums over bodies that start in
memory, eliminations, solutions. They are listed here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import PhalanxError
from ..ops import ADD, DIV, FMA, INPUT, MUL, OPS
from ..rewrite import Code, Instruction
from .program import (
    TOGETHER,
    Columns,
    Factor,
    InverseOut,
    Levels,
    LimbLevels,
    Loop,
    MatrixOut,
    Once,
    Pairs,
    RolledProgram,
    Solve,
    Step,
)
from .segments.roll import SegmentProgram

# Inputs that are no values of the state in memory: constants, comparisons, what registers hold.
_AT_HAND = ("param", "param row", "param column", "param third", "delta", "inside", "so far", "sum")
# Inputs of a pair of bodies: registers hold them while a sum over further bodies runs.
_OF_PAIR = ("load", "load row", "load column", "load diagonal", "common")


@dataclass(frozen=True)
class Run:
    """Instructions, and how often they run for each body; the last entry of `times` is for no body.

    Each run takes the sine and cosine of some `angles`, told by their quantities, and moves some values
    between memory and registers. If `abreast` is more than one, so many of the runs go side by side in lanes.
    """

    code: Code
    times: np.ndarray
    moves: int = 0
    angles: tuple[str, ...] = ()
    abreast: int = 1


def runs(program: RolledProgram | SegmentProgram) -> Iterator[Run]:
    """All that a program of loops carries out for one state."""
    if isinstance(program, SegmentProgram):
        yield from _of_segments(program)
        return
    stages = _Stages(program)
    for stage in program.stages:
        yield from stages.of(stage)


class _Stages:
    """The runs of the stages of one program."""

    def __init__(self, program: RolledProgram) -> None:
        self.program, self.n = program, program.n
        self.chain = program.parents is None
        self.depth = np.arange(self.n)  # ancestors of each body
        for i, p in enumerate([] if program.parents is None else program.parents.tolist()):
            self.depth[i] = 0 if p < 0 else self.depth[p] + 1
        joints = program.joints
        # A matrix is over bodies and their ancestors; over all degrees of freedom if some move several.
        self.rows = np.arange(self.n)
        self.ancestors = self.depth
        if joints is not None:
            self.rows = np.flatnonzero(joints.first)[np.argsort(joints.dof[joints.first])]
            self.ancestors = np.arange(joints.count)

    def of(self, stage: Any) -> Iterator[Run]:
        """The runs of one stage."""
        kinds: dict[type, Callable[[Any], Iterator[Run]]] = {
            Loop: self._loop,
            Once: self._once,
            MatrixOut: self._matrix,
            Factor: self._factor,
            Solve: self._solve,
            InverseOut: self._inverse,
            Levels: self._levels,
            LimbLevels: self._limbs,
        }
        if type(stage) not in kinds:
            raise PhalanxError(f"runs: nobody has counted what {type(stage).__name__} does; time it.")
        return kinds[type(stage)](stage)

    def _times(self, bodies: np.ndarray, counts: Any = 1) -> np.ndarray:
        times = np.zeros(self.n + 1, dtype=np.int64)
        np.add.at(times, bodies, counts)
        return times

    def _once(self, stage: Once) -> Iterator[Run]:
        yield Run(stage.code, self._times(np.array([self.n])), _moves(stage.code, stage.targets))

    def _loop(self, stage: Loop) -> Iterator[Run]:
        yield from self._turns(stage, self._times(self._visited(stage)))

    def _visited(self, stage: Loop | Levels) -> np.ndarray:
        """The bodies of a loop, or of the rows of levels."""
        return np.arange(self.n) if stage.bodies is None else self.program.maps[stage.bodies]

    def _turns(self, loop: Loop, times: np.ndarray) -> Iterator[Run]:
        kept = ("carry", "total") if self.chain else ("total",)
        angles = tuple(target[2] for target in loop.targets if target[0] == "angle")
        yield Run(loop.code, times, _moves(loop.code, loop.targets, kept), angles)
        for x, (kind, *_) in zip(loop.code.results, loop.targets, strict=True):
            to_parent = kind == "carry" and not self.chain and not loop.outward
            if to_parent or kind in ("total", "add"):
                quantity = loop.code.instructions[x].quantity if isinstance(x, int) else ""
                yield Run(_one(ADD, quantity), times)

    # ------------------------------------------------------------- rows that go level by level

    def _levels(self, stage: Levels) -> Iterator[Run]:
        bodies = self._visited(stage)
        for level in range((len(bodies) - 1).bit_length()):
            yield from self._steps(stage.steps, 1 << level, bodies)
        yield from self._steps(stage.last, 1, bodies)

    def _steps(self, steps: Iterable[Step], h: int, bodies: np.ndarray) -> Iterator[Run]:
        rows = {"odd": bodies[h :: 2 * h], "even": bodies[:: 2 * h], "all": bodies, "first": bodies[:1]}
        yield from self._each(steps, rows)

    def _each(self, steps: Iterable[Step], rows: Mapping[str, np.ndarray]) -> Iterator[Run]:
        """Runs of steps, each on the bodies of its rows."""
        for step in steps:
            yield Run(step.code, self._times(rows[step.rows]), _moves(step.code, step.targets))

    def _limbs(self, stage: LimbLevels) -> Iterator[Run]:
        limbs = self.program.limbs
        assert limbs is not None
        first, laden, world = limbs.bodies[limbs.first], limbs.bodies[limbs.laden], np.array([self.n])
        rows = {"first": first, "laden": laden, "world": world}
        for level in range(int(limbs.levels.max())):
            h = 1 << level
            odd = limbs.bodies[limbs.place % (2 * h) == h]
            yield from self._each(stage.steps, {"odd": odd})
        yield from self._each((*stage.before, *stage.start, *stage.last), rows)

    # ------------------------------------------------------------- matrices

    def _matrix(self, stage: MatrixOut | Factor) -> Iterator[Run]:
        pairs, bodies = stage.pairs, np.arange(self.n)
        if isinstance(pairs, Pairs):
            entries = self._times(bodies, self.depth + 1)
            yield Run(pairs.code, entries, _moves(pairs.code, [("entry",)]))
        else:
            entries = self._times(bodies, self.n if pairs.shape == "square" else bodies + 1)
            yield from self._columns(pairs, entries)
        if self.program.joints is not None:  # entries between bodies, scaled, meet in those of joints
            yield Run(_one(MUL), 2 * entries)
            yield Run(_one(ADD), 2 * entries, moves=1)
        if isinstance(pairs.diagonal, int) or pairs.diagonal != 0.0:
            yield Run(_one(ADD), self._times(bodies), moves=2)

    def _columns(self, columns: Columns, entries: np.ndarray) -> Iterator[Run]:
        if columns.kept is not None:
            yield from self._columns(columns.kept, entries)
        after = np.append(self.n - np.arange(self.n), 0)  # bodies from the row on
        for loop in columns.loops:
            yield from self._turns(loop, entries)
            for i in loop.code.instructions:
                if i.op is INPUT and i.args[0] == "sum":
                    code = columns.sums[i.args[1]]
                    yield Run(code, entries * after, _moves(code, [], _OF_PAIR))

    def _factor(self, stage: Factor) -> Iterator[Run]:
        yield from self._matrix(stage)
        d = self.ancestors
        yield Run(_one(DIV), self._times(self.rows))
        yield Run(_one(MUL), self._times(self.rows, d))
        yield Run(_one(FMA), self._times(self.rows, d * (d + 1) // 2), moves=2)

    def _solve(self, stage: Solve) -> Iterator[Run]:
        if self.program.joints is not None:
            yield Run(_one(ADD), self._times(np.arange(self.n)), moves=2)
        yield Run(_one(MUL), self._times(self.rows))
        # Back to the ancestors, then from them; the second walk begins at the body itself.
        yield Run(_one(FMA), self._times(self.rows, 2 * self.ancestors + 1), moves=1)

    def _inverse(self, stage: InverseOut) -> Iterator[Run]:
        d, count = self.ancestors, len(self.rows)
        # A body has nothing to hand back before its own unit vector and those that go along with it.
        back = count - np.arange(count) // TOGETHER * TOGETHER
        yield Run(_one(MUL), self._times(self.rows, count))
        yield Run(_one(FMA), self._times(self.rows, d * back + (d + 1) * count), moves=1)


# ------------------------------------------------------------------- segments


def _of_segments(program: SegmentProgram) -> Iterator[Run]:
    """Loops over the links of all segments, side by side, and over segments.

    Links that fill a segment up count for the one before them, loops over segments for their first ones.
    Links whose motion is no helix are placed one after another.
    """
    count, n = len(program.bodies), int(program.bodies.max()) + 1
    links = np.maximum.accumulate(program.bodies, axis=1).ravel()
    segments, nobody = program.bodies[:, 0], np.array([n])
    for over, stage in program.stages:
        assert isinstance(stage, Loop | Once)
        whose, abreast = (segments, 1) if over else (links, count)
        if isinstance(stage, Once):
            whose = segments if not over else nobody
        elif stage.bodies is not None:
            whose, abreast = links[program.maps[stage.bodies]], 1
        angles = tuple(target[2] for target in stage.targets if target[0] == "angle")
        times = np.bincount(whose, minlength=n + 1)
        every_turn = [target for target in stage.targets if target[0] != "end"]
        moves = _moves(stage.code, every_turn, ("carry",))
        yield Run(stage.code, times, moves, angles, abreast)


# ------------------------------------------------------------------- instructions


def _one(op: str, quantity: str = "") -> Code:
    """A single instruction that an emitter adds."""
    operands = tuple(range(OPS[op].arity))
    given = [Instruction(INPUT, ("at hand", k)) for k in operands]
    return Code([*given, Instruction(op, operands, quantity, quantity)], [len(operands)])


def _moves(code: Code, targets: Iterable[tuple[Any, ...]], kept: tuple[str, ...] = ()) -> int:
    """Values that instructions read from memory and leave there; those `kept` go round in registers."""
    stay = (*_AT_HAND, *kept)
    read = sum(i.op is INPUT and i.args[0] not in stay for i in code.instructions)
    return read + sum(target[0] not in kept for target in targets)
