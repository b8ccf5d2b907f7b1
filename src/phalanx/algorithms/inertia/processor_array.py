# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix on a triangular array of processors, everything seen from the end effector."""

from functools import cache
from typing import Any, NamedTuple

from ...dh import offsets, rotations
from ...dh.motion import first_axis
from ...model import Model, diagonal
from ...spatial import Array, Tensor, cross, matvec, rotated, transpose, unpack
from ...sweeps import relay
from ...triangle import Level, Triangle, at_places, back_along_chain, shifted, strides, triangle
from ..registry import algorithm
from .frames import by_joint, identity, moments, project


@algorithm(
    "mass_matrix",
    source="Fijany, Serial and Parallel Computation of Kane's Equations: PA, PPA, n(n+1)/2 processors",
    topology="chain",
    joints="turning, sliding",
    frames="dh",
    work="O(n^2 log n)",
    span="O(log n)",
    options={"processors": ("n(n+1)/2", "n")},
)
def processor_array(model: Model, q: Array, *, processors: str = "n(n+1)/2") -> Array:
    """The mass matrix `M` (…, nv, nv) of a chain; processor (j, i), j >= i, yields a_ji.

    On n processors, one for each column, the sums within columns run row by row: span O(n).

    Source: Fijany, "Serial and Parallel Computation of Kane's Equations for Multibody Dynamics",
    PA for VN-EB, repaired: arms, first and second moments all refer to O_j.
    Cost:   work O(n^2 log n), span O(log n): ceil(log2 n) steps for each of R, P, F and N.
    """
    chain, pair, plan = model.dh, triangle(model.dh.n), steps(model.dh.n, processors)
    A = rotations(chain, q)
    p, h, k = (at_places(x, plan.rows) for x in (offsets(chain, q), *moments(chain, q)))
    # Step 1: R(n+1,j), then R(n+1,j+1) from the next row; Z(j), P(j+1,j) and H(j) in frame n+1.
    R = at_places(Tensor(transpose(A)), plan.rows)
    (R,) = relay(plan.rotations, (R,), lambda own, next: (next[0] @ own[0],), links=plan.rows)[-1]
    Rn = shifted(R, plan.next_holder, end=Tensor(identity(A)))
    Z = R @ first_axis(chain)
    P = Rn @ p
    H = Rn @ h
    Zj, P, H = (at_places(x, plan.holder) for x in (Z, P, H))
    Zi, turns = at_places(Zj, plan.first), chain.turns[pair.column]
    # Step 2: wd, V, F(j+1,j,i) and N(j+1,j,i).
    plus = lambda own, other: (own[0] + other[0],)  # noqa: E731
    (arm,) = relay(plan.outward, (shifted(P, plan.before),), plus, links=pair.row)[-1]
    wd = by_joint(turns, Zi, 0.0)
    V = by_joint(turns, cross(Zi, arm), Zi)
    F = cross(wd, H) + pair.of_rows(chain.m[:, None]) * V
    if processors == "n":  # a column meets every K, so each is projected once
        N = matvec(unpack(at_places(rotated(Rn.matrix, k), plan.holder)), wd) + cross(H, V)
    else:
        N = Rn @ matvec(unpack(k), Rn.T @ wd) + cross(H, V)
    # Step 3: F(n+1,j,i), then F(n+1,j+1,i) from the next row, N(n+1,j,i) and a_ji.
    (F,) = relay(plan.inward, (F,), plus, links=pair.row)[-1]
    N = N + cross(P, shifted(F, plan.after))
    (N,) = relay(plan.inward, (N,), plus, links=pair.row)[-1]
    a = project(chain.turns[pair.row], Zj, N, F)
    return pair.matrix(a) + diagonal(chain.armature)


class Steps(NamedTuple):
    """Who works when, as levels of (receiver, sender), and who reads from whom in between.

    Rotations are held by all processors, or by the n of them that hold one row each.
    """

    rows: Any  # of each holder of a rotation
    rotations: list[Level]  # among the holders
    next_holder: Any  # the holder one row further out; -1 beyond the last row
    holder: Any  # that serves each pair
    outward: list[Level]  # among the pairs
    inward: list[Level]
    before: Any  # the pair one row further in, same column; -1 before the diagonal
    after: Any  # the pair one row further out, same column; -1 beyond the last row
    first: Any  # the pair on the diagonal of the same column


def steps(n: int, processors: str = "n(n+1)/2") -> Steps:
    """The steps of n (n + 1) / 2 processors, one for each pair, or of n processors, one for each column.

    A column of the array meets rows 1, 2, 4, … away; a single processor takes its column row by row.
    """
    pair = triangle(n)
    # Those of arrays are remembered; an order with pairs of its own has nothing to work out.
    return _steps(pair, n, processors) if type(pair) is Triangle else _worked_out(pair, n, processors)


def _worked_out(pair: Triangle, n: int, processors: str) -> Steps:
    jumps = strides(n)
    before, after, first = pair.neighbour(-1), pair.neighbour(1), pair.place[pair.column, pair.column]
    if processors == "n":
        rows, held = pair.row[:n], back_along_chain(n, jumps)
        next_holder = after[:n]  # the first column of the array is the chain itself
        return Steps(rows, held, next_holder, pair.row, pair.outward(), pair.inward(), before, after, first)
    inward, everyone = pair.inward(jumps), pair.place[pair.row, pair.column]
    return Steps(pair.row, inward, after, everyone, pair.outward(jumps), inward, before, after, first)


_steps = cache(_worked_out)
