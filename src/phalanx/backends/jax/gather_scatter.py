# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Places of a field for JAX: looking values up, putting them elsewhere, adding up what meets at one place."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...sweeps.verbs import bodies_of
from .arrays import JaxArray, array
from .pytrees import each, merge

NOWHERE = int(np.iinfo(np.int32).max)  # where results that nobody needs go


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


def places_of(field: Any) -> int:
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
