# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs with a loop over time as machine code: one simulation in each lane.

Rows are as long as the rollout, so that nothing goes through a buffer: lanes beyond the last simulation
repeat it, and write the same numbers to the same place.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from ...program.form.program import Program
from . import availability, cache, compile, objects
from .compile import Target, host
from .emit.codegen import Module
from .loop import ELEMENTS, attributes, floating_point_status, runtime_text
from .threads import Throughput, fill

_SOME = 64  # numbers of steps for which functions are kept
# Characters of text that are worth an effort, and more for each degree of freedom: laws are long, not robots.
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
        self, arrays: Sequence[np.ndarray], cores: Sequence[int], told: tuple[int, ...], threads: int
    ) -> None:
        """Fill outputs, the last arrays, from the others; the last `cores` axes are those of one simulation.

        All are C-contiguous in these, and outputs share no memory with inputs.
        """
        shapes = [a.shape[a.ndim - core :] for a, core in zip(arrays, cores, strict=True)]
        key = (*told, *(n for shape in shapes for n in shape))
        if key not in self._throughputs:
            if len(self._throughputs) >= _SOME:
                self._throughputs.clear()
            self._throughputs[key] = self.function(shapes, told), Throughput()
        direct, throughput = self._throughputs[key]
        row = prod(shapes[-1])
        rows = arrays[-1].size // row
        if threads == 1 or rows == 1:  # told a range of rows, it releases the GIL
            done = direct(*arrays, 0, rows, rows, 0)
        else:
            done = fill(direct, arrays, row, threads, throughput)
        assert done, [(a.shape, a.dtype, a.strides) for a in arrays]

    def function(self, shapes: Sequence[tuple[int, ...]], told: tuple[int, ...]) -> Callable[..., bool]:
        """The built-in function for operands of these shapes, which must be C-contiguous in them."""
        sizes = np.array(told, np.int64)
        return objects.array_function(
            self.loaded, self.name, self.dtype, shapes, self.outputs, sizes.ctypes.data, sizes
        )

    def bound(
        self,
        arrays: Sequence[np.ndarray],
        cores: Sequence[int],
        told: tuple[int, ...],
        sources: Sequence[Any],
    ) -> Any:
        """A function without arguments that runs on these very arrays; outputs may be inputs.

        `sources` are arrays of which some of them are views; like theirs their memory must not move.
        """
        sizes = np.array(told, np.int64)
        keep = (self, sizes, [(a, weakref.ref(a)) for a in sources if isinstance(a, np.ndarray)])
        return objects.bound_function(self.loaded, self.name, arrays, cores, sizes.ctypes.data, keep)


def compiled(program: Program, name: str, dtype: np.dtype, degrees: int) -> Rollout:
    """The machine code of a program for so many degrees of freedom, made now or taken from disk."""
    cache.check_variables()
    availability.require()
    start = time.perf_counter()
    text = module(program, dtype, host())
    if len(text) > _LONGEST + _OF_EACH * degrees:
        text = compile.HASTY + text
    loaded, cached = compile.cached_or_made(("rollout", text), lambda: text)
    seconds = time.perf_counter() - start
    return Rollout(name, dtype, loaded, len(program.outputs), seconds, cached, text)


def module(program: Program, dtype: np.dtype, target: Target) -> str:
    """The LLVM text of a program: its block, and the loop over simulations around it."""
    element = ELEMENTS[dtype]
    made = Module(element)
    made.add(program, target, clamped=True)
    count = len(program.inputs) + len(program.outputs)
    save, restore, needs = floating_point_status(target)
    lanes = target.lanes(dtype.itemsize)
    text = [
        made.text,
        runtime_text("turns.ll", element),
        _LOOP.format(
            save=save,
            restore=restore,
            lanes=lanes,
            last=lanes - 1,
            head="\n  ".join(
                f"%a{k} = getelementptr ptr, ptr %args, i64 {k}\n  %b{k} = load ptr, ptr %a{k}\n  "
                f"%o{k}p = getelementptr i64, ptr %steps, i64 {k}\n  %o{k} = load i64, ptr %o{k}p"
                for k in range(count)
            ),
            moves="\n  ".join(
                f"%m{k} = mul i64 %i, %o{k}\n  %w{k} = getelementptr i8, ptr %b{k}, i64 %m{k}"
                for k in range(count)
            ),
            given=", ".join(f"ptr %w{k}, i64 %o{k}" for k in range(count)),
            loads="\n  ".join(
                f"%a{k} = getelementptr ptr, ptr %args, i64 {k}\n  %b{k} = load ptr, ptr %a{k}"
                for k in range(count)
            ),
            alone=", ".join(f"ptr %b{k}, i64 0" for k in range(count)),
        ),
        *needs,
    ]
    made.used.add("declare i64 @llvm.smin.i64(i64, i64)")
    text += [*sorted(made.used), *attributes(element, target)]
    return "\n".join(text)


_LOOP = """
define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %told) #0 {{
entry:
  {save}
  %count = load i64, ptr %dims
  {head}
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %blocks, label %end
blocks:
  %i = phi i64 [ 0, %entry ], [ %next, %blocks ]
  {moves}
  %left = sub i64 %count, %i
  %more = sub i64 %left, 1
  %last = call i64 @llvm.smin.i64(i64 %more, i64 {last})
  call void @block({given}, ptr %told, ptr null, i64 %last)
  %next = add i64 %i, {lanes}
  %again = icmp slt i64 %next, %count
  br i1 %again, label %blocks, label %end
end:
  {restore}
  ret void
}}
define void @single(ptr %args, ptr %told) #0 {{
  {loads}
  call void @block({alone}, ptr %told, ptr null, i64 0)
  ret void
}}"""
