# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""PTX kernels in which a block of threads has one state.

Iterations of a `ParallelFor` are distributed over the threads, followed by a barrier; all threads compute
everything else redundantly and store the same bits, between barriers. Scratch buffers are in shared memory as
far as that goes, smallest first, the others in a workspace in global memory. Tables are in global memory:
neighbouring threads read different entries, which constant memory would serialise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...program.grouped import local_offsets
from ...program.ir import Buffer, For, If, Load, ParallelFor, Program, Store, Table, is_scratch, statements
from ..native.emit.codegen import Module, Text
from ..native.emit.writer import MemoryLayout
from .ptx import CTAID, DECLARED, GLOBAL, NCTAID, ROWS, SYNC, TID, Grid, LaunchLayout, translated

SHARED = 48 * 1024  # bytes of shared memory that any block may have


@dataclass(frozen=True)
class GroupLayout(LaunchLayout):
    """Launch configuration of a kernel whose blocks have one state each."""

    local: int = 0  # bytes of shared memory

    @property
    def shared(self) -> int:
        return self.local

    def blocks(self, count: int, most: int) -> int:
        return max(1, min(count, most))

    def workspace(self, blocks: int) -> int:
        return self.element * self.scratch * blocks


class GroupGrid(Grid):
    """An LLVM module of programs with one state per block."""

    def __init__(self, element: str) -> None:
        super().__init__(element)
        self._left = 0  # no table in constant memory

    def group(self, program: Program, name: str, items: int, most_local: int) -> GroupLayout:
        """Append `name(count, in0, …, out0, …)` for blocks of `items` threads, with a workspace last."""
        sizes = tuple(buffer.size for buffer in (*program.inputs, *program.outputs))
        local = local_offsets(program, self.size, most_local)
        w = _GroupThread(self, program, name, local)
        numbers = sum(buffer.size for buffer in local)
        layout = GroupLayout(
            items,
            (False,) * len(sizes),
            sizes,
            len(program.inputs),
            sum(buffer.size for buffer in program.scratch if buffer not in local),
            self.size,
            numbers * self.size,
        )
        self.used |= DECLARED
        pointer = f"ptr addrspace({GLOBAL}) align {self.size}"
        arguments = ["i64 %count", *(f"{pointer} %a{k}" for k in range(len(sizes)))]
        arguments += [f"{pointer} %workspace"] * bool(layout.scratch)
        head = f'define ptx_kernel void @{name}({", ".join(arguments)}) #0 "nvvm.reqntid"="{items}" {{'
        lines = ["begin:", *w.prologue, *_BEGIN]
        if layout.scratch:
            lines += [line.format(all=layout.scratch, element=self.element) for line in _WORKSPACE]
        lines += _STATES
        for k, n in enumerate(sizes):
            lines += [
                f"%skip{k} = mul i64 %state, {n}",
                f"%row{k} = getelementptr {self.element}, ptr addrspace({GLOBAL}) %a{k}, i64 %skip{k}",
                f"%p{k} = addrspacecast ptr addrspace({GLOBAL}) %row{k} to ptr",
            ]
        lines += ["br label %entry", *w.lines, SYNC, *_NEXT]
        memory = f"[{numbers} x {self.element}] undef, align 16"
        shared = f"@{name}_local = internal addrspace({ROWS}) global {memory}\n" * bool(numbers)
        self.texts.append(shared + "\n  ".join([head, *lines]) + "\n}\n")
        return layout


class _GroupThread(Text):
    """Writes the code of one thread; the threads of a block share one state."""

    def __init__(self, module: Module, program: Program, name: str, local: Mapping[Buffer, int]) -> None:
        if program.lanes != 1 or program.sizes:
            raise TypeError("grid: a program of one state is required.")
        frame = MemoryLayout(module, program, 1, name)
        numbers = 0
        for buffer in program.scratch:
            frame.offsets[buffer] = numbers * module.size
            numbers += 0 if buffer in local else buffer.size
        super().__init__(frame, fma=True, width=1)
        self._local = local
        self._parallel = False
        self._touched = False  # scratch memory, since the last barrier
        self.body(program.body)

    def unit(self, buffer: Buffer | Table, *, single: bool = False) -> str:
        return self.element

    def _start(self, buffer: Buffer | Table) -> str:
        if isinstance(buffer, Buffer) and buffer in self._local:
            space = f"ptr addrspace({ROWS})"
            cast = f"addrspacecast ({space} @{self.frame.name}_local to ptr)"
            return self.put(
                f"getelementptr i8, ptr {cast}, i64 {self._local[buffer] * self.frame.module.size}"
            )
        return super()._start(buffer)

    def alignment(self, buffer: Buffer | Table) -> int:
        return self.size

    # ------------------------------------------------------------- barriers

    def _wait(self) -> None:
        """Write a barrier if other threads may still access scratch memory."""
        if self._touched:
            self.do(SYNC)
        self._touched = False

    def on_load(self, *loads: Load) -> None:
        if not self._parallel and any(is_scratch(s.buffer) for s in loads):
            self._wait()
            super().on_load(*loads)
            self._touched = True
        else:
            super().on_load(*loads)

    def on_store(self, *stores: Store) -> None:
        if not self._parallel and any(is_scratch(s.buffer) for s in stores):
            self._wait()
            super().on_store(*stores)
            self._touched = True
        else:
            super().on_store(*stores)

    def on_for(self, s: For) -> None:
        self._around(s.body)
        super().on_for(s)
        self._around(s.body)

    def on_if(self, s: If) -> None:
        self._around(s.body)
        super().on_if(s)
        self._around(s.body)

    def _around(self, body: tuple[Any, ...]) -> None:
        """Note scratch accesses in the body of a loop: those at its end precede the next iteration."""
        if not self._parallel and any(
            isinstance(x, Load | Store) and is_scratch(x.buffer) for x in statements(body)
        ):
            self._touched = True

    def on_parallel_for(self, s: ParallelFor) -> None:
        if self._parallel:
            self.on_for(For(s.counter, s.first, s.end, False, (), (), s.body))
            return
        self._wait()
        whole = self.frame.module.whole
        first = self.put(f"add {whole} {self.whole(s.first)}, %thread_wide")
        end = self.whole(s.end)
        self.hoist(s.body)
        loop, done, before = self.new_label("items"), self.new_label("done"), self.block
        some = self.put(f"icmp slt {whole} {first}, {end}")
        self.do(f"br i1 {some}, label %{loop}, label %{done}")
        self.label(loop)
        heads = len(self.lines)
        self.do("")
        index = self.names[s.counter] = f"%{loop}_index"
        aside = self.masks, self.turned, self.seen
        self.masks, self.turned, self.seen = {}, {}, {}
        self._parallel = True
        with self.scope():
            self.body(s.body)
            after = self.put(f"add {whole} {index}, %items")
            more = self.put(f"icmp slt {whole} {after}, {end}")
        self._parallel = False
        self.masks, self.turned, self.seen = aside
        self.lines[heads] = f"{index} = phi {whole} [ {first}, %{before} ], [ {after}, %{self.block} ]"
        self.do(f"br i1 {more}, label %{loop}, label %{done}")
        self.label(done)
        self._touched = True
        self._wait()


_NTID = "@llvm.nvvm.read.ptx.sreg.ntid.x"
_BEGIN = [
    f"%thread = call i32 {TID}()",
    f"%here = call i32 {CTAID}()",
    f"%grid = call i32 {NCTAID}()",
    f"%size = call i32 {_NTID}()",
    *(
        f"{wide} = zext i32 {narrow} to i64"
        for wide, narrow in (
            ("%thread_wide", "%thread"),
            ("%here_wide", "%here"),
            ("%stride", "%grid"),
            ("%items", "%size"),
        )
    ),
]
_WORKSPACE = [
    "%group_at = mul i64 %here_wide, {all}",
    "%plain = addrspacecast ptr addrspace(1) %workspace to ptr",
    "%scratch = getelementptr {element}, ptr %plain, i64 %group_at",
]
_STATES = [
    "%any = icmp slt i64 %here_wide, %count",
    "br i1 %any, label %states, label %end",
    "states:",
    "%state = phi i64 [ %here_wide, %begin ], [ %next, %again ]",
]
_NEXT = [
    "br label %again",
    "again:",
    "%next = add i64 %state, %stride",
    "%left = icmp slt i64 %next, %count",
    "br i1 %left, label %states, label %end",
    "end:",
    "ret void",
]


def assembled_group(
    program: Program,
    name: str,
    element: str,
    target: str,
    items: int,
    most_local: int = SHARED,
) -> tuple[str, GroupLayout]:
    """The PTX of a program for thread blocks of the given size, and its launch layout."""
    grid = GroupGrid(element)
    grid.used.add(f"declare i32 {_NTID}()")
    layout = grid.group(program, name, items, most_local)
    return translated(grid.llvm_ir, target), layout
