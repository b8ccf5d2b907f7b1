# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Straight-line programs that are no registered functions as machine code: formulas, users' functions.

The same Python function computes on NumPy arrays; here it is traced once on recording scalars.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import never
from . import availability, compile, gufunc, objects
from .build import CompiledCode
from .compile import CodegenOptions, host
from .locks import building

if TYPE_CHECKING:
    from ...program.ir import Program

Shapes = Mapping[str, tuple[int, ...]]
Packed = Callable[[Sequence[Any]], Any]
_FLOAT = np.dtype(np.float64)
_LONGEST = 4_000  # instructions of a formula: some tenths of a second of compiling
_HIGH_PRESSURE = 400_000  # characters of LLVM IR of several results with more values than registers, about
_HASTY = 6_000_000  # characters of LLVM IR beyond which it is compiled in haste; no script measures it
_HASTY_HIGH_PRESSURE = 8_000_000  # the same under high pressure, which compiles faster


@dataclass(frozen=True)
class CompiledProgram(CompiledCode):
    """Machine code of a program; `pack` makes what users get of its outputs."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    count: int  # of outputs
    loaded: compile.Loaded
    direct: Callable[..., bool]
    dtype: np.dtype
    pack: Packed
    seconds: float = 0.0
    cached: bool = False
    ir: str = field(default="", repr=False)

    @cached_property
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the outputs of one state."""
        return self.shapes[len(self.shapes) - self.count :]

    @cached_property
    def packed(self) -> Packed:
        """A function from the sequence of outputs to the result that users get."""
        return self.pack

    @cached_property
    def ufunc(self) -> Callable[..., Any]:
        """A NumPy generalized ufunc of it."""
        loop = self.loaded.loop
        return gufunc.around(self.name, self.shapes, self.count, self.dtype, loop, 0, (self.loaded,))


def compiled_program(
    name: str, program: Program, dtype: np.dtype, pack: Packed, cores: Sequence[tuple[int, ...]]
) -> CompiledProgram:
    """The machine code of straight-line code, compiled now or read from disk.

    `cores` are the shapes of its inputs and outputs, of three axes at most.
    """
    start = time.perf_counter()
    with building:
        ir = _ir(program, dtype, cores)
        options = _options(program, ir)
        loaded, cached = compile.cached_or_made(("formula", ir, options), lambda: (ir, options))
        seconds, count, direct = time.perf_counter() - start, len(program.outputs), never
        if objects.usable():
            direct = objects.array_function(loaded, name, dtype, cores, count, 0, None)
    return CompiledProgram(name, tuple(cores), count, loaded, direct, dtype, pack, seconds, cached, ir)


def _options(program: Program, ir: str) -> CodegenOptions:
    """The options with which LLVM compiles a program; several long results cause high register pressure."""
    high_pressure = len(program.outputs) > 1 and len(ir) > _HIGH_PRESSURE
    longest = _HASTY_HIGH_PRESSURE if high_pressure else _HASTY
    return CodegenOptions(high_pressure=high_pressure, hasty=len(ir) > longest)


def _ir(program: Program, dtype: np.dtype, cores: Sequence[tuple[int, ...]]) -> str:
    from ...program.passes.order import sincos_first  # the compiler half
    from .emit.codegen import block_function
    from .loop import ELEMENTS, module_text

    target, element = host(), ELEMENTS[dtype]
    ordered = sincos_first(program) if program.is_straight else program
    block, declarations, scratch = block_function(ordered, target, element)
    return module_text(block, declarations, cores, element, target, scratch, outputs=len(program.outputs))


def formula(name: str, inputs: Shapes, outputs: Shapes, run: Callable[..., Any]) -> CompiledProgram | None:
    """The machine code of a function of arrays in double precision; several results are a tuple.

    None where no machine code can be built, or if compiling it would take long.
    """
    shapes = (*inputs.values(), *outputs.values())
    if availability.refusal() or not objects.usable() or not all(map(np.prod, shapes)):
        return None
    program = _traced(inputs, outputs, run)
    if len(program.values) > _LONGEST:
        return None
    return compiled_program(name, program, _FLOAT, itemgetter(0) if len(outputs) == 1 else tuple, shapes)


def _traced(inputs: Shapes, outputs: Shapes, run: Callable[..., Any]) -> Program:
    """The program of a formula, with multiply-adds."""
    from ...program.builder import straight  # the compiler half
    from ...program.graph import Graph
    from ...program.passes.fuse import fuse

    graph, symbols = Graph(), []
    for name, shape in inputs.items():
        symbol = np.empty(int(np.prod(shape)), dtype=object)
        symbol[:] = [graph.input(name, k) for k in range(symbol.size)]
        symbols.append(symbol.reshape(shape))
    made = run(*symbols)
    flat = [x for each in (made if isinstance(made, tuple) else (made,)) for x in each.ravel().tolist()]
    return fuse(straight(inputs, outputs, flat))
