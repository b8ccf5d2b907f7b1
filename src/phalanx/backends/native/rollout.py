# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs with a loop over time as machine code: one simulation in each lane.

Rows are as long as the rollout, so they are read and written in place: lanes beyond the last simulation
repeat it, and write the same numbers to the same addresses.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from ...program.ir import Program
from . import availability, cache, compile, objects
from .compile import Target, host
from .emit.codegen import Module, scratch_bytes
from .loop import ELEMENTS, attributes, floating_point_status, loop_over_blocks, runtime_text
from .threads import Throughput, fill

_STACK = 1 << 16  # bytes of scratch memory that a call may put on the stack
_SOME = 64  # combinations of shapes and trip counts for which functions are cached
# Characters of LLVM IR beyond which it is compiled in haste, and more for each degree of freedom, since
# laws are long, not robots; no script measures them.
_LONGEST, _OF_EACH = 4_000_000, 250_000


@dataclass(eq=False)
class Rollout:
    """The machine code of a program with a loop over time."""

    name: str
    dtype: np.dtype
    loaded: compile.Loaded
    outputs: int
    seconds: float
    cached: bool
    text: str = field(repr=False)
    _throughputs: dict[tuple[int, ...], Any] = field(default_factory=dict)

    def fill(
        self, arrays: Sequence[np.ndarray], cores: Sequence[int], sizes: tuple[int, ...], threads: int
    ) -> None:
        """Fill outputs, the last arrays, from the others; the last `cores` axes are those of one simulation.

        All are C-contiguous in these, and outputs share no memory with inputs. `sizes` are trip counts of
        loops.
        """
        shapes = [a.shape[a.ndim - core :] for a, core in zip(arrays, cores, strict=True)]
        key = (*sizes, *(n for shape in shapes for n in shape))
        if key not in self._throughputs:
            if len(self._throughputs) >= _SOME:
                self._throughputs.clear()
            self._throughputs[key] = self.function(shapes, sizes), Throughput()
        direct, throughput = self._throughputs[key]
        row = prod(shapes[-1])
        rows = arrays[-1].size // row
        if threads == 1 or rows == 1:  # with a range of rows it releases the GIL
            done = direct(*arrays, 0, rows, rows, 0)
        else:
            done = fill(direct, arrays, row, threads, throughput)
        assert done, [(a.shape, a.dtype, a.strides) for a in arrays]

    def function(self, shapes: Sequence[tuple[int, ...]], sizes: tuple[int, ...]) -> Callable[..., bool]:
        """The built-in function for C-contiguous operands of these shapes; `sizes` are trip counts."""
        numbers = np.array(sizes, np.int64)
        return objects.array_function(
            self.loaded, self.name, self.dtype, shapes, self.outputs, numbers.ctypes.data, numbers
        )

    def bound(
        self,
        arrays: Sequence[np.ndarray],
        cores: Sequence[int],
        sizes: tuple[int, ...],
        sources: Sequence[Any],
    ) -> Any:
        """A function without arguments that runs in place on these arrays; outputs may be inputs.

        `sources` are the arrays of which some are views; the memory of both must not move.
        """
        numbers = np.array(sizes, np.int64)
        keep = (self, numbers, [(a, weakref.ref(a)) for a in sources if isinstance(a, np.ndarray)])
        return objects.bound_function(self.loaded, self.name, arrays, cores, numbers.ctypes.data, keep)


def compiled(program: Program, name: str, dtype: np.dtype, degrees: int) -> Rollout:
    """The machine code of a program for a robot of `degrees` degrees of freedom, compiled or from disk."""
    cache.check_variables()
    availability.require()
    start = time.perf_counter()
    ir = module(program, dtype, host())
    options = compile.CodegenOptions(hasty=len(ir) > _LONGEST + _OF_EACH * degrees)
    loaded, cached = compile.cached_or_made(("rollout", ir, options), lambda: (ir, options))
    seconds = time.perf_counter() - start
    return Rollout(name, dtype, loaded, len(program.outputs), seconds, cached, ir)


def module(program: Program, dtype: np.dtype, target: Target) -> str:
    """The LLVM IR of a program: its block, and the loop over simulations around it."""
    element = ELEMENTS[dtype]
    made = Module(element)
    made.add(program, target, uniforms=True, clamped=True)
    scratch = Scratch(scratch_bytes(program, target, made.size))
    made.used |= scratch.declarations
    numbers = range(len(program.inputs) + len(program.outputs))
    save, restore, needs = floating_point_status(target)
    lanes = target.lanes(dtype.itemsize)
    strides, more = [f"%o{k}" for k in numbers], f", ptr %uniforms, ptr {scratch.address}"
    pointers = [
        f"%a{k} = getelementptr ptr, ptr %args, i64 {k}\n  %b{k} = load ptr, ptr %a{k}" for k in numbers
    ]
    functions = _FUNCTIONS.format(
        count=scratch.counted("%count"),
        get=scratch.get,
        put=scratch.put,
        save=save,
        restore=restore,
        head="\n  ".join(
            f"{pointer}\n  %o{k}p = getelementptr i64, ptr %steps, i64 {k}\n  %o{k} = load i64, ptr %o{k}p"
            for k, pointer in enumerate(pointers)
        ),
        loop=loop_over_blocks("block", lanes, strides, more, _LAST.format(last=lanes - 1), less="slt"),
        loads="\n  ".join(pointers),
        alone=", ".join(f"ptr %b{k}, i64 0" for k in numbers) + more,
    )
    made.used.add("declare i64 @llvm.smin.i64(i64, i64)")
    parts = [made.text, runtime_text("sincos.ll", element), functions, *needs]
    return "\n".join([*parts, *sorted(made.used), *attributes(element, target)])


class Scratch:
    """Scratch memory of a loop over a batch: on the stack, or allocated if it is large.

    If allocation fails, nothing is computed, and outputs stay as they are.
    """

    def __init__(self, size: int) -> None:
        self.is_large = size > _STACK
        self.address = "%scratch" if size else "null"
        self.put = "call void @free(ptr %memory)" if self.is_large else ""
        self.declarations = (
            {"declare ptr @malloc(i64)", "declare void @free(ptr)"} if self.is_large else set()
        )
        self._memory = f"%scratch = alloca [{size} x i8], align 64" if size else ""
        if self.is_large:
            self._memory = _ALLOCATED.format(size=size + 64)

    @property
    def get(self) -> str:
        """LLVM IR that allocates the memory, and returns if that fails."""
        return f"{self._memory}{_RETURN}" if self.is_large else self._memory

    def counted(self, count: str) -> str:
        """LLVM IR that allocates the memory and loads the number of states, zero if allocation fails."""
        if not self.is_large:
            return f"{count} = load i64, ptr %dims\n  {self._memory}"
        chosen = f"{count} = select i1 %empty, i64 0, i64 %asked"
        return f"{self._memory}\n  %asked = load i64, ptr %dims\n  {chosen}"


_ALLOCATED = """%memory = call ptr @malloc(i64 {size})
  %empty = icmp eq ptr %memory, null
  %address = ptrtoint ptr %memory to i64
  %above = add i64 %address, 63
  %aligned = and i64 %above, -64
  %scratch = inttoptr i64 %aligned to ptr"""
_RETURN = """
  br i1 %empty, label %out_of_memory, label %allocated
out_of_memory:
  ret void
allocated:"""
_LAST = """%left = sub i64 %count, %i
%more = sub i64 %left, 1
%last = call i64 @llvm.smin.i64(i64 %more, i64 {last})"""
_FUNCTIONS = """
define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %uniforms) #0 {{
entry:
  {save}
  {count}
  {head}
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %blocks, label %end
{loop}
end:
  {put}
  {restore}
  ret void
}}
define void @single(ptr %args, ptr %uniforms) #0 {{
  {loads}
  {get}
  call void @block({alone}, i64 0)
  {put}
  ret void
}}"""
