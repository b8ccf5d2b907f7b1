# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The LLVM text of a call, from its program in the form that counts have chosen; cached kernels need none."""

from __future__ import annotations

import os

import numpy as np

from ...algorithms import algorithms
from ...errors import PhalanxError
from ...program.form.straight import straight
from ...program.rolled.segments.roll import SegmentProgram
from ...robot.frames import numbers_told
from ..base import Call
from . import loop
from .emit.module import block_function, branched_block_function
from .emit.widths import in_widths
from .forms import Draft, draft
from .target import Target

_ELEMENTS = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}


def module(call: Call, optional: tuple[str, ...], dtype: np.dtype, target: Target) -> str:
    """The LLVM text of a call; that of a function of a frame serves all frames."""
    element = _ELEMENTS[dtype]
    scratch, rows, alone = 0, 0, "@block"
    made = draft(call, optional)
    loops = made.loops
    if isinstance(loops, SegmentProgram):
        rows, program = 1, loops.built(target.lanes(dtype.itemsize))
        block, declarations, scratch = block_function(program, target, element)
    elif loops is None:
        block, declarations, scratch = _straight(call, made, target, element)
    else:
        block, declarations, scratch, target, alone = in_widths(loops.built, loops.alone, target, element)
        _require_memory(call, scratch)
    shapes = call.shapes(optional)
    told = call.function.frame
    return loop.module_text(block, declarations, shapes, element, target, scratch, rows, alone, told=told)


def _straight(call: Call, made: Draft, target: Target, element: str) -> tuple[str, set[str], int]:
    """Straight-line code of a call; for a function of a frame, one for each branch of the robot."""
    told = numbers_told(call.robot.model) if call.function.frame else 0
    programs = [
        straight(code, equations.inputs, {"out": equations.output}, told) for equations, code in made.straight
    ]
    if call.function.frame:
        return branched_block_function(programs, target, element)
    return block_function(programs[0], target, element)


def _require_memory(call: Call, scratch: int) -> None:
    """Raise if a matrix that loops keep would not fit the memory of this machine."""
    if hasattr(os, "sysconf") and scratch > 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        others = [a for a in algorithms(call.function.name) if a.name != call.algorithm.name]
        remedy = 'use algorithm "auto"'
        if all(a.refusal(call.robot) for a in others):
            remedy = "no other algorithm covers it; take a shorter robot"
        raise PhalanxError(
            f'{call.function.name}: algorithm "{call.algorithm.name}" keeps a matrix over the bodies of '
            f'robot "{call.robot.name}" ({call.robot.model.n} bodies): {scratch / 1e9:.1f} GB for each '
            f"thread, more than half of the memory of this machine; {remedy}."
        )
