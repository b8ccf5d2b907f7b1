# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix on a triangular array of processors, seen from the end effector or from the base."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...errors import PhalanxError
from ...robot.dh.chain import DHChain, first_axis, offsets, rotations
from ...robot.model import Model, diagonal
from ...spatial import Array, Tensor, cross, double_cross, matvec, rotated, transpose, unpack
from ...sweeps.triangle import (
    Level,
    Triangle,
    along_chain,
    back_along_chain,
    gather,
    shifted,
    strides,
    triangle,
)
from ...sweeps.verbs import parent, relay
from ..registry import algorithm
from .frames import along_ancestors, by_joint, identity, moments, project


@algorithm(
    "mass_matrix",
    source="Fijany, Serial and Parallel Computation of Kane's Equations: PA, PPA, n(n+1)/2 processors",
    topology="chain",
    joints="turning, sliding",
    frames="dh",
    work="O(n^2 log n)",
    span="O(log n)",
    options={
        "processors": ("n(n+1)/2", "n"),
        "form": ("newton_euler", "composite", "composite_base"),
        "moment": ("apart", "inside"),
    },
)
def processor_array(
    model: Model,
    q: Array,
    *,
    processors: str = "n(n+1)/2",
    form: str = "newton_euler",
    moment: str = "apart",
) -> Array:
    """The mass matrix `M` (…, nv, nv) of a chain; processor (j, i), j >= i, yields a_ji.

    On n processors, one for each column, the sums within columns run row by row: span O(n). `form` is that
    of the equations: "newton_euler" (VN-EB) or "composite" rigid bodies (VCR-B). In the first, moments are
    summed after the forces of the next row have acted on them ("apart", as listed), or together with the
    forces, the cross product "inside" the sums; with K turned as a whole, that is what the table of costs
    charges. Composite bodies have the frame of the end effector; with "composite_base" that of the base,
    which the slides recommend for them: the processors of the first column do all but the last step.

    Source: Fijany, "Serial and Parallel Computation of Kane's Equations for Multibody Dynamics",
    PA for VN-EB, repaired: arms, first and second moments all refer to O_j. PA and PPA for VCR-B are given
    by their cost only; derived here. A column of the array holds the links up to the tip, so that seen from
    the end effector it needs nothing from other columns; only the first one holds those down to the base.
    Cost:   work O(n^2 log n), span O(log n): ceil(log2 n) steps for each of R, P, F and N.
    """
    require_summed(form, moment)
    chain, pair, plan = model.dh, triangle(model.dh.n), steps(model.dh.n, processors)
    if form == "composite_base":
        return seen_from_base(chain, q, pair, processors) + diagonal(chain.armature)
    A = rotations(chain, q)
    p, h, k = (gather(x, plan.rows) for x in (offsets(chain, q), *moments(chain, q)))
    # Step 1: R(n+1,j), then R(n+1,j+1) from the next row; Z(j), P(j+1,j) and H(j) in frame n+1.
    R = gather(Tensor(transpose(A)), plan.rows)
    (R,) = relay(plan.rotations, (R,), lambda own, next: (next[0] @ own[0],), links=plan.rows)[-1]
    Rn = shifted(R, plan.next_holder, end=Tensor(identity(A)))
    Z = R @ first_axis(chain)
    P = Rn @ p
    H = Rn @ h
    if form == "composite":
        K = Rn @ Tensor(unpack(k)) @ Rn.T
        M, H, K, _ = composite(chain, plan, P, H, K)
        f, n = unit_wrenches(chain, plan, Z, M, H, K)
        if processors == "n":
            entries = along_ancestors(n, f, Z, parent(P), chain.turns)
        else:
            entries = pair.matrix(at_arms(chain, pair, plan, Z, P, f, n))
        return entries + diagonal(chain.armature)
    Zj, P, H = (gather(x, plan.holder) for x in (Z, P, H))
    Zi, turns = gather(Zj, plan.first), chain.turns[pair.column]
    # Step 2: wd, V, F(j+1,j,i) and N(j+1,j,i).
    if moment == "inside":  # arms from sums towards the tip, of which step 3 needs every level
        runs = relay(plan.inward, (P,), plus, links=pair.row)
        arm = gather(runs[-1][0], plan.first) - runs[-1][0]
    else:
        (arm,) = relay(plan.outward, (shifted(P, plan.before),), plus, links=pair.row)[-1]
    wd = by_joint(turns, Zi, 0.0)
    V = by_joint(turns, cross(Zi, arm), Zi)
    F = cross(wd, H) + pair.of_rows(chain.m[:, None]) * V
    if processors == "n":  # a column meets every K, so each is projected once
        N = matvec(unpack(gather(rotated(Rn.matrix, k), plan.holder)), wd) + cross(H, V)
    elif moment == "inside":
        N = Rn @ Tensor(unpack(k)) @ Rn.T @ wd + cross(H, V)
    else:
        N = Rn @ matvec(unpack(k), Rn.T @ wd) + cross(H, V)
    # Step 3: F(n+1,j,i) and N(n+1,j,i), then a_ji.
    if moment == "inside":

        def carried(own: Any, next: Any, P: Array) -> Any:  # the moment of links a .. b-1, then b .. c-1
            (F, N), (Fn, Nn) = own, next
            F = F + Fn
            N = N + Nn + cross(P, Fn)
            return F, N

        reach = lambda level, targets: (gather(runs[level][0], targets),)  # noqa: E731
        F, N = relay(plan.inward, (F, N), carried, along=reach, links=pair.row)[-1]
    else:  # F(n+1,j+1,i) from the next row in between
        (F,) = relay(plan.inward, (F,), plus, links=pair.row)[-1]
        N = N + cross(P, shifted(F, plan.after))
        (N,) = relay(plan.inward, (N,), plus, links=pair.row)[-1]
    a = project(chain.turns[pair.row], Zj, N, F)
    return pair.matrix(a) + diagonal(chain.armature)


def require_summed(form: str, moment: str) -> None:
    """Raise if the form does not offer this way to sum moments."""
    if form != "newton_euler" and moment != "apart":
        raise PhalanxError(
            f'mass_matrix: processor_array has moment="{moment}" for form="newton_euler" only; composite '
            "bodies have no moments to sum up."
        )


def seen_from_base(chain: DHChain, q: Array, pair: Triangle, processors: str) -> Array:
    """The mass matrix by composite bodies without rotors, everything in the base frame."""
    A, p, (h, k) = rotations(chain, q), offsets(chain, q), moments(chain, q)
    # R(1,j+1), from the base outwards.
    rows, levels = steps(chain.n, "n"), along_chain(chain.n, strides(chain.n))
    R = relay(levels, (Tensor(A),), lambda own, before: (before[0] @ own[0],))[-1][0]
    Z = parent(R.matrix[..., :, 2], root=first_axis(chain))
    P = R @ p
    H = R @ h
    K = R @ Tensor(unpack(k)) @ R.T
    M, H, K, reach = composite(chain, rows, P, H, K)
    f, n = unit_wrenches(chain, rows, Z, M, H, K)
    if processors == "n":
        return along_ancestors(n, f, Z, parent(P), chain.turns)
    # Row j hands f, n and its reach on, column i its axis and its own reach.
    arm = pair.of_columns(reach) - pair.of_rows(reach)
    f, n = pair.of_rows(f), pair.of_rows(n)
    n = n + cross(arm, f)
    return pair.matrix(project(chain.turns[pair.column], pair.of_columns(Z), n, f))


def plus(own: Any, other: Any) -> Any:
    """The sum of two runs."""
    return (own[0] + other[0],)


def composite(chain: DHChain, plan: Steps, P: Array, H: Array, K: Tensor) -> Any:
    """(M, H, K, P) of the links from each row to the tip, about O_j."""
    M = gather(chain.m[:, None], plan.rows)

    def joined(own: Any, next: Any) -> Any:
        (M, H, K, P), (Mn, Hn, Kn, Pn) = own, next
        moved = Hn + Mn * P  # the first moment of the further run, about the nearer one's origin
        # K + Kn - Mn P^ P^ - P^ Hn^ - Hn^ P^
        K = Tensor(K.matrix + Kn.matrix - double_cross(P, moved) - double_cross(Hn, P))
        H = H + moved
        P = P + Pn
        M = M + Mn
        return M, H, K, P

    return relay(plan.rotations, (M, H, K, P), joined, links=plan.rows)[-1]


def unit_wrenches(
    chain: DHChain, plan: Steps, Z: Array, M: Array, H: Array, K: Tensor
) -> tuple[Array, Array]:
    """(f, n): force and moment about O_j by which each joint accelerates all links beyond it by one unit."""
    turns = chain.turns[plan.rows]
    f = by_joint(turns, cross(Z, H), M * Z)
    n = by_joint(turns, K @ Z, cross(H, Z))
    return f, n


def at_arms(chain: DHChain, pair: Triangle, plan: Steps, Z: Array, P: Array, f: Array, n: Array) -> Array:
    """a_ji at each pair, from the wrench of row j and its arm about O_i."""
    (arm,) = relay(plan.outward, (shifted(P, plan.before),), plus, links=pair.row)[-1]
    n = n + cross(arm, f)
    return project(chain.turns[pair.column], gather(Z, plan.first), n, f)


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
    made: Steps = triangle(n).memoized(_steps, n, processors)
    return made


def _steps(pair: Triangle, n: int, processors: str) -> Steps:
    jumps = strides(n)
    before, after, first = pair.neighbour(-1), pair.neighbour(1), pair.index[pair.column, pair.column]
    if processors == "n":
        rows, held = pair.row[:n], back_along_chain(n, jumps)
        next_holder = after[:n]  # the first column of the array is the chain itself
        return Steps(rows, held, next_holder, pair.row, pair.outward(), pair.inward(), before, after, first)
    inward, everyone = pair.inward(jumps), pair.index[pair.row, pair.column]
    return Steps(pair.row, inward, after, everyone, pair.outward(jumps), inward, before, after, first)
