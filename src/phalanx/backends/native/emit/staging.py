# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Segments in the lanes of registers: where they lie, and how one row becomes as many and one again."""

from __future__ import annotations

import numpy as np

from ....ir.rolled import OWN, Once
from ....ir.rolled.bodies.body import REST
from ....ir.rolled.segments.roll import SegmentProgram
from .loops import LoopWriter

PLACED = f"{REST} {OWN}"  # the region of transforms where some motion is no helix


class Layout:
    """Where everything lies: segments in groups as wide as a register, and the regions of scratch memory."""

    def __init__(self, program: SegmentProgram, lanes: int, size: int) -> None:
        self.program, self.lanes, self.size = program, lanes, size
        self.count, self.longest = program.bodies.shape
        # Whether segments are rows that differ in length by one at most, none longer than the last.
        self.even = bool((program.bodies[:, :-1] >= 0).all() and program.bodies[-1, -1] >= 0)
        self.groups = -(-self.count // lanes)
        self.rows = self.groups * self.longest
        self.segment = np.minimum(np.arange(self.groups * lanes), self.count - 1).reshape(self.groups, lanes)
        self.staged = staged_inputs(program)
        once = [s.code for over, s in program.stages if not over and isinstance(s, Once)]
        inputs = [i.args for code in once for i in code.instructions if i.op == "input"]
        self.shared = {args[1] for args in inputs if args[0] == "share"}
        self.scratch = 0
        self.regions: dict[str, int] = {}
        for (name, map), width in self.staged.items():
            self._reserve(f"{name} {map}", self.rows * width)
        self._reserve("out", self.rows)
        self._reserve("slots", self.rows * program.slots[0])
        self._reserve("angles", 3 * self.rows * program.angles)
        self._reserve("commons", self.groups * program.commons[0])
        self._reserve("ends", self.groups * program.ends)
        self._reserve("shares", self.groups * program.slots[1])
        self._reserve("shared", program.commons[1])

    def _reserve(self, name: str, vectors: int) -> None:
        self.regions[name] = self.scratch
        self.scratch += vectors * self.lanes * self.size

    def place_of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The vector and the lane in which each of some rows lies."""
        segment, place = np.divmod(rows, self.longest)
        return segment // self.lanes * self.longest + place, segment % self.lanes

    def by_lane(self, rows: np.ndarray) -> np.ndarray:
        """Values (segments * longest, …) as (groups, longest, …, lanes)."""
        whole = rows.reshape(self.count, self.longest, *rows.shape[1:])
        return np.moveaxis(whole[self.segment], 1, -1)


def staged_inputs(program: SegmentProgram) -> dict[tuple[str, str], int]:
    """The inputs that loops over all links read through some map, and how many numbers belong together."""
    found: dict[tuple[str, str], int] = {}
    stages = [stage for over, stage in program.stages if not over and getattr(stage, "bodies", None) is None]
    codes = [code for stage in stages for code in stage.codes()]
    for i in (i for code in codes for i in code.instructions):
        if i.op == "input" and i.args[0] == "state":
            _, name, map, width, _ = i.args
            found[name, map] = width
    return found


class Staging(LoopWriter):
    """The block: inputs in, all stages, output out."""

    def __init__(self, element: str, fma: bool, layout: Layout) -> None:
        super().__init__(element, layout.lanes, fma)
        self.layout, self.p = layout, layout.program
        self.regions = layout.regions
        self._first: list[str] = []

    def text(self, stages: list[tuple[str, str]]) -> str:
        """The text of the block, which calls stages of a kind by their names."""
        for (name, map), width in sorted(self.layout.staged.items(), key=lambda item: item[0][1] != OWN):
            if name != REST:
                self._spread(name, map, width)
        inputs = "".join(f", ptr %p{k}" for k in range(len(self.p.inputs)))
        for kind, name in stages:
            if kind == "place":
                self.do(f"call void {name}(ptr %scratch{inputs})")
            elif kind == "chain" or self.layout.groups == 1:
                self.do(f"call void {name}(ptr %scratch, i64 0)")
            else:
                counter = self.open(self.layout.groups)
                self.do(f"call void {name}(ptr %scratch, i64 {counter.index})")
                self.close(counter)
        self._gather()
        last = len(self.p.inputs)
        parameters = ", ".join(f"ptr noalias %p{k}, i64 %s{k}" for k in range(last + 1))
        body = "\n  ".join(self.lines)
        head = f"define internal void @block({parameters}, ptr noalias %scratch) noinline #0 {{"
        return f"{head}\nentry:\n  {body}\n  ret void\n}}\n"

    def _spread(self, name: str, map: str, width: int) -> None:
        """An input into its region, zeros where a segment is filled up."""
        bodies = self.p.bodies
        source = bodies if map == OWN else self.p.maps[map].reshape(bodies.shape)
        source = np.where(bodies < 0, -1, source)
        place = np.arange(self.layout.longest)
        in_rows = np.array_equal(np.where(bodies < 0, -1, source[:, :1] + place), source)
        if in_rows and self.layout.even:
            self._transpose(name, map, width, source[:, 0])
        else:
            self._pick(name, map, width, source)

    def _transpose(self, name: str, map: str, width: int, first: np.ndarray) -> None:
        """Segments that are rows of an input, as columns."""
        number, region, size = list(self.p.inputs).index(name), f"{name} {map}", self.layout.longest * width
        groups = self.open(self.layout.groups)
        self._first = self._pointers(f"%p{number}", region, first * width, groups.index)
        row = self.scaled(groups.index, size)
        self.in_blocks(size, self.lanes, lambda column, width: self._load_block(region, row, column, width))
        real = self.p.bodies.ravel() >= 0
        if not real.all():
            # Only last links are there to fill up.
            table = f"@real{len(self.tables)}"
            self.numbers(table, self.layout.by_lane(real)[:, -1])
            mask = self.fetch(self.put(f"getelementptr {self.vector}, ptr {table}, i64 {groups.index}"))
            for k in range(size - width, size):
                to = self.at(region, row, k)
                self.save(self.choose(mask, self.fetch(to), self.operand(0.0)), to)
        self.close(groups)

    def _pick(self, name: str, map: str, width: int, source: np.ndarray) -> None:
        """Numbers of an input, one after another, to where a map wants them; the rest are links' own."""
        e, region, lanes = self.element, f"{name} {map}", self.lanes
        flat = self.layout.by_lane(source.ravel()).ravel()
        if map != OWN and self.layout.staged.get((name, OWN)) == width:
            self._copy(f"{name} {OWN}", region, self.layout.rows * width)
            at = np.flatnonzero(flat != self.layout.by_lane(self.p.bodies.ravel()).ravel())
        else:
            self.clear(region, self.layout.rows * width)
            at = np.flatnonzero(flat >= 0)
        if not len(at):
            return
        picks = self.open(len(at))
        here = self.integer(f"{region} from", flat[at] * width, picks.index)
        there = self.integer(f"{region} to", at // lanes * lanes * width + at % lanes, picks.index)
        number = list(self.p.inputs).index(name)
        start = self.put(f"getelementptr i8, ptr %scratch, i64 {self.regions[region]}")
        for k in range(width):
            place = self.put(f"getelementptr {e}, ptr %p{number}, i64 {self.plus(here, k)}")
            value = self.put(f"load {e}, ptr {place}, align {self.size}")
            place = self.put(f"getelementptr {e}, ptr {start}, i64 {self.plus(there, k * lanes)}")
            self.do(f"store {e} {value}, ptr {place}, align {self.size}")
        self.close(picks)

    def _copy(self, source: str, region: str, vectors: int) -> None:
        """A region into another."""
        self.used.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        both = f"ptr {self.at(region, '0', 0)}, ptr {self.at(source, '0', 0)}"
        self.do(f"call void @llvm.memcpy.p0.p0.i64({both}, i64 {vectors * self.lanes * self.size}, i1 false)")

    def _load_block(self, region: str, row: str, column: str, width: int) -> None:
        values = self.load_rows(column, "", width)
        to = row if column == "0" else self.plus(row, column)
        for k, value in enumerate(values):
            self.save(value, self.at(region, to, k))

    def _pointers(self, base: str, name: str, first: np.ndarray, group: str) -> list[str]:
        """Where the segments of a group begin."""
        table = first[self.layout.segment].ravel()
        at = self.scaled(group, self.lanes)
        made = []
        for k in range(self.lanes):
            index = self.integer(name, table, self.plus(at, k))
            made.append(self.put(f"getelementptr {self.element}, ptr {base}, i64 {index}"))
        return made

    def _row(self, base: str, stride: str, r: int, start: int) -> str:
        """Here `base` is a column, and rows lie where segments begin."""
        place = self.put(f"getelementptr {self.element}, ptr {self._first[r]}, i64 {base}")
        return self.put(f"getelementptr {self.element}, ptr {place}, i64 {start}") if start else place

    def _gather(self) -> None:
        """The output from its region. Lanes to spare may write only what the last segment does."""
        spare = self.layout.count % self.lanes > 0 and PLACED in self.regions
        if self.layout.even and not spare:
            self._transpose_back()
        else:
            self._put_back()

    def _transpose_back(self) -> None:
        """Columns of segments as rows; the last first, since what fills up a segment lies in the next."""
        size = self.layout.longest
        groups = self.open(self.layout.groups)
        first = self.p.bodies[:, 0]
        self._first = self._pointers(f"%p{len(self.p.inputs)}", "out", first, groups.index)
        row = self.scaled(groups.index, size)
        whole = size // self.lanes
        if size % self.lanes:
            self._store_block(row, str(whole * self.lanes), size % self.lanes)
        if whole:
            blocks = self.open(whole, down=True)
            self._store_block(row, self.scaled(blocks.index, self.lanes), self.lanes)
            self.close(blocks)
        else:
            self._store_block(row, "0", 1)  # a narrow block stores its rows in another order
        self.close(groups)

    def _store_block(self, row: str, column: str, width: int) -> None:
        at = row if column == "0" else self.plus(row, column)
        self.store_rows(column, "", [self.fetch(self.at("out", at, k)) for k in range(width)])

    def _put_back(self) -> None:
        """Numbers of the output, one after another, from where they lie."""
        e, bodies = self.element, self.p.bodies.ravel()
        vector, lane = self.layout.place_of(np.flatnonzero(bodies >= 0))
        start = self.put(f"getelementptr i8, ptr %scratch, i64 {self.regions['out']}")
        puts = self.open(len(vector))
        here = self.integer("out from", vector * self.lanes + lane, puts.index)
        place = self.put(f"getelementptr {e}, ptr {start}, i64 {here}")
        value = self.put(f"load {e}, ptr {place}, align {self.size}")
        place = self.put(f"getelementptr {e}, ptr %p{len(self.p.inputs)}, i64 {puts.index}")
        self.do(f"store {e} {value}, ptr {place}, align {self.size}")
        self.close(puts)
