# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The matrix of one state of a chain: columns side by side walk along their common ancestors.

Ancestors come in runs as long as there are lanes, so that rows and columns of the matrix are whole registers.
A walk that is linear need not go body by body: once for all columns, unit vectors walk along each run; what
they become are the coefficients with which any column passes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

import numpy as np

from ...builder import OpenLoop
from ...ir import Index, IntExpr, Real, Scalar, alike, int_expr, plus, select, times
from ...ops import FMA, MUL, SELECT
from .. import leaves as L
from ..stages.bodies import BodyBuilder, Stage, StageLayout
from ..stages.matrices import AncestorPairs, MatrixEntries, MatrixOut

_SPAN = 32  # columns that go side by side along a run before the next run
_GAP = 512  # numbers from one tile to the next
# Bodies from which threads share the columns: up to there the matrix is in caches, and its lines would move
# between cores (benchmarks/one_state.py).
_SHARED = 2048


def walked_pairs(layout: StageLayout, stage: Stage) -> AncestorPairs | None:
    """The entries of a stage that writes a matrix whose columns can walk side by side."""
    if not isinstance(stage, MatrixOut) or layout.parents is not None or layout.joints is not None:
        return None
    return stage.entries if isinstance(stage.entries, AncestorPairs) else None


class ColumnsSideBySide:
    """Groups of columns, as many as there are lanes; group g begins where run g of their ancestors does.

    Bodies before the first run are a group of their own, which overlaps the first one.
    """

    def __init__(self, b: BodyBuilder, entries: AncestorPairs, *, linear: bool) -> None:
        self.b, self.entries, self.linear = b, entries, linear
        self.rest, self.count = b.n % b.lanes, b.n // b.lanes
        self.firsts = np.append(np.arange(self.rest, b.n, b.lanes), [0] if self.rest else []).astype(int)
        self.width = len(entries.start)
        self.units = -(-self.width // b.lanes)  # registers that hold a unit vector in each lane
        self.rows = b.lanes + self.width  # of coefficients of a run: entries, then what is carried on
        self.span = max(1, _SPAN // b.lanes)  # groups that go side by side, and threads take at once
        spans = self.count // self.span + 1 if b.n >= _SHARED else 1
        self.tile, self.mirror = (b.buffer(name, spans * _apart(b.lanes)) for name in ("tile", "mirror"))
        self.place: Index = 0  # of the tile of a span
        self.carried = b.buffer("carried", len(self.firsts) * self.width)

    def build(self) -> None:
        b, whole, rest = self.b, *divmod(self.count, self.span)
        self._lay_out()
        if self.linear:
            with b.part(b.lanes), b.loop(self.count) as runs:
                self._coefficients(runs.index)
        if self.rest:
            with b.part(b.lanes):
                self._diagonal(self.count, 0)
        if whole and b.n >= _SHARED:
            with b.parallel(whole) as number, b.part(b.lanes):
                self._span_in(number, self.span)
        elif whole:
            with b.part(b.lanes), b.loop(whole) as spans:
                self._span_in(spans.index, self.span)
        if rest:
            with b.part(b.lanes):
                self._span_in(whole, rest)

    def _span_in(self, number: Index, count: int) -> None:
        """The span of a number, in a tile of its own if threads share them."""
        self.place = times(number, _apart(self.b.lanes)) if self.b.n >= _SHARED else 0
        self._span(times(number, self.span), count)
        self.place = 0

    def _span(self, start: Index, count: int) -> None:
        """Compute the columns of `count` groups, as many as caches hold, so that stores are contiguous."""
        b = self.b
        end = plus(start, count)
        with b.loop(end, first=start) as groups:
            self._diagonal(groups.index, self._first(groups.index))
        with b.only_if(int_expr("gt", end, 1)), b.loop(plus(end, -1), down=True) as runs:
            behind = plus(runs.index, 1)
            behind = select(int_expr("lt", behind, start), start, behind)
            with b.loop(end, first=behind) as groups:
                self._past(groups.index, self._first(runs.index), b.lanes, runs.index)
        if self.rest:
            with b.loop(end, first=start) as groups:
                self._past(groups.index, 0, self.rest)

    def _first(self, group: Index) -> Index:
        return plus(times(group, self.b.lanes), self.rest)

    def _lay_out(self) -> None:
        """The start values of all columns, interleaved for SIMD lanes."""
        b, lane = self.b, np.arange(self.b.lanes)
        places = np.arange(len(self.firsts))[:, None] * self.width * b.lanes + lane
        with b.part(1), b.loop(places.size) as loop:
            body = b.entry("columns", (self.firsts[:, None] + lane).ravel(), loop.index)
            place = b.entry("places of columns", places.ravel(), loop.index)
            for k, x in enumerate(self.entries.start):
                b.store(self.carried, plus(place, k * b.lanes), b.value_of(body, x))

    # ------------------------------------------------------------- a group of columns

    def _owned(self, group: Index) -> AbstractContextManager[None]:
        owners = self.firsts[:, None] + np.arange(self.b.lanes)
        return self.b.attributed_to(self.b.wide_entry("columns side by side", owners, group))

    def _load(self, group: Index) -> list[Real]:
        place = times(group, self.width)
        return [self.b.load(self.carried, plus(place, k)) for k in range(self.width)]

    def _save(self, group: Index, values: Sequence[Real]) -> None:
        for k, x in enumerate(values):
            self.b.store(self.carried, plus(times(group, self.width), k), x)

    def _diagonal(self, group: Index, first: Index) -> None:
        """The entries of columns with each other: those that no column has walked to are mirror images."""
        b = self.b
        starts = self._load(group)
        with b.loop(b.lanes, down=True) as rounds, self._owned(group):
            own = self._mask("own", np.eye(b.lanes), rounds.index)
            again = [rounds.carry(0.0) for _ in starts]
            here = [b.value(SELECT, own, x, c) for x, c in zip(starts, again, strict=True)]
            body = plus(first, rounds.index)
            entry = self._step(rounds, again, here, body)
            value = on_diagonal(b, self.entries, body, own, entry)
            b.store(self.tile, plus(self.place, rounds.index), value)
        self._save(group, again)
        first_number = times(self.place, b.lanes)
        rows = tuple(plus(first_number, k) for k in range(0, b.lanes * b.lanes, b.lanes))
        b.copy(self.mirror, IntExpr("lanes", rows), self.tile, self.place, b.lanes)
        with b.loop(b.lanes) as loop:
            walked = self._mask("walked", np.triu(np.ones((b.lanes, b.lanes))), loop.index)
            row = plus(self.place, loop.index)
            both = (b.load(buffer, row) for buffer in (self.tile, self.mirror))
            b.store(self.tile, row, b.value(SELECT, walked, *both))
        self._rows_out(first, first, b.lanes)

    def _past(self, group: Index, top: Index, count: int, number: Index | None = None) -> None:
        """A group past some ancestors from `top` on, or past the run of a number."""
        first, starts = self._first(group), self._load(group)
        if self.linear and number is not None:
            with self._owned(group):
                self._save(group, self._pass_run(number, starts, first, top))
        else:
            self._save(group, self._walk(group, starts, first, top, count))
            self._rows_out(first, top, count)

    def _walk(self, group: Index, starts: list[Real], first: Index, top: Index, count: int) -> Sequence[Real]:
        """Walk the columns of a group past `count` ancestors, nearest first; return the carried values."""
        b = self.b
        with b.loop(count, down=True) as rounds, self._owned(group):
            carried = [rounds.carry(x) for x in starts]
            body = plus(top, rounds.index)
            entry = self._step(rounds, carried, carried, body)
            b.store(self.tile, plus(self.place, rounds.index), entry)
            b.store(b.outputs["out"], plus(times(body, b.n), first), entry)
        return carried

    def _step(self, rounds: OpenLoop, carried: Any, here: Any, body: Index) -> Real:
        """The entries with a body; what the columns carry on is loop-carried."""
        *again, entry = self.entries.step(self.b, here, body)
        for name, value in zip(carried, again, strict=True):
            rounds.feed(name, value)
        return entry

    def _mask(self, name: str, values: np.ndarray, row: Index) -> Real:
        return self.b.load(self.b.table(name, values, wide=True), row)

    # ------------------------------------------------------------- runs of ancestors

    def _coefficients(self, number: Index) -> None:
        """The map of a run, from unit vectors: matrix entries with its bodies and carried values after it."""
        b, rows = self.b, self.rows
        buffer = b.buffer("coefficients", b.n // b.lanes * rows * self.units)
        units = np.zeros((self.width, self.units * b.lanes))
        units[:, : self.width] = np.eye(self.width)
        table = b.table("unit vectors", units, wide=True)
        for unit in range(self.units):
            starts = [b.load(table, k * self.units + unit) for k in range(self.width)]
            with b.loop(b.lanes, down=True) as rounds:
                carried = [rounds.carry(x) for x in starts]
                body = plus(plus(times(number, b.lanes), self.rest), rounds.index)
                with b.attributed_to(
                    b.wide_entry("units", np.repeat(np.arange(b.n)[:, None], b.lanes, 1), body)
                ):
                    entry = self._step(rounds, carried, carried, body)
                place = plus(times(number, rows), rounds.index)
                b.store(buffer, plus(times(place, self.units), unit), entry)
            for k, end in enumerate(carried):
                place = plus(times(number, rows), b.lanes + k)
                b.store(buffer, plus(times(place, self.units), unit), end)

    def _pass_run(self, number: Index, carried: Sequence[Real], first: Index, top: Index) -> list[Real]:
        """The carried values of columns after a run, and their entries with it, by the coefficients."""
        b = self.b
        buffer, size = b.buffers["coefficients"], self.units * b.lanes
        start = times(number, self.rows * size)

        def product(row: int, which: list[int]) -> Real:
            total: Real | None = None
            for c in which:
                factor = b.load(buffer, alike(plus(start, row * size + c)))
                more = () if total is None else (total,)
                total = b.value(FMA if more else MUL, factor, carried[c], *more)
            return 0.0 if total is None else total

        entries = [product(m, self._reached[-1]) for m in range(b.lanes - 1)]
        entries.append(product(b.lanes - 1, self._direct[-1]))
        for m, entry in enumerate(entries):
            b.store(b.outputs["out"], plus(times(plus(top, m), b.n), first), entry)
        for m, entry in enumerate(entries):
            b.store(b.outputs["out"], plus(self._row_places(first, top), m), entry)
        return [product(b.lanes + k, self._reached[k]) for k in range(self.width)]

    @cached_property
    def _reached(self) -> list[list[int]]:
        """As `_direct`, over any number of ancestors: the transitive closure."""
        known: list[set[int]] = []
        more = [set(found) for found in self._direct]
        while more != known:
            known, more = more, [found.union(*(more[k] for k in found)) for found in more]
        return [sorted(found) for found in known]

    @cached_property
    def _direct(self) -> list[list[int]]:
        """For each carried value, and last the entry, the carried values that one ancestor's step reads."""
        return [sorted(_walked(x)) for x in self.entries.code.results]

    # ------------------------------------------------------------- output

    def _rows_out(self, first: Index, column: Index, count: int) -> None:
        """The columns of a tile as rows."""
        self.b.copy(self.b.outputs["out"], self._row_places(first, column), self.tile, self.place, count)

    def _row_places(self, first: Index, column: Index) -> Index:
        b = self.b
        return IntExpr("lanes", tuple(plus(times(plus(first, k), b.n), column) for k in range(b.lanes)))


def on_diagonal(b: BodyBuilder, entries: MatrixEntries, body: Index, own: Real, entry: Real) -> Real:
    """A row of entries; in the lane of the diagonal with what replaces that, and what is added to it."""
    value = entry if entries.instead is None else b.value_of(body, entries.instead)
    if entries.adds:
        value = b.add(value, b.value_of(body, entries.diagonal))
    return entry if value is entry else b.value(SELECT, own, value, entry)


def _apart(lanes: int) -> int:
    """Indices from the tile of one span to that of the next, far enough for the prefetchers of two cores."""
    return max(lanes, _GAP // lanes)


def _walked(result: Any) -> set[int]:
    """The numbers of the walked values on which a result depends."""
    found, stack, seen = set[int](), [result], set[Any]()
    while stack:
        x = stack.pop()
        if not isinstance(x, Scalar) or x in seen:
            continue
        seen.add(x)
        stack += x.args
        if isinstance(x.leaf, L.Walked):
            found.add(x.leaf.number)
    return found
