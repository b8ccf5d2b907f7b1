# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One level of the tree after another; all bodies of a level and all states at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..spatial import Array, Field, at
from ..sweeps import Order, bodies_of

Bodies = np.ndarray


class Sequential(Order):
    """The order of the textbooks: from the root outward or from the tips inward."""

    def __init__(self, parents: np.ndarray, pattern: np.ndarray | None = None) -> None:
        self.parents = parents
        self.n = len(parents)
        self.pattern = parents if pattern is None else pattern

    @cached_property
    def outward(self) -> list[Bodies]:
        """The bodies of each level, root first."""
        depth = np.zeros(self.n, dtype=np.intp)
        for i, p in enumerate(self.parents.tolist()):
            depth[i] = 0 if p < 0 else depth[p] + 1
        order = np.argsort(depth, kind="stable")
        return np.split(order, np.cumsum(np.bincount(depth))[:-1]) if self.n else []

    @cached_property
    def inward(self) -> list[list[Bodies]]:
        """The bodies of each level, tips first, split so that no two of a part share a parent.

        The split fixes the order of every sum over children: later siblings first.
        """
        levels = []
        for bodies in reversed(self.outward):
            parts: list[list[int]] = []
            seen: dict[int, int] = {}
            for i in reversed(bodies.tolist()):
                p = int(self.parents[i])
                rank = seen.get(p, 0)
                seen[p] = rank + 1
                if rank == len(parts):
                    parts.append([])
                parts[rank].append(i)
            levels.append([np.array(part[::-1], dtype=np.intp) for part in parts])
        return levels

    def visit(self, bodies: Bodies) -> None:
        """Called before the bodies of a level are computed."""

    def leave(self) -> None:
        """Called when a sweep has ended."""

    # ------------------------------------------------------------------ the sweeps

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        if not self.n:
            return _take(_lift(root), slice(0)) if c is None else c
        values = _Slots(self.n, root)
        for bodies in self.outward:
            self.visit(bodies)
            if root is None and bodies is self.outward[0]:
                x = _take(c, bodies)
            else:
                x = X[bodies] @ values.get(self.parents[bodies])
                x = x if c is None else x + _take(c, bodies)
            if through is not None:
                x = through[bodies] @ x
            if plus is not None:
                x = x + _take(plus, bodies)
            values.set(bodies, x)
        self.leave()
        return values.all()

    def accumulate(self, X: Any, c: Any) -> Any:
        values = _Slots(self.n, None, start=c)
        for level in self.inward:
            for bodies in level:
                self.visit(bodies)
                values.add(self.parents[bodies], X[bodies].T @ values.get(bodies))
        self.leave()
        return values.all()

    def fold(self, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]) -> Any:
        values = [_Slots(self.n, None, start=s) for s in state]
        kept: list[_Slots] = []
        for level in self.inward:
            for bodies in level:
                self.visit(bodies)
                up, keep = step(tuple(v.get(bodies) for v in values), *(_take(f, bodies) for f in local))
                for v, x in zip(values, up, strict=True):
                    v.add(self.parents[bodies], x)
                kept = kept or [_Slots(self.n, None) for _ in keep]
                for slots, k in zip(kept, keep, strict=True):
                    slots.set(bodies, k)
        self.leave()
        return tuple(slots.all() for slots in kept)

    def pairs(
        self, start: Array, carry: Callable[..., Array], emit: Callable[..., Array], along: tuple[Any, ...]
    ) -> Array:
        matrix: Any = None
        for rows in self.rows:
            here, x = rows, _take(start, rows)
            while len(rows):
                self.visit(here)
                entry = emit(x, *(_take(f, here) for f in along))
                if matrix is None:
                    matrix = _zeros(entry, (*entry.shape[:-1], self.n, self.n))
                matrix[..., rows, here] = entry
                matrix[..., here, rows] = entry
                inside = self.parents[here] >= 0
                rows, here, x = rows[inside], here[inside], x[..., inside, :]
                if len(rows):
                    x = carry(x, *(_take(f, here) for f in along))
                    here = self.parents[here]
        self.leave()
        return matrix

    @cached_property
    def rows(self) -> list[Bodies]:
        """The bodies whose walks along their ancestors go side by side."""
        return [np.arange(self.n)]

    def parent(self, x: Array, root: Any) -> Array:
        values = _Slots(self.n, root, start=x)
        return values.get(self.parents)

    def pick(self, x: Any, body: int) -> Any:
        return x[body] if isinstance(x, Field) else x[..., body, :]

    def total(self, values: Array) -> Array:
        if not values.shape[-1]:
            return values.sum(axis=-1)
        total = values[..., 0]
        for k in range(1, values.shape[-1]):
            total = total + values[..., k]
        return total

    def eliminate(self, M: Array) -> Array:
        factor = M.copy()
        for k in range(len(self.pattern) - 1, -1, -1):
            self.visit(np.array([k]))
            above = self._ancestors[k]
            factor[..., k, k] = 1.0 / factor[..., k, k]
            if len(above):
                row = factor[..., k, above]
                scaled = row * factor[..., k, k][..., None]
                far, near = np.tril_indices(len(above))  # ancestors stand nearest first
                i, j = above[near], above[far]
                factor[..., i, j] = factor[..., i, j] - scaled[..., near] * row[..., far]
                factor[..., k, above] = scaled
        self.leave()
        return factor

    def substitute(self, factor: Array, b: Array) -> Array:
        shape = np.broadcast_shapes(factor.shape[:-1], b.shape)
        x = np.broadcast_to(b, shape).copy()
        for k in range(len(self.pattern) - 1, -1, -1):
            self.visit(np.array([k]))
            above = self._ancestors[k]
            x[..., above] = x[..., above] - factor[..., k, above] * x[..., k, None]
        for k in range(len(self.pattern)):
            self.visit(np.array([k]))
            total = factor[..., k, k] * x[..., k]
            for j in self._ancestors[k].tolist():
                total = total - factor[..., k, j] * x[..., j]
            x[..., k] = total
        self.leave()
        return x

    @cached_property
    def _ancestors(self) -> list[np.ndarray]:
        """The ancestors of each degree of freedom, nearest first."""
        result: list[np.ndarray] = []
        for p in self.pattern.tolist():
            result.append(np.empty(0, np.intp) if p < 0 else np.concatenate([[p], result[p]]).astype(np.intp))
        return result


def _take(field: Any, bodies: Bodies | slice) -> Any:
    if isinstance(field, Field):
        return field[bodies]
    return field[..., bodies, :]


def _zeros(like: Array, shape: tuple[int, ...]) -> Array:
    if like.dtype != object:
        return np.zeros(shape, dtype=like.dtype)
    zeros = np.empty(shape, dtype=object)
    zeros.fill(0.0)
    return zeros


class _Slots:
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
            fresh = _zeros(array, (*batch, self.n + 1, *array.shape[array.ndim - rank :]))
            if start:
                at_all = (..., slice(0, self.n), *(slice(None),) * rank)
                fresh[at_all] = array
            self.arrays.append(fresh)
        if self.root is not None:
            self._store(np.array([self.n]), _lift(self.root))

    def _wrap(self, arrays: list[Array]) -> Any:
        return arrays[0] if self.kind is None else self.kind(*arrays)

    def get(self, bodies: Bodies) -> Any:
        if self.arrays is None:
            # Nothing stored yet: only the world has a value.
            root = _lift(self.root)
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
        """Add to distinct bodies; what reaches the world is dropped."""
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

    def _widen(self, k: int, new: Array, rank: int) -> None:
        """Give constants a batch when a batched value meets them."""
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


def _lift(root: Any) -> Any:
    """The root's value with a body axis of length one."""
    if isinstance(root, Field):
        return root.map(lambda array, rank: array[(..., None, *(slice(None),) * rank)])
    return root[..., None, :]
