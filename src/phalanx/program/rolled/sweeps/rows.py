# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rows that are eliminated level by level: what `banded` asks of the order of a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....spatial import Array, Transform
from .. import leaves as L
from ..bodies.links import BodyLinks, body_links
from ..graph import BodyGraph
from ..limbs import LimbRows
from . import levels
from .elimination import Elimination
from .limbs import OneLimb
from .places import chosen, rebuilt, scalars


class RowSweeps:
    """Eliminations as part of an order."""

    graph: BodyGraph
    eliminations: list[Elimination]
    limb_rows: LimbRows | None
    links: np.ndarray | None
    pick: Callable[[Any, int], Any]
    _parent: Callable[..., Any]
    _children: Callable[..., Any]
    _latest: Callable[..., int]
    _opened: Callable[..., int]
    _carried: Callable[..., tuple[Any, list[Any]]]
    _close: Callable[..., None]

    def tridiagonal(self, solver: str, D: Array, U: Array, R: Array) -> Array:
        return levels.SOLVERS[solver](self, D, U, R)

    def links_of(self, model: Any, X: Transform) -> BodyLinks:
        """The link of the body that stands for all."""
        return body_links(model, X)

    def limbs(self) -> OneLimb:
        """The limbs of a robot, one of which stands for all."""
        return OneLimb(self)

    def elimination(self, *fields: Any, kind: type[Elimination] = Elimination) -> Any:
        """An elimination that begins when all fields are known."""
        phase = max(self._latest(*fields), 0) + 1
        made = kind(self, len(self.eliminations), phase, self.links is not None)
        self.eliminations.append(made)
        return made

    def finished(self, E: Elimination, x: Any) -> Any:
        """Variables as they are after an elimination."""
        each = (
            self.graph.placed(L.Result(E.number, variable.number), phase=E.phase, linked=E.linked)
            for variable in scalars(x)
        )
        return rebuilt(x, list(each))

    def carried(self, start: Any, *fields: Any, outward: bool) -> tuple[Any, list[Any]]:
        """Values that go from row to row, and what to `close` them with."""
        phase = self._opened(start, *fields, outward=outward)
        return self._carried(start, phase, start, linked=self.links is not None)

    def row_before(self, x: Any, first: Any) -> Any:
        """The value of x in the row before each one."""
        return self._parent(x, first, linked=self.links is not None)

    def row_after(self, x: Any) -> Any:
        """The value of x in the row after each one, zero where there is none."""
        return self._children(x, None, linked=self.links is not None)

    def first_row(self, x: Any) -> Any:
        """The value of x in the first row."""
        return self.pick(x, 0 if self.links is None else int(self.links[0]))

    def scan_joints(self, join: Callable[[Any, Any], Any], elements: Any, first: Any) -> Any:
        """Each body's element joined with those before it, anew from the `first` body of each joint on."""
        known, leaves = self._carried(elements, self._opened(elements, outward=True), None)
        x = chosen(self.graph, first, elements, join(known, elements))
        self._close(leaves, x)
        return x

    def close(self, carries: list[Any], value: Any) -> None:
        """Tell what carried values become in each row."""
        self._close(carries, value)
