# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The solvers of `banded`, as steps on rows that stand for all."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ....algorithms.banded.symmetric import factor, solve
from ....spatial import Tensor, transpose
from ..stages.levels import ALL, EVEN, FIRST, ODD
from .elimination import Change, Elimination
from .places import chosen


def symmetric(E: Elimination, D: Any) -> Any:
    """Variables for the upper triangle of symmetric blocks (1, k, k), in both triangles."""
    k = D.shape[-1]
    i, j = np.triu_indices(k)
    packed = E.variables(D[0][i, j], D[0][i, j])
    full = np.empty((1, k, k), dtype=object)
    full[0, i, j], full[0, j, i] = packed, packed
    return full


def cyclic_reduction(order: Any, D: Any, U: Any, R: Any) -> Any:
    """`banded.cyclic_reduction` in place: rows go on their level and come back on it."""
    E = order.elimination(D, U, R)
    R = R[..., None]
    D, U, R = symmetric(E, D), E.variables(U, U), E.variables(R, R)
    Y1, Y2, Y3 = (E.variables(x) for x in (U, U, R))
    own, before, after = partial(E.at, 0), partial(E.inside, 1), partial(E.inside, 2)
    # A row that goes: its couplings to the row before, which it always has, and to the one after.
    columns = np.concatenate([transpose(E.at(1, U)), own(U), own(R)], axis=-1)
    solved, k = solve(factor(own(D)), columns), D.shape[-1]
    parts = [solved[..., :k], solved[..., k : 2 * k], solved[..., 2 * k :]]
    gone = [x for var, value in zip((Y1, Y2, Y3), parts, strict=True) for x in E.becomes(var, value)]
    E.steps.append(Change(ODD, (0, -1), gone))
    # A row that stays, between two that went.
    left = transpose(before(U))
    D_new = own(D) - own(U) @ after(Y1) - left @ before(Y2)
    R_new = own(R) - own(U) @ after(Y3) - left @ before(Y3)
    U_new = -own(U) @ after(Y2)
    stays = [*E.becomes(D, D_new), *E.becomes(R, R_new), *E.becomes(U, U_new)]
    E.steps.append(Change(EVEN, (0, -1, 1), stays))
    x = E.variables(R)
    E.last.append(Change(FIRST, (0,), E.becomes(x, solve(factor(own(D)), own(R)))))

    B = order.elimination(x, Y1, Y2, Y3)
    back = B.at(0, Y3) - B.at(0, Y1) @ B.at(1, x) - B.at(0, Y2) @ B.inside(2, x)
    B.outward = True
    B.steps.append(Change(ODD, (0, -1, 1), B.becomes(x, back)))
    return order.finished(B, x)[..., 0]


def odd_even(order: Any, D: Any, U: Any, R: Any) -> Any:
    """`banded.odd_even`: every row meets those h before and after it, all at once."""
    E = order.elimination(D, U, R)
    R = R[..., None]
    D, U, R = symmetric(E, D), E.variables(U, U), E.variables(R, R)
    K, L, U2, R2 = (E.variables(x) for x in (U, U, U, R))
    own, later, earlier = partial(E.at, 0), partial(E.inside, 1), partial(E.inside, 1)
    # Of each coupling between a row and a later one: how either is eliminated from the other.
    to_later = transpose(solve(factor(E.at(1, D)), transpose(own(U))))
    to_own = transpose(solve(factor(own(D)), own(U)))
    E.steps.append(Change(ALL, (0, 1), [*E.becomes(L, to_later), *E.becomes(K, to_own)]))
    U_new = -own(L) @ later(U)
    R_new = own(R) - own(L) @ later(R)
    D_new = own(D) - own(L) @ transpose(own(U))
    new = [*E.becomes(U2, U_new), *E.becomes(R2, R_new), *E.becomes(D, D_new)]
    E.steps.append(Change(ALL, (0, 1), new))
    D_new = own(D) - earlier(K) @ E.at(1, U)
    R_new = own(R2) - earlier(K) @ E.at(1, R)
    E.steps.append(Change(ALL, (0, -1), [*E.becomes(D, D_new), *E.becomes(R2, R_new)]))
    E.steps.append(Change(ALL, (0,), [*E.becomes(U, own(U2)), *E.becomes(R, own(R2))]))
    x = E.variables(R)
    E.last.append(Change(ALL, (0,), E.becomes(x, solve(factor(own(D)), own(R)))))
    return order.finished(E, x)[..., 0]


def serial(order: Any, D: Any, U: Any, R: Any) -> Any:
    """`banded.serial`: from the last row to the first, and back."""
    graph, k = order.graph, D.shape[-1]
    R = R[..., None]
    one = np.eye(k).astype(object)[None]
    later, leaves = order.carried(one, D, U, R, outward=False)
    right, more = order.carried(R * 0.0, D, U, R, outward=False)
    rows = factor(later)
    Y1, Y2 = solve(rows, transpose(U)), solve(rows, right)
    last = graph.at_body(graph.n - 1)
    D, R = chosen(graph, last, D, D - U @ Y1), chosen(graph, last, R, R - U @ Y2)
    order.close(leaves, D)
    order.close(more, R)
    D_0, R_0 = (order.first_row(Tensor(x)).matrix[None] for x in (D, R))
    x, leaves = order.carried(solve(factor(D_0), R_0), Y1, Y2, outward=True)
    order.close(leaves, Y2 - Y1 @ x)
    return x[..., 0]


SOLVERS = {"cyclic_reduction": cyclic_reduction, "odd_even": odd_even, "serial": serial}
