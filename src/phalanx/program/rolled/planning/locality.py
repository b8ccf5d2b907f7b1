# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Instructions in an order that keeps few values waiting: what is nearly ready comes first."""

from __future__ import annotations

from dataclasses import replace

from ...rewrite import Code, Instruction


def in_local_order(code: Code) -> Code:
    """The same instructions, those of the result that needs the fewest further ones first."""
    given = code.instructions
    wanted = list(dict.fromkeys(x for x in code.results if isinstance(x, int)))
    needs = {x: _needed(given, x) for x in wanted}
    order: list[int] = []
    while wanted:
        best = min(wanted, key=lambda x: len(needs[x]))
        wanted.remove(best)
        fresh = needs.pop(best)
        order += sorted(fresh)
        for x in wanted:
            needs[x] -= fresh
    place = {number: k for k, number in enumerate(order)}

    def moved(x: object) -> object:
        return place[x] if isinstance(x, int) else x

    made = [
        given[k] if given[k].op == "input" else replace(given[k], args=tuple(map(moved, given[k].args)))
        for k in order
    ]
    return Code(made, [moved(x) for x in code.results])


def _needed(given: list[Instruction], result: int) -> set[int]:
    """All instructions behind a result, itself included."""
    found: set[int] = set()
    stack = [result]
    while stack:
        number = stack.pop()
        if number not in found:
            found.add(number)
            if given[number].op != "input":
                stack += [a for a in given[number].args if isinstance(a, int)]
    return found
