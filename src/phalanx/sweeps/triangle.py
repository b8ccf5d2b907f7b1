# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pairs of links of a chain as one axis: the lower triangle of a matrix, column by column.

Element (row, column), row >= column, is what a unit motion of joint `column` does to link `row`.
Schedules within the columns are levels of (target, source), as `verbs.relay` takes them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from ..spatial import Array, Field, namespace
from .verbs import current

Level = list[tuple[int, int]]


class JoinLevels(list[Level]):
    """Levels that, for associative joins, equal a sequential scan (`inward`: from the last).

    An order that gains nothing from levels may scan. Elements are links, or `pairs` of them in one column
    after another (`across`: in one row after another).
    """

    def __init__(
        self, levels: Iterable[Level], *, inward: bool, pairs: bool = False, across: bool = False
    ) -> None:
        super().__init__(levels)
        self.inward, self.pairs, self.across = inward, pairs, across


class Sums(list[Level]):
    """Levels of which each adds a term to the state, one after another or, `by_halves`, in a tree."""

    def __init__(self, levels: Iterable[Level], *, by_halves: bool = False) -> None:
        super().__init__(levels)
        self.by_halves = by_halves


class Indexing(ABC):
    """Symbolic indices, used like an array of integers: `gather` reads a field at them."""

    @abstractmethod
    def read(self, x: Any, end: Any = None) -> Any:
        """The values of a field at these indices; `end`, or zero, where there is none."""


class Triangle:
    """The n (n + 1) / 2 pairs of a chain of n links."""

    row: Any  # of each pair
    column: Any
    index: Any  # of the pair (row, column), in either order

    def __init__(self, n: int) -> None:
        self.n = n
        self._memo: dict[Any, Any] = {}
        pairs = [(row, column) for column in range(n) for row in range(column, n)]
        self.row, self.column = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        lower = np.zeros((n, n), dtype=np.intp)
        lower[self.row, self.column] = np.arange(len(pairs))
        self.index = np.maximum(lower, lower.T)

    def memoized(self, make: Callable[..., Any], *options: Any) -> Any:
        """What `make(pairs, *options)` returns for these pairs, computed once."""
        key = (make, *options)
        if key not in self._memo:
            self._memo[key] = make(self, *options)
        return self._memo[key]

    def of_rows(self, x: Any) -> Any:
        """Values per link at the row of each pair."""
        return gather(x, self.row)

    def of_columns(self, x: Any) -> Any:
        """Values per joint at the column of each pair."""
        return gather(x, self.column)

    def matrix(self, values: Array) -> Array:
        """The symmetric matrix (…, n, n) of values (…, pairs)."""
        return values[..., self.index]

    def neighbour(self, stride: int) -> Any:
        """The pair `stride` rows after each pair in its column, -1 where there is none."""
        row = self.row + stride
        inside = (row < self.n) & (row >= self.column)
        return np.where(inside, self.index[np.where(inside, row, self.column), self.column], -1)

    def outward(self, strides: list[int] | None = None) -> JoinLevels:
        """Levels that compute row k from row k - 1; with strides, all rows at once from row k - stride."""
        return self._levels(strides, inward=False)

    def inward(self, strides: list[int] | None = None) -> JoinLevels:
        """Levels that compute row k from row k + 1; with strides, all rows at once from row k + stride."""
        return self._levels(strides, inward=True)

    def _levels(self, strides: list[int] | None, *, inward: bool) -> JoinLevels:
        side, rows = -1 if inward else 1, range(self.n)
        if strides is None:
            levels = (self._level([row], side) for row in (rows[-2::-1] if inward else rows[1:]))
        else:
            levels = (self._level(rows, side * stride) for stride in strides)
        return JoinLevels(levels, inward=inward, pairs=True)

    def across(self, levels: Callable[[], list[Level]]) -> JoinLevels:
        """Levels given by a paper, in which each column is computed from a later one of the same row."""
        return JoinLevels(levels(), inward=True, pairs=True, across=True)

    def beyond(self, *, by_halves: bool = False) -> Sums:
        """For each link, a level of all pairs up to its row: sums over the links from each row on."""
        levels = ([(a, a) for a in range(len(self.row)) if self.row[a] <= k] for k in range(self.n))
        return Sums(levels, by_halves=by_halves)

    def link(self, k: Any) -> Any:
        """The index of a link, as a list."""
        return [k]

    @property
    def later(self) -> Any:
        """All links but the first."""
        return np.arange(1, self.n)

    def along(self, x: Any, *, before: int = 0) -> Callable[[int, Any], tuple[Any]]:
        """A function that gathers values per link at the rows of target pairs, or `before` rows earlier."""
        return lambda _, targets: (gather(x, self.row[targets] - before),)

    def _level(self, rows: Any, stride: int) -> Level:
        """Rows with those `stride` before them, in all columns that have both."""
        return [
            (int(self.index[row, column]), int(self.index[row - stride, column]))
            for row in rows
            if row - stride < self.n
            for column in range(row + 1)
            if row - stride >= column
        ]


def triangle(n: int) -> Triangle:
    """The pairs of a chain of n links, as the order of the sweeps sees them."""
    order = current()
    own: Triangle | None = None if order is None else order.triangle()
    return _triangle(n) if own is None else own


_triangle = cache(Triangle)


def prefers_trees() -> bool:
    """Whether the order of the sweeps prefers sums and products over links as trees."""
    order = current()
    return order is not None and order.by_halves


def strides(count: int) -> list[int]:
    """1, 2, 4, … below `count`: after these steps each element has combined with all others on one side."""
    return [1 << k for k in range((count - 1).bit_length())]


def along_chain(count: int, strides: list[int] | None = None) -> JoinLevels:
    """Levels that compute each element from the one before; with strides, all from that a stride before."""
    if strides is None:
        return JoinLevels(([(i, i - 1)] for i in range(1, count)), inward=False)
    return JoinLevels(([(i, i - h) for i in range(h, count)] for h in strides), inward=False)


def back_along_chain(count: int, strides: list[int] | None = None) -> JoinLevels:
    """Levels that compute each element from the one after; with strides, all from that a stride after."""
    if strides is None:
        return JoinLevels(([(i, i + 1)] for i in range(count - 2, -1, -1)), inward=True)
    return JoinLevels(([(i, i + h) for i in range(count - h)] for h in strides), inward=True)


def gather(x: Any, indices: Any) -> Any:
    """The values of a field at some indices."""
    if isinstance(indices, Indexing):
        return indices.read(x)
    return x[indices] if isinstance(x, Field) else x[..., indices, :]


def shifted(x: Any, sources: np.ndarray, *, end: Any = None) -> Any:
    """The value that each element reads from its source; where that is -1, `end`, or zero vectors."""
    if isinstance(sources, Indexing):
        return sources.read(x, end)
    if isinstance(x, Field):
        return x.zip(end, lambda a, b, rank: _read(a, sources, b, rank))
    return _read(x, sources, namespace(x).zeros_like(x[..., 0, :]), 1)


def _read(array: Array, sources: np.ndarray, end: Array, rank: int) -> Array:
    axis = array.ndim - rank - 1
    xp = namespace(array)
    last = xp.broadcast_to(end, array.shape[:axis] + array.shape[axis + 1 :])
    whole = xp.concatenate([array, xp.expand_dims(last, axis)], axis=axis)
    return whole[(..., sources, *(slice(None),) * rank)]
