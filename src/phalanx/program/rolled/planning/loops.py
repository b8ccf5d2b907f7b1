# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From scalars to loops over bodies, or over pairs of them: what plans of both have in common.

Loops are planned from the last to the first, since each tells what the earlier ones must keep.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from ...ops import INPUT, NEG
from ...rewrite import Code, instructions
from ...scalar import Graph, Node
from ...trace import TracedProgram
from .. import leaves as L
from ..graph import LOCAL, BodyGraph, copied
from ..stages.bodies import LINKS
from ..stages.loops import BodyLoop
from ..sweeps.order import Rolled
from .locality import in_local_order

Wanted = list[tuple[Any, L.Leaf]]  # values, and where each goes
Leaf = Callable[[Graph, Node], Any]  # a node as a leaf of another graph; None if it is computed there


class LoopPlan(ABC):
    """Loops under construction."""

    def __init__(self, graph: BodyGraph, order: Rolled) -> None:
        self.graph = graph
        self.order = order
        self.slots: dict[int, int] = {}
        self.saved: dict[int, int] = {}  # slot to the first loop that fills it
        self.in_loop: dict[int, Wanted] = defaultdict(list)
        self.in_link_loop: dict[int, Wanted] = defaultdict(list)  # after the loop over all bodies
        self.columns: dict[int, int] = {}  # of parameters that are read, with their places in the table
        self.carried: set[int] = set()  # live carries

    @abstractmethod
    def common(self, x: Node) -> int:
        """The number of a value per state."""

    @abstractmethod
    def _given(self, fresh: Graph, x: Node, phase: int, leaf: Leaf) -> Any:
        """A leaf for what a loop finds in tables or kept by others, None for all else.

        `leaf` is that of the whole loop.
        """

    def slot(self, x: Node, before: int) -> int:
        """The slot that keeps a value per body for what runs before the loop of a later phase."""
        slot = self.slots.setdefault(x.number, len(self.slots))
        phase, linked = self.graph.phase(x), self.graph.linked(x)
        if phase == LOCAL:  # bodies compute it anew: only rows read it
            phase, linked = before - 1, self.order.ends is not None
        if self.saved.get(slot, phase + 1) > phase:
            self.saved[slot] = phase
            self.wanted_in(phase, linked).append((x, L.SpillSlot(slot)))
        return slot

    def wanted_in(self, phase: int, linked: bool) -> Wanted:
        """What is wanted in the loop of a phase over all bodies, or over the last ones of joints."""
        return self.in_link_loop[phase] if linked else self.in_loop[phase]

    def _loop(self, phase: int, *, linked: bool = False) -> BodyLoop:
        wanted = self.wanted_in(phase, linked)
        roots: dict[int, Any] = {}
        code, targets = self.code(wanted, self._leaf_in_loop(phase, wanted, roots))
        return BodyLoop(code, targets, phase % 2 == 0, roots, LINKS if linked else None)

    def _leaf_in_loop(self, phase: int, wanted: Wanted, roots: dict[int, Any]) -> Leaf:
        """What the loop of a phase takes from elsewhere; it may want more on the way."""

        def leaf(fresh: Graph, x: Node) -> Any:
            if self.graph.common(x):
                return fresh.leaf(L.Global(L.COMMONS, self.common(x)))
            if (given := self._given(fresh, x, phase, leaf)) is not None:
                return given
            if isinstance(x.leaf, L.CarriedLeaf) and self.graph.phase(x) == phase:
                self._want_carry(x.leaf.number, wanted, roots)
                return fresh.leaf(x.leaf)
            if x.op is INPUT or (LOCAL < self.graph.phase(x) < phase and x.op is not NEG):
                return fresh.leaf(L.SpillSlot(self.slot(x, phase)))
            return None

        return leaf

    def _want_carry(self, number: int, wanted: Wanted, roots: dict[int, Any]) -> None:
        if number in self.carried:
            return
        carry = self.order.carries[number]
        self.carried.add(number)
        wanted.append((carry.source, L.CarriedLeaf(number)))
        root = carry.root
        roots[number] = L.Global(L.COMMONS, self.common(root)) if type(root) is Node else root

    def code(self, wanted: Wanted, leaf: Leaf) -> tuple[Code, list[L.Leaf]]:
        """The instructions for what is wanted, and where each result goes."""
        fresh = Graph()
        taken: dict[int, Any] = {}
        needed: dict[int, Node] = {}
        done = 0
        while done < len(wanted):
            stack = [wanted[done][0]]
            while stack:
                x = stack.pop()
                if type(x) is not Node or x.number in taken or x.number in needed:
                    continue
                found = leaf(fresh, x)
                if found is None:
                    needed[x.number] = x
                    stack += x.args
                else:
                    taken[x.number] = found
            done += 1
        for number in sorted(needed):
            node = needed[number]
            args = [taken[a.number] if type(a) is Node else a for a in node.args]
            fresh.quantity = node.quantity
            taken[number] = copied(fresh, node, args)
        results = [taken[x.number] if type(x) is Node else float(x) for x, _ in wanted]
        made = in_local_order(instructions(TracedProgram({}, {}, results)))
        for i in made.instructions:
            if i.op is INPUT and isinstance(i.args[0], L.Param):
                self.columns.setdefault(i.args[0].column, len(self.columns))
        return made, [target for _, target in wanted]
