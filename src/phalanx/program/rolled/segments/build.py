# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Stages of segments: loops over links, one segment in each lane, and over segments, one after another.

Lanes to spare repeat the last segment. Links whose joint is not a one-degree-of-freedom screw are placed
before all else, one after another, whichever lane has them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ...form.builder import Loop as Rounds
from ...form.builder import Values, run
from ...form.program import Carried, Real, Region
from ...form.wholes import Index, plus, times
from .. import leaves as L
from ..planning.locality import in_local_order
from ..stages.loops import Loop, Once
from .layout import PLACED, SegmentBuilder


class _Stages(ABC):
    """Stages that go over links, or over segments."""

    def __init__(self, b: SegmentBuilder) -> None:
        self.b, self.p = b, b.program

    @abstractmethod
    def body(self, index: Index) -> Index:
        """The row of a link, or the segment, in some round of the loop."""

    @abstractmethod
    def owner(self, body: Index) -> Index:
        """In whose name it counts."""

    @abstractmethod
    def slot(self, body: Index, number: int) -> tuple[Region, Index]:
        """Where a value is kept for later loops."""

    @abstractmethod
    def share(self, body: Index, number: int) -> tuple[Region, Index]:
        """Where a value of the segment is kept."""

    @abstractmethod
    def end(self, body: Index, number: int) -> tuple[Region, Index]:
        """Where the value is kept with which a loop over links ended."""

    @abstractmethod
    def common(self, number: int) -> tuple[Region, Index]:
        """Where a value is kept that all rounds of a loop have in common."""

    @abstractmethod
    def parameter(self, body: Index, column: int) -> Real:
        """An entry of the table of parameters."""

    rounds: int  # of a loop

    def once(self, stage: Once) -> None:
        b = self.b
        for value, target in zip(run(b, stage.code, lambda x: self.read(x, 0)), stage.targets, strict=True):
            if not isinstance(target, L.Common):
                raise TypeError(f"segments: a value per segment has no place at {target}.")
            b.store(*self.common(target.number), value)

    def loop(self, stage: Loop) -> None:
        b = self.b
        roots = {
            k: b.load(*self.common(r.number)) if isinstance(r, L.Common) else float(r)
            for k, r in (stage.roots or {}).items()
        }
        with b.loop(self.rounds, down=not stage.outward) as rounds:
            body = self.body(rounds.index)
            with b.owner(self.owner(body)):
                ends = self._round(
                    stage, rounds, body, {L.Carry(k): rounds.carry(x) for k, x in roots.items()}
                )
        for number, value in ends.items():
            b.store(*self.end(body, number), value)

    def _round(
        self, stage: Loop, rounds: Rounds, body: Index, carried: dict[L.Carry, Carried]
    ) -> dict[int, Carried]:
        """One link, or one segment; results leave the registers as soon as they are there."""
        b = self.b
        code = in_local_order(stage.code)
        ends: dict[int, Carried] = {}
        angles: list[tuple[L.Angle, Real]] = []
        sinks: dict[Any, list[L.Target]] = {}
        for x, target in zip(code.results, stage.targets, strict=True):
            sinks.setdefault(x, []).append(target)
        given: dict[Any, Real] = dict(carried)
        value = Values(b, code, lambda what: given[what] if what in given else self.read(what, body))

        def settle(x: Any) -> None:
            for target in sinks.pop(x, []):
                if isinstance(target, L.Carry):
                    rounds.feed(carried[target], value(x))
                elif isinstance(target, L.Slot):
                    b.store(*self.slot(body, target.slot), value(x))
                elif isinstance(target, L.State):
                    b.store(*self.state(body, target), value(x))
                elif isinstance(target, L.End):
                    ends[target.number] = rounds.carry(0.0)
                    rounds.feed(ends[target.number], value(x))
                elif isinstance(target, L.Angle):
                    angles.append((target, value(x)))
                else:
                    raise TypeError(f"segments: a loop has no place for {target}.")

        for number in value.written():
            settle(number)
        for x in list(sinks):
            settle(x)
        for (target, _), both in zip(angles, b.turn((x, t.quantity) for t, x in angles), strict=True):
            for k, turned in enumerate(both):
                b.store(b.regions["angles"], self._angle(body, target.number, k), turned)
        return ends

    def _angle(self, body: Index, number: int, k: int) -> Index:
        return plus(times(body, 2 * self.p.angles), 2 * number + k)

    def state(self, body: Index, what: L.State) -> tuple[Region, Index]:
        """Where an input, or the output, of a link stands."""
        return self.b.regions[f"{what.name} {what.map}"], plus(times(body, what.width), what.offset)

    def read(self, leaf: L.Leaf, body: Index) -> Real:
        """What a link or segment finds in tables and memory."""
        b = self.b
        if isinstance(leaf, L.Param):
            return self.parameter(body, leaf.column)
        if isinstance(leaf, L.State):
            return b.load(*self.state(body, leaf))
        if isinstance(leaf, L.Turned):
            return b.load(b.regions["angles"], self._angle(body, leaf.number, int(not leaf.sine)))
        if isinstance(leaf, L.Slot):
            return b.load(*self.slot(body, leaf.slot))
        if isinstance(leaf, L.Share):
            return b.load(*self.share(body, leaf.number))
        if isinstance(leaf, L.End):
            return b.load(*self.end(body, leaf.number))
        if isinstance(leaf, L.Common):
            return b.load(*self.common(leaf.number))
        if isinstance(leaf, L.Global):
            return b.load(b.inputs[leaf.name], leaf.index)
        raise TypeError(f"segments: nobody finds {leaf}.")


class _OverLinks(_Stages):
    """Stages over the links of a group of segments."""

    def __init__(self, b: SegmentBuilder, group: Index) -> None:
        super().__init__(b)
        self.group, self.rounds = group, b.longest
        rows = np.maximum.accumulate(self.p.bodies, axis=1)
        real = np.arange(b.groups * b.lanes).reshape(b.groups, 1, b.lanes) < b.count
        self.links = np.where(real, b.by_lane(rows.ravel()), -1).reshape(b.rows, b.lanes)

    def body(self, index: Index) -> Index:
        return plus(times(self.group, self.b.longest), index)

    def owner(self, body: Index) -> Index:
        return self.b.wide_entry("owners", self.links, body)

    def once(self, stage: Once) -> None:
        first = self.b.wide_entry("owners", self.links, times(self.group, self.b.longest))
        with self.b.owner(first):
            super().once(stage)

    def _of_segment(self, region: str, number: int) -> tuple[Region, Index]:
        return self.b.regions[region], plus(self.group, number * self.b.groups)

    def slot(self, body: Index, number: int) -> tuple[Region, Index]:
        return self.b.regions["slots"], plus(times(body, self.p.slots[0]), number)

    def share(self, body: Index, number: int) -> tuple[Region, Index]:
        return self._of_segment("shares", number)

    def end(self, body: Index, number: int) -> tuple[Region, Index]:
        return self._of_segment("ends", number)

    def common(self, number: int) -> tuple[Region, Index]:
        return self._of_segment("commons", number)

    def parameter(self, body: Index, column: int) -> Real:
        table = link_table(self.b)
        return self.b.load(table, plus(times(body, self.p.tables[0].shape[1]), self.p.columns[0][column]))


class _OverSegments(_Stages):
    """Stages over segments, one after another; regions are then counted by single numbers."""

    def __init__(self, b: SegmentBuilder) -> None:
        super().__init__(b)
        self.rounds, self.all = b.count, b.groups * b.lanes

    def body(self, index: Index) -> Index:
        return index

    def owner(self, body: Index) -> Index:
        return self.b.entry("first bodies", self.p.bodies[:, 0], body)

    def slot(self, body: Index, number: int) -> tuple[Region, Index]:
        return self.b.regions["shares"], plus(body, number * self.all)

    def share(self, body: Index, number: int) -> tuple[Region, Index]:
        return self.slot(body, number)

    def end(self, body: Index, number: int) -> tuple[Region, Index]:
        return self.b.regions["ends"], plus(body, number * self.all)

    def common(self, number: int) -> tuple[Region, Index]:
        return self.b.regions["shared"], number

    def parameter(self, body: Index, column: int) -> Real:
        table = self.b.table("segments", self.p.tables[1])
        return self.b.load(table, plus(times(body, self.p.tables[1].shape[1]), self.p.columns[1][column]))

    def loop(self, stage: Loop) -> None:
        super().loop(stage)
        for target in stage.targets:  # lanes to spare repeat the last segment
            if isinstance(target, L.Slot) and target.slot in self.b.shared and self.all > self.rounds:
                value = self.b.load(*self.slot(self.rounds - 1, target.slot))
                for spare in range(self.rounds, self.all):
                    self.b.store(*self.slot(spare, target.slot), value)


def link_table(b: SegmentBuilder) -> Any:
    return b.table("links", b.by_lane(b.program.tables[0]), wide=True)


def build_stage(b: SegmentBuilder, over_segments: bool, stage: Loop | Once) -> None:
    """Append a stage as a part of its own."""
    if over_segments:
        with b.part(1):
            _build(_OverSegments(b), stage)
    elif isinstance(stage, Loop) and stage.bodies is not None:
        with b.part(1):
            _place(b, stage)
    else:
        with b.part(b.lanes):
            if b.groups == 1:
                _build(_OverLinks(b, 0), stage)
            else:
                with b.loop(b.groups) as groups:
                    _build(_OverLinks(b, groups.index), stage)


def _build(stages: _Stages, stage: Loop | Once) -> None:
    if isinstance(stage, Once):
        stages.once(stage)
    else:
        stages.loop(stage)


def _place(b: SegmentBuilder, stage: Loop) -> None:
    """The loop over the links of one motion; it reads inputs where the caller has them."""
    p, name = b.program, stage.bodies
    assert name is not None
    rows = p.maps[name]
    vectors, lanes = b.place_of(rows)
    bodies = np.maximum.accumulate(p.bodies, axis=1).ravel()[rows]
    with b.loop(len(rows)) as rounds:
        at = b.entry(f"{name} place", vectors, rounds.index)
        lane = b.entry(f"{name} lane", lanes, rounds.index)

        def place(width: int, k: int) -> Index:
            """Number k of so many that each link has."""
            return plus(times(plus(times(at, width), k), b.lanes), lane)

        def leaf(what: L.Leaf) -> Real:
            if isinstance(what, L.Param):
                return b.load(link_table(b), place(p.tables[0].shape[1], p.columns[0][what.column]))
            if isinstance(what, L.State):
                first = b.entry(f"{name} {what.map}", p.maps[what.map][rows], rounds.index)
                return b.load(b.inputs[what.name], plus(times(first, what.width), what.offset))
            raise TypeError(f"segments: a link is not placed by {what}.")

        with b.owner(b.entry(f"{name} bodies", bodies, rounds.index)):
            for value, target in zip(run(b, stage.code, leaf), stage.targets, strict=True):
                assert isinstance(target, L.State)
                b.store(b.regions[PLACED], place(target.width, target.offset), value)
