# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Orders of logarithmic depth on a tree: pointer jumping, and contraction.

Pointer jumping: every body reads its first, second, fourth, eighth … ancestor.

Contraction: a run is a path of bodies from its first (`top`) to its last (`bottom`). In an iteration every
run without children is folded into the body that carries it (rake), and of runs that are only children
every second one is joined to the one before (compress). Both leave at most three
quarters of the runs, so that the iterations of any tree are a logarithm of its bodies: Miller and Reif 1985.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ...spatial import Identity, Transposed
from .slots import Bodies, Slots


@dataclass(frozen=True)
class Hop:
    """The bodies that have a 2^k-th ancestor, that ancestor, and the one halfway."""

    bodies: Bodies
    ancestors: Bodies
    halfway: Bodies


def hops_of(parents: np.ndarray) -> list[Hop]:
    """The hops of a tree: ceil(log2 depth) of them."""
    hops: list[Hop] = []
    near = np.arange(len(parents) + 1)
    far = np.append(parents, -1)  # the world is its own ancestor
    while (far >= 0).any():
        bodies = np.flatnonzero(far >= 0)
        hops.append(Hop(bodies, far[bodies], near[bodies]))
        near, far = far, far[far]
    return hops


class TreeOrder(Protocol):
    """What pointer jumping needs of an order."""

    n: int

    @property
    def hops(self) -> list[Hop]: ...

    def abreast(self, bodies: np.ndarray) -> list[np.ndarray]: ...

    def visit(self, bodies: Bodies) -> None: ...

    def leave(self) -> None: ...


class Paths:
    """L = (1 - Gamma)^-1 = … (1 + Gamma^4) (1 + Gamma^2) (1 + Gamma), where Gamma x is X_i x_parent.

    Gamma^(2^k) has one block a row: X_i from the 2^k-th ancestor, the product of two blocks of the
    power before. They are computed once, however often L and its transpose are applied.
    """

    def __init__(self, order: TreeOrder, X: Any) -> None:
        self.order = order
        self.X = X

    @cached_property
    def powers(self) -> list[Any]:
        """The blocks of Gamma, Gamma^2, Gamma^4, …, for the bodies of each hop."""
        if isinstance(self.X, Identity):
            return [self.X for _ in self.order.hops]
        made: list[Any] = []
        power = Slots(self.order.n, None, start=self.X)
        for hop in self.order.hops:
            if made:
                self._compose(power, hop.bodies, hop.halfway)
            made.append(power.get(hop.bodies))
        return made

    def __matmul__(self, c: Any) -> Any:
        values = Slots(self.order.n, None, start=c)
        for hop, X in zip(self.order.hops, self.powers, strict=True):
            moved = Slots(len(hop.bodies), None)
            for part in self._parts(hop.bodies):
                moved.set(part, X[part] @ values.get(hop.ancestors[part]))
            self._add(values, hop.bodies, moved)
        return values.all()

    T = property(Transposed)

    def transposed(self, c: Any) -> Any:
        """L^T c: from every body to itself and to its ancestors."""
        values = Slots(self.order.n, None, start=c)
        for hop, X in zip(self.order.hops, self.powers, strict=True):
            moved = Slots(len(hop.bodies), None)
            for part in self._parts(hop.bodies):
                moved.set(part, X[part].T @ values.get(hop.bodies[part]))
            self._add(values, hop.ancestors, moved)
        return values.all()

    def from_world(self) -> Any:
        """The product of X along the whole path from the world to each body."""
        product = Slots(self.order.n, None, start=self.X)
        for hop in self.order.hops:
            self._compose(product, hop.bodies, hop.ancestors)
        return product.all()

    def _compose(self, values: Slots, bodies: Bodies, others: Bodies) -> None:
        """Make each body's operator the one that applies another body's first; all read before any writes."""
        made = Slots(len(bodies), None)
        for part in self._parts(bodies):
            made.set(part, values.get(bodies[part]) @ values.get(others[part]))
        values.set(bodies, made.all())

    def _add(self, values: Slots, bodies: Bodies, moved: Slots) -> None:
        for part in self._parts(bodies):
            values.scatter(bodies[part], moved.get(part))

    def _parts(self, bodies: Bodies) -> Iterator[np.ndarray]:
        """The indices of the bodies, in groups that run side by side."""
        for part in self.order.abreast(np.arange(len(bodies))):
            self.order.visit(bodies[part])
            yield part
        self.order.leave()


@dataclass(frozen=True)
class ContractionStep:
    """The joins and folds of one iteration, which are independent.

    joins  (k, 4): top, bottom of a run; top, bottom of its only child run, which becomes part of it
    folds  (m, 3): top, bottom of a run without children; the body that carries it
    """

    joins: np.ndarray
    folds: np.ndarray


def contraction_steps(parents: np.ndarray) -> list[ContractionStep]:
    """The steps that contract a tree (parents first, -1 the world) to one run for each body on the world."""
    above = parents.tolist()
    hanging: list[set[int]] = [set() for _ in above]  # tops of the runs that hang on each body
    for top, body in enumerate(above):
        if body >= 0:
            hanging[body].add(top)
    bottom = list(range(len(above)))
    alive = list(range(len(above)))  # tops, each after the one that carries it
    steps = []
    while any(hanging):
        joins, folds, taken = [], [], set[int]()
        for top in alive:
            tips = hanging[bottom[top]]
            if not tips:
                folds.append((top, bottom[top], above[top]))
            elif len(tips) == 1 and top not in taken and hanging[bottom[next(iter(tips))]]:
                other = next(iter(tips))
                joins.append((top, bottom[top], other, bottom[other]))
                taken.add(other)
        for top, end, other, far in joins:
            hanging[end].discard(other)
            bottom[top] = far
        folds = [fold for fold in folds if fold[2] >= 0]  # runs on the world are done
        for top, _, carrier in folds:
            hanging[carrier].discard(top)
        gone = taken | {top for top, _, _ in folds}
        alive = [top for top in alive if top not in gone]
        steps.append(ContractionStep(_table(joins, 4), _table(folds, 3)))
    return steps


def _table(rows: Sequence[tuple[int, ...]], columns: int) -> np.ndarray:
    return np.array(rows, dtype=np.intp).reshape(-1, columns)
