# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Fuse multiply-adds: a product that only sums use becomes a part of each of them.

No later pass reassociates or contracts anything, so every vector width computes the same bits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..ir import Program, Scalar, Store, Value, checked, renamed
from ..ops import ADD, FMA, FMS, FNMA, MUL, SUB
from .order import depth_first


def fuse(program: Program) -> Program:
    """The same straight-line code in depth-first order, with fused multiply-adds."""
    program = depth_first(program)
    choice = _fusions(program)
    swallowed = set(choice.values())
    made: dict[Any, Any] = {}
    body: list[Any] = []
    for s in program.body:
        if s in swallowed:
            continue
        if type(s) is Value:
            product = choice.get(s)
            if product is None:
                fused = renamed(s, made)
            else:
                first = s.args[0] is product
                op = FMA if s.op is ADD else FMS if first else FNMA
                operands = (*product.args, s.args[1] if first else s.args[0])
                args = tuple([made.get(a, a) for a in operands])
                fused = Value(op, args, s.quantity, product.quantity, s.body_index)
            if fused is not s:
                made[s] = fused
            body.append(fused)
        else:
            body.append(renamed(s, made) if type(s) is Store else s)
    return checked(replace(program, body=tuple(body)))


def fusions(program: Program) -> dict[Any, Any]:
    """For each sum of straight-line code that becomes a multiply-add, the product fused into it."""
    return _fusions(depth_first(program))


def _fusions(program: Program) -> dict[Any, Any]:
    """For each sum that becomes a multiply-add, the product fused into it.

    A product disappears only if it is fused into every sum that uses it, and has no other use.
    """
    nodes = [s for s in program.body if type(s) is Value]
    users: dict[Any, list[Value]] = {}
    for node in nodes:
        for a in node.args:
            if isinstance(a, Scalar):
                users.setdefault(a, []).append(node)
    stored = set(program.results)
    able = {
        node
        for node in nodes
        if node.op is MUL
        and node not in stored
        and all(u.op in (ADD, SUB) and u.args[0] is not u.args[1] for u in users.get(node, ()))
    }
    wish: dict[Any, Any] = {}
    for node in nodes:
        if node.op in (ADD, SUB):
            products = [a for a in node.args if a in able]
            if products:
                # Of two products the one with fewer other uses; of equals the later one, whose
                # operands are ready last.
                wish[node] = min(products, key=lambda p: (len(users[p]), -p.number))
    changed = True
    while changed:
        changed = False
        for node, product in list(wish.items()):
            if any(wish.get(u) is not product for u in users[product]):
                del wish[node]
                changed = True
                other = [a for a in node.args if a in able and a is not product]
                if other and all(u is node or wish.get(u) is other[0] for u in users[other[0]]):
                    wish[node] = other[0]
    return wish
