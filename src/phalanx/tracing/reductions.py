# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sums, products, extremes and other reductions of arrays of recording scalars along axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from .elementwise import (
    add,
    as_mask,
    both,
    divide,
    either,
    maximum,
    minimum,
    multiply,
    objects,
    sqrt,
    subtract,
)
from .refusals import refuse

Rule = Callable[..., Any]


def reduced(rule: Rule, x: Any, axis: Any = None, keepdims: bool = False) -> np.ndarray:
    """All entries along axes joined one after another."""
    x = objects(x)
    chosen_axes = range(x.ndim) if axis is None else np.atleast_1d(axis)
    axes = sorted({int(a) % max(x.ndim, 1) for a in chosen_axes}, reverse=True)
    for a in axes:
        if x.shape[a] == 0:
            raise ValueError("zero-size array to reduction operation which has no identity")
        x = reduce(rule, (np.take(x, [k], axis=a) for k in range(x.shape[a])))
    return x if keepdims else np.squeeze(x, axis=tuple(axes)) if axes else x


REDUCED: dict[np.ufunc, Rule] = {
    np.minimum: minimum,
    np.maximum: maximum,
    np.logical_and: both,
    np.logical_or: either,
}


def sum_of(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.sum(objects(x), axis=axis, keepdims=keepdims)


def prod_of(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.prod(objects(x), axis=axis, keepdims=keepdims)


def mean_of(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    total = sum_of(x, axis, keepdims)
    return multiply(total, np.size(total) / np.size(objects(x)))


def var_of(x: Any, axis: Any = None, *, ddof: float = 0.0, keepdims: bool = False) -> Any:
    x = objects(x)
    away = subtract(x, mean_of(x, axis, keepdims=True))
    total = sum_of(multiply(away, away), axis, keepdims)
    return multiply(total, 1.0 / (np.size(x) / np.size(total) - ddof))


def std_of(x: Any, axis: Any = None, *, ddof: float = 0.0, keepdims: bool = False) -> Any:
    return sqrt(var_of(x, axis, ddof=ddof, keepdims=keepdims))


def min_of(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced(minimum, x, axis, keepdims)


def max_of(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced(maximum, x, axis, keepdims)


def all_of(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced(both, as_mask(x), axis, keepdims)


def any_of(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced(either, as_mask(x), axis, keepdims)


def ptp_of(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return subtract(max_of(x, axis, keepdims), min_of(x, axis, keepdims))


def count_of(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return sum_of(as_mask(x), axis, keepdims)


def average_of(x: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    if weights is None:
        return mean_of(x, axis, keepdims)
    x, weights = objects(x), objects(weights)
    if weights.ndim != x.ndim:
        shape = [1] * x.ndim
        shape[0 if axis is None else axis] = -1
        weights = weights.reshape(shape)
    weights = np.broadcast_to(weights, x.shape)
    return divide(sum_of(multiply(x, weights), axis, keepdims), sum_of(weights, axis, keepdims))


_MOST_SORTED = 32  # entries: comparisons grow with their square


def sort(x: Any, axis: Any = -1) -> np.ndarray:
    """The entries along an axis in rising order, by exchanges of neighbours."""
    x = objects(x).ravel() if axis is None else objects(x)
    rows = np.moveaxis(x, -1 if axis is None else axis, 0).copy()
    if len(rows) > _MOST_SORTED:
        refuse(f"sorts {len(rows)} entries", f"expected up to {_MOST_SORTED}")
    for k in range(len(rows)):
        for i in range(k % 2, len(rows) - 1, 2):
            low, high = rows[i : i + 1], rows[i + 1 : i + 2]
            low[...], high[...] = minimum(low, high), maximum(low, high)
    return np.moveaxis(rows, 0, -1 if axis is None else axis)


def median_of(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    rows = np.moveaxis(sort(x, axis), -1 if axis is None else axis, 0)
    half = len(rows) // 2
    made = rows[half] if len(rows) % 2 else multiply(0.5, add(rows[half - 1], rows[half]))
    if not keepdims:
        return made
    return np.reshape(made, (1,) * np.ndim(x)) if axis is None else np.expand_dims(made, axis)
