# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The sequential order for JAX: one level of the tree after another by `lax.scan`.

Every level is padded to the width of the widest one by computing its last body repeatedly, so that
one loop body serves all levels and compiling takes as long for a thousand links as for ten.
The parents of a level's bodies are all on the level before, which is the only loop-carried value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...spatial import Array
from ...sweeps.orders.sequential import Sequential
from ...sweeps.orders.slots import lift
from ...sweeps.verbs import Order
from .arrays import JaxArray, array, unwrap
from .gather_scatter import appended, arrays, constant, without_zeros
from .pointer_jumping import UNROLLED, UNROLLED_ELSEWHERE, LoopedPaths, contracted, scanned
from .pytrees import each, merge


class LevelTable:
    """Index tables (depth, width) of the bodies of each level, padded by repeating the level's last body."""

    def __init__(self, parents: np.ndarray, levels: list[np.ndarray]) -> None:
        self.n, self.depth = len(parents), len(levels)
        self.width = max(len(level) for level in levels)
        self.slot = slot = np.empty(self.n, np.intp)  # index of each body in its level
        self.parents = parents
        self.level_of = np.empty(self.n, np.intp)
        for k, level in enumerate(levels):
            slot[level], self.level_of[level] = np.arange(len(level)), k
        rows = [np.append(level, np.repeat(level[-1:], self.width - len(level))) for level in levels]
        self.bodies = np.array(rows)
        self.parent = np.where(parents[self.bodies] < 0, 0, slot[parents[self.bodies]])
        self.where = self.level_of * self.width + slot

    @cached_property
    def children(self) -> np.ndarray:
        """Indices (depth, width, most children) into the next level; `width` where there is no child."""
        own: list[list[int]] = [[] for _ in range(self.n)]
        for i, p in enumerate(self.parents.tolist()):
            if p >= 0:
                own[p].append(int(self.slot[i]))
        most = max([1, *map(len, own)])
        table = np.array([c + [self.width] * (most - len(c)) for c in own])
        return table[self.bodies]

    @cached_property
    def ancestor(self) -> np.ndarray:
        """Index (depth, n) within each level of each body's ancestor on that level."""
        index = np.zeros((self.depth, self.n), np.intp)
        for i, p in enumerate(self.parents.tolist()):
            if p >= 0:
                index[:, i] = index[:, p]
            index[self.level_of[i], i] = self.slot[i]
        return index

    @cached_property
    def above(self) -> np.ndarray:
        """Mask (n, n): entry (i, j) says whether body j is body i or an ancestor of it."""
        above = np.eye(self.n, dtype=bool)
        for i, p in enumerate(self.parents.tolist()):
            if p >= 0:
                above[i] |= above[p]
        return above


class JaxLevels(Sequential):
    """The sweeps level by level, from the root outward or from the tips inward, by `lax.scan`."""

    @cached_property
    def table(self) -> LevelTable:
        return LevelTable(self.parents, self.outward)

    # ------------------------------------------------------------------ the sweeps

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        if not self.n:
            return super().propagate(X, c, root, through, plus)
        table = self.table

        def visit(x: Any, at: Any) -> Any:
            X, c, through, plus = at
            x = c if x is None else X @ x if c is None else X @ x + c
            x = x if through is None else through @ x
            return x if plus is None else x + plus

        fields = self._split((X, c, through, plus))
        first = visit(None if root is None else each(lift(arrays(root)), self._widened), _at(fields, 0))

        def step(x: Any, at: Any) -> Any:
            x = visit(self._picked(x, at[1]), at[0])
            return x, x

        later = _from(fields, 1), jnp.asarray(table.parent[1:])
        return self._joined(first, _loop(step, first, later), at_front=True)

    def accumulate(self, X: Any, c: Any) -> Any:
        if not self.n:
            return c
        return self.fold(lambda y, X: ((X.T @ y[0],), y), (c,), (X,))[0]

    def fold(self, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]) -> Any:
        if not self.n:
            return super().fold(step, state, local)
        state, local = self._split(state), self._split(local)
        last = self.table.depth - 1
        up, result = step(_at(state, last), *_at(local, last))

        def inward(up: Any, at: Any) -> Any:
            state, local, children = at
            total = tuple(own + self._gathered(u, children) for own, u in zip(state, up, strict=True))
            return step(total, *local)

        levels = _until(state, last), _until(local, last), jnp.asarray(self.table.children[:last])
        others = _loop(inward, up, levels, reverse=True) if last else _none(result)
        return self._joined(result, others, at_front=False)

    def pairs(
        self,
        start: Array,
        carry: Callable[..., Array],
        emit: Callable[..., Array],
        along: tuple[Any, ...],
        both: bool = False,
    ) -> Array:
        table = self.table
        start = array(start)
        nothing = JaxArray(jnp.zeros_like(start.value))

        def step(x: Any, at: Any) -> Any:
            along, index, new = at
            x = JaxArray(jnp.where(new[:, None], start.value, x.value))
            local = self._picked(along, index)
            return carry(x, *local), emit(x, *local)

        starts = jnp.asarray(table.level_of == np.arange(table.depth)[:, None])
        levels = self._split(along), jnp.asarray(table.ancestor), starts
        entries = jnp.moveaxis(_loop(step, nothing, levels, reverse=True).value, 0, -1)
        return self.both_sides(entries[..., self.table.level_of], both)

    def both_sides(self, rows: Any, both: bool) -> JaxArray:
        """The matrix from rows that hold the entries of a body and its ancestors.

        A symmetric matrix (…, n, n) from rows (…, n, n); with entries for `both` sides of the diagonal a
        matrix of vectors (…, n, n, k) from rows (…, n, 2, k, n).
        """
        above = self.table.above
        below = above.T & ~np.eye(self.n, dtype=bool)
        if not both:
            return JaxArray(jnp.where(above, rows, 0) + jnp.where(below, rows.swapaxes(-1, -2), 0))
        mine, back = (jnp.moveaxis(rows[..., k, :, :], -2, 0) for k in range(2))
        matrix = jnp.where(above, mine, 0) + jnp.where(below, back.swapaxes(-1, -2), 0)
        # On the diagonal the second side is the entry: the order for NumPy writes it last.
        own = np.eye(self.n, dtype=bool)
        return JaxArray(jnp.moveaxis(jnp.where(own, back, matrix), 0, -1))

    def scan(self, join: Callable[[Any, Any], Any], elements: Any, root: Any, reverse: bool) -> Any:
        if not np.array_equal(self.parents, np.arange(-1, self.n - 1)):
            return super().scan(join, elements, root, reverse)  # which refuses
        values = arrays(elements)
        if root is not None:
            # The root's element becomes the last entry.
            values = merge(values, lift(arrays(root)), appended)
        values = scanned(join, values, self.chain_joins[root is not None, reverse])
        return values if root is None else without_zeros(values)

    def contract(self, join: Callable[..., Any], elements: Any, load: Any, loaded: Any) -> Any:
        return contracted(join, arrays(elements), load, loaded, self.contraction, self.n)

    def relay(
        self, levels: Any, state: tuple[Any, ...], join: Callable[..., Any], along: Any, links: Any
    ) -> list[tuple[Any, ...]]:
        return super().relay(levels, arrays(state), join, along, links)

    def paths(self, X: Any) -> Any:
        return LoopedPaths(super().paths(X), self.n)

    def parent(self, x: Array, root: Any) -> Array:
        return super().parent(*((x, root) if constant(x, root) else (arrays(x), arrays(root))))

    def children(self, x: Any, tip: Any) -> Any:
        return super().children(*((x, tip) if constant(x, tip) else (arrays(x), arrays(tip))))

    def marked(self, x: Any, at: Array) -> Any:
        weights = unwrap(at)

        def one(array: Any, rank: int) -> JaxArray:
            own = weights.reshape((*weights.shape, *(1,) * rank))
            return JaxArray((unwrap(array) * own).sum(axis=-1 - rank))

        return x.map(one)

    def total(self, values: Array) -> Array:
        return values.sum(axis=-1)

    def eliminate(self, M: Array) -> Array:
        return JaxArray(jax.lax.linalg.cholesky(unwrap(array(M)), symmetrize_input=False))

    def substitute(self, factor: Array, b: Array) -> Array:
        return JaxArray(solve(unwrap(factor), unwrap(array(b))))

    # This factor is that of Cholesky, not L^T D L.
    substitute_inward, substitute_outward = Order.substitute_inward, Order.substitute_outward

    # ------------------------------------------------------------------ bodies and levels

    def _split(self, fields: Any) -> Any:
        """Fields over bodies as fields over levels (depth, …, width, …), for `lax.scan`."""
        table = self.table

        def split(x: Array, rank: int) -> JaxArray:
            x = array(x)
            axis = x.ndim - rank - 1
            rows = x[(..., table.bodies.ravel(), *(slice(None),) * rank)].value
            shape = (*rows.shape[:axis], *table.bodies.shape, *rows.shape[axis + 1 :])
            return JaxArray(jnp.moveaxis(rows.reshape(shape), axis, 0))

        return each(fields, split)

    def _joined(self, edge: Any, others: Any, *, at_front: bool) -> Any:
        """Fields over bodies from the values on the first (or last) level and those on all others."""
        table = self.table

        def join(one: Array, many: Array, rank: int) -> JaxArray:
            one, many = one.value[None], many.value
            one = jnp.broadcast_to(one, (1, *many.shape[1:])) if len(many) else one
            levels = jnp.concatenate([one, many] if at_front else [many, one]) if len(many) else one
            axis = levels.ndim - rank - 2
            levels = jnp.moveaxis(levels, 0, axis)
            flat = levels.reshape((*levels.shape[:axis], -1, *levels.shape[axis + 2 :]))
            return JaxArray(flat)[(..., table.where, *(slice(None),) * rank)]

        return merge(edge, others, join)

    def _picked(self, fields: Any, index: Any) -> Any:
        """Gather values of a level at indices that are traced inside the loop."""
        if self.table.width == 1:
            return fields  # a single body, no gather needed
        return each(fields, lambda x, rank: _at_indices(x, index, rank))

    def _widened(self, x: Array, rank: int) -> JaxArray:
        """One value (…, 1, …) repeated for every body of a level."""
        axis = x.ndim - rank - 1
        return JaxArray(jnp.repeat(x.value, self.table.width, axis=axis))

    def _gathered(self, up: Any, children: Any) -> Any:
        """The sum over the children of each body, which are on the next level."""
        if self.table.width == 1:
            return up

        def gather(x: Array, rank: int) -> JaxArray:
            axis = x.ndim - rank - 1
            widths = [(0, int(k == axis)) for k in range(x.ndim)]
            taken = _at_indices(JaxArray(jnp.pad(x.value, widths)), children, rank)
            return taken.sum(axis=axis + 1)

        return each(up, gather)


def _at_indices(x: JaxArray, index: Any, rank: int) -> JaxArray:
    key = (..., index, *(slice(None),) * rank)
    return JaxArray(x.value.at[key].get(mode="promise_in_bounds"))


def _at(fields: Any, level: int) -> Any:
    return jax.tree_util.tree_map(lambda x: x[level], fields)


def _from(fields: Any, level: int) -> Any:
    return jax.tree_util.tree_map(lambda x: x[level:], fields)


def _until(fields: Any, level: int) -> Any:
    return jax.tree_util.tree_map(lambda x: x[:level], fields)


def _none(like: Any) -> Any:
    """Arrays over zero levels, with the shapes and dtypes of these values."""
    shapes = jax.eval_shape(lambda: like)
    return jax.tree_util.tree_map(lambda x: jnp.zeros((0, *x.shape), x.dtype), shapes)


def _loop(step: Callable[..., Any], start: Any, levels: Any, *, reverse: bool = False) -> Any:
    """The outputs of `step(carry, level)` stacked over levels; `start` is broadcast to the carry's shape."""
    length = len(jax.tree_util.tree_leaves(levels)[-1])
    if not length:
        return _none(start)
    shapes = jax.eval_shape(lambda x, at: step(x, at)[0], start, _at(levels, 0))
    start = jax.tree_util.tree_map(lambda x, s: jnp.broadcast_to(x, s.shape).astype(s.dtype), start, shapes)
    short = length < UNROLLED.get(jax.default_backend(), UNROLLED_ELSEWHERE)
    unroll = length if short else 1
    return jax.lax.scan(step, start, levels, reverse=reverse, unroll=unroll)[1]


def solve(factor: Any, b: Any) -> Any:
    """Solve L L^T x = b for x (…, k); a factor L (…, 1, k, k) serves many b (…, m, k)."""
    many = factor.ndim > 2 and factor.shape[-3] == 1 and b.ndim > 1
    factor = factor[..., 0, :, :] if many else factor
    columns = b.swapaxes(-1, -2) if many else b[..., None]
    batch = jnp.broadcast_shapes(factor.shape[:-2], columns.shape[:-2])
    factor = jnp.broadcast_to(factor, (*batch, *factor.shape[-2:]))
    x = jnp.broadcast_to(columns, (*batch, *columns.shape[-2:]))
    for transposed in (False, True):
        x = jax.lax.linalg.triangular_solve(factor, x, left_side=True, lower=True, transpose_a=transposed)
    return x.swapaxes(-1, -2) if many else x[..., 0]
