# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How often each block of a program runs, and in the name of which body: exact, without running it.

Whole numbers decide about loops, and they depend on counters and tables alone. So a loop is walked for all
rounds of those around it at once; rounds that differ in nothing are only multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ops import INPUT
from ..rewrite import Code, Instruction
from .program import Carried, Choice, For, If, Load, Owned, Part, Program, Store, Value
from .wholes import Counter, Index, Whole, counters_of, evaluate

_MANY = 1 << 21  # points that are walked at once


@dataclass(frozen=True, eq=False)
class Run:
    """A block of statements, and how often it runs for each body; the last entry of `times` is for none.

    `rounds` counts all lanes of a part as one. Each round moves some values between memory and registers.
    """

    code: Code
    moves: int
    times: np.ndarray
    rounds: int


def runs(program: Program) -> list[Run]:
    """All that a program carries out; what brings one state into lanes and back is left out."""
    walk = _Walk(program)
    parts = [program.body] if program.lanes == 1 else [s.body for s in program.body if isinstance(s, Part)]
    for body in parts:
        walk.visit(body, {}, np.ones(1, dtype=np.int64), None)
    return [Run(*walk.blocks[k], times, rounds) for k, (times, rounds) in walk.found.items()]


class _Walk:
    """The blocks found so far, each with its times and rounds."""

    def __init__(self, program: Program) -> None:
        self.n = program.bodies
        self.found: dict[int, tuple[np.ndarray, int]] = {}
        self.blocks: dict[int, tuple[Code, int]] = {}
        self.steered: dict[int, set[Counter]] = {}

    def visit(self, body: Any, counters: dict[Counter, Any], weight: np.ndarray, owner: Any) -> None:
        """Walk statements at several points, each of some weight."""
        known: dict[Any, Any] = {}
        self._record(body, weight, owner)
        for s in body:
            if isinstance(s, For):
                self._loop(s, counters, known, weight, owner)
            elif isinstance(s, Owned):
                self.visit(s.body, counters, weight, _owner(s.body_index, counters, known))
            elif isinstance(s, Part):
                self.visit(s.body, counters, weight, owner)
            elif isinstance(s, If):
                holds = np.broadcast_to(evaluate(s.condition, counters, known), weight.shape).astype(bool)
                if holds.any():
                    self.visit(s.body, *_at(holds, counters, weight, owner))
            elif not isinstance(s, Load | Value | Choice | Store):
                raise TypeError(f"count: no rule for the statement {type(s).__name__}.")

    def _record(self, body: Any, weight: np.ndarray, owner: Any) -> None:
        block = self.blocks.get(id(body)) or self.blocks.setdefault(id(body), as_code(body))
        if not block[0].instructions and not block[1]:
            return
        times, rounds = self.found.get(id(body), (np.zeros(self.n + 1, dtype=np.int64), 0))
        owners = np.full(weight.shape, self.n) if owner is None else np.asarray(owner)
        if owners.ndim <= 1:
            owners = np.broadcast_to(owners, weight.shape)[:, None]
        elif len(owners) != len(weight):
            owners = np.broadcast_to(owners, (len(weight), owners.shape[-1]))
        for lane in owners.T:
            real = lane >= 0
            np.add.at(times, lane[real], weight[real])
        self.found[id(body)] = times, rounds + int(weight.sum())

    def _loop(
        self, s: For, counters: dict[Counter, Any], known: dict[Any, Any], weight: np.ndarray, owner: Any
    ) -> None:
        first = np.broadcast_to(evaluate(s.first, counters, known), weight.shape)
        if s.following is not None:
            return self._along(s, first, counters, weight, owner)
        trips = np.broadcast_to(evaluate(s.end, counters, known), weight.shape) - first
        if s.counter not in self._steering(s):
            return self.visit(s.body, counters, weight * trips, owner)
        if self._is_range(s):
            return self._ranges(s, first, trips, counters, weight)
        if len(weight) > 1 and trips.sum() > _MANY:
            half = np.arange(len(weight)) < len(weight) // 2
            for part in (half, ~half):
                some = _at(part, counters, weight, owner)
                self._loop(s, some[0], {}, *some[1:])
            return None
        which = np.repeat(np.arange(len(weight)), trips)
        place = np.arange(len(which)) - np.repeat(np.cumsum(trips) - trips, trips)
        counters, weight, owner = _at(which, counters, weight, owner)
        return self.visit(s.body, {**counters, s.counter: first[which] + place}, weight, owner)

    def _along(
        self, s: For, at: np.ndarray, counters: dict[Counter, Any], weight: np.ndarray, owner: Any
    ) -> None:
        """A walk: all points go one step at a time, until all have arrived."""
        steers = s.counter in self._steering(s)
        rounds = np.zeros(len(weight), dtype=np.int64)
        where = np.arange(len(weight))
        inner = counters
        while len(where):
            rounds[where] += 1
            if steers:
                some = _at(where, counters, weight, owner)
                self.visit(s.body, {**some[0], s.counter: at}, *some[1:])
                inner = some[0]
            else:
                inner = _at(where, counters, weight, owner)[0]
            after = np.broadcast_to(evaluate(s.following, {**inner, s.counter: at}, {}), at.shape)
            where, at = where[after >= 0], after[after >= 0]
        if not steers:
            self.visit(s.body, counters, weight * rounds, owner)

    def _is_range(self, s: For) -> bool:
        """Whether the counter only tells in whose name a block runs."""
        if len(s.body) != 1 or not isinstance(s.body[0], Owned) or s.body[0].body_index is not s.counter:
            return False
        return all(s.counter not in self._steering(x) for x in s.body[0].body)

    def _ranges(
        self, s: For, first: np.ndarray, trips: np.ndarray, counters: dict[Counter, Any], weight: np.ndarray
    ) -> None:
        """Rounds of one weight for each range of bodies; further loops inside have points of their own."""
        inside: Owned = s.body[0]
        if any(isinstance(x, For | If | Owned) for x in inside.body):
            bodies = np.repeat(first, trips)
            place = np.arange(len(bodies)) - np.repeat(np.cumsum(trips) - trips, trips)
            which = np.repeat(np.arange(len(weight)), trips)
            counters, weight, _ = _at(which, counters, weight, None)
            return self.visit(inside.body, counters, weight, bodies + place)
        change = np.zeros(self.n + 2, dtype=np.int64)
        np.add.at(change, first, weight)
        np.add.at(change, first + trips, -weight)
        times = np.cumsum(change)[: self.n + 1]
        return self.visit(inside.body, {}, times[times > 0], np.flatnonzero(times > 0))

    def _steering(self, s: Any) -> set[Counter]:
        """The counters on which loops, conditions and names inside a statement depend."""
        if id(s) not in self.steered:
            found = set[Counter]()
            if isinstance(s, For):
                found |= counters_of(s.first) | counters_of(s.end) | counters_of(s.following)
                found = found - {s.counter} if s.following is not None else found
            elif isinstance(s, If):
                found |= counters_of(s.condition)
            elif isinstance(s, Owned):
                found |= counters_of(s.body_index)
            for x in getattr(s, "body", ()):
                found |= self._steering(x)
            self.steered[id(s)] = found
        return self.steered[id(s)]


def _owner(index: Index, counters: dict[Counter, Any], known: dict[Any, Any]) -> Any:
    """In whose name statements run: a body, one for each point, or one for each point and lane."""
    owner = evaluate(index, counters, known)
    lanes = isinstance(index, Whole) and index.op == "entry" and index.args[0].wide
    return np.atleast_2d(owner) if lanes else owner


def _at(which: np.ndarray, counters: dict[Counter, Any], weight: np.ndarray, owner: Any) -> Any:
    """Some of the points."""
    some = {c: x[which] if isinstance(x, np.ndarray) else x for c, x in counters.items()}
    return some, weight[which], owner[which] if isinstance(owner, np.ndarray) and len(owner) > 1 else owner


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
    return isinstance(x, Value | Carried)
