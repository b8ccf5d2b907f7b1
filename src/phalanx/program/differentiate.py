# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of scalar programs, node by node: along a direction, or of a weighted sum of all results.

Both give more nodes of the same graph, which folds and shares them as any others, so that derivatives of
derivatives need nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, NoReturn

from ..errors import PhalanxError
from .ops import ABS, ADD, CHOOSE, COS, DIV, INPUT, MAX, MUL, NEG, OPS, RESCALE, SIN, SUB
from .scalar import Node, live

# The partial derivatives of an operation with respect to its operands. Those without one give powers of two:
# constant but for jumps, where the quantities that they scale do not jump.
PARTIALS: dict[str, Callable[..., tuple[Any, ...]]] = {
    ADD: lambda y, a, b: (1.0, 1.0),
    SUB: lambda y, a, b: (1.0, -1.0),
    MUL: lambda y, a, b: (b, a),
    DIV: lambda y, a, b: (1.0 / b, -(y * (1.0 / b))),
    NEG: lambda y, a: (-1.0,),
    SIN: lambda y, a: (a.cos(),),
    COS: lambda y, a: (-a.sin(),),
    CHOOSE: lambda y, mask, a, b: (0.0, y.graph.choose(mask, 1.0, 0.0), y.graph.choose(mask, 0.0, 1.0)),
}
CONSTANT = {INPUT, RESCALE, ABS, MAX}  # ABS and MAX stand in front of `rescale` only
for _op in {node for node in OPS if node not in PARTIALS} - CONSTANT:
    PARTIALS[_op] = lambda y, *args: _refuse(y.op)


def _refuse(op: str) -> NoReturn:
    raise PhalanxError(f"derivatives: there is no rule for the operation {op}.")


def tangents(results: Sequence[Any], seeds: Mapping[int, Any], still: Container[int] = ()) -> list[Any]:
    """The derivative of each result where the leaf of a number moves at the rate of its seed.

    Nodes whose numbers are in `still` are taken for constants.
    """
    rate: dict[int, Any] = dict(seeds)
    for node in live(results):
        if node.op not in PARTIALS or node.number in still:
            continue
        total: Any = 0.0
        for a, partial in partials(node):
            if (moving := rate.get(a.number)) is not None:
                total = total + moving * partial
        if type(total) is Node or total != 0.0:
            rate[node.number] = total
    return [rate.get(x.number, 0.0) if type(x) is Node else 0.0 for x in results]


def adjoints(results: Sequence[Any], weights: Sequence[Any]) -> dict[int, Any]:
    """The derivative of the weighted sum of all results with respect to each leaf, by its number."""
    nodes = live(results)
    total: dict[int, Any] = {}
    for x, weight in zip(results, weights, strict=True):
        if type(x) is Node:
            total[x.number] = total.get(x.number, 0.0) + weight
    for node in reversed(nodes):
        mine = total.get(node.number, 0.0)
        if node.op not in PARTIALS or (type(mine) is not Node and mine == 0.0):
            continue
        for a, partial in partials(node):
            total[a.number] = total.get(a.number, 0.0) + mine * partial
    return {node.number: total[node.number] for node in nodes if node.op is INPUT and node.number in total}


def partials(node: Node) -> list[tuple[Node, Any]]:
    """The operands of a node that are no constants, each with its partial derivative."""
    if node.op in CONSTANT:
        return []
    found = PARTIALS[node.op](node, *node.args)
    return [(a, partial) for a, partial in zip(node.args, found, strict=True) if type(a) is Node]
