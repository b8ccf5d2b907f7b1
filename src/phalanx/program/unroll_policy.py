# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The unroll policy: whether a kernel is straight-line code or loops over bodies, by counts of both.

Straight-line code drops every operation with a zero or a one of the robot and keeps in registers what loops
pass through memory; but its compile time grows with its length, while loops compile in a tenth of a
second and serve a single state with narrow registers. So code may be the longer the more the loops move.
The limits were measured on arms, chains, snakes, trees and humanoids with every algorithm, so that neither a
single state nor a batch loses by the choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from ..robot.frames import AnyFrame, Placement, everywhere
from ..robot.model import Model
from .task import RUN, SEGMENTS, Call, cuts, refusal_of_loops

# Entries of rotations between bodies up to which a call that has loops may be unrolled: 53 bodies in general
# position, twice as many at right angles. No program of a larger robot is written out.
_ENTRIES, _ENTRIES_TWICE = 480, 180  # the latter for second derivatives
_SHORT = 3_000  # instructions that are unrolled whatever loops would do
_LONG = 6_850  # instructions that are unrolled where loops move nothing: about a second of compiling
_MOVED = 0.75  # by how much longer code may be for each load and store of the loops per instruction
_LONGEST = 20_000  # instructions that are unrolled at most
_SCALARS = 3  # that tracing may make for an instruction: with more, it gives up
# Work of the loops by an instruction: from which on unrolling pays, and the most that was ever found. Where
# the algorithm joins runs of bodies, loops do less work than it, since they go from body to body.
_PAYS, _MOST = {False: 1.25, True: 2.85}, {False: 16, True: 6}
# Results: for code and loops of equal work, more by the square root of their ratio; for work of the loops.
_RESULTS, _WORTH = 205, 100
# Pairs of bodies and ancestors up to which "auto" compiles what has no loops; some weigh more: second
# derivatives, and algorithms that take all degrees of freedom side by side.
_PAIRS, _TWICE, _SIDE_BY_SIDE = 400, 3, 8
# Code for frames: bodies of branches computed together over those on the longest path among them; levels at
# the end of a branch whose frames have code of their own, in robots of up to so many bodies; bodies of all
# code over those of the robot.
_WIDEST_BRANCH, _TIP_LEVELS, _TIP_BODIES, _BRANCH_BODIES = 1.25, 2, 16, 2.5


@dataclass(frozen=True)
class Form:
    """The form of a kernel, and the reason for it."""

    name: str  # "unrolled", "looped" or "segments"
    reason: str

    def __str__(self) -> str:
        return f"{_DESCRIPTIONS[self.name]}: {self.reason}"


_DESCRIPTIONS = {"unrolled": "unrolled", "looped": "looped over bodies", "segments": "one state in all lanes"}


@dataclass(frozen=True)
class InLoops:
    """The counts of loops over bodies, for one state."""

    operations: int
    moves: int  # loads and stores
    joins: bool  # whether they go from body to body where the algorithm joins runs
    times: float = 1.0  # how many times longer its code may be

    def __str__(self) -> str:
        return f"{self.operations:,} operations and {self.moves:,} loads and stores in loops"

    @property
    def work(self) -> int:
        return self.operations + 2 * self.moves

    def limit(self, length: float, longest: float) -> float:
        """The limit for unrolling code of `length` instructions, of which a branch has at most `longest`.

        A call runs the code of one branch, while all are compiled.
        """
        paying = self.work / _PAYS[self.joins] * length / longest
        allowed = min(_LONG * (1 + _MOVED * self.moves / longest), _LONGEST)
        return min(allowed * self.times, paying)

    def refusal(self) -> Form | None:
        """The form "looped" if the counts of the loops alone decide for it; else None."""
        least = self.work / _MOST[self.joins]
        limit = _SHORT * self.times if self.joins else self.limit(least, least)
        if least <= limit:
            return None
        return Form("looped", f"{least:,.0f} instructions unrolled at least, limit {limit:,.0f}; {self}")

    def form(self, lengths: list[int], results: int) -> Form:
        """The better form, given the instructions of each unrolled branch and the number of results.

        Of several outputs, results count for one.
        """
        length, longest = sum(lengths), max(lengths)
        limit = self.limit(length, longest)
        widest = max(_RESULTS * self.times * sqrt(self.work / longest), self.work / _WORTH)
        if results > widest:
            return Form("looped", f"{results:,} results, limit {widest:,.0f}; {self}")
        reason = f"{length:,} instructions unrolled, limit {limit:,.0f}; {self}"
        return Form("unrolled" if length <= limit else "looped", reason)


def allowance(call: Call) -> float:
    """The factor on the limit of code length: derivatives and unsymmetric matrices may be longer."""
    return 3.0 if call.algorithm.derivative else 1.0 if call.algorithm.symmetric else 1.5


def most_scalars(call: Call, moves: int = 0) -> int:
    """Scalars that tracing may make for a call, given the loads and stores of its loops."""
    half = _LONG / 2
    longest = half + sqrt(half**2 + 2 * half * _MOVED * moves)  # the code that is as long as its limit
    return int(_SCALARS * allowance(call) * min(longest, _LONGEST))


def short_form(call: Call, lengths: list[int]) -> Form | None:
    """The form "unrolled" if straight-line code is so short that loops need not be counted; else None."""
    length, limit = sum(lengths), int(_SHORT * allowance(call))
    return Form("unrolled", f"{length:,} instructions, limit {limit:,}") if length <= limit else None


def large_form(call: Call) -> Form | None:
    """The form "looped" for robots that are too long to unroll, whatever the counts; else None."""
    entries = _entries(call.robot.model)
    limit = _ENTRIES_TWICE if call.algorithm.derivative == "hvp" else _ENTRIES
    if not rolls(call) or entries <= limit:
        return None
    return Form("looped", f"{entries:,} entries of rotations between bodies, limit {limit:,}")


def _entries(model: Model) -> int:
    """The number of nonzero entries of the rotations between bodies, taken as at least 4.5 a body."""
    return max(int(np.count_nonzero(model.rest.E)), int(4.5 * model.n))


def serves(call: Call) -> bool:
    """Whether a call can be compiled in reasonable time: what has no loops only for short robots."""
    if is_segmented(call) or rolls(call):
        return True
    a, pairs = call.algorithm, int((call.robot.model.depth + 1).sum())
    weight = (_TWICE if a.derivative == "hvp" else 1) * (_SIDE_BY_SIDE if a.side_by_side else 1)
    return weight * pairs <= _PAIRS


def is_segmented(call: Call) -> bool:
    """Whether SIMD lanes are segments or columns of a chain in one state, not states."""
    splits, model = call.algorithm.splits, call.robot.model
    if call.segments is not None:
        return True
    return bool(splits) and cuts(model) and (splits == SEGMENTS or (model.n >= RUN and rolls(call)))


def rolls(call: Call) -> bool:
    """Whether a call can be compiled to loops over bodies."""
    return not refusal_of_loops(call.algorithm, call.robot.model)


# ------------------------------------------------------------------- frames


def branches(model: Model) -> list[AnyFrame]:
    """Frames that share straight-line code: on paths to near tips; the last links' of short robots apart.

    A frame on one path needs nothing of the others, and one in the middle nothing of the end, where
    most frames are.
    """
    made: list[AnyFrame] = []
    taken = np.zeros(model.n, dtype=bool)
    for path in _tip_paths(model):
        carriers = path & ~taken
        taken |= path
        end = carriers & (model.depth >= model.depth[path].max() - _TIP_LEVELS + 1)
        codes = [end, carriers & ~end]
        if np.count_nonzero(codes[1]) <= _TIP_LEVELS or model.n > _TIP_BODIES:
            codes = [carriers]
        made += [_on(model, code, world=False) for code in codes if code.any()]
    if not made or sum(np.count_nonzero(f.movers) for f in made) > _BRANCH_BODIES * model.n:
        return [everywhere(model)]
    least = min(range(len(made)), key=lambda k: np.count_nonzero(made[k].movers))
    made[least] = _on(model, made[least].carriers, world=True)
    return made


def _tip_paths(model: Model) -> list[np.ndarray]:
    """Bodies (n,) bool from the world to some tips; tips that share most of their path stay together."""
    made: list[np.ndarray] = []
    longest = 0
    for tip in np.setdiff1d(np.arange(model.n), model.parents).tolist():
        path = model.ancestors(tip)
        own = np.zeros(model.n, dtype=bool)
        own[path] = True
        longest = max(longest, len(path))
        if made and np.count_nonzero(made[-1] | own) <= _WIDEST_BRANCH * longest:
            made[-1] = made[-1] | own
        else:
            made.append(own)
            longest = len(path)
    return made


def _on(model: Model, carriers: np.ndarray, *, world: bool) -> AnyFrame:
    """A frame that may be on any of the `carriers` or, with `world`, on the world."""
    paths = [model.ancestors(int(body)) for body in np.flatnonzero(carriers)]
    count = np.bincount(np.concatenate(paths), minlength=model.n)
    return AnyFrame(carriers, count > 0, (count == len(paths)) & (not world), world)


def branch_of(every: list[AnyFrame], frame: Placement) -> int:
    """The index of the frame in `every` whose code serves a placement."""
    if frame.world.any():
        return next(k for k, f in enumerate(every) if f.world)
    return next(k for k, f in enumerate(every) if frame.at[f.carriers].any())
