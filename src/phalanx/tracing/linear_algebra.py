# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""NumPy's linear algebra on small matrices of recording scalars: norms, systems, determinants."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ..program.ir import Scalar
from .elementwise import (
    absolute,
    add,
    chosen,
    divide,
    each,
    exp,
    greater,
    integer_power,
    less,
    log,
    multiply,
    objects,
    sqrt,
    subtract,
)
from .reductions import max_of, min_of, prod_of, sum_of
from .refusals import refuse

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
        known = sum_of(multiply(rows[..., k, k + 1 : n, None], x[..., k + 1 :, :]), axis=-2)
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
        factor[..., k, k] = sqrt(subtract(a[..., k, k], sum_of(multiply(left, left), axis=-1)))
        inverse = divide(1.0, factor[..., k, k])
        for i in range(k + 1, n):
            rest = subtract(a[..., i, k], sum_of(multiply(factor[..., i, :k], left), axis=-1))
            factor[..., i, k] = multiply(rest, inverse)
    return np.swapaxes(factor, -1, -2) if upper else factor


def det(a: Any) -> Any:
    """The determinant, by minors, which pass no pivots; of many rows by the factor of a definite matrix."""
    a = objects(a)
    n = a.shape[-1] if a.ndim else 0
    if n > _MOST_MINORS and is_definite(a):
        root = prod_of(np.diagonal(cholesky(a)))
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


class SignAndLogarithm(NamedTuple):
    """What np.linalg.slogdet returns."""

    sign: Any
    logabsdet: Any


def slogdet(a: Any) -> SignAndLogarithm:
    """The sign of a determinant and the logarithm of its magnitude."""
    a = objects(a)
    if is_definite(a):
        logarithms = log(np.diagonal(cholesky(a)))
        return SignAndLogarithm(objects(1.0), multiply(2.0, sum_of(logarithms)))
    found = det(a)
    return SignAndLogarithm(subtract(greater(found, 0.0), less(found, 0.0)), log(absolute(found)))


def matrix_power(a: Any, n: int) -> Any:
    a = objects(a)
    rows = _square(a, "takes a power of a matrix")
    made = np.broadcast_to(objects(np.eye(rows)), a.shape)
    factor = inv(a) if n < 0 else a
    for _ in range(abs(int(n))):
        made = np.matmul(made, factor)
    return made


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The length of a vector; of a matrix that of Frobenius, and the largest sum of a row or column."""
    x = objects(x)
    if axis is None and x.ndim > 2 and ord is None:
        axis = tuple(range(x.ndim))
    elif axis is None and x.ndim > 1:
        axis = (0, 1)
    if np.ndim(axis) == 0 or len(axis) == 1:
        return vector_norm(x, axis, keepdims, 2 if ord is None else ord)
    if ord is None and len(axis) > 2:
        return sqrt(sum_of(multiply(x, x), axis, keepdims))
    return matrix_norm(x, keepdims, "fro" if ord is None else ord, axis)


def vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = objects(x)
    if ord == 2:
        return sqrt(sum_of(multiply(x, x), axis, keepdims))
    if ord == 1:
        return sum_of(absolute(x), axis, keepdims)
    if ord in (np.inf, -np.inf):
        return (max_of if ord > 0 else min_of)(absolute(x), axis, keepdims)
    if isinstance(ord, int) and ord > 2:
        powers = each(lambda graph, entry: integer_power(graph, entry, ord), absolute(x))
        total = sum_of(powers, axis, keepdims)
        return exp(multiply(log(total), 1.0 / ord))
    return refuse(f"takes a norm of order {ord!r}", "expected a whole order from 1 on, or np.inf")


def matrix_norm(x: Any, keepdims: bool = False, ord: Any = "fro", axis: Any = (-2, -1)) -> Any:
    x = objects(x)
    if ord == "fro":
        return sqrt(sum_of(multiply(x, x), axis, keepdims))
    if ord not in (1, -1, np.inf, -np.inf):
        refuse(f"takes a norm of order {ord!r} of a matrix", 'expected "fro", 1 or np.inf')
    rows, columns = (k % x.ndim for k in axis)
    summed, others = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = sum_of(absolute(x), summed, keepdims=True)
    made = (max_of if ord > 0 else min_of)(sums, others, keepdims=True)
    return made if keepdims else np.squeeze(made, axis=(rows, columns))
