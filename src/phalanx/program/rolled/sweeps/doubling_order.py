# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The sweeps of a chain by recursive doubling, on one symbolic body.

On the level of distance h = 1, 2, 4, … every body joins its run with the one that ends h before it, or that
begins h after it (Hillis and Steele 1986). The bodies of a level are independent of one another: work-items
of a group compute them. Nonlinear sweeps stay serial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....spatial import Array, Field, Identity, Tensor, Transform
from ....sweeps.orders.slots import lift
from ...ir import Scalar
from .. import leaves as L
from ..heavy_path_tables import HeavyPathRows
from ..stages.levels import ALL
from .elimination import Change
from .indexing import chosen, rebuilt, scalars
from .links import OneLevel, OneLink
from .order import Rolled, SerialPaths

_AFTER, _BEFORE = 1, 2  # operands of a level


@dataclass(frozen=True)
class _Affine(Field):
    """x -> X x + c, along a run of links: c is a vector, an operator, or absent."""

    X: Any
    c: Any

    def arrays(self) -> Any:
        yield from self.X.arrays()
        if isinstance(self.c, Field):
            yield from self.c.arrays()
        elif self.c is not None:
            yield self.c, 1

    def map(self, change: Callable[[Array, int], Array]) -> _Affine:
        X = self.X.map(change)
        if isinstance(self.c, Field):
            return _Affine(X, self.c.map(change))
        return _Affine(X, None if self.c is None else change(self.c, 1))


@dataclass
class Doubling(Rolled):
    """Records the sweeps of an algorithm on a chain, the linear and associative ones by doubling."""

    def __post_init__(self) -> None:
        n = self.graph.n
        if self.ends is None:  # every body is a row
            rows = np.arange(n), np.array([0]), np.array([n]), np.array([n])
            self.heavy_path_rows = HeavyPathRows(*rows, n)

    @property
    def _doubles(self) -> bool:
        """Whether rows of levels are bodies: links whose joints have several are other rows."""
        return self.ends is None and not self.linked

    # ------------------------------------------------------------------ linear sweeps

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        step = X if through is None else through if isinstance(X, Identity) else None
        paired = self._is_paired((c,) if c is not None else ())
        if not self._doubles or paired or not isinstance(step, Transform | Tensor):
            return super().propagate(X, c, root, through, plus)
        if through is not None:  # x = through (x + c) + plus
            c = None if c is None else through @ c
        own = plus if c is None else c if plus is None else c + plus
        if root is None and own is None:
            return super().propagate(X, c, root, through, plus)
        whole = self._levels(_after, _Affine(step, own), reverse=False)
        moved = None if root is None else whole.X @ lift(root)
        return moved if whole.c is None else whole.c if moved is None else moved + whole.c

    def accumulate(self, X: Any, c: Any) -> Any:
        if not self._doubles or self._is_paired(c) or not isinstance(X, Transform | Tensor):
            return super().accumulate(X, c)
        return c + self.children(self._levels(_beyond, _Affine(X, X.T @ c), reverse=True).c, None)

    def paths(self, X: Any) -> SerialPaths:
        return _Paths(self, X)

    def scan(self, join: Callable[[Any, Any], Any], elements: Any, root: Any, reverse: bool) -> Any:
        if not self._doubles:
            return super().scan(join, elements, root, reverse)
        x = self._levels(join, elements, reverse=reverse)
        if root is None:
            return x
        return join(x, lift(root)) if reverse else join(lift(root), x)

    def _levels(self, join: Callable[[Any, Any], Any], elements: Any, *, reverse: bool) -> Any:
        """The elements of each body joined with all before it, or with all after it."""
        operand = _AFTER if reverse else _BEFORE

        def step(level: Any, row: Any) -> Any:
            assert isinstance(level, OneLevel)
            other = level.E.moved(operand, row)
            made = join(row, other) if reverse else join(other, row)
            return chosen(self.graph, self.graph.leaf(L.InBounds(operand)), made, row)

        return OneLink(self).levels(step, elements)

    # ------------------------------------------------------------------ neighbours

    def parent(self, x: Array, root: Any) -> Array:
        if not self._doubles or self._is_paired(x):
            return super().parent(x, root)
        return self._neighbour(x, root, -1)

    def children(self, x: Any, tip: Any) -> Any:
        if not self._doubles or self._is_paired(x):
            return super().children(x, tip)
        return self._neighbour(x, tip, 1)

    def _neighbour(self, x: Any, end: Any, offset: int) -> Any:
        """The value of the body before or after; `end` (zero) where there is none."""
        ends = [0.0] * sum(1 for _ in scalars(x)) if end is None else list(scalars(lift(end)))
        made = list[Any]()
        left: dict[int, tuple[Any, Any]] = {}  # what has to be gathered
        for k, (value, at_end) in enumerate(zip(scalars(x), ends, strict=True)):
            if isinstance(at_end, Scalar) or (isinstance(value, Scalar) and not self.graph.is_param(value)):
                left[k] = value, at_end
                made.append(value)
                continue
            column = np.roll(self.graph.column(value), -offset)
            column[0 if offset < 0 else -1] = at_end
            made.append(self.graph.param(column))
        if left:
            gathered = self._gathered(list(left.values()), offset)
            for k, value in zip(left, gathered, strict=True):
                made[k] = value
        return rebuilt(x, made)

    def _gathered(self, values: list[tuple[Any, Any]], offset: int) -> list[Any]:
        link = OneLink(self)
        own, ends = (np.array(column, dtype=object) for column in zip(*values, strict=True))
        E = link._begun(own, ends)
        within = self.graph.leaf(L.InBounds(1))
        there = E.at(1, own)
        moved = [self.graph.choose(within, a, b) for a, b in zip(there, ends, strict=True)]
        kept, changes = E.kept(np.array(moved, dtype=object))
        E.start.append(Change(ALL, (0, offset), changes))
        return list(scalars(link._finished(E, kept)))


class _Paths(SerialPaths):
    """The operator that sums over the ancestors of each body, or its transpose, by doubling."""

    def __matmul__(self, c: Any) -> Any:
        if self.back:
            return self.order.accumulate(self.X, c)
        return self.order.propagate(self.X, c, None, None, None)

    @property
    def T(self) -> _Paths:
        return _Paths(self.order, self.X, back=not self.back)


def _after(first: _Affine, then: _Affine) -> _Affine:
    """The map of a run followed by another, from the root on."""
    c = None if then.c is None or first.c is None else then.X @ first.c + then.c
    return _Affine(then.X @ first.X, c)


def _beyond(first: _Affine, then: _Affine) -> _Affine:
    """The map of a run followed by another, from the tip on: x -> X^T x + c."""
    return _Affine(then.X @ first.X, first.c + first.X.T @ then.c)
