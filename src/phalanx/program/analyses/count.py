# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Execution counts of each block of a program, by body: exact, without running it.

Trip counts and conditions are integers, which depend on counters and tables alone. So a loop is evaluated for
all iterations of those around it at once; iterations that differ in nothing are only multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..ir import (
    Attributed,
    For,
    If,
    Index,
    InductionVariable,
    IntExpr,
    Load,
    LoopCarried,
    ParallelFor,
    Program,
    Select,
    SimdRegion,
    Store,
    Until,
    Value,
    counters_of,
    evaluate,
)

_MANY = 1 << 21  # points that are evaluated at once


@dataclass(frozen=True, eq=False)
class BlockCount:
    """A block of statements and its execution counts: `times` by body, the last entry for code of no body.

    `rounds` counts executions, all lanes of a SIMD region as one. Both are fractions if `runs` got a mean
    number of iterations. `moves` is the number of loads and stores in one run of the block.
    """

    body: tuple[Any, ...]
    values: list[Value]
    moves: int
    times: np.ndarray
    rounds: int


Trips = Callable[[Until], float | None]  # how often a loop that ends on data runs, None for its limit


def runs(program: Program, trips: Trips = lambda s: None) -> list[BlockCount]:
    """The execution counts of all blocks, without those that move one state into lanes and back.

    A loop that ends on data counts with its limit, unless `trips` gives another number of iterations.
    """
    counter = BlockCounter(program, trips)
    counter.visit(program.body, Points({}, np.ones(1, dtype=np.int64)))
    return [BlockCount(*counter.blocks[k], times, rounds) for k, (times, rounds) in counter.found.items()]


@dataclass(frozen=True)
class OperationRange:
    """Operations of a program whose loops end on data: at least, at most, and with measured iterations."""

    least: int
    most: int
    mean: float | None = None


def operation_range(program: Program, mean: Mapping[Until, float] | float | None = None) -> OperationRange:
    """How many operations on real numbers one state takes.

    `mean` is the mean number of iterations of a measured run, for all loops that end on data or for each.
    """

    def measured(s: Until) -> float | None:
        return mean[s] if isinstance(mean, Mapping) else mean

    least, most = operations(program, lambda s: 1), operations(program)
    return OperationRange(int(least), int(most), None if mean is None else operations(program, measured))


def operations(program: Program, trips: Trips = lambda s: None) -> float:
    """Operations on real numbers that one state takes."""
    return float(sum(len(run.values) * run.rounds for run in runs(program, trips)))


@dataclass(frozen=True, eq=False)
class Points:
    """Iterations of the loops around a block: counters, how often each counts, and the body it counts for.

    `attributed_to` is None, or has a body for each point, or for each point and lane.
    """

    counters: dict[InductionVariable, Any]
    weight: np.ndarray
    attributed_to: np.ndarray | None = None

    def value(self, index: Any) -> np.ndarray:
        """The value of an integer expression at each point."""
        return np.broadcast_to(evaluate(index, self.counters, {}), self.weight.shape)

    def attributed(self, index: Index) -> Points:
        """The same points, attributed to a body."""
        owner = np.asarray(evaluate(index, self.counters, {}))
        lanes = isinstance(index, IntExpr) and index.op == "entry" and index.args[0].wide
        shape = (len(self.weight), owner.shape[-1]) if lanes else (len(self.weight), 1)
        return replace(
            self, attributed_to=np.broadcast_to(owner if lanes else np.reshape(owner, (-1, 1)), shape)
        )

    def at(self, which: np.ndarray) -> Points:
        """Some of the points."""
        some = {c: x[which] if isinstance(x, np.ndarray) else x for c, x in self.counters.items()}
        return Points(
            some, self.weight[which], None if self.attributed_to is None else self.attributed_to[which]
        )

    def times(self, trips: np.ndarray) -> Points:
        """These points, each counted `trips` times."""
        return replace(self, weight=self.weight * trips)

    def with_counter(self, counter: InductionVariable, values: np.ndarray) -> Points:
        """The same points with the values of one more counter."""
        return replace(self, counters={**self.counters, counter: values})


class BlockCounter:
    """A visitor that counts how often each block runs, `times` by body and `rounds` in all."""

    def __init__(self, program: Program, trips: Trips) -> None:
        self.n, self.trips = program.bodies, trips
        self.counts = (
            program.lanes == 1
        )  # else only what is inside of SIMD regions, in groups of segments too
        self.found: dict[int, tuple[np.ndarray, Any]] = {}
        self.blocks: dict[int, tuple[Any, list[Value], int]] = {}
        self.steered: dict[int, set[InductionVariable]] = {}

    def visit(self, body: Any, points: Points) -> None:
        """Visit the statements of a block at several points."""
        if self.counts:
            self.record(body, points)
        for s in body:
            if isinstance(s, For | ParallelFor):
                self._loop(s, points)
            elif isinstance(s, Until):
                self._until(s, points)
            elif isinstance(s, Attributed):
                self.visit(s.body, points.attributed(s.body_index))
            elif isinstance(s, SimdRegion):
                outside, self.counts = self.counts, True
                self.visit(s.body, points)
                self.counts = outside
            elif isinstance(s, If):
                holds = points.value(s.condition).astype(bool)
                if holds.any():
                    self.visit(s.body, points.at(holds))
            elif not isinstance(s, Load | Value | Select | Store):
                raise TypeError(f"count: no rule for the statement {type(s).__name__}.")

    def record(self, body: Any, points: Points) -> None:
        block = self.blocks.get(id(body)) or self.blocks.setdefault(id(body), _contents(body))
        if not block[1] and not block[2]:
            return
        times, rounds = self.found.get(id(body), (np.zeros(self.n + 1, dtype=np.int64), 0))
        if points.weight.dtype.kind == "f" and times.dtype.kind != "f":
            times = times.astype(float)
        owners = (
            np.full((len(points.weight), 1), self.n) if points.attributed_to is None else points.attributed_to
        )
        for lane in owners.T:
            real = lane >= 0
            np.add.at(times, lane[real], points.weight[real])
        self.found[id(body)] = times, rounds + points.weight.sum().item()

    def _until(self, s: Until, points: Points) -> None:
        """Visit a loop that ends on data: iteration by iteration where loops inside depend on its counter."""
        limit, given = points.value(s.limit), self.trips(s)
        if given is not None:
            limit = np.minimum(limit, given)
        if s.counter not in self._steering(s):
            return self.visit(s.body, points.times(limit))
        top = int(np.ceil(limit.max()))
        for k in range(top):
            here = points.at(limit > k)
            self.visit(s.body, here.with_counter(s.counter, np.full(len(here.weight), k)))
        return None

    def _loop(self, s: For | ParallelFor, points: Points) -> None:
        first, count = points.value(s.first), len(points.weight)
        steers = s.counter in self._steering(s)
        if isinstance(s, For) and s.successor is not None:
            return self._along(s, first, points, steers=steers)
        trips = points.value(s.end) - first
        if not steers:
            return self.visit(s.body, points.times(trips))
        if count > 1 and trips.sum() > _MANY:
            half = np.arange(count) < count // 2
            self._loop(s, points.at(half))
            return self._loop(s, points.at(~half))
        which = np.repeat(np.arange(count), trips)
        offset = np.arange(len(which)) - np.repeat(np.cumsum(trips) - trips, trips)
        return self.visit(s.body, points.at(which).with_counter(s.counter, first[which] + offset))

    def _along(self, s: For, at: np.ndarray, points: Points, *, steers: bool) -> None:
        """Visit a loop over successors: all points advance one step at a time, until none is left."""
        where, trips = np.arange(len(at)), np.zeros(len(at), dtype=np.int64)
        while len(where):
            trips[where] += 1
            here = points.at(where).with_counter(s.counter, at)
            if steers:
                self.visit(s.body, here)
            after = here.value(s.successor)
            where, at = where[after >= 0], after[after >= 0]
        if not steers:
            self.visit(s.body, points.times(trips))

    def _steering(self, s: Any) -> set[InductionVariable]:
        """The counters on which trip counts, conditions and attributions inside a statement depend."""
        if id(s) not in self.steered:
            found = set[InductionVariable]()
            if isinstance(s, For):
                found |= counters_of(s.first) | counters_of(s.end) | counters_of(s.successor)
                found = found - {s.counter} if s.successor is not None else found
            elif isinstance(s, ParallelFor):
                found |= counters_of(s.first) | counters_of(s.end)
            elif isinstance(s, Until):
                found |= counters_of(s.limit)
            elif isinstance(s, If):
                found |= counters_of(s.condition)
            elif isinstance(s, Attributed):
                found |= counters_of(s.body_index)
            for x in getattr(s, "body", ()):
                found |= self._steering(x)
            self.steered[id(s)] = found
        return self.steered[id(s)]


def _contents(body: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Value], int]:
    """(statements, operations, moves) of a block.

    What only brings inputs into scratch memory, or outputs out of it, moves nothing.
    """
    values = [s for s in body if type(s) is Value]
    buffers = [s.buffer for s in body if isinstance(s, Load | Store) and s.buffer.kind != "constant"]
    passes = not values and any(r.kind in ("input", "output") for r in buffers)
    return body, values, 0 if passes else len(buffers)


def is_partial(x: Any) -> bool:
    """Whether an operand from outside of a block is a partial result: no constant and no input."""
    if isinstance(x, Load):
        return not x.buffer.given
    return isinstance(x, Value | LoopCarried)
