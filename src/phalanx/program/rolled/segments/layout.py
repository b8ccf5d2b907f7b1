# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Segments in the lanes of registers: where they lie, and how one state is spread over them and gathered."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ...form.builder import Builder
from ...form.program import Buffer, Index, IntExpr, plus, times
from ...ops import INPUT, SELECT
from ..bodies.body import REST
from ..leaves import COMMONS, OUT, OWN, Share, State
from ..stages.loops import Once

RESULT = f"{OUT} {OWN}"
PLACED = f"{REST} {OWN}"  # the region of transforms, where some joint is not a one-degree-of-freedom screw

Starts = list[Index] | Index  # one for each lane, or an expression that differs between lanes


class SegmentBuilder(Builder):
    """A program on one state: segments in groups as wide as a register, one in each lane.

    Lanes that are not in `lockstep`, as work-items are, take numbers one by one.
    """

    def __init__(self, program: Any, lanes: int, *, lockstep: bool = True) -> None:
        super().__init__(program.inputs, {"out": program.output}, lanes, lanes if lockstep else 8)
        self.program, self.lockstep = program, lockstep
        self.count, self.longest = program.bodies.shape
        self.groups = -(-self.count // lanes)
        self.rows = self.groups * self.longest
        self.segment = np.minimum(np.arange(self.groups * lanes), self.count - 1).reshape(self.groups, lanes)
        for (name, map), width in self.staged.items():
            self.region(f"{name} {map}", self.rows * width, given=True)
        self.region(RESULT, self.rows)
        self.region("slots", self.rows * program.slots[0])
        self.region(COMMONS, self.groups * program.commons[0])
        self.region("ends", self.groups * program.ends)
        self.region("shares", self.groups * program.slots[1])
        self.region("shared", program.commons[1])

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
            if not over and getattr(stage, "bodies", None) is None
        ]
        leaves = [leaf for stage in stages for leaf in _leaves(stage)]
        return {(leaf.name, leaf.map): leaf.width for leaf in leaves if isinstance(leaf, State)}

    @cached_property
    def shared(self) -> set[int]:
        """The values of segments that their links read."""
        stages = [stage for over, stage in self.program.stages if not over and isinstance(stage, Once)]
        return {leaf.number for stage in stages for leaf in _leaves(stage) if isinstance(leaf, Share)}

    def place_of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The place and the lane in which each of some rows lies."""
        segment, place = np.divmod(rows, self.longest)
        return segment // self.lanes * self.longest + place, segment % self.lanes

    def by_lane(self, rows: np.ndarray) -> np.ndarray:
        """Values (segments * longest, …) as (groups, longest, …, lanes)."""
        whole = rows.reshape(self.count, self.longest, *rows.shape[1:])
        return np.moveaxis(whole[self.segment], 1, -1)

    # ------------------------------------------------------------- one state into lanes

    def spread_all(self) -> None:
        """All inputs into their regions, zeros where a segment is filled up."""
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
        region, size = self.regions[f"{name} {map}"], self.longest * width
        real = self.program.bodies.ravel() >= 0
        with self.loop(self.groups) as groups:
            row = times(groups.index, size)
            starts = self._starts(f"{region.name} first", first * width, groups.index)
            self.in_blocks(
                size,
                self.lanes if self.lockstep else 1,
                lambda column, count: self._weave(region, row, self.inputs[name], starts, column, count),
            )
            if not real.all():
                # Only last links are there to fill up.
                table = self.table("real", self.by_lane(real.astype(float))[:, -1], wide=True)
                mask = self.load(table, groups.index)
                for k in range(size - width, size):
                    kept = self.value(SELECT, mask, self.load(region, plus(row, k)), 0.0)
                    self.store(region, plus(row, k), kept)

    def _starts(self, name: str, first: np.ndarray, group: Index) -> Starts:
        """Where the segments of a group begin; a table tells lanes that are not in lockstep."""
        if not self.lockstep:
            return self.wide_entry(name, first[self.segment], group)
        table, at = first[self.segment].ravel(), times(group, self.lanes)
        return [self.entry(name, table, plus(at, k)) for k in range(self.lanes)]

    def _weave(
        self,
        region: Buffer,
        row: Index,
        memory: Buffer,
        starts: Starts,
        column: Index,
        count: int,
        *,
        back: bool = False,
    ) -> None:
        lanes, memory_at = (region, plus(row, column)), _behind(starts, column)
        source, target = (lanes, (memory, memory_at)) if back else ((memory, memory_at), lanes)
        self.copy(*target, *source, count)

    def _pick(self, name: str, map: str, width: int, source: np.ndarray) -> None:
        """Numbers of an input, one after another, to where a map wants them; the rest are links' own."""
        region, lanes = self.regions[f"{name} {map}"], self.lanes
        flat = self.by_lane(source.ravel()).ravel()
        if map != OWN and self.staged.get((name, OWN)) == width:
            self.move(region, 0, self.regions[f"{name} {OWN}"], 0, self.rows * width)
            at = np.flatnonzero(flat != self.by_lane(self.program.bodies.ravel()).ravel())
        else:
            self.clear(region, self.rows * width)
            at = np.flatnonzero(flat >= 0)
        if not len(at):
            return
        with self.part(1), self.loop(len(at)) as picks:
            here = self.entry(f"{region.name} from", flat[at] * width, picks.index)
            there = self.entry(f"{region.name} to", at // lanes * lanes * width + at % lanes, picks.index)
            for k in range(width):
                value = self.load(self.inputs[name], plus(here, k))
                self.store(region, plus(there, k * lanes), value)

    # ------------------------------------------------------------- and back

    def gather(self) -> None:
        """The output from its region. Lanes to spare may write only what the last segment does."""
        spare = self.count % self.lanes > 0 and PLACED in self.regions
        if self.even and not spare:
            if self.lockstep:
                self._transpose_back()
            else:
                self._columns_back(self.longest - 1, self.longest)
                self._columns_back(0, self.longest - 1)
        else:
            self._put_back()

    def _transpose_back(self) -> None:
        """Columns of segments as rows; the last first, since what fills up a segment lies in the next."""
        size, out = self.longest, self.regions[RESULT]
        with self.loop(self.groups) as groups:
            row = times(groups.index, size)
            starts = self._starts("out first", self.program.bodies[:, 0], groups.index)

            def block(column: Index, count: int) -> None:
                self._weave(out, row, self.outputs["out"], starts, column, count, back=True)

            whole = size // self.lanes
            if size % self.lanes:
                block(whole * self.lanes, size % self.lanes)
            if whole:
                with self.loop(whole, down=True) as blocks:
                    block(times(blocks.index, self.lanes), self.lanes)
            else:
                block(0, 1)  # a narrow block stores its rows in another order

    def _columns_back(self, first: int, end: int) -> None:
        """Some columns as rows, in a part of its own: what fills up a segment has to be there before."""
        if first == end:
            return
        out = self.regions[RESULT]
        with self.part(self.lanes), self.loop(self.groups) as groups, self.loop(end, first=first) as columns:
            row = times(groups.index, self.longest)
            starts = self._starts("out first", self.program.bodies[:, 0], groups.index)
            self._weave(out, row, self.outputs["out"], starts, columns.index, 1, back=True)

    def _put_back(self) -> None:
        """Numbers of the output, one after another, from where they lie."""
        place, lane = self.place_of(np.flatnonzero(self.program.bodies.ravel() >= 0))
        with self.part(1), self.loop(len(place)) as puts:
            here = self.entry("out from", place * self.lanes + lane, puts.index)
            self.store(self.outputs["out"], puts.index, self.load(self.regions[RESULT], here))


def _behind(starts: Starts, column: Index) -> Index:
    """Where each lane finds a column."""
    if isinstance(starts, list):
        return IntExpr("lanes", tuple(plus(x, column) for x in starts))
    return plus(starts, column)


def _leaves(stage: Any) -> list[Any]:
    return [i.args[0] for i in stage.code.instructions if i.op == INPUT]
