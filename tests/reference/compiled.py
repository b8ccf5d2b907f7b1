# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Any program as compiled code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from phalanx.backends.native import compile, gufunc, loop
from phalanx.backends.native.compile import host
from phalanx.backends.native.emit.codegen import block_function
from phalanx.program.ir import Program

_alive: list[Any] = []


def compiled(made: Program, dtype: Any, *, fma: bool, parallel: bool = False) -> Any:
    """The gufunc of a program; with `parallel` it takes one state at a time, parallel loops in lanes."""
    target = replace(host(), fma=fma)
    element, size = ("double", 8) if dtype == np.float64 else ("float", 4)
    block, declarations, scratch = block_function(made, target, element, parallel=parallel)
    rows = 1 if made.lanes > 1 or parallel else 0
    shapes = list(made.shapes.values())
    assert made.lanes in (1, target.lanes(size))
    text = loop.module_text(block, declarations, shapes, element, target, scratch, rows)
    loaded = compile.load(compile.object_code(text, target))
    signature = ",".join("(" + ",".join(map(str, s)) + ")" for s in shapes[:-1])
    signature += "->(" + ",".join(map(str, shapes[-1])) + ")"
    ufunc, needs = gufunc.make_gufunc(
        "form", "", signature, (len(shapes) - 1, 1), [(np.dtype(dtype), loaded.loop)]
    )
    _alive.append((loaded, needs))
    return ufunc
