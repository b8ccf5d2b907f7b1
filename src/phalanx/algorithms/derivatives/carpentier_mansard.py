# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of inverse dynamics by the chain rule along the recursive Newton-Euler algorithm."""

from ...robot.model import Model, diagonal, gravity_twist, joint_kinematics
from ...spatial import Array, beside, force_cross, motion_cross, transpose
from ...sweeps.verbs import accumulate, children, parent, propagate
from ..registry import algorithm
from .idsva import joint_forces


@algorithm(
    "inverse_dynamics_derivatives",
    source="Carpentier, Mansard 2018, section III",
    coupled=True,
    work="O(n depth)",
    symmetric=False,
    side_by_side=True,
)
def carpentier_mansard(
    model: Model, q: Array, qd: Array, qdd: Array, *, external: Array = 0.0, value: bool = False
) -> tuple[Array, ...]:
    """(∂tau/∂q, ∂tau/∂qd, ∂tau/∂qdd), each (…, nv, nv), in the tangent space of q.

    With `value` also tau.

    One column for each degree of freedom that changes: every line of the Newton-Euler algorithm gives one for
    dV, dVd and dF. A frame that moves by U sees what comes from its parent change by its twist x U, and
    hands over a wrench that changes by U x* F.

    Source: Carpentier, Mansard 2018, section III.
    Cost:   work O(n depth), span O(depth).
    """
    G = model.inertia
    X, S, cJ = joint_kinematics(model, q)
    VJ = S @ qd
    V = propagate(X, VJ)
    Vd = propagate(X, S @ qdd + cJ + motion_cross(V, VJ), root=-gravity_twist(model))
    F = accumulate(X, G @ Vd + force_cross(V, G @ V) - external)
    tau = joint_forces(model, S, F, qd, qdd)
    V_p, Vd_p = X @ parent(V), X @ parent(Vd, root=-gravity_twist(model))

    one = diagonal(model.armature * 0.0 + 1.0)  # columns stand before the bodies
    S_k = S @ one
    U = S.first * S.across(one)  # a joint moves as a whole, at the first of its bodies
    X, G = beside(X), beside(G)
    h, V, VJ, V_p, Vd_p, F = (x[..., None, :, :] for x in (model.inertia @ V, V, VJ, V_p, Vd_p, F))

    def forces(dV: Array, dVd: Array) -> Array:
        return G @ dVd + force_cross(dV, h) + force_cross(V, G @ dV)

    dV = propagate(X, motion_cross(V_p, U))
    dVd = propagate(X, motion_cross(Vd_p, U) + motion_cross(dV, VJ))
    dq = S.T @ accumulate(X, forces(dV, dVd) + children(X.T @ force_cross(U, F)))
    dV = propagate(X, S_k)
    dVd = propagate(X, motion_cross(dV, VJ) + motion_cross(V, S_k))
    dqd = S.T @ accumulate(X, forces(dV, dVd))
    M = S.T @ accumulate(X, G @ dV)
    slopes = transpose(dq), transpose(dqd) + model.rotor_slopes(qd), transpose(M) + diagonal(model.armature)
    return (*slopes, tau) if value else slopes
