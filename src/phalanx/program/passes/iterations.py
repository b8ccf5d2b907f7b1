# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Passes for work-groups: SIMD lanes of one state as parallel iterations, and serial code as a single one.

A work-group distributes the iterations of a `ParallelFor` over its work-items. All else its items would
compute redundantly: on a processor that is as much work as there are items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...errors import PhalanxError
from ..ir import (
    Buffer,
    Containers,
    For,
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
    Table,
    Until,
    Value,
    checked,
    int_expr,
    is_wide,
    operands_of,
    plus,
    statements,
    stores_output,
    times,
)


def lanes_as_iterations(program: Program) -> Program:
    """The program with one lane, whose parallel iterations are the lanes of SIMD regions.

    Lanes must not run in lockstep: each reaches its own numbers only.
    """
    lanes = program.lanes
    scratch = {b: replace(b, size=b.size * lanes) if lanes > 1 else b for b in program.scratch}
    body: list[Any] = []
    for width, inside in _by_width(program):
        if width == 1:
            body += _Lane(scratch, 0, 1).body(inside)
        else:
            lane = InductionVariable()
            body.append(ParallelFor(lane, 0, width, tuple(_Lane(scratch, lane, width).body(inside))))
    return checked(replace(program, body=tuple(body), scratch=tuple(scratch.values()), lanes=1))


def _by_width(program: Program) -> list[tuple[int, tuple[Any, ...]]]:
    """(width, statements) of SIMD regions; neighbours of one width are joined, unless both store outputs.

    Several lanes may then store the same output, one region after the other.
    """
    made: list[tuple[int, tuple[Any, ...]]] = []
    for s in program.body:
        width, body = (s.width, s.body) if isinstance(s, SimdRegion) else (program.lanes, (s,))
        if made and made[-1][0] == width and not (stores_output(made[-1][1]) and stores_output(body)):
            made[-1] = width, made[-1][1] + body
        else:
            made.append((width, body))
    return made


class _Lane:
    """Rewrites the statements of a SIMD region for one of its lanes."""

    def __init__(self, scratch: dict[Buffer, Buffer], lane: Index, width: int) -> None:
        self.scratch, self.lane, self.width = scratch, lane, width
        self._tables: dict[Table, Table] = {}
        self._values: dict[Any, Any] = {}

    def body(self, body: tuple[Any, ...]) -> list[Any]:
        return [self._statement(s) for s in body]

    def _statement(self, s: Any) -> Any:
        made: Any
        if isinstance(s, Load):
            made = Load(*self._address(s.buffer, s.index))
            made.quantity, made.body_index = s.quantity, s.body_index
        elif isinstance(s, Store):
            made = Store(*self._address(s.buffer, s.index), self._real(s.value))
        elif isinstance(s, Value):
            made = s.on(tuple(map(self._real, s.args)))
        elif isinstance(s, Select):
            made = Select(self._index(s.condition), self._real(s.a), self._real(s.b))
        elif isinstance(s, For):
            carried = tuple(LoopCarried(self._real(c.start)) for c in s.carried)
            self._values.update(zip(s.carried, carried, strict=True))
            body = tuple(self.body(s.body))
            yields = tuple(map(self._real, s.yields))
            first, end = self._index(s.first), self._index(s.end)
            successor = None if s.successor is None else self._index(s.successor)
            return replace(
                s, first=first, end=end, carried=carried, yields=yields, body=body, successor=successor
            )
        elif isinstance(s, SimdRegion | Until | ParallelFor):
            raise PhalanxError(
                f"segments: a {type(s).__name__} inside of a SIMD region has no parallel iterations; take "
                "another algorithm."
            )
        elif isinstance(s, Containers):
            field = "condition" if hasattr(s, "condition") else "body_index"
            return replace(s, **{field: self._index(getattr(s, field))}, body=tuple(self.body(s.body)))
        else:
            raise TypeError(f"iterations: no rule for the statement {type(s).__name__}.")
        self._values[s] = made
        return made

    def _real(self, x: Any) -> Any:
        return x if isinstance(x, float) else self._values[x]

    def _address(self, buffer: Any, index: Index) -> tuple[Any, Index]:
        if isinstance(buffer, Table):
            return self._table(buffer), self._own(index) if buffer.wide else self._index(index)
        if buffer.kind == "scratch":
            return self.scratch[buffer], self._own(index)
        found = self._index(index)
        if buffer.kind == "uniform" or is_wide(index):
            return buffer, found
        return buffer, plus(found, self.lane) if self.width > 1 else found

    def _own(self, index: Index) -> Index:
        """The index of the lane's own number where lanes are interleaved."""
        if self.width > 1 and is_wide(index):
            raise PhalanxError("segments: a segment accesses another one; take another algorithm.")
        return (
            plus(times(self._index(index), self.width), self.lane) if self.width > 1 else self._index(index)
        )

    def _table(self, table: Table) -> Table:
        if not table.wide:
            return table
        if table not in self._tables:
            self._tables[table] = Table(table.name, table.values.ravel())
        return self._tables[table]

    def _index(self, x: Any) -> Any:
        if not isinstance(x, IntExpr):
            return x
        if x.op == "entry" and x.args[0].wide:
            return int_expr("entry", self._table(x.args[0]), self._own(x.args[1]))
        if x.op == "lanes":
            if len(x.args) > 1:
                raise PhalanxError("segments: lanes in lockstep have no parallel iterations.")
            return self._index(x.args[0])
        return int_expr(x.op, *map(self._index, x.args))


# ------------------------------------------------------------------- serial code


def in_single_iterations(program: Program) -> Program:
    """The program with runs of serial statements as parallel loops of one iteration.

    Runs whose values others use, and loops with carried values around parallel ones, stay as they are.
    """
    return checked(replace(program, body=_wrapped(program.body, _users(program))))


def _users(program: Program) -> dict[Any, set[int]]:
    """For each value, the statements (their id) whose operand it is."""
    found: dict[Any, set[int]] = {}
    for s in statements(program.body):
        for x in operands_of(s):
            if not isinstance(x, float):
                found.setdefault(x, set()).add(id(s))
    return found


def _wrapped(body: tuple[Any, ...], users: dict[Any, set[int]]) -> tuple[Any, ...]:
    made: list[Any] = []
    run: list[Any] = []
    for s in (*body, None):
        if s is not None and not any(isinstance(x, ParallelFor) for x in statements((s,))):
            run.append(s)
            continue
        if run:
            made += [ParallelFor(InductionVariable(), 0, 1, tuple(run))] if _is_closed(run, users) else run
            run = []
        if isinstance(s, ParallelFor) or s is None:
            made += [s] * (s is not None)
        else:
            made.append(replace(s, body=_wrapped(s.body, users)))
    return tuple(made)


def _is_closed(run: list[Any], users: dict[Any, set[int]]) -> bool:
    """Whether only statements of a run use its values, and it stores something."""
    inside = list(statements(tuple(run)))
    known = {id(s) for s in inside}
    if not any(isinstance(s, Store) for s in inside):
        return False
    return all(users.get(x, known) <= known for s in inside for x in _defined(s))


def _defined(s: Any) -> Iterator[Any]:
    if isinstance(s, For | Until):
        yield from s.carried
    elif not isinstance(s, Containers | Store):
        yield s
