# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Stages of segments: loops over links, one segment in each lane, and over segments, one after another.

Lanes to spare repeat the last segment. Links whose joint is not a one-degree-of-freedom screw are placed
before all else, one after another, whichever lane has them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ...builder import run
from ...ir import Buffer, Index, Real, Table, plus, times
from .. import leaves as L
from ..stages.bodies import Where
from ..stages.loops import BodyLoop, Once
from .layout import PLACED, SegmentBuilder

Place = tuple[Buffer | Table, Index]


class _Stages(ABC):
    """Stages that go over links, or over segments."""

    rounds: int  # of a loop

    def __init__(self, b: SegmentBuilder) -> None:
        self.b, self.p = b, b.program

    @abstractmethod
    def at(self, index: Index) -> Where:
        """The row of a link, or the segment, in some round of a loop, and in whose name it counts."""

    @abstractmethod
    def place(self, what: L.Leaf, body: Index) -> Place:
        """The address of a leaf or of a result for a link or a segment."""

    def read(self, leaf: L.Leaf, where: Where) -> Real:
        return self.b.load(*self.place(leaf, where.get(L.OWN, 0)))

    def write(self, target: L.Leaf, where: Where, value: Real, quantity: str = "") -> None:
        buffer, index = self.place(target, where.get(L.OWN, 0))
        assert isinstance(buffer, Buffer)
        self.b.store(buffer, index, value)

    def once(self, stage: Once) -> None:
        results = run(self.b, stage.code, lambda what: self.read(what, {}))
        for value, target in zip(results, stage.targets, strict=True):
            self.write(target, {}, value)

    def loop(self, stage: BodyLoop) -> None:
        stage.over(self.b, 0, self.rounds, self.at, self.read, self.write)


class _OverLinks(_Stages):
    """Stages over the links of a group of segments."""

    def __init__(self, b: SegmentBuilder, group: Index) -> None:
        super().__init__(b)
        self.group, self.rounds = group, b.longest
        rows = np.maximum.accumulate(self.p.bodies, axis=1)
        real = np.arange(b.groups * b.lanes).reshape(b.groups, 1, b.lanes) < b.count
        self.links = np.where(real, b.by_lane(rows.ravel()), -1).reshape(-1, b.lanes)

    def at(self, index: Index) -> Where:
        row = plus(times(self.group, self.b.longest), index)
        return {L.OWN: index, L.OWNER: self.b.wide_entry("owners", self.links, row)}

    def once(self, stage: Once) -> None:
        with self.b.attributed_to(self.at(0)[L.OWNER]):
            super().once(stage)

    def place(self, what: L.Leaf, body: Index) -> Place:
        p, buffers = self.p, self.b.buffers
        if isinstance(what, L.Param):
            row, columns = plus(times(self.group, self.rounds), body), p.tables[0].shape[1]
            return link_table(self.b), plus(times(row, columns), p.columns[0][what.column])
        if isinstance(what, L.State):
            own = plus(times(body, what.width), what.offset)
            return buffers[f"{what.name} {what.map}"], self._own(self.rounds * what.width, own)
        if isinstance(what, L.SpillSlot):
            own = plus(times(body, p.slots[0]), what.slot)
            return buffers["slots"], self._own(self.rounds * p.slots[0], own)
        if isinstance(what, L.Share):
            return buffers["shares"], self._own(p.slots[1], what.number)
        if isinstance(what, L.End):
            return buffers["ends"], self._own(p.ends, what.number)
        if isinstance(what, L.Global) and what.name == L.COMMONS:
            return buffers[L.COMMONS], self._own(p.commons[0], what.index)
        raise TypeError(f"segments: no link finds, or keeps, {what}.")

    def _own(self, size: int, index: Index) -> Index:
        return self.b.in_group(self.group, size, index)


class _OverSegments(_Stages):
    """Stages over segments, one after another; indices of buffers then count single numbers."""

    def __init__(self, b: SegmentBuilder) -> None:
        super().__init__(b)
        self.rounds, self.all = b.count, b.groups * b.lanes

    def at(self, index: Index) -> Where:
        return {L.OWN: index, L.OWNER: self.b.entry("first bodies", self.p.bodies[:, 0], index)}

    def read(self, leaf: L.Leaf, where: Where) -> Real:
        if isinstance(leaf, L.SpillSlot) and isinstance(leaf.whose, int):
            where = {L.OWN: leaf.whose}
        return super().read(leaf, where)

    def place(self, what: L.Leaf, body: Index) -> Place:
        p, buffers = self.p, self.b.buffers
        if isinstance(what, L.Param):
            table = self.b.table("segments", p.tables[1])
            return table, plus(times(body, p.tables[1].shape[1]), p.columns[1][what.column])
        if isinstance(what, L.SpillSlot):
            return buffers["shares"], self._in_group("shares", p.slots[1], what.slot, body)
        if isinstance(what, L.End):
            return buffers["ends"], self._in_group("ends", p.ends, what.number, body)
        if isinstance(what, L.Global):
            known = {L.COMMONS: buffers["shared"], **self.b.inputs, **self.b.outputs}
            return known[what.name], what.index
        raise TypeError(f"segments: no segment finds, or keeps, {what}.")

    def _in_group(self, name: str, count: int, number: int, segment: Index) -> Index:
        """One of `count` numbers of a segment, in its lane of its group."""
        group, lane = np.divmod(np.arange(self.all), self.b.lanes)
        firsts = group * self.b.apart(count) * self.b.lanes + lane
        first = self.b.entry(f"{name} of segments", firsts, segment)
        return plus(first, number * self.b.lanes)

    def loop(self, stage: BodyLoop) -> None:
        super().loop(stage)
        for target in stage.targets:  # lanes to spare repeat the last segment
            if isinstance(target, L.SpillSlot) and target.slot in self.b.shared and self.all > self.rounds:
                value = self.read(target, {L.OWN: self.rounds - 1})
                for spare in range(self.rounds, self.all):
                    self.write(target, {L.OWN: spare}, value)


def link_table(b: SegmentBuilder) -> Table:
    return b.table("links", b.by_lane(b.program.tables[0]), wide=True)


def build_stage(b: SegmentBuilder, over_segments: bool, stage: BodyLoop | Once) -> None:
    """Append a stage as a part of its own."""
    if over_segments:
        with b.part(1):
            _build(_OverSegments(b), stage)
    elif isinstance(stage, BodyLoop) and stage.bodies is not None:
        with b.part(1):
            _place(b, stage)
    else:
        with b.each_group(apart=True) as group:
            _build(_OverLinks(b, group), stage)


def _build(stages: _Stages, stage: BodyLoop | Once) -> None:
    if isinstance(stage, Once):
        stages.once(stage)
    else:
        stages.loop(stage)


def _place(b: SegmentBuilder, stage: BodyLoop) -> None:
    """The loop over all links with one type of motion; it reads the caller's inputs, not copies of them."""
    p, name = b.program, stage.bodies
    assert name is not None
    rows = p.maps[name]
    group, places, lanes = b.place_of(rows)
    bodies = np.maximum.accumulate(p.bodies, axis=1).ravel()[rows]
    with b.loop(len(rows)) as rounds:
        at = b.entry(f"{name} place", group * b.longest + places, rounds.index)
        lane = b.entry(f"{name} lane", lanes, rounds.index)

        def place(width: int, k: int) -> Index:
            """The index of number k of the `width` that each link has in a table."""
            return plus(times(plus(times(at, width), k), b.lanes), lane)

        def stored(width: int, k: int) -> Index:
            """The index of number k of the `width` that each link has in a buffer."""
            return plus(b.entry(f"{name} stored", b.numbers(rows, width), rounds.index), k * b.lanes)

        def leaf(what: L.Leaf) -> Real:
            if isinstance(what, L.Param):
                return b.load(link_table(b), place(p.tables[0].shape[1], p.columns[0][what.column]))
            if isinstance(what, L.State):
                first = b.entry(f"{name} {what.map}", p.maps[what.map][rows], rounds.index)
                return b.load(b.inputs[what.name], plus(times(first, what.width), what.offset))
            raise TypeError(f"segments: a link is not placed by {what}.")

        with b.attributed_to(b.entry(f"{name} bodies", bodies, rounds.index)):
            for value, target in zip(run(b, stage.code, leaf), stage.targets, strict=True):
                assert isinstance(target, L.State)
                b.store(b.buffers[PLACED], stored(target.width, target.offset), value)
