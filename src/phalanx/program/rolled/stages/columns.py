# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices over bodies whose columns, or rows, are computed one at a time by loops over pairs of bodies."""

from __future__ import annotations

from dataclasses import dataclass

from ...form.builder import run
from ...form.program import Index, Real, int_expr, plus, times
from ...rewrite import Code
from .. import leaves as L
from .bodies import BodyBuilder, Where
from .loops import BodyLoop, Read
from .matrices import MatrixEntries, Store


@dataclass(frozen=True)
class Columns(MatrixEntries):
    """Loops over the pairs of one column after another, or of one row.

    A sum runs over the bodies from the row on. What it reads of other pairs, the loops of `kept` have
    saved beforehand.
    """

    loops: list[BodyLoop]
    slots: int  # kept from one loop to the next, for one column at a time
    which: str
    sums: tuple[Code, ...] = ()
    kept: Columns | None = None

    @property
    def shape(self) -> str:
        return self.which

    def of(self, b: BodyBuilder, body: Index, store: Store) -> None:
        column = b.region("column", b.n * self.slots)
        first, end = {"columns": (body, b.n), "rows": (0, plus(body, 1)), "square": (0, b.n)}[self.which]

        def at(inner: Index) -> Where:
            row, col = (body, inner) if self.which == "rows" else (inner, body)
            return {L.OWN: inner, L.ROW: row, L.COLUMN: col, L.DIAGONAL: body, L.OWNER: row}

        def slot(what: L.SpillSlot, where: Where) -> Index:
            return plus(times(where[what.whose], self.slots), what.slot)

        def read(what: L.Leaf, where: Where) -> Real:
            if isinstance(what, L.Delta):
                return b.choice(int_expr("eq", where[L.OWN], body), 1.0, 0.0)
            if isinstance(what, L.SpillSlot) and what.whose in (L.OWN, L.DIAGONAL):
                return b.load(column, slot(what, where))
            return self._sum(b, what.number, where, read) if isinstance(what, L.Sum) else b.read(what, where)

        def write(target: L.Leaf, where: Where, value: Real, quantity: str) -> None:
            if isinstance(target, L.SpillSlot):
                b.store(column, slot(target, where), value)
            elif isinstance(target, L.StoredPair):
                b.store(b.regions["pairs"], self.place(where[L.OWN], body, target.number), value)
            elif isinstance(target, L.EntryLeaf):
                store(value, where[L.OWN])
            else:
                raise TypeError(f"rolled program: a loop over pairs has no place for {target}.")

        for loop in self.loops:
            loop.over(b, first, end, at, read, write, tree=b.tree)

    def prepare(self, b: BodyBuilder) -> None:
        """Save what sums need of other pairs."""
        if self.kept is None:
            return
        b.region("pairs", b.n * (b.n + 1) // 2 * self.kept.keeps)
        with b.loop(b.n) as loop:
            self.kept.of(b, loop.index, lambda value, body: None)

    @property
    def keeps(self) -> int:
        """Values that are kept of each pair."""
        return sum(isinstance(t, L.StoredPair) for loop in self.loops for t in loop.targets)

    def place(self, row: Index, column: Index, number: int) -> Index:
        """The place of a saved value of a pair of a chain."""
        pair = plus(int_expr("div", times(row, plus(row, 1)), 2), column)
        return plus(times(pair, self.keeps), number)

    def _sum(self, b: BodyBuilder, number: int, where: Where, read: Read) -> Real:
        """A sum over the bodies from the row of a pair on."""
        with b.loop(b.n, first=where[L.ROW]) as rounds:
            so_far, third = rounds.carry(0.0), {**where, L.THIRD: rounds.index}

            def leaf(what: L.Leaf) -> Real:
                if isinstance(what, L.SoFar):
                    return so_far
                if isinstance(what, L.StoredPair):
                    assert self.kept is not None
                    place = self.kept.place(rounds.index, where[what.side], what.number)
                    return b.load(b.regions["pairs"], place)
                return read(what, third)

            rounds.feed(so_far, run(b, self.sums[number], leaf)[0])
        return so_far
