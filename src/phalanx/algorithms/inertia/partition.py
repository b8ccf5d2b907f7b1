# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix of a chain, ancestors in runs."""

from ...robot.model import Model, diagonal, joint_kinematics
from ...spatial import Array, dot
from ...sweeps.verbs import accumulate, pairs
from ..registry import algorithm


@algorithm(
    "mass_matrix",
    source="Featherstone 2008, Table 6.2, p. 107, along runs of ancestors",
    topology="chain",
    work="O(n depth)",
    splits="runs",
)
def partition(model: Model, q: Array) -> Array:
    """The mass matrix `M` (…, nv, nv) of a chain.

    The composite-rigid-body algorithm takes the wrench of each body past one ancestor after another. Here it
    goes past a run of them at once: M_ij = s_j . F for all bodies j of the run, with F as it arrives there
    and s_j the axis of j as seen from where it arrives, found once for all columns. An entry then takes six
    products instead of a transform.

    Source: Featherstone 2008, Table 6.2, p. 107; the runs are the library's.
    Cost:   work O(n depth), span O(depth).
    """
    X, S, _ = joint_kinematics(model, q)
    F = accumulate(X, model.inertia) @ S.axis
    M = pairs(F, carry=lambda F, X, S: X.T @ F, emit=lambda F, X, S: dot(S, F), along=(X, S.axis), runs=True)
    return model.joint_matrix(M) + diagonal(model.armature)
