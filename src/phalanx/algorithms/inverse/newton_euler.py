# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse dynamics by the recursive Newton-Euler algorithm."""

from ...robot.model import Model, gravity_twist, joint_kinematics
from ...spatial import Array, force_cross, motion_cross
from ...sweeps.verbs import accumulate, propagate
from ..registry import algorithm


@algorithm(
    "inverse_dynamics",
    source="Featherstone 2008, Table 5.1, p. 96",
    coupled=True,
)
def newton_euler(
    model: Model,
    q: Array,
    qd: Array,
    qdd: Array,
    *,
    external: Array = 0.0,
    base_velocity: Array = None,
    base_acceleration: Array = 0.0,
) -> Array:
    """Joint forces `tau` (…, nv) that produce `qdd` at state (q, qd).

    `external` (…, n, 6) [N m, N] acts on the bodies, in body coordinates.

    Source: Featherstone 2008, Table 5.1, p. 96.
    Cost:   work O(n), span O(depth).
    """
    G = model.inertia
    X, S, cJ = joint_kinematics(model, q)
    VJ = S @ qd  # twist across each joint
    V = propagate(X, VJ, root=base_velocity)
    # Gravity enters as an upward acceleration of the root.
    Vd = propagate(X, S @ qdd + cJ + motion_cross(V, VJ), root=base_acceleration - gravity_twist(model))
    F = accumulate(X, G @ Vd + force_cross(V, G @ V) - external)
    return S.T @ F + model.armature * qdd
