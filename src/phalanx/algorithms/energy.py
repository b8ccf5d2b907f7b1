# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Energies and the centre of mass: sums over bodies."""

from ..robot.model import Model, joint_kinematics
from ..spatial import Array, dot, matvec, transpose
from ..sweeps.verbs import propagate, total
from .kinematics import body_transforms
from .registry import algorithm

SUM = {"source": "Featherstone 2008, section 2.14", "coupled": True}


def first_moment(model: Model, q: Array) -> Array:
    """Mass times centre of mass (…, 3) of all moving links, in the world frame."""
    X = body_transforms(model, q)
    G = model.inertia
    moment = G.m[..., None] * X.r + matvec(transpose(X.E), G.h)
    return total(transpose(moment))


def mass_center(model: Model, q: Array) -> Array:
    """Centre of mass (…, 3) of all moving links, in the world frame."""
    # Masses as vectors of one component: those that are given have a batch of their own.
    return first_moment(model, q) / total(model.inertia.m[..., None, :])


@algorithm("center_of_mass", name="sum", **SUM)
def center_of_mass(model: Model, q: Array) -> Array:
    """Centre of mass (…, 3) of all moving links, in the world frame; NaN if none has mass."""
    return mass_center(model, q)


@algorithm("potential_energy", name="sum", **SUM)
def potential_energy(model: Model, q: Array) -> Array:
    """Potential energy (…) in the field of gravity, zero at the world's origin."""
    return -dot(first_moment(model, q), model.gravity)


@algorithm("kinetic_energy", name="sum", **SUM)
def kinetic_energy(model: Model, q: Array, qd: Array) -> Array:
    """Kinetic energy (…) of all links and rotors."""
    X, S, _ = joint_kinematics(model, q)
    V = propagate(X, S @ qd)
    return (total(dot(V, model.inertia @ V)) + total(model.armature * qd * qd)) * 0.5
