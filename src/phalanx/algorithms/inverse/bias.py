# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse dynamics without acceleration, and without motion at all."""

from ...robot.model import Model, gravity_twist, joint_kinematics
from ...spatial import Array
from ...sweeps.verbs import accumulate, propagate
from ..registry import algorithm
from .cartesian_tensor import cartesian_tensor


@algorithm("bias_forces", name="newton_euler", source="Featherstone 2008, section 6.1", coupled=True)
def bias_forces(model: Model, q: Array, qd: Array) -> Array:
    """Joint forces (…, nv) that hold qdd = 0 at state (q, qd): velocity products and gravity."""
    return cartesian_tensor(model, q, qd, qd * 0.0)


@algorithm("gravity_forces", name="newton_euler", source="Featherstone 2008, section 6.1", coupled=True)
def gravity_forces(model: Model, q: Array) -> Array:
    """Joint forces (…, nv) that hold the robot at rest at q.

    Source: the recursive Newton-Euler algorithm with qd = qdd = 0.
    """
    G = model.inertia
    X, S, _ = joint_kinematics(model, q)
    Vd = propagate(X, root=-gravity_twist(model))
    F = accumulate(X, G @ Vd)
    return S.T @ F
