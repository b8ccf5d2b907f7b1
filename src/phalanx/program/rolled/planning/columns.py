# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From the scalars of one pair of bodies to loops over the pairs of one column, or row, at a time."""

from __future__ import annotations

from typing import Any

from ...rewrite import Code
from ...scalar import Graph, Node
from .. import leaves as L
from ..stages.columns import Columns
from .loops import Leaf, LoopPlan, Wanted


class ColumnPlan(LoopPlan):
    """Loops over the pairs of one column at a time."""

    def __init__(self, bodies: LoopPlan, before: int) -> None:
        super().__init__(bodies.graph, bodies.order)
        self.bodies = bodies
        self.columns = bodies.columns
        self.before = before
        self.sums: list[Code] = []
        self.kept: dict[int, int] = {}

    def planned(self, wanted: Wanted, shape: str, diagonal: Any = 0.0, instead: Any = None) -> Columns:
        """The loops that compute what is wanted, in the order in which they run."""
        for value, target in wanted:
            self.in_loop[max(self.graph.phase(value), 0)].append((value, target))
        last = max(self.in_loop)
        loops = [self._loop(phase) for phase in range(last, -1, -1) if self.in_loop[phase]][::-1]
        kept = None
        if self.kept:
            values: Wanted = [(self.graph.nodes[x], L.StoredPair(k)) for x, k in self.kept.items()]
            kept = ColumnPlan(self.bodies, self.before).planned(values, shape)
        return Columns(diagonal, instead, loops, len(self.slots), shape, tuple(self.sums), kept)

    def common(self, x: Node) -> int:
        return self.bodies.common(x)

    def _given(self, fresh: Graph, x: Node, phase: int, leaf: Leaf) -> Any:
        found = x.leaf
        if isinstance(found, L.Gathered) and found.whose == L.DIAGONAL:
            return fresh.leaf(L.SpillSlot(self.slot(self.graph.nodes[found.node], phase), L.DIAGONAL))
        if isinstance(found, L.Gathered):
            slot = self.bodies.slot(self.graph.nodes[found.node], self.before)
            return fresh.leaf(L.SpillSlot(slot, found.whose))
        if isinstance(found, L.Param | L.Delta | L.SoFar):
            return fresh.leaf(found)
        if isinstance(found, L.PairThird):
            return fresh.leaf(L.StoredPair(self.kept.setdefault(found.node, len(self.kept)), found.side))
        if isinstance(found, L.Sum):
            code, _ = self.code([(self.order.sums[found.number], L.EntryLeaf())], leaf)
            self.sums.append(code)
            return fresh.leaf(L.Sum(len(self.sums) - 1))
        return None
