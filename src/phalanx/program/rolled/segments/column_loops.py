# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The matrix of one state of a chain whose columns are loops over rows: as many columns as there are lanes.

The lanes of a register have neighbouring columns, whose loops run in lockstep over the same rows. Entries
above the diagonal are computed and discarded: they belong to the columns before.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...ir import Index, IntExpr, Load, Real, int_expr, less, plus, select, times
from ...ops import SELECT
from .. import leaves as L
from ..stages.bodies import BodyBuilder, Stage, StageLayout, Where
from ..stages.columns import Columns
from ..stages.loops import BodyLoop
from ..stages.matrices import MatrixOut
from .columns import on_diagonal


def columns_in_lanes(layout: StageLayout, stage: Stage) -> Columns | None:
    """The entries of a stage that writes a matrix whose columns can be in lanes; None of any other stage."""
    if not isinstance(stage, MatrixOut) or layout.parents is not None or layout.joints is not None:
        return None
    entries = stage.entries
    if not isinstance(entries, Columns) or entries.which == "rows" or entries.sums or entries.kept:
        return None
    return entries


class ColumnLoopsSideBySide:
    """Groups of columns, as many as there are lanes.

    The last group ends with the last column. Where columns do not fill all groups, the first two overlap.
    """

    def __init__(self, b: BodyBuilder, entries: Columns) -> None:
        self.b, self.entries = b, entries
        self.square = entries.which == "square"
        self.rest, self.blocks = b.n % b.lanes, b.n // b.lanes
        self.firsts = np.append([0] if self.rest else [], np.arange(self.rest, b.n, b.lanes)).astype(int)
        self.column = b.buffer("column", b.n * entries.slots)
        self.tile, self.mirror = b.buffer("tile", b.n), b.buffer("mirror", b.lanes)
        # What rows read of the body of their column: spill slots of bodies, and parameters.
        of_column = dict.fromkeys(
            leaf
            for loop in entries.loops
            for leaf in _leaves(loop)
            if isinstance(leaf, L.Param | L.SpillSlot)
            and (leaf.whose == L.COLUMN or (isinstance(leaf, L.Param) and leaf.whose == L.DIAGONAL))
        )
        self.of_column = {leaf: k for k, leaf in enumerate(of_column)}
        self.given = b.buffer("of columns", len(self.firsts) * len(self.of_column))

    def build(self) -> None:
        b = self.b
        if self.of_column:
            self._lay_out()
        with b.part(b.lanes), b.loop(len(self.firsts)) as groups:
            first = b.entry("first columns", self.firsts, groups.index)
            for loop in self.entries.loops:
                self._loop(loop, groups.index, first)
            self._diagonal(first)
            self._out(groups.index, first)

    def _lay_out(self) -> None:
        """What rows read of the bodies of columns, interleaved for SIMD lanes."""
        b, lane, width = self.b, np.arange(self.b.lanes), len(self.of_column)
        places = np.arange(len(self.firsts))[:, None] * width * b.lanes + lane
        with b.part(1), b.loop(places.size) as loop:
            body = b.entry("columns", (self.firsts[:, None] + lane).ravel(), loop.index)
            place = b.entry("places of columns", places.ravel(), loop.index)
            for leaf, k in self.of_column.items():
                value = b.read(replace(leaf, whose=L.OWN), {L.OWN: body})
                b.store(self.given, plus(place, k * b.lanes), value)

    # ------------------------------------------------------------- a group of columns

    def _loop(self, loop: BodyLoop, group: Index, first: Index) -> None:
        """One loop over rows, from the first column of a group on, or over all rows of a square matrix."""
        b, slots = self.b, self.entries.slots
        read_on = [x for x in _leaves(loop) if isinstance(x, L.SpillSlot) and x.whose == L.DIAGONAL]
        on: dict[L.Leaf, Real] = {x: self._on_diagonal_of(x, first) for x in read_on}
        rows = np.repeat(np.arange(b.n)[:, None], b.lanes, 1)

        def at(row: Index) -> Where:
            return {L.OWN: row, L.ROW: row, L.OWNER: b.wide_entry("rows of columns", rows, row)}

        def read(what: L.Leaf, where: Where) -> Real:
            if isinstance(what, L.Delta):
                return self._is_own(where[L.OWN], first)
            if what in on:
                return on[what]
            if what in self.of_column:
                return b.load(self.given, plus(times(group, len(self.of_column)), self.of_column[what]))
            if isinstance(what, L.SpillSlot) and what.whose == L.OWN:
                return b.load(self.column, plus(times(where[L.OWN], slots), what.slot))
            return b.read(what, where)

        def write(target: L.Leaf, where: Where, value: Real, quantity: str) -> None:
            if isinstance(target, L.SpillSlot):
                b.store(self.column, plus(times(where[L.OWN], slots), target.slot), value)
            elif isinstance(target, L.EntryLeaf):
                b.store(self.tile, where[L.OWN], value)
            else:
                raise TypeError(f"rolled program: columns side by side have no place for {target}.")

        begins = None
        if loop.outward and not self.square:  # a column begins at its own row, rows before are discarded
            begins = lambda row: self._is_own(row, first)  # noqa: E731
        loop.over(b, 0 if self.square else first, b.n, at, read, write, begins=begins)

    def _is_own(self, row: Index, first: Index) -> Real:
        """One in the lane whose column is a row, zero in all others."""
        lanes, further = self.b.lanes, less(row, first)
        place = select(int_expr("lt", further, lanes), further, lanes)
        if self.square:
            place = select(int_expr("lt", further, 0), lanes, place)
        return self._mask("own", np.eye(lanes + 1, lanes), place)

    def _mask(self, name: str, values: np.ndarray, row: Index) -> Real:
        return self.b.load(self.b.table(name, values, wide=True), row)

    def _on_diagonal_of(self, slot: L.SpillSlot, first: Index) -> Real:
        """What the diagonal entry of each column has in a slot."""
        b = self.b
        with b.loop(b.lanes) as rows:
            found = rows.carry(0.0)
            place = times(plus(first, rows.index), self.entries.slots)
            here = b.load(self.column, plus(place, slot.slot))
            own = self._mask("own", np.eye(b.lanes + 1, b.lanes), rows.index)
            rows.feed(found, b.value(SELECT, own, here, found))
        return found

    def _diagonal(self, first: Index) -> None:
        """Complete the block on the diagonal: entries above it are mirror images."""
        b, lanes = self.b, self.b.lanes
        if not self.square:
            b.copy(
                self.mirror, IntExpr("lanes", tuple(range(0, lanes * lanes, lanes))), self.tile, first, lanes
            )
        with b.loop(lanes) as rows:
            row = plus(first, rows.index)
            value = b.load(self.tile, row)
            if not self.square:
                below = self._mask("below", np.tril(np.ones((lanes, lanes))), rows.index)
                value = b.value(SELECT, below, value, b.load(self.mirror, rows.index))
            own = self._mask("own", np.eye(lanes + 1, lanes), rows.index)
            b.store(self.tile, row, on_diagonal(b, self.entries, row, own, value))

    # ------------------------------------------------------------- output

    def _out(self, group: Index, first: Index) -> None:
        """The columns of a group, also as rows, in blocks of as many rows as there are lanes."""
        b = self.b
        begin: Index = 0
        if not self.square:
            self._block_out(first, first)
            begin = plus(group, self.rest == 0)
        elif self.rest:
            self._block_out(first, 0)
        more = int_expr("gt", self.blocks, begin)
        with b.only_if(more), b.loop(self.blocks, first=begin) as blocks:
            self._block_out(first, plus(times(blocks.index, b.lanes), self.rest))

    def _block_out(self, first: Index, row: Index) -> None:
        b = self.b
        out, lanes = b.outputs[L.OUT], range(b.lanes)
        values = [b.load(self.tile, plus(row, k)) for k in lanes]
        across = IntExpr("lanes", tuple(plus(times(plus(first, k), b.n), row) for k in lanes))
        for k in lanes:
            b.store(out, plus(across, k), values[k])
        if not self.square:
            for k in lanes:
                b.store(out, plus(times(plus(row, k), b.n), first), values[k])


def _leaves(loop: BodyLoop) -> list[L.Leaf]:
    return [s.buffer for s in loop.code.body if type(s) is Load]
