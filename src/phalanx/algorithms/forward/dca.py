# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forward dynamics by divide and conquer."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ...banded.halving import halved, unfolded
from ...banded.limbs import Collected
from ...banded.rows import after
from ...banded.symmetric import congruent, factor, inverse, mirrored, solve
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


class Limb(NamedTuple):
    """Links in a row and how they were assembled; y = y_0 + Y a across the joint on which they hang."""

    at: Any
    links: Assembly
    levels: Any
    y0: Array
    Y: Array
    P: Array
    r: Array


@algorithm(
    "forward_dynamics",
    source="Featherstone 1999, A Divide-and-Conquer Articulated-Body Algorithm, Parts 1 and 2",
    bodies="definite",
    work="O(n log n)",
    span="O(log^2 n)",
    loops="chain",
)
def dca(model: Model, q: Array, qd: Array, tau: Array, *, external: Array = 0.0) -> Array:
    """Joint accelerations `qdd` (…, nv) under the joint forces `tau` at state (q, qd).

    `external` (…, n, 6) [N m, N] acts on the bodies, in body coordinates.

    Neighbouring links of a limb are joined to assemblies, these to larger ones, until one is left,
    which adds an articulated inertia P and a bias r to the link on which the limb hangs. Outward, the
    wrench across the joint inside each assembly follows from those on its handles.

    Source: Featherstone, "A Divide-and-Conquer Articulated-Body Algorithm for Parallel O(log(n))
    Calculation of Rigid-Body Dynamics", Int. J. Robotics Research 18(9), 1999, pp. 867-892; trees as
    limbs on limbs are the library's.
    Cost:   work O(n log n) for velocities, O(n) for the rest; span O(log n) on a chain, O(log^2 n) on
            a tree, one rank of limbs after another.
    """
    links, b, c, Vd0 = chain(model, q, qd, external)
    limbs, drive, done = links.limbs, links.driven(tau), []
    G, p = links.G, b  # with what hangs on each link
    for rank in limbs.ranks:
        for at in rank:
            Gi = inverse(G[..., at, :, :])
            free = -matvec(Gi, p[..., at, :])
            joints = (links.X[..., at, :, :], links.W[..., at, :, :], drive[..., at, :], c[..., at, :])
            done.append(assembled(at, Assembly(Gi, Gi, Gi, free, free, *joints, links.unused[..., at, :])))
        for limb in done[-len(rank) :]:
            G = G + limbs.hung(limb.P, limb.at[:, 0], 2)
            p = p + limbs.hung(limb.r, limb.at[:, 0])

    Vd, y = Collected(links.count, Vd0), Collected(links.count)
    for limb in reversed(done):
        y_limb = taken_apart(limb, Vd.at(limbs.parents[limb.at[:, 0]]))
        F = limb.links.drive + matvec(limb.links.W, y_limb)
        passed_on = after(matvec(transpose(limb.links.X), F))
        Vd.add(limb.at, matvec(limb.links.L11, F - passed_on) + limb.links.b1)
        y.add(limb.at, y_limb)
    return links.accelerations(rho(links, drive + matvec(links.W, y.all()), b, c, Vd0), y.all())


def assembled(at: Any, links: Assembly) -> Limb:
    """The limb of these links, joined by pairs, pairs of pairs and so on."""
    whole, levels = halved(joined, links)
    X, W, Wt = whole.X, whole.W, transpose(whole.W)
    rows = factor(mirrored(Wt @ whole.L11 @ W) + diagonal(whole.unused))
    y0 = -solve(rows, Wt @ (matvec(whole.L11, whole.drive) + whole.b1 - whole.c)[..., None])[..., 0]
    Y = solve(rows, Wt @ X)
    Xt = transpose(X)
    return Limb(at, links, levels, y0, Y, mirrored(Xt @ W @ Y), matvec(Xt, whole.drive + matvec(W, y0)))


def taken_apart(limb: Limb, a: Array) -> Array:
    """y (…, m, w) of the joint before each link, if the limb hangs on a link with acceleration a."""
    return unfolded(limb.levels, limb.y0 + matvec(limb.Y, a), handled, between)


def handled(part: Assembly, y: Array) -> tuple[Array, Array]:
    """The wrench across the joint before an assembly, as this one has it and as the one before."""
    F = part.drive + matvec(part.W, y)
    return F, matvec(transpose(part.X), F)


def between(joint: Joint, f1: Array, f2: Array) -> Array:
    """y across the joint between two assemblies, from the wrenches on their handles."""
    return joint.y0 + matvec(joint.Y1, f1) + matvec(joint.Y2, f2)


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
