# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of inverse dynamics by spatial vector algebra."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...robot.model import Model, diagonal, gravity_twist, joint_kinematics
from ...spatial import (
    Array,
    Field,
    Momentum,
    Transform,
    angular,
    dot,
    force_cross,
    matvec,
    motion_cross,
    namespace,
    transpose,
)
from ...sweeps.verbs import accumulate, ancestor_pairs, parent, propagate
from ..registry import algorithm


@dataclass(frozen=True)
class DerivativeLoads(Field):
    """The loads that a body passes to its ancestors: wrenches t1, t2, t3 and the moment t4."""

    t1: Array
    t2: Array
    t3: Array
    t4: Array
    turned: Array  # the part of t3 that bodies of the same joint do not meet
    ranks: ClassVar[tuple[int, ...]] = (1, 1, 1, 1, 1)

    def carried(self, X: Transform, first: Array) -> "DerivativeLoads":
        """At the parent; behind the first body of a joint all of t3 is met."""
        t3, turned = self.t3 + first * self.turned, self.turned - first * self.turned
        return DerivativeLoads(
            X.T @ self.t1, X.T @ self.t2, X.T @ t3, matvec(transpose(X.E), self.t4), X.T @ turned
        )


@algorithm(
    "inverse_dynamics_derivatives",
    source="Singh, Russell, Wensing 2022, Table I",
    coupled=True,
    work="O(n depth)",
    symmetric=False,
)
def idsva(
    model: Model, q: Array, qd: Array, qdd: Array, *, external: Array = 0.0, value: bool = False
) -> tuple[Array, ...]:
    """(∂tau/∂q, ∂tau/∂qd, ∂tau/∂qdd), each (…, nv, nv), in the tangent space of q.

    With `value` also tau.

    With body j beyond i: ∂tau_i/∂q_j = S_i . t3_j, ∂tau_j/∂q_i = t1_j . Sdd_i + t4_j . Sd_i and so on, where
    Sd = V_p x S and Sdd = Vd_p x S + V_p x Sd of the parent's motion.

    Source: Singh, Russell, Wensing 2022, Table I.
    Cost:   work O(n depth), span O(depth).
    """
    X, S, V, Vd, B, F = recursion(model, q, qd, qdd, external)
    V_p, Vd_p = X @ parent(V), X @ parent(Vd, root=-gravity_twist(model))
    Sd = motion_cross(V_p, S.axis)
    Sdd = motion_cross(Vd_p, S.axis) + motion_cross(V_p, Sd)
    Sv = Sd + Sd + S.turning(qd)  # what a rate of the joint does to accelerations beyond it
    Gc, B = accumulate(X, model.inertia), accumulate(X, B)
    start = DerivativeLoads(
        Gc @ S.axis,
        B @ S.axis + Gc @ Sv,
        B @ Sd + Gc @ Sdd,
        B.T @ S.axis,
        force_cross(S.axis, F),
    )

    matrices = ancestor_pairs(
        start,
        carry=lambda x, X, S, Sd, Sdd, Sv, first: x.carried(X, first),
        emit=lambda x, X, S, Sd, Sdd, Sv, first: (
            entries(
                dot(x.t1, Sdd) + dot(x.t4, angular(Sd)),
                dot(x.t1, Sv) + dot(x.t4, angular(S)),
                dot(S, x.t1),
            ),
            entries(dot(S, x.t3), dot(S, x.t2), dot(S, x.t1)),
        ),
        along=(X, S.axis, Sd, Sdd, Sv, S.first),
    )
    dq, dqd, M = (model.joint_matrix(matrices[..., k]) for k in range(3))
    slopes = dq, dqd + model.rotor_slopes(qd), M + diagonal(model.armature)
    return (*slopes, joint_forces(model, S, F, qd, qdd)) if value else slopes


def recursion(model: Model, q: Array, qd: Array, qdd: Array, external: Array) -> tuple[Any, ...]:
    """(X, S, V, Vd, B, F): inverse dynamics, where the matrices B know the wrenches of velocities."""
    X, S, cJ = joint_kinematics(model, q)
    VJ = S @ qd
    V = propagate(X, VJ)
    Vd = propagate(X, S @ qdd + cJ + motion_cross(V, VJ), root=-gravity_twist(model))
    B = Momentum.of(model.inertia, V)
    return X, S, V, Vd, B, accumulate(X, model.inertia @ Vd + B @ (V * 0.5) - external)


def joint_forces(model: Model, S: Any, F: Array, qd: Array, qdd: Array) -> Array:
    """Joint forces (…, nv) of wrenches on bodies, those that armature takes included."""
    force = S.T @ F + model.armature * qdd
    rotors = model.rotor_forces(qd)
    return force if rotors is None else force + rotors


def entries(*of: Array) -> Array:
    """Entries of several matrices side by side."""
    return namespace(*of).stack(of, axis=-1)
