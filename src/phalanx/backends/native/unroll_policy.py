# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""In which form a kernel is written, straight-line code or loops over bodies: by counts of both programs.

Straight-line code drops every operation with a zero or a one of the robot and keeps in registers what loops
hand on through memory; but its compile time grows with its length, while loops compile in a tenth of a
second and serve a single state with narrow registers. So code may be the longer the more the loops move.
The limits were measured on arms, chains, snakes, trees and humanoids with every algorithm, so that neither a
single state nor a batch loses by the choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from ...program.task import RUN, cuts, refusal_of_loops
from ...robot.model import Model
from ..base import Call

# Entries of rotations between bodies up to which a call that has loops may be unrolled: 53 bodies in general
# position, twice as many at right angles. No program of a larger robot is written out.
_ENTRIES, _ENTRIES_TWICE = 480, 180  # the latter for second derivatives
_SHORT = 3_000  # instructions that are unrolled whatever loops would do
_LONG = 6_850  # instructions that are unrolled where loops move nothing: about a second of compiling
_MOVED = 0.75  # by how much longer code may be for each load and store of the loops per instruction
_LONGEST = 20_000  # instructions that are unrolled at most
_SCALARS = 3  # that tracing may make for an instruction: beyond, it is given up
# Work of the loops by an instruction: from which on unrolling pays, and the most that was ever found. Where
# the text joins whole runs of bodies, loops do less than the text, since they go from body to body.
_PAYS, _MOST = {False: 1.25, True: 2.85}, {False: 16, True: 6}
# Results: for code and loops of equal work, more by the square root of their ratio; for work of the loops.
_RESULTS, _WORTH = 205, 100
# Pairs of bodies and ancestors up to which "auto" compiles what has no loops; some weigh more: second
# derivatives, and texts that take all degrees of freedom side by side.
_PAIRS, _TWICE, _SIDE_BY_SIDE = 400, 3, 8


@dataclass(frozen=True)
class Form:
    """How a kernel is written, and why."""

    name: str  # "unrolled", "looped" or "segments"
    reason: str

    def __str__(self) -> str:
        return f"{_TOLD[self.name]}: {self.reason}"


_TOLD = {"unrolled": "unrolled", "looped": "looped over bodies", "segments": "one state in all lanes"}


@dataclass(frozen=True)
class InLoops:
    """What loops over bodies carry out for one state."""

    operations: int
    moves: int  # loads and stores
    joins: bool  # whether they go from body to body where the text joins whole runs
    times: float = 1.0  # how many times longer its code may be

    def __str__(self) -> str:
        return f"{self.operations:,} operations and {self.moves:,} loads and stores in loops"

    @property
    def work(self) -> int:
        return self.operations + 2 * self.moves

    def limit(self, length: float, longest: float) -> float:
        """Instructions up to which code is unrolled, of so many in all, at most `longest` for a branch.

        A call runs the code of one branch, while all are compiled.
        """
        paying = self.work / _PAYS[self.joins] * length / longest
        allowed = min(_LONG * (1 + _MOVED * self.moves / longest), _LONGEST)
        return min(allowed * self.times, paying)

    def refusal(self) -> Form | None:
        """The form "looped", if that is clear without the other program, of more than a few bodies."""
        least = self.work / _MOST[self.joins]
        limit = _SHORT * self.times if self.joins else self.limit(least, least)
        if least <= limit:
            return None
        return Form("looped", f"{least:,.0f} instructions unrolled at least, limit {limit:,.0f}; {self}")

    def form(self, lengths: list[int], results: int) -> Form:
        """The better form, if unrolling gives so many instructions for each branch, and so many results.

        Of several outputs, results count for one.
        """
        length, longest = sum(lengths), max(lengths)
        limit = self.limit(length, longest)
        widest = max(_RESULTS * self.times * sqrt(self.work / longest), self.work / _WORTH)
        if results > widest:
            return Form("looped", f"{results:,} results, limit {widest:,.0f}; {self}")
        told = f"{length:,} instructions unrolled, limit {limit:,.0f}; {self}"
        return Form("unrolled" if length <= limit else "looped", told)


def allowance(call: Call) -> float:
    """How many times longer than that of others the code of a call may be: derivatives have more of it."""
    return 3.0 if call.algorithm.derivative else 1.0 if call.algorithm.symmetric else 1.5


def most_scalars(call: Call, moves: int = 0) -> int:
    """Scalars that tracing may make for a call, if its loops move so many values."""
    half = _LONG / 2
    longest = half + sqrt(half**2 + 2 * half * _MOVED * moves)  # the code that is as long as its limit
    return int(_SCALARS * allowance(call) * min(longest, _LONGEST))


def short_form(call: Call, lengths: list[int]) -> Form | None:
    """The form "unrolled", if that is clear without loops."""
    length, limit = sum(lengths), int(_SHORT * allowance(call))
    return Form("unrolled", f"{length:,} instructions, limit {limit:,}") if length <= limit else None


def large_form(call: Call) -> Form | None:
    """The form "looped", if that is clear from the robot."""
    entries = _entries(call.robot.model)
    limit = _ENTRIES_TWICE if call.algorithm.derivative == "hvp" else _ENTRIES
    if not rolls(call) or entries <= limit:
        return None
    return Form("looped", f"{entries:,} entries of rotations between bodies, limit {limit:,}")


def _entries(model: Model) -> int:
    """How many entries of rotations between bodies are not zero; for right angles at least 4.5 a body."""
    return max(int(np.count_nonzero(model.rest.E)), int(4.5 * model.n))


def serves(call: Call) -> bool:
    """Whether a call can be compiled in reasonable time: what has no loops only for short robots."""
    if is_segmented(call) or rolls(call):
        return True
    a, pairs = call.algorithm, int((call.robot.model.depth + 1).sum())
    weight = (_TWICE if a.derivative == "hvp" else 1) * (_SIDE_BY_SIDE if a.side_by_side else 1)
    return weight * pairs <= _PAIRS


def is_segmented(call: Call) -> bool:
    """Whether lanes are segments or columns of a chain in one state, not states."""
    splits, model = call.algorithm.splits, call.robot.model
    return bool(splits) and cuts(model) and (splits == "segments" or model.n >= RUN)


def rolls(call: Call) -> bool:
    """Whether there are loops over bodies for a call."""
    return not refusal_of_loops(call.algorithm, call.robot.model)
