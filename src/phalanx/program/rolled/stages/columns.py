# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices over bodies whose columns, or rows, are computed one at a time by loops over pairs of bodies."""

from __future__ import annotations

from dataclasses import dataclass

from ...builder import run
from ...ir import Index, Program, Real, int_expr, plus, times
from .. import leaves as L
from .bodies import BodyBuilder, Where
from .loops import BodyLoop, Read
from .matrices import MatrixEntries, Store


@dataclass(frozen=True)
class Columns(MatrixEntries):
    """Matrix entries computed column by column, or row by row, by `loops` over the pairs of each.

    `sums` are then taken over the bodies from the row to the last one. The values of other pairs that they
    read are stored beforehand by the loops of `kept`.
    """

    loops: list[BodyLoop]
    slots: int  # spilled from one loop to the next, for one column at a time
    which: str
    sums: tuple[Program, ...] = ()
    kept: Columns | None = None

    @property
    def shape(self) -> str:
        return self.which

    def of(self, b: BodyBuilder, body: Index, store: Store) -> None:
        column = b.buffer("column", b.n * self.slots * b.privates)
        first, end = {"columns": (body, b.n), "rows": (0, plus(body, 1)), "square": (0, b.n)}[self.which]

        def at(inner: Index) -> Where:
            row, col = (body, inner) if self.which == "rows" else (inner, body)
            return {L.OWN: inner, L.ROW: row, L.COLUMN: col, L.DIAGONAL: body, L.OWNER: row}

        def slot(what: L.SpillSlot, where: Where) -> Index:
            index = plus(times(where[what.whose], self.slots), what.slot)
            return plus(times(index, b.privates), b.private)

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
                b.store(b.buffers["pairs"], self.place(where[L.OWN], body, target.number), value)
            elif isinstance(target, L.EntryLeaf):
                store(value, where[L.OWN])
            else:
                raise TypeError(f"rolled program: a loop over pairs has no place for {target}.")

        for loop in self.loops:
            loop.over(b, first, end, at, read, write, tree=b.tree)

    def prepare(self, b: BodyBuilder) -> None:
        """Store the values of other pairs that sums read."""
        if self.kept is None:
            return
        b.buffer("pairs", b.n * (b.n + 1) // 2 * self.kept.keeps)
        kept = self.kept
        b.over_columns(lambda body: kept.of(b, body, lambda value, other: None))

    @property
    def keeps(self) -> int:
        """The number of values that are stored for each pair."""
        return sum(isinstance(t, L.StoredPair) for loop in self.loops for t in loop.targets)

    def place(self, row: Index, column: Index, number: int) -> Index:
        """Return the index of a stored value of a pair of a chain, in packed lower-triangular order."""
        pair = plus(int_expr("div", times(row, plus(row, 1)), 2), column)
        return plus(times(pair, self.keeps), number)

    def _sum(self, b: BodyBuilder, number: int, where: Where, read: Read) -> Real:
        """Append a loop that sums over the bodies from the row of a pair on; return the sum."""
        with b.loop(b.n, first=where[L.ROW]) as loop:
            so_far, third = loop.carry(0.0), {**where, L.THIRD: loop.index}

            def leaf(what: L.Leaf) -> Real:
                if isinstance(what, L.SoFar):
                    return so_far
                if isinstance(what, L.StoredPair):
                    assert self.kept is not None
                    index = self.kept.place(loop.index, where[what.side], what.number)
                    return b.load(b.buffers["pairs"], index)
                return read(what, third)

            loop.feed(so_far, run(b, self.sums[number], leaf)[0])
        return so_far
