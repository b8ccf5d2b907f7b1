# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Straight-line programs: instructions without a loop. All angles are turned together, and early."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ops import COS, INPUT, SIN
from ..rewrite import Code
from ..trace import TOLD
from .builder import Builder
from .program import Program


def straight(
    code: Code,
    inputs: Mapping[str, tuple[int, ...]],
    outputs: Mapping[str, tuple[int, ...]],
    told: int = 0,
) -> Program:
    """The program of instructions whose results are the outputs, one after another.

    So many numbers are `told` with a call, for all states alike.
    """
    b = Builder(inputs, outputs)
    given = {name: [b.load(region, k) for k in range(region.size)] for name, region in b.inputs.items()}
    made: dict[int, Any] = {}

    def real(x: Any) -> Any:
        return made[x] if isinstance(x, int) else float(x)

    turns = _turns(code)
    early = _needed_for(code, turns)
    order = [*early, *turns, *range(len(code.instructions))]
    for number in dict.fromkeys(order):
        i = code.instructions[number]
        if i.op != INPUT:
            args = (real(a) for a in i.args)
            made[number] = b.value(i.op, *args, quantity=i.quantity, of_product=i.of_product)
        elif i.args[0] == TOLD:
            made[number] = b.load(b.uniform(TOLD, told), i.args[1])
        else:
            made[number] = given[i.args[0]][i.args[1]]
    results = iter(code.results)
    for region in b.outputs.values():
        for k in range(region.size):
            b.store(region, k, real(next(results)))
    return b.finished()


def _turns(code: Code) -> list[int]:
    """The instructions that take sines and cosines, angle by angle."""
    found: dict[int, list[int]] = {}
    for number, i in enumerate(code.instructions):
        if i.op in (SIN, COS):
            found.setdefault(i.args[0], []).append(number)
    return [number for each in found.values() for number in each]


def _needed_for(code: Code, wanted: list[int]) -> list[int]:
    """All instructions behind some, these left out."""
    seen: set[int] = set()
    stack = [code.instructions[number].args[0] for number in wanted]
    while stack:
        number = stack.pop()
        if number not in seen:
            seen.add(number)
            if code.instructions[number].op != INPUT:
                stack += [a for a in code.instructions[number].args if isinstance(a, int)]
    return sorted(seen)
