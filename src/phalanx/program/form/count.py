# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How often each block of a program runs, and in the name of which body: exact, without running it.

Whole numbers decide about loops, and they depend on counters and tables alone. So a loop is walked for all
rounds of those around it at once; rounds that differ in nothing are only multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..ops import INPUT
from ..rewrite import Code, Instruction
from .program import (
    Attributed,
    For,
    If,
    Index,
    InductionVariable,
    IntExpr,
    Load,
    LoopCarried,
    Program,
    Select,
    SimdRegion,
    Store,
    Value,
    counters_of,
    evaluate,
)

_MANY = 1 << 21  # points that are walked at once


@dataclass(frozen=True, eq=False)
class BlockCount:
    """A block of statements, and how often it runs for each body; the last entry of `times` is for none.

    `rounds` counts all lanes of a part as one. Each round moves some values between memory and registers.
    """

    code: Code
    moves: int
    times: np.ndarray
    rounds: int


def runs(program: Program) -> list[BlockCount]:
    """All that a program carries out; what brings one state into lanes and back is left out."""
    walk = _Counter(program)
    parts = (
        [program.body] if program.lanes == 1 else [s.body for s in program.body if isinstance(s, SimdRegion)]
    )
    for body in parts:
        walk.visit(body, _Points({}, np.ones(1, dtype=np.int64)))
    return [BlockCount(*walk.blocks[k], times, rounds) for k, (times, rounds) in walk.found.items()]


@dataclass(frozen=True, eq=False)
class _Points:
    """Rounds of the loops around a block: counters, how often each counts, and in the name of which body.

    The owner is None, or one for each point, or for each point and lane.
    """

    counters: dict[InductionVariable, Any]
    weight: np.ndarray
    attributed_to: np.ndarray | None = None

    def value(self, index: Any) -> np.ndarray:
        """A whole number at each point."""
        return np.broadcast_to(evaluate(index, self.counters, {}), self.weight.shape)

    def owned(self, index: Index) -> _Points:
        """The same in the name of a body."""
        owner = np.asarray(evaluate(index, self.counters, {}))
        lanes = isinstance(index, IntExpr) and index.op == "entry" and index.args[0].wide
        shape = (len(self.weight), owner.shape[-1]) if lanes else (len(self.weight), 1)
        return replace(
            self, attributed_to=np.broadcast_to(owner if lanes else np.reshape(owner, (-1, 1)), shape)
        )

    def at(self, which: np.ndarray) -> _Points:
        """Some of the points."""
        some = {c: x[which] if isinstance(x, np.ndarray) else x for c, x in self.counters.items()}
        return _Points(
            some, self.weight[which], None if self.attributed_to is None else self.attributed_to[which]
        )

    def times(self, rounds: np.ndarray) -> _Points:
        """The same, each so many times."""
        return replace(self, weight=self.weight * rounds)

    def with_counter(self, counter: InductionVariable, values: np.ndarray) -> _Points:
        """The same where one more counter has values."""
        return replace(self, counters={**self.counters, counter: values})


class _Counter:
    """The blocks found so far, each with its times and rounds."""

    def __init__(self, program: Program) -> None:
        self.n = program.bodies
        self.found: dict[int, tuple[np.ndarray, int]] = {}
        self.blocks: dict[int, tuple[Code, int]] = {}
        self.steered: dict[int, set[InductionVariable]] = {}

    def visit(self, body: Any, points: _Points) -> None:
        """Walk statements at several points."""
        self._record(body, points)
        for s in body:
            if isinstance(s, For):
                self._loop(s, points)
            elif isinstance(s, Attributed):
                self.visit(s.body, points.owned(s.body_index))
            elif isinstance(s, SimdRegion):
                self.visit(s.body, points)
            elif isinstance(s, If):
                holds = points.value(s.condition).astype(bool)
                if holds.any():
                    self.visit(s.body, points.at(holds))
            elif not isinstance(s, Load | Value | Select | Store):
                raise TypeError(f"count: no rule for the statement {type(s).__name__}.")

    def _record(self, body: Any, points: _Points) -> None:
        block = self.blocks.get(id(body)) or self.blocks.setdefault(id(body), as_code(body))
        if not block[0].instructions and not block[1]:
            return
        times, rounds = self.found.get(id(body), (np.zeros(self.n + 1, dtype=np.int64), 0))
        owners = (
            np.full((len(points.weight), 1), self.n) if points.attributed_to is None else points.attributed_to
        )
        for lane in owners.T:
            real = lane >= 0
            np.add.at(times, lane[real], points.weight[real])
        self.found[id(body)] = times, rounds + int(points.weight.sum())

    def _loop(self, s: For, points: _Points) -> None:
        first, count = points.value(s.first), len(points.weight)
        steers = s.counter in self._steering(s)
        if s.successor is not None:
            return self._along(s, first, points, steers=steers)
        trips = points.value(s.end) - first
        if not steers:
            return self.visit(s.body, points.times(trips))
        if count > 1 and trips.sum() > _MANY:
            half = np.arange(count) < count // 2
            self._loop(s, points.at(half))
            return self._loop(s, points.at(~half))
        which = np.repeat(np.arange(count), trips)
        place = np.arange(len(which)) - np.repeat(np.cumsum(trips) - trips, trips)
        return self.visit(s.body, points.at(which).with_counter(s.counter, first[which] + place))

    def _along(self, s: For, at: np.ndarray, points: _Points, *, steers: bool) -> None:
        """A walk: all points go one step at a time, until all have arrived."""
        where, rounds = np.arange(len(at)), np.zeros(len(at), dtype=np.int64)
        while len(where):
            rounds[where] += 1
            here = points.at(where).with_counter(s.counter, at)
            if steers:
                self.visit(s.body, here)
            after = here.value(s.successor)
            where, at = where[after >= 0], after[after >= 0]
        if not steers:
            self.visit(s.body, points.times(rounds))

    def _steering(self, s: Any) -> set[InductionVariable]:
        """The counters on which loops, conditions and names inside a statement depend."""
        if id(s) not in self.steered:
            found = set[InductionVariable]()
            if isinstance(s, For):
                found |= counters_of(s.first) | counters_of(s.end) | counters_of(s.successor)
                found = found - {s.counter} if s.successor is not None else found
            elif isinstance(s, If):
                found |= counters_of(s.condition)
            elif isinstance(s, Attributed):
                found |= counters_of(s.body_index)
            for x in getattr(s, "body", ()):
                found |= self._steering(x)
            self.steered[id(s)] = found
        return self.steered[id(s)]


def as_code(body: tuple[Any, ...]) -> tuple[Code, int]:
    """(instructions, moves) of a block; inputs of instructions are statements or outer values.

    What only brings inputs into scratch memory, or outputs out of it, moves nothing.
    """
    number: dict[Any, int] = {}
    made: list[Instruction] = []
    results: list[Any] = []

    def operand(x: Any) -> Any:
        if isinstance(x, float):
            return x
        if x not in number:
            number[x] = len(made)
            made.append(Instruction(INPUT, (x,)))
        return number[x]

    for s in body:
        if isinstance(s, Value):
            args = tuple(operand(a) for a in s.args)
            number[s] = len(made)
            made.append(Instruction(s.op, args, s.quantity, s.of_product))
        elif isinstance(s, Store):
            results.append(operand(s.value))
    code = Code(made, results)
    regions = [s.region for s in body if isinstance(s, Load | Store) and s.region.kind != "constant"]
    passes = any(r.kind in ("input", "output") for r in regions) and all(i.op == INPUT for i in made)
    return code, 0 if passes else len(regions)


def is_partial(x: Any) -> bool:
    """Whether an input of a block is a partial result: not a constant, nor what the caller passes."""
    if isinstance(x, Load):
        return not x.region.given
    return isinstance(x, Value | LoopCarried)
