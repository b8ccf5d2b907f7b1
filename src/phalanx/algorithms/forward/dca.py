# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forward dynamics by divide and conquer."""

from dataclasses import dataclass
from typing import ClassVar

from ...robot.model import Model, diagonal
from ...spatial import Array, Field, matvec, transpose
from ...sweeps.links import Halving
from ..banded.symmetric import congruent, factor, inverse, mirrored, solve
from ..registry import algorithm
from .cfa import chain, rho


@dataclass(frozen=True)
class LoadedLink(Field):
    """A link with all branches attached to it: its inertia G, and the wrench p at zero acceleration."""

    G: Array
    p: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 1)


@dataclass(frozen=True)
class JointBefore(Field):
    """The joint before a link: the transform X over it, its wrenches T tau + W y, its motion S qdd + c."""

    X: Array
    W: Array
    drive: Array
    c: Array
    unused: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 2, 1, 1, 1)


@dataclass(frozen=True)
class TwoHandleRun(JointBefore):
    """Some links in a row, held by a handle on the first link and one on the last, with the joint before.

    a_1 = L11 f_1 - L12 f_2 + b_1 and a_2 = L12^T f_1 - L22 f_2 + b_2, where f_1 acts on the first link and
    f_2 is passed on by the last one.
    """

    L11: Array
    L12: Array
    L22: Array
    b1: Array
    b2: Array
    ranks: ClassVar[tuple[int, ...]] = (*JointBefore.ranks, 2, 2, 2, 1, 1)


@dataclass(frozen=True)
class Seam(Field):
    """The wrenches W y across the joint between two assemblies: y = y_0 + Y_1 f_1 + Y_2 f_2."""

    y0: Array
    Y1: Array
    Y2: Array
    ranks: ClassVar[tuple[int, ...]] = (1, 2, 2)


@dataclass(frozen=True)
class Root(Field):
    """The wrenches W y across the joint on which a heavy path hangs: y = y_0 + Y a."""

    y0: Array
    Y: Array
    ranks: ClassVar[tuple[int, ...]] = (1, 2)


@algorithm(
    "forward_dynamics",
    source="Featherstone 1999, A Divide-and-Conquer Articulated-Body Algorithm, Parts 1 and 2",
    bodies="definite",
    work="O(n log n)",
    span="O(log^2 n)",
)
def dca(model: Model, q: Array, qd: Array, tau: Array, *, external: Array = 0.0) -> Array:
    """Joint accelerations `qdd` (…, nv) under the joint forces `tau` at state (q, qd).

    `external` (…, n, 6) [N m, N] acts on the bodies, in body coordinates.

    Neighbouring links of a heavy path are joined to assemblies, these to larger ones, until one is left,
    which adds an articulated inertia P and a bias r to the link on which the heavy path hangs. Outward, the
    wrench across the joint inside each assembly follows from those on its handles.

    Source: Featherstone, "A Divide-and-Conquer Articulated-Body Algorithm for Parallel O(log(n))
    Calculation of Rigid-Body Dynamics", Int. J. Robotics Research 18(9), 1999, pp. 867-892; trees as
    heavy paths on heavy paths are the library's.
    Cost:   work O(n log n) for velocities, O(n) for the rest; span O(log n) on a chain, O(log^2 n) on
            a tree, one rank of heavy paths after another.
    """
    links, b, c, Vd0 = chain(model, q, qd, external)
    heavy_paths, drive = links.heavy_paths, links.driven(tau)
    joints = JointBefore(links.X, links.W, drive, c, links.unused)
    how = Halving(joined, hung, between, handled, alone=single, enter=above, settle=moved)
    y = heavy_paths.halved(how, joints, load=LoadedLink(links.G, b), world=Vd0)
    F = drive + matvec(links.W, y)
    return links.accelerations(rho(links, F, b, c, Vd0), y)


def single(load: LoadedLink, joint: JointBefore) -> TwoHandleRun:
    """The assembly of one link, both of whose handles are the same."""
    Gi = inverse(load.G)
    free = -matvec(Gi, load.p)
    return TwoHandleRun(joint.X, joint.W, joint.drive, joint.c, joint.unused, Gi, Gi, Gi, free, free)


def joined(A: TwoHandleRun, B: TwoHandleRun) -> tuple[TwoHandleRun, Seam]:
    """The assembly A with B at its end, and what is known of the joint between them."""
    X, W, Wt = B.X, B.W, transpose(B.W)
    V = B.L11 + congruent(X, A.L22)
    near, far = A.L12 @ transpose(X), transpose(B.L12)  # what the wrench across the joint does to the handles
    rows = factor(mirrored(Wt @ V @ W) + diagonal(B.unused))
    y0 = -solve(rows, Wt @ (matvec(V, B.drive) + B.b1 - matvec(X, A.b2) - B.c)[..., None])[..., 0]
    Y1, Y2 = solve(rows, Wt @ transpose(near)), solve(rows, Wt @ transpose(far))
    F = B.drive + matvec(W, y0)
    whole = TwoHandleRun(
        *(A.X, A.W, A.drive, A.c, A.unused),
        mirrored(A.L11 - near @ W @ Y1),
        near @ W @ Y2,
        mirrored(B.L22 - far @ W @ Y2),
        A.b1 - matvec(near, F),
        B.b2 + matvec(far, F),
    )
    return whole, Seam(y0, Y1, Y2)


def hung(whole: TwoHandleRun) -> tuple[LoadedLink, Root]:
    """The load of an assembly on the link that carries it, and its response to the motion of that link."""
    X, W, Wt = whole.X, whole.W, transpose(whole.W)
    rows = factor(mirrored(Wt @ whole.L11 @ W) + diagonal(whole.unused))
    y0 = -solve(rows, Wt @ (matvec(whole.L11, whole.drive) + whole.b1 - whole.c)[..., None])[..., 0]
    Y = solve(rows, Wt @ X)
    Xt = transpose(X)
    P, r = mirrored(Xt @ W @ Y), matvec(Xt, whole.drive + matvec(W, y0))
    return LoadedLink(P, r), Root(y0, Y)


def above(root: Root, a: Array) -> Array:
    """y across the joint on which a heavy path hangs, from the acceleration of the link that carries it."""
    return root.y0 + matvec(root.Y, a)


def handled(part: TwoHandleRun, y: Array) -> tuple[Array, Array]:
    """The wrench across the joint before an assembly, in its coordinates and in the assembly's before it."""
    F = part.drive + matvec(part.W, y)
    return F, matvec(transpose(part.X), F)


def between(seam: Seam, f1: Array, f2: Array) -> Array:
    """y across the joint between two assemblies, from the wrenches on their handles."""
    return seam.y0 + matvec(seam.Y1, f1) + matvec(seam.Y2, f2)


def moved(link: TwoHandleRun, f1: Array, f2: Array) -> Array:
    """The acceleration of a single link, from the wrenches before and after it."""
    return matvec(link.L11, f1 - f2) + link.b1
