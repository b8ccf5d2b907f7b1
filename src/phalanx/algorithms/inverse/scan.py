# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse dynamics as three block-bidiagonal systems, each solved by a scan."""

from ...robot.model import Model, gravity_twist, joint_kinematics
from ...spatial import Array, force_cross, motion_cross
from ...sweeps.verbs import parent, paths
from ..registry import algorithm


@algorithm(
    "inverse_dynamics",
    source="Yang, Wu, Pan 2017, section II-C (scans); pointer jumping for trees",
    work="O(n log n)",
    span="O(log depth)",
)
def scan(
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

    With Gamma the block matrix that holds X_i in row i below the diagonal, in its parent's column:

        (1 - Gamma)   V  = S qd                  + X_1 V_0  in the first row
        (1 - Gamma)   Vd = S qdd + ad_V S qd     + X_1 Vd_0 in the first row
        (1 - Gamma)^T F  = G Vd - ad_V^T G V     - external
        tau = S^T F

    L = (1 - Gamma)^-1 is a product of factors 1 + Gamma^(2^k), which join (rotation, translation)
    with what 1, 2, 4, … ancestors away has been joined already.

    Source: Yang, Wu, Pan, "Unified GPU-parallelizable robot forward dynamics computation using band
    sparsity", 2017, section II-C; trees by pointer jumping are the library's.
    Cost:   work O(n log depth), span O(log depth).
    """
    G = model.inertia
    X, S, cJ = joint_kinematics(model, q)
    L = paths(X)
    VJ = S @ qd
    first = VJ if base_velocity is None else VJ + X @ parent(VJ * 0.0, root=base_velocity)
    V = L @ first
    # Gravity enters as an upward acceleration of the root.
    upward = X @ parent(VJ * 0.0, root=base_acceleration - gravity_twist(model))
    Vd = L @ (S @ qdd + cJ + motion_cross(V, VJ) + upward)
    F = L.T @ (G @ Vd + force_cross(V, G @ V) - external)
    return S.T @ F + model.armature * qdd
