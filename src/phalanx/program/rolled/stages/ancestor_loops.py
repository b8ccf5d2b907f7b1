# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Several matrices over bodies, of which ancestor loops fill both triangles, written to outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from ...ir import Buffer, Index, Program, Real, int_expr, less, plus, select, times
from .bodies import BodyBuilder, Stage
from .factor import TOGETHER, solve
from .matrices import walk_along


@dataclass(frozen=True)
class MatricesOut(Stage):
    """Writes matrices in strips: the rows and columns of some bodies at a time.

    The buffer of a strip holds the rows of its bodies, then the entries of their columns. `added` maps the
    names of the outputs to what is added on each diagonal.
    """

    start: list[int | float]
    code: Program
    added: Mapping[str, int | float]

    @property
    def written(self) -> tuple[str, ...]:
        return tuple(self.added)

    def build(self, b: BodyBuilder) -> None:
        for name in self.added:
            b.buffer(f"rows of {name}", 2 * min(b.strip, b.n) * b.n)
        b.in_blocks(b.n, b.strip, lambda first, width: self._strip(b, first, width))

    def _strip(self, b: BodyBuilder, first: Index, width: int) -> None:
        """Compute and write the rows and columns of `width` bodies from `first` on."""
        buffers = [b.buffers[f"rows of {name}"] for name in self.added]
        if b.layout.parents is not None:
            for buffer in buffers:
                b.clear(buffer, 2 * width * b.n)  # no entries with bodies of other branches
        with b.loop(width) as loop:
            body, row = plus(loop.index, first), times(loop.index, b.n)

            def store(entries: list[Real], other: Index) -> None:
                back = plus(times(less(other, first), b.n), body)
                for k, buffer in enumerate(buffers):
                    column = plus(plus(row, width * b.n), other)
                    b.store(buffer, plus(row, other), entries[2 * k])
                    b.store(buffer, column, entries[2 * k + 1])
                    # Entries of columns within the strip belong to its rows, too.
                    b.store(buffer, select(int_expr("ge", other, first), back, column), entries[2 * k + 1])

            with b.attributed_to(body):
                walk_along(b, body, self.start, self.code, store)
                for buffer, amount in zip(buffers, self.added.values(), strict=True):
                    if isinstance(amount, int) or amount != 0.0:
                        b.add_to(buffer, plus(row, body), b.value_of(body, amount))
        for name in self.added:
            self._out(b, name, first, width)

    def _out(self, b: BodyBuilder, name: str, first: Index, width: int) -> None:
        """Write a strip of a symmetric matrix: its rows up to the diagonal block, and as columns above it."""
        buffer, out, n = b.buffers[f"rows of {name}"], b.outputs[name], b.n
        with b.loop(width) as loop:
            count = plus(first, width)  # strips begin at whole registers
            b.move(out, times(plus(loop.index, first), n), buffer, times(loop.index, n), count, rest=width)
        with b.only_if(int_expr("gt", first, 0)), b.loop(first) as loop:
            b.move(out, plus(times(loop.index, n), first), buffer, plus(loop.index, width * n), width, step=n)


@dataclass(frozen=True)
class SolvedOut(Stage):
    """Writes -M^-1 A for the factored matrix M and matrices A that ancestor loops fill."""

    start: list[int | float]
    code: Program
    names: list[str]

    @property
    def written(self) -> tuple[str, ...]:
        return tuple(self.names)

    def build(self, b: BodyBuilder) -> None:
        n = b.n
        buffers = [b.buffer(f"all of {name}", n * n) for name in self.names]
        if b.layout.parents is not None:
            for buffer in buffers:
                b.clear(buffer, n * n)
        with b.loop(n) as loop:
            body = loop.index

            def store(entries: list[Real], other: Index) -> None:
                for k, buffer in enumerate(buffers):
                    b.store(buffer, plus(times(body, n), other), entries[2 * k])
                    b.store(buffer, plus(times(other, n), body), entries[2 * k + 1])

            with b.attributed_to(body):
                walk_along(b, body, self.start, self.code, store)
        b.buffer("solutions", n * min(TOGETHER, n))
        for name, buffer in zip(self.names, buffers, strict=True):
            b.in_blocks(n, TOGETHER, partial(self._columns, b, buffer))
            with b.loop(n) as loop:
                b.move(b.outputs[name], times(loop.index, n), buffer, times(loop.index, n), n)

    def _columns(self, b: BodyBuilder, A: Buffer, first: Index, width: int) -> None:
        """Replace `width` columns of A, from `first` on, by those of -M^-1 A."""
        solution = b.buffers["solutions"]
        with b.loop(b.n) as loop:
            row, index = plus(times(loop.index, b.n), first), times(loop.index, width)
            for k in range(width):
                b.store(solution, plus(index, k), b.neg(b.load(A, plus(row, k))))
        solve(b, solution, b.n, width)
        with b.loop(b.n) as loop:
            row, index = plus(times(loop.index, b.n), first), times(loop.index, width)
            b.copy(A, row, solution, index, width)
