# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The critical path of a program, whatever its loops: maximum and plus in place of its operations.

Every number is either a constant, of which only matters whether it is zero or one, or is told by the longest
chain of operations behind it; loads and stores carry that through memory. As in equations written out, an
operation on constants takes nothing; neither does adding zero or multiplying by zero or one, and two
constant factors are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
# multiplications, then divisions, then sines and cosines. The last bit marks a product with a constant.
_TRIGONOMETRIC, _DIVISIONS, _MULTIPLICATIONS, _LENGTH = 1, 5, 25, 50
_SCALED = 1
_ZERO, _ONE, _SOME = 0.0, 1.0, 2.0  # constants: zero, one of either sign, any other
_Known = Any  # a constant (float) or a chain of operations (int)


def critical_path(program: Program) -> tuple[int, int, int, int]:
    """(multiplications, additions, divisions, sines and cosines) along the critical path of one state."""
    if program.lanes != 1:
        raise TypeError("paths: no rule for a program whose lanes are segments.")
    run = _PathTrace(program)
    run.body(program.body, {})
    ends = (x for buffer in program.outputs for x in run.memory[buffer] if type(x) is int)
    longest = max(ends, default=0)
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


_PRODUCT, _SUM, _QUOTIENT = (_length(OPS[op]) for op in (ops.MUL, ops.ADD, ops.DIV))


def _mul(a: _Known, b: _Known) -> _Known:
    if type(a) is float:
        a, b = b, a
    if type(b) is float:
        if type(a) is float:
            return _ZERO if a == _ZERO or b == _ZERO else _ONE if a == b == _ONE else _SOME
        if b == _ZERO:
            return _ZERO
        return a if b == _ONE or a & _SCALED else a + _PRODUCT + _SCALED
    return ((a if a > b else b) | _SCALED) - _SCALED + _PRODUCT


def _add(a: _Known, b: _Known) -> _Known:
    if type(a) is float:
        a, b = b, a
    if type(b) is float:
        if b == _ZERO:
            return a
        if type(a) is float:
            return b if a == _ZERO else _SOME
        return (a | _SCALED) - _SCALED + _SUM
    return ((a if a > b else b) | _SCALED) - _SCALED + _SUM


def _div(a: _Known, b: _Known) -> _Known:
    if type(b) is float:
        return _mul(a, b)
    if type(a) is float:
        return _ZERO if a == _ZERO else (b | _SCALED) - _SCALED + _QUOTIENT
    return ((a if a > b else b) | _SCALED) - _SCALED + _QUOTIENT


def _choose(mask: _Known, a: _Known, b: _Known) -> _Known:
    if type(mask) is float:
        return a if mask != _ZERO else b
    return _other(OPS[ops.SELECT])(mask, a, b)


def _other(op: Op) -> Callable[..., _Known]:
    def rule(*args: _Known) -> _Known:
        behind = [x for x in args if type(x) is int]
        return (max(behind) | _SCALED) - _SCALED + _length(op) if behind else _SOME

    return rule


_RULES: dict[str, Callable[..., _Known]] = {name: _other(op) for name, op in OPS.items()} | {
    ops.ADD: _add,
    ops.SUB: _add,
    ops.MUL: _mul,
    ops.DIV: _div,
    ops.NEG: lambda a: a,
    ops.FMA: lambda a, b, c: _add(_mul(a, b), c),
    ops.FMS: lambda a, b, c: _add(_mul(a, b), c),
    ops.FNMA: lambda a, b, c: _add(_mul(a, b), c),
    ops.SELECT: _choose,
}


def _constant(x: float) -> float:
    return _ZERO if x == 0.0 else _ONE if abs(x) == 1.0 else _SOME


# ------------------------------------------------------------------- blocks


@dataclass(frozen=True, eq=False)
class _StatementBlock:
    """Statements without control among them: what they read, do and leave, by place.

    Places are filled with numbers from before, then those read, then constants and those computed.
    """

    outer: list[Any]
    reads: list[Load]
    decisions: list[Index]
    constants: list[float]
    steps: list[tuple[Any, tuple[int, ...], int]]
    leaves: list[tuple[Any, int]]  # what other blocks need
    stores: list[tuple[Store, int]]
    size: int


def _block(statements: list[Any], needed: set[Any]) -> _StatementBlock:
    inside = {s for s in statements if not isinstance(s, Store)}
    read = [x for s in statements for x in _operands(s)]
    outer = list(dict.fromkeys(x for x in read if type(x) is not float and x not in inside))
    reads = [s for s in statements if isinstance(s, Load)]
    constants = list(dict.fromkeys(_constant(x) for x in read if type(x) is float))
    place: dict[Any, int] = {x: k for k, x in enumerate([*outer, *reads, *constants])}
    steps: list[tuple[Any, tuple[int, ...], int]] = []
    decisions: list[Index] = []
    stores: list[tuple[Store, int]] = []

    def at(x: Any) -> int:
        return place[_constant(x) if type(x) is float else x]

    for s in statements:
        if isinstance(s, Store):
            stores.append((s, at(s.value)))
        elif isinstance(s, Select):
            place[s] = len(place)
            steps.append((Select, (len(decisions), at(s.a), at(s.b)), place[s]))
            decisions.append(s.condition)
        elif isinstance(s, Value):
            place[s] = len(place)
            steps.append((_RULES[s.op], tuple(at(a) for a in s.args), place[s]))
    leaves = [(x, k) for x, k in place.items() if x in needed and x in inside]
    return _StatementBlock(outer, reads, decisions, constants, steps, leaves, stores, len(place))


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
        arguments = [*program.inputs, *([] if program.uniform is None else [program.uniform])]
        self.memory: dict[Any, list[_Known]] = {r: [0] * r.size for r in arguments}
        self.memory |= {r: [_ZERO] * r.size for r in (*program.outputs, *program.scratch)}
        self.tables: dict[Any, list[float]] = {}
        self.values: dict[Any, _Known] = {}
        self.parts: dict[int, list[Any]] = {}
        self._prepare(program.body, _read_elsewhere(program.body))

    def _prepare(self, statements: tuple[Any, ...], needed: set[Any]) -> None:
        """Cut statements into blocks and those that steer others, inside these too."""
        found: list[Any] = []
        for plain, s in _pieces(statements):
            found += [_block(plain, needed)] if plain else []
            found += [] if s is None else [s]
            if isinstance(s, For | If | Attributed | SimdRegion):
                self._prepare(s.body, needed)
        self.parts[id(statements)] = found

    def real(self, x: Any) -> _Known:
        if type(x) is float:
            return _constant(x)
        return self.values[x]

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
            return found.tolist() if isinstance(found, np.ndarray) else [found] * rounds

        reads = [(self._source(s.buffer), listed(s.index)) for s in block.reads]
        stores = [(self.memory[s.buffer], listed(s.index), place) for s, place in block.stores]
        return reads, [listed(x) for x in block.decisions], stores

    def _source(self, where: Any) -> Sequence[_Known]:
        if not isinstance(where, Table):
            return self.memory[where]
        if where not in self.tables:
            self.tables[where] = [_constant(x) for x in where.values.ravel().tolist()]
        return self.tables[where]

    def _block(self, block: _StatementBlock, places: Any, k: int) -> None:
        reads, decisions, stores = places
        numbers = [self.real(x) for x in block.outer]
        numbers += [where[at[k]] for where, at in reads]
        numbers += block.constants
        numbers += [_ZERO] * (block.size - len(numbers))
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
