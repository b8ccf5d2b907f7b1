# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of forward dynamics through the inverse of the mass matrix."""

from ...robot.model import Model
from ...spatial import Array
from ...sweeps.verbs import eliminate, invert, solve, substitute
from ..inertia.crba import crba
from ..registry import algorithm
from .idsva import idsva, recursion


@algorithm(
    "forward_dynamics_derivatives",
    source="Carpentier, Mansard 2018, section IV",
    coupled=True,
    work="O(n^3)",
    symmetric=False,
    assembles=True,
    span="O(depth^2)",
)
def through_inverse(
    model: Model, q: Array, qd: Array, tau: Array, *, external: Array = 0.0, value: bool = False
) -> tuple[Array, ...]:
    """(∂qdd/∂q, ∂qdd/∂qd, ∂qdd/∂tau), each (…, nv, nv), in the tangent space of q.

    qdd makes inverse dynamics give tau: with all three changing, ∂qdd = M^-1 (∂tau - ∂ID). With `value`
    also qdd.

    Source: Carpentier, Mansard 2018, section IV; Featherstone 2008, Tables 6.3 to 6.5.
    Cost:   work O(n^3), span O(depth^2).
    """
    L = eliminate(crba(model, q))
    _, S, *_, F = recursion(model, q, qd, qd * 0.0, external)
    qdd = substitute(L, tau - S.T @ F)
    dq, dqd, _ = idsva(model, q, qd, qdd, external=external)
    inverse = invert(L, model.armature * 0.0 + 1.0)
    slopes = -solve(L, inverse, dq), -solve(L, inverse, dqd), inverse
    return (*slopes, qdd) if value else slopes
