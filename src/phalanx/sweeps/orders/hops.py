# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pointer jumping on a tree: every body looks at its first, second, fourth, eighth … ancestor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ...spatial import Identity
from .slots import Bodies, Slots


@dataclass(frozen=True)
class Hop:
    """The bodies that have a 2^k-th ancestor, that ancestor, and the one half way."""

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


class Walker(Protocol):
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
    power before. They are formed once, whatever L and its transpose are applied to.
    """

    def __init__(self, order: Walker, X: Any) -> None:
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

    @property
    def T(self) -> TransposedPaths:
        return TransposedPaths(self)

    def transposed(self, c: Any) -> Any:
        """L^T c."""
        values = Slots(self.order.n, None, start=c)
        for hop, X in zip(self.order.hops, self.powers, strict=True):
            moved = Slots(len(hop.bodies), None)
            for part in self._parts(hop.bodies):
                moved.set(part, X[part].T @ values.get(hop.bodies[part]))
            self._add(values, hop.ancestors, moved)
        return values.all()

    def whole(self) -> Any:
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
        """The places of the bodies, in groups that go side by side."""
        for part in self.order.abreast(np.arange(len(bodies))):
            self.order.visit(bodies[part])
            yield part
        self.order.leave()


class TransposedPaths:
    """L^T: from every body to itself and to its ancestors."""

    def __init__(self, L: Paths) -> None:
        self.L = L

    def __matmul__(self, c: Any) -> Any:
        return self.L.transposed(c)
