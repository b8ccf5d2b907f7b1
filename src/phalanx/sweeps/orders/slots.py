# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Fields under construction: the values that a sweep has computed so far, by body."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...spatial import Array, Field, at, namespace
from ..verbs import bodies_of

Bodies = np.ndarray


def take(field: Any, bodies: Bodies | slice) -> Any:
    if isinstance(field, Field):
        return field[bodies]
    return field[..., bodies, :]


def size(field: Any) -> int:
    """The number of bodies, links or pairs in a field."""
    array, rank = next(bodies_of(field))
    return int(array.shape[array.ndim - rank - 1])


def zeros(like: Array, shape: tuple[int, ...]) -> Array:
    if like.dtype != object:
        return namespace(like).zeros(shape, dtype=like.dtype)
    zeros = np.empty(shape, dtype=object)
    zeros.fill(0.0)
    return zeros


class Slots:
    """A field under construction, with one more slot for the world (index -1)."""

    def __init__(self, n: int, root: Any, *, start: Any = None) -> None:
        self.n = n
        self.root = root
        self.kind: Any = None
        self.arrays: list[Array] | None = None
        self.ranks: list[int] = []
        if start is not None:
            self._open(start, start=True)

    def _open(self, example: Any, *, start: bool = False) -> None:
        self.kind = type(example) if isinstance(example, Field) else None
        pieces = list(bodies_of(example))
        self.ranks = [rank for _, rank in pieces]
        self.arrays = []
        for array, rank in pieces:
            batch = array.shape[: array.ndim - rank - 1]
            fresh = zeros(array, (*batch, self.n + 1, *array.shape[array.ndim - rank :]))
            if start:
                at_all = (..., slice(0, self.n), *(slice(None),) * rank)
                fresh[at_all] = array
            self.arrays.append(fresh)
        if self.root is not None:
            self._store(np.array([self.n]), lift(self.root))

    def _wrap(self, arrays: list[Array]) -> Any:
        return arrays[0] if self.kind is None else self.kind(*arrays)

    def get(self, bodies: Bodies) -> Any:
        if self.arrays is None:
            # Nothing stored yet: only the world has a value.
            root = lift(self.root)
            return root[np.zeros(len(bodies), dtype=np.intp)] if isinstance(root, Field) else root
        return self._wrap([at(a, bodies, r) for a, r in zip(self.arrays, self.ranks, strict=True)])

    def set(self, bodies: Bodies, value: Any) -> None:
        if self.arrays is None:
            self._open(value)
        self._store(bodies, value)

    def _store(self, bodies: Bodies, value: Any) -> None:
        assert self.arrays is not None
        for k, (new, rank) in enumerate(bodies_of(value)):
            self._widen(k, new, rank)
            self.arrays[k][(..., bodies, *(slice(None),) * rank)] = new

    def add(self, bodies: Bodies, value: Any) -> None:
        """Add values to distinct bodies; those for the world are dropped."""
        assert self.arrays is not None
        inside = bodies >= 0
        if not inside.any():
            return
        bodies = bodies[inside]
        for k, (new, rank) in enumerate(bodies_of(value)):
            self._widen(k, new, rank)
            if len(bodies) < len(inside):
                new = at(new, inside, rank)
            index = (..., bodies, *(slice(None),) * rank)
            self.arrays[k][index] = self.arrays[k][index] + new

    def scatter(self, bodies: Bodies, value: Any) -> None:
        """Scatter-add values to bodies, some of which may repeat, in order."""
        if len(np.unique(bodies)) == len(bodies):
            self.add(bodies, value)
            return
        assert self.arrays is not None
        for k, (new, rank) in enumerate(bodies_of(value)):
            self._widen(k, new, rank)
            index: Any = (..., bodies, *(slice(None),) * rank)
            np.add.at(self.arrays[k], index, new)

    def _widen(self, k: int, new: Array, rank: int) -> None:
        """Broadcast an array to the batch axes of a new value."""
        assert self.arrays is not None
        own = self.arrays[k]
        batch = new.shape[: new.ndim - rank - 1]
        have = own.shape[: own.ndim - rank - 1]
        if batch == have:
            return
        wide = np.broadcast_shapes(batch, have)
        if wide != have:
            self.arrays[k] = np.broadcast_to(own, (*wide, *own.shape[own.ndim - rank - 1 :])).copy()

    def all(self) -> Any:
        assert self.arrays is not None
        bodies = slice(0, self.n)
        return self._wrap([at(a, bodies, r) for a, r in zip(self.arrays, self.ranks, strict=True)])


def lift(root: Any) -> Any:
    """The root's value with a body axis of length one."""
    if isinstance(root, Field):
        return root.map(lambda array, rank: array[(..., None, *(slice(None),) * rank)])
    return root[..., None, :]
