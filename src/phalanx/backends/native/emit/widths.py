# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops over bodies in two vector widths: full registers for many states, narrow ones for a single state.

A single state would fill all lanes with copies of itself: scratch memory per body grows with the lanes, and
the widest registers are slower. All widths give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ....program.ir import Program
from ....program.passes.nonfinite import spread
from ..compile import Target
from .codegen import Module, scratch_bytes

_ALONE = "alone"
_NARROW = 128  # bits
WIDE = 512  # bits from which narrow code is faster for one state, by half and more
_LITTLE = 1 << 21  # bytes of scratch memory beyond which a single state leaves its cache
_MUCH = 1 << 26  # bytes beyond which lanes no longer pay even for many states


class Widths(NamedTuple):
    """LLVM IR of a block, its declarations, bytes of scratch, target, and the function for a single state."""

    block: str
    declarations: set[str]
    scratch: int
    target: Target
    alone: str


def in_widths(
    built: Callable[[int], Program], alone: Callable[[int], Program | None], target: Target, element: str
) -> Widths:
    """The block of a looped program, in vector widths chosen by its scratch memory.

    `built(lanes)` makes the program; `alone(lanes)` that of one state with bodies in lanes, or None.
    """
    module = Module(element)

    def made(target: Target) -> tuple[Program, int]:
        program = spread(built(target.lanes(module.size)))
        return program, scratch_bytes(program, target, module.size)

    program, scratch = made(target)
    while scratch > _MUCH and target.bits > _NARROW:
        target = replace(target, bits=target.bits // 2)
        program, scratch = made(target)
    module.add(program, target)
    if (single := alone(target.lanes(module.size))) is not None:
        single = spread(single)
        module.add(single, target, _ALONE)
        scratch = max(scratch, scratch_bytes(single, target, module.size))
        return Widths(module.text, module.used, scratch, target, f"@{_ALONE}")
    name = "@block"
    if target.bits >= WIDE or (scratch > _LITTLE and target.bits > _NARROW):
        narrow = replace(target, bits=_NARROW)
        module.add(made(narrow)[0], narrow, _ALONE)
        name = f"@{_ALONE}"
    return Widths(module.text, module.used, scratch, target, name)
