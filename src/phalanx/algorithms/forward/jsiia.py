# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forward dynamics by factoring the joint-space inertia matrix."""

from ...robot.model import Model, diagonal, joint_kinematics
from ...spatial import Array, beside, dot
from ...sweeps.verbs import accumulate, eliminate, propagate, substitute, unit
from ..banded.symmetric import mirrored
from ..inertia.crba import crba
from ..inverse.cartesian_tensor import cartesian_tensor
from ..registry import algorithm


@algorithm(
    "forward_dynamics",
    source="Yang, Wu, Pan 2017, section II-B; Featherstone 2008, section 6.5",
    coupled=True,
    work="O(n depth^2)",
    span="O(depth^2)",
    assembles=True,
    options={"inertia": ("composite", "columns")},
)
def jsiia(
    model: Model, q: Array, qd: Array, tau: Array, *, external: Array = 0.0, inertia: str = "composite"
) -> Array:
    """Joint accelerations `qdd` (…, nv): bias, mass matrix, sparse factor, two substitutions.

    `inertia` says how the mass matrix is computed: by composite bodies, or as published column by
    column, each an inverse dynamics of its own.

    Source: Yang, Wu, Pan 2017, section II-B; the factor M = L^T D L without fill-in is
    Featherstone 2008, Table 6.3.
    Cost:   work O(n depth^2), span O(depth^2).
    """
    bias = cartesian_tensor(model, q, qd, qd * 0.0, external=external)
    M = crba(model, q) if inertia == "composite" else columns(model, q)
    return substitute(eliminate(M), tau - bias)


def columns(model: Model, q: Array) -> Array:
    """The mass matrix (…, nv, nv): column j is the inverse dynamics of qdd_j = 1 at rest, without gravity.

    Only joints i >= j are needed, the matrix being symmetric; nothing moves before joint j.
    """
    X, S, _ = joint_kinematics(model, q)
    X = beside(X)  # all columns at once
    ones = unit(model.axis[..., 0] * 0.0 + 1.0)
    Vd = propagate(X, S.axis * ones[..., None])
    F = accumulate(X, model.inertia @ Vd)
    tau = dot(S.axis, F)  # (…, column j, joint i)
    return model.joint_matrix(mirrored(tau)) + diagonal(model.armature)
