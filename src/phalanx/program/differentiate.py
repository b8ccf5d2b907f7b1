# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of scalar programs, node by node: along a direction, or of a weighted sum of all results.

Both give more nodes of the same graph, which folds and shares them as any others, so that derivatives of
derivatives need nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .ops import ADD, COS, DIV, INPUT, MUL, NEG, RESCALE, SIN, SUB
from .scalar import Node, live

# The partial derivatives of an operation with respect to its operands. `rescale` gives powers of two: they are
# constant but for jumps, where the quantities that they scale do not jump.
PARTIALS: dict[str, Callable[..., tuple[Any, ...]]] = {
    ADD: lambda y, a, b: (1.0, 1.0),
    SUB: lambda y, a, b: (1.0, -1.0),
    MUL: lambda y, a, b: (b, a),
    DIV: lambda y, a, b: (1.0 / b, -(y * (1.0 / b))),
    NEG: lambda y, a: (-1.0,),
    SIN: lambda y, a: (a.cos(),),
    COS: lambda y, a: (-a.sin(),),
    RESCALE: lambda y, a: (0.0,),
}


def tangents(results: Sequence[Any], seeds: Mapping[int, Any]) -> list[Any]:
    """The derivative of each result where the leaf of a number moves at the rate of its seed."""
    rate: dict[int, Any] = dict(seeds)
    for node in live(results):
        if node.op is INPUT:
            continue
        total: Any = 0.0
        for a, partial in _partials(node):
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
        if node.op is INPUT or (mine := total.get(node.number)) is None:
            continue
        for a, partial in _partials(node):
            total[a.number] = total.get(a.number, 0.0) + mine * partial
    return {node.number: total[node.number] for node in nodes if node.op is INPUT and node.number in total}


def _partials(node: Node) -> list[tuple[Node, Any]]:
    """The operands of a node that are no constants, each with its partial derivative."""
    if node.op not in PARTIALS:
        raise NotImplementedError(f"no derivative of {node.op}")
    found = PARTIALS[node.op](node, *node.args)
    return [(a, partial) for a, partial in zip(node.args, found, strict=True) if type(a) is Node]
