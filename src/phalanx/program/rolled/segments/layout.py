# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Segments in the lanes of registers: where they lie, and how one state is spread over them and gathered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import Any

import numpy as np

from ...builder import Builder
from ...ir import Buffer, Index, InductionVariable, IntExpr, Load, ParallelFor, plus, times
from ...ops import SELECT
from ..bodies.body import REST
from ..leaves import COMMONS, OUT, OWN, Share, State
from ..stages.loops import BodyLoop, Once

RESULT = f"{OUT} {OWN}"
PLACED = f"{REST} {OWN}"  # the buffer of transforms, where some joint is not a one-degree-of-freedom screw

# Rows between what two groups store: prefetchers of a core reach that far beyond the loads of its thread,
# and take lines away from the core that stores there.
_GAP = 64

Starts = list[Index] | Index  # one for each lane, or an expression that differs between lanes


class SegmentBuilder(Builder):
    """A program on one state: segments in groups as wide as a register, one in each lane.

    Lanes that are not in `lockstep`, as work-items are, take numbers one by one.
    """

    def __init__(self, program: Any, lanes: int, *, lockstep: bool = True) -> None:
        super().__init__(
            program.inputs, {"out": program.output, **program.sent}, lanes, lanes if lockstep else 8
        )
        self.program, self.lockstep = program, lockstep
        self._open: ParallelFor | None = None  # the latest loop over groups
        self.count, self.longest = program.bodies.shape
        self.groups = -(-self.count // lanes)
        self.gap = _GAP if lockstep and self.groups > 1 else 0
        self.segment = np.minimum(np.arange(self.groups * lanes), self.count - 1).reshape(self.groups, lanes)
        for (name, map), width in self.staged.items():
            self._grouped(f"{name} {map}", self.longest * width, given=True)
        self._grouped(RESULT, self.longest * program.width)
        self._grouped("slots", self.longest * program.slots[0])
        self._grouped(COMMONS, program.commons[0])
        self._grouped("ends", program.ends)
        self._grouped("shares", program.slots[1])
        self.buffer("shared", program.commons[1])

    def _grouped(self, name: str, size: int, *, given: bool = False) -> None:
        """A buffer with the given number of indices for each group."""
        self.buffer(name, self.groups * self.apart(size), given=given)

    def apart(self, size: int) -> int:
        """The distance between consecutive groups in a buffer with `size` indices for each group."""
        return size + self.gap * -(-size // self.longest)

    def in_group(self, group: Index, size: int, index: Index) -> Index:
        """An index in the part of a group, for a buffer of `size` indices for each group."""
        return plus(times(group, self.apart(size)), index)

    @contextmanager
    def each_group(self, *, apart: bool = False) -> Iterator[Index]:
        """Statements for each group of segments, its index given; neighbours join one parallel loop.

        They are in a SIMD region if `apart`. Work-items share each group already: for them groups come one
        after another.
        """
        region = self.part(self.lanes) if apart else nullcontext()
        if self.groups == 1:
            with region:
                yield 0
            return
        if not self.lockstep:
            with region, self.loop(self.groups) as groups:
                yield groups.index
            return
        last = self._open if self._body and self._body[-1] is self._open else None
        counter = InductionVariable() if last is None else last.counter
        with self._inside() as body, region:
            yield counter
        before = () if last is None else self._body.pop().body
        self._open = self.put(ParallelFor(counter, 0, self.groups, (*before, *body)))

    @cached_property
    def even(self) -> bool:
        """Whether segments are rows that differ in length by one at most, none longer than the last."""
        bodies = self.program.bodies
        return bool((bodies[:, :-1] >= 0).all() and bodies[-1, -1] >= 0)

    @cached_property
    def staged(self) -> dict[tuple[str, str], int]:
        """Inputs that loops over all links read through some map, and how many numbers belong together."""
        stages = [
            stage
            for over, stage in self.program.stages
            if not over and isinstance(stage, BodyLoop | Once) and getattr(stage, "bodies", None) is None
        ]
        leaves = [leaf for stage in stages for leaf in _leaves(stage)]
        return {(leaf.name, leaf.map): leaf.width for leaf in leaves if isinstance(leaf, State)}

    @cached_property
    def shared(self) -> set[int]:
        """The values of segments that their links read."""
        stages = [stage for over, stage in self.program.stages if not over and isinstance(stage, Once)]
        return {leaf.number for stage in stages for leaf in _leaves(stage) if isinstance(leaf, Share)}

    def place_of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each given row: its group, its position within the group's segment, and its lane."""
        segment, place = np.divmod(rows, self.longest)
        return segment // self.lanes, place, segment % self.lanes

    def numbers(self, rows: np.ndarray, width: int) -> np.ndarray:
        """The offset in a buffer, in numbers, of the first of the `width` numbers of each given row."""
        group, place, lane = self.place_of(rows)
        made: np.ndarray = (group * self.apart(self.longest * width) + place * width) * self.lanes + lane
        return made

    def by_lane(self, rows: np.ndarray) -> np.ndarray:
        """Values (segments * longest, …) as (groups, longest, …, lanes)."""
        whole = rows.reshape(self.count, self.longest, *rows.shape[1:])
        return np.moveaxis(whole[self.segment], 1, -1)

    # ------------------------------------------------------------- one state into lanes

    def spread_all(self) -> None:
        """Copy all inputs to their buffers, with zeros for padding links."""
        for (name, map), width in sorted(self.staged.items(), key=lambda item: item[0][1] != OWN):
            if name == REST:
                continue
            bodies = self.program.bodies
            source = bodies if map == OWN else self.program.maps[map].reshape(bodies.shape)
            source = np.where(bodies < 0, -1, source)
            place = np.arange(self.longest)
            in_rows = np.array_equal(np.where(bodies < 0, -1, source[:, :1] + place), source)
            if in_rows and self.even:
                self._transpose(name, map, width, source[:, 0])
            else:
                self._pick(name, map, width, source)

    def _transpose(self, name: str, map: str, width: int, first: np.ndarray) -> None:
        """Segments that are rows of an input, as columns."""
        buffer, size = self.buffers[f"{name} {map}"], self.longest * width
        real = self.program.bodies.ravel() >= 0
        with self.each_group() as group:
            row = self.in_group(group, size, 0)
            starts = self._starts(f"{buffer.name} first", first * width, group)
            self.in_blocks(
                size,
                self.lanes if self.lockstep else 1,
                lambda column, count: self._weave(buffer, row, self.inputs[name], starts, column, count),
            )
            if not real.all():
                # Only last links are there to fill up.
                table = self.table("real", self.by_lane(real.astype(float))[:, -1], wide=True)
                mask = self.load(table, group)
                for k in range(size - width, size):
                    kept = self.value(SELECT, mask, self.load(buffer, plus(row, k)), 0.0)
                    self.store(buffer, plus(row, k), kept)

    def _starts(self, name: str, first: np.ndarray, group: Index) -> Starts:
        """The first indices of the segments of a group; from a table where lanes are not in lockstep."""
        if not self.lockstep:
            return self.wide_entry(name, first[self.segment], group)
        table, at = first[self.segment].ravel(), times(group, self.lanes)
        return [self.entry(name, table, plus(at, k)) for k in range(self.lanes)]

    def _weave(
        self,
        buffer: Buffer,
        row: Index,
        memory: Buffer,
        starts: Starts,
        column: Index,
        count: int,
        *,
        back: bool = False,
    ) -> None:
        lanes, memory_at = (buffer, plus(row, column)), _behind(starts, column)
        source, target = (lanes, (memory, memory_at)) if back else ((memory, memory_at), lanes)
        self.copy(*target, *source, count)

    def _pick(self, name: str, map: str, width: int, source: np.ndarray) -> None:
        """Numbers of an input, one after another, to where a map wants them; the rest are links' own."""
        buffer, lanes = self.buffers[f"{name} {map}"], self.lanes
        flat, to = self.rows_by_lane(source, width)
        if map != OWN and self.staged.get((name, OWN)) == width:
            self.move(buffer, 0, self.buffers[f"{name} {OWN}"], 0, buffer.size)
            at = np.flatnonzero(flat != self.by_lane(self.program.bodies.ravel()).ravel())
        else:
            self.clear(buffer, buffer.size)
            at = np.flatnonzero(flat >= 0)
        if not len(at):
            return
        with self.part(1), self.loop(len(at)) as picks:
            here = self.entry(f"{buffer.name} from", flat[at] * width, picks.index)
            there = self.entry(f"{buffer.name} to", to[at], picks.index)
            for k in range(width):
                value = self.load(self.inputs[name], plus(here, k))
                self.store(buffer, plus(there, k * lanes), value)

    def rows_by_lane(self, rows: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Values of rows in the order of lanes, with spare ones, and where each has its first number."""
        shape = (self.groups, self.longest, self.lanes)
        group, place, lane = np.unravel_index(np.arange(np.prod(shape)), shape)
        where = (group * self.apart(self.longest * width) + place * width) * self.lanes + lane
        return self.by_lane(rows.ravel()).ravel(), where

    # ------------------------------------------------------------- and back

    def gather(self) -> None:
        """The output from its region. Lanes to spare may write only what the last segment does."""
        spare = self.count % self.lanes > 0 and PLACED in self.buffers
        if self.even and not spare and (self.lockstep or self.program.width == 1):
            if self.lockstep:
                self._transpose_back()
            else:
                self._columns_back(self.longest - 1, self.longest)
                self._columns_back(0, self.longest - 1)
        else:
            self._put_back()

    def _transpose_back(self) -> None:
        """Columns of segments as rows; the last first, since what fills up a segment lies in the next.

        Where the next segment belongs to another group, the last link of every segment comes in a loop
        before.
        """
        width, lasts = self.program.width, self.program.bodies[self.lanes - 1 :: self.lanes, -1]
        last = self.longest - 1 if (lasts < 0).any() else self.longest
        if last == 0:
            return self._put_back()
        if last < self.longest:
            self._blocks_back(last * width, self.longest * width)
            self._open = None
        return self._blocks_back(0, last * width)

    def _blocks_back(self, first: int, end: int) -> None:
        """The columns first … end - 1 as rows, the last first."""
        out, lanes, width = self.buffers[RESULT], self.lanes, self.program.width
        with self.each_group() as group:
            row = self.in_group(group, self.longest * width, 0)
            starts = self._starts("out first", self.program.bodies[:, 0] * width, group)

            def block(column: Index, count: int) -> None:
                self._weave(out, row, self.outputs["out"], starts, column, count, back=True)

            whole, rest = divmod(end - first, lanes)
            if rest:
                block(first + whole * lanes, rest)
            if whole:
                with self.loop(whole, down=True) as blocks:
                    block(plus(times(blocks.index, lanes), first), lanes)
            elif first == 0 and end == self.longest * width:
                block(0, 1)  # a narrow block stores its rows in another order

    def _columns_back(self, first: int, end: int) -> None:
        """Some columns as rows, in a part of its own: what fills up a segment has to be there before."""
        if first == end:
            return
        out = self.buffers[RESULT]
        with self.part(self.lanes), self.loop(self.groups) as groups, self.loop(end, first=first) as columns:
            row = self.in_group(groups.index, self.longest, 0)
            starts = self._starts("out first", self.program.bodies[:, 0], groups.index)
            self._weave(out, row, self.outputs["out"], starts, columns.index, 1, back=True)

    def _put_back(self) -> None:
        """Copy the numbers of an output from the segments' layout to consecutive addresses."""
        width = self.program.width
        place = self.numbers(np.flatnonzero(self.program.bodies.ravel() >= 0), width)
        with self.part(1), self.loop(len(place)) as puts:
            here = self.entry("out from", place, puts.index)
            for k in range(width):
                value = self.load(self.buffers[RESULT], plus(here, k * self.lanes))
                self.store(self.outputs["out"], plus(times(puts.index, width), k), value)


def _behind(starts: Starts, column: Index) -> Index:
    """The offset of a column for each lane."""
    if isinstance(starts, list):
        return IntExpr("lanes", tuple(plus(x, column) for x in starts))
    return plus(starts, column)


def _leaves(stage: Any) -> list[Any]:
    return [s.buffer for s in stage.code.body if type(s) is Load]
