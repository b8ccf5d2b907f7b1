# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From the scalars of one pair of bodies to loops over the pairs of one column, or row, at a time."""

from __future__ import annotations

from typing import Any

from ...ops import INPUT
from ...rewrite import Code
from ...scalar import Graph, Node
from ..program import Columns
from .loops import Leaf, LoopPlan, Wanted


class ColumnPlan(LoopPlan):
    """Loops over the pairs of one column at a time."""

    def __init__(self, bodies: LoopPlan, before: int) -> None:
        super().__init__(bodies.graph, bodies.order)
        self.bodies = bodies
        self.before = before
        self.sums: list[Code] = []
        self.kept: dict[int, int] = {}

    def columns(self, wanted: Wanted, shape: str, diagonal: Any = 0.0, instead: Any = None) -> Columns:
        """The loops that compute what is wanted, in the order in which they run."""
        for value, target in wanted:
            self.in_loop[max(self.graph.phase(value), 0)].append((value, target))
        last = max(self.in_loop)
        loops = [self._loop(phase) for phase in range(last, -1, -1) if self.in_loop[phase]][::-1]
        kept = None
        if self.kept:
            values: Wanted = [(self.graph.nodes[x], ("keep", k)) for x, k in self.kept.items()]
            kept = ColumnPlan(self.bodies, self.before).columns(values, shape)
        return Columns(loops, len(self.slots), shape, diagonal, instead, tuple(self.sums), kept)

    def common(self, x: Node) -> int:
        return self.bodies.common(x)

    def _given(self, fresh: Graph, x: Node, phase: int, leaf: Leaf) -> Any:
        kind = x.args[0] if x.op is INPUT else ""
        if kind in ("row", "column", "third"):
            return fresh.leaf(f"load {kind}", self.bodies.slot(self.graph.nodes[x.args[1]], self.before))
        if kind in ("param row", "param column", "param third", "delta", "so far"):
            return fresh.leaf(*x.args)
        if kind == "pair third":
            return fresh.leaf("kept", x.args[1], self.kept.setdefault(x.args[2], len(self.kept)))
        if kind == "sum":
            code, _ = self.code([(self.order.sums[x.args[1]], ())], leaf)
            self.sums.append(code)
            return fresh.leaf("sum", len(self.sums) - 1)
        if kind == "diagonal":
            return fresh.leaf("load diagonal", self.slot(self.graph.nodes[x.args[1]], phase))
        return None
