# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Walks of logarithmically many turns for JAX: pointer jumping, scans and contraction as loops of XLA's own.

Every turn is filled up to the widest one by doing some of its work twice and dropping the result, so that
XLA compiles one turn, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...orders.contraction import Round
from ...orders.hops import Paths
from ...spatial import Identity
from ...sweeps import bodies_of
from .arrays import JaxArray, array
from .pytrees import each, merge

# Turns up to which a loop is written out. On a CPU a loop compiles faster and runs as fast
# (docs/jax.md); on others each turn of a loop costs a launch.
UNROLLED = {"cpu": 2}
UNROLLED_ELSEWHERE = 16
_NOWHERE = int(np.iinfo(np.int32).max)  # where results that nobody needs go


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

        target = np.where(self.ancestors < self.n, self.ancestors, _NOWHERE)
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
    count = _places(values)
    left, right, target = _filled([level % count for level in levels], dropped=[2])

    def step(values: Any, level: Any) -> Any:
        left, right, arrivals = level
        return replaced(values, arrivals, join(at(values, left), at(values, right))), None

    return turns(step, values, (jnp.asarray(left), jnp.asarray(right), arrivals_of(target, count)))[0]


def contracted(
    join: Callable[..., Any], elements: Any, load: Any, laden: Any, rounds: list[Round], n: int
) -> Any:
    """What hangs on each body of a tree that is contracted in rounds."""
    runs = with_zeros(elements)
    loads = each(load(runs), lambda x, _: JaxArray(jnp.zeros_like(x.value)))
    if not rounds:
        return without_zeros(loads)

    def inward(state: Any, work: Any) -> Any:
        runs, loads = state
        top, bottom, other, kept, carried = work
        made = join(at(runs, top), laden(at(runs, other), at(loads, bottom)))
        return (replaced(runs, kept, made), added(loads, carried, load(made))), None

    (runs, loads), _ = turns(inward, (runs, loads), _inward_work(rounds, n))
    nothing = each(at(runs, np.array([n])), lambda x, _: JaxArray(jnp.zeros_like(x.value)))

    def outward(loads: Any, work: Any) -> Any:
        other, end, arrivals = work
        made = join(at(runs, other), laden(nothing, at(loads, end)))
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
        rows = [(top, bottom, other, top, _NOWHERE) for top, bottom, other, _ in r.joins.tolist()]
        rows += [(top, bottom, n, _NOWHERE, carrier) for top, bottom, carrier in r.folds.tolist()]
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
        filler[:, dropped] = _NOWHERE
        rows.append(np.concatenate([table, filler]))
    return np.moveaxis(np.stack(rows), -1, 0).astype(np.int32)


# --------------------------------------------------------------------------- places of a field


def arrays(field: Any) -> Any:
    """A field of arrays for the equations."""
    return each(field, lambda x, _: array(x))


def constant(*fields: Any) -> bool:
    """Whether fields hold arrays of NumPy only, which are known before anything is traced."""
    found: list[bool] = []

    def look(x: Any, _: int) -> Any:
        found.append(isinstance(x, np.ndarray))
        return x

    each(fields, look)
    return all(found)


def _key(place: Any, rank: int) -> Any:
    return (..., place, *(slice(None),) * rank)


def _places(field: Any) -> int:
    array, rank = next(bodies_of(field))
    return int(array.shape[array.ndim - rank - 1])


def at(field: Any, place: Any) -> Any:
    """The values at places that exist."""
    return each(field, lambda x, r: JaxArray(x.value.at[_key(place, r)].get(mode="promise_in_bounds")))


class Arrivals(NamedTuple):
    """What arrives where in each turn: told from the side of the places, since XLA gathers better than it
    scatters. Senders stand in the order of their targets; those of one target are added up by doubling.
    """

    senders: Any  # (turns, width)
    same: Any  # (turns, steps, width): whether the sender 1, 2, 4, … further on has the same target
    first: Any  # (turns, places): the first sender of each place
    some: Any  # (turns, places): whether there is one


def arrivals_of(target: np.ndarray, places: int) -> Arrivals:
    """The arrivals of senders (turns, width), each at its target or nowhere."""
    width = target.shape[1]
    senders = np.argsort(target, axis=1, kind="stable")
    ordered = np.take_along_axis(target, senders, axis=1)
    first = np.stack([np.searchsorted(row, np.arange(places)) for row in ordered])
    crowd = max(int(np.bincount(row[row < places]).max(initial=1)) for row in target)
    same = np.zeros((len(target), (crowd - 1).bit_length(), width), dtype=bool)
    for k in range(same.shape[1]):
        same[:, k, : -(1 << k)] = ordered[:, : -(1 << k)] == ordered[:, 1 << k :]
    first = np.minimum(first, width - 1)
    some = np.take_along_axis(ordered, first, axis=1) == np.arange(places)
    if crowd == 1:  # one look-up in place of two
        first = np.take_along_axis(senders, first, axis=1)
    return Arrivals(*(jnp.asarray(x) for x in (senders.astype(np.int32), same, first.astype(np.int32), some)))


def _arrived(arrivals: Arrivals, x: JaxArray, rank: int) -> Any:
    """What arrives at each place (…, places, …); anything where nothing does."""
    senders, same, first, _ = arrivals
    sums = x.value
    if len(same):
        sums = sums.at[_key(senders, rank)].get(mode="promise_in_bounds")
    for k, alike in enumerate(same):
        axis, step = sums.ndim - rank - 1, 1 << k
        further = jax.lax.slice_in_dim(sums, step, sums.shape[axis], axis=axis)
        widths = [(0, step if d == axis else 0) for d in range(sums.ndim)]
        sums = sums + jnp.where(_mask(alike, rank), jnp.pad(further, widths), 0)
    return sums.at[_key(first, rank)].get(mode="promise_in_bounds")


def replaced(field: Any, arrivals: Arrivals, new: Any) -> Any:
    """The field with the values that arrive in place of its own."""

    def change(x: JaxArray, y: JaxArray, rank: int) -> JaxArray:
        return JaxArray(jnp.where(_mask(arrivals.some, rank), _arrived(arrivals, y, rank), x.value))

    return merge(field, new, change)


def added(field: Any, arrivals: Arrivals, more: Any) -> Any:
    """The field with what arrives added."""

    def change(x: JaxArray, y: JaxArray, rank: int) -> JaxArray:
        return JaxArray(x.value + jnp.where(_mask(arrivals.some, rank), _arrived(arrivals, y, rank), 0))

    return merge(field, more, change)


def _mask(some: Any, rank: int) -> Any:
    return some.reshape((-1, *(1,) * rank))


def _wide(x: JaxArray, y: JaxArray, rank: int) -> Any:
    """The value of x in the batch of both."""
    split = x.ndim - rank - 1, y.ndim - rank - 1
    batch = jnp.broadcast_shapes(x.shape[: split[0]], y.shape[: split[1]])
    return jnp.broadcast_to(x.value, (*batch, *x.shape[split[0] :]))


def with_zeros(field: Any) -> Any:
    """The field with a place of zeros after the last one."""

    def pad(x: JaxArray, rank: int) -> JaxArray:
        return JaxArray(jnp.pad(x.value, [(0, int(k == x.ndim - rank - 1)) for k in range(x.ndim)]))

    return each(field, pad)


def appended(x: JaxArray, y: JaxArray, rank: int) -> JaxArray:
    """The places of x, then those of y."""
    return JaxArray(jnp.concatenate([_wide(x, y, rank), _wide(y, x, rank)], axis=-1 - rank))


def without_zeros(field: Any) -> Any:
    """The field without its last place."""
    return each(field, lambda x, rank: x[_key(slice(0, -1), rank)])


def where(condition: Any, a: JaxArray, b: JaxArray, rank: int) -> JaxArray:
    """a at the places where the condition holds, else b."""
    return JaxArray(jnp.where(_mask(condition, rank), a.value, b.value))
