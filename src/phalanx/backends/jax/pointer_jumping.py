# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pointer jumping, prefix scans and tree contraction for JAX, each a `lax.scan` of logarithmic trip count.

Every iteration is padded to the widest one by repeating work whose results are dropped, so that XLA compiles
one loop body, whatever the trip count.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...spatial import Identity
from ...sweeps.orders.hops import ContractionStep, Paths
from .arrays import JaxArray
from .gather_scatter import (
    NOWHERE,
    added,
    arrays,
    arrivals_of,
    at,
    constant,
    places_of,
    replaced,
    where,
    with_zeros,
    without_zeros,
)
from .pytrees import each, merge

# Trip counts below which a loop is unrolled. On a CPU a loop compiles faster and runs as fast
# (docs/jax.md); on other devices each iteration costs a kernel launch.
UNROLLED = {"cpu": 2}
UNROLLED_ELSEWHERE = 16


def iterated(
    step: Callable[..., Any], start: Any, inputs: Any, *, reverse: bool = False, light: bool = False
) -> tuple[Any, Any]:
    """`lax.scan` of `step` from `start`, which is broadcast to the shape of the loop-carried value first.

    Loops with `light` bodies are unrolled on devices where every iteration costs a kernel launch.
    """
    first = jax.tree_util.tree_map(lambda x: x[0], inputs)
    for _ in range(2):  # a carry without a batch may get one in the first iteration
        shapes = jax.eval_shape(lambda x, at: step(x, at)[0], start, first)
        start = jax.tree_util.tree_map(
            lambda x, s: jnp.broadcast_to(x, s.shape).astype(s.dtype), start, shapes
        )
    length = len(jax.tree_util.tree_leaves(inputs)[0])
    short = length < (UNROLLED.get(jax.default_backend(), UNROLLED_ELSEWHERE) if light else 2)
    return jax.lax.scan(step, start, inputs, reverse=reverse, unroll=length if short else 1)


class LoopedPaths:
    """`orders.hops.Paths` as loops: bodies without an ancestor at that distance read entry n, which is zero.

    Products of constants only are left to `Paths`, which computes them in NumPy.
    """

    def __init__(self, paths: Paths, n: int) -> None:
        self.n, self.paths, self.X = n, paths, arrays(paths.X)
        hops = paths.order.hops
        self.ancestors = np.full((len(hops), n + 1), n)
        for row, hop in zip(self.ancestors, hops, strict=True):
            row[hop.bodies] = hop.ancestors

    @property
    def T(self) -> TransposedLoopedPaths:
        return TransposedLoopedPaths(self)

    @cached_property
    def powers(self) -> Any:
        """The operators from the 1st, 2nd, 4th, … ancestors to each body, stacked on a first axis."""
        if isinstance(self.X, Identity):
            return self.X
        first = with_zeros(self.X)

        def step(power: Any, ancestors: Any) -> Any:
            power = power @ at(power, ancestors)
            return power, power

        alone = jax.tree_util.tree_map(lambda x: x[None], first)
        if len(self.ancestors) < 2:
            return alone
        later = iterated(step, first, jnp.asarray(self.ancestors[:-1]), light=True)[1]
        return jax.tree_util.tree_map(lambda a, b: jnp.concatenate([a, b]), alone, later)

    def __matmul__(self, c: Any) -> Any:
        if constant(self.paths.X, c):
            return self.paths @ c

        def step(values: Any, each_hop: Any) -> Any:
            X, ancestors = each_hop
            return values + X @ at(values, ancestors), None

        return self._jumped(step, c, jnp.asarray(self.ancestors))

    def transposed(self, c: Any) -> Any:
        """L^T c, by scatter-add to the ancestors."""
        if constant(self.paths.X, c):
            return self.paths.T @ c

        def step(values: Any, each_hop: Any) -> Any:
            X, arrivals = each_hop
            return added(values, arrivals, X.T @ values), None

        target = np.where(self.ancestors < self.n, self.ancestors, NOWHERE)
        return self._jumped(step, c, arrivals_of(target, self.n + 1) if len(target) else None)

    def from_world(self) -> Any:
        """The product of X along the path from the world to each body."""

        def step(product: Any, ancestors: Any) -> Any:
            longer = product @ at(product, ancestors)
            ends = ancestors == self.n
            return merge(product, longer, lambda a, b, rank: where(ends, a, b, rank)), None

        if not len(self.ancestors):
            return self.X
        return without_zeros(iterated(step, with_zeros(self.X), jnp.asarray(self.ancestors), light=True)[0])

    def _jumped(self, step: Callable[..., Any], c: Any, work: Any) -> Any:
        c = arrays(c)
        if not len(self.ancestors):
            return c
        return without_zeros(iterated(step, with_zeros(c), (self.powers, work), light=True)[0])


class TransposedLoopedPaths:
    """L^T: from every body to itself and to its ancestors."""

    def __init__(self, L: LoopedPaths) -> None:
        self.L = L

    def __matmul__(self, c: Any) -> Any:
        return self.L.transposed(c)


def scanned(join: Callable[..., Any], values: Any, levels: list[np.ndarray]) -> Any:
    """The values after all levels of joins (left, right, target); a level reads all before it writes."""
    if not levels:
        return values
    count = places_of(values)
    left, right, target = _filled([level % count for level in levels], dropped=[2])

    def step(values: Any, level: Any) -> Any:
        left, right, arrivals = level
        return replaced(values, arrivals, join(at(values, left), at(values, right))), None

    return iterated(step, values, (jnp.asarray(left), jnp.asarray(right), arrivals_of(target, count)))[0]


def contracted(
    join: Callable[..., Any], elements: Any, load: Any, loaded: Any, steps: list[ContractionStep], n: int
) -> Any:
    """The load of each body (what its subtree hangs on it) by tree contraction, step by step."""
    runs = with_zeros(elements)
    loads = each(load(runs), lambda x, _: JaxArray(jnp.zeros_like(x.value)))
    if not steps:
        return without_zeros(loads)

    def inward(state: Any, work: Any) -> Any:
        runs, loads = state
        top, bottom, other, joined, carried = work
        made = join(at(runs, top), loaded(at(runs, other), at(loads, bottom)))
        return (replaced(runs, joined, made), added(loads, carried, load(made))), None

    (runs, loads), _ = iterated(inward, (runs, loads), _inward_work(steps, n))
    nothing = each(at(runs, np.array([n])), lambda x, _: JaxArray(jnp.zeros_like(x.value)))

    def outward(loads: Any, work: Any) -> Any:
        other, end, arrivals = work
        made = join(at(runs, other), loaded(nothing, at(loads, end)))
        return added(loads, arrivals, load(made)), None

    if joins := [r.joins[:, 1:] for r in steps if len(r.joins)]:
        bottom, other, end = _filled(joins, dropped=[0])
        work = jnp.asarray(other), jnp.asarray(end), arrivals_of(bottom, n + 1)
        loads, _ = iterated(outward, loads, work, reverse=True)
    return without_zeros(loads)


def _inward_work(steps: list[ContractionStep], n: int) -> tuple[Any, ...]:
    """For each step: top, bottom and other of each join or fold, the targets of its run and of its load."""
    tables = []
    for r in steps:
        rows = [(top, bottom, other, top, NOWHERE) for top, bottom, other, _ in r.joins.tolist()]
        rows += [(top, bottom, n, NOWHERE, carrier) for top, bottom, carrier in r.folds.tolist()]
        tables.append(np.array(rows))
    top, bottom, other, joined, carrier = _filled(tables, dropped=[3, 4])
    indices = (jnp.asarray(x) for x in (top, bottom, other))
    return *indices, arrivals_of(joined, n + 1), arrivals_of(carrier, n + 1)


def _filled(tables: list[np.ndarray], *, dropped: list[int]) -> Any:
    """The columns (iterations, width) of tables, padded by last rows with `dropped` columns NOWHERE."""
    width = max(map(len, tables))
    rows = []
    for table in tables:
        filler = np.repeat(table[-1:], width - len(table), axis=0)
        filler[:, dropped] = NOWHERE
        rows.append(np.concatenate([table, filler]))
    return np.moveaxis(np.stack(rows), -1, 0).astype(np.int32)
