# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""LLVM text of kernels for a grid of threads, one state a thread.

Rows of a batch lie one after another, as NumPy has them, while threads side by side should touch numbers side
by side. So a block of threads copies its rows into shared memory together, each thread reads its own row there,
and results leave the same way. Rows there have an odd length: threads then never meet in a memory bank.
Regions too wide for shared memory are read and written in place.

What loops keep lies in a workspace in global memory, where the threads of a warp have every number side by
side. Local memory would have the same layout, but drivers reserve it for all threads that a device can hold
at once, however few run, and it ends at 512 KB a thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...program.form.program import Part, Program, Region, Table
from ..native.emit.places import Frame
from ..native.emit.walk import Module, Text

WARP = 32
_BLOCKS = (128, 64, 32)  # threads of a block: the first number whose rows fit
_SHARED = 48 * 1024  # bytes that any block may have
_WIDEST = 64  # words of a row in shared memory: beyond, too few threads fit on a multiprocessor
_CONSTANT = 60 * 1024  # bytes of tables in constant memory, which has 64 KB
_SHARED_SPACE, _CONSTANT_SPACE, _GLOBAL_SPACE = 3, 4, 1


@dataclass(frozen=True)
class Layout:
    """How the kernel of a program is launched."""

    block: int  # threads
    staged: tuple[bool, ...]  # inputs, then outputs: whether they go through shared memory
    sizes: tuple[int, ...]  # numbers in a row of each
    inputs: int
    scratch: int  # numbers of workspace that a thread needs
    element: int  # bytes of a number

    @property
    def shared(self) -> int:
        """Bytes of shared memory."""
        return self.element * self.block * sum(self.pitch(k) for k in range(len(self.sizes)))

    def pitch(self, k: int) -> int:
        """Numbers from a row in shared memory to the next: odd."""
        return self.sizes[k] | 1 if self.staged[k] else 0

    def offset(self, k: int) -> int:
        """Where a region begins in shared memory, in numbers."""
        return self.block * sum(self.pitch(j) for j in range(k))

    def blocks(self, count: int, most: int) -> int:
        """Blocks for so many states, at most so many; every block goes on while states are left."""
        return max(1, min(-(-count // self.block), most))

    def workspace(self, blocks: int) -> int:
        """Bytes of workspace that so many blocks need."""
        return self.element * self.scratch * self.block * blocks


def layout_of(program: Program, size: int) -> Layout:
    """Which rows go through shared memory, and how many threads a block then has."""
    sizes = tuple(region.size for region in (*program.inputs, *program.outputs))
    scratch = sum(region.size for region in program.scratch)
    words = size // 4
    staged = [0 < words * n <= _WIDEST for n in sizes]
    while True:
        made = Layout(_BLOCKS[0], tuple(staged), sizes, len(program.inputs), scratch, size)
        for block in _BLOCKS:
            made = Layout(block, tuple(staged), sizes, len(program.inputs), scratch, size)
            if made.shared <= _SHARED:
                return made
        widest = max(range(len(sizes)), key=lambda k: staged[k] * sizes[k])
        staged[widest] = False


class Grid(Module):
    """Functions of programs in which lanes are threads of a device; tables are constants of its own."""

    def __init__(self, element: str) -> None:
        super().__init__(element)
        self._spaces: dict[str, int] = {}
        self._left = _CONSTANT

    def table(self, values: np.ndarray) -> str:
        name = super().table(values)
        if name not in self._spaces:
            fits = values.size * (8 if values.dtype.kind in "iu" else self.size) <= self._left
            self._spaces[name] = _CONSTANT_SPACE if fits else _GLOBAL_SPACE
            self._left -= values.size * 8 if fits else 0
        return f"addrspacecast (ptr addrspace({self._spaces[name]}) {name} to ptr)"

    def _constants(self) -> Iterator[str]:
        for line, space in zip(super()._constants(), self._spaces.values(), strict=True):
            yield line.replace("internal constant", f"internal addrspace({space}) constant", 1)

    def kernel(self, program: Program, name: str, told: Sequence[float] = ()) -> Layout:
        """Append `name(count, in0, …, out0, …)`, with a workspace last if loops need one."""
        layout = layout_of(program, self.size)
        w = _Thread(self, program, name, WARP)
        w.walk(program)
        self.texts.append(_Kernel(self, layout, name, bool(program.scratch)).text(w, self._told(told)))
        return layout

    def function(self, program: Program, name: str, told: Sequence[float] = ()) -> None:
        """Append `name(in0, …, out0, …)`, with scratch memory last, of one state for the thread that calls."""
        w = _Thread(self, program, name, 1)
        w.walk(program)
        parameters = [f"ptr %p{k}" for k in range(len(w.frame.pointers))]
        parameters += ["ptr %scratch"] if program.scratch else []
        lines = ["begin:", *self._told(told), *w.allocas, "br label %entry", *w.lines, "ret void"]
        head = f"define void @{name}({', '.join(parameters)}) #1 {{"
        self.texts.append("\n  ".join([head, *lines]) + "\n}\n")

    def _told(self, told: Sequence[float]) -> list[str]:
        return [f"%told = getelementptr i8, ptr {self.table(np.array(told))}, i64 0"] if told else []


class _Thread(Text):
    """Text of one state; `stride` numbers lie between two of its scratch memory."""

    def __init__(self, module: Module, program: Program, name: str, stride: int) -> None:
        frame = Frame(module, program, 1, name)
        place = 0
        for region in program.scratch:
            frame.offsets[region] = place * stride * module.size
            place += region.size
        super().__init__(frame, fma=True, width=1)
        self.stride = stride

    @property
    def allocas(self) -> list[str]:
        return self.prologue

    def walk(self, program: Program) -> None:
        if program.lanes != 1 or program.sizes:
            raise TypeError("grid: a program of one state is required.")
        self.body(program.body)

    def unit(self, region: Region | Table, *, single: bool = False) -> str:
        return f"[{self.stride} x {self.element}]" if region in self.frame.offsets else self.element

    def on_part(self, s: Part) -> None:
        self.body(s.body)


class _Kernel:
    """The text around the computation of a thread."""

    def __init__(self, module: Grid, layout: Layout, name: str, scratch: bool) -> None:
        self.element, self.size = module.element, module.size
        self.layout, self.name, self.scratch = layout, name, scratch
        self.lines: list[str] = []
        for declared in (*_READS.values(), f"declare void {_BARRIER}(i32)"):
            module.used.add(declared)
        module.used.add("declare i64 @llvm.smin.i64(i64, i64)")
        module.used.add("declare i32 @llvm.umin.i32(i32, i32)")

    def text(self, w: _Thread, told: list[str]) -> str:
        """The kernel: rows in, the computation of `w`, rows out, while states are left for this block."""
        layout, block = self.layout, self.layout.block
        n = len(layout.sizes)
        arguments = ["i64 %count", *(f"ptr addrspace({_GLOBAL_SPACE}) %a{k}" for k in range(n))]
        arguments += [f"ptr addrspace({_GLOBAL_SPACE}) %workspace"] if self.scratch else []
        put = self.lines.append
        put("begin:")
        self.lines += [*told, *w.allocas]
        put(f"%thread = call i32 {_name('tid')}()")
        put(f"%here = call i32 {_name('ctaid')}()")
        put(f"%grid = call i32 {_name('nctaid')}()")
        put("%thread_wide = zext i32 %thread to i64")
        put("%here_wide = zext i32 %here to i64")
        put("%grid_wide = zext i32 %grid to i64")
        put(f"%begin_row = mul i64 %here_wide, {block}")
        put(f"%stride_rows = mul i64 %grid_wide, {block}")
        if self.scratch:
            self._workspace()
        put("%any = icmp slt i64 %begin_row, %count")
        put("br i1 %any, label %rows, label %end")
        put("rows:")
        put("%first = phi i64 [ %begin_row, %begin ], [ %next_first, %again ]")
        put("%left = sub i64 %count, %first")
        put(f"%mine = call i64 @llvm.smin.i64(i64 %left, i64 {block})")
        put("%valid = trunc i64 %mine to i32")
        staged = [k for k in range(n) if layout.staged[k]]
        into = [k for k in staged if k < layout.inputs]
        out = [k for k in staged if k >= layout.inputs]
        self._moved_in(into)
        if into:
            self._barrier()
        for k in range(n):
            self._row(k)
        put("%active = icmp ult i32 %thread, %valid")
        put("br i1 %active, label %entry, label %computed")
        self.lines += w.lines
        put("br label %computed")
        put("computed:")
        if out:
            self._barrier()
            self._moved_out(out)
        put("br label %again")
        put("again:")
        put("%next_first = add i64 %first, %stride_rows")
        put("%more = icmp slt i64 %next_first, %count")
        if staged:
            put("br i1 %more, label %rows_again, label %end")
            put("rows_again:")
            self._barrier()
            put("br label %rows")
            self.lines[self.lines.index("%first = phi i64 [ %begin_row, %begin ], [ %next_first, %again ]")] = (
                "%first = phi i64 [ %begin_row, %begin ], [ %next_first, %rows_again ]"
            )
        else:
            put("br i1 %more, label %rows, label %end")
        put("end:")
        put("ret void")
        head = f'define ptx_kernel void @{self.name}({", ".join(arguments)}) #1 "nvvm.reqntid"="{block}" {{'
        numbers = layout.shared // self.size
        memory = (
            f"@{self.name}_rows = internal addrspace({_SHARED_SPACE}) global "
            f"[{numbers} x {self.element}] undef, align 16\n"
        )
        return memory * bool(numbers) + "\n  ".join([head, *self.lines]) + "\n}\n"

    def _workspace(self) -> None:
        """Where the numbers of this thread begin: of each warp together, thread by thread."""
        put = self.lines.append
        put("%number = add i64 %begin_row, %thread_wide")
        put(f"%warp = udiv i64 %number, {WARP}")
        put(f"%lane = urem i64 %number, {WARP}")
        put(f"%warp_at = mul i64 %warp, {WARP * self.layout.scratch}")
        put("%thread_at = add i64 %warp_at, %lane")
        put("%plain = addrspacecast ptr addrspace(1) %workspace to ptr")
        put(f"%scratch = getelementptr {self.element}, ptr %plain, i64 %thread_at")

    def _barrier(self) -> None:
        self.lines.append(f"call void {_BARRIER}(i32 0)")

    def _moves(self, k: int, i: int) -> tuple[str, str]:
        """The places of the i-th number that this thread moves: in its row's block outside, and in shared memory."""
        layout, put = self.layout, self.lines.append
        n, pitch, block = layout.sizes[k], layout.pitch(k), layout.block
        x = f"{k}_{i}"
        wide = f"%wide{x}"
        put(f"{wide} = zext i32 %at{x} to i64")
        put(f"%out{x} = getelementptr {self.element}, ptr addrspace(1) %block{k}, i64 {wide}")
        if pitch == n:
            spot = wide
        else:
            put(f"%row{x} = udiv i32 %at{x}, {n}")
            put(f"%spot{x} = add i32 %at{x}, %row{x}")
            put(f"%swide{x} = zext i32 %spot{x} to i64")
            spot = f"%swide{x}"
        rows, space = f"@{self.name}_rows", f"ptr addrspace({_SHARED_SPACE})"
        put(f"%base{x} = getelementptr {self.element}, {space} {rows}, i64 {layout.offset(k)}")
        put(f"%in{x} = getelementptr {self.element}, {space} %base{x}, i64 {spot}")
        del block
        return f"ptr addrspace(1) %out{x}", f"{space} %in{x}"

    def _block(self, k: int) -> None:
        """Where this block's rows of a region begin, and how many numbers they have."""
        n, put = self.layout.sizes[k], self.lines.append
        put(f"%begin{k} = mul i64 %first, {n}")
        put(f"%block{k} = getelementptr {self.element}, ptr addrspace(1) %a{k}, i64 %begin{k}")
        put(f"%total{k} = mul i32 %valid, {n}")

    def _moved_in(self, regions: list[int]) -> None:
        """Rows into shared memory: all loads first, so that they wait for memory together."""
        put = self.lines.append
        stores = []
        for k in regions:
            self._block(k)
            put(f"%last{k} = sub i32 %total{k}, 1")
            for i in range(self.layout.sizes[k]):
                x = f"{k}_{i}"
                put(f"%own{x} = add i32 %thread, {i * self.layout.block}")
                # Threads without a number left take the last one again.
                put(f"%at{x} = call i32 @llvm.umin.i32(i32 %own{x}, i32 %last{k})")
                outside, inside = self._moves(k, i)
                put(f"%x{x} = load {self.element}, {outside}, align {self.size}")
                stores.append(f"store {self.element} %x{x}, {inside}, align {self.size}")
        self.lines += stores

    def _moved_out(self, regions: list[int]) -> None:
        put = self.lines.append
        for k in regions:
            self._block(k)
            for i in range(self.layout.sizes[k]):
                x = f"{k}_{i}"
                put(f"%at{x} = add i32 %thread, {i * self.layout.block}")
                put(f"%is{x} = icmp ult i32 %at{x}, %total{k}")
                put(f"br i1 %is{x}, label %store{x}, label %stored{x}")
                put(f"store{x}:")
                outside, inside = self._moves(k, i)
                put(f"%x{x} = load {self.element}, {inside}, align {self.size}")
                put(f"store {self.element} %x{x}, {outside}, align {self.size}")
                put(f"br label %stored{x}")
                put(f"stored{x}:")

    def _row(self, k: int) -> None:
        """Where this thread's row of a region is."""
        layout, put = self.layout, self.lines.append
        n, pitch = layout.sizes[k], layout.pitch(k)
        if layout.staged[k]:
            put(f"%skip{k} = mul i32 %thread, {pitch}")
            put(f"%skip{k}w = zext i32 %skip{k} to i64")
            space = f"ptr addrspace({_SHARED_SPACE})"
            put(f"%all{k} = getelementptr {self.element}, {space} @{self.name}_rows, i64 {layout.offset(k)}")
            put(f"%place{k} = getelementptr {self.element}, {space} %all{k}, i64 %skip{k}w")
        else:
            space = "ptr addrspace(1)"
            put(f"%state{k} = add i64 %first, %thread_wide")
            put(f"%skip{k} = mul i64 %state{k}, {n}")
            put(f"%place{k} = getelementptr {self.element}, {space} %a{k}, i64 %skip{k}")
        put(f"%p{k} = addrspacecast {space} %place{k} to ptr")


def _name(register: str) -> str:
    return f"@llvm.nvvm.read.ptx.sreg.{register}.x"


_READS = {register: f"declare i32 {_name(register)}()" for register in ("tid", "ctaid", "nctaid")}
_BARRIER = "@llvm.nvvm.barrier.cta.sync.aligned.all"


def attributes() -> list[str]:
    """What stands at the end of every module."""
    return ["attributes #1 = { nounwind }", '!0 = !{!"branch_weights", i32 1, i32 1000000}']


def module_text(module: Grid, runtime: Sequence[Any] = ()) -> str:
    """A module as text, with what its functions call."""
    return "\n".join([module.text, *runtime, *sorted(module.used), *attributes()])
