# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices over bodies: entries from ancestor loops or from loops over columns, written to the output.

A stored row holds one entry per ancestor, by depth: entries of the rows of a body and of its ancestors then
have equal offsets, and the zeros between branches are not stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...builder import run
from ...ir import Buffer, Index, Program, Real, int_expr, less, plus, select, times
from .. import leaves as L
from .bodies import BodyBuilder, Stage
from .coupled import store_summed, summed_matrix_out

Store = Callable[[Real, Index], None]  # of an entry, and the other body of its pair


@dataclass(frozen=True)
class MatrixEntries(ABC):
    """The entries of a symmetric matrix over bodies; `shape` selects those that a body computes.

    "columns": with bodies from itself on; "rows": up to itself; "square": with all. Stored values are
    slots (int) or constants (float).
    """

    diagonal: int | float  # what is added on the diagonal
    instead: int | float | None  # what replaces the diagonal before that is added

    @property
    def shape(self) -> str:
        return "rows"

    @abstractmethod
    def of(self, b: BodyBuilder, body: Index, store: Store) -> None:
        """Append the code that computes the entries of a body: `store(value, other body)` for each."""

    def prepare(self, b: BodyBuilder) -> None:
        """Append the code that runs before the first entry."""
        return None

    def add_diagonal(self, b: BodyBuilder, body: Index, buffer: Buffer, place: Index) -> None:
        """Replace an entry of the diagonal by `instead`, if any, and add `diagonal`."""
        if self.instead is not None:
            b.store(buffer, place, b.value_of(body, self.instead))
        if self.adds:
            b.add_to(buffer, place, b.value_of(body, self.diagonal))

    @property
    def adds(self) -> bool:
        """Whether anything is added on the diagonal."""
        return isinstance(self.diagonal, int) or self.diagonal != 0.0


@dataclass(frozen=True)
class AncestorPairs(MatrixEntries):
    """Entries from an ancestor loop. Results of its code: the loop-carried values, then the entry."""

    start: list[int | float]
    code: Program
    runs: bool = False  # whether one state may visit several ancestors at once

    def of(self, b: BodyBuilder, body: Index, store: Store) -> None:
        walk_along(b, body, self.start, self.code, lambda entries, there: store(entries[0], there))

    def step(self, b: BodyBuilder, carried: Sequence[Real], there: Index) -> list[Real]:
        """Return the loop-carried values after an ancestor, and the entry with it."""
        return step(b, self.code, carried, there)


def walk_along(
    b: BodyBuilder,
    body: Index,
    start: Sequence[int | float],
    code: Program,
    store: Callable[[list[Real], Index], None],
) -> None:
    """Append the ancestor loop of a body, itself first: `store(entries, ancestor)` at each."""
    starts = [b.value_of(body, x) for x in start]
    with b.walk(body, b.parent) as loop:
        carried = [loop.carry(x) for x in starts]
        made = step(b, code, carried, loop.index)
        for x, value in zip(carried, made, strict=False):
            loop.feed(x, value)
        store(made[len(carried) :], loop.index)


def step(b: BodyBuilder, code: Program, carried: Sequence[Real], there: Index) -> list[Real]:
    """Return the loop-carried values after an ancestor, then the entries with it."""

    after = select(int_expr("gt", there, 0), plus(there, -1), 0)

    def leaf(what: L.Leaf) -> Real:
        if isinstance(what, L.Walked):
            return carried[what.number]
        return b.read(what, {L.THERE: there, L.NEXT: after})

    return run(b, code, leaf)


@dataclass(frozen=True)
class MatrixOut(Stage):
    """Writes a matrix to the output in strips of rows, together with their mirror images.

    Only one strip is buffered, so that scratch memory grows with the bodies, not with their square.
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
        b.buffer("rows", min(b.strip, b.n) * b.n)
        return b.in_blocks(b.n, b.strip, lambda first, width: self._strip(b, first, width))

    def _strip(self, b: BodyBuilder, first: Index, width: int) -> None:
        """Compute and write the rows of `width` bodies from `first` on."""
        self._keep(b, first, width)
        self._rows_out(b, first, width)
        if self.entries.shape != "square":
            self._mirrored(b, first, width)

    def _keep(self, b: BodyBuilder, first: Index, width: int) -> None:
        n, shape, rows = b.n, self.entries.shape, b.buffers["rows"]
        if shape == "rows" and b.layout.parents is not None:
            b.clear(rows, width * n)  # no entries with bodies of other branches
        with b.rows_of_strip(width) as loop:
            body, row = plus(loop.index, first), times(loop.index, n)

            def store(value: Real, other: Index) -> None:
                b.store(rows, plus(row, other), value)
                if shape == "square":
                    return
                # Mirror images within the strip belong to its rows, too.
                test = ("ge", other, first) if shape == "rows" else ("lt", other, plus(first, width))
                mirror = plus(times(less(other, first), n), body)
                b.store(rows, select(int_expr(*test), mirror, plus(row, other)), value)

            with b.attributed_to(body):
                self.entries.of(b, body, store)
                self.entries.add_diagonal(b, body, rows, plus(row, body))

    def _rows_out(self, b: BodyBuilder, first: Index, width: int) -> None:
        """Write the computed columns of the rows of a strip."""
        n, shape = b.n, self.entries.shape
        with b.loop(width) as loop:
            to, index = times(plus(loop.index, first), n), times(loop.index, n)
            if shape == "columns":
                to, index = plus(to, first), plus(index, first)
            # Strips begin at whole registers.
            count, rest = (plus(first, width), width) if shape == "rows" else (n, n)
            if shape == "columns":
                count = less(n, first)
            b.move(b.outputs[L.OUT], to, b.buffers["rows"], index, count, rest=rest)

    def _mirrored(self, b: BodyBuilder, first: Index, width: int) -> None:
        """Write the entries beyond the strip as columns of other rows."""
        begin, end = (0, first) if self.entries.shape == "rows" else (plus(first, width), b.n)
        if begin == end:
            return
        with b.only_if(int_expr("gt", end, begin)), b.loop(end, first=begin) as loop:
            to = plus(times(loop.index, b.n), first)
            b.move(b.outputs[L.OUT], to, b.buffers["rows"], loop.index, width, step=b.n)
