# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The sequential order: one level of the tree after another, all bodies of a level and all states at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import PhalanxError
from ...spatial import Array, Field
from ..triangle import Sums
from ..verbs import Order, Segments
from .hops import ContractionStep, Hop, Paths, contraction_steps, hops_of
from .joining import Joining, Level, joining_of, levels, tree
from .slots import Bodies, Slots, lift, size, take, zeros


class Sequential(Order):
    """The order of the textbooks: from the root outward or from the tips inward."""

    def __init__(
        self, parents: np.ndarray, pattern: np.ndarray | None = None, *, joining: str | Joining = "tree"
    ) -> None:
        self.parents = parents
        self.n = len(parents)
        self.pattern = parents if pattern is None else pattern
        self.joining: Joining = tree if joining == "tree" else joining_of(joining)

    @cached_property
    def is_chain(self) -> bool:
        """Whether the parent of each body is the one before."""
        return bool(np.array_equal(self.parents, np.arange(-1, self.n - 1)))

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

    @cached_property
    def chain_joins(self) -> dict[tuple[bool, bool], list[Level]]:
        """The levels of a scan, outward and inward (reverse), without and with an element at the end.

        The slot of that element is the last one, which is also the one before the first.
        """
        return {
            (rooted, reverse): [
                level - (rooted and not reverse)
                for level in levels(self.n + rooted, self.joining, reverse=reverse)
            ]
            for rooted in (False, True)
            for reverse in (False, True)
        }

    @cached_property
    def hops(self) -> list[Hop]:
        """Who has a first, second, fourth, eighth … ancestor, and which body it is."""
        return hops_of(self.parents)

    @cached_property
    def contraction(self) -> list[ContractionStep]:
        """The steps that contract the tree."""
        return contraction_steps(self.parents)

    def abreast(self, bodies: np.ndarray) -> list[np.ndarray]:
        """The rows of an array with one row per body, in groups that are computed at the same time."""
        return [bodies]

    def visit(self, bodies: Bodies) -> None:
        """Called before the bodies of a level are computed."""

    def leave(self) -> None:
        """Called when a sweep has ended."""

    # ------------------------------------------------------------------ the sweeps

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        if not self.n:
            return take(lift(root), slice(0)) if c is None else c
        values = Slots(self.n, root)
        for bodies in self.outward:
            self.visit(bodies)
            if root is None and bodies is self.outward[0]:
                x = take(c, bodies)
            else:
                x = X[bodies] @ values.get(self.parents[bodies])
                x = x if c is None else x + take(c, bodies)
            if through is not None:
                x = through[bodies] @ x
            if plus is not None:
                x = x + take(plus, bodies)
            values.set(bodies, x)
        self.leave()
        return values.all()

    def accumulate(self, X: Any, c: Any) -> Any:
        values = Slots(self.n, None, start=c)
        for level in self.inward:
            for bodies in level:
                self.visit(bodies)
                values.add(self.parents[bodies], X[bodies].T @ values.get(bodies))
        self.leave()
        return values.all()

    def fold(self, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]) -> Any:
        values = [Slots(self.n, None, start=s) for s in state]
        results: list[Slots] = []
        for level in self.inward:
            for bodies in level:
                self.visit(bodies)
                up, own = step(tuple(v.get(bodies) for v in values), *(take(f, bodies) for f in local))
                for v, x in zip(values, up, strict=True):
                    v.add(self.parents[bodies], x)
                results = results or [Slots(self.n, None) for _ in own]
                for slots, x in zip(results, own, strict=True):
                    slots.set(bodies, x)
        self.leave()
        return tuple(slots.all() for slots in results)

    def pairs(
        self,
        start: Array,
        carry: Callable[..., Array],
        emit: Callable[..., Array],
        along: tuple[Any, ...],
        both: bool = False,
    ) -> Array:
        matrix: Any = None
        whole = (slice(None),) * both
        for rows in self.rows:
            here, x = rows, take(start, rows)
            while len(rows):
                self.visit(here)
                entry = emit(x, *(take(f, here) for f in along))
                mine, back = (entry[..., 0, :], entry[..., 1, :]) if both else (entry, entry)
                if matrix is None:
                    batch, components = mine.shape[: mine.ndim - 1 - both], mine.shape[mine.ndim - both :]
                    matrix = zeros(entry, (*batch, self.n, self.n, *components))
                matrix[(..., rows, here, *whole)] = mine
                matrix[(..., here, rows, *whole)] = back
                inside = self.parents[here] >= 0
                rows, here, x = rows[inside], here[inside], x[..., inside, :]
                if len(rows):
                    x = carry(x, *(take(f, here) for f in along))
                    here = self.parents[here]
        self.leave()
        return matrix

    @cached_property
    def rows(self) -> list[Bodies]:
        """The bodies whose ancestor loops run side by side."""
        return [np.arange(self.n)]

    def scan(self, join: Callable[[Any, Any], Any], elements: Any, root: Any, reverse: bool) -> Any:
        if not self.is_chain:
            raise PhalanxError(
                "scan: joins the runs of an unbranched chain; a tree has paths (sweep `paths`)."
            )
        values = Slots(self.n, root, start=elements)
        for level in self.chain_joins[root is not None, reverse]:
            made = []
            for left, right, target in (part.T for part in self.abreast(level)):
                self.visit(target)
                made.append((target, join(values.get(left), values.get(right))))
            for target, x in made:
                values.set(target, x)
        self.leave()
        return values.all()

    def contract(self, join: Callable[..., Any], elements: Any, load: Any, loaded: Any) -> Any:
        runs = Slots(self.n, None, start=elements)
        nothing = load(elements).map(lambda a, _: zeros(a, a.shape))
        loads = Slots(self.n, None, start=nothing)

        def joined(top: Bodies, bottom: Bodies, other: Bodies) -> Any:
            self.visit(bottom)
            return join(runs.get(top), loaded(runs.get(other), loads.get(bottom)))

        for r in self.contraction:
            for part in self.abreast(r.joins):
                runs.set(part[:, 0], joined(*part[:, :3].T))
            for part in self.abreast(r.folds):
                closed = np.full(len(part), -1)  # the slot of the world holds the map of zeros
                loads.scatter(part[:, 2], load(joined(part[:, 0], part[:, 1], closed)))
        for r in reversed(self.contraction):
            for part in self.abreast(r.joins):
                _, bottom, other, end = part.T
                loads.add(bottom, load(joined(other, end, np.full(len(part), -1))))
        self.leave()
        return loads.all()

    def paths(self, X: Any) -> Paths:
        return Paths(self, X)

    def relay(
        self, levels: Any, state: tuple[Any, ...], join: Callable[..., Any], along: Any, links: Any
    ) -> list[tuple[Any, ...]]:
        link = np.arange(size(state[0])) if links is None else np.asarray(links)

        def after(number: int, level: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
            values = [Slots(len(link), None, start=x) for x in state]
            for to, source in (part.T for part in self.abreast(np.array(level, np.intp).reshape(-1, 2))):
                self.visit(link[to])
                mine, theirs = (tuple(take(x, at) for x in state) for at in (to, source))
                made = join(mine, theirs, *(along(number, to) if along else ()))
                for slots, x in zip(values, made, strict=True):
                    slots.set(to, x)
            return tuple(slots.all() for slots in values)

        if isinstance(levels, Sums) and levels.by_halves:
            terms = [after(number, level, state) for number, level in enumerate(levels)]
            self.leave()
            return [state, _added_by_halves(terms)] if terms else [state]
        history = [state]
        for number, level in enumerate(levels):
            history.append(after(number, level, history[-1]))
        self.leave()
        return history

    def segments(self, count: int | None, ends: Bodies) -> Segments:
        from .segments import cut

        return cut(self, count, ends)

    def among(self, parents: np.ndarray, bodies: Bodies) -> Sequential:
        """The same order on another tree, whose body k is `bodies[k]` here."""
        return type(self)(parents, joining=self.joining)

    def parent(self, x: Array, root: Any) -> Array:
        values = Slots(self.n, root, start=x)
        return values.get(self.parents)

    def children(self, x: Any, tip: Any) -> Any:
        nothing = x.map(lambda a, _: zeros(a, a.shape)) if isinstance(x, Field) else zeros(x, x.shape)
        values = Slots(self.n, None, start=nothing)
        bodies = np.flatnonzero(self.parents >= 0)
        _, first = np.unique(self.parents[bodies], return_index=True)
        values.set(self.parents[bodies[first]], take(x, bodies[first]))
        others = np.delete(bodies, first)
        values.scatter(self.parents[others], take(x, others))
        if tip is not None:
            values.set(np.setdiff1d(np.arange(self.n), self.parents), lift(tip))
        return values.all()

    def pick(self, x: Any, body: int) -> Any:
        return x[body] if isinstance(x, Field) else x[..., body, :]

    def marked(self, x: Any, at: Array) -> Any:
        if at.dtype != object:
            bodies = np.flatnonzero(at)
            return x[int(bodies[0])] if len(bodies) else x.map(_nothing)
        # With recording scalars, folding drops the terms whose weight is zero.
        return x.map(lambda array, rank: self._weighted(array, at, rank))

    def _weighted(self, array: Array, at: Array, rank: int) -> Array:
        each = np.moveaxis(array, -1 - rank, 0)
        total = each[0] * at[0]
        for k in range(1, len(at)):
            total = total + each[k] * at[k]
        return total

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
                far, near = np.tril_indices(len(above))  # nearest ancestor first
                i, j = above[near], above[far]
                factor[..., i, j] = factor[..., i, j] - scaled[..., near] * row[..., far]
                factor[..., k, above] = scaled
        self.leave()
        return factor

    def substitute(self, factor: Array, b: Array) -> Array:
        x = self.substitute_inward(factor, b)
        for k in range(len(self.pattern)):
            self.visit(np.array([k]))
            total = factor[..., k, k] * x[..., k]
            for j in self._ancestors[k].tolist():
                total = total - factor[..., k, j] * x[..., j]
            x[..., k] = total
        self.leave()
        return x

    def substitute_inward(self, factor: Array, b: Array) -> Array:
        shape = np.broadcast_shapes(factor.shape[:-1], b.shape)
        x = np.broadcast_to(b, shape).copy()
        for k in range(len(self.pattern) - 1, -1, -1):
            self.visit(np.array([k]))
            above = self._ancestors[k]
            x[..., above] = x[..., above] - factor[..., k, above] * x[..., k, None]
        self.leave()
        return x

    def substitute_outward(self, factor: Array, y: Array) -> Array:
        x = np.broadcast_to(y, np.broadcast_shapes(factor.shape[:-1], y.shape)).copy()
        for k in range(len(self.pattern)):
            self.visit(np.array([k]))
            for j in self._ancestors[k].tolist():
                x[..., k] = x[..., k] - factor[..., k, j] * x[..., j]
        self.leave()
        return x

    @cached_property
    def _ancestors(self) -> list[np.ndarray]:
        """The ancestors of each degree of freedom, nearest first."""
        result: list[np.ndarray] = []
        for p in self.pattern.tolist():
            result.append(np.empty(0, np.intp) if p < 0 else np.concatenate([[p], result[p]]).astype(np.intp))
        return result


def _added_by_halves(terms: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The sum of states, two neighbours at a time: the depth is the logarithm of the number of terms."""
    while len(terms) > 1:
        pairs = zip(terms[0::2], terms[1::2], strict=False)
        rest = terms[len(terms) - len(terms) % 2 :]
        terms = [tuple(a + b for a, b in zip(x, y, strict=True)) for x, y in pairs] + rest
    return terms[0]


def _nothing(array: Array, rank: int) -> Array:
    """Zeros shaped as the value of one body."""
    return np.zeros((*array.shape[: -1 - rank], *array.shape[array.ndim - rank :]), array.dtype)
