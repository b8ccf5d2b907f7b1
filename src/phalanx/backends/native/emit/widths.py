# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops over bodies in more than one width: full registers for many states, narrow ones for a single state.

What loops keep for each body grows with the lanes. A single state of a long robot would fill all of them
with copies of itself and wait for memory; all widths give the same bits.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from ....ir.rolled import RolledProgram
from ..target import Target
from .rolled import rolled_block_function

_ALONE = "alone_"  # how names of the narrow code begin
_NARROW = 128  # bits
_LITTLE = 1 << 21  # bytes of scratch memory beyond which a single state leaves its cache
_MUCH = 1 << 26  # bytes beyond which lanes no longer pay even for many states


class Widths(NamedTuple):
    """The code of a block: what it declares, its scratch memory, its width, and what a single state calls."""

    block: str
    declarations: set[str]
    scratch: int
    target: Target
    alone: str


def in_widths(program: RolledProgram, target: Target, element: str) -> Widths:
    """Loops in the widths that suit what they keep."""
    block, declarations, scratch = rolled_block_function(program, target, element)
    while scratch > _MUCH and target.bits > _NARROW:
        target = replace(target, bits=target.bits // 2)
        block, declarations, scratch = rolled_block_function(program, target, element)
    if scratch > _LITTLE and target.bits > _NARROW:
        narrow, more, _ = rolled_block_function(program, replace(target, bits=_NARROW), element)
        both = block + _beside(narrow, block)
        return Widths(both, declarations | more, scratch, target, f"@{_ALONE}block")
    return Widths(block, declarations, scratch, target, "@block")


def _beside(narrow: str, wide: str) -> str:
    """Narrow code that shares constants with the wide one and has names of its own for the rest."""
    shared = set(_constants(wide)) & set(_constants(narrow))
    own = [line for line in narrow.splitlines() if line not in shared]
    text = "\n".join(own)
    names = {name for line in own for name in re.findall(r"^(?:define [^@]*)?@(\w+)(?= =|\()", line)}
    return "\n" + re.sub(r"@(\w+)\b", lambda m: f"@{_ALONE}{m[1]}" if m[1] in names else m[0], text)


def _constants(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("@")]
