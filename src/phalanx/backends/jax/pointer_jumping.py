# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Walks of logarithmically many turns for JAX: pointer jumping, scans and contraction as loops of XLA's own.

Every turn is filled up to the widest one by doing some of its work twice and dropping the result, so that
XLA compiles one turn, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...spatial import Identity
from ...sweeps.orders.contraction import Round
from ...sweeps.orders.hops import Paths
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

# Turns up to which a loop is written out. On a CPU a loop compiles faster and runs as fast
# (docs/jax.md); on others each turn of a loop costs a launch.
UNROLLED = {"cpu": 2}
UNROLLED_ELSEWHERE = 16


def turns(
    step: Callable[..., Any], start: Any, inputs: Any, *, reverse: bool = False, light: bool = False
) -> tuple[Any, Any]:
    """(state after the last turn, what each turn leaves); the start is given the shape that it keeps.

    Light turns are written out where every turn of a loop costs a launch.
    """
    first = jax.tree_util.tree_map(lambda x: x[0], inputs)
    for _ in range(2):  # what meets a batch has one itself from the next turn on
        shapes = jax.eval_shape(lambda x, at: step(x, at)[0], start, first)
        start = jax.tree_util.tree_map(
            lambda x, s: jnp.broadcast_to(x, s.shape).astype(s.dtype), start, shapes
        )
    length = len(jax.tree_util.tree_leaves(inputs)[0])
    short = length < (UNROLLED.get(jax.default_backend(), UNROLLED_ELSEWHERE) if light else 2)
    return jax.lax.scan(step, start, inputs, reverse=reverse, unroll=length if short else 1)


class LoopedPaths:
    """`orders.hops.Paths` as loops: bodies without an ancestor so far away look at a place of zeros, n.

    What meets constants only is a constant and left to `Paths` itself.
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
        """The operators from the 1st, 2nd, 4th, … ancestors on a first axis of their own."""
        if isinstance(self.X, Identity):
            return self.X
        first = with_zeros(self.X)

        def step(power: Any, ancestors: Any) -> Any:
            power = power @ at(power, ancestors)
            return power, power

        alone = jax.tree_util.tree_map(lambda x: x[None], first)
        if len(self.ancestors) < 2:
            return alone
        later = turns(step, first, jnp.asarray(self.ancestors[:-1]), light=True)[1]
        return jax.tree_util.tree_map(lambda a, b: jnp.concatenate([a, b]), alone, later)

    def __matmul__(self, c: Any) -> Any:
        if constant(self.paths.X, c):
            return self.paths @ c

        def step(values: Any, each_turn: Any) -> Any:
            X, ancestors = each_turn
            return values + X @ at(values, ancestors), None

        return self._walk(step, c, jnp.asarray(self.ancestors))

    def transposed(self, c: Any) -> Any:
        """L^T c."""
        if constant(self.paths.X, c):
            return self.paths.T @ c

        def step(values: Any, each_turn: Any) -> Any:
            X, arrivals = each_turn
            return added(values, arrivals, X.T @ values), None

        target = np.where(self.ancestors < self.n, self.ancestors, NOWHERE)
        return self._walk(step, c, arrivals_of(target, self.n + 1) if len(target) else None)

    def whole(self) -> Any:
        """The product of X along the whole path from the world to each body."""

        def step(product: Any, ancestors: Any) -> Any:
            longer = product @ at(product, ancestors)
            ends = ancestors == self.n
            return merge(product, longer, lambda a, b, rank: where(ends, a, b, rank)), None

        if not len(self.ancestors):
            return self.X
        return without_zeros(turns(step, with_zeros(self.X), jnp.asarray(self.ancestors), light=True)[0])

    def _walk(self, step: Callable[..., Any], c: Any, work: Any) -> Any:
        c = arrays(c)
        if not len(self.ancestors):
            return c
        return without_zeros(turns(step, with_zeros(c), (self.powers, work), light=True)[0])


class TransposedLoopedPaths:
    """L^T: from every body to itself and to its ancestors."""

    def __init__(self, L: LoopedPaths) -> None:
        self.L = L

    def __matmul__(self, c: Any) -> Any:
        return self.L.transposed(c)


def scanned(join: Callable[..., Any], values: Any, levels: list[np.ndarray]) -> Any:
    """The values after levels of (left, right, target), of which all read before any writes."""
    if not levels:
        return values
    count = places_of(values)
    left, right, target = _filled([level % count for level in levels], dropped=[2])

    def step(values: Any, level: Any) -> Any:
        left, right, arrivals = level
        return replaced(values, arrivals, join(at(values, left), at(values, right))), None

    return turns(step, values, (jnp.asarray(left), jnp.asarray(right), arrivals_of(target, count)))[0]


def contracted(
    join: Callable[..., Any], elements: Any, load: Any, loaded: Any, rounds: list[Round], n: int
) -> Any:
    """What hangs on each body of a tree that is contracted in rounds."""
    runs = with_zeros(elements)
    loads = each(load(runs), lambda x, _: JaxArray(jnp.zeros_like(x.value)))
    if not rounds:
        return without_zeros(loads)

    def inward(state: Any, work: Any) -> Any:
        runs, loads = state
        top, bottom, other, kept, carried = work
        made = join(at(runs, top), loaded(at(runs, other), at(loads, bottom)))
        return (replaced(runs, kept, made), added(loads, carried, load(made))), None

    (runs, loads), _ = turns(inward, (runs, loads), _inward_work(rounds, n))
    nothing = each(at(runs, np.array([n])), lambda x, _: JaxArray(jnp.zeros_like(x.value)))

    def outward(loads: Any, work: Any) -> Any:
        other, end, arrivals = work
        made = join(at(runs, other), loaded(nothing, at(loads, end)))
        return added(loads, arrivals, load(made)), None

    if joins := [r.joins[:, 1:] for r in rounds if len(r.joins)]:
        bottom, other, end = _filled(joins, dropped=[0])
        work = jnp.asarray(other), jnp.asarray(end), arrivals_of(bottom, n + 1)
        loads, _ = turns(outward, loads, work, reverse=True)
    return without_zeros(loads)


def _inward_work(rounds: list[Round], n: int) -> tuple[Any, ...]:
    """For each round: top, bottom and other of each join or fold, where the run goes, where its load goes."""
    tables = []
    for r in rounds:
        rows = [(top, bottom, other, top, NOWHERE) for top, bottom, other, _ in r.joins.tolist()]
        rows += [(top, bottom, n, NOWHERE, carrier) for top, bottom, carrier in r.folds.tolist()]
        tables.append(np.array(rows))
    top, bottom, other, kept, carrier = _filled(tables, dropped=[3, 4])
    places = (jnp.asarray(x) for x in (top, bottom, other))
    return *places, arrivals_of(kept, n + 1), arrivals_of(carrier, n + 1)


def _filled(tables: list[np.ndarray], *, dropped: list[int]) -> Any:
    """The columns (turns, width) of tables, their last rows repeated with the given columns going nowhere."""
    width = max(map(len, tables))
    rows = []
    for table in tables:
        filler = np.repeat(table[-1:], width - len(table), axis=0)
        filler[:, dropped] = NOWHERE
        rows.append(np.concatenate([table, filler]))
    return np.moveaxis(np.stack(rows), -1, 0).astype(np.int32)
