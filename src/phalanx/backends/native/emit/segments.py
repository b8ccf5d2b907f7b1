# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From a program of segments to LLVM: loops over links, one segment per lane, for one state at a time.

Inputs are first spread over scratch memory, one vector per place in a segment, and the output is
gathered at the end. Each stage is a function of its own. Lanes to spare repeat the last segment.
Links whose motion is no helix are placed before all else, one after another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ....ir.rolled import Loop, Once
from ....ir.rolled.planning.locality import in_local_order
from ....ir.rolled.segments.roll import SegmentProgram
from ..target import Target
from .loops import Counter, LoopWriter, Values, run, turn
from .placing import PlaceWriter
from .staging import PLACED, Layout, Staging


def segment_block_function(
    program: SegmentProgram, target: Target, element: str
) -> tuple[str, set[str], int]:
    """LLVM text of `block(in0, stride0, …, out, stride, scratch)` for one row, its declarations and scratch.

    The scratch memory must be aligned to 64 bytes.
    """
    size = 8 if element == "double" else 4
    layout = Layout(program, target.lanes(size), size)
    kinds: dict[str, type[StageWriter | PlaceWriter]] = {
        "links": LinkWriter,
        "chain": ChainWriter,
        "place": PlaceWriter,
    }
    block = Staging(element, target.fma, layout)
    texts = [
        line for kind in (LinkWriter, ChainWriter) for line in kind(element, target.fma, layout).constants()
    ]
    names = []
    for number, (over, stage) in enumerate(program.stages):
        listed = isinstance(stage, Loop) and stage.bodies is not None
        kind = "place" if listed else "chain" if over else "links"
        w = kinds[kind](element, target.fma, layout)
        w.stage(stage)
        names.append((kind, f"@{kind}{number}"))
        texts += w.tables
        texts.append(w.function(names[-1][1]))
        block.used |= w.used
    text = block.text(names)
    return "\n".join([*block.tables, *texts, text]), block.used, layout.scratch


class StageWriter(LoopWriter, ABC):
    """Text of one stage."""

    wide: ClassVar[bool]  # whether lanes are segments, or there is but one
    turns: int  # of a loop

    def __init__(self, element: str, fma: bool, layout: Layout) -> None:
        super().__init__(element, layout.lanes if self.wide else 1, fma)
        self.layout, self.p = layout, layout.program
        self.regions = layout.regions

    @abstractmethod
    def body(self, index: str) -> str:
        """The row of a link, or the segment, in some turn of the loop."""

    @abstractmethod
    def slot(self, body: str, number: int) -> str:
        """Where a value is kept for later loops."""

    @abstractmethod
    def share(self, body: str, number: int) -> str:
        """Where a value of the segment is kept."""

    @abstractmethod
    def end(self, body: str, number: int) -> str:
        """Where the value is kept with which a loop over links ended."""

    @abstractmethod
    def common(self, number: int) -> str:
        """Where a value is kept that all turns of a loop have in common."""

    @abstractmethod
    def parameter(self, body: str, column: int) -> str:
        """An entry of the table of parameters."""

    @abstractmethod
    def constants(self) -> list[str]:
        """The table of parameters."""

    def stage(self, stage: Any) -> None:
        """Write a stage."""
        if isinstance(stage, Once):
            for value, (_, place) in zip(run(self, stage.code, self.value), stage.targets, strict=True):
                self.save(value, self.common(place))
            return
        assert isinstance(stage, Loop)
        roots = {number: self.root(root) for number, root in (stage.roots or {}).items()}
        counter = self.open(self.turns, down=not stage.outward)
        ends = self.loop(stage, counter, {k: self.phi(counter, start) for k, start in roots.items()})
        self.close(counter)
        for number, value in ends.items():
            self.save(value, self.end("%group", number))
        self.settled(stage)

    def loop(self, stage: Loop, counter: Counter, carried: dict[int, str]) -> dict[int, str | float]:
        """One link, or one segment; results leave the registers as soon as they are there."""
        body = self.body(counter.index)
        code = in_local_order(stage.code)
        ends: dict[int, str | float] = {}
        sinks: dict[Any, list[tuple[Any, ...]]] = {}
        for x, target in zip(code.results, stage.targets, strict=True):
            sinks.setdefault(x, []).append(target)

        def leaf(what: tuple[Any, ...]) -> str | float:
            return carried[what[1]] if what[0] == "carry" else self.value(what, body)

        value = Values(self, code, leaf)

        def settle(x: Any) -> None:
            for kind, *more in sinks.pop(x, []):
                if kind == "carry":
                    counter.fed[carried[more[0]]] = self.operand(value(x))
                elif kind == "save":
                    self.save(value(x), self.slot(body, more[0]))
                elif kind == "out":
                    self.save(value(x), self.at("out", body, 0))
                elif kind == "rest":
                    self.save(value(x), self.at(PLACED, self.scaled(body, 12), more[0]))
                elif kind == "end":
                    ends[more[0]] = value(x)
                elif kind == "angle":
                    angle = value(x)
                    turn(self, self.scaled(body, 3 * self.p.angles), more[0], angle)

        for number in value.written():
            settle(number)
        for x in list(sinks):
            settle(x)
        return ends

    def settled(self, stage: Loop) -> None:
        """What remains to be done after a loop."""

    def root(self, value: Any) -> str:
        return self.fetch(self.common(value[1])) if isinstance(value, tuple) else self.operand(float(value))

    def value(self, what: tuple[Any, ...], body: str = "") -> str | float:
        """What a link or segment finds in tables and scratch."""
        kind, *more = what
        if kind == "param":
            return self.parameter(body, more[0])
        if kind == "state":
            name, map, width, offset = more
            return self.fetch(self.at(f"{name} {map}", self.scaled(body, width), offset))
        if kind in ("sine", "cosine"):
            row = self.scaled(body, 3 * self.p.angles)
            return self.fetch(self.at("angles", row, 3 * more[0] + (1 if kind == "sine" else 2)))
        place = {"load": self.slot, "share": self.share, "end": self.end}.get(kind)
        return self.fetch(self.common(more[0]) if place is None else place(body, more[0]))

    def function(self, name: str) -> str:
        body = "\n  ".join(self.lines)
        head = f"define internal void {name}(ptr noalias %scratch, i64 %group) noinline alignstack(64) #0 {{"
        return f"{head}\nentry:\n  {body}\n  ret void\n}}\n"


class LinkWriter(StageWriter):
    """A stage over the links of a group of segments."""

    wide = True

    def __init__(self, element: str, fma: bool, layout: Layout) -> None:
        super().__init__(element, fma, layout)
        self.turns = layout.longest

    def body(self, index: str) -> str:
        return self.plus(index, self.put(f"mul i64 %group, {self.layout.longest}"))

    def slot(self, body: str, number: int) -> str:
        return self.at("slots", self.scaled(body, self.p.slots[0]), number)

    def share(self, body: str, number: int) -> str:
        return self.at("shares", "%group", number * self.layout.groups)

    def end(self, body: str, number: int) -> str:
        return self.at("ends", "%group", number * self.layout.groups)

    def common(self, number: int) -> str:
        return self.at("commons", "%group", number * self.layout.groups)

    def parameter(self, body: str, column: int) -> str:
        index = self.scaled(body, self.p.tables[0].shape[1])
        row = self._once(
            ("row", index), lambda: self.put(f"getelementptr {self.vector}, ptr @link_table, i64 {index}")
        )
        return self.fetch(
            self.put(f"getelementptr {self.vector}, ptr {row}, i64 {self.p.columns[0][column]}")
        )

    def constants(self) -> list[str]:
        if self.p.tables[0].size:
            self.numbers("@link_table", self.layout.by_lane(self.p.tables[0]))
        return self.tables


class ChainWriter(StageWriter):
    """A stage over segments, one after another."""

    wide = False

    def __init__(self, element: str, fma: bool, layout: Layout) -> None:
        super().__init__(element, fma, layout)
        self.turns = layout.count
        self.all = layout.groups * layout.lanes

    def body(self, index: str) -> str:
        return index

    def slot(self, body: str, number: int) -> str:
        return self.at("shares", body, number * self.all)

    def share(self, body: str, number: int) -> str:
        return self.slot(body, number)

    def settled(self, stage: Loop) -> None:
        # Lanes to spare repeat the last segment.
        for kind, *more in stage.targets:
            if kind == "save" and more[0] in self.layout.shared and self.all > self.turns:
                value = self.fetch(self.slot(str(self.turns - 1), more[0]))
                for spare in range(self.turns, self.all):
                    self.save(value, self.slot(str(spare), more[0]))

    def end(self, body: str, number: int) -> str:
        return self.at("ends", body, number * self.all)

    def common(self, number: int) -> str:
        return self.at("shared", "0", number)

    def parameter(self, body: str, column: int) -> str:
        place = self.put(
            f"getelementptr [{self.p.tables[1].shape[1]} x {self.element}], ptr @chain_table, i64 {body}, "
            f"i64 {self.p.columns[1][column]}"
        )
        return self.put(f"load {self.vector}, ptr {place}, align {self.size}")

    def constants(self) -> list[str]:
        if self.p.tables[1].size:
            self.numbers("@chain_table", self.p.tables[1])
        return self.tables
