# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""NumPy's functions of arrays on arrays of recording scalars: a rule for each that a law may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np

from .elementwise import (
    absolute,
    add,
    as_mask,
    both,
    chosen,
    divide,
    either,
    greater,
    known,
    less,
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
    asked = range(x.ndim) if axis is None else np.atleast_1d(axis)
    axes = sorted({int(a) % max(x.ndim, 1) for a in asked}, reverse=True)
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


def _sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.sum(objects(x), axis=axis, keepdims=keepdims)


def _prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.prod(objects(x), axis=axis, keepdims=keepdims)


def _mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    total = _sum(x, axis, keepdims)
    return multiply(total, np.size(total) / np.size(objects(x)))


def _min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced(minimum, x, axis, keepdims)


def _max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced(maximum, x, axis, keepdims)


def _all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced(both, as_mask(x), axis, keepdims)


def _any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced(either, as_mask(x), axis, keepdims)


def clip(x: Any, lower: Any = None, upper: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """x, but not below `lower` nor above `upper`."""
    lower, upper = (min if lower is None else lower), (max if upper is None else upper)
    if lower is not None:
        x = maximum(x, lower)
    return x if upper is None else minimum(x, upper)


def where(mask: Any, *values: Any) -> Any:
    if len(values) != 2:
        refuse("asks where a traced value is not zero", "use np.where(condition, a, b) with both values")
    return chosen(as_mask(mask), *values)


def select(conditions: Iterable[Any], values: Iterable[Any], default: Any = 0.0) -> Any:
    made = default
    for mask, value in reversed(list(zip(conditions, values, strict=True))):
        made = where(mask, value, made)
    return made


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The length of a vector; of a matrix only that of Frobenius."""
    x = objects(x)
    if (axis is None and x.ndim > 1 and ord not in (None, "fro")) or np.ndim(axis) > 0:
        refuse(f"takes a norm of order {ord!r} of a matrix", "use np.linalg.norm(x, axis=k) of vectors")
    if ord in (None, 2, "fro"):
        return sqrt(_sum(multiply(x, x), axis, keepdims))
    if ord == 1:
        return _sum(absolute(x), axis, keepdims)
    if ord in (np.inf, -np.inf):
        return reduced(maximum if ord > 0 else minimum, absolute(x), axis, keepdims)
    return refuse(f"takes a norm of order {ord!r}", "expected 2, 1 or np.inf")


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """Straight lines between points at known places xp; fp may be traced."""
    places = objects(xp)
    if places.ndim != 1 or not all(known(p) for p in places) or (np.diff(places.astype(float)) <= 0.0).any():
        refuse(
            "interpolates between places that are traced or do not rise",
            "use np.interp(x, xp, fp) of numbers xp",
        )
    heights = objects(fp)
    made = objects(heights[0])
    for a, b, low, high in zip(places, places[1:], heights, heights[1:], strict=False):
        slope = divide(subtract(high, low), b - a)
        made = add(made, multiply(slope, subtract(clip(x, a, b), a)))
    made = made if left is None else where(less(x, places[0]), left, made)
    return made if right is None else where(greater(x, places[-1]), right, made)


def polyval(p: Any, x: Any) -> Any:
    made: Any = np.zeros(np.shape(objects(x)))
    for a in objects(p):
        made = add(multiply(made, x), a)
    return made


MOST_SOLVED = 12  # rows of a system of equations


def solve(a: Any, b: Any) -> Any:
    """The solution of a x = b by elimination, the largest entry of each column its pivot."""
    a, b = objects(a), objects(b)
    n = _square(a, "solves a system of equations")
    vector = b.ndim == 1
    b = b[..., None] if vector else b
    rows = np.concatenate([np.broadcast_to(x, (*b.shape[:-2], *x.shape[-2:])) for x in (a, b)], axis=-1)
    for k in range(n):
        for i in range(k + 1, n):
            below = greater(absolute(rows[..., i, k]), absolute(rows[..., k, k]))[..., None]
            one, other = rows[..., k, k:].copy(), rows[..., i, k:].copy()
            rows[..., k, k:], rows[..., i, k:] = chosen(below, other, one), chosen(below, one, other)
        for i in range(k + 1, n):
            factor = divide(rows[..., i, k], rows[..., k, k])[..., None]
            rows[..., i, k + 1 :] = subtract(rows[..., i, k + 1 :], multiply(factor, rows[..., k, k + 1 :]))
    x = rows[..., n:].copy()
    for k in reversed(range(n)):
        known = _sum(multiply(rows[..., k, k + 1 : n, None], x[..., k + 1 :, :]), axis=-2)
        x[..., k, :] = divide(subtract(x[..., k, :], known), rows[..., k, k, None])
    return x[..., 0] if vector else x


def inv(a: Any) -> Any:
    return solve(a, np.eye(_square(objects(a), "inverts a matrix")))


def _square(a: np.ndarray, what: str) -> int:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        refuse(f"{what} with a matrix of shape {a.shape}", "expected a square one")
    if len(a) > MOST_SOLVED:
        refuse(
            f"{what} of {len(a)} rows, more than {MOST_SOLVED}",
            "robot.forward_dynamics and robot.mass_matrix_inverse do so for the robot's own",
        )
    return len(a)


def _alike(fill: float) -> Rule:
    def rule(x: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Any:
        return np.full(np.shape(objects(x)) if shape is None else shape, fill, dtype=object)

    return rule


def full_like(
    x: Any, fill_value: Any, dtype: Any = None, *more: Any, shape: Any = None, **unused: Any
) -> Any:
    return np.broadcast_to(objects(fill_value), np.shape(objects(x)) if shape is None else shape).copy()


# Those that only move entries, and those that NumPy makes of sums and products: it does so with objects, too.
MOVES: tuple[Rule, ...] = (
    np.append,
    np.atleast_1d,
    np.atleast_2d,
    np.broadcast_to,
    np.column_stack,
    np.concatenate,
    np.copy,
    np.delete,
    np.diag,
    np.diagonal,
    np.expand_dims,
    np.flip,
    np.hstack,
    np.insert,
    np.moveaxis,
    np.ravel,
    np.repeat,
    np.reshape,
    np.roll,
    np.split,
    np.array_split,
    np.squeeze,
    np.stack,
    np.swapaxes,
    np.take,
    np.tile,
    np.transpose,
    np.tril,
    np.triu,
    np.vstack,
)
SUMS: tuple[Rule, ...] = (
    np.cross,
    np.cumsum,
    np.cumprod,
    np.diff,
    np.dot,
    np.einsum,
    np.inner,
    np.kron,
    np.outer,
    np.tensordot,
    np.trace,
)
FACTS: tuple[Rule, ...] = (np.shape, np.ndim, np.size)  # that are known
OWN: dict[Rule, Rule] = {
    np.sum: _sum,
    np.prod: _prod,
    np.mean: _mean,
    np.min: _min,
    np.max: _max,
    np.amin: _min,
    np.amax: _max,
    np.all: _all,
    np.any: _any,
    np.clip: clip,
    np.where: where,
    np.select: select,
    np.interp: interp,
    np.polyval: polyval,
    np.vdot: lambda a, b: np.dot(objects(a).ravel(), objects(b).ravel()),
    np.linalg.norm: norm,
    np.linalg.solve: solve,
    np.linalg.inv: inv,
    np.zeros_like: _alike(0.0),
    np.ones_like: _alike(1.0),
    np.empty_like: _alike(0.0),
    np.full_like: full_like,
}
