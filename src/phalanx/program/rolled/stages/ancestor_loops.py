# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Several matrices over bodies, of which walks along ancestors fill both sides, written to outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from ...form.program import Buffer, Index, Real, int_expr, less, plus, select, times
from ...rewrite import Code
from .bodies import BodyBuilder, Stage
from .factor import TOGETHER, solve
from .matrices import walk_along


@dataclass(frozen=True)
class MatricesOut(Stage):
    """Matrices, written as they are made: the rows and columns of some bodies at a time.

    A strip keeps the rows of its bodies, and behind them what stands in their columns. `added` tells the
    names of the outputs, with what is added on each diagonal.
    """

    start: list[int | float]
    code: Code
    added: Mapping[str, int | float]

    @property
    def written(self) -> tuple[str, ...]:
        return tuple(self.added)

    def build(self, b: BodyBuilder) -> None:
        for name in self.added:
            b.region(f"rows of {name}", 2 * min(b.strip, b.n) * b.n)
        b.in_blocks(b.n, b.strip, lambda first, width: self._strip(b, first, width))

    def _strip(self, b: BodyBuilder, first: Index, width: int) -> None:
        """The rows and columns of `width` bodies from `first` on."""
        regions = [b.regions[f"rows of {name}"] for name in self.added]
        if b.layout.parents is not None:
            for region in regions:
                b.clear(region, 2 * width * b.n)  # no entries with bodies of other branches
        with b.loop(width) as loop:
            body, row = plus(loop.index, first), times(loop.index, b.n)

            def store(entries: list[Real], other: Index) -> None:
                back = plus(times(less(other, first), b.n), body)
                for k, region in enumerate(regions):
                    column = plus(plus(row, width * b.n), other)
                    b.store(region, plus(row, other), entries[2 * k])
                    b.store(region, column, entries[2 * k + 1])
                    # Within the strip columns are part of the rows, too.
                    b.store(region, select(int_expr("ge", other, first), back, column), entries[2 * k + 1])

            with b.attributed_to(body):
                walk_along(b, body, self.start, self.code, store)
                for region, amount in zip(regions, self.added.values(), strict=True):
                    if isinstance(amount, int) or amount != 0.0:
                        b.add_to(region, plus(row, body), b.value_of(body, amount))
        for name in self.added:
            self._out(b, name, first, width)

    def _out(self, b: BodyBuilder, name: str, first: Index, width: int) -> None:
        """Write the rows of a strip up to its end, and its columns above."""
        region, out, n = b.regions[f"rows of {name}"], b.outputs[name], b.n
        with b.loop(width) as loop:
            count = plus(first, width)  # strips begin at whole registers
            b.move(out, times(plus(loop.index, first), n), region, times(loop.index, n), count, rest=width)
        with b.only_if(int_expr("gt", first, 0)), b.loop(first) as loop:
            b.move(out, plus(times(loop.index, n), first), region, plus(loop.index, width * n), width, step=n)


@dataclass(frozen=True)
class SolvedOut(Stage):
    """-M^-1 A with the matrix M that is factored, for matrices A that walks fill, written to outputs."""

    start: list[int | float]
    code: Code
    names: list[str]

    @property
    def written(self) -> tuple[str, ...]:
        return tuple(self.names)

    def build(self, b: BodyBuilder) -> None:
        n = b.n
        regions = [b.region(f"all of {name}", n * n) for name in self.names]
        if b.layout.parents is not None:
            for region in regions:
                b.clear(region, n * n)
        with b.loop(n) as loop:
            body = loop.index

            def store(entries: list[Real], other: Index) -> None:
                for k, region in enumerate(regions):
                    b.store(region, plus(times(body, n), other), entries[2 * k])
                    b.store(region, plus(times(other, n), body), entries[2 * k + 1])

            with b.attributed_to(body):
                walk_along(b, body, self.start, self.code, store)
        b.region("solutions", n * min(TOGETHER, n))
        for name, region in zip(self.names, regions, strict=True):
            b.in_blocks(n, TOGETHER, partial(self._columns, b, region))
            with b.loop(n) as loop:
                b.move(b.outputs[name], times(loop.index, n), region, times(loop.index, n), n)

    def _columns(self, b: BodyBuilder, A: Buffer, first: Index, width: int) -> None:
        """Replace some columns by the negative of what solves for them."""
        solution = b.regions["solutions"]
        with b.loop(b.n) as loop:
            row, place = plus(times(loop.index, b.n), first), times(loop.index, width)
            for k in range(width):
                b.store(solution, plus(place, k), b.neg(b.load(A, plus(row, k))))
        solve(b, solution, b.n, width)
        with b.loop(b.n) as loop:
            row, place = plus(times(loop.index, b.n), first), times(loop.index, width)
            b.copy(A, row, solution, place, width)
