# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix by the composite-rigid-body algorithm, and its inverse."""

from ...robot.model import Model, diagonal, joint_kinematics
from ...spatial import Array, dot
from ...sweeps.verbs import accumulate, eliminate, pairs, substitute
from ..registry import algorithm


@algorithm(
    "mass_matrix",
    source="Featherstone 2008, Table 6.2, p. 107",
    coupled=True,
    work="O(n depth)",
)
def crba(model: Model, q: Array) -> Array:
    """The mass matrix `M` (…, nv, nv).

    Source: Featherstone 2008, Table 6.2, p. 107.
    Cost:   work O(n depth), span O(depth).
    """
    X, S, _ = joint_kinematics(model, q)
    Gc = accumulate(X, model.inertia)  # inertia of each body with everything it carries
    F = Gc @ S.axis  # wrench that gives each body a unit acceleration along its axis
    M = pairs(F, carry=lambda F, X, S: X.T @ F, emit=lambda F, X, S: dot(S, F), along=(X, S.axis))
    return model.joint_matrix(M) + diagonal(model.armature)


@algorithm(
    "mass_matrix_inverse",
    name="ltl",
    source="Featherstone 2008, section 6.5",
    coupled=True,
    work="O(n depth^2)",
)
def mass_matrix_inverse(model: Model, q: Array) -> Array:
    """The inverse (…, nv, nv) of the mass matrix, by its sparse factor.

    Source: Featherstone 2008, Tables 6.4 and 6.5.
    Cost:   work O(n depth^2), span O(depth^2).
    """
    L = eliminate(crba(model, q))
    columns = diagonal(model.armature * 0.0 + 1.0)
    return substitute(L[..., None, :, :], columns)
