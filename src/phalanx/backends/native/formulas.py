# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Formulas as machine code: what a robot computes without dynamics, such as steps of its coordinates.

The same text serves NumPy: it runs once on recording scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from . import availability, compile, objects
from .compile import host
from .compiled import CompiledCode
from .locks import building

Shapes = Mapping[str, tuple[int, ...]]
_FLOAT = np.dtype(np.float64)
_LONGEST = 4_000  # instructions of a formula: some tenths of a second of compiling


@dataclass(frozen=True)
class CompiledFormula(CompiledCode):
    """Machine code of a formula in double precision; several results are a tuple."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    count: int  # of outputs
    loaded: compile.Loaded
    direct: Callable[..., bool]
    dtype: np.dtype = _FLOAT

    @cached_property
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the outputs of one state."""
        return self.shapes[len(self.shapes) - self.count :]

    @cached_property
    def packed(self) -> Callable[[Sequence[Any]], Any]:
        """What makes of the outputs what users get."""
        return itemgetter(0) if self.count == 1 else tuple


def formula(name: str, inputs: Shapes, outputs: Shapes, run: Callable[..., Any]) -> CompiledFormula | None:
    """The machine code of a function of arrays, made now or taken from disk.

    None where no machine code can be built, or if it would compile for long.
    """
    shapes = (*inputs.values(), *outputs.values())
    if availability.refusal() or not objects.usable() or not all(map(np.prod, shapes)):
        return None
    with building:
        text = _text(inputs, outputs, run)
        if text is None:
            return None
        loaded, _ = compile.cached_or_made(("formula", text), lambda: text)
        direct = objects.array_function(loaded, name, _FLOAT, shapes, len(outputs), 0, None)
    return CompiledFormula(name, shapes, len(outputs), loaded, direct)


def _text(inputs: Shapes, outputs: Shapes, run: Callable[..., Any]) -> str | None:
    """The LLVM text of a formula, None if it is long."""
    from ...program.form.builder import straight  # the compiler half
    from ...program.rewrite import instructions
    from ...program.scalar import Graph, Node
    from ...program.trace import TracedProgram
    from .emit.codegen import block_function
    from .loop import ELEMENTS, module_text

    graph, symbols = Graph(), []
    for name, shape in inputs.items():
        symbol = np.empty(int(np.prod(shape)), dtype=object)
        symbol[:] = [graph.input(name, k) for k in range(symbol.size)]
        symbols.append(symbol.reshape(shape))
    made = run(*symbols)
    flat = [x for each in (made if isinstance(made, tuple) else (made,)) for x in each.ravel().tolist()]
    results = [x if type(x) is Node else float(x) for x in flat]
    code = instructions(TracedProgram(inputs, outputs, results))
    if len(code.instructions) > _LONGEST:
        return None
    target, element = host(), ELEMENTS[_FLOAT]
    block, declarations, scratch = block_function(straight(code, inputs, outputs), target, element)
    shapes = (*inputs.values(), *outputs.values())
    return module_text(block, declarations, shapes, element, target, scratch, outputs=len(outputs))
