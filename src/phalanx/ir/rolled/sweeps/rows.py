# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rows of a chain that are eliminated level by level: what `banded` asks of the order of a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import PhalanxError
from ....spatial import Array
from ..graph import BodyGraph
from . import levels
from .elimination import Elimination
from .places import rebuilt, scalars


class OneLimb:
    """The links of a chain, one of which stands for all: `banded.limbs.Limbs` of a loop."""

    parents = np.array([-1])

    def __init__(self, order: Any) -> None:
        if not order.chain:
            raise PhalanxError("limbs: loops over links serve an unbranched chain; use the NumPy backend.")
        self.order = order
        self.ranks = [[np.array([[0]])]]

    def parent(self, x: Array, rank: int = 1, *, first: Any = None) -> Array:
        return self.order.parent(x, first)

    def children(self, x: Array, rank: int = 1) -> Array:
        return self.order.children(x, None)

    def hung(self, x: Array, links: Any, rank: int = 1) -> float:
        return 0.0  # nothing hangs on a link of another limb


class RowSweeps:
    """Eliminations as part of an order."""

    graph: BodyGraph
    eliminations: list[Elimination]
    _latest: Callable[..., int]
    _opened: Callable[..., int]
    _carried: Callable[..., tuple[Any, list[Any]]]
    _close: Callable[..., None]

    def tridiagonal(self, solver: str, D: Array, U: Array, R: Array) -> Array:
        return levels.SOLVERS[solver](self, D, U, R)

    def halved(self, join: Callable[..., Any], parts: Any) -> tuple[Any, Any]:
        return levels.halved(self, join, parts)

    def unfolded(self, halves: Any, x: Array, sides: Callable[..., Any], inside: Callable[..., Any]) -> Array:
        return levels.unfolded(self, halves, x, sides, inside)

    def limbs(self) -> OneLimb:
        """The links of a chain as the one limb of a robot."""
        return OneLimb(self)

    def elimination(self, *fields: Any) -> Elimination:
        """An elimination that begins when all fields are known."""
        made = Elimination(self, len(self.eliminations), max(self._latest(*fields), 0) + 1)
        self.eliminations.append(made)
        return made

    def dropped(self, last: Elimination) -> None:
        """Forget the elimination that was begun last."""
        assert self.eliminations.pop() is last

    def finished(self, E: Elimination, x: Any) -> Any:
        """Variables as they are after an elimination."""
        each = (
            self.graph.placed("result", E.number, variable.number, phase=E.phase) for variable in scalars(x)
        )
        return rebuilt(x, list(each))

    def carried(self, start: Any, *fields: Any, outward: bool) -> tuple[Any, list[Any]]:
        """Values that go from row to row, and what to `close` them with."""
        phase = self._opened(start, *fields, outward=outward)
        return self._carried(start, phase, start)

    def close(self, carries: list[Any], value: Any) -> None:
        """Tell what carried values become in each row."""
        self._close(carries, value)
