# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From the scalars of one link and of one segment to loops over links and loops over segments."""

from __future__ import annotations

from typing import Any

from ...graph import Graph
from ...ir import Scalar
from ...ops import COS, INPUT, SIN
from .. import leaves as L
from ..body_graph import BodyGraph
from ..planning import Leaf, Plan, Wanted
from ..stages.bodies import Stage
from ..stages.loops import BodyLoop, Once
from ..sweeps.order import Rolled
from .rows import RowLevels

_TOGETHER = 24  # loop-carried values of one loop: with more, registers are stored and loaded all the time


class LinkPlan(Plan):
    """The plan of loops over links; values that segments share are requested of the plan `chain`."""

    chain: Plan

    def __init__(self, graph: BodyGraph, order: Rolled) -> None:
        super().__init__(graph, order)
        self.ends: dict[L.End, int] = {}
        self.finished: set[int] = set()  # slots of variables whose values after an elimination are read

    def slot(self, x: Scalar, before: int) -> int:
        slot = super().slot(x, before)
        if isinstance(x.leaf, L.EliminationResult):
            self.finished.add(slot)
        return slot

    def levels(self, phase: int) -> list[RowLevels]:
        """The eliminations of a phase; their initial values are planned in loops before it."""
        made = []
        for E in self.order.eliminations[::-1]:
            if E.phase == phase and E.number in self.eliminations:
                finished, initial = set(self.finished), {self.slot(x, phase) for x, _ in E.initial}
                made.append(RowLevels(self._elimination(E).steps, initial, finished))
        return made

    def end(self, value: L.End) -> int:
        """The index of a value at the last link of its loop."""
        if value not in self.ends:
            self.ends[value] = len(self.ends)
            node = self.graph.nodes[value.number]
            self.in_loop[value.phase].append((node, L.End(self.ends[value])))
        return self.ends[value]

    def _leaf_in_loop(self, phase: int, wanted: Wanted, roots: dict[int, Any]) -> Leaf:
        usual = super()._leaf_in_loop(phase, wanted, roots)
        loops = {carry.phase for carry in self.order.carries}
        own = (
            self.graph.leaf(L.CarriedLeaf(c.number)).number for c in self.order.carries if c.phase == phase
        )
        start = min(own, default=len(self.graph.nodes))

        def leaf(fresh: Graph, x: Scalar) -> Any:
            # What needs a share but no neighbour is not worth a loop of its own, and what the text of a
            # sweep makes is made in its loop: stores are dearer than most of what they would save.
            early = self.graph.phase(x) in loops and x.number < start
            known = early or self.graph.common(x) or x.op in (INPUT, SIN, COS)
            return usual(fresh, x) if known else None

        return leaf

    def loops(self, phase: int) -> list[BodyLoop]:
        """The loops of a phase: several where many loop-carried values are independent."""
        made = []
        for part in self._parts(phase):
            self.in_loop[phase] = part
            made.append(self._loop(phase))
        return made

    def _parts(self, phase: int) -> list[Wanted]:
        """The results of a phase, in parts small enough for registers."""
        wanted = self.in_loop[phase]
        bundles: list[tuple[set[int], Wanted]] = []  # carries, and what is wanted of them
        for item in wanted:
            carries, items = self._behind(item[0], phase), [item]
            for other in [b for b in bundles if b[0] & carries]:
                bundles.remove(other)
                carries, items = carries | other[0], other[1] + items
            bundles.append((carries, items))
        if sum(len(carries) for carries, _ in bundles) <= _TOGETHER:
            return [wanted] if wanted else []
        parts: list[tuple[set[int], Wanted]] = []
        for carries, items in bundles:
            if parts and len(parts[-1][0] | carries) <= _TOGETHER:
                parts[-1] = parts[-1][0] | carries, parts[-1][1] + items
            else:
                parts.append((carries, items))
        return [items for _, items in parts]

    def _behind(self, value: Any, phase: int) -> set[int]:
        """The carries of a phase on which a value depends, directly or through others."""
        found: set[int] = set()
        seen: set[int] = set()
        stack = [value]
        while stack:
            x = stack.pop()
            if not isinstance(x, Scalar) or x.number in seen or self.graph.phase(x) != phase:
                continue
            seen.add(x.number)
            if isinstance(x.leaf, L.CarriedLeaf):
                found.add(x.leaf.number)
                stack.append(self.order.carries[x.leaf.number].source)
            elif x.op is not INPUT:
                stack += x.args
        return found

    def _once(self, phase: int) -> Once:
        def leaf(fresh: Graph, x: Scalar) -> Any:
            if isinstance(x.leaf, L.Share):
                value = self.chain.graph.nodes[x.leaf.number]
                return fresh.leaf(L.Share(self.chain.slot(value, self.graph.phase(x))))
            return None if x.leaf is None else fresh.leaf(x.leaf)

        return Once(self.code(self.in_once[phase], leaf))


class ChainPlan(Plan):
    """Loops over segments, which ask their links for what they end with."""

    links: LinkPlan

    def loops(self, phase: int) -> list[BodyLoop]:
        """The loop of a phase."""
        return [self._loop(phase)] if self.in_loop[phase] else []

    def _given(self, fresh: Graph, x: Scalar, phase: int, leaf: Leaf) -> Any:
        if isinstance(x.leaf, L.End):
            return fresh.leaf(L.End(self.links.end(x.leaf)))
        return super()._given(fresh, x, phase, leaf)


def staged(links: LinkPlan, chain: ChainPlan) -> list[tuple[bool, Stage]]:
    """All stages in order, planned from the last to the first."""
    made: list[tuple[bool, Stage]] = []
    phase = max([*links.in_loop, *(E.phase for E in links.order.eliminations), 0])
    while phase >= 0:
        plans: tuple[tuple[bool, LinkPlan | ChainPlan], ...] = ((True, chain), (False, links))
        for over, plan in plans:
            made += [(over, loop) for loop in plan.loops(phase)]
            if plan.in_once[phase]:
                made.append((over, plan._once(phase)))
        made += [(False, levels) for levels in links.levels(phase)]
        phase -= 1
    if (angles := links.angle_loop()) is not None:
        made.append((False, angles))
    return made[::-1]
