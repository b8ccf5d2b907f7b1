# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of loops over bodies, as more loops: tangents (forward mode) and adjoints (reverse mode).

The tangent of a loop-carried value is carried in the same direction, its adjoint in the opposite one: for
a value passed from parent to child the adjoint is a sum over children, for such a sum it is passed from
parent to child; adjoint loops run in reverse order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..ir import Scalar
from ..passes.differentiate import CONSTANT, NO_ADJOINT, Adjoint, rate_of, shares_of
from . import leaves as L
from .sweeps.order import CarriedScalar, Rolled

Rates = dict[int, Any]  # of nodes, by their numbers


class LoopDerivatives:
    """Derivatives of the scalars that rolled loops compute."""

    def __init__(self, order: Rolled) -> None:
        self.order, self.graph = order, order.graph

    # ------------------------------------------------------------------ dependencies

    def reached(self, results: Iterable[Any], *, seen_through: bool = True) -> list[Scalar]:
        """Return the nodes that results depend on, also through loop-carried values, sorted by number.

        `seen_through`: whether to follow gathered values to their source.
        """
        seen: set[int] = set()
        stack = list(results)
        while stack:
            x = stack.pop()
            if isinstance(x, Scalar) and x.number not in seen:
                seen.add(x.number)
                stack += self._behind(x) if seen_through or not isinstance(x.leaf, L.Gathered) else ()
        return [self.graph.nodes[k] for k in sorted(seen)]

    def _behind(self, x: Scalar) -> tuple[Any, ...]:
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

    def carry(self, x: Scalar) -> CarriedScalar:
        """The loop-carried scalar that a leaf reads."""
        return self.order.carries[x.leaf.number]

    # ------------------------------------------------------------------ along a direction

    def tangents(self, results: list[Any], seed: Callable[[L.Leaf], Any]) -> list[Any]:
        """Return the tangents of results, given those of leaves by `seed` (None: the leaf is constant)."""
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
                rate[x.number] = rate_of(x, rate)
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

    def _moving(self, nodes: list[Scalar], moving: set[int]) -> set[int]:
        """Return the numbers of nodes that depend on `moving` ones, also through loop-carried values."""
        count = -1
        while count < len(moving):
            count = len(moving)
            for x in nodes:
                if any(isinstance(a, Scalar) and a.number in moving for a in self._behind(x)):
                    moving.add(x.number)
        return moving

    # ------------------------------------------------------------------ of a weighted sum

    def adjoints(self, results: list[tuple[Any, Any]], by: Callable[[L.Leaf], bool]) -> dict[L.Leaf, Any]:
        """Return the derivatives of the sum of result * weight by the leaves that `by` selects.

        Gathered values count as constant.
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
            backward.add(x, Adjoint(weight), whole=self.graph.common(weight))
        for carry in carries:
            backward.turn(carry)
        for x in reversed(nodes):
            if x.number not in chosen:
                backward.through(x)
        return {self.graph.nodes[k].leaf: backward.of(self.graph.nodes[k]).value for k in sorted(chosen)}


def _reversed(phases: set[int], first: int, summed: bool) -> dict[int, int]:
    """Map the phase of each loop to that of its adjoint, from `first` on: reverse order, opposite direction.

    Successive adjoint loops of one direction share a phase, unless sums over all bodies (`summed`) may need
    loops between them.
    """
    made: dict[int, int] = {}
    for p in sorted(phases, reverse=True):
        if made:
            first += 2 if summed else 0
        first += (first + p + 1) % 2  # the opposite direction
        made[p] = first
    return made


class _Backward:
    """Accumulates the adjoints of the nodes that are `moving`."""

    def __init__(self, loops: LoopDerivatives, moving: set[int], phases: dict[int, int]) -> None:
        self.loops, self.order, self.graph = loops, loops.order, loops.graph
        self.moving, self.phases = moving, phases
        self.total: dict[int, Adjoint] = {}
        self.shares: dict[int, Adjoint] = {}  # of uniform values: the contribution of each body
        self.returns: dict[int, CarriedScalar] = {}  # adjoint carries, by the number of the primal

    def add(self, x: Any, share: Adjoint, *, whole: bool) -> None:
        """Add to the adjoint of x; `whole`: if x is uniform, the share is a sum over bodies already."""
        if isinstance(x, Scalar) and x.number in self.moving and not share.is_zero:
            into = self.total if whole or not self.graph.common(x) else self.shares
            into[x.number] = into.get(x.number, NO_ADJOINT).plus(share)

    def of(self, x: Scalar) -> Adjoint:
        """Return the adjoint of a node, complete once `through` has visited all nodes that use it."""
        mine = self.total.get(x.number, NO_ADJOINT)
        if x.number not in self.shares:
            return mine
        return mine.plus(Adjoint(self.order.total_of(self.shares[x.number].value)))

    def turn(self, carry: CarriedScalar) -> None:
        """Create the adjoint of a loop-carried value and add it to the adjoint of its source."""
        self.returns[carry.number] = made = self.order.carry(self.phases[carry.phase])
        self.add(carry.source, Adjoint(self.order.leaf_of(made)), whole=False)

    def through(self, x: Scalar) -> None:
        """Propagate the adjoint of a node to its operands."""
        mine, leaf = self.of(x), x.leaf
        if leaf is None:
            if not mine.is_zero:
                for a, share in shares_of(x, mine):
                    self.add(a, share, whole=self.graph.common(x))
        elif isinstance(leaf, L.CarriedLeaf):
            carry = self.loops.carry(x)
            self.returns[carry.number].source = mine.value
            self.add(carry.root, Adjoint(mine.value * self.order.at_world), whole=False)
        elif isinstance(leaf, L.Total):
            self.add(self.order.totals[leaf.number][0], mine, whole=False)
        elif isinstance(leaf, L.Pick):
            value, body = self.order.picks[leaf.number]
            self.add(value, mine.times(self.graph.at_body(body)), whole=False)


def _of(rates: Rates, x: Any) -> Any:
    """Return the entry of a node in `rates`, zero if there is none."""
    return rates.get(x.number, 0.0) if isinstance(x, Scalar) else 0.0
