# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forward dynamics by the articulated-body algorithm."""

from typing import Any

from ...robot.model import Model, gravity_twist, joint_kinematics
from ...spatial import Array, Projector, force_cross, inner, motion_cross
from ...sweeps.verbs import fold, parent, propagate
from ..registry import algorithm


@algorithm("forward_dynamics", source="Featherstone 2008, Table 7.1, p. 132")
def aba(model: Model, q: Array, qd: Array, tau: Array, *, external: Array = 0.0) -> Array:
    """Joint accelerations `qdd` (…, nv) under the joint forces `tau` at state (q, qd).

    `external` (…, n, 6) [N m, N] acts on the bodies, in body coordinates.

    Source: Featherstone 2008, Table 7.1, p. 132.
    Cost:   work O(n), span O(depth).
    """
    G = model.inertia
    X, S, cJ = joint_kinematics(model, q)
    VJ = S @ qd
    V = propagate(X, VJ)
    c = cJ + motion_cross(V, VJ)
    pa = force_cross(V, G @ V) - external

    def joint(state: Any, X: Any, S: Array, c: Array, tau: Array, armature: Array) -> Any:
        Ga, pa = state
        U = Ga @ S
        Di = 1.0 / (inner(S, U) + armature)
        u = (tau - inner(S, pa)) * Di
        psi = U * Di
        # What the parent feels of this body through the joint.
        Gp = Ga.minus_outer(psi, U)
        pp = pa + Gp @ c + U * u
        return (X.T @ Gp, X.T @ pp), (psi, u)

    psi, u = fold(joint, (G.articulated(), pa), X, S.axis, c, model.bodies(tau), model.bodies(model.armature))
    root = -gravity_twist(model)
    Vd = propagate(X, c, root=root, through=Projector(S.axis, psi), plus=S.axis * u)
    qdd = u - inner(psi, X @ parent(Vd, root=root) + c)
    return qdd[..., 0]
