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
from .ops import (
    ABS,
    ADD,
    ARCTAN2,
    COS,
    DIV,
    EXP,
    INPUT,
    LESS,
    LOG,
    LOWERED,
    MAX,
    MIN,
    MUL,
    NEG,
    RESCALE,
    SELECT,
    SIN,
    SQRT,
    SUB,
    TANH,
)
from .scalar import Node, live

# The partial derivatives of an operation with respect to its operands. Where there are several slopes, it is
# one of them: of |x| and of sqrt(x) zero at x = 0, of two equal numbers that of the first one.
PARTIALS: dict[str, Callable[..., tuple[Any, ...]]] = {
    ADD: lambda y, a, b: (1.0, 1.0),
    SUB: lambda y, a, b: (1.0, -1.0),
    MUL: lambda y, a, b: (b, a),
    DIV: lambda y, a, b: (1.0 / b, -(y * (1.0 / b))),
    NEG: lambda y, a: (-1.0,),
    SIN: lambda y, a: (a.cos(),),
    COS: lambda y, a: (-a.sin(),),
    EXP: lambda y, a: (y,),
    TANH: lambda y, a: (1.0 - y * y,),
    LOG: lambda y, a: (1.0 / a,),
    SQRT: lambda y, a: (y.graph.choose(y.graph.less(0.0, y), 0.5 / y, 0.0),),
    ABS: lambda y, a: (y.graph.less(0.0, a) - a.less(0.0),),
    ARCTAN2: lambda y, a, b: _of_angle(a, b),
    MIN: lambda y, a, b: _of_one(y, y.graph.less(b, a)),
    MAX: lambda y, a, b: _of_one(y, y.graph.less(a, b)),
    SELECT: lambda y, mask, a, b: (0.0, y.graph.choose(mask, 1.0, 0.0), y.graph.choose(mask, 0.0, 1.0)),
}
# Those without one are constant but for jumps: powers of two, where what they scale does not jump, and tests.
CONSTANT = {INPUT, RESCALE, LESS}
for _op in LOWERED:
    PARTIALS[_op] = lambda y, *args: _refuse(y.op)


def _of_angle(a: Any, b: Any) -> tuple[Any, Any]:
    scale = 1.0 / (a * a + b * b)
    return b * scale, -(a * scale)


def _of_one(y: Node, second: Any) -> tuple[Any, Any]:
    """Of one of two operands: the second where the mask says so."""
    return y.graph.choose(second, 0.0, 1.0), y.graph.choose(second, 1.0, 0.0)


def _refuse(op: str) -> NoReturn:
    raise PhalanxError(f"derivatives: there is no rule for the operation {op}.")


def tangents(results: Sequence[Any], seeds: Mapping[int, Any], still: Container[int] = ()) -> list[Any]:
    """The derivative of each result where the leaf of a number moves at the rate of its seed.

    Nodes whose numbers are in `still` are taken for constants.
    """
    rate: dict[int, Any] = dict(seeds)
    for node in moving(results):
        if node.op in CONSTANT or node.number in still:
            continue
        total: Any = _rate_of_choice(node, rate) if node.op in _CHOICES else 0.0
        for a, partial in partials(node) if node.op not in _CHOICES else ():
            if (own := rate.get(a.number)) is not None:
                total = total + own * partial
        if type(total) is Node or total != 0.0:
            rate[node.number] = total
    return [rate.get(x.number, 0.0) if type(x) is Node else 0.0 for x in results]


def adjoints(results: Sequence[Any], weights: Sequence[Any]) -> dict[int, Any]:
    """The derivative of the weighted sum of all results with respect to each leaf, by its number."""
    nodes = moving(results)
    total: dict[int, Any] = {}
    for x, weight in zip(results, weights, strict=True):
        if type(x) is Node:
            total[x.number] = total.get(x.number, 0.0) + weight
    for node in reversed(nodes):
        mine = total.get(node.number, 0.0)
        if node.op in CONSTANT or (type(mine) is not Node and mine == 0.0):
            continue
        for a, share in _shares(node, mine):
            total[a.number] = total.get(a.number, 0.0) + share
    return {node.number: total[node.number] for node in nodes if node.op is INPUT and node.number in total}


# ------------------------------------------------------------------- one of two values

# What is chosen between has rates and weights that are chosen between: a product with a mask would be NaN
# where the slope of the other one is infinite, as that of sqrt in where(x > 0, sqrt(x), 0).
_CHOICES = {SELECT, MIN, MAX}


def _choice(node: Node) -> tuple[Any, Any, Any]:
    """The mask of a choice, what is taken where it is not zero, and elsewhere."""
    if node.op is SELECT:
        mask, a, b = node.args
        return mask, a, b
    a, b = node.args
    return node.graph.less(b, a) if node.op is MIN else node.graph.less(a, b), b, a


def _rate_of_choice(node: Node, rate: Mapping[int, Any]) -> Any:
    if not any(type(x) is Node and x.number in rate for x in node.args):
        return 0.0
    mask, *values = _choice(node)
    return node.graph.choose(mask, *(rate.get(x.number, 0.0) if type(x) is Node else 0.0 for x in values))


def _shares(node: Node, mine: Any) -> list[tuple[Node, Any]]:
    """The operands of a node that are no constants, each with its share of a weight."""
    if node.op not in _CHOICES:
        return [(a, mine * partial) for a, partial in partials(node)]
    mask, *values = _choice(node)
    choose = node.graph.choose
    both = zip(values, (choose(mask, mine, 0.0), choose(mask, 0.0, mine)), strict=True)
    return [(x, share) for x, share in both if type(x) is Node]


# ------------------------------------------------------------------- nodes


def moving(results: Sequence[Any]) -> list[Node]:
    """The nodes whose rates matter to results, operands first; what only scales or tests has none."""
    return live(results, lambda node: () if node.op in CONSTANT else node.args)


def partials(node: Node) -> list[tuple[Node, Any]]:
    """The operands of a node that are no constants, each with its partial derivative."""
    if node.op in CONSTANT:
        return []
    rule = PARTIALS.get(node.op)
    found = _refuse(node.op) if rule is None else rule(node, *node.args)
    return [(a, partial) for a, partial in zip(node.args, found, strict=True) if type(a) is Node]
