# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The critical path of a program, whatever its loops: maximum and plus in place of its operations.

Every number is told by the longest chain of operations behind it, constants by none; loads and stores carry
that through memory. Every operation that the program carries out takes one step, also those with zeros and
ones of its tables.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from .. import ops
from ..ops import OPS, Op
from .program import (
    Attributed,
    For,
    If,
    Index,
    InductionVariable,
    Load,
    Program,
    Select,
    SimdRegion,
    Store,
    Table,
    Value,
    apart,
    evaluate,
)

# A chain of operations as one integer: the longer one is larger, of equally long ones that with more
# multiplications, then divisions, then sines and cosines.
_TRIGONOMETRIC, _DIVISIONS, _MULTIPLICATIONS, _LENGTH = 0, 5, 25, 50
_CONSTANT = object()  # stands for all constants


def carried_out(program: Program) -> tuple[tuple[int, int, int, int], tuple[int, ...]]:
    """(counts along the longest chain of operations, how many operations start at each step).

    Every operation takes one step and starts as early as it can: the second adds up to the operations of the
    program, and is as long as the first.
    """
    if program.lanes != 1:
        raise TypeError("paths: no rule for a program whose lanes are segments.")
    run = _PathTrace(program)
    run.body(program.body, {})
    steps = max(run.started, default=-1) + 1
    return _counts(run.longest[0]), tuple(run.started[k] for k in range(steps))


def _counts(longest: int) -> tuple[int, int, int, int]:
    """(multiplications, additions, divisions, sines and cosines) of a chain of operations."""
    trigonometric, divisions, multiplications = (
        (longest >> low) & ((1 << high - low) - 1)
        for low, high in (
            (_TRIGONOMETRIC, _DIVISIONS),
            (_DIVISIONS, _MULTIPLICATIONS),
            (_MULTIPLICATIONS, _LENGTH),
        )
    )
    return multiplications, (longest >> _LENGTH) - multiplications - divisions, divisions, trigonometric


# ------------------------------------------------------------------- operations


def _length(op: Op) -> int:
    total = op.multiplications + op.additions + op.divisions
    return (
        (total << _LENGTH)
        + (op.multiplications << _MULTIPLICATIONS)
        + (op.divisions << _DIVISIONS)
        + (op.trigonometric << _TRIGONOMETRIC)
    )


# ------------------------------------------------------------------- blocks


@dataclass(frozen=True, eq=False)
class _StatementBlock:
    """Statements without control among them: what they read, do and leave, by place.

    Places are filled with numbers from before, those read, one for all constants, and those computed.
    """

    outer: list[Any]
    reads: list[Load]
    decisions: list[Index]
    steps: list[tuple[Any, tuple[int, ...], int]]
    leaves: list[tuple[Any, int]]  # what other blocks need
    stores: list[tuple[Store, int]]
    size: int


def _block(
    statements: list[Any], needed: set[Any], rules: Mapping[str, Callable[..., int]]
) -> _StatementBlock:
    inside = {s for s in statements if not isinstance(s, Store)}
    read = [x for s in statements for x in _operands(s)]
    outer = list(dict.fromkeys(x for x in read if type(x) is not float and x not in inside))
    reads = [s for s in statements if isinstance(s, Load)]
    place: dict[Any, int] = {x: k for k, x in enumerate([*outer, *reads, _CONSTANT])}
    steps: list[tuple[Any, tuple[int, ...], int]] = []
    decisions: list[Index] = []
    stores: list[tuple[Store, int]] = []

    def at(x: Any) -> int:
        return place[_CONSTANT if type(x) is float else x]

    for s in statements:
        if isinstance(s, Store):
            stores.append((s, at(s.value)))
        elif isinstance(s, Select):
            place[s] = len(place)
            steps.append((Select, (len(decisions), at(s.a), at(s.b)), place[s]))
            decisions.append(s.condition)
        elif isinstance(s, Value):
            place[s] = len(place)
            steps.append((rules[s.op], tuple(at(a) for a in s.args), place[s]))
    leaves = [(x, k) for x, k in place.items() if x in needed and x in inside]
    return _StatementBlock(outer, reads, decisions, steps, leaves, stores, len(place))


def _pieces(statements: tuple[Any, ...]) -> Iterator[tuple[list[Any], Any]]:
    """Plain statements and what follows them; cut also where one reads what another may have stored."""
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
    """Whether a load may find what was stored: not at places a constant apart."""
    if load.buffer is not store.buffer:
        return False
    (variable, k), (other, m) = apart(load.index), apart(store.index)
    return variable != other or k == m


def _read_elsewhere(body: tuple[Any, ...]) -> set[Any]:
    """The values that are read in other blocks than their own, or handed on by loops."""
    found: set[Any] = set()
    for plain, s in _pieces(body):
        own = set(plain)
        found.update(x for p in plain for x in _operands(p) if type(x) is not float and x not in own)
        if isinstance(s, For):
            found.update(x for x in (*s.yields, *(c.start for c in s.carried)) if type(x) is not float)
        if isinstance(s, For | If | Attributed | SimdRegion):
            found |= _read_elsewhere(s.body)
    return found


def _operands(s: Any) -> tuple[Any, ...]:
    """The real numbers that a plain statement reads."""
    if isinstance(s, Value):
        return s.args
    if isinstance(s, Store):
        return (s.value,)
    return (s.a, s.b) if isinstance(s, Select) else ()


# ------------------------------------------------------------------- the walk


class _PathTrace:
    """A program under way: what stands in its memory, and the numbers of its statements."""

    def __init__(self, program: Program) -> None:
        self.started: collections.Counter[int] = collections.Counter()  # how many operations at each step
        self.longest = [0]
        self.rules = {name: self._rule(op) for name, op in OPS.items()}
        for name in (ops.FMA, ops.FMS, ops.FNMA):
            self.rules[name] = self._product_and_sum
        self._multiply, self._plus = self.rules[ops.MUL], self.rules[ops.ADD]
        arguments = [*program.inputs, *([] if program.uniform is None else [program.uniform])]
        buffers = (*arguments, *program.outputs, *program.scratch)
        self.memory: dict[Any, list[int]] = {r: [0] * r.size for r in buffers}
        self.values: dict[Any, int] = {}
        self.parts: dict[int, list[Any]] = {}
        self._prepare(program.body, _read_elsewhere(program.body))

    def _rule(self, op: Op) -> Callable[..., int]:
        """What an operation does to the chains behind its operands; it is noted when it starts."""
        size, works, started, longest = _length(op), _length(op) >> _LENGTH, self.started, self.longest

        def rule(*args: int) -> int:
            behind = max(args)
            if works:
                started[behind >> _LENGTH] += works
            done = behind + size
            if done > longest[0]:
                longest[0] = done
            return done

        return rule

    def _product_and_sum(self, a: int, b: int, c: int) -> int:
        return self._plus(self._multiply(a, b), c)

    def _prepare(self, statements: tuple[Any, ...], needed: set[Any]) -> None:
        """Cut statements into blocks and those that steer others, inside these too."""
        found: list[Any] = []
        for plain, s in _pieces(statements):
            found += [_block(plain, needed, self.rules)] if plain else []
            found += [] if s is None else [s]
            if isinstance(s, For | If | Attributed | SimdRegion):
                self._prepare(s.body, needed)
        self.parts[id(statements)] = found

    def real(self, x: Any) -> int:
        return 0 if type(x) is float else self.values[x]

    def body(self, statements: tuple[Any, ...], counters: dict[InductionVariable, Any]) -> None:
        for part in self._flat(statements):
            if type(part) is _StatementBlock:
                self._block(part, self._places(part, counters, 1), 0)
            else:
                self._control(part, counters)

    def _flat(self, statements: tuple[Any, ...]) -> list[Any]:
        """Parts, with those that are done in the name of a body in their place."""
        parts = self.parts[id(statements)]
        return list(chain.from_iterable(self._flat(p.body) if type(p) is Attributed else [p] for p in parts))

    def _control(self, s: Any, counters: dict[InductionVariable, Any]) -> None:
        if isinstance(s, For):
            self._loop(s, counters)
        elif isinstance(s, If):
            if evaluate(s.condition, counters, {}):
                self.body(s.body, counters)
        elif isinstance(s, SimdRegion):
            self.body(s.body, counters)
        else:
            raise TypeError(f"paths: no rule for the statement {type(s).__name__}.")

    def _loop(self, s: For, counters: dict[InductionVariable, Any]) -> None:
        """All rounds; where blocks find their numbers is computed for all of them at once."""
        self.values.update({c: self.real(c.start) for c in s.carried})
        rounds = _rounds(s, counters)
        at = {**counters, s.counter: np.array(rounds)}
        inside = [
            (part, self._places(part, at, len(rounds)) if type(part) is _StatementBlock else None)
            for part in self._flat(s.body)
        ]
        for k, here in enumerate(rounds):
            for part, places in inside:
                if places is not None:
                    self._block(part, places, k)
                else:
                    self._control(part, {**counters, s.counter: here})
            fed = [self.real(x) for x in s.yields]
            self.values.update(zip(s.carried, fed, strict=True))

    def _places(self, block: _StatementBlock, counters: dict[InductionVariable, Any], rounds: int) -> Any:
        """Where a block reads, decides and stores: a list over rounds for each."""
        known: dict[Any, Any] = {}

        def listed(index: Index) -> list[Any]:
            found = evaluate(index, counters, known)
            # Tables of segments, one in each lane, have an axis of lanes.
            return found.ravel().tolist() if isinstance(found, np.ndarray) else [found] * rounds

        reads = [(self._source(s.buffer), listed(s.index)) for s in block.reads]
        stores = [(self.memory[s.buffer], listed(s.index), place) for s, place in block.stores]
        return reads, [listed(x) for x in block.decisions], stores

    def _source(self, where: Any) -> Sequence[int]:
        if isinstance(where, Table) and where not in self.memory:
            self.memory[where] = [0] * where.values.size
        return self.memory[where]

    def _block(self, block: _StatementBlock, places: Any, k: int) -> None:
        reads, decisions, stores = places
        numbers = [self.real(x) for x in block.outer]
        numbers += [where[at[k]] for where, at in reads]
        numbers += [0] * (block.size - len(numbers))
        for rule, args, place in block.steps:
            if rule is Select:
                numbers[place] = numbers[args[1] if decisions[args[0]][k] else args[2]]
            else:
                numbers[place] = rule(*[numbers[a] for a in args])
        for s, place in block.leaves:
            self.values[s] = numbers[place]
        for where, at, place in stores:
            where[at[k]] = numbers[place]


def _rounds(s: For, counters: dict[InductionVariable, Any]) -> Sequence[int]:
    first = int(evaluate(s.first, counters, {}))
    if s.successor is None:
        found = range(first, int(evaluate(s.end, counters, {})))
        return found[::-1] if s.down else found
    walked = []
    while first >= 0:
        walked.append(first)
        first = int(evaluate(s.successor, {**counters, s.counter: first}, {}))
    return walked
