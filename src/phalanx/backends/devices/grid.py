# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""LLVM text of kernels for a grid of threads, one state a thread.

Rows of a batch lie one after another, as NumPy has them, while threads side by side should touch numbers side
by side. So a block of threads copies its rows into shared memory together, each thread reads its own row
there, and results leave the same way. Rows there have an odd length: threads then never meet in a memory
bank. Regions too wide for shared memory are read and written in place.

What loops keep lies in a workspace in global memory, where the threads of a warp have every number side by
side. Local memory would have the same layout, but drivers reserve it for all threads that a device can hold
at once, however few run, and it ends at 512 KB a thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...program.form.program import Buffer, Program, SimdRegion, Table
from ..native.emit.addressing import MemoryLayout
from ..native.emit.codegen import Module, Text
from ..native.freestanding import far_text
from ..native.loop import runtime_text

WARP = 32
_BLOCKS = (128, 64, 32)  # threads of a block: the first number whose rows fit
_SHARED = 48 * 1024  # bytes that any block may have
_WIDEST = 100  # words of a row in shared memory: beyond, too few threads fit on a multiprocessor
_MANY = 128  # numbers of a state's inputs beyond which copying them takes more registers than there are
_AT_ONCE = 16  # numbers that a thread loads before it stores them
_CONSTANT = 60 * 1024  # bytes of tables in constant memory, which has 64 KB
_GLOBAL, _ROWS, _CONSTANTS = 1, 3, 4  # address spaces, the middle one shared by a block


@dataclass(frozen=True)
class LaunchLayout:
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


def layout_of(program: Program, size: int) -> LaunchLayout:
    """Which rows go through shared memory, and how many threads a block then has."""
    sizes = tuple(region.size for region in (*program.inputs, *program.outputs))
    scratch = sum(region.size for region in program.scratch)
    words = size // 4
    many = sum(region.size for region in program.inputs) > _MANY
    staged = [
        0 < words * n <= _WIDEST and (k >= len(program.inputs) or not many) for k, n in enumerate(sizes)
    ]
    while True:
        for block in _BLOCKS:
            made = LaunchLayout(block, tuple(staged), sizes, len(program.inputs), scratch, size)
            if made.shared <= _SHARED:
                return made
        staged[max(range(len(sizes)), key=lambda k: staged[k] * sizes[k])] = False


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
            self._spaces[name] = _CONSTANTS if fits else _GLOBAL
            self._left -= values.size * 8 if fits else 0
        return f"addrspacecast (ptr addrspace({self._spaces[name]}) {name} to ptr)"

    def _constants(self) -> Iterator[str]:
        for line, space in zip(super()._constants(), self._spaces.values(), strict=True):
            yield line.replace("internal constant", f"internal addrspace({space}) constant", 1)

    @property
    def whole_text(self) -> str:
        """The module with all that its functions call."""
        text = self.text
        if "@turn_large" in text:
            text = "\n".join([text, runtime_text("turns.ll", self.element), far_text(self.element)])
        return "\n".join([text, *sorted(self.used), _ENDING])

    def kernel(self, program: Program, name: str, told: Sequence[float] = ()) -> LaunchLayout:
        """Append `name(count, in0, …, out0, …)`, with a workspace last if loops need one."""
        layout = layout_of(program, self.size)
        w = _Thread(self, program, name, WARP)
        w.walk(program)
        self.used |= _DECLARED
        self.texts.append(_Kernel(self.element, layout, name).text(w, self._told(told)))
        return layout

    def function(self, program: Program, name: str, told: Sequence[float] = ()) -> None:
        """Append `name(in0, …, out0, …)`, with scratch memory last: one state, for a thread that calls it."""
        w = _Thread(self, program, name, 1)
        w.walk(program)
        parameters = [f"ptr %p{k}" for k in range(len(w.frame.pointers))]
        parameters += ["ptr %scratch"] if program.scratch else []
        lines = ["begin:", *self._told(told), *w.prologue, "br label %entry", *w.lines, "ret void"]
        head = f"define void @{name}({', '.join(parameters)}) #0 {{"
        self.texts.append("\n  ".join([head, *lines]) + "\n}\n")

    def _told(self, told: Sequence[float]) -> list[str]:
        return [f"%told = getelementptr i8, ptr {self.table(np.array(told))}, i64 0"] if told else []


class _Thread(Text):
    """Text of one state; `stride` numbers lie between two of its scratch memory."""

    def __init__(self, module: Module, program: Program, name: str, stride: int) -> None:
        frame = MemoryLayout(module, program, 1, name)
        place = 0
        for region in program.scratch:
            frame.offsets[region] = place * stride * module.size
            place += region.size
        super().__init__(frame, fma=True, width=1)
        self.stride = stride

    def walk(self, program: Program) -> None:
        if program.lanes != 1 or program.sizes:
            raise TypeError("grid: a program of one state is required.")
        self.body(program.body)

    def unit(self, region: Buffer | Table, *, single: bool = False) -> str:
        return f"[{self.stride} x {self.element}]" if region in self.frame.offsets else self.element

    def on_simd_region(self, s: SimdRegion) -> None:
        self.body(s.body)


class _Kernel:
    """The text around the computation of a thread: rows in, rows out, while states are left for its block."""

    def __init__(self, element: str, layout: LaunchLayout, name: str) -> None:
        self.element, self.layout, self.name = element, layout, name
        self.lines: list[str] = []

    def text(self, w: _Thread, told: list[str]) -> str:
        """The kernel around the computation `w`."""
        layout, block, put = self.layout, self.layout.block, self.lines.extend
        numbers = range(len(layout.sizes))
        staged = [k for k in numbers if layout.staged[k]]
        put(["begin:", *told, *w.prologue, *_BEGIN.format(block=block).splitlines()])
        if layout.scratch:
            put(_WORKSPACE.format(warp=WARP, all=WARP * layout.scratch, element=self.element).splitlines())
        put(_ROUND.format(block=block, back="back" if staged else "again").splitlines())
        self._moved_in([k for k in staged if k < layout.inputs])
        for k in numbers:
            self._row(k)
        put(["%active = icmp ult i32 %thread, %valid", "br i1 %active, label %entry, label %computed"])
        put([*w.lines, "br label %computed", "computed:"])
        self._moved_out([k for k in staged if k >= layout.inputs])
        put(["br label %again", "again:", "%next = add i64 %first, %stride"])
        put(["%more = icmp slt i64 %next, %count"])
        if staged:  # nobody overwrites rows that others still read
            put(["br i1 %more, label %back, label %end", "back:", _SYNC, "br label %rows"])
        else:
            put(["br i1 %more, label %rows, label %end"])
        put(["end:", "ret void"])
        place = f"ptr addrspace({_GLOBAL}) align {layout.element}"
        arguments = ["i64 %count", *(f"{place} %a{k}" for k in numbers)]
        arguments += [f"{place} %workspace"] * bool(layout.scratch)
        head = f'define ptx_kernel void @{self.name}({", ".join(arguments)}) #0 "nvvm.reqntid"="{block}" {{'
        memory = f"[{layout.shared // layout.element} x {self.element}] undef, align 16"
        rows = f"@{self.name}_rows = internal addrspace({_ROWS}) global {memory}\n"
        return rows * bool(staged) + "\n  ".join([head, *self.lines]) + "\n}\n"

    def _put(self, text: str) -> None:
        self.lines.append(text)

    def _at(self, name: str, space: int, place: str, index: str | int) -> str:
        """The place that lies so many numbers behind another one, with its type."""
        kind = f"ptr addrspace({space})"
        self._put(f"{name} = getelementptr {self.element}, {kind} {place}, i64 {index}")
        return f"{kind} {name}"

    def _moved_in(self, regions: list[int]) -> None:
        """Rows into shared memory: many loads before their stores, so that they wait for memory together."""
        stores: list[str] = []
        for k in regions:
            self._block(k)
            self._put(f"%last{k} = sub i32 %total{k}, 1")
            for i in range(self.layout.sizes[k]):
                x = f"{k}_{i}"
                self._put(f"%own{x} = add i32 %thread, {i * self.layout.block}")
                # Threads without a number left take the last one again.
                self._put(f"%at{x} = call i32 @llvm.umin.i32(i32 %own{x}, i32 %last{k})")
                outside, inside = self._places(k, x)
                self._put(f"%x{x} = load {self.element}, {outside}, align {self.layout.element}")
                stores.append(f"store {self.element} %x{x}, {inside}, align {self.layout.element}")
                if len(stores) == _AT_ONCE:
                    self.lines += stores
                    stores = []
        self.lines += [*stores, _SYNC] if regions else []

    def _moved_out(self, regions: list[int]) -> None:
        """Rows out of shared memory, as many as there are states."""
        self.lines += [_SYNC] if regions else []
        for k in regions:
            self._block(k)
            for i in range(self.layout.sizes[k]):
                x = f"{k}_{i}"
                self._put(f"%at{x} = add i32 %thread, {i * self.layout.block}")
                self._put(f"%is{x} = icmp ult i32 %at{x}, %total{k}")
                self.lines += [f"br i1 %is{x}, label %store{x}, label %stored{x}", f"store{x}:"]
                outside, inside = self._places(k, x)
                self._put(f"%x{x} = load {self.element}, {inside}, align {self.layout.element}")
                self._put(f"store {self.element} %x{x}, {outside}, align {self.layout.element}")
                self.lines += [f"br label %stored{x}", f"stored{x}:"]

    def _block(self, k: int) -> None:
        """Where this block's rows of a region begin, and how many numbers they have."""
        n = self.layout.sizes[k]
        self._put(f"%begin{k} = mul i64 %first, {n}")
        self._at(f"%block{k}", _GLOBAL, f"%a{k}", f"%begin{k}")
        self._put(f"%total{k} = mul i32 %valid, {n}")

    def _places(self, k: int, x: str) -> tuple[str, str]:
        """Where the number %at of this block's rows is, outside and in shared memory."""
        layout = self.layout
        self._put(f"%wide{x} = zext i32 %at{x} to i64")
        outside = self._at(f"%out{x}", _GLOBAL, f"%block{k}", f"%wide{x}")
        spot = f"%wide{x}"
        if layout.pitch(k) > layout.sizes[k]:  # by one
            self._put(f"%row{x} = udiv i32 %at{x}, {layout.sizes[k]}")
            self._put(f"%spot{x} = add i32 %at{x}, %row{x}")
            self._put(f"%far{x} = zext i32 %spot{x} to i64")
            spot = f"%far{x}"
        self._at(f"%base{x}", _ROWS, f"@{self.name}_rows", layout.offset(k))
        return outside, self._at(f"%in{x}", _ROWS, f"%base{x}", spot)

    def _row(self, k: int) -> None:
        """Where this thread's row of a region is."""
        layout = self.layout
        if layout.staged[k]:
            self._put(f"%skip{k}_low = mul i32 %thread, {layout.pitch(k)}")
            self._put(f"%skip{k} = zext i32 %skip{k}_low to i64")
            self._at(f"%all{k}", _ROWS, f"@{self.name}_rows", layout.offset(k))
            place = self._at(f"%place{k}", _ROWS, f"%all{k}", f"%skip{k}")
        else:
            self._put(f"%state{k} = add i64 %first, %thread_wide")
            self._put(f"%skip{k} = mul i64 %state{k}, {layout.sizes[k]}")
            place = self._at(f"%place{k}", _GLOBAL, f"%a{k}", f"%skip{k}")
        self._put(f"%p{k} = addrspacecast {place} to ptr")


_TID, _CTAID, _NCTAID = (f"@llvm.nvvm.read.ptx.sreg.{name}.x" for name in ("tid", "ctaid", "nctaid"))
_BARRIER = "@llvm.nvvm.barrier.cta.sync.aligned.all"
_SYNC = f"call void {_BARRIER}(i32 0)"
_DECLARED = {
    *(f"declare i32 {name}()" for name in (_TID, _CTAID, _NCTAID)),
    f"declare void {_BARRIER}(i32)",
    "declare i64 @llvm.smin.i64(i64, i64)",
    "declare i32 @llvm.umin.i32(i32, i32)",
}
_BEGIN = f"""%thread = call i32 {_TID}()
%here = call i32 {_CTAID}()
%grid = call i32 {_NCTAID}()
%thread_wide = zext i32 %thread to i64
%here_wide = zext i32 %here to i64
%grid_wide = zext i32 %grid to i64
%begin_row = mul i64 %here_wide, {{block}}
%stride = mul i64 %grid_wide, {{block}}"""
# Where the numbers of this thread begin: those of a warp lie together, thread by thread.
_WORKSPACE = """%number = add i64 %begin_row, %thread_wide
%warp = udiv i64 %number, {warp}
%lane = urem i64 %number, {warp}
%warp_at = mul i64 %warp, {all}
%thread_at = add i64 %warp_at, %lane
%plain = addrspacecast ptr addrspace(1) %workspace to ptr
%scratch = getelementptr {element}, ptr %plain, i64 %thread_at"""
_ROUND = """%any = icmp slt i64 %begin_row, %count
br i1 %any, label %rows, label %end
rows:
%first = phi i64 [ %begin_row, %begin ], [ %next, %{back} ]
%left = sub i64 %count, %first
%mine = call i64 @llvm.smin.i64(i64 %left, i64 {block})
%valid = trunc i64 %mine to i32"""
_ENDING = """attributes #0 = { nounwind }
!0 = !{!"branch_weights", i32 1, i32 1000000}"""
