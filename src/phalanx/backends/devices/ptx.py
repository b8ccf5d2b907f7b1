# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""PTX, the assembly of NVIDIA's GPUs: kernels for a grid of threads, one state a thread, through LLVM.

The rows of a batch are contiguous, while accesses of neighbouring threads should coalesce. So a block of
threads copies its rows into shared memory together, each thread reads its own row there, and results leave
the same way. The pitch of rows in shared memory is odd, which avoids bank conflicts. Rows too wide for
shared memory are read and written in place.

Scratch memory of loops is a workspace in global memory, interleaved by the threads of a warp. Local memory
would have the same layout, but drivers reserve it for all threads that a device can hold at once, however
few run, and it ends at 512 KB a thread.

Every operation rounds as it does on a processor with fused multiply-adds: LLVM marks each one so that no
later translator fuses or reorders them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import PhalanxError, nearest, shown
from ...program.ir import Buffer, Program, SimdRegion, Table
from ...program.passes.nonfinite import spread
from ...program.passes.order import for_registers
from ..native.availability import llvm
from ..native.compile import CodegenOptions, scheduling
from ..native.emit.codegen import Module, Text
from ..native.emit.writer import MemoryLayout
from ..native.freestanding import ExportedFunction, with_sincos
from ..native.locks import building

# Architectures, and the first release of PTX that knows them: drivers as old as that load it.
ARCHITECTURES = {
    "sm_75": 63,
    "sm_80": 70,
    "sm_86": 71,
    "sm_87": 74,
    "sm_89": 78,
    "sm_90": 78,
    "sm_100": 86,
    "sm_103": 88,
    "sm_120": 87,
}
DEFAULT = "sm_75"  # code for it runs on all later ones
_TRIPLE = "nvptx64-nvidia-cuda"

WARP = 32
# Threads of a block: the largest number whose rows fit. benchmarks/gpu.py reports the registers and the
# occupancy that this and the next three constants lead to.
_BLOCKS = (128, 64, 32)
_WIDEST = 100  # words of a row in shared memory: beyond, too few threads fit on a multiprocessor
_MANY = 128  # numbers of a state's inputs beyond which copying them takes more registers than there are
_AT_ONCE = 16  # numbers that a thread loads before it stores them
_SHARED = 48 * 1024  # bytes of shared memory that any block may have
_CONSTANT = 60 * 1024  # bytes of tables in constant memory, which has 64 KB
GLOBAL, ROWS, _CONSTANTS = 1, 3, 4  # address spaces, the middle one shared by a block


@dataclass(frozen=True)
class LaunchLayout:
    """Launch configuration of the kernel of a program: block size, shared memory, workspace."""

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
        """The offset of the rows of a buffer in shared memory, in numbers."""
        return self.block * sum(self.pitch(j) for j in range(k))

    def blocks(self, count: int, most: int) -> int:
        """Blocks of a launch on `count` states, at most `most`; they loop over states in a grid stride."""
        return max(1, min(-(-count // self.block), most))

    def workspace(self, blocks: int) -> int:
        """Bytes of workspace that `blocks` blocks need."""
        return self.element * self.scratch * self.block * blocks


def layout_of(program: Program, size: int) -> LaunchLayout:
    """Which rows go through shared memory, and how many threads a block then has."""
    sizes = tuple(buffer.size for buffer in (*program.inputs, *program.outputs))
    scratch = sum(buffer.size for buffer in program.scratch)
    words = size // 4
    many = sum(buffer.size for buffer in program.inputs) > _MANY
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
    """An LLVM module of programs with one state per thread; small tables are in constant memory."""

    def __init__(self, element: str) -> None:
        super().__init__(element)
        self._spaces: dict[str, int] = {}
        self._left = _CONSTANT

    def table(self, values: np.ndarray) -> str:
        name = super().table(values)
        if name not in self._spaces:
            fits = values.size * (8 if values.dtype.kind in "iu" else self.size) <= self._left
            self._spaces[name] = _CONSTANTS if fits else GLOBAL
            self._left -= values.size * 8 if fits else 0
        return f"addrspacecast (ptr addrspace({self._spaces[name]}) {name} to ptr)"

    def _constants(self) -> Iterator[str]:
        for line, space in zip(super()._constants(), self._spaces.values(), strict=True):
            yield line.replace("internal constant", f"internal addrspace({space}) constant", 1)

    @property
    def llvm_ir(self) -> str:
        """The module with all functions that it calls."""
        ir = with_sincos(self.text, self.element)
        return "\n".join([ir, *sorted(self.used), _ENDING])

    def kernel(self, program: Program, name: str) -> LaunchLayout:
        """Append `name(count, in0, …, out0, …)`, with a workspace last if loops need one."""
        layout = layout_of(program, self.size)
        thread = _Thread(self, program, name, WARP)
        self.used |= DECLARED
        self.texts.append(_Kernel(self.element, layout, name).ir(thread))
        return layout

    def function(self, program: Program, name: str) -> None:
        """Append `name(in0, …, out0, …)`, with scratch memory last: one state, for a thread that calls it."""
        w = _Thread(self, program, name, 1)
        parameters = [f"ptr %p{k}" for k in range(len(w.frame.pointers))]
        parameters += ["ptr %scratch"] if program.scratch else []
        lines = ["begin:", *w.prologue, "br label %entry", *w.lines, "ret void"]
        head = f"define void @{name}({', '.join(parameters)}) #0 {{"
        self.texts.append("\n  ".join([head, *lines]) + "\n}\n")


class _Thread(Text):
    """Writes the computation of one state; its scratch memory has a stride of `stride` numbers."""

    def __init__(self, module: Module, program: Program, name: str, stride: int) -> None:
        if program.lanes != 1 or program.sizes:
            raise TypeError("grid: a program of one state is required.")
        frame = MemoryLayout(module, program, 1, name)
        numbers = 0
        for buffer in program.scratch:
            frame.offsets[buffer] = numbers * stride * module.size
            numbers += buffer.size
        super().__init__(frame, fma=True, width=1)
        self.stride = stride
        self.body(program.body)

    def unit(self, buffer: Buffer | Table, *, single: bool = False) -> str:
        return f"[{self.stride} x {self.element}]" if buffer in self.frame.offsets else self.element

    def on_simd_region(self, s: SimdRegion) -> None:
        self.body(s.body)


class _Kernel:
    """The LLVM IR around the computation of a thread: a grid-stride loop that copies rows in and out."""

    def __init__(self, element: str, layout: LaunchLayout, name: str) -> None:
        self.element, self.layout, self.name = element, layout, name
        self.lines: list[str] = []

    def ir(self, w: _Thread) -> str:
        """The kernel around the computation `w`."""
        layout, block, put = self.layout, self.layout.block, self.lines.extend
        numbers = range(len(layout.sizes))
        staged = [k for k in numbers if layout.staged[k]]
        put(["begin:", *w.prologue, *_BEGIN.format(block=block).splitlines()])
        if layout.scratch:
            put(_WORKSPACE.format(warp=WARP, all=WARP * layout.scratch, element=self.element).splitlines())
        put(_ITERATION.format(block=block, back="back" if staged else "again").splitlines())
        self._moved_in([k for k in staged if k < layout.inputs])
        for k in numbers:
            self._row(k)
        put(["%active = icmp ult i32 %thread, %valid", "br i1 %active, label %entry, label %computed"])
        put([*w.lines, "br label %computed", "computed:"])
        self._moved_out([k for k in staged if k >= layout.inputs])
        put(["br label %again", "again:", "%next = add i64 %first, %stride"])
        put(["%more = icmp slt i64 %next, %count"])
        if staged:  # no thread overwrites rows that others still read
            put(["br i1 %more, label %back, label %end", "back:", SYNC, "br label %rows"])
        else:
            put(["br i1 %more, label %rows, label %end"])
        put(["end:", "ret void"])
        pointer = f"ptr addrspace({GLOBAL}) align {layout.element}"
        arguments = ["i64 %count", *(f"{pointer} %a{k}" for k in numbers)]
        arguments += [f"{pointer} %workspace"] * bool(layout.scratch)
        head = f'define ptx_kernel void @{self.name}({", ".join(arguments)}) #0 "nvvm.reqntid"="{block}" {{'
        memory = f"[{layout.shared // layout.element} x {self.element}] undef, align 16"
        rows = f"@{self.name}_rows = internal addrspace({ROWS}) global {memory}\n"
        return rows * bool(staged) + "\n  ".join([head, *self.lines]) + "\n}\n"

    def _put(self, instruction: str) -> None:
        self.lines.append(instruction)

    def _at(self, name: str, space: int, base: str, index: str | int) -> str:
        """The address of a number at an index from a base, with its type."""
        kind = f"ptr addrspace({space})"
        self._put(f"{name} = getelementptr {self.element}, {kind} {base}, i64 {index}")
        return f"{kind} {name}"

    def _moved_in(self, buffers: list[int]) -> None:
        """Copy rows into shared memory: many loads before their stores, so that their latencies overlap."""
        stores: list[str] = []
        for k in buffers:
            self._block(k)
            self._put(f"%last{k} = sub i32 %total{k}, 1")
            for i in range(self.layout.sizes[k]):
                x = f"{k}_{i}"
                self._put(f"%own{x} = add i32 %thread, {i * self.layout.block}")
                # Threads beyond the last number load it again.
                self._put(f"%at{x} = call i32 @llvm.umin.i32(i32 %own{x}, i32 %last{k})")
                outside, inside = self._addresses(k, x)
                self._put(f"%x{x} = load {self.element}, {outside}, align {self.layout.element}")
                stores.append(f"store {self.element} %x{x}, {inside}, align {self.layout.element}")
                if len(stores) == _AT_ONCE:
                    self.lines += stores
                    stores = []
        self.lines += [*stores, SYNC] if buffers else []

    def _moved_out(self, buffers: list[int]) -> None:
        """Copy the rows of all states out of shared memory."""
        self.lines += [SYNC] if buffers else []
        for k in buffers:
            self._block(k)
            for i in range(self.layout.sizes[k]):
                x = f"{k}_{i}"
                self._put(f"%at{x} = add i32 %thread, {i * self.layout.block}")
                self._put(f"%is{x} = icmp ult i32 %at{x}, %total{k}")
                self.lines += [f"br i1 %is{x}, label %store{x}, label %stored{x}", f"store{x}:"]
                outside, inside = self._addresses(k, x)
                self._put(f"%x{x} = load {self.element}, {inside}, align {self.layout.element}")
                self._put(f"store {self.element} %x{x}, {outside}, align {self.layout.element}")
                self.lines += [f"br label %stored{x}", f"stored{x}:"]

    def _block(self, k: int) -> None:
        """Write code for the address of this block's rows of a buffer, and for their length in numbers."""
        n = self.layout.sizes[k]
        self._put(f"%begin{k} = mul i64 %first, {n}")
        self._at(f"%block{k}", GLOBAL, f"%a{k}", f"%begin{k}")
        self._put(f"%total{k} = mul i32 %valid, {n}")

    def _addresses(self, k: int, x: str) -> tuple[str, str]:
        """The addresses of the number %at of this block's rows, in global and in shared memory."""
        layout = self.layout
        self._put(f"%wide{x} = zext i32 %at{x} to i64")
        outside = self._at(f"%out{x}", GLOBAL, f"%block{k}", f"%wide{x}")
        spot = f"%wide{x}"
        if layout.pitch(k) > layout.sizes[k]:  # by one
            self._put(f"%row{x} = udiv i32 %at{x}, {layout.sizes[k]}")
            self._put(f"%spot{x} = add i32 %at{x}, %row{x}")
            self._put(f"%far{x} = zext i32 %spot{x} to i64")
            spot = f"%far{x}"
        self._at(f"%base{x}", ROWS, f"@{self.name}_rows", layout.offset(k))
        return outside, self._at(f"%in{x}", ROWS, f"%base{x}", spot)

    def _row(self, k: int) -> None:
        """Compute the address of this thread's row of a buffer."""
        layout = self.layout
        if layout.staged[k]:
            self._put(f"%skip{k}_low = mul i32 %thread, {layout.pitch(k)}")
            self._put(f"%skip{k} = zext i32 %skip{k}_low to i64")
            self._at(f"%all{k}", ROWS, f"@{self.name}_rows", layout.offset(k))
            row = self._at(f"%place{k}", ROWS, f"%all{k}", f"%skip{k}")
        else:
            self._put(f"%state{k} = add i64 %first, %thread_wide")
            self._put(f"%skip{k} = mul i64 %state{k}, {layout.sizes[k]}")
            row = self._at(f"%place{k}", GLOBAL, f"%a{k}", f"%skip{k}")
        self._put(f"%p{k} = addrspacecast {row} to ptr")


TID, CTAID, NCTAID = (f"@llvm.nvvm.read.ptx.sreg.{name}.x" for name in ("tid", "ctaid", "nctaid"))
_BARRIER = "@llvm.nvvm.barrier.cta.sync.aligned.all"
SYNC = f"call void {_BARRIER}(i32 0)"
DECLARED = {
    *(f"declare i32 {name}()" for name in (TID, CTAID, NCTAID)),
    f"declare void {_BARRIER}(i32)",
    "declare i64 @llvm.smin.i64(i64, i64)",
    "declare i32 @llvm.umin.i32(i32, i32)",
}
_BEGIN = f"""%thread = call i32 {TID}()
%here = call i32 {CTAID}()
%grid = call i32 {NCTAID}()
%thread_wide = zext i32 %thread to i64
%here_wide = zext i32 %here to i64
%grid_wide = zext i32 %grid to i64
%begin_row = mul i64 %here_wide, {{block}}
%stride = mul i64 %grid_wide, {{block}}"""
# The address of this thread's scratch memory: the threads of a warp are interleaved.
_WORKSPACE = """%number = add i64 %begin_row, %thread_wide
%warp = udiv i64 %number, {warp}
%lane = urem i64 %number, {warp}
%warp_at = mul i64 %warp, {all}
%thread_at = add i64 %warp_at, %lane
%plain = addrspacecast ptr addrspace(1) %workspace to ptr
%scratch = getelementptr {element}, ptr %plain, i64 %thread_at"""
_ITERATION = """%any = icmp slt i64 %begin_row, %count
br i1 %any, label %rows, label %end
rows:
%first = phi i64 [ %begin_row, %begin ], [ %next, %{back} ]
%left = sub i64 %count, %first
%mine = call i64 @llvm.smin.i64(i64 %left, i64 {block})
%valid = trunc i64 %mine to i32"""
_ENDING = """attributes #0 = { nounwind }
!0 = !{!"branch_weights", i32 1, i32 1000000}"""


# ------------------------------------------------------------------- LLVM IR to PTX


def architecture(name: Any, where: str) -> str:
    """A known architecture, by default the one whose code runs on all."""
    if name is None:
        return DEFAULT
    if not isinstance(name, str) or name not in ARCHITECTURES:
        close = nearest(str(name), ARCHITECTURES, what="targets")
        raise PhalanxError(f"{where}: unknown target {shown(name)} for PTX;{close}")
    return str(name)


def reordered(program: Program, *, spreads: bool = True) -> Program:
    """A program ordered for low register pressure; with `spreads` a NaN or infinity reaches all results."""
    program = for_registers(program)
    return spread(program) if spreads else program


def assembled(
    kernels: Sequence[ExportedFunction], element: str, target: str = DEFAULT, *, functions: bool = False
) -> tuple[str, list[LaunchLayout]]:
    """The PTX of some kernels, and the launch layout of each.

    With `functions` there is also `NAME_state` of one state, for kernels to call.
    """
    grid = Grid(element)
    layouts = []
    for each in kernels:
        layouts.append(grid.kernel(each.program, each.name))
        if functions:
            grid.function(each.program, f"{each.name}_state")
    return translated(grid.llvm_ir, target), layouts


def translated(ir: str, target: str) -> str:
    """The PTX of LLVM IR."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(f'target triple = "{_TRIPLE}"\n{ir}')
    module.verify()  # LLVM aborts the process on invalid IR
    machine = llvm.Target.from_triple(_TRIPLE).create_target_machine(
        cpu=target, features=f"+ptx{ARCHITECTURES[target]}", opt=2, reloc="static", codemodel="default"
    )
    module.data_layout = str(machine.target_data)
    with building, scheduling(CodegenOptions(source_order=True)):  # chosen for low register pressure
        return str(machine.emit_assembly(module))
