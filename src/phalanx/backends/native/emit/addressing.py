# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Text of one LLVM function: whole numbers, places in memory, labels and scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ....program.form.program import Buffer, Index, InductionVariable, IntExpr, Program, Table, apart
from .writer import LlvmWriter

if TYPE_CHECKING:
    from .codegen import Module

_COMPARED = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_EXTREMES = {"minimum": ("olt", "or"), "maximum": ("ogt", "and")}
_ARITHMETIC = {"add": "add", "sub": "sub", "mul": "mul", "shl": "shl", "div": "udiv"}


class MemoryLayout:
    """What the functions of one program share: where regions lie."""

    def __init__(
        self, module: Module, program: Program, lanes: int, name: str, *, clamped: bool = False
    ) -> None:
        self.module, self.program, self.name = module, program, name
        self.clamped = clamped  # whether lanes beyond the last state repeat it
        self.states = lanes if program.lanes == 1 else 1  # in the lanes of a register
        self.parts = 0
        self.offsets: dict[Buffer, int] = {}
        scratch = 0
        for region in program.scratch:
            self.offsets[region] = scratch
            scratch += region.size * program.lanes * self.states * module.size
        arguments = (*program.inputs, *program.outputs)
        self.pointers = {region: k for k, region in enumerate(arguments)}


class AddressWriter(LlvmWriter):
    """Text of one function; `width` numbers of the program stand in each place that it reads."""

    def __init__(self, frame: MemoryLayout, fma: bool, width: int) -> None:
        super().__init__(frame.module.element, width * frame.states, fma)
        self.frame, self.width = frame, width
        self.used = frame.module.used
        self.prologue: list[str] = []
        self.names: dict[Any, str | float] = {}
        self.masks: dict[Any, str] = {}  # of values that are one or zero, a bit for each lane
        self.turned: dict[Any, str] = {}  # the taint of angles whose sine was taken
        self.seen: dict[Any, frozenset[str]] = {}  # which of these a taint has taken in
        self._labels = 0
        self._scopes: list[dict[Any, str]] = [{}]  # what is made, in the loops and conditions around
        self.label("entry")

    @property
    def text(self) -> str:
        return "\n  ".join([self.lines[0], *self.prologue, *self.lines[1:]])

    def known(self, key: Any, make: Callable[[], str]) -> str:
        """A name that is made once, and known wherever that is on the way."""
        for scope in self._scopes:
            if key in scope:
                return scope[key]
        made = self._scopes[-1][key] = make()
        return made

    def intrinsic(self, name: str, *args: Any) -> str:
        """A function of LLVM; on doubles of 32-bit machines its code generator fails at two of them."""
        if name not in _EXTREMES or self.frame.module.whole != "i32" or self.vector != "<1 x double>":
            return super().intrinsic(name, *args)
        (a, b), (test, joint) = args, _EXTREMES[name]
        same = self.number(self.integer(joint, self.bits(a), self.bits(b)))  # zeros may differ in sign
        found = self.where("oeq", a, b, same, self.where(test, a, b, a, b))
        return str(self.where("uno", a, b, self.binary("fadd", a, b), found))

    def clamp(self) -> None:
        """How far the row of each lane is from the first one."""
        self.used.add("declare i64 @llvm.umin.i64(i64, i64)")
        for r in range(1, self.lanes):
            self.do(f"%lane{r} = call i64 @llvm.umin.i64(i64 {r}, i64 %last)")
            for k in range(len(self.frame.pointers)):
                self.do(f"%row{k}_{r} = mul i64 %s{k}, %lane{r}")

    def sizes(self, counters: tuple[InductionVariable, ...]) -> None:
        """The whole numbers that are told with a call."""
        for k, counter in enumerate(counters):
            place = self.put(f"{_AT} i64, ptr %told, i64 {k}")
            self.names[counter] = self.put(f"load i64, ptr {place}, align 8")

    # ------------------------------------------------------------- whole numbers

    def whole(self, x: Index) -> str:
        """A whole number."""
        if isinstance(x, int):
            return str(x)
        return (
            str(self.names[x]) if isinstance(x, InductionVariable) else self.known(x, lambda: self._whole(x))
        )

    def _whole(self, x: IntExpr) -> str:
        w = self.frame.module.whole
        if x.op == "entry":
            table, index = x.args
            name = self.frame.module.table(table.values)
            place = self.put(f"getelementptr {w}, ptr {name}, {w} {self.whole(index)}")
            return self.put(f"load {w}, ptr {place}, align {int(w[1:]) // 8}")
        args = [self.whole(a) for a in x.args]
        if x.op in _ARITHMETIC:
            return self.put(f"{_ARITHMETIC[x.op]} {w} {args[0]}, {args[1]}")
        if x.op in _COMPARED:
            return self.put(f"icmp {_COMPARED[x.op]} {w} {args[0]}, {args[1]}")
        if x.op == "and":
            return self.put(f"and i1 {args[0]}, {args[1]}")
        if x.op == "select":
            return self.put(f"select i1 {args[0]}, {w} {args[1]}, {w} {args[2]}")
        raise TypeError(f"LLVM: no rule for the operation {x.op} on whole numbers.")

    def condition(self, x: Index) -> str:
        return str(bool(x)).lower() if isinstance(x, int) else self.whole(x)

    # ------------------------------------------------------------- places

    def in_lanes(self, region: Buffer | Table) -> bool:
        """Whether every place has a number for each lane."""
        return region in self.frame.offsets or (isinstance(region, Table) and region.wide)

    def unit(self, region: Buffer | Table, *, single: bool = False) -> str:
        """What lies between a place of a region and the next."""
        return self.vector if self.in_lanes(region) and not single else self.element

    def address(self, region: Buffer | Table, index: Index, *, single: bool = False) -> str:
        """Where a place of a region is, or a single number of it."""
        variable, constant = apart(index)
        kind = self.unit(region, single=single)

        def base() -> str:
            start, w = self._start(region), self.frame.module.whole
            return (
                start if variable == 0 else self.put(f"{_AT} {kind}, ptr {start}, {w} {self.whole(variable)}")
            )

        found = self.known((region, variable, kind), base)
        return found if not constant else self.put(f"{_AT} {kind}, ptr {found}, i64 {constant}")

    def _start(self, region: Buffer | Table) -> str:
        frame = self.frame
        if isinstance(region, Table):
            return frame.module.table(region.values)
        if region in frame.offsets:
            return self.put(f"{_AT} i8, ptr %scratch, i64 {frame.offsets[region]}")
        return "%told" if region.kind == "uniform" else f"%p{frame.pointers[region]}"

    def rows(self, region: Buffer | Table, index: Index) -> list[str]:
        """Where each lane has a row of its own, or all have the same one; nowhere if they lie side by side.

        Rows are those of states, or begin where the index tells.
        """
        if isinstance(index, IntExpr) and index.op == "lanes":
            return [self.address(region, each, single=True) for each in index.args]
        if region.kind == "uniform" or (isinstance(region, Table) and not region.wide):
            return [self.address(region, index)]
        if region not in self.frame.pointers or self.frame.program.lanes > 1:
            return []
        first, number = self.address(region, index), self.frame.pointers[region]
        if self.frame.clamped:
            offsets = [f"%row{number}_{r}" for r in range(1, self.lanes)]
        else:
            offsets = [self.put(f"mul i64 %s{number}, {r}") for r in range(1, self.lanes)]
        return [first, *(self.put(f"{_AT} i8, ptr {first}, i64 {offset}") for offset in offsets)]

    def alignment(self, region: Buffer | Table) -> int:
        return self.size if region in self.frame.pointers else self.size * self.lanes

    def real(self, x: Any) -> str | float:
        return x if isinstance(x, float) else self.names[x]

    def operand_of(self, x: Any) -> str:
        return self.operand(self.real(x))

    # ------------------------------------------------------------- labels

    def new_label(self, kind: str = "l") -> str:
        self._labels += 1
        return f"{kind}{self._labels}"

    def label(self, name: str) -> None:
        self.do(f"{name}:")
        self.block = name

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names that are made inside are not known behind."""
        self._scopes.append({})
        yield
        self._scopes.pop()


_AT = "getelementptr"
