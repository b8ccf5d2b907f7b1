# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Text of loops: counters, values carried around, places in scratch and tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...ir.rewrite import Code
from ...ir.rolled import CHOOSE, OWN, RolledProgram
from .emit import Writer, instruction

_HEX = np.array([f"\\{k:02X}" for k in range(256)], dtype="S3")


@dataclass
class Counter:
    """An open loop: its index, where it came from and what goes round with it."""

    index: str
    label: str
    before: str
    line: int
    first: str
    end: str
    step: int
    phis: dict[str, str] = field(default_factory=dict)  # name to value at the start
    fed: dict[str, str] = field(default_factory=dict)  # name to value for the next round


class LoopWriter(Writer):
    """Text of a function of loops."""

    def __init__(self, element: str, lanes: int, fma: bool, program: RolledProgram) -> None:
        super().__init__(element, lanes, fma)
        self.program = program
        self.regions: dict[str, int] = {}
        self.scratch = 0
        self.tables: list[str] = []
        self.block = "entry"
        self._labels = 0
        self._known: dict[tuple[Any, ...], str] = {}
        self._maps: dict[str, str] = {}

    # ------------------------------------------------------------- places

    def region(self, name: str, vectors: int) -> None:
        """Reserve scratch memory."""
        if vectors and name not in self.regions:
            self.regions[name] = self.scratch
            self.scratch += vectors * self.lanes * self.size

    def at(self, region: str, index: str, offset: int) -> str:
        """The address of vector `index + offset` of a region."""
        base = self._once(("base", region, index), lambda: self._base(region, index))
        return base if not offset else self.put(f"getelementptr {self.vector}, ptr {base}, i64 {offset}")

    def _base(self, region: str, index: str) -> str:
        start = self.put(f"getelementptr i8, ptr %scratch, i64 {self.regions[region]}")
        return start if index == "0" else self.put(f"getelementptr {self.vector}, ptr {start}, i64 {index}")

    def fetch(self, place: str) -> str:
        return self.put(f"load {self.vector}, ptr {place}, align {self.lanes * self.size}")

    def save(self, value: str | float, place: str) -> None:
        self.do(f"store {self.vector} {self.operand(value)}, ptr {place}, align {self.lanes * self.size}")

    def clear(self, region: str, vectors: int | str) -> None:
        """Fill a region with zeros."""
        self.used.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        count = self.scaled(str(vectors), self.lanes * self.size)
        self.do(f"call void @llvm.memset.p0.i64(ptr {self.at(region, '0', 0)}, i8 0, i64 {count}, i1 false)")

    def _once(self, key: tuple[Any, ...], make: Any) -> str:
        """A value made once in each block of the text, since one block does not see another's."""
        key = (self.block, *key)
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def scaled(self, index: str, factor: int) -> str:
        """index * factor."""
        if factor == 1 or index == "0":
            return index
        if not index.startswith("%"):
            return str(int(index) * factor)
        return self._once(("scaled", index, factor), lambda: self.put(f"mul i64 {index}, {factor}"))

    def plus(self, index: str, more: str | int) -> str:
        return self.put(f"add i64 {index}, {more}")

    def choose(self, mask: str, a: str, b: str) -> str:
        """a in the lanes where the mask is not zero, else b."""
        v = self.vector
        where = self.put(f"fcmp une {v} {mask}, zeroinitializer")
        return self.put(f"select <{self.lanes} x i1> {where}, {v} {a}, {v} {b}")

    def where_equal(self, a: str, b: str) -> str:
        """One in all lanes if two indices are equal, else zero."""
        same = self.put(f"icmp eq i64 {a}, {b}")
        one, v = self.operand(1.0), self.vector
        return self.put(f"select i1 {same}, {v} {one}, {v} zeroinitializer")

    # ------------------------------------------------------------- rows of the output

    def rows_out(self, row: str, position: str, count: str, tail: int, step: int = 1) -> None:
        """Write `count` vectors, `step` apart from address `row`, out; `tail` are no whole block."""
        number, lanes = len(self.program.inputs), self.lanes

        def block(start: str, width: int) -> None:
            base = self.put(f"getelementptr {self.element}, ptr %p{number}, i64 {self.plus(position, start)}")
            first = self.put(f"getelementptr {self.vector}, ptr {row}, i64 {self.scaled(start, step)}")
            places = [
                self.put(f"getelementptr {self.vector}, ptr {first}, i64 {k * step}") for k in range(width)
            ]
            self.store_rows(base, f"%s{number}", [self.fetch(place) for place in places])

        whole = self.put(f"udiv i64 {count}, {lanes}")
        some = self.put(f"icmp ne i64 {whole}, 0")
        blocks, rest = self.new_label("blocks"), self.new_label("rest")
        self.do(f"br i1 {some}, label %{blocks}, label %{rest}")
        self.label(blocks)
        loop = self.open(whole)
        block(self.scaled(loop.index, lanes), lanes)
        self.close(loop)
        self.do(f"br label %{rest}")
        self.label(rest)
        if tail:
            block(self.put(f"mul i64 {whole}, {lanes}"), tail)

    # ------------------------------------------------------------- tables

    def table(self, name: str, array: np.ndarray) -> None:
        """Add a constant array to the module."""
        data = array.tobytes()
        text = _HEX[np.frombuffer(data, dtype=np.uint8)].tobytes().decode("ascii")
        self.tables.append(f'{name} = internal constant [{len(data)} x i8] c"{text}", align 64')

    def parameter(self, body: str, column: int) -> str:
        """An entry of the table of parameters, in all lanes."""
        index = self.scaled(body, self.program.table.shape[1])
        row = self._once(
            ("row", index), lambda: self.put(f"getelementptr {self.element}, ptr @table, i64 {index}")
        )
        place = self.put(f"getelementptr {self.element}, ptr {row}, i64 {self.program.columns[column]}")
        return self._in_all_lanes(self.put(f"load {self.element}, ptr {place}, align {self.size}"))

    def number(self, name: str, array: np.ndarray, index: str) -> str:
        """An entry of a constant array of numbers, in all lanes."""
        if name not in self._maps:
            self._maps[name] = name
            self.table(name, array.astype(np.float64 if self.element == "double" else np.float32))
        place = self.put(f"getelementptr {self.element}, ptr {name}, i64 {index}")
        return self._in_all_lanes(self.put(f"load {self.element}, ptr {place}, align {self.size}"))

    def _in_all_lanes(self, one: str) -> str:
        v = self.vector
        wide = self.put(f"insertelement {v} poison, {self.element} {one}, i64 0")
        return self.put(f"shufflevector {v} {wide}, {v} poison, <{self.lanes} x i32> zeroinitializer")

    def integer(self, name: str, array: np.ndarray, index: str) -> str:
        """An entry of a constant array of integers."""
        if name not in self._maps:
            self._maps[name] = f"@map{len(self._maps)}"
            self.table(self._maps[name], array.astype(np.int64))

        def load() -> str:
            place = self.put(f"getelementptr i64, ptr {self._maps[name]}, i64 {index}")
            return self.put(f"load i64, ptr {place}, align 8")

        return self._once(("integer", name, index), load)

    def mapped(self, map: str, body: str) -> str:
        """Where a map of the program sends a body."""
        return body if map == OWN else self.integer(map, self.program.maps[map], body)

    def slot_of_parent(self, body: str) -> str:
        """The number of the parent plus one, since the world comes first."""
        assert self.program.parents is not None
        return self.integer("parent slot", self.program.parents + 1, body)

    def parent(self, body: str) -> str:
        if self.program.parents is None:
            return self.plus(body, -1)
        return self.integer("parent", self.program.parents, body)

    def root(self, value: Any) -> str:
        """The value at the world: a constant or a common one."""
        return (
            self.fetch(self.at("commons", "0", value[1]))
            if isinstance(value, tuple)
            else self.operand(float(value))
        )

    # ------------------------------------------------------------- loops

    def new_label(self, kind: str = "l") -> str:
        self._labels += 1
        return f"{kind}{self._labels}"

    def label(self, name: str) -> None:
        self.do(f"{name}:")
        self.block = name

    def open(self, count: int | str, *, down: bool = False) -> Counter:
        """Begin a loop over 0 … count - 1 (at least one round), or back."""
        if down:
            start, end, step = self.plus(str(count), -1), "-1", -1
        else:
            start, end, step = "0", str(count), 1
        counter = self.open_walk(start)
        counter.end, counter.step = end, step
        return counter

    def open_between(self, first: str, end: str, *, down: bool = False) -> Counter:
        """Begin a loop over first … end - 1 (at least one round), or back."""
        start = self.plus(end, -1) if down else first
        stop = self.plus(first, -1) if down else end
        counter = self.open_walk(start)
        counter.end, counter.step = stop, -1 if down else 1
        return counter

    def open_walk(self, first: str) -> Counter:
        """Begin a loop whose index is a body and then whatever `close_walk` says, until that is negative."""
        label, before = self.new_label(), self.block
        self.do(f"br label %{label}")
        self.label(label)
        index = f"%i{self._labels}"
        self.lines.append("")
        return Counter(index, label, before, len(self.lines) - 1, first, "", 0)

    def close_walk(self, counter: Counter, after: str) -> None:
        """End a walk that goes on to body `after`."""
        self._close(counter, after, self.put(f"icmp sge i64 {after}, 0"))

    def phi(self, counter: Counter, start: str) -> str:
        """A value that goes round with a loop; what it becomes is told in `counter.fed`."""
        name = f"%c{self.count}"
        self.count += 1
        counter.phis[name] = start
        return name

    def close(self, counter: Counter) -> None:
        """End a loop."""
        after = self.plus(counter.index, counter.step)
        self._close(counter, after, self.put(f"icmp ne i64 {after}, {counter.end}"))

    def _close(self, counter: Counter, after: str, more: str) -> None:
        heads = [
            f"{counter.index} = phi i64 [ {counter.first}, %{counter.before} ], [ {after}, %{self.block} ]"
        ]
        for name, start in counter.phis.items():
            again = f"[ {counter.fed[name]}, %{self.block} ]"
            heads.append(f"{name} = phi {self.vector} [ {start}, %{counter.before} ], {again}")
        self.lines[counter.line] = "\n  ".join(heads)
        leave = self.new_label("end")
        self.do(f"br i1 {more}, label %{counter.label}, label %{leave}")
        self.label(leave)


# ------------------------------------------------------------------- instructions


def run(w: LoopWriter, code: Code, leaf: Callable[[tuple[Any, ...]], str | float]) -> list[str | float]:
    """Write instructions; inputs are read where they are first used. Returns the results."""
    values: list[Any] = [None] * len(code.instructions)

    def value(x: Any) -> str | float:
        if not isinstance(x, int):
            return float(x)
        if values[x] is None:
            values[x] = leaf(code.instructions[x].args)
        found: str | float = values[x]
        return found

    for number, made in enumerate(code.instructions):
        if made.op == CHOOSE:
            values[number] = w.choose(*(w.operand(value(a)) for a in made.args))
        elif made.op != "input":
            for a in made.args:
                value(a)
            values[number] = instruction(w, code, number, values, {}, {})
    return [value(x) for x in code.results]


def body_leaf(w: LoopWriter, body: str) -> Callable[[tuple[Any, ...]], str | float]:
    """What a body finds in tables and scratch."""

    def leaf(what: tuple[Any, ...]) -> str | float:
        kind, *more = what
        if kind == "param":
            return w.parameter(body, more[0])
        if kind == "state":
            name, map, width, offset = more
            return w.fetch(w.at(name, w.scaled(w.mapped(map, body), width), offset))
        if kind in ("sine", "cosine"):
            row = w.scaled(body, 3 * w.program.angles)
            return w.fetch(w.at("angles", row, 3 * more[0] + (1 if kind == "sine" else 2)))
        if kind == "load":
            return w.fetch(w.at("slots", w.scaled(body, w.program.slots), more[0]))
        if kind == "common":
            return w.fetch(w.at("commons", "0", more[0]))
        raise KeyError(kind)

    return leaf
