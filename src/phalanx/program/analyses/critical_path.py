# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Critical paths, in (max, +) arithmetic: of a dependence graph, or of a program with any loops.

The value of a number is the longest chain of operations that leads to it, zero for constants. Both kinds of
run apply the same rule to each operation (`Chains.rule`); a program runs, and loads and stores carry chains
through memory. Every operation that it executes counts, also those with zeros and ones of its tables.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import lcm
from typing import Any

import numpy as np

from .. import ops
from ..ir import (
    Attributed,
    Containers,
    For,
    If,
    Index,
    InductionVariable,
    Load,
    ParallelFor,
    Program,
    Select,
    SimdRegion,
    Store,
    Table,
    Until,
    Value,
    apart,
    counter_values,
    evaluate,
    operands_of,
)
from ..ops import OPS

Counts = tuple[int, int, int, int]  # multiplications, additions, divisions, sines and cosines
Times = tuple[float, float, float, float]  # of one operation of each kind
UNIT: Times = (1.0, 1.0, 1.0, 0.0)

# A chain of operations as one integer: the longer one is larger, of equally long ones that with more
# multiplications, then divisions, then sines and cosines. Fields have 28 bits, the length all others.
_FIELD = 28
_MULTIPLICATIONS, _DIVISIONS, _TRIGONOMETRIC, _ADDITIONS = (k * _FIELD for k in (3, 2, 1, 0))
_LENGTH = 4 * _FIELD
_CONSTANT = object()  # the key of all constants


class Chains:
    """The chains of operations of one run: the longest, and at unit times how many start at each step."""

    def __init__(self, times: Times = UNIT) -> None:
        exact = [Fraction(time) for time in times]
        unit = lcm(*(x.denominator for x in exact))
        self._times = [int(x * unit) for x in exact]  # in a unit that makes all of them integers
        self._is_unit = tuple(times) == UNIT
        self._started: collections.Counter[int] = collections.Counter()
        self._longest = [0]

    def rule(self, counts: Counts) -> Callable[..., int]:
        """The function from the chains of an operation's operands to its own."""
        multiplications, additions, divisions, trigonometric = counts
        size = (
            (sum(c * time for c, time in zip(counts, self._times, strict=True)) << _LENGTH)
            + (multiplications << _MULTIPLICATIONS)
            + (divisions << _DIVISIONS)
            + (trigonometric << _TRIGONOMETRIC)
            + (additions << _ADDITIONS)
        )
        works = size >> _LENGTH if self._is_unit else 0
        started, longest = self._started, self._longest

        def rule(*operands: int) -> int:
            before = max(operands, default=0)
            if works:
                started[before >> _LENGTH] += works
            done = before + size
            if done > longest[0]:
                longest[0] = done
            return done

        return rule

    @property
    def longest(self) -> Counts:
        """The counts on the critical path."""
        multiplications, additions, divisions, trigonometric = (
            (self._longest[0] >> low) & ((1 << _FIELD) - 1)
            for low in (_MULTIPLICATIONS, _ADDITIONS, _DIVISIONS, _TRIGONOMETRIC)
        )
        return multiplications, additions, divisions, trigonometric

    @property
    def width(self) -> tuple[int, ...]:
        """How many operations start at each step if each starts as early as it can and takes one step."""
        return tuple(self._started[k] for k in range(max(self._started, default=-1) + 1))


@dataclass(frozen=True)
class Flow:
    """A dependence graph: the operations of a program and the indices of their operands, operands first."""

    nodes: list[Any]
    counts: list[Counts]
    operands: list[tuple[int, ...]]

    def chains(self, times: Times = UNIT) -> Chains:
        """Its chains of operations if each kind takes the given time."""
        run = Chains(times)
        rules = {counts: run.rule(counts) for counts in set(self.counts)}
        chain: list[int] = []
        for counts, operands in zip(self.counts, self.operands, strict=True):
            chain.append(rules[counts](*[chain[k] for k in operands]))
        return run


def chains_of(program: Program, times: Times = UNIT, iterations: int | None = None) -> Chains:
    """The chains of operations of a program that runs, each operation as early as it can.

    At unit times its width adds up to the operations of the program, and is as long as its critical path.
    Loops that end on data run to their limit, or so many `iterations`.
    """
    if program.lanes != 1:
        raise TypeError("paths: no rule for a program whose lanes are segments.")
    run = Chains(times)
    _PathTrace(program, run, iterations).body(program.body, {})
    return run


# ------------------------------------------------------------------- blocks


@dataclass(frozen=True, eq=False)
class _StatementBlock:
    """A basic block with its operands by slot: live-in values, loads, operations, live-out values, stores.

    Slots hold the live-in values, then the loads, one for all constants, and the computed values.
    """

    outer: list[Any]
    reads: list[Load]
    decisions: list[Index]
    steps: list[tuple[Any, tuple[int, ...], int]]
    leaves: list[tuple[Any, int]]  # live-out values: those that other blocks need
    stores: list[tuple[Store, int]]
    size: int


def _block(
    statements: list[Any], needed: set[Any], rules: Mapping[str, Callable[..., int]]
) -> _StatementBlock:
    inside = {s for s in statements if not isinstance(s, Store)}
    read = [x for s in statements for x in operands_of(s)]
    outer = list(dict.fromkeys(x for x in read if type(x) is not float and x not in inside))
    reads = [s for s in statements if isinstance(s, Load)]
    slot: dict[Any, int] = {x: k for k, x in enumerate([*outer, *reads, _CONSTANT])}
    steps: list[tuple[Any, tuple[int, ...], int]] = []
    decisions: list[Index] = []
    stores: list[tuple[Store, int]] = []

    def at(x: Any) -> int:
        return slot[_CONSTANT if type(x) is float else x]

    for s in statements:
        if isinstance(s, Store):
            stores.append((s, at(s.value)))
        elif isinstance(s, Select):
            slot[s] = len(slot)
            steps.append((Select, (len(decisions), at(s.a), at(s.b)), slot[s]))
            decisions.append(s.condition)
        elif isinstance(s, Value):
            slot[s] = len(slot)
            steps.append((rules[s.op], tuple(at(a) for a in s.args), slot[s]))
    leaves = [(x, k) for x, k in slot.items() if x in needed and x in inside]
    return _StatementBlock(outer, reads, decisions, steps, leaves, stores, len(slot))


def _pieces(statements: tuple[Any, ...]) -> Iterator[tuple[list[Any], Any]]:
    """Basic blocks, each with the control statement after it; also split where a load may read a store."""
    plain: list[Any] = []
    stored: list[Store] = []
    for s in statements:
        steers = not isinstance(s, _PLAIN)
        if steers or (isinstance(s, Load) and any(_may_meet(s, x) for x in stored)):
            yield plain, s if steers else None
            plain, stored = [], []
        if not steers:
            plain.append(s)
        if isinstance(s, Store):
            stored.append(s)
    yield plain, None


_PLAIN = (Load, Select, Value, Store)


def _may_meet(load: Load, store: Store) -> bool:
    """Whether a load may alias a store: not if their indices differ by a nonzero constant."""
    if load.buffer is not store.buffer:
        return False
    (variable, k), (other, m) = apart(load.index), apart(store.index)
    return variable != other or k == m


def _live_out(body: tuple[Any, ...]) -> set[Any]:
    """The live-out values: those that other basic blocks read, or loops carry."""
    found: set[Any] = set()
    for plain, s in _pieces(body):
        own = set(plain)
        found.update(x for p in plain for x in operands_of(p) if type(x) is not float and x not in own)
        found.update(x for x in operands_of(s) if type(x) is not float)
        if isinstance(s, Containers):
            found |= _live_out(s.body)
    return found


# ------------------------------------------------------------------- the run


class _PathTrace:
    """A running program: for its memory and its values, the chains of operations that lead to them."""

    def __init__(self, program: Program, run: Chains, iterations: int | None) -> None:
        self.iterations = iterations  # of loops that end on data
        self.rules = {name: run.rule(op.counts) for name, op in OPS.items()}
        for name in (ops.FMA, ops.FMS, ops.FNMA):
            self.rules[name] = self._product_and_sum
        self._multiply, self._plus = self.rules[ops.MUL], self.rules[ops.ADD]
        arguments = [*program.inputs, *([] if program.uniform is None else [program.uniform])]
        buffers = (*arguments, *program.outputs, *program.scratch)
        self.memory: dict[Any, list[int]] = {r: [0] * r.size for r in buffers}
        self.values: dict[Any, int] = {}
        self.parts: dict[int, list[Any]] = {}
        self._prepare(program.body, _live_out(program.body))

    def _product_and_sum(self, a: int, b: int, c: int) -> int:
        return self._plus(self._multiply(a, b), c)

    def _prepare(self, statements: tuple[Any, ...], needed: set[Any]) -> None:
        """Split statements into basic blocks and control statements, recursively."""
        found: list[Any] = []
        for plain, s in _pieces(statements):
            found += [_block(plain, needed, self.rules)] if plain else []
            found += [] if s is None else [s]
            if isinstance(s, Containers):
                self._prepare(s.body, needed)
        self.parts[id(statements)] = found

    def real(self, x: Any) -> int:
        return 0 if type(x) is float else self.values[x]

    def body(self, statements: tuple[Any, ...], counters: dict[InductionVariable, Any]) -> None:
        for part in self._flat(statements):
            if type(part) is _StatementBlock:
                self._block(part, self._addresses(part, counters, 1), 0)
            else:
                self._control(part, counters)

    def _flat(self, statements: tuple[Any, ...]) -> list[Any]:
        """The blocks and control statements, with those inside `Attributed` inlined."""
        parts = self.parts[id(statements)]
        return list(chain.from_iterable(self._flat(p.body) if type(p) is Attributed else [p] for p in parts))

    def _control(self, s: Any, counters: dict[InductionVariable, Any]) -> None:
        if isinstance(s, For | ParallelFor | Until):
            self._loop(s, counters)
        elif isinstance(s, If):
            if evaluate(s.condition, counters, {}):
                self.body(s.body, counters)
        elif isinstance(s, SimdRegion):
            self.body(s.body, counters)
        else:
            raise TypeError(f"paths: no rule for the statement {type(s).__name__}.")

    def _loop(self, s: For | ParallelFor | Until, counters: dict[InductionVariable, Any]) -> None:
        """All iterations; the addresses of blocks are computed for all of them at once.

        The next iteration of a loop that ends on data waits until the last one has decided.
        """
        carried = () if isinstance(s, ParallelFor) else s.carried
        yields = () if isinstance(s, ParallelFor) else s.yields
        self.values.update({c: self.real(c.start) for c in carried})
        trips = _iterations(s, counters, self.iterations)
        at = {**counters, s.counter: np.array(trips)}
        inside = [
            (part, self._addresses(part, at, len(trips)) if type(part) is _StatementBlock else None)
            for part in self._flat(s.body)
        ]
        for k, here in enumerate(trips):
            for part, addresses in inside:
                if addresses is not None:
                    self._block(part, addresses, k)
                else:
                    self._control(part, {**counters, s.counter: here})
            fed = [self.real(x) for x in yields]
            if isinstance(s, Until):
                decided = self.real(s.stop)
                fed = [max(x, decided) for x in fed]
            self.values.update(zip(carried, fed, strict=True))

    def _addresses(self, block: _StatementBlock, counters: dict[InductionVariable, Any], trips: int) -> Any:
        """Addresses that a block reads, its conditions, and addresses it stores to: lists over iterations."""
        known: dict[Any, Any] = {}

        def listed(index: Index) -> list[Any]:
            found = evaluate(index, counters, known)
            # Tables of segments, one in each lane, have an axis of lanes.
            return found.ravel().tolist() if isinstance(found, np.ndarray) else [found] * trips

        reads = [(self._source(s.buffer), listed(s.index)) for s in block.reads]
        stores = [(self.memory[s.buffer], listed(s.index), slot) for s, slot in block.stores]
        return reads, [listed(x) for x in block.decisions], stores

    def _source(self, where: Any) -> Sequence[int]:
        if isinstance(where, Table) and where not in self.memory:
            self.memory[where] = [0] * where.values.size
        return self.memory[where]

    def _block(self, block: _StatementBlock, addresses: Any, k: int) -> None:
        reads, decisions, stores = addresses
        numbers = [self.real(x) for x in block.outer]
        numbers += [where[at[k]] for where, at in reads]
        numbers += [0] * (block.size - len(numbers))
        for rule, args, slot in block.steps:
            if rule is Select:
                numbers[slot] = numbers[args[1] if decisions[args[0]][k] else args[2]]
            else:
                numbers[slot] = rule(*[numbers[a] for a in args])
        for s, slot in block.leaves:
            self.values[s] = numbers[slot]
        for where, at, slot in stores:
            where[at[k]] = numbers[slot]


def _iterations(
    s: For | ParallelFor | Until, counters: dict[InductionVariable, Any], iterations: int | None
) -> Sequence[int]:
    if isinstance(s, Until):
        limit = int(evaluate(s.limit, counters, {}))
        return range(limit if iterations is None else min(limit, iterations))
    if isinstance(s, ParallelFor):
        return range(*(int(evaluate(x, counters, {})) for x in (s.first, s.end)))
    return counter_values(s, counters)
