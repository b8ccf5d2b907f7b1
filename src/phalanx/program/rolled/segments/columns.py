# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The matrix of one state of a chain: columns side by side walk along their common ancestors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...form.builder import Loop, run
from ...form.program import Final, Real
from ...form.wholes import Index, plus, select, times, whole
from ...ops import CHOOSE
from .. import leaves as L
from ..stages.bodies import BodyBuilder, Layout, Stage
from ..stages.matrices import MatrixOut, Pairs


def walked_pairs(layout: Layout, stage: Stage) -> Pairs | None:
    """The entries of a stage that writes a matrix whose columns can walk side by side."""
    if not isinstance(stage, MatrixOut) or layout.parents is not None or layout.joints is not None:
        return None
    return stage.entries if isinstance(stage.entries, Pairs) else None


def columns_side_by_side(b: BodyBuilder, entries: Pairs) -> None:
    """Append the matrix; the last group of columns overlaps the one before it rather than leave lanes."""
    firsts = np.append(np.arange(0, b.n - b.lanes, b.lanes), b.n - b.lanes)
    _lay_out(b, entries, firsts)
    with b.part(b.lanes), b.loop(len(firsts)) as groups:
        _Group(b, entries, b.entry("first columns", firsts, groups.index), groups.index).build()


def _lay_out(b: BodyBuilder, entries: Pairs, firsts: np.ndarray) -> None:
    """What columns begin with, side by side."""
    starts = b.region("starts", len(firsts) * len(entries.start))
    lane = np.arange(b.lanes)
    places = np.arange(len(firsts))[:, None] * len(entries.start) * b.lanes + lane
    with b.part(1), b.loop(places.size) as loop:
        body = b.entry("columns", (firsts[:, None] + lane).ravel(), loop.index)
        place = b.entry("places of columns", places.ravel(), loop.index)
        for k, x in enumerate(entries.start):
            b.store(starts, plus(place, k * b.lanes), b.value_of(body, x))


class _Group:
    """As many columns as there are lanes, from `first` on."""

    def __init__(self, b: BodyBuilder, entries: Pairs, first: Index, number: Index) -> None:
        self.b, self.entries, self.first, self.number = b, entries, first, number
        self.kept = b.region("kept columns", b.n)
        self.block = b.region("block", b.lanes)

    def build(self) -> None:
        b, first = self.b, self.first
        count = len(self.entries.start)
        starts = [
            b.load(b.regions["starts"], plus(times(self.number, count), k), alike=False) for k in range(count)
        ]
        with b.loop(b.lanes, down=True) as rounds:
            own = self._mask("own", np.eye(b.lanes), rounds.index)
            again = [rounds.carry(0.0) for _ in starts]
            here = [b.value(CHOOSE, own, x, c) for x, c in zip(starts, again, strict=True)]
            body = plus(first, rounds.index)
            b.store(self.kept, body, self._on_diagonal(body, own, self._step(rounds, again, here, body)))
        self._mirror_block()
        with b.only_if(whole("gt", first, 0)), b.loop(first, down=True) as rounds:
            carried = [rounds.carry(Final(c)) for c in again]
            entry = self._step(rounds, carried, carried, rounds.index)
            b.store(self.kept, rounds.index, entry)
            b.store(b.outputs["out"], plus(times(rounds.index, b.n), first), entry)
        self._rows_out()

    def _step(self, rounds: Loop, carried: Any, here: list[Any], body: Index) -> Real:
        """The entries with a body; what the columns carry on goes round."""
        given = {L.Walked(k): x for k, x in enumerate(here)}
        *again, entry = run(self.b, self.entries.code, self.b.reader({L.THERE: body}, given))
        for name, value in zip(carried, again, strict=True):
            rounds.feed(name, value)
        return entry

    def _mask(self, name: str, values: np.ndarray, row: Index) -> Real:
        return self.b.number(self.b.table(name, values, wide=True), row)

    def _on_diagonal(self, body: Index, own: Real, entry: Real) -> Real:
        b, entries = self.b, self.entries
        value = entry if entries.instead is None else b.value_of(body, entries.instead)
        if entries.adds:
            value = b.add(value, b.value_of(body, entries.diagonal))
        return entry if value is entry else b.value(CHOOSE, own, value, entry)

    def _mirror_block(self) -> None:
        """Entries of these columns with each other: those that no column has walked to are mirror images."""
        b = self.b
        rows = tuple(range(0, b.lanes * b.lanes, b.lanes))
        b.weave(self.kept, self.first, self.block, rows, b.lanes, back=True)
        with b.loop(b.lanes) as loop:
            place = plus(self.first, loop.index)
            walked = self._mask("walked", np.triu(np.ones((b.lanes, b.lanes))), loop.index)
            both = (b.load(self.kept, place, alike=False), b.load(self.block, loop.index, alike=False))
            b.store(self.kept, place, b.value(CHOOSE, walked, *both))

    def _rows_out(self) -> None:
        """The columns as rows, up to the last one; whole blocks, of which the last two may overlap."""
        b, first = self.b, self.first
        rows = [times(plus(first, k), b.n) for k in range(b.lanes)]
        with b.loop(whole("div", plus(first, 2 * b.lanes - 1), b.lanes)) as blocks:
            column = times(blocks.index, b.lanes)
            column = select(whole("gt", column, first), first, column)
            places = tuple(plus(row, column) for row in rows)
            b.weave(self.kept, column, b.outputs["out"], places, b.lanes, back=True)
