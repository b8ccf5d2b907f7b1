# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Constrained dynamics by articulated bodies, in time linear in the number of links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...robot.model import Model
from ...spatial import Array, Projector, Transform, force_cross, inner, namespace
from ...sweeps.verbs import fold, parent, propagate, total
from ..banded.semidefinite import factor_semidefinite, solve_semidefinite
from .closures import PlacedClosure, Seen


def constrained_articulated(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    *,
    closures: Sequence[PlacedClosure],
    external: Array = 0.0,
    damping: Array = 0.0,
) -> tuple[Array, Array]:
    """(qdd (nv,), forces (m,)): as `dense.constrained_dynamics`, of frames that stay together.

    A unit force of each constraint goes inward with the articulated bodies. What the joints leave of it, `k`,
    is a row of J L^-1; the Delassus matrix is the sum of k D^-1 k^T over the bodies.

    Source: Popov, Vereshchagin, Zenkevich 1978; Sathya, Carpentier 2024, "Constrained articulated body
    dynamics algorithms"; Featherstone 2008, Table 7.1.
    Cost:   work O(n m + n m^2 + m^3), span O(depth + m^2).
    """
    seen = Seen(model, q, qd, qd * 0.0)
    X, S, _ = seen.joints
    V, Vd = seen.motions
    G = model.inertia
    bias = G @ Vd + force_cross(V, G @ V) - external  # at qdd = 0, gravity included
    concatenate = namespace(qd).concatenate
    rest = concatenate([seen.acceleration(c) for c in closures], axis=0)
    loads = [F for c in closures for F in seen.unit_loads(c)]

    def joint(state: Any, X: Transform, S: Array, tau: Array, armature: Array) -> Any:
        Ga, pa, *loads = state
        U = Ga @ S
        Di = 1.0 / (inner(S, U) + armature)
        u = (tau - inner(S, pa)) * Di
        psi = U * Di
        k = [inner(S, F) for F in loads]
        moved = [X.T @ (F - psi * each) for F, each in zip(loads, k, strict=True)]
        return (X.T @ Ga.minus_outer(psi, U), X.T @ (pa + U * u), *moved), (psi, Di, u, *k)

    psi, Di, u, *k = fold(
        joint, (G.articulated(), bias, *loads), X, S.axis, model.bodies(tau), model.bodies(model.armature)
    )
    size = len(k)
    scaled = [each * Di for each in k]
    delassus = rest[:, None] * rest * 0.0
    free = rest * 1.0
    for i in range(size):
        free[i] = free[i] + total((k[i] * u)[..., 0])
        for j in range(i, size):
            delassus[i, j] = delassus[j, i] = total((scaled[i] * k[j])[..., 0])
    forces = rest * 0.0
    factor = factor_semidefinite(delassus, damping)
    for i, x in enumerate(solve_semidefinite(factor, [-x for x in free])):
        forces[i] = x
    for f, each in zip(forces, scaled, strict=True):
        u = u + each * f
    A = propagate(X, S.axis * 0.0, through=Projector(S.axis, psi), plus=S.axis * u)
    return (u - inner(psi, X @ parent(A)))[..., 0], forces
