# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Gather and scatter along the body axis of a field, for JAX; a scatter-add sums at equal indices."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...sweeps.verbs import bodies_of
from .arrays import JaxArray, array
from .pytrees import each, merge

NOWHERE = int(np.iinfo(np.int32).max)  # the target index of results that are dropped


def arrays(field: Any) -> Any:
    """The field with every array as a `JaxArray`."""
    return each(field, lambda x, _: array(x))


def constant(*fields: Any) -> bool:
    """Whether fields hold only NumPy arrays, whose values are known while tracing."""
    found: list[bool] = []

    def look(x: Any, _: int) -> Any:
        found.append(isinstance(x, np.ndarray))
        return x

    each(fields, look)
    return all(found)


def _key(index: Any, rank: int) -> Any:
    return (..., index, *(slice(None),) * rank)


def places_of(field: Any) -> int:
    array, rank = next(bodies_of(field))
    return int(array.shape[array.ndim - rank - 1])


def at(field: Any, index: Any) -> Any:
    """Gather the values at indices along the body axis, all of which must be in bounds."""
    return each(field, lambda x, r: JaxArray(x.value.at[_key(index, r)].get(mode="promise_in_bounds")))


class Arrivals(NamedTuple):
    """The scatter of each iteration as gathers, which XLA compiles better: for each target its sources.
    Senders (sources) are sorted by target; those of one target are summed by doubling.
    """

    senders: Any  # (iterations, width)
    same: Any  # (iterations, steps, width): whether the sender 1, 2, 4, … further on has the same target
    first: Any  # (iterations, size): the first sender of each target
    some: Any  # (iterations, size): whether there is one


def arrivals_of(target: np.ndarray, size: int) -> Arrivals:
    """Which senders scatter into each of `size` entries; a target (iterations, width) may be NOWHERE."""
    width = target.shape[1]
    senders = np.argsort(target, axis=1, kind="stable")
    ordered = np.take_along_axis(target, senders, axis=1)
    first = np.stack([np.searchsorted(row, np.arange(size)) for row in ordered])
    crowd = max(int(np.bincount(row[row < size]).max(initial=1)) for row in target)
    same = np.zeros((len(target), (crowd - 1).bit_length(), width), dtype=bool)
    for k in range(same.shape[1]):
        same[:, k, : -(1 << k)] = ordered[:, : -(1 << k)] == ordered[:, 1 << k :]
    first = np.minimum(first, width - 1)
    some = np.take_along_axis(ordered, first, axis=1) == np.arange(size)
    if crowd == 1:  # one gather instead of two
        first = np.take_along_axis(senders, first, axis=1)
    return Arrivals(*(jnp.asarray(x) for x in (senders.astype(np.int32), same, first.astype(np.int32), some)))


def _arrived(arrivals: Arrivals, x: JaxArray, rank: int) -> Any:
    """The sum sent to each target (…, size, …); undefined at targets without a sender."""
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
    """Scatter: the field with its values overwritten at targets that have a sender."""

    def change(x: JaxArray, y: JaxArray, rank: int) -> JaxArray:
        return JaxArray(jnp.where(_mask(arrivals.some, rank), _arrived(arrivals, y, rank), x.value))

    return merge(field, new, change)


def added(field: Any, arrivals: Arrivals, more: Any) -> Any:
    """Scatter-add: the field with the sums that are sent to each target added."""

    def change(x: JaxArray, y: JaxArray, rank: int) -> JaxArray:
        return JaxArray(x.value + jnp.where(_mask(arrivals.some, rank), _arrived(arrivals, y, rank), 0))

    return merge(field, more, change)


def _mask(some: Any, rank: int) -> Any:
    return some.reshape((-1, *(1,) * rank))


def _wide(x: JaxArray, y: JaxArray, rank: int) -> Any:
    """The value of x broadcast to the batch shape of x and y."""
    split = x.ndim - rank - 1, y.ndim - rank - 1
    batch = jnp.broadcast_shapes(x.shape[: split[0]], y.shape[: split[1]])
    return jnp.broadcast_to(x.value, (*batch, *x.shape[split[0] :]))


def with_zeros(field: Any) -> Any:
    """The field padded by one entry of zeros at the end of the body axis."""

    def pad(x: JaxArray, rank: int) -> JaxArray:
        return JaxArray(jnp.pad(x.value, [(0, int(k == x.ndim - rank - 1)) for k in range(x.ndim)]))

    return each(field, pad)


def appended(x: JaxArray, y: JaxArray, rank: int) -> JaxArray:
    """x and y concatenated along the body axis."""
    return JaxArray(jnp.concatenate([_wide(x, y, rank), _wide(y, x, rank)], axis=-1 - rank))


def without_zeros(field: Any) -> Any:
    """The field without the last entry of the body axis, inverse of `with_zeros`."""
    return each(field, lambda x, rank: x[_key(slice(0, -1), rank)])


def where(condition: Any, a: JaxArray, b: JaxArray, rank: int) -> JaxArray:
    """Select along the body axis: a where the condition holds, else b."""
    return JaxArray(jnp.where(_mask(condition, rank), a.value, b.value))
