# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Eliminations that halve the rows of a chain: loops over levels, in each a loop over some rows.

On the level of distance h = 1, 2, 4, … every second of the rows 0, h, 2h, … goes, or every row meets
those h before and after it. Values of rows are kept in slots and change in place; a step is traced once,
on rows that stand for all, and says which rows it visits and where their neighbours are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...scalar import Node
from .. import leaves as L
from .places import rebuilt, scalars


@dataclass(frozen=True)
class Change:
    """What a step does: which rows it visits, where its operands are, and what they become."""

    rows: str  # ODD or EVEN multiples of h, ALL rows, or the FIRST one
    offsets: tuple[int, ...]  # of the operands, in units of h
    values: list[tuple[Any, Node, int]]  # value, variable, operand
    carrier: bool = False  # whether the link that carries the limb is one more operand


@dataclass
class Elimination:
    """Variables of rows and the steps that change them, level by level, then the `last` ones."""

    order: Any
    number: int
    phase: int
    linked: bool = False  # whether rows are the last bodies of joints only
    outward: bool = False  # whether levels run from the largest h to the smallest
    initial: list[tuple[Node, Any]] = field(default_factory=list)
    steps: list[Change] = field(default_factory=list)
    last: list[Change] = field(default_factory=list)
    count: int = 0

    def variables(self, like: Any, start: Any = None) -> Any:
        """A variable for each scalar of a field, which starts as `start` says."""
        starts = [None] * sum(1 for _ in scalars(like)) if start is None else list(scalars(start))
        made = []
        for value in starts:
            node = self.order.graph.placed(
                L.Variable(self.number, self.count), phase=self.phase, linked=self.linked
            )
            self.count += 1
            made.append(node)
            if value is not None:
                self.initial.append((node, value))
        return rebuilt(like, made)

    def at(self, operand: int, f: Any) -> Any:
        """A field as an operand has it."""
        graph = self.order.graph

        def one(x: Any) -> Any:
            if type(x) is not Node or graph.common(x):
                return x
            if graph.is_param(x):
                return graph.leaf(L.Param(x.leaf.column, operand))
            return graph.leaf(L.Elsewhere(x.number, operand))

        return rebuilt(f, [one(x) for x in scalars(f)])

    def inside(self, operand: int, f: Any) -> Any:
        """A field as an operand has it, and zero where that would lie beyond the ends."""
        return self.where(operand, self.at(operand, f))

    def where(self, operand: int, f: Any) -> Any:
        """The field, and zero where an operand would lie beyond the ends."""
        graph = self.order.graph
        within = graph.leaf(L.Inside(operand))
        return rebuilt(f, [graph.choose(within, x, 0.0) for x in scalars(f)])

    def becomes(self, variables: Any, values: Any, operand: int = 0) -> list[tuple[Any, Node, int]]:
        """What variables of an operand become."""
        pairs = zip(scalars(variables), scalars(values), strict=True)
        seen: dict[int, tuple[Any, Node, int]] = {}
        for variable, value in pairs:
            seen.setdefault(variable.number, (value, variable, operand))
        return list(seen.values())
