# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Slopes of forces for implicit steps: derivatives of cheap terms, costly subexpressions taken for constants.

A slope decides over stability, not over accuracy, so that it may leave out what would cost more than a step
gains: a neural network beside a damper leaves the damper's slope whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..program.differentiate import CONSTANT, tangents
from ..program.ops import ADD, MUL, NEG, SUB
from ..program.scalar import Node, live

CHEAP = 96  # scalars that one slope may add to a step
_RULE = 3  # scalars of the derivative of an operation, about
_SUMS = (ADD, SUB, NEG)


class Slopes:
    """How results of a function fall with one of its variables each, never negative."""

    def __init__(self, results: list[Any], still: Container[int] = ()) -> None:
        self._nodes = live(results, lambda node: () if self._is_constant(node, still) else node.args)
        self._still = still

    @staticmethod
    def _is_constant(node: Node, still: Container[int]) -> bool:
        return node.op in CONSTANT or node.number in still

    def __call__(self, result: Any, variable: Any) -> Any:
        """The slope -d result / d variable, no less than zero, or a number where it does not depend on it."""
        if type(result) is not Node or type(variable) is not Node:
            return 0.0
        costs = self._costs(variable)
        if result.number not in costs:
            return 0.0
        left_out = _Choice(costs).left_out(result)
        if result.number in left_out:
            return 0.0
        still = _Either(self._still, left_out) if left_out else self._still
        (slope,) = tangents([result], {variable.number: 1.0}, still)
        return result.graph.maximum(-slope, 0.0)

    def moves(self, results: Iterable[Any], variable: Any) -> bool:
        """Whether any of some results depends on a variable that functions of the robot have not given."""
        if type(variable) is not Node or variable.number in self._still:
            return False
        costs = self._costs(variable)
        return any(type(x) is Node and x.number in costs for x in results)

    def _costs(self, variable: Node) -> dict[int, int]:
        """What the derivative of each node that moves with a variable costs, all below it included."""
        costs = {variable.number: 0}
        for node in self._nodes:
            if node.number in costs or self._is_constant(node, self._still):
                continue
            moving = [costs[a.number] for a in node.args if type(a) is Node and a.number in costs]
            if moving:
                costs[node.number] = min(sum(moving) + _own_cost(node, len(moving)), 10 * CHEAP)
        return costs


def _own_cost(node: Node, moving: int) -> int:
    """Scalars that the derivative of one operation takes, of which so many operands move."""
    if node.op in _SUMS:
        return moving - 1
    if node.op is MUL and any(type(a) is not Node for a in node.args):
        return 1
    return _RULE


@dataclass(frozen=True)
class _Either:
    """What is in one or the other."""

    one: Container[int]
    other: Container[int]

    def __contains__(self, number: object) -> bool:
        return number in self.one or number in self.other


@dataclass
class _Choice:
    """Which nodes are taken for constants, so that the rest is cheap."""

    costs: dict[int, int]
    chosen: set[int] = field(default_factory=set)

    def left_out(self, result: Node) -> set[int]:
        """The costly subexpressions of a result."""
        self._spend(result, CHEAP)
        return self.chosen

    def _spend(self, node: Node, budget: int) -> None:
        """Choose below a node so that its derivative is within a budget."""
        while True:
            if self.costs[node.number] <= budget:
                return
            if budget <= 0:
                self.chosen.add(node.number)
                return
            if node.op in _SUMS:
                self._spend_on_sum(node, budget)
                return
            moving = [a for a in node.args if type(a) is Node and a.number in self.costs]
            budget = (budget - _RULE) // len(moving)
            for a in moving[1:]:
                self._spend(a, budget)
            node = moving[0]

    def _spend_on_sum(self, node: Node, budget: int) -> None:
        """Keep the cheapest terms of a sum; those of about the same cost, as units of a network, together."""
        classes: dict[int, list[Node]] = defaultdict(list)
        for term in self._terms(node):
            classes[self.costs[term.number].bit_length()].append(term)
        for _, terms in sorted(classes.items()):
            cost = sum(self.costs[term.number] + 1 for term in terms)
            if cost <= budget:
                budget -= cost
            elif len(terms) == 1:
                self._spend(terms[0], budget)
                budget = 0
            else:
                self.chosen.update(term.number for term in terms)
                budget = 0

    def _terms(self, node: Node) -> list[Node]:
        """The terms of a sum that move, whatever brackets it has."""
        found: dict[int, Node] = {}
        stack = [node]
        while stack:
            one = stack.pop()
            if one.number not in found:
                found[one.number] = one
                if one.op in _SUMS:
                    stack.extend(a for a in one.args if type(a) is Node and a.number in self.costs)
        return [one for one in found.values() if one.op not in _SUMS]
