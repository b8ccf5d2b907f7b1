# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Levels of an elimination on all rows of a chain: a parallel loop over rows, for h = 1, 2, 4, ….

Variables are arrays over rows (structure of arrays), so that rows h before and after some neighbouring rows
are neighbours, too. On each level, rows that have the same neighbours form a range: those without a row
before, those with both or none, and those without a row after; each range is one parallel loop, in which
the neighbours are at constant distances. New values and old ones swap places from level to level.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...ir import Buffer, Index, Load, Real, Table, Value, int_expr, less, plus, select, times
from .. import leaves as L
from ..stages.bodies import Stage, settle
from ..stages.levels import ALL, LevelStep
from .layout import SegmentBuilder

_LINE = 8  # numbers in a line of cache


@dataclass(frozen=True)
class RowLevels(Stage):
    """The steps of every level; slots that are set before the first one, and those that are read later."""

    steps: list[LevelStep]
    initial: set[int]
    finished: set[int] = field(default_factory=set)

    def build(self, b: object) -> None:
        raise TypeError("rolled program: levels on rows are built by `build_levels`.")

    @property
    def swapped(self) -> dict[int, int]:
        """Slots that the last step only sets to other ones, and these; empty if it does anything else."""
        code = self.steps[-1].code
        if self.steps[-1].offsets != (0,) or any(type(s) is Value for s in code.body):
            return {}
        found = {t.slot: x.buffer.slot for t, x in zip(code.targets, code.results, strict=True)}
        return found if len(set(found.values())) == len(found) else {}

    def slots(self) -> tuple[set[int], set[int]]:
        """The slots that steps read, and those that they write."""
        leaves = [s.buffer for step in self.steps for s in step.code.body if type(s) is Load]
        targets = [t for step in self.steps for t in step.code.targets]
        read, written = ({x.slot for x in all_ if isinstance(x, L.SpillSlot)} for all_ in (leaves, targets))
        return read, written


def build_levels(b: SegmentBuilder, stage: RowLevels) -> None:
    """Append the levels of an elimination as parts of one lane, with rows in the lanes of parallel loops."""
    rows = _Rows(b, stage)
    with b.part(1):
        rows.copy_in()
    with b.part(1):
        rows.run()
    with b.part(1):
        rows.copy_out()


class _Rows:
    """The rows of a chain, and the indices of their variables."""

    def __init__(self, b: SegmentBuilder, stage: RowLevels) -> None:
        self.b, self.stage = b, stage
        real = np.flatnonzero(b.program.bodies.ravel() >= 0)
        self.count = len(real)
        self.levels = (self.count - 1).bit_length()
        self.at = b.numbers(real, b.program.slots[0])
        self.table = b.program.tables[0][real].T
        # An odd number of lines between variables: they then differ in the sets of a cache.
        self.stride = (-(-self.count // _LINE) | 1) * _LINE
        read, written = stage.slots()
        self.swaps = stage.swapped
        partners = set(self.swaps.values())
        self.variables = {s: k for k, s in enumerate(sorted((read | written) - partners - set(self.swaps)))}
        self.pairs = {s: len(self.variables) + k for k, s in enumerate(self.swaps)}
        self.inputs = sorted((read - written) | (read & stage.initial))
        self.outputs = sorted(written & stage.finished)
        size = len(self.variables) + 2 * len(self.pairs)
        self.buffer: Buffer = b.buffer("rows", -(-size * self.stride // b.lanes))

    def place(self, slot: int, level: Index, row: Index) -> Index:
        """The index of a variable of a row on a level; swapped variables have two, used alternately."""
        if slot in self.variables:
            return plus(row, self.variables[slot] * self.stride)
        held = slot in self.swaps
        old = slot if held else next(s for s, partner in self.swaps.items() if partner == slot)
        odd = less(level, times(int_expr("div", level, 2), 2))
        moved = odd if held else less(1, odd)
        return plus(plus(row, times(moved, len(self.pairs) * self.stride)), self.pairs[old] * self.stride)

    def _slot(self, row: Index, slot: int) -> Index:
        return plus(self.b.entry("rows in lanes", self.at, row), slot * self.b.lanes)

    def copy_in(self) -> None:
        b, slots = self.b, self.b.buffers["slots"]
        with b.loop(self.count) as loop:
            for slot in self.inputs:
                value = b.load(slots, self._slot(loop.index, slot))
                b.store(self.buffer, self.place(slot, 0, loop.index), value)

    def copy_out(self) -> None:
        """Copy results to `slots`, also those of spare lanes (the last segment) and of padding links."""
        b, slots = self.b, self.b.buffers["slots"]
        rows, places = b.rows_by_lane(np.maximum.accumulate(b.program.bodies, axis=1), b.program.slots[0])
        with b.loop(len(rows)) as loop:
            row = b.entry("row of each lane", rows, loop.index)
            to = b.entry("lanes of rows", places, loop.index)
            for slot in self.outputs:
                value = b.load(self.buffer, self.place(slot, self.levels, row))
                b.store(slots, plus(to, slot * b.lanes), value)

    def run(self) -> None:
        steps = self.stage.steps[:-1] if self.swaps else self.stage.steps
        with self.b.loop(self.levels) as level:
            for step in steps:
                self._step(step, level.index)

    def _step(self, step: LevelStep, level: Index) -> None:
        """Append a step: one parallel loop, or one for each range of rows with the same neighbours."""
        b, n = self.b, self.count
        assert step.rows == ALL
        if step.offsets == (0,):
            with b.parallel(n) as row:
                self._row(step, level, row, {0: 0})
            return
        h = int_expr("shl", 1, level)
        both = int_expr("le", times(h, 2), n)
        near, far = select(both, h, less(n, h)), select(both, less(n, h), h)
        with b.loop(3) as ranges:
            k = ranges.index
            is_first, is_last = int_expr("eq", k, 0), int_expr("eq", k, 2)
            middle = select(both, h, 0)
            after = select(is_first, h, select(is_last, 0, middle))
            before = select(is_last, h, select(is_first, 0, middle))
            first = select(is_first, 0, select(is_last, far, near))
            end = select(is_first, near, select(is_last, n, far))
            moved = {j: (after if o > 0 else before if o < 0 else 0) for j, o in enumerate(step.offsets)}
            signs = {j: (1 if o >= 0 else -1) for j, o in enumerate(step.offsets)}
            with b.only_if(int_expr("lt", first, end)), b.parallel(end, first=first) as row:
                self._row(step, level, row, {j: times(moved[j], signs[j]) for j in moved})

    def _row(self, step: LevelStep, level: Index, row: Index, moved: dict[int, Index]) -> None:
        b = self.b

        def place(what: L.Leaf) -> tuple[Buffer | Table, Index]:
            if isinstance(what, L.Param):
                at = plus(row, moved[_operand(what)])
                column = b.program.columns[0][what.column]
                return b.table("constants of rows", self.table), plus(at, column * self.count)
            if isinstance(what, L.SpillSlot):
                return self.buffer, self.place(what.slot, level, plus(row, moved[_operand(what)]))
            raise TypeError(f"segments: a row of an elimination does not find {what}.")

        def leaf(what: L.Leaf) -> Real:
            if isinstance(what, L.InBounds):
                return b.choice(int_expr("ne", moved[what.number], 0), 1.0, 0.0)
            return b.load(*place(what))

        def write(target: L.Leaf, value: Real, _: str) -> None:
            buffer, index = place(target)
            assert isinstance(buffer, Buffer)
            b.store(buffer, index, value)

        with b.attributed_to(row):
            settle(b, step.code, leaf, write)


def _operand(what: L.Param | L.SpillSlot) -> int:
    assert isinstance(what.whose, int)
    return what.whose
