# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Where one body, or one pair of bodies, that stands for all finds values: itself, neighbours, rows, columns.

Texts index fields by arrays of links; here an index is an object that knows how to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ....spatial import Array, Field
from ....sweeps.triangle import Indexing, JoinLevels, Sums, Triangle
from ....sweeps.verbs import current
from ...scalar import Node
from .. import leaves as L
from ..graph import LOCAL, BodyGraph


def scalars(f: Any) -> Iterator[Any]:
    """All scalars of a field, of an operator or of an array, or of several."""
    if isinstance(f, tuple):
        for part in f:
            yield from scalars(part)
    elif isinstance(f, Field):
        for array, _ in f.arrays():
            yield from np.asarray(array, dtype=object).ravel().tolist()
    elif isinstance(f, float) or type(f) is Node:
        yield f
    elif hasattr(f, "ravel"):
        yield from np.asarray(f, dtype=object).ravel().tolist()


def rebuilt(like: Any, values: Iterable[Any]) -> Any:
    """A field shaped as `like`, or several, of other scalars."""
    rest = iter(values)

    def made(array: Any, _: int = 0) -> np.ndarray:
        fresh = np.empty(array.size, dtype=object)
        fresh[:] = [next(rest) for _ in range(array.size)]
        shaped: np.ndarray = fresh.reshape(array.shape)
        return shaped.view(Mask) if isinstance(array, Mask) else shaped

    if isinstance(like, tuple):
        return tuple(rebuilt(part, rest) for part in like)
    return (
        like.map(made)
        if isinstance(like, Field)
        else made(like if isinstance(like, np.ndarray) else np.asarray(like))
    )


def each(f: Any, change: Callable[[Any], Any]) -> Any:
    """A field with every scalar changed."""
    return rebuilt(f, [change(x) for x in scalars(f)])


def chosen(graph: BodyGraph, mask: Any, a: Any, b: Any) -> Any:
    """A field with the scalars of a where the mask is not zero, else with those of b."""
    both = zip(scalars(a), scalars(b), strict=True)
    return rebuilt(a, [graph.choose(mask, x, y) for x, y in both])


def elsewhere(graph: BodyGraph, x: Any, whose: L.Whose) -> Any:
    """A scalar as another body has it."""
    if type(x) is not Node or graph.common(x):
        return x
    return graph.leaf(L.Param(x.leaf.column, whose) if graph.is_param(x) else L.Gathered(x.number, whose))


class Mask(np.ndarray):
    """What is true of some bodies, as ones and zeros; `np.where` chooses by it."""

    @classmethod
    def of(cls, graph: BodyGraph, true: np.ndarray) -> Mask:
        """The mask (1,) of a column (n,)."""
        return graph.params(np.asarray(true, dtype=float)).view(cls)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, Indexing):
            return index.read(self[..., None])[..., 0]
        return super().__getitem__(index)

    def all(self, *_: Any, **__: Any) -> Any:
        return all(x == 1.0 for x in self.ravel().tolist())

    def any(self, *_: Any, **__: Any) -> Any:
        return any(x != 0.0 for x in self.ravel().tolist())

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is not np.where or kwargs:
            return super().__array_function__(function, types, args, kwargs)
        mask, a, b = np.broadcast_arrays(*(np.asarray(x, dtype=object) for x in args))
        return rebuilt(mask, [_choice(*x) for x in zip(*map(scalars, (mask, a, b)), strict=True)])


def _choice(mask: Any, a: Any, b: Any) -> Any:
    """a where the mask is not zero, else b."""
    if type(mask) is Node and isinstance(mask.graph, BodyGraph):
        return mask.graph.choose(mask, a, b)
    return a if mask else b


# ------------------------------------------------------------------- places


class FieldIndex(Indexing):
    """A place that has a way of its own to read a field; also its own part of a list of such places."""

    def __init__(self, find: Callable[[Any, Any], Any]) -> None:
        self.find = find

    def read(self, x: Any, end: Any = None) -> Any:
        return self.find(x, end)

    def __getitem__(self, at: Any) -> FieldIndex:
        return self

    def __add__(self, step: int) -> FieldIndex:
        return self if step == 0 else FieldIndex(lambda x, end: self.read(_neighbour(x, end, step)))

    def __sub__(self, step: int) -> FieldIndex:
        return self + -step


def _neighbour(x: Any, end: Any, step: int) -> Any:
    """The value of the parent (-1) or of the child (+1) in a chain."""
    order = current()
    assert order is not None
    return order.children(x, end) if step > 0 else order.parent(x, end)


HERE = FieldIndex(lambda x, end: x)
THIRD = object()  # the number of a link beyond the row of a pair, in a sum over all of them


class Side(FieldIndex):
    """The link of a pair's row, or of its column; the pairs of the first column are the chain itself."""

    def __init__(self, graph: BodyGraph, side: str) -> None:
        super().__init__(lambda x, end: each(x, lambda value: graph.of_pair(value, side)))

    def __getitem__(self, at: Any) -> FieldIndex:
        return HERE if isinstance(at, slice) else self


class ChainPairs(Triangle):
    """The pairs of a chain, of which one stands for all."""

    def __init__(self, order: Any) -> None:
        self.order, self.graph, self.n = order, order.graph, order.graph.n
        self._known = {}
        self.row, self.column = (Side(self.graph, side) for side in (L.ROW, L.COLUMN))
        self.place = self

    def __getitem__(self, at: tuple[Any, Any]) -> FieldIndex:
        """The place of the pair of two links."""
        row, column = at
        if column is THIRD:
            side = L.ROW if row is self.row else L.COLUMN
            return FieldIndex(lambda x, end: each(x, lambda value: self._of_third(value, side)))
        if row is self.column and column is self.column:
            return FieldIndex(lambda x, end: each(x, self._on_diagonal))
        assert (row, column) == (self.row, self.column)
        return HERE

    def _of_third(self, x: Any, side: str) -> Any:
        """The value of the pair of a third link and the one of this pair's row or column."""
        paired = self.graph.paired(x)
        return self.graph.placed(L.PairThird(side, x.number), phase=LOCAL, paired=True) if paired else x

    def _on_diagonal(self, x: Any) -> Any:
        """The value of the first pair of the same column."""
        graph = self.graph
        if not graph.paired(x):
            return x
        if isinstance(x.leaf, L.Gathered | L.Param) and x.leaf.whose == L.ROW:
            return graph.placed(replace(x.leaf, whose=L.COLUMN), phase=LOCAL, paired=True)
        phase = max(graph.phase(x), 0) + 1
        return graph.placed(L.Gathered(x.number, L.DIAGONAL), phase=phase, paired=True)

    def link(self, k: Any) -> FieldIndex:
        return Side(self.graph, L.THIRD)

    @property
    def later(self) -> FieldIndex:
        return HERE + 1

    def neighbour(self, stride: int) -> FieldIndex:
        return HERE + stride

    def beyond(self, *, by_halves: bool = False) -> Sums:
        return Sums(())

    def matrix(self, values: Array) -> Array:
        return self.order.matrix_of(values.ravel()[0])

    def across(self, levels: Any) -> JoinLevels:
        self.order.shape = "rows"
        return JoinLevels((), inward=True, pairs=True, across=True)

    def _walk(self, strides: Any, *, inward: bool) -> JoinLevels:
        return JoinLevels((), inward=inward, pairs=True)
