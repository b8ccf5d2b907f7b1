# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Builds programs over bodies for a work-group: its items share bodies, rows and columns of one state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..builder import OpenLoop
from ..ir import Buffer, Index, ParallelFor, Table, int_expr, less, plus, select, times
from . import leaves as L
from .stages.bodies import BodyBuilder, StageLayout, Where


class GroupBuilder(BodyBuilder):
    """A program on one state whose independent loops are parallel.

    Neighbouring items have neighbouring bodies, so that their accesses coalesce: spill slots are a structure
    of arrays, all bodies of a slot side by side, as are parameters. Inputs are read where they are.
    """

    def __init__(self, layout: StageLayout, items: int) -> None:
        self._parallel = False  # inside a parallel loop, others are serial
        super().__init__(layout, 1)
        self.parameters = self.table("parameters by column", layout.table.T)
        self.privates = min(items, self.n)
        self.strip = self.privates

    def stage_inputs(self) -> None:
        if self.layout.joints is not None:
            super().stage_inputs()

    def given(self, name: str, width: int = 0) -> Buffer:
        return (
            self.inputs[name]
            if name in self.inputs.keys() - self.buffers.keys()
            else super().given(name, width)
        )

    @contextmanager
    def independent(self, end: Index, *, first: Index = 0, down: bool = False) -> Iterator[OpenLoop]:
        if self._parallel:
            with self.loop(end, first=first, down=down) as loop:
                yield loop
            return
        loop, self._parallel = OpenLoop(), True
        with self._inside() as body:
            yield loop
        self._parallel = False
        self.put(ParallelFor(loop.index, first, end, tuple(body)))

    def over_columns(self, column: Callable[[Index], None]) -> None:
        with self.loop(-(-self.n // self.privates)) as blocks:
            first = times(blocks.index, self.privates)
            rest = less(self.n, first)
            end = select(int_expr("lt", rest, self.privates), rest, self.privates)
            with self.rows_of_strip(end) as loop:
                column(plus(first, loop.index))

    @contextmanager
    def rows_of_strip(self, width: Index) -> Iterator[OpenLoop]:
        with self.independent(width) as loop:
            self.private = loop.index
            yield loop
        self.private = 0

    def place(self, what: L.Leaf, where: Where) -> tuple[Buffer | Table, Index]:
        if isinstance(what, L.Param):
            return self.parameters, plus(where[what.whose], self.layout.columns[what.column] * self.n)
        return super().place(what, where)

    def kept(self, body: Index, slot: int) -> Index:
        return plus(body, slot * self.rows)

    def clear(self, buffer: Buffer, count: int) -> None:
        if count:
            with self.independent(count) as loop:
                self.store(buffer, loop.index, 0.0)

    def move(
        self,
        target: Buffer,
        to: Index,
        source: Buffer,
        index: Index,
        count: Index,
        *,
        rest: int | None = None,
        step: int = 1,
    ) -> None:
        if count == 0:
            return
        with self.independent(count) as loop:
            self.store(target, plus(to, loop.index), self.load(source, plus(index, times(loop.index, step))))
