# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices over bodies whose columns, or rows, are computed one at a time by loops over pairs of bodies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...form.builder import run
from ...form.program import Carried, Real, Region
from ...form.wholes import Index, plus, times, whole
from ...rewrite import Code
from .. import leaves as L
from .bodies import BodyBuilder
from .loops import Loop
from .matrices import Entries, Store

_MOST = 32  # values that pairs of a tree hand on in one loop


@dataclass(frozen=True)
class Columns(Entries):
    """Loops over the pairs of one column after another, or of one row.

    A sum runs over the bodies from the row on. What it reads of other pairs, the loops of `kept` have
    saved beforehand.
    """

    loops: list[Loop]
    slots: int  # kept from one loop to the next, for one column at a time
    which: str
    sums: tuple[Code, ...] = ()
    kept: Columns | None = None

    @property
    def shape(self) -> str:
        return self.which

    def of(self, b: BodyBuilder, body: Index, store: Store) -> None:
        first, end = {"columns": (body, b.n), "rows": (0, plus(body, 1)), "square": (0, b.n)}[self.which]
        for loop in self.loops:
            _Pass(b, self, loop, body).build(first, end, store)

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
        return sum(isinstance(t, L.KeptPair) for loop in self.loops for t in loop.targets)

    def place(self, row: Index, column: Index, number: int) -> Index:
        """The place of a saved value of a pair of a chain."""
        pair = plus(whole("div", times(row, plus(row, 1)), 2), column)
        return plus(times(pair, self.keeps), number)


class _Pass:
    """One pass over the pairs of the column (or row) `outer`."""

    def __init__(self, b: BodyBuilder, columns: Columns, loop: Loop, outer: Index) -> None:
        self.b, self.columns, self.loop, self.outer = b, columns, loop, outer
        self.column = b.region("column", b.n * columns.slots)
        self.numbers = [t.number for t in loop.targets if isinstance(t, L.Carry)]
        self.chain = b.layout.parents is None

    def build(self, first: Index, end: Index, store: Store) -> None:
        b, loop = self.b, self.loop
        roots = {k: b.root((loop.roots or {})[k]) for k in self.numbers}
        if not self.chain and self.numbers:
            self._open_tree(roots)
        with b.loop(end, first=first, down=not loop.outward) as rounds:
            inner = rounds.index
            row, column = (self.outer, inner) if self.columns.which == "rows" else (inner, self.outer)
            carried = {L.Carry(k): rounds.carry(roots[k]) for k in self.numbers} if self.chain else {}
            where: dict[L.Whose, Index] = {L.ROW: row, L.COLUMN: column}
            with b.owner(row):
                results = run(b, loop.code, lambda what: self._read(what, inner, where, carried))
                for value, target, x in zip(results, loop.targets, loop.code.results, strict=True):
                    if isinstance(target, L.Carry) and self.chain:
                        rounds.feed(carried[target], value)
                    elif isinstance(target, L.Carry):
                        self._pass_on(inner, target.number, value, loop.quantity(x))
                    elif isinstance(target, L.Save):
                        b.store(self.column, self._slot(inner, target.slot), value)
                    elif isinstance(target, L.KeptPair):
                        pairs = b.regions["pairs"]
                        b.store(pairs, self.columns.place(inner, self.outer, target.number), value)
                    elif isinstance(target, L.Entry):
                        store(value, inner)
                    else:
                        raise TypeError(f"rolled program: a loop over pairs has no place for {target}.")

    def _slot(self, body: Index, slot: int) -> Index:
        return plus(times(body, self.columns.slots), slot)

    def _read(
        self,
        what: L.Leaf,
        inner: Index,
        where: Mapping[L.Whose, Index],
        carried: Mapping[L.Carry, Carried],
    ) -> Real:
        """What a pair finds: of its row, of its column, and of its own."""
        b = self.b
        if isinstance(what, L.Carry):
            return carried[what] if self.chain else b.load(*self._waiting(inner, what.number))
        if isinstance(what, L.Delta):
            return b.choice(whole("eq", inner, self.outer), 1.0, 0.0)
        if isinstance(what, L.Slot) and what.whose in (L.OWN, L.DIAGONAL):
            return b.load(self.column, self._slot(inner if what.whose == L.OWN else self.outer, what.slot))
        if isinstance(what, L.Sum):
            return self._sum(what.number, where, lambda x: self._read(x, inner, where, carried))
        return b.read(what, where)

    def _sum(self, number: int, where: Mapping[L.Whose, Index], around: Any) -> Real:
        """A sum over the bodies from the row of a pair on."""
        b, kept = self.b, self.columns.kept
        with b.loop(b.n, first=where[L.ROW]) as rounds:
            so_far, third = rounds.carry(0.0), rounds.index

            def leaf(what: Any) -> Real:
                if isinstance(what, L.SoFar):
                    return so_far
                if isinstance(what, L.KeptPair):
                    assert kept is not None
                    return b.load(b.regions["pairs"], kept.place(third, where[what.side], what.number))
                if isinstance(what, L.Slot | L.Param) and what.whose == L.THIRD:
                    return b.read(what, {L.THIRD: third})
                made: Real = around(what)
                return made

            rounds.feed(so_far, run(b, self.columns.sums[number], leaf)[0])
        return so_far

    # ------------------------------------------------------------- what pairs of a tree hand on

    def _region(self) -> Region:
        assert len(self.numbers) <= _MOST
        return self.b.region("column carried", (self.b.n + 1) * _MOST)

    def _open_tree(self, roots: Mapping[int, Real]) -> None:
        if not self.loop.outward:
            return self.b.clear(self._region(), (self.b.n + 1) * len(self.numbers))
        for place, number in enumerate(self.numbers):
            self.b.store(self._region(), place, roots[number])
        return None

    def _waiting(self, body: Index, number: int) -> tuple[Region, Index]:
        return self._region(), self._at(body, number, own=not self.loop.outward)

    def _at(self, body: Index, number: int, *, own: bool) -> Index:
        row = plus(body, 1) if own else self.b.slot_of_parent(body)
        return plus(times(row, len(self.numbers)), self.numbers.index(number))

    def _pass_on(self, body: Index, number: int, value: Real, quantity: str) -> None:
        place = self._at(body, number, own=self.loop.outward)
        if self.loop.outward:
            self.b.store(self._region(), place, value)
        else:
            self.b.add_to(self._region(), place, value, quantity)
