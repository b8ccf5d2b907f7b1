# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forward dynamics by articulated-body inertias of a tree, its branches contracted."""

from dataclasses import dataclass, replace
from typing import ClassVar

from ...robot.model import Model, gravity_twist, joint_kinematics
from ...spatial import (
    Array,
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
from ...sweeps.verbs import contract, parent, paths
from ..registry import algorithm
from ..regularisation import shifted_inertia_on_tree
from .abia import LinkRun, joined, links


@dataclass(frozen=True)
class HangingLoad(Field):
    """The load of a subtree on its body: the wrench P a + r while the body accelerates by a."""

    P: Array
    r: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 1)


@algorithm(
    "forward_dynamics",
    source="Miller and Reif 1985, Parallel tree contraction; Redheffer 1962, scattering elements",
    bodies="rigid",
    work="O(n log n)",
    span="O(log n)",
)
def contraction(model: Model, q: Array, qd: Array, tau: Array, *, external: Array = 0.0) -> Array:
    """Joint accelerations `qdd` (…, nv) under the joint forces `tau` at state (q, qd).

    `external` (…, n, 6) [N m, N] acts on the bodies, in body coordinates.

    The scattering elements of `abia` on any tree: tips are folded into the bodies that carry them, bodies in
    a row joined by pairs, and so on until nothing is left but bodies on the world; outward the articulated
    inertia of every body follows, and as in `aba` the accelerations.

    Source: Miller and Reif, "Parallel tree contraction and its application", FOCS 1985, for the order of
    joins; the elements are those of `abia`. No paper has both.
    Cost:   work O(n) for inertias, O(n log n) for velocities and accelerations; span O(log n).
    """
    G, armature, tau = model.inertia, model.bodies(model.armature), model.bodies(tau)
    X, S, cJ = joint_kinematics(model, q)
    VJ = S @ qd
    V = paths(X) @ VJ
    c = cJ + motion_cross(V, VJ)
    b = force_cross(V, G @ V) - external
    S = S.axis

    runs = links(G.articulated(), model.derived(shifted_inertia_on_tree), X, S, c, b, tau, armature)
    hung = contract(joined, runs, load=load, loaded=loaded)
    U = matvec(dense(G) + hung.P, S)
    Di = 1.0 / (inner(S, U) + armature)
    psi, u = U * Di, (tau - inner(S, b + hung.r)) * Di

    # Vd = (1 - S psi^T) (X Vd_parent + c) + S u
    Xd, root = dense(X), -gravity_twist(model)
    step = Tensor(Xd - S[..., :, None] * matvec(transpose(Xd), psi)[..., None, :])
    Vd = paths(step) @ (Projector(S, psi) @ c + S * u + step @ parent(model.axis * 0.0, root=root))
    return (u - inner(psi, X @ parent(Vd, root=root) + c))[..., 0]


def load(run: LinkRun) -> HangingLoad:
    """The load that a run passes to its parent if no further link is attached to it."""
    return HangingLoad(run.P, run.r)


def loaded(run: LinkRun, more: HangingLoad) -> LinkRun:
    """The run that hands over something besides."""
    return replace(run, P=run.P + more.P, r=run.r + more.r)
