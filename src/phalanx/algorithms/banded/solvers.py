# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Symmetric positive definite block-tridiagonal systems, by three orders of elimination.

All take the diagonal blocks D (…, n, k, k), the blocks U (…, n-1, k, k) right of them, of which
the transposed stand below, and right-hand sides R (…, n, k), and return the solution (…, n, k).
All Schur complements of such a matrix are positive definite: no pivot has to be searched for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...spatial import Array, namespace, transpose
from ...sweeps.verbs import current
from .rows import beside, together, woven
from .symmetric import Factor, factor, solve

Solver = Callable[[Array, Array, Array], Array]


def serial(D: Array, U: Array, R: Array) -> Array:
    """The solution, by elimination from the last row to the first.

    For constraint forces this is the articulated-body recursion in inverse form.

    Cost:   work O(n), span O(n).
    """
    n, xp = R.shape[-2], namespace(D, R)
    D_i, R_i, kept = D[..., n - 1, :, :], R[..., n - 1, :, None], []
    for i in range(n - 2, -1, -1):
        U_i, rows = U[..., i, :, :], factor(D_i)
        Y1, Y2 = solve(rows, transpose(U_i)), solve(rows, R_i)
        kept.append((Y1, Y2))
        D_i, R_i = D[..., i, :, :] - U_i @ Y1, R[..., i, :, None] - U_i @ Y2
    x = [solve(factor(D_i), R_i)]
    for Y1, Y2 in reversed(kept):
        x.append(Y2 - Y1 @ x[-1])
    return xp.stack([x_i[..., 0] for x_i in x], axis=-2)


def odd_even(D: Array, U: Array, R: Array) -> Array:
    """The solution, by eliminating in every row its neighbours 1, 2, 4, … rows away.

    Source: Yang, Wu, Pan 2017, section IV (odd-even elimination), with indices and races repaired.
    Every row ends as the Schur complement of all others, reached by cancellation from both sides:
    it loses digits that `cyclic_reduction` keeps.

    Cost:   work O(n log n), span O(log n).
    """
    n, R, h = R.shape[-2], R[..., None], 1
    while h < n:
        rows = factor(D)
        later, earlier = _part(rows, slice(h, n)), _part(rows, slice(0, n - h))
        E = transpose(solve(later, transpose(U)))  # of rows i = 0 … n-h-1
        K = transpose(solve(earlier, U))  # of rows i = h … n-1
        D = D - _below(E @ transpose(U), h) - _above(K @ U, h)
        R = R - _below(E @ R[..., h:, :, :], h) - _above(K @ R[..., : n - h, :, :], h)
        U = -E[..., : max(n - 2 * h, 0), :, :] @ U[..., h:, :, :]
        h *= 2
    return solve(factor(D), R)[..., 0]


def cyclic_reduction(D: Array, U: Array, R: Array) -> Array:
    """The solution, by eliminating every second row, then every second row of the rest, and so on.

    Source: Buneman's and Hockney's block cyclic reduction; one step joins neighbouring links as
    Featherstone's divide-and-conquer algorithm (1999) does.

    Cost:   work O(n), span O(log n).
    """
    n = R.shape[-2]
    if n == 1:
        return solve(factor(D), R[..., None])[..., 0]
    kept, gone = (n + 1) // 2, n // 2
    before, after = U[..., 0::2, :, :], U[..., 1::2, :, :]  # an eliminated row's couplings to both sides
    after = _below(after, gone - after.shape[-3])
    R = R[..., None]
    Y1, Y2, Y3 = _solved(D[..., 1::2, :, :], transpose(before), after, R[..., 1::2, :, :])
    at = transpose(after)[..., : kept - 1, :, :]  # what eliminated rows do to the row after them
    D_even = D[..., 0::2, :, :] - _below(before @ Y1, kept - gone) - _above(at @ Y2[..., : kept - 1, :, :], 1)
    R_even = R[..., 0::2, :, :] - _below(before @ Y3, kept - gone) - _above(at @ Y3[..., : kept - 1, :, :], 1)
    U_even = (-before @ Y2)[..., : kept - 1, :, :]
    x_even = cyclic_reduction(D_even, U_even, R_even[..., 0])[..., None]
    x_odd = Y3 - Y1 @ x_even[..., :gone, :, :] - Y2 @ _below(x_even[..., 1:, :, :], gone - kept + 1)
    return woven(x_even[..., 0], x_odd[..., 0])


SOLVERS: dict[str, Solver] = {"cyclic_reduction": cyclic_reduction, "odd_even": odd_even, "serial": serial}


def tridiagonal(solver: str, D: Array, U: Array, R: Array) -> Array:
    """The solution by the solver of that name; U has a block for each row, of which the last is not read."""
    order = current()
    own = None if order is None else order.tridiagonal(solver, D, U, R)
    return SOLVERS[solver](D, U[..., :-1, :, :], R) if own is None else own


def _solved(D: Array, *parts: Array) -> list[Array]:
    """D^-1 times each of the parts (…, n, k, m)."""
    columns = parts[0]
    for part in parts[1:]:
        columns = beside(columns, part)
    solution, ends = solve(factor(D), columns), np.cumsum([part.shape[-1] for part in parts])
    return [solution[..., end - part.shape[-1] : end] for part, end in zip(parts, ends.tolist(), strict=True)]


def _part(rows: Factor, which: slice) -> Factor:
    """The factors of some block rows."""
    return [
        ([scaled[..., which, :, :] for scaled in right], pivot[..., which, :, :]) for right, pivot in rows
    ]


def _below(blocks: Array, count: int) -> Array:
    """Blocks with `count` zero blocks after them."""
    return _padded(blocks, count, last=True)


def _above(blocks: Array, count: int) -> Array:
    """Blocks with `count` zero blocks before them."""
    return _padded(blocks, count, last=False)


def _padded(blocks: Array, count: int, *, last: bool) -> Array:
    if not count:
        return blocks
    zeros = np.zeros((count, *blocks.shape[-2:])).astype(blocks.dtype)
    return together(blocks, zeros, 2) if last else together(zeros, blocks, 2)
