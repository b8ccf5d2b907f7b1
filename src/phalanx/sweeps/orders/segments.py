# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A chain cut into segments: their links side by side, and the segments one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import PhalanxError
from ...spatial import Array, Field
from ..verbs import Order, Segments
from .sequential import Sequential
from .slots import Bodies, Slots, places, take

_MOST = 8  # segments at once, unless told otherwise: as many as numbers in the widest register
_LEAST = 16  # bodies in each of them: shorter ones cost more than they save, and digits
_LONGEST = 1500  # beyond, what a tip does at its base is a subnormal number, and these are slow


def starts(ends: Bodies, count: int | None) -> Bodies:
    """The first body of each of `count` segments (at most one for each link), given the last of each link.

    Lengths differ by one, or by the bodies of a joint: where a joint slides as well as turns, segments that
    end between its massless bodies lose a digit or two.
    """
    n = int(ends[-1]) + 1 if len(ends) else 0
    if count is None:
        count = min(_MOST * max(1, -(-n // (_MOST * _LONGEST))), n // _LEAST)
    count = max(1, min(count, len(ends)))
    heads = np.append(0, ends[:-1] + 1)
    even = np.arange(count) * n // count
    return np.unique(heads[np.searchsorted(heads, even, side="right") - 1])


def cut(order: Sequential, count: int | None, ends: Bodies) -> Segments:
    """The segments of a chain that is swept in an order on arrays."""
    if not order.is_chain:
        raise PhalanxError("segments: only an unbranched chain is cut into segments; a tree has branches.")
    return ArraySegments(order, starts(ends, count))


class ArraySegments(Segments):
    """Segments of fields that are arrays over all links."""

    def __init__(self, order: Sequential, heads: Bodies) -> None:
        n = order.n
        self.heads, self.ends = heads, np.append(heads[1:], n) - 1
        self.of = np.searchsorted(heads, np.arange(n), side="right") - 1
        parents = np.arange(-1, n - 1)
        parents[heads] = -1
        self.links = WithinSegments(order.among(parents, np.arange(n)), heads, self.ends)
        self.chain = order.among(np.arange(-1, len(heads) - 1), self.ends)

    def first(self, x: Any) -> Any:
        return take(x, self.heads)

    def last(self, x: Any) -> Any:
        return take(x, self.ends)

    def spread(self, x: Any) -> Any:
        return take(x, self.of)


class WithinSegments(Order):
    """The sweeps that have a meaning inside segments, on links whose first ones hang on the world."""

    def __init__(self, forest: Sequential, heads: Bodies, ends: Bodies) -> None:
        self.forest, self.heads, self.ends = forest, heads, ends

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        if root is not None and places(root) > 1:
            start = Slots(self.forest.n, None, start=c)
            start.add(self.heads, X[self.heads] @ root)
            c, root = start.all(), None
        elif root is not None:
            root = root[0] if isinstance(root, Field) else root[..., 0, :]
        return self.forest.propagate(X, c, root, through, plus)

    def accumulate(self, X: Any, c: Any) -> Any:
        return self.forest.accumulate(X, c)

    def fold(self, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]) -> Any:
        return self.forest.fold(step, state, local)

    def fold_from(
        self, tips: Any, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]
    ) -> Any:
        started = []
        for own, tip in zip(state, tips, strict=True):
            slots = Slots(self.forest.n, None, start=own)
            slots.add(self.ends, tip)
            started.append(slots.all())
        return self.forest.fold(step, tuple(started), local)

    def parent(self, x: Array, root: Any) -> Array:
        values = Slots(self.forest.n, None, start=self.forest.parent(x, None))
        if root is not None:
            values.set(self.heads, root)
        return values.all()

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise PhalanxError("segments: inside, there are the sweeps propagate, accumulate, fold and parent.")

    pairs = scan = paths = relay = children = pick = total = eliminate = substitute = _refuse
