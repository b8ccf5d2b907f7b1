# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Where one body, or one pair of bodies, that stands for all finds values: itself, neighbours, rows, columns.

Texts index fields by arrays of links; here an index is an object that knows how to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ....spatial import Array, Field
from ....sweeps.triangle import Places, Walk
from ....sweeps.verbs import bodies_of, current
from ...scalar import Node
from .. import leaves as L
from ..graph import LOCAL, BodyGraph


def scalars(f: Any) -> Iterator[Any]:
    """All scalars of a field, of an operator or of an array."""
    if isinstance(f, Field):
        for array, _ in bodies_of(f):
            yield from np.asarray(array, dtype=object).ravel().tolist()
    elif isinstance(f, Mask):
        yield from f.values.ravel().tolist()
    elif isinstance(f, float) or type(f) is Node:
        yield f
    elif hasattr(f, "ravel"):
        yield from np.asarray(f, dtype=object).ravel().tolist()


def rebuilt(like: Any, values: list[Any]) -> Any:
    """A field shaped as `like` of other scalars."""
    rest = iter(values)

    def made(array: Any, _: int = 0) -> np.ndarray:
        fresh = np.empty(array.size, dtype=object)
        fresh[:] = [next(rest) for _ in range(array.size)]
        return fresh.reshape(array.shape)

    if isinstance(like, Mask):
        return Mask(like.graph, made(like.values))
    return like.map(made) if isinstance(like, Field) else made(np.asarray(like, dtype=object))


def chosen(graph: BodyGraph, mask: Any, a: Any, b: Any) -> Any:
    """A field with the scalars of a where the mask is not zero, else with those of b."""
    both = zip(scalars(a), scalars(b), strict=True)
    return rebuilt(a, [graph.choose(mask, x, y) for x, y in both])


class Mask:
    """What is true of some bodies, as ones and zeros; `np.where` chooses by it."""

    def __init__(self, graph: BodyGraph, values: np.ndarray) -> None:
        self.graph = graph
        self.values = values

    @classmethod
    def of(cls, graph: BodyGraph, true: np.ndarray) -> Mask:
        """The mask (1,) of a column (n,)."""
        return cls(graph, graph.params(np.asarray(true, dtype=float)))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __getitem__(self, index: Any) -> Mask:
        if isinstance(index, Places):
            return Mask(self.graph, index.read(self.values[..., None])[..., 0])
        return Mask(self.graph, self.values[index])

    def all(self) -> bool:
        return all(x == 1.0 for x in self.values.ravel().tolist())

    def any(self) -> bool:
        return any(x != 0.0 for x in self.values.ravel().tolist())

    def __array_namespace__(self, **_: Any) -> Any:
        return np

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is not np.where or kwargs:
            return NotImplemented
        mask, a, b = np.broadcast_arrays(self.values, *(np.asarray(x, dtype=object) for x in args[1:]))
        made = np.empty(mask.shape, dtype=object)
        for at in np.ndindex(mask.shape):
            made[at] = self.graph.choose(mask[at], a[at], b[at])
        return made


# ------------------------------------------------------------------- places


class Place(Places):
    """A place whose scalars are found one by one."""

    def __init__(self, find: Callable[[Any], Any]) -> None:
        self.find = find

    def read(self, x: Any, end: Any = None) -> Any:
        return rebuilt(x, [self.find(value) for value in scalars(x)])

    def __getitem__(self, at: Any) -> Any:
        return HERE if isinstance(at, slice) else self


class Neighbour(Places):
    """The place of the parent (-1) or of the child (+1) in a chain."""

    def __init__(self, order: Any, step: int) -> None:
        self.order, self.step = order, step

    def read(self, x: Any, end: Any = None) -> Any:
        return self.order.children(x, end) if self.step > 0 else self.order.parent(x, end)

    def __getitem__(self, at: Any) -> Neighbour:
        return self


class Here(Places):
    """The place itself."""

    def read(self, x: Any, end: Any = None) -> Any:
        return x

    def __add__(self, step: int) -> Any:
        return Neighbour(current(), step)

    def __sub__(self, step: int) -> Any:
        return self if step == 0 else Neighbour(current(), -step)


HERE = Here()


class PairWalk(Walk):
    """A walk over the pairs of one column (or, `across`, of one row) after another."""

    def __init__(self, *, inward: bool, across: bool = False) -> None:
        super().__init__((), inward=inward)
        self.across = across


class Sums(list[Any]):
    """Sums for each pair over the links from its row on; the place of such a link is `THIRD`."""


THIRD = object()


class Pairs:
    """The pairs of a chain, of which one stands for all: `triangle.Triangle` of a loop."""

    def __init__(self, order: Any) -> None:
        graph: BodyGraph = order.graph
        self.order, self.n = order, graph.n
        self.row = Place(lambda x: graph.of_pair(x, L.ROW))
        self.column = Place(lambda x: graph.of_pair(x, L.COLUMN))
        self.later = Neighbour(order, 1)

    @property
    def place(self) -> Pairs:
        return self

    def __getitem__(self, at: tuple[Any, Any]) -> Any:
        row, column = at
        if column is THIRD:
            return Place(lambda x: self._of_third(x, L.ROW if row is self.row else L.COLUMN))
        if row is self.column and column is self.column:
            return Place(self._on_diagonal)
        assert (row, column) == (self.row, self.column)
        return HERE

    def _of_third(self, x: Any, side: str) -> Any:
        """The value of the pair of a third link and the one of this pair's row or column."""
        graph: BodyGraph = self.order.graph
        return graph.placed(L.PairThird(side, x.number), phase=LOCAL, paired=True) if graph.paired(x) else x

    def link(self, k: Any) -> Place:
        return Place(lambda x: self.order.graph.of_pair(x, L.THIRD))

    def beyond(self, *, by_halves: bool = False) -> Sums:
        return Sums()

    def _on_diagonal(self, x: Any) -> Any:
        """The value of the first pair of the same column."""
        graph: BodyGraph = self.order.graph
        if not graph.paired(x):
            return x
        if isinstance(x.leaf, L.Elsewhere | L.Param) and x.leaf.whose == L.ROW:
            return graph.placed(replace(x.leaf, whose=L.COLUMN), phase=LOCAL, paired=True)
        phase = max(graph.phase(x), 0) + 1
        return graph.placed(L.Elsewhere(x.number, L.DIAGONAL), phase=phase, paired=True)

    def worked_out(self, make: Callable[..., Any], *options: Any) -> Any:
        return make(self, *options)

    def of_rows(self, x: Any) -> Any:
        return self.row.read(x)

    def of_columns(self, x: Any) -> Any:
        return self.column.read(x)

    def matrix(self, values: Array) -> Array:
        return self.order.matrix_of(values.ravel()[0])

    def neighbour(self, stride: int) -> Neighbour:
        return Neighbour(self.order, stride)

    def outward(self, strides: Any = None) -> PairWalk:
        return PairWalk(inward=False)

    def inward(self, strides: Any = None) -> PairWalk:
        return PairWalk(inward=True)

    def across(self, levels: Any) -> PairWalk:
        self.order.shape = "rows"
        return PairWalk(inward=True, across=True)

    def along(self, x: Any, *, before: int = 0) -> Callable[[int, Any], tuple[Any]]:
        moved = Neighbour(self.order, -1).read(x) if before else x
        return lambda _, targets: (self.row.read(moved),)
