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
from .program import Program, Turn, Value


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
    made: list[Any] = [None] * len(code.instructions)

    def real(x: Any) -> Any:
        return made[x] if isinstance(x, int) else float(x)

    def write(number: int) -> None:
        i = code.instructions[number]
        if i.op == INPUT:
            name, index = i.args
            region = b.uniform(TOLD, told) if name == TOLD else b.inputs[name]
            made[number] = b.load(region, index)
        elif made[number] is None:
            args = (real(a) for a in i.args)
            made[number] = b.value(i.op, *args, quantity=i.quantity, of_product=i.of_product)

    angles = _angles(code)
    early = _needed_for(code, list(angles))
    for number in early:
        write(number)
    if angles:
        turns = {op: [_turned(code, angles[x].get(op), real(x)) for x in angles] for op in (SIN, COS)}
        b.put(Turn(tuple(real(x) for x in angles), tuple(turns[SIN]), tuple(turns[COS])))
        for op, values in turns.items():
            for x, value in zip(angles, values, strict=True):
                if value is not None:
                    made[angles[x][op]] = value
    done = set(early)
    for number in range(len(code.instructions)):
        if number not in done:
            write(number)
    results = iter(code.results)
    for region in b.outputs.values():
        for k in range(region.size):
            b.store(region, k, real(next(results)))
    return b.finished(0)


def _turned(code: Code, number: int | None, angle: Any) -> Value | None:
    if number is None:
        return None
    return Value(code.instructions[number].op, (angle,), code.instructions[number].quantity)


def _angles(code: Code) -> dict[int, dict[str, int]]:
    """Instructions whose sine or cosine is taken, in order, and which instructions take them."""
    found: dict[int, dict[str, int]] = {}
    for number, i in enumerate(code.instructions):
        if i.op in (SIN, COS):
            found.setdefault(i.args[0], {})[i.op] = number
    return found


def _needed_for(code: Code, wanted: list[int]) -> list[int]:
    seen: set[int] = set()
    stack = list(wanted)
    while stack:
        number = stack.pop()
        if number not in seen:
            seen.add(number)
            if code.instructions[number].op != INPUT:
                stack += [a for a in code.instructions[number].args if isinstance(a, int)]
    return sorted(seen)
