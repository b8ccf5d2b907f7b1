# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of loops over bodies, as more loops.

Along a direction, everything goes the way of what it is the derivative of. Of a weighted sum everything
comes back: what goes from parent to child returns as a sum over children, what is such a sum returns from
parent to child, and loops run in the opposite order. Nothing else is known of the equations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..differentiate import CONSTANT, partials
from ..scalar import Node
from . import leaves as L
from .sweeps.order import CarriedScalar, Rolled

Rates = dict[int, Any]  # of nodes, by their numbers


class LoopDerivatives:
    """Derivatives of scalars that loops in some order compute."""

    def __init__(self, order: Rolled) -> None:
        self.order, self.graph = order, order.graph

    # ------------------------------------------------------------------ what depends on what

    def reached(self, results: Iterable[Any], *, seen_through: bool = True) -> list[Node]:
        """The nodes behind some results, also through other bodies; operands first, but for other bodies.

        What comes from elsewhere may be seen through.
        """
        seen: set[int] = set()
        stack = list(results)
        while stack:
            x = stack.pop()
            if type(x) is Node and x.number not in seen:
                seen.add(x.number)
                stack += self._behind(x) if seen_through or not isinstance(x.leaf, L.Gathered) else ()
        return [self.graph.nodes[k] for k in sorted(seen)]

    def _behind(self, x: Node) -> tuple[Any, ...]:
        leaf = x.leaf
        if leaf is None:
            return () if x.op in CONSTANT else x.args
        if isinstance(leaf, L.Param | L.State | L.Global):
            return ()
        if isinstance(leaf, L.Total):
            return self.order.totals[leaf.number][:1]
        if isinstance(leaf, L.Pick):
            return self.order.picks[leaf.number][:1]
        if isinstance(leaf, L.Gathered) and not self.graph.paired(x):
            return (self.graph.nodes[leaf.node],)
        if isinstance(leaf, L.CarriedLeaf) and not (self.carry(x).paired or self.carry(x).linked):
            return self.carry(x).source, self.carry(x).root
        raise TypeError(f"derivatives of loops: no rule for {leaf}.")

    def carry(self, x: Node) -> CarriedScalar:
        """What a leaf carries."""
        return self.order.carries[x.leaf.number]

    # ------------------------------------------------------------------ along a direction

    def tangents(self, results: list[Any], seed: Callable[[L.Leaf], Any]) -> list[Any]:
        """The derivatives of results where leaves move at the rates that `seed` tells; None: they do not."""
        nodes = self.reached(results)
        rate: Rates = {}
        for x in nodes:
            if isinstance(x.leaf, L.State | L.Global) and (given := seed(x.leaf)) is not None:
                rate[x.number] = given
        moving = self._moving(nodes, set(rate))
        carries: list[tuple[CarriedScalar, CarriedScalar]] = []
        for x in nodes:
            leaf = x.leaf
            if x.number not in moving or x.number in rate:
                continue
            if leaf is None:
                terms = (rate[a.number] * partial for a, partial in partials(x) if a.number in rate)
                rate[x.number] = sum(terms, 0.0)
            elif isinstance(leaf, L.CarriedLeaf):
                carries.append((self.carry(x), self.order.carry(self.carry(x).phase)))
                rate[x.number] = self.order.leaf_of(carries[-1][1])
            elif isinstance(leaf, L.Total):
                rate[x.number] = self.order.total_of(_of(rate, self.order.totals[leaf.number][0]))
            elif isinstance(leaf, L.Pick):
                value, body = self.order.picks[leaf.number]
                rate[x.number] = self.order.pick_of(_of(rate, value), body)
            else:
                rate[x.number] = self.graph.elsewhere(_of(rate, self.graph.nodes[leaf.node]), leaf.whose)
        for old, new in carries:
            new.source, new.root = _of(rate, old.source), _of(rate, old.root)
        return [_of(rate, x) for x in results]

    def _moving(self, nodes: list[Node], moving: set[int]) -> set[int]:
        """The numbers of nodes that depend on those that move, through other bodies too."""
        count = -1
        while count < len(moving):
            count = len(moving)
            for x in nodes:
                if any(type(a) is Node and a.number in moving for a in self._behind(x)):
                    moving.add(x.number)
        return moving

    # ------------------------------------------------------------------ of a weighted sum

    def adjoints(self, results: list[tuple[Any, Any]], by: Callable[[L.Leaf], bool]) -> dict[L.Leaf, Any]:
        """The derivatives of a sum of products, each of a result and its weight, by some leaves.

        What comes from elsewhere counts as constant.
        """
        nodes = self.reached((x for x, _ in results), seen_through=False)
        chosen = {x.number for x in nodes if isinstance(x.leaf, L.State | L.Global) and by(x.leaf)}
        moving = self._moving(nodes, set(chosen))
        nodes = [x for x in nodes if x.number in moving]
        carries = [self.carry(x) for x in nodes if isinstance(x.leaf, L.CarriedLeaf)]
        known = max([self.graph.phase(x) for x in nodes] + [self.graph.phase(w) - 1 for _, w in results])
        summed = any(isinstance(x.leaf, L.Total | L.Pick) for x in nodes)
        backward = _Backward(self, moving, _reversed({c.phase for c in carries}, known + 1, summed))
        for x, weight in results:
            backward.add(x, weight, whole=self.graph.common(weight))
        for carry in carries:
            backward.turn(carry)
        for x in reversed(nodes):
            if x.number not in chosen:
                backward.through(x)
        return {self.graph.nodes[k].leaf: backward.of(self.graph.nodes[k]) for k in sorted(chosen)}


def _reversed(phases: set[int], first: int, summed: bool) -> dict[int, int]:
    """The phases in which the adjoints of loops come about, from `first` on: in reverse, the other way.

    Loops one way that need nothing from each other but what stands at the same body share a phase. Where
    sums over all bodies are among it, loops between must have time to come.
    """
    made: dict[int, int] = {}
    for p in sorted(phases, reverse=True):
        if made:
            first += 2 if summed else 0
        first += (first + p + 1) % 2  # the opposite direction
        made[p] = first
    return made


class _Backward:
    """Adjoints under construction, of nodes that are `moving`."""

    def __init__(self, loops: LoopDerivatives, moving: set[int], phases: dict[int, int]) -> None:
        self.loops, self.order, self.graph = loops, loops.order, loops.graph
        self.moving, self.phases = moving, phases
        self.total: Rates = {}
        self.shares: Rates = {}  # of values per state: what each body has to do with them
        self.returns: dict[int, CarriedScalar] = {}  # by the number of what is carried

    def add(self, x: Any, amount: Any, *, whole: bool) -> None:
        """Add to the adjoint of x what one body has for it, or, if x is a value per state, the whole."""
        if type(x) is Node and x.number in self.moving and (type(amount) is Node or amount != 0.0):
            into = self.total if whole or not self.graph.common(x) else self.shares
            into[x.number] = _of(into, x) + amount

    def of(self, x: Node) -> Any:
        """The adjoint of a node, once all that depends on it is through."""
        mine = _of(self.total, x)
        return mine + self.order.total_of(self.shares[x.number]) if x.number in self.shares else mine

    def turn(self, carry: CarriedScalar) -> None:
        """Let what a value means for those that get it come back."""
        self.returns[carry.number] = made = self.order.carry(self.phases[carry.phase])
        self.add(carry.source, self.order.leaf_of(made), whole=False)

    def through(self, x: Node) -> None:
        """Hand the adjoint of a node on to what it depends on."""
        mine, leaf = self.of(x), x.leaf
        if leaf is None:
            if type(mine) is Node or mine != 0.0:
                for a, partial in partials(x):
                    self.add(a, mine * partial, whole=self.graph.common(x))
        elif isinstance(leaf, L.CarriedLeaf):
            carry = self.loops.carry(x)
            self.returns[carry.number].source = mine
            self.add(carry.root, mine * self.order.at_world, whole=False)
        elif isinstance(leaf, L.Total):
            self.add(self.order.totals[leaf.number][0], mine, whole=False)
        elif isinstance(leaf, L.Pick):
            value, body = self.order.picks[leaf.number]
            self.add(value, mine * self.graph.at_body(body), whole=False)


def _of(rates: Rates, x: Any) -> Any:
    """The entry of a node, zero if there is none."""
    return rates.get(x.number, 0.0) if type(x) is Node else 0.0
