# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""NumPy's functions of arrays on arrays of recording scalars: a rule for each that functions may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np

from ..program.ir import Scalar
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


def _sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.sum(objects(x), axis=axis, keepdims=keepdims)


def _prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.prod(objects(x), axis=axis, keepdims=keepdims)


def _mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    total = _sum(x, axis, keepdims)
    return multiply(total, np.size(total) / np.size(objects(x)))


def _var(x: Any, axis: Any = None, *, ddof: float = 0.0, keepdims: bool = False) -> Any:
    x = objects(x)
    away = subtract(x, _mean(x, axis, keepdims=True))
    total = _sum(multiply(away, away), axis, keepdims)
    return multiply(total, 1.0 / (np.size(x) / np.size(total) - ddof))


def _std(x: Any, axis: Any = None, *, ddof: float = 0.0, keepdims: bool = False) -> Any:
    return sqrt(_var(x, axis, ddof=ddof, keepdims=keepdims))


def _block(rows: Any) -> Any:
    """Blocks joined along the last axis, rows of them along the one before."""
    rows = rows if isinstance(rows, list) else [rows]
    if any(isinstance(x, list) for row in rows if isinstance(row, list) for x in row):
        refuse(
            "joins blocks of blocks of blocks", "expected rows of blocks, as in np.block([[A, B], [C, D]])"
        )
    if not any(isinstance(row, list) for row in rows):
        return np.concatenate([np.atleast_1d(objects(x)) for x in rows], axis=-1)
    return np.concatenate(
        [np.concatenate([np.atleast_2d(objects(x)) for x in row], axis=-1) for row in rows], axis=-2
    )


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
    """Straight lines between points at known abscissae xp; fp may be traced."""
    nodes = objects(xp)
    if nodes.ndim != 1 or not all(known(p) for p in nodes) or (np.diff(nodes.astype(float)) <= 0.0).any():
        refuse(
            "interpolates between abscissae that are traced or do not rise",
            "use np.interp(x, xp, fp) of numbers xp",
        )
    heights = objects(fp)
    made = objects(heights[0])
    for a, b, low, high in zip(nodes, nodes[1:], heights, heights[1:], strict=False):
        slope = divide(subtract(high, low), b - a)
        made = add(made, multiply(slope, subtract(clip(x, a, b), a)))
    made = made if left is None else where(less(x, nodes[0]), left, made)
    return made if right is None else where(greater(x, nodes[-1]), right, made)


def polyval(p: Any, x: Any) -> Any:
    made: Any = np.zeros(np.shape(objects(x)))
    for a in objects(p):
        made = add(multiply(made, x), a)
    return made


_MOST_MINORS = 6  # rows of a determinant: the terms double with each
MOST_SOLVED, MOST_DEFINITE = 12, 40  # rows of a system of equations; of one with a definite matrix


def solve(a: Any, b: Any) -> Any:
    """The solution of a x = b by elimination, the largest entry of each column its pivot.

    Matrices of the robot that are known to be definite need no pivots, and half of the elimination.
    """
    a, b = objects(a), objects(b)
    n = _square(a, "solves a system of equations")
    vector = b.ndim == 1
    b = b[..., None] if vector else b
    if definite := is_definite(a):  # from the tips to the root there is no fill-in
        a, b = a[::-1, ::-1], b[..., ::-1, :]
    rows = np.concatenate([np.broadcast_to(x, (*b.shape[:-2], *x.shape[-2:])) for x in (a, b)], axis=-1)
    pivots: list[Any] = []
    for k in range(n):
        for i in range(k + 1, n) if not definite else ():
            below = greater(absolute(rows[..., i, k]), absolute(rows[..., k, k]))[..., None]
            one, other = rows[..., k, k:].copy(), rows[..., i, k:].copy()
            rows[..., k, k:], rows[..., i, k:] = chosen(below, other, one), chosen(below, one, other)
        pivots.append(divide(1.0, rows[..., k, k])[..., None])  # one division for the whole column
        for i in range(k + 1, n):
            first, column = (i, rows[..., k, i]) if definite else (k + 1, rows[..., i, k])
            factor = multiply(column[..., None], pivots[k])
            rows[..., i, first:] = subtract(rows[..., i, first:], multiply(factor, rows[..., k, first:]))
    x = rows[..., n:].copy()
    for k in reversed(range(n)):
        known = _sum(multiply(rows[..., k, k + 1 : n, None], x[..., k + 1 :, :]), axis=-2)
        x[..., k, :] = multiply(subtract(x[..., k, :], known), pivots[k])
    x = x[..., ::-1, :] if definite else x
    return x[..., 0] if vector else x


def is_definite(a: np.ndarray) -> bool:
    """Whether a matrix is one that is known to be symmetric and positive definite."""
    graph = next((x.graph for x in a.ravel() if isinstance(x, Scalar)), None)
    return graph is not None and a.ndim == 2 and matrix_key(a) in graph.definite


def matrix_key(a: np.ndarray) -> tuple[Any, ...]:
    """The entries of a matrix as a key: equal operations are one node."""
    return tuple(x.number if isinstance(x, Scalar) else ("constant", float(x)) for x in a.ravel().tolist())


@np.errstate(invalid="ignore")  # NaN is refused in the result
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """The lower triangular factor L of a positive definite matrix L L^T; only its lower half is read."""
    a = objects(a)
    n = _square(a, "factors a matrix")
    factor = np.zeros(a.shape, dtype=object)
    for k in range(n):
        left = factor[..., k, :k]
        factor[..., k, k] = sqrt(subtract(a[..., k, k], _sum(multiply(left, left), axis=-1)))
        inverse = divide(1.0, factor[..., k, k])
        for i in range(k + 1, n):
            rest = subtract(a[..., i, k], _sum(multiply(factor[..., i, :k], left), axis=-1))
            factor[..., i, k] = multiply(rest, inverse)
    return np.swapaxes(factor, -1, -2) if upper else factor


def det(a: Any) -> Any:
    """The determinant, by minors, which pass no pivots; of many rows by the factor of a definite matrix."""
    a = objects(a)
    n = a.shape[-1] if a.ndim else 0
    if n > _MOST_MINORS and is_definite(a):
        root = _prod(np.diagonal(cholesky(a)))
        return multiply(root, root)
    if a.ndim < 2 or a.shape[-2] != n or n > _MOST_MINORS:
        refuse(
            f"takes the determinant of a matrix of shape {a.shape}",
            f"expected a square one of up to {_MOST_MINORS} rows",
        )
    minors: dict[tuple[int, ...], Any] = {(): 1.0}  # of the rows below, by their columns
    for row in reversed(range(n)):
        minors = {
            columns: _alternating(
                [
                    multiply(a[..., row, c], minors[columns[:k] + columns[k + 1 :]])
                    for k, c in enumerate(columns)
                ]
            )
            for columns in combinations(range(n), n - row)
        }
    return minors[tuple(range(n))]


def _alternating(terms: list[Any]) -> Any:
    """The first term, less the second, with the third, and so on."""
    found = terms[0]
    for k, term in enumerate(terms[1:]):
        found = add(found, term) if k % 2 else subtract(found, term)
    return found


def inv(a: Any) -> Any:
    return solve(a, np.eye(_square(objects(a), "inverts a matrix")))


def _square(a: np.ndarray, what: str) -> int:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        refuse(f"{what} with a matrix of shape {a.shape}", "expected a square one")
    most = MOST_DEFINITE if is_definite(a) else MOST_SOLVED
    if a.shape[-1] > most:
        refuse(
            f"{what} of {a.shape[-1]} rows, more than {most}",
            "robot.forward_dynamics and robot.mass_matrix_inverse do so for the robot's own",
        )
    return a.shape[-1]


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
    np.var: _var,
    np.std: _std,
    np.block: _block,
    np.matrix_transpose: lambda x: np.swapaxes(objects(x), -1, -2),
    np.linalg.multi_dot: lambda arrays: reduce(np.dot, map(objects, arrays)),
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
    np.linalg.cholesky: cholesky,
    np.linalg.det: det,
    np.zeros_like: _alike(0.0),
    np.ones_like: _alike(1.0),
    np.empty_like: _alike(0.0),
    np.full_like: full_like,
}
