# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forward dynamics where joints and links resist their own accelerations, as in an implicit step.

A force that a step of length h takes at its end, -d (v + h a) - k (x + h v + h^2 a), depends on the
acceleration it causes:

    (M + diag(D) + sum J^T B J) qdd = tau - bias + sum J^T (f - B Jd qd)

with h d + h^2 k in D for joints, in B for links. Both add to articulated-body inertias, in the same pass.
"""

from typing import Any

from ...robot.model import Model, gravity_twist, joint_kinematics
from ...robot.model import diagonal as on_diagonal
from ...spatial import Array, Articulated, Projector, dot, force_cross, inner, motion_cross
from ...sweeps.verbs import accumulate, eliminate, fold, pairs, parent, propagate, substitute
from ..inverse.cartesian_tensor import cartesian_tensor


def implicit(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    *,
    diagonal: Array = 0.0,
    external: Array = 0.0,
    impedance: Array | None = None,
    factored: bool = False,
) -> Array:
    """Joint accelerations `qdd` (…, nv) under the joint forces tau - diagonal * qdd.

    `external` (…, n, 6) [N m, N] acts on the bodies and `impedance` (…, n, 6, 6), symmetric, times the
    acceleration of each body against them, both in body coordinates. Forces of moving rotors are included.

    By articulated bodies; if `factored`, and where joints are coupled, by the mass matrix.
    """
    if (rotors := model.rotor_forces(qd)) is not None:
        tau = tau - rotors
    text = implicit_factor if factored or model.coupling is not None else implicit_aba
    return text(model, q, qd, tau, diagonal=diagonal, external=external, impedance=impedance)


def implicit_aba(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    *,
    diagonal: Array = 0.0,
    external: Array = 0.0,
    impedance: Array | None = None,
) -> Array:
    """Joint accelerations `qdd` (…, nv) of `implicit` by articulated bodies; no joint mimics another.

    Source: Featherstone 2008, Table 7.1, p. 132, with D beside the armature and B beside the inertia.
    Cost:   work O(n), span O(depth).
    """
    G = model.inertia
    X, S, cJ = joint_kinematics(model, q)
    VJ = S @ qd
    V = propagate(X, VJ)
    c = cJ + motion_cross(V, VJ)
    pa = force_cross(V, G @ V) - external
    Ga = G.articulated()
    root = -gravity_twist(model)
    if impedance is not None:
        B = Articulated.of(impedance)
        # Gravity is an acceleration of the root here, which no surroundings resist.
        Ga, pa = Ga + B, pa - B @ propagate(X, root=root)

    def joint(state: Any, X: Any, S: Array, c: Array, tau: Array, own: Array) -> Any:
        Ga, pa = state
        U = Ga @ S
        Di = 1.0 / (inner(S, U) + own)
        u = (tau - inner(S, pa)) * Di
        psi = U * Di
        Gp = Ga.minus_outer(psi, U)
        pp = pa + Gp @ c + U * u
        return (X.T @ Gp, X.T @ pp), (psi, u)

    psi, u = fold(joint, (Ga, pa), X, S.axis, c, model.bodies(tau), model.bodies(model.armature + diagonal))
    Vd = propagate(X, c, root=root, through=Projector(S.axis, psi), plus=S.axis * u)
    qdd = u - inner(psi, X @ parent(Vd, root=root) + c)
    return qdd[..., 0]


def implicit_factor(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    *,
    diagonal: Array = 0.0,
    external: Array = 0.0,
    impedance: Array | None = None,
) -> Array:
    """Joint accelerations `qdd` (…, nv) of `implicit` by factoring the matrix.

    Source: Featherstone 2008, Tables 6.2 and 6.3, with B beside the inertia of each body.
    Cost:   work O(n depth^2), span O(depth^2).
    """
    matrix, force = effective(model, q, qd, tau, diagonal=diagonal, external=external, impedance=impedance)
    return substitute(eliminate(matrix), force)


def effective(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    *,
    diagonal: Array = 0.0,
    external: Array = 0.0,
    impedance: Array | None = None,
) -> tuple[Array, Array]:
    """The mass matrix (…, nv, nv) with what joints and links resist, and the force that it accelerates."""
    X, S, cJ = joint_kinematics(model, q)
    G: Any = model.inertia
    if impedance is not None:
        B = Articulated.of(impedance)
        VJ = S @ qd
        V = propagate(X, VJ)
        external = external - B @ propagate(X, cJ + motion_cross(V, VJ))
        G = G.articulated() + B
    bias = cartesian_tensor(model, q, qd, qd * 0.0, external=external)
    F = accumulate(X, G) @ S.axis
    M = pairs(F, carry=lambda F, X, S: X.T @ F, emit=lambda F, X, S: dot(S, F), along=(X, S.axis))
    M = model.joint_matrix(M) + on_diagonal(model.armature + diagonal)
    return M, tau - bias
