# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices over bodies: entries from walks along ancestors or from loops over columns, written to the output.

A row that is kept holds one entry per ancestor, by depth: the rows of a body and of its ancestors then lie
side by side entry by entry, and nothing is stored between branches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...form.builder import run
from ...form.program import Buffer, Index, Real, int_expr, less, plus, select, times
from ...rewrite import Code
from .. import leaves as L
from .bodies import BodyBuilder, Stage
from .coupled import store_summed, summed_matrix_out

Store = Callable[[Real, Index], None]  # of a value, with another body


@dataclass(frozen=True)
class MatrixEntries(ABC):
    """The entries of a symmetric matrix over bodies; `shape` tells which ones a body makes.

    "columns": with bodies from itself on; "rows": up to itself; "square": with all. Kept values are
    slots (int) or constants (float).
    """

    diagonal: int | float  # what is added on the diagonal
    instead: int | float | None  # what stands on the diagonal before that is added

    @property
    def shape(self) -> str:
        return "rows"

    @abstractmethod
    def of(self, b: BodyBuilder, body: Index, store: Store) -> None:
        """The entries of a body: `store(value, other body)` for each."""

    def prepare(self, b: BodyBuilder) -> None:
        """What has to be done before the first entry."""
        return None

    def add_diagonal(self, b: BodyBuilder, body: Index, region: Buffer, place: Index) -> None:
        """Complete an entry of the diagonal."""
        if self.instead is not None:
            b.store(region, place, b.value_of(body, self.instead))
        if self.adds:
            b.add_to(region, place, b.value_of(body, self.diagonal))

    @property
    def adds(self) -> bool:
        """Whether anything is added on the diagonal."""
        return isinstance(self.diagonal, int) or self.diagonal != 0.0


@dataclass(frozen=True)
class AncestorPairs(MatrixEntries):
    """A walk along ancestors. Results of its code: what is carried on, then the entry."""

    start: list[int | float]
    code: Code
    runs: bool = False  # whether one state may take ancestors several at once

    def of(self, b: BodyBuilder, body: Index, store: Store) -> None:
        walk_along(b, body, self.start, self.code, lambda entries, there: store(entries[0], there))

    def step(self, b: BodyBuilder, carried: Sequence[Real], there: Index) -> list[Real]:
        """What is carried on past an ancestor, and the entry with it."""
        return step(b, self.code, carried, there)


def walk_along(
    b: BodyBuilder,
    body: Index,
    start: Sequence[int | float],
    code: Code,
    store: Callable[[list[Real], Index], None],
) -> None:
    """A walk from a body along its ancestors: `store(entries, ancestor)` at each."""
    starts = [b.value_of(body, x) for x in start]
    with b.walk(body, b.parent) as walk:
        carried = [walk.carry(x) for x in starts]
        made = step(b, code, carried, walk.index)
        for x, value in zip(carried, made, strict=False):
            walk.feed(x, value)
        store(made[len(carried) :], walk.index)


def step(b: BodyBuilder, code: Code, carried: Sequence[Real], there: Index) -> list[Real]:
    """What is carried on past an ancestor, and the entries with it."""

    def leaf(what: L.Leaf) -> Real:
        return carried[what.number] if isinstance(what, L.Walked) else b.read(what, {L.THERE: there})

    return run(b, code, leaf)


@dataclass(frozen=True)
class MatrixOut(Stage):
    """A matrix, written to the output as it is made: some rows at a time, with their mirror images.

    Only those rows are kept, so that scratch memory grows with the bodies, not with their square.
    """

    entries: MatrixEntries

    @property
    def written(self) -> tuple[str, ...]:
        return (L.OUT,)

    def build(self, b: BodyBuilder) -> None:
        if b.layout.joints is not None:
            store_summed(b, self.entries)
            return summed_matrix_out(b)
        self.entries.prepare(b)
        b.region("rows", min(b.strip, b.n) * b.n)
        return b.in_blocks(b.n, b.strip, lambda first, width: self._strip(b, first, width))

    def _strip(self, b: BodyBuilder, first: Index, width: int) -> None:
        """The rows of `width` bodies from `first` on."""
        self._keep(b, first, width)
        self._rows_out(b, first, width)
        if self.entries.shape != "square":
            self._mirrored(b, first, width)

    def _keep(self, b: BodyBuilder, first: Index, width: int) -> None:
        n, shape, rows = b.n, self.entries.shape, b.regions["rows"]
        if shape == "rows" and b.layout.parents is not None:
            b.clear(rows, width * n)  # no entries with bodies of other branches
        with b.loop(width) as loop:
            body, row = plus(loop.index, first), times(loop.index, n)

            def store(value: Real, other: Index) -> None:
                b.store(rows, plus(row, other), value)
                if shape == "square":
                    return
                # Within the strip the mirror image is part of the rows, too.
                test = ("ge", other, first) if shape == "rows" else ("lt", other, plus(first, width))
                mirror = plus(times(less(other, first), n), body)
                b.store(rows, select(int_expr(*test), mirror, plus(row, other)), value)

            with b.attributed_to(body):
                self.entries.of(b, body, store)
                self.entries.add_diagonal(b, body, rows, plus(row, body))

    def _rows_out(self, b: BodyBuilder, first: Index, width: int) -> None:
        """Write the rows of a strip, as far as they are known."""
        n, shape = b.n, self.entries.shape
        with b.loop(width) as loop:
            to, index = times(plus(loop.index, first), n), times(loop.index, n)
            if shape == "columns":
                to, index = plus(to, first), plus(index, first)
            # Strips begin at whole registers.
            count, rest = (plus(first, width), width) if shape == "rows" else (n, n)
            if shape == "columns":
                count = less(n, first)
            b.move(b.outputs[L.OUT], to, b.regions["rows"], index, count, rest=rest)

    def _mirrored(self, b: BodyBuilder, first: Index, width: int) -> None:
        """Write the entries beyond the strip as columns of other rows."""
        begin, end = (0, first) if self.entries.shape == "rows" else (plus(first, width), b.n)
        if begin == end:
            return
        with b.only_if(int_expr("gt", end, begin)), b.loop(end, first=begin) as loop:
            to = plus(times(loop.index, b.n), first)
            b.move(b.outputs[L.OUT], to, b.regions["rows"], loop.index, width, step=b.n)
