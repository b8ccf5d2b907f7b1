# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Symmetric positive definite block-tridiagonal systems, by three orders of elimination.

All take the diagonal blocks D (…, n, k, k), the blocks U (…, n, k, k) right of them, of which the
transposed stand below and the last one is zero, and right-hand sides R (…, n, k), and return the solution
(…, n, k). All Schur complements of such a matrix are positive definite: no pivot has to be searched for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from ...spatial import Array, Field, Tensor, matvec, transpose
from ...sweeps.heavy_paths import beside
from ...sweeps.links import Halving, Level, LinkSweeps
from .symmetric import factor, mirrored, solve, unit

Solver = Callable[[LinkSweeps, Array, Array, Array], Array]


@dataclass(frozen=True)
class BlockRow(Field):
    """D_i x_i + U_i x_i+1 + U_i-1^T x_i-1 = R_i."""

    D: Array
    U: Array
    R: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 2, 2)


@dataclass(frozen=True)
class Left(Field):
    """A row of the system once the rows after it are eliminated: D x = R."""

    D: Array
    R: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 2)


@dataclass(frozen=True)
class Following(Field):
    """The unknowns of the next row: x_i+1 = Y2 - Y1 x_i."""

    Y1: Array
    Y2: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 2)


@dataclass(frozen=True)
class Gone(Field):
    """An eliminated row: its unknowns are Y3 - Y1 x - Y2 x', from those of the rows that U couples it to."""

    U: Array
    Y1: Array
    Y2: Array
    Y3: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 2, 2, 2)


def serial(rows: LinkSweeps, D: Array, U: Array, R: Array) -> Array:
    """The solution, by elimination from the last row to the first.

    For constraint forces this is the articulated-body recursion in inverse form.

    Cost:   work O(n), span O(n).
    """

    def eliminate(row: BlockRow, later: Left) -> tuple[Left, Following]:
        pivots = factor(later.D)
        Y1, Y2 = solve(pivots, transpose(row.U)), solve(pivots, later.R)
        return Left(row.D - row.U @ Y1, row.R - row.U @ Y2), Following(Y1, Y2)

    def substitute(row: Following, x: Tensor) -> Tensor:
        return Tensor(row.Y2 - row.Y1 @ x.matrix)

    one = unit(D.shape[-1], D)
    first, following = rows.backward(eliminate, BlockRow(D, U, R[..., None]), Left(one, one[:, :1] * 0.0))
    x = Tensor(solve(factor(first.D), first.R))
    return rows.forward(substitute, following, x).matrix[..., 0]


def odd_even(rows: LinkSweeps, D: Array, U: Array, R: Array) -> Array:
    """The solution, by eliminating in every row its neighbours 1, 2, 4, … rows away.

    Source: Yang, Wu, Pan 2017, section IV (odd-even elimination), with indices and races repaired.
    Every row ends as the Schur complement of all others, reached by cancellation from both sides:
    it loses digits that `cyclic_reduction` keeps.

    Cost:   work O(n log n), span O(log n).
    """

    def meet(level: Level, row: BlockRow) -> BlockRow:
        D, U, R = row.D, level.coupled(row.U), row.R
        pivots = factor(D)
        next_to = partial(level.after, zero=False)  # beyond the ends no row is coupled to another
        later = [([next_to(x) for x in right], next_to(pivot)) for right, pivot in pivots]
        own = [([level.coupled(x) for x in right], level.coupled(pivot)) for right, pivot in pivots]
        E = transpose(solve(later, transpose(U)))
        K = level.kept(transpose(solve(own, U)))
        D = D - level.padded(E @ transpose(U)) - level.before(K) @ level.before(U, zero=False)
        R = R - level.padded(E @ level.after(R)) - level.before(K) @ level.before(R, zero=False)
        return BlockRow(mirrored(D), level.padded(-E @ level.after(row.U)), R)

    alone = rows.levels(meet, BlockRow(D, U, R[..., None]))
    return solve(factor(alone.D), alone.R)[..., 0]


def cyclic_reduction(rows: LinkSweeps, D: Array, U: Array, R: Array) -> Array:
    """The solution, by eliminating every second row, then every second row of the rest, and so on.

    Source: Buneman's and Hockney's block cyclic reduction; one step joins neighbouring links as
    Featherstone's divide-and-conquer algorithm (1999) does.

    Cost:   work O(n), span O(log n).
    """

    def goes(before: BlockRow, row: BlockRow) -> tuple[BlockRow, Gone]:
        k = D.shape[-1]
        Y = solve(factor(row.D), beside(beside(transpose(before.U), row.U), row.R))
        return before, Gone(row.U, Y[..., :k], Y[..., k : 2 * k], Y[..., 2 * k :])

    def precedes(row: BlockRow, after: Gone) -> BlockRow:
        return BlockRow(mirrored(row.D - row.U @ after.Y1), -row.U @ after.Y2, row.R - row.U @ after.Y3)

    def follows(row: BlockRow, before: Gone) -> BlockRow:
        left = transpose(before.U)
        return BlockRow(mirrored(row.D - left @ before.Y2), row.U, row.R - left @ before.Y3)

    def alone(row: BlockRow) -> tuple[None, Array]:
        return None, solve(factor(row.D), row.R)[..., 0]

    def between(gone: Gone, x: Array, later: Array) -> Array:
        return gone.Y3[..., 0] - matvec(gone.Y1, x) - matvec(gone.Y2, later)

    how = Halving(join=goes, close=alone, inside=between, precede=precedes, follow=follows)
    return rows.halved(how, BlockRow(D, U, R[..., None]))


SOLVERS: dict[str, Solver] = {"cyclic_reduction": cyclic_reduction, "odd_even": odd_even, "serial": serial}
