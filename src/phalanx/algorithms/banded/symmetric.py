# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Small symmetric matrices, many at once: factors, solutions and exchanges in plain arithmetic.

Loops run over rows of one small matrix, arrays over everything else; no pivot is chosen from
values, so that the same text serves floats, JAX arrays and traced scalars. Only the upper triangle
of a symmetric argument is read.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ...spatial import Array, namespace, transpose

Factor = list[tuple[list[Array], Array]]  # for each row: its entries right of the pivot over it, 1 / pivot


def factor(A: Array) -> Factor:
    """The unit upper triangular L^T and D^-1 of positive definite A = L D L^T (…, k, k), row by row.

    Entries are arrays of their own (…, 1, 1): slices of slices would make XLA compute them again and
    again, and cost NumPy no less.
    """
    size, rows = A.shape[-1], []
    a = {(i, j): A[..., i : i + 1, j : j + 1] for i in range(size) for j in range(i, size)}
    for i in range(size):
        pivot = 1.0 / a[i, i]
        right = [a[i, j] * pivot for j in range(i + 1, size)]
        for j, scaled in enumerate(right, i + 1):
            for m in range(j, size):
                a[j, m] = a[j, m] - scaled * a[i, m]
        rows.append((right, pivot))
    return rows


def solve(rows: Factor, B: Array) -> Array:
    """X (…, k, m) with A X = B, from the factor of A."""
    x = [B[..., i : i + 1, :] for i in range(len(rows))]
    for i, (right, _) in enumerate(rows):
        for j, scaled in enumerate(right, i + 1):
            x[j] = x[j] - scaled * x[i]
    for i in range(len(rows) - 1, -1, -1):
        right, pivot = rows[i]
        x[i] = x[i] * pivot
        for j, scaled in enumerate(right, i + 1):
            x[i] = x[i] - scaled * x[j]
    return namespace(B).concatenate(x, axis=-2)


def inverse(A: Array) -> Array:
    """The inverse (…, k, k) of positive definite A."""
    return mirrored(solve(factor(A), unit(A.shape[-1], A)))


def mirrored(A: Array) -> Array:
    """The symmetric matrix with the upper triangle of A.

    Articulated inertias that are let grow asymmetric lose two digits along a thousand links.
    """
    upper, lower = _corners(A.shape[-1])
    return A[..., upper, lower]


def congruent(Phi: Array, P: Array) -> Array:
    """Phi P Phi^T for symmetric P."""
    return mirrored(Phi @ P @ transpose(Phi))


def unit(size: int, like: Array) -> Array:
    """The unit matrix in the precision of `like`."""
    return np.eye(size).astype(like.dtype)


def interface(P: Array, C: Array) -> tuple[Array, Array, Array]:
    """(P G, G, G C) with G = (1 + C P)^-1 for symmetric P and C: the response of two joined ports.

    They are the blocks of the inverse of [[-P, 1], [1, C]]. The pairs (a_i, f_i) of its unknowns are
    exchanged one after another: the pivots have the determinants of 1 + C_kk P_kk of the leading parts,
    which are positive, so that nothing has to be searched for, though C may be singular.
    """
    size, xp = P.shape[-1], namespace(P, C)
    shape = np.broadcast_shapes(P.shape, C.shape)
    P, C, one = (xp.broadcast_to(block, shape) for block in (P, C, unit(size, P)))
    K = xp.concatenate([xp.concatenate([-P, one], axis=-1), xp.concatenate([one, C], axis=-1)], axis=-2)
    pairs = np.arange(2 * size).reshape(2, size).T.ravel()
    K = K[..., pairs[:, None], pairs]
    for _ in range(size):
        K = _exchanged(K)
    back = np.argsort(pairs)
    K = K[..., back[:, None], back]
    return -K[..., size:, size:], -K[..., :size, size:], K[..., :size, :size]


def _exchanged(K: Array) -> Array:
    """K with its first two unknowns and right-hand sides exchanged, and moved to the end."""
    xp = namespace(K)
    p, y, c = K[..., :1, :1], K[..., :1, 1:2], K[..., 1:2, 1:2]
    top, bottom, rest = K[..., :1, 2:], K[..., 1:2, 2:], K[..., 2:, 2:]
    scale = 1.0 / (p * c - y * y)
    p, y, c = p * scale, y * scale, c * scale
    first, second = c * top - y * bottom, p * bottom - y * top
    rest = mirrored(rest - transpose(top) * first - transpose(bottom) * second)
    moved = xp.concatenate([first, second], axis=-2)
    corner = xp.concatenate([xp.concatenate([-c, y], axis=-1), xp.concatenate([y, -p], axis=-1)], axis=-2)
    upper = xp.concatenate([rest, transpose(moved)], axis=-1)
    return xp.concatenate([upper, xp.concatenate([moved, corner], axis=-1)], axis=-2)


@cache
def _corners(size: int) -> tuple[np.ndarray, np.ndarray]:
    index = np.arange(size)
    return np.minimum(index[:, None], index), np.maximum(index[:, None], index)
