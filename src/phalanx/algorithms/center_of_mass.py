# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How the centre of mass of all moving links moves: momentum and force over the total mass."""

from ..robot.model import Model, identity_transform, joint_kinematics
from ..spatial import Array, Transform, force_cross, linear, matvec, motion_cross, transpose
from ..sweeps.verbs import accumulate, propagate, total
from .registry import algorithm

LINEAR = {"source": "Orin, Goswami, Lee 2013, equations (20) and (27)", "coupled": True}


@algorithm("center_of_mass_jacobian", name="composite", **LINEAR)
def center_of_mass_jacobian(model: Model, q: Array) -> Array:
    """Jacobian (…, 3, nv) of the centre of mass: times qd it is its velocity, along the world's axes.

    Source: Orin, Goswami, Lee 2013, equation (27), the linear rows over the mass, by composite bodies.
    Cost:   work O(n), span O(depth).
    """
    X, S, _ = joint_kinematics(model, q)
    X_w: Transform = propagate(X, root=identity_transform(model))
    Gc = accumulate(X, model.inertia)
    columns = matvec(transpose(X_w.E), linear(Gc @ S.axis))
    return transpose(model.joint_columns(columns / total_mass(model)[..., None, :]))


@algorithm("center_of_mass_velocity", name="sum", **LINEAR)
def center_of_mass_velocity(model: Model, q: Array, qd: Array) -> Array:
    """Velocity (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass.

    Source: Orin, Goswami, Lee 2013, equation (20), the linear rows over the mass.
    Cost:   work O(n), span O(depth).
    """
    X, S, _ = joint_kinematics(model, q)
    X_w: Transform = propagate(X, root=identity_transform(model))
    V = propagate(X, S @ qd)
    return total(transpose(matvec(transpose(X_w.E), linear(model.inertia @ V)))) / total_mass(model)


@algorithm("center_of_mass_acceleration", name="sum", **LINEAR)
def center_of_mass_acceleration(model: Model, q: Array, qd: Array, qdd: Array) -> Array:
    """Acceleration (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass.

    It is the second derivative of `center_of_mass`, without gravity.

    Source: Orin, Goswami, Lee 2013, equation (20), its rate by the force on each body.
    Cost:   work O(n), span O(depth).
    """
    G = model.inertia
    X, S, cJ = joint_kinematics(model, q)
    X_w: Transform = propagate(X, root=identity_transform(model))
    VJ = S @ qd
    V = propagate(X, VJ)
    Vd = propagate(X, S @ qdd + cJ + motion_cross(V, VJ))
    F = G @ Vd + force_cross(V, G @ V)
    return total(transpose(matvec(transpose(X_w.E), linear(F)))) / total_mass(model)


def total_mass(model: Model) -> Array:
    """Mass (…, 1) of all moving links."""
    # Masses as vectors of one component: those that are given have a batch of their own.
    return total(model.inertia.m[..., None, :])
