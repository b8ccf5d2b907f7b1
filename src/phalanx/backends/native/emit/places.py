# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Text of one LLVM function with loops: whole numbers, places in memory, labels and scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ....program.form.program import Final, Program, Region
from ....program.form.wholes import Counter, Index, Table, Whole, apart
from .writer import Writer

if TYPE_CHECKING:
    from .module import Module

_COMPARED = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_ARITHMETIC = {"add": "add", "sub": "sub", "mul": "mul", "shl": "shl", "div": "udiv"}


class Frame:
    """What the functions of one program share: where regions lie."""

    def __init__(self, module: Module, program: Program, lanes: int, name: str) -> None:
        self.module, self.program, self.name = module, program, name
        self.states = lanes if program.lanes == 1 else 1  # in the lanes of a register
        self.parts = 0
        self.offsets: dict[Region, int] = {}
        scratch = 0
        for region in program.scratch:
            self.offsets[region] = scratch
            scratch += region.size * program.lanes * self.states * module.size
        arguments = (*program.inputs, *program.outputs)
        self.pointers = {region: k for k, region in enumerate(arguments)}


class Places(Writer):
    """Text of one function; `width` numbers of the program stand in each place that it reads."""

    def __init__(self, frame: Frame, fma: bool, width: int) -> None:
        super().__init__(frame.module.element, width * frame.states, fma)
        self.frame, self.width = frame, width
        self.used = frame.module.used
        self.block = "0"
        self.prologue: list[str] = []
        self.names: dict[Any, str | float] = {}
        self.columns: dict[Region, list[str]] = {}
        self.results: dict[Region, dict[int, Any]] = {}
        self._labels = 0
        self._known: dict[tuple[Any, ...], str] = {}  # addresses, by block
        self._scopes: list[dict[Index, str]] = [{}]  # whole numbers, of the loops and conditions around

    @property
    def text(self) -> str:
        lines = self.lines
        if self.prologue:
            lines = [lines[0], *self.prologue, *lines[1:]]
        return "\n  ".join(lines)

    # ------------------------------------------------------------- whole numbers

    def whole(self, x: Index) -> str:
        """A whole number; made once, and known wherever that is on the way."""
        if isinstance(x, int):
            return str(x)
        if isinstance(x, Counter):
            return str(self.names[x])
        for scope in self._scopes:
            if x in scope:
                return scope[x]
        made = self._scopes[-1][x] = self._whole(x)
        return made

    def _whole(self, x: Whole) -> str:
        if x.op == "entry":
            table, index = x.args
            place = self.put(f"getelementptr i64, ptr {self.table(table)}, i64 {self.whole(index)}")
            return self.put(f"load i64, ptr {place}, align 8")
        args = [self.whole(a) for a in x.args]
        if x.op in _ARITHMETIC:
            return self.put(f"{_ARITHMETIC[x.op]} i64 {args[0]}, {args[1]}")
        if x.op in _COMPARED:
            return self.put(f"icmp {_COMPARED[x.op]} i64 {args[0]}, {args[1]}")
        if x.op == "and":
            return self.put(f"and i1 {args[0]}, {args[1]}")
        if x.op == "select":
            return self.put(f"select i1 {args[0]}, i64 {args[1]}, i64 {args[2]}")
        raise TypeError(f"LLVM: no rule for the operation {x.op} on whole numbers.")

    def condition(self, x: Index) -> str:
        return str(bool(x)).lower() if isinstance(x, int) else self.whole(x)

    # ------------------------------------------------------------- places

    def table(self, table: Table) -> str:
        return self.frame.module.table(table.values)

    def address(self, region: Region, index: Index, *, single: bool = False) -> str:
        """Where a place of a region is, or a single number of it."""
        variable, constant = apart(index)
        kind = self.vector if region in self.frame.offsets and not single else self.element
        base = self._base(region, variable, kind)
        return base if not constant else self.put(f"getelementptr {kind}, ptr {base}, i64 {constant}")

    def _base(self, region: Region, variable: Index, kind: str) -> str:
        key = (self.block, "base", region, variable, kind)
        if key not in self._known:
            if region in self.frame.offsets:
                start = self.put(f"getelementptr i8, ptr %scratch, i64 {self.frame.offsets[region]}")
            else:
                start = f"%p{self.frame.pointers[region]}"
            if variable != 0:
                start = self.put(f"getelementptr {kind}, ptr {start}, i64 {self.whole(variable)}")
            self._known[key] = start
        return self._known[key]

    def fetch(self, place: str, *, align: int = 0) -> str:
        return self.put(f"load {self.vector}, ptr {place}, align {align or self.lanes * self.size}")

    def save(self, value: str | float, place: str, *, align: int = 0) -> None:
        v = self.vector
        self.do(f"store {v} {self.operand(value)}, ptr {place}, align {align or self.lanes * self.size}")

    def in_all_lanes(self, place: str) -> str:
        """The number at an address, in all lanes."""
        one = self.put(f"load {self.element}, ptr {place}, align {self.size}")
        v = self.vector
        wide = self.put(f"insertelement {v} poison, {self.element} {one}, i64 0")
        return self.put(f"shufflevector {v} {wide}, {v} poison, <{self.lanes} x i32> zeroinitializer")

    def real(self, x: Any) -> str | float:
        if isinstance(x, float):
            return x
        found = self.names[x.carried, "final"] if isinstance(x, Final) else self.names[x]
        return found

    def _operand_of(self, x: Any) -> str:
        return self.operand(self.real(x))

    # ------------------------------------------------------------- loops

    def new_label(self, kind: str = "l") -> str:
        self._labels += 1
        return kind if self.block == "0" else f"{kind}{self._labels}"

    def label(self, name: str) -> None:
        self.do(f"{name}:")
        self.block = name

    def _rounds(
        self,
        first: str,
        following: Callable[[str], tuple[str, str]],
        body: Callable[[str], None],
        phis: Callable[[], list[tuple[str, str, Callable[[], str]]]] = list,
    ) -> None:
        """A loop: `following(index)` gives the next index and the condition to go on."""
        label, before = self.new_label(), self.block
        self.do(f"br label %{label}")
        self.label(label)
        index = f"%i{self._labels}"
        carried = phis()
        line = len(self.lines)
        self.lines.append("")
        with self._scope():
            body(index)
            after, more = following(index)
        go_on = self.put(f"icmp {more}")
        heads = [f"{index} = phi i64 [ {first}, %{before} ], [ {after}, %{self.block} ]"]
        heads += [
            f"{name} = phi {self.vector} [ {start}, %{before} ], [ {fed()}, %{self.block} ]"
            for name, start, fed in carried
        ]
        self.lines[line] = "\n  ".join(heads)
        leave = self.new_label("end")
        self.do(f"br i1 {go_on}, label %{label}, label %{leave}")
        self.label(leave)

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """Whole numbers that are made inside are not known behind."""
        self._scopes.append({})
        yield
        self._scopes.pop()

    @contextmanager
    def _when(self, condition: str) -> Iterator[None]:
        """Text that runs only if a condition holds."""
        then, done = self.new_label("then"), self.new_label("done")
        self.do(f"br i1 {condition}, label %{then}, label %{done}")
        self.label(then)
        with self._scope():
            yield
        self.do(f"br label %{done}")
        self.label(done)
