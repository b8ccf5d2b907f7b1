# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forward dynamics of a chain by divide and conquer."""

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from ...banded.rows import after, together, woven
from ...banded.symmetric import congruent, factor, mirrored, solve
from ...model import Model, diagonal
from ...spatial import Array, Field, matvec, transpose
from ..registry import algorithm
from .cfa import chain, rho


@dataclass(frozen=True)
class Assembly(Field):
    """Some links in a row, held by a handle on the first link and one on the last.

    a_1 = L11 f_1 - L12 f_2 + b_1 and a_2 = L12^T f_1 - L22 f_2 + b_2, where f_1 acts on the first link and
    f_2 is passed on by the last one. The joint before the first link comes along: the transform X over it,
    its wrenches T tau + W y and its relative acceleration S qdd + c.
    """

    L11: Array
    L12: Array
    L22: Array
    b1: Array
    b2: Array
    X: Array
    W: Array
    drive: Array
    c: Array
    unused: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 2, 2, 1, 1, 2, 2, 1, 1, 1)


class Joint(NamedTuple):
    """The wrenches W y across the joint between two assemblies: y = y_0 + Y_1 f_1 + Y_2 f_2."""

    y0: Array
    Y1: Array
    Y2: Array


@algorithm(
    "forward_dynamics",
    source="Featherstone 1999, A Divide-and-Conquer Articulated-Body Algorithm, Part 1",
    topology="chain",
    bodies="definite",
    work="O(n log n)",
    span="O(log n)",
)
def dca(model: Model, q: Array, qd: Array, tau: Array, *, external: Array = 0.0) -> Array:
    """Joint accelerations `qdd` (…, nv) of a chain under the joint forces `tau` at state (q, qd).

    `external` (…, n, 6) [N m, N] acts on the bodies, in body coordinates.

    Neighbouring links are joined to assemblies, these to larger ones, until one is left; then the
    wrench across the joint inside each assembly follows from those on its handles.

    Source: Featherstone, "A Divide-and-Conquer Articulated-Body Algorithm for Parallel O(log(n))
    Calculation of Rigid-Body Dynamics. Part 1", Int. J. Robotics Research 18(9), 1999, pp. 867-875.
    Cost:   work O(n log n) for velocities, O(n) for the rest; span O(log n).
    """
    links, b, c, Vd0 = chain(model, q, qd, external)
    X, W, Gi, F = links.X, links.W, links.Gi, links.driven(tau)
    free = -matvec(Gi, b)
    parts = Assembly(Gi, Gi, Gi, free, free, X, W, F, c, links.unused)
    # The world: no wrench moves it.
    base = parts[:1].map(lambda array, _: array * 0.0)
    base = replace(base, b2=base.b2 + Vd0)
    y = unknowns(together(base, parts))[..., 1:, :]
    return links.accelerations(rho(links, F + matvec(W, y), b, c, Vd0), y)


def unknowns(parts: Assembly) -> Array:
    """y (…, m, w) of the joint before each part; before the first one there is none."""
    count = parts.b1.shape[-2]
    if count == 1:
        return parts.unused * 0.0
    even, odd = parts[::2], parts[1::2]
    half = count // 2
    whole, joint = joined(even[:half], odd)
    y = unknowns(whole if count % 2 == 0 else together(whole, even[half:]))
    F = even.drive + matvec(even.W, y)
    f1, f2 = F[..., :half, :], after(matvec(transpose(even.X), F))[..., :half, :]
    return woven(y, joint.y0 + matvec(joint.Y1, f1) + matvec(joint.Y2, f2))


def joined(A: Assembly, B: Assembly) -> tuple[Assembly, Joint]:
    """The assembly A with B at its end, and the joint between them."""
    X, W, Wt = B.X, B.W, transpose(B.W)
    V = B.L11 + congruent(X, A.L22)
    near, far = A.L12 @ transpose(X), transpose(B.L12)  # what the wrench across the joint does to the handles
    rows = factor(mirrored(Wt @ V @ W) + diagonal(B.unused))
    y0 = -solve(rows, Wt @ (matvec(V, B.drive) + B.b1 - matvec(X, A.b2) - B.c)[..., None])[..., 0]
    Y1, Y2 = solve(rows, Wt @ transpose(near)), solve(rows, Wt @ transpose(far))
    F = B.drive + matvec(W, y0)
    whole = Assembly(
        mirrored(A.L11 - near @ W @ Y1),
        near @ W @ Y2,
        mirrored(B.L22 - far @ W @ Y2),
        A.b1 - matvec(near, F),
        B.b2 + matvec(far, F),
        *(A.X, A.W, A.drive, A.c, A.unused),
    )
    return whole, Joint(y0, Y1, Y2)
