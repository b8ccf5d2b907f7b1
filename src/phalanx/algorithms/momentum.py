# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Momentum of all links about their common centre of mass."""

from ..robot.model import Model, joint_kinematics
from ..spatial import Array, angular, cross, force_cross, join, linear, motion_cross, transpose
from ..sweeps.verbs import accumulate, propagate, total
from .energy import mass_center
from .kinematics import body_transforms
from .registry import algorithm

CENTROIDAL = {"source": "Orin, Goswami, Lee 2013, equations (2) to (27)", "coupled": True}


@algorithm("centroidal_momentum", name="sum", **CENTROIDAL)
def centroidal_momentum(model: Model, q: Array, qd: Array) -> Array:
    """Momentum (…, 6) [angular; linear] of all links about their mass centre, along the world's axes.

    Source: Orin, Goswami, Lee 2013, equation (20).
    Cost:   work O(n), span O(depth).
    """
    X, S, _ = joint_kinematics(model, q)
    V = propagate(X, S @ qd)
    h = total(transpose(body_transforms(model, q).T @ (model.inertia @ V)))
    return about(h, mass_center(model, q))


@algorithm("centroidal_momentum_matrix", name="composite", **CENTROIDAL)
def centroidal_momentum_matrix(model: Model, q: Array) -> Array:
    """The matrix A (…, 6, nv) with momentum A qd about the mass centre, along the world's axes.

    Source: Orin, Goswami, Lee 2013, equation (27), by composite bodies.
    Cost:   work O(n), span O(depth).
    """
    X, S, _ = joint_kinematics(model, q)
    Gc = accumulate(X, model.inertia)
    columns = body_transforms(model, q).T @ (Gc @ S.axis)
    center = mass_center(model, q)
    return transpose(model.joint_columns(about(columns, center[..., None, :])))


@algorithm("centroidal_momentum_time_variation", name="sum", **CENTROIDAL)
def centroidal_momentum_time_variation(model: Model, q: Array, qd: Array, qdd: Array) -> Array:
    """Rate (…, 6) [angular; linear] of the momentum about the mass centre, along the world's axes.

    It is the wrench about the mass centre that gives the links their accelerations, gravity included.

    Source: Orin, Goswami, Lee 2013, equation (20), differentiated: the wrench on each body in place of its
    momentum.
    Cost:   work O(n), span O(depth).
    """
    G = model.inertia
    X, S, cJ = joint_kinematics(model, q)
    VJ = S @ qd
    V = propagate(X, VJ)
    Vd = propagate(X, S @ qdd + cJ + motion_cross(V, VJ))
    F = G @ Vd + force_cross(V, G @ V)
    hd = total(transpose(body_transforms(model, q).T @ F))
    # The mass centre moves along its momentum: the moment of that vanishes.
    return about(hd, mass_center(model, q))


def about(h: Array, center: Array) -> Array:
    """A wrench-like vector given at the origin, about another point."""
    return join(angular(h) - cross(center, linear(h)), linear(h))
