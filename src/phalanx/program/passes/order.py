# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Orders of straight-line code: each value right before its first use, or sines and cosines first.

Equations run quantity by quantity over all bodies; register pressure is lower body by body. The orders of
`register_pressure.py` are for machines without fast memory to spill to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..ir import Load, Program, Scalar, Store, checked
from ..ops import COS, SIN


def depth_first(program: Program) -> Program:
    """The live statements in depth-first order: each right before its first use, operands in their order."""
    done: set[Any] = set()
    order: list[Any] = []
    for root in program.results:
        if not isinstance(root, Scalar) or root in done:
            continue
        stack: list[tuple[Any, int]] = [(root, 0)]
        while stack:
            node, k = stack.pop()
            if node in done:
                continue
            args = node.args
            while k < len(args):
                a = args[k]
                k += 1
                if isinstance(a, Scalar) and a not in done:
                    stack.append((node, k))
                    stack.append((a, 0))
                    break
            else:
                done.add(node)
                order.append(node)
    return checked(replace(program, body=(*order, *_stores(program))))


def nearest_first(program: Program) -> Program:
    """The live statements, ordered by result: next the result that needs the fewest further ones."""
    position = {s: k for k, s in enumerate(program.body)}
    wanted = list(dict.fromkeys(x for x in program.results if isinstance(x, Scalar)))
    needs = {x: behind([x]) for x in wanted}
    order: list[Any] = []
    while wanted:
        best = min(wanted, key=lambda x: len(needs[x]))
        wanted.remove(best)
        fresh = needs.pop(best)
        order += sorted(fresh, key=position.__getitem__)
        for x in wanted:
            needs[x] -= fresh
    return checked(replace(program, body=(*order, *_stores(program))))


def sincos_first(program: Program) -> Program:
    """The program with all loads of inputs first, then all sines and cosines together and early."""
    body = [s for s in program.body if type(s) is not Store]
    order = with_sincos_first(body)
    known = {(s.buffer, s.index): s for s in body if type(s) is Load}
    loads = [known.get((r, k)) or Load(r, k) for r in program.inputs for k in range(r.size)]
    first = dict.fromkeys(loads)
    body = [*first, *(s for s in order if s not in first)]
    return checked(replace(program, body=(*body, *_stores(program))))


def with_sincos_first(values: list[Any]) -> list[Any]:
    """Loads and operations in order, but sines and cosines and their operands first."""
    by_angle: dict[Any, list[Any]] = {}
    for s in values:
        if s.op in (SIN, COS):
            by_angle.setdefault(s.args[0], []).append(s)
    needed = behind(by_angle)
    both = [s for each in by_angle.values() for s in each]
    return list(dict.fromkeys([*(s for s in values if s in needed), *both, *values]))


def behind(values: Iterable[Any]) -> set[Any]:
    """The given values and all their transitive operands."""
    seen: set[Any] = set()
    stack = list(values)
    while stack:
        s = stack.pop()
        if isinstance(s, Scalar) and s not in seen:
            seen.add(s)
            stack += s.args
    return seen


def _stores(program: Program) -> list[Store]:
    return [s for s in program.body if type(s) is Store]
