# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Text of loops: counters, values carried around, places in scratch and tables; instructions inside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....ir.rewrite import Code
from ....ir.rolled import CHOOSE
from .straight import Writer, instruction
from .trig import LARGEST

Leaf = Callable[[tuple[Any, ...]], str | float]  # an input of instructions, as text or as a number


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

    def __init__(self, element: str, lanes: int, fma: bool) -> None:
        super().__init__(element, lanes, fma)
        self.regions: dict[str, int] = {}
        self._reserved: dict[str, int] = {}
        self.scratch = 0
        self.tables: list[str] = []
        self.block = "entry"
        self._labels = 0
        self._known: dict[tuple[Any, ...], str] = {}
        self._names: dict[str, str] = {}  # of tables

    # ------------------------------------------------------------- places

    def region(self, name: str, vectors: int) -> None:
        """Reserve scratch memory; what is reserved already has to be enough."""
        if vectors and name not in self.regions:
            self.regions[name] = self.scratch
            self.scratch += vectors * self.lanes * self.size
            self._reserved[name] = vectors
        assert vectors <= self._reserved.get(name, 0), name

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

    # ------------------------------------------------------------- tables

    def table(self, name: str, array: np.ndarray) -> None:
        """Add a constant array to the module."""
        data = array.tobytes()
        text = "\\" + data.hex("\\") if data else ""
        self.tables.append(f'{name} = internal constant [{len(data)} x i8] c"{text}", align 64')

    def numbers(self, name: str, array: np.ndarray) -> None:
        """Add a constant array of numbers to the module."""
        self.table(name, array.astype(np.float64 if self.element == "double" else np.float32))

    def number(self, name: str, array: np.ndarray, index: str) -> str:
        """An entry of a constant array of numbers, in all lanes."""
        if name not in self._names:
            self._names[name] = name
            self.numbers(name, array)
        place = self.put(f"getelementptr {self.element}, ptr {name}, i64 {index}")
        return self.in_all_lanes(place)

    def integer(self, name: str, array: np.ndarray, index: str) -> str:
        """An entry of a constant array of integers."""
        if name not in self._names:
            self._names[name] = f"@map{len(self._names)}"
            self.table(self._names[name], array.astype(np.int64))

        def load() -> str:
            place = self.put(f"getelementptr i64, ptr {self._names[name]}, i64 {index}")
            return self.put(f"load i64, ptr {place}, align 8")

        return self._once(("integer", name, index), load)

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

    def in_blocks(self, size: int, width: int, block: Callable[[str, int], None]) -> None:
        """`block(first, width)` for all whole blocks of some places, in a loop, then for the rest."""
        if size // width:
            loop = self.open(size // width)
            block(self.scaled(loop.index, width), width)
            self.close(loop)
        if size % width:
            block(str(size - size % width), size % width)

    @contextmanager
    def only_if(self, condition: str) -> Iterator[None]:
        """Text that runs only if a condition holds."""
        then, done = self.new_label("then"), self.new_label("done")
        self.do(f"br i1 {condition}, label %{then}, label %{done}")
        self.label(then)
        yield
        self.do(f"br label %{done}")
        self.label(done)

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


class Values:
    """The values of instructions; inputs are read where they are first used."""

    def __init__(self, w: LoopWriter, code: Code, leaf: Leaf) -> None:
        self.w, self.code, self.leaf = w, code, leaf
        self._known: list[Any] = [None] * len(code.instructions)

    def __call__(self, x: Any) -> str | float:
        """An operand or result: an instruction by its number, or a constant."""
        if not isinstance(x, int):
            return float(x)
        if self._known[x] is None:
            self._known[x] = self.leaf(self.code.instructions[x].args)
        found: str | float = self._known[x]
        return found

    def written(self) -> Iterator[int]:
        """Write the instructions one after another, and tell the number of each."""
        for number, made in enumerate(self.code.instructions):
            if made.op == "input":
                continue
            operands = [self(a) for a in made.args]
            if made.op == CHOOSE:
                self._known[number] = self.w.choose(*map(self.w.operand, operands))
            else:
                self._known[number] = instruction(self.w, self.code, number, self._known, {}, {})
            yield number


def run(w: LoopWriter, code: Code, leaf: Leaf) -> list[str | float]:
    """Write instructions and return their results."""
    values = Values(w, code, leaf)
    for _ in values.written():
        pass
    return [values(x) for x in code.results]


def turn(w: LoopWriter, row: str, number: int, angle: str | float) -> None:
    """Sine and cosine of an angle into its places in a row; the C library steps in for large ones."""
    v, x = w.vector, w.operand(angle)
    if not x.startswith("%"):
        x = w.put(f"fadd {v} {x}, zeroinitializer")
    sine, cosine = w.sincos(x)
    w.save(sine, w.at("angles", row, 3 * number + 1))
    w.save(cosine, w.at("angles", row, 3 * number + 2))
    beyond = w.put(f"fcmp ogt {v} {w.intrinsic('fabs', x)}, {w.constant(LARGEST)}")
    bits = w.put(f"bitcast <{w.lanes} x i1> {beyond} to i{w.lanes}")
    rare = w.put(f"icmp ne i{w.lanes} {bits}, 0")
    slow, fast = w.new_label("slow"), w.new_label("fast")
    w.do(f"br i1 {rare}, label %{slow}, label %{fast}, !prof !0")
    w.label(slow)
    place = w.at("angles", row, 3 * number)
    w.save(x, place)
    w.do(f"call void @turn_large(ptr {place}, i64 {w.lanes})")
    w.do(f"br label %{fast}")
    w.label(fast)
