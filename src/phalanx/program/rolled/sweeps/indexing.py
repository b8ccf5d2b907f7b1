# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Indexing of fields on a symbolic body or pair of bodies: the body itself, neighbours, rows, columns.

Algorithms index fields by arrays of links; here an index is an object that reads a field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ....spatial import Array, Field
from ....sweeps.triangle import Indexing, JoinLevels, Sums, Triangle
from ....sweeps.verbs import current
from ...ir import Scalar
from .. import leaves as L
from ..body_graph import LOCAL, BodyGraph


def scalars(f: Any) -> Iterator[Any]:
    """Yield all scalars of a field, of an operator, of an array, or of a tuple of these."""
    if isinstance(f, tuple):
        for part in f:
            yield from scalars(part)
    elif isinstance(f, Field):
        for array, _ in f.arrays():
            yield from np.asarray(array, dtype=object).ravel().tolist()
    elif isinstance(f, float | Scalar):
        yield f
    elif hasattr(f, "ravel"):
        yield from np.asarray(f, dtype=object).ravel().tolist()


def rebuilt(like: Any, values: Iterable[Any]) -> Any:
    """Return a field, an array, or a tuple of them, shaped as `like`, with other scalars."""
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
    """Return a field with `change` applied to every scalar."""
    return rebuilt(f, [change(x) for x in scalars(f)])


def chosen(graph: BodyGraph, mask: Any, a: Any, b: Any) -> Any:
    """Return a field with the scalars of a where the mask is not zero, else with those of b."""
    both = zip(scalars(a), scalars(b), strict=True)
    return rebuilt(a, [graph.choose(mask, x, y) for x, y in both])


def elsewhere(graph: BodyGraph, x: Any, whose: L.Whose) -> Any:
    """Gather a scalar from another body; constants and uniforms are returned as they are."""
    if not isinstance(x, Scalar) or graph.common(x):
        return x
    return graph.leaf(L.Param(x.leaf.column, whose) if graph.is_param(x) else L.Gathered(x.number, whose))


class Mask(np.ndarray):
    """A predicate on bodies, as ones and zeros; `np.where` selects by it."""

    @classmethod
    def of(cls, graph: BodyGraph, true: np.ndarray) -> Mask:
        """Return the mask (1,) of a boolean column (n,)."""
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
    """Select a where the mask is not zero, else b."""
    if isinstance(mask, Scalar) and isinstance(mask.graph, BodyGraph):
        return mask.graph.choose(mask, a, b)
    return a if mask else b


# ------------------------------------------------------------------- indices


class FieldIndex(Indexing):
    """An index that reads a field by the function `find`; indexing or slicing it returns itself."""

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
    """Return the value of the parent (-1) or of the child (+1) in a chain; `end`, or zero, beyond it."""
    order = current()
    assert order is not None
    return order.children(x, end) if step > 0 else order.parent(x, end)


HERE = FieldIndex(lambda x, end: x)
THIRD = object()  # the summation index of a sum over the links from the row of a pair on


class Side(FieldIndex):
    """The index of the link of a pair's row, or of its column; a slice of it indexes the chain itself."""

    def __init__(self, graph: BodyGraph, side: str) -> None:
        super().__init__(lambda x, end: each(x, lambda value: graph.of_pair(value, side)))

    def __getitem__(self, at: Any) -> FieldIndex:
        return HERE if isinstance(at, slice) else self


class ChainPairs(Triangle):
    """The symbolic (row, column) pair of links of a chain."""

    def __init__(self, order: Any) -> None:
        self.order, self.graph, self.n = order, order.graph, order.graph.n
        self._memo = {}
        self.row, self.column = (Side(self.graph, side) for side in (L.ROW, L.COLUMN))
        self.index = self

    def __getitem__(self, at: tuple[Any, Any]) -> FieldIndex:
        """Return the index of the pair of two links."""
        row, column = at
        if column is THIRD:
            side = L.ROW if row is self.row else L.COLUMN
            return FieldIndex(lambda x, end: each(x, lambda value: self._of_third(value, side)))
        if row is self.column and column is self.column:
            return FieldIndex(lambda x, end: each(x, self._on_diagonal))
        assert (row, column) == (self.row, self.column)
        return HERE

    def _of_third(self, x: Any, side: str) -> Any:
        """Gather x from the pair of a third link and the one of this pair's row or column."""
        paired = self.graph.paired(x)
        return self.graph.placed(L.PairThird(side, x.number), phase=LOCAL, paired=True) if paired else x

    def _on_diagonal(self, x: Any) -> Any:
        """Gather x from the pair on the diagonal of the same column."""
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

    def _levels(self, strides: Any, *, inward: bool) -> JoinLevels:
        return JoinLevels((), inward=inward, pairs=True)
