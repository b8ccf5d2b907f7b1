# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forward dynamics by articulated-body inertias of a chain, its recursions as scans."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...robot.model import Model, gravity_twist, joint_kinematics
from ...spatial import (
    Array,
    Articulated,
    Field,
    Projector,
    Tensor,
    dense,
    force_cross,
    inner,
    matvec,
    motion_cross,
    transpose,
)
from ...sweeps.verbs import children, fold, parent, paths, scan
from ..banded.symmetric import congruent, interface, unit
from ..inverse.scan import scan as inverse_dynamics
from ..registry import algorithm
from ..regularisation import shifted_inertia


@dataclass(frozen=True)
class LinkRun(Field):
    """A run of links between the wrench f_out that it passes on and the acceleration a_in before it.

    f_in = P a_in + Phi f_out + r and a_out = Phi^T a_in - C f_out + d, where an inertia Sigma has been
    shifted to the last link: f_out is f_out - Sigma a_out.
    """

    P: Array
    Phi: Array
    C: Array
    r: Array
    d: Array
    Sigma: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 2, 2, 1, 1, 2)


def joined(A: LinkRun, B: LinkRun) -> LinkRun:
    """The run A followed by the run B."""
    # The inertia shifted to the last link of A is subtracted from B.
    Q = B.P - A.Sigma
    QG, G, GC = interface(Q, A.C)
    Phi, late = A.Phi, transpose(B.Phi)
    return LinkRun(
        A.P + congruent(Phi, QG),
        Phi @ transpose(G) @ B.Phi,
        B.C + congruent(late, GC),
        A.r + matvec(Phi, matvec(transpose(G), B.r) + matvec(QG, A.d)),
        B.d + matvec(late, matvec(G, A.d) - matvec(GC, B.r)),
        B.Sigma,
    )


@dataclass(frozen=True)
class Affine(Field):
    """x -> A x + c."""

    A: Array
    c: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 1)

    def after(self, first: "Affine") -> "Affine":
        """The map that applies `first`, then this one."""
        return Affine(self.A @ first.A, matvec(self.A, first.c) + self.c)


@algorithm(
    "forward_dynamics",
    source="Yang, Wu, Pan 2017, section II-B (ABIA); scattering elements in place of its serial recursion",
    topology="chain",
    bodies="rigid",
    work="O(n log n)",
    span="O(log n)",
    options={"form": ("scanned", "hybrid")},
)
def abia(
    model: Model, q: Array, qd: Array, tau: Array, *, external: Array = 0.0, form: str = "scanned"
) -> Array:
    """Joint accelerations `qdd` (…, nv) of a chain under the joint forces `tau` at state (q, qd).

    `external` (…, n, 6) [N m, N] acts on the bodies, in body coordinates.

    Articulated inertias follow one another by linear-fractional maps, and such maps join: the run of
    links from k to the tip acts on link k-1 by P and r of `LinkRun`. `form="hybrid"` is the published one.

    Source: Yang, Wu, Pan, "Unified GPU-parallelizable robot forward dynamics computation using band
    sparsity", 2017, section II-B; the scan of scattering elements (Redheffer) is not in the paper.
    Cost:   work O(n log n), span O(log n).
    """
    if form == "hybrid":
        return _hybrid(model, q, qd, tau, external)
    G, armature, tau = model.inertia, model.bodies(model.armature), model.bodies(tau)
    X, S, cJ = joint_kinematics(model, q)
    VJ = S @ qd
    V = paths(X) @ VJ
    c = cJ + motion_cross(V, VJ)
    b = force_cross(V, G @ V) - external
    S = S.axis

    run = scan(
        joined,
        links(G.articulated(), model.derived(shifted_inertia), X, S, c, b, tau, armature),
        reverse=True,
    )
    beyond = children(Tensor(run.P)).matrix
    Ga, pa = dense(G) + beyond, b + children(run.r)
    U = matvec(Ga, S)
    Di = 1.0 / (inner(S, U) + armature)
    psi, u = U * Di, (tau - inner(S, pa)) * Di
    return _outward(X, S, psi, u, c, -gravity_twist(model))


def links(
    G: Articulated, Sigma: Articulated, X: Any, S: Array, c: Array, b: Array, tau: Array, armature: Array
) -> LinkRun:
    """The runs of one link each, with the inertia shifted to each link."""
    G = G + Sigma
    U = G @ S
    Di = 1.0 / (inner(S, U) + armature)
    psi, u = U * Di, (tau - inner(S, b)) * Di
    Ga = G.minus_outer(psi, U)
    Xd = transpose(dense(X))
    return LinkRun(
        P=dense(X.T @ Ga),
        Phi=Xd - matvec(Xd, psi)[..., :, None] * S[..., None, :],
        C=(S * Di)[..., :, None] * S[..., None, :],
        r=X.T @ (b + Ga @ c + U * u),
        d=c - S * inner(psi, c) + S * u,
        Sigma=dense(Sigma),
    )


def _outward(X: Any, S: Array, psi: Array, u: Array, c: Array, root: Array) -> Array:
    """`qdd` from Vd_k = (1 - S psi^T) (X Vd_k-1 + c) + S u."""
    Xd, through = dense(X), Projector(S, psi)
    step = Affine(Xd - S[..., :, None] * matvec(transpose(Xd), psi)[..., None, :], through @ c + S * u)
    start = Affine(unit(6, c) * 0.0, root)
    Vd = scan(lambda first, then: then.after(first), step, root=start).c
    return (u - inner(psi, X @ parent(Vd, root=root) + c))[..., 0]


def _hybrid(model: Model, q: Array, qd: Array, tau: Array, external: Array) -> Array:
    """`qdd` as published: inertias one after another, the two propagations of the free robot as scans."""
    tau = model.bodies(tau - inverse_dynamics(model, q, qd, qd * 0.0, external=external))
    return propagated(model, q, tau, *factors(model, q))


def factors(model: Model, q: Array) -> tuple[Array, Array]:
    """(psi, 1 / D) of each body: the serial part of the published form, from articulated inertias."""
    X, S, _ = joint_kinematics(model, q)
    S = S.axis

    def joint(state: Any, X: Any, S: Array, armature: Array) -> Any:
        (Ga,) = state
        U = Ga @ S
        Di = 1.0 / (inner(S, U) + armature)
        psi = U * Di
        return (X.T @ Ga.minus_outer(psi, U),), (psi, Di)

    found: tuple[Array, Array] = fold(
        joint, (model.inertia.articulated(),), X, S, model.bodies(model.armature)
    )
    return found


def propagated(model: Model, q: Array, tau: Array, psi: Array, Di: Array) -> Array:
    """`qdd` of the free robot under joint forces tau (…, n, 1), less those of the bias, by two scans."""
    X, S, _ = joint_kinematics(model, q)
    S = S.axis
    Xd = transpose(dense(X))
    step = Affine(Xd - matvec(Xd, psi)[..., :, None] * S[..., None, :], X.T @ (psi * tau))
    z = children(scan(lambda then, first: then.after(first), step, reverse=True).c)
    u = (tau - inner(S, z)) * Di
    return _outward(X, S, psi, u, z * 0.0, gravity_twist(model) * 0.0)
