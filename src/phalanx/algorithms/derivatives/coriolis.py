# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The Coriolis matrix that belongs to Christoffel's symbols."""

from dataclasses import dataclass
from typing import ClassVar

from ...robot.model import Model, joint_kinematics
from ...spatial import Array, Field, Momentum, Transform, angular, dot, inner, matvec, motion_cross, transpose
from ...sweeps.verbs import accumulate, ancestor_pairs, propagate
from ..registry import algorithm


@dataclass(frozen=True)
class CoriolisLoads(Field):
    """The loads that a body passes to its ancestors: momentum and force of a unit rate, and a moment."""

    momentum: Array
    force: Array
    moment: Array
    ranks: ClassVar[tuple[int, ...]] = (1, 1, 1)

    def carried(self, X: Transform) -> "CoriolisLoads":
        """The value at the parent's frame of what a body passes on."""
        return CoriolisLoads(X.T @ self.momentum, X.T @ self.force, matvec(transpose(X.E), self.moment))


@algorithm(
    "coriolis_matrix",
    name="composite",
    source="Echeandia, Wensing 2021, Algorithm 1",
    coupled=True,
    work="O(n depth)",
    symmetric=False,
)
def coriolis_matrix(model: Model, q: Array, qd: Array) -> Array:
    """The matrix C (…, nv, nv) with C qd the forces of velocity, and dM/dt - 2 C skew-symmetric.

    Source: Echeandia, Wensing 2021, Algorithm 1.
    Cost:   work O(n depth), span O(depth).
    """
    X, S, _ = joint_kinematics(model, q)
    VJ = S @ qd
    V = propagate(X, VJ)
    # Axes are fixed in the last body of their joint.
    Sd = motion_cross(V - VJ, S.axis) + motion_cross(S.across(qd), S.axis)
    Gc = accumulate(X, model.inertia)
    B = accumulate(X, Momentum.of(model.inertia, V, 0.5))
    start = CoriolisLoads(Gc @ S.axis, B @ S.axis + Gc @ Sd, B.T @ S.axis)
    C = ancestor_pairs(
        start,
        carry=lambda x, X, S, Sd: x.carried(X),
        emit=lambda x, X, S, Sd: (
            (dot(x.momentum, Sd) + dot(x.moment, angular(S)))[..., None],
            inner(S, x.force),
        ),
        along=(X, S.axis, Sd),
    )
    return model.joint_matrix(C[..., 0]) + model.rotor_matrix(qd)
