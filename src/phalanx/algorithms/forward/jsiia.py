# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forward dynamics by factoring the joint-space inertia matrix."""

from ...model import Model
from ...spatial import Array
from ...sweeps import eliminate, substitute
from ..inertia.crba import crba
from ..inverse.cartesian_tensor import cartesian_tensor
from ..registry import algorithm


@algorithm(
    "forward_dynamics",
    source="Yang, Wu, Pan 2017, section III.A; Featherstone 2008, section 6.5",
    coupled=True,
    work="O(n depth^2)",
    span="O(depth^2)",
)
def jsiia(model: Model, q: Array, qd: Array, tau: Array, *, external: Array = 0.0) -> Array:
    """Joint accelerations `qdd` (…, nv): bias, mass matrix, sparse factor, two substitutions.

    Source: Yang, Wu, Pan 2017, section III.A; the factor M = L^T D L without fill-in is
    Featherstone 2008, Table 6.3.
    Cost:   work O(n depth^2), span O(depth^2).
    """
    bias = cartesian_tensor(model, q, qd, qd * 0.0, external=external)
    L = eliminate(crba(model, q))
    return substitute(L, tau - bias)
