# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The legend of charts: the plain name of each quantity of the algorithms.

Quantities have the names of the equations (F, wd, Ga), which are short enough for a bar and mean different
things in different papers. Legends show them beside their colours.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

# Letters with the same meaning in all algorithms that are not listed by name below.
_COMMON = {
    "A": "rotation of each link's frame",
    "B": "velocity products of composite bodies",
    "C": "Coriolis matrix",
    "D": "diagonal blocks of the constraint system",
    "Di": "inverse of the inertia along each joint",
    "E": "inertia of composite bodies about their mass centre",
    "F": "wrench (force and moment) that each joint transmits",
    "Ga": "articulated-body inertia",
    "Gc": "composite rigid-body inertia",
    "Gp": "articulated-body inertia seen through the joint",
    "H": "first mass moment of each link",
    "J": "rotational inertia in the base frame",
    "K": "tensor of angular acceleration and velocity",
    "L": "sparse factor of the mass matrix",
    "M": "entries of the mass matrix",
    "N": "rate of angular momentum of each link",
    "P": "vector from joint to joint",
    "Pstar": "vector from each joint to the mass centres beyond",
    "R": "rotation to the base frame",
    "S": "joint axis (motion subspace)",
    "Sd": "rate of the joint axes",
    "Sdd": "second rate of the joint axes",
    "Sv": "effect of joint rates on accelerations",
    "U": "inertia times joint axis",
    "V": "twist (spatial velocity) of each link",
    "Vd": "spatial acceleration of each link",
    "W": "rotation over a run of links",
    "X": "transform from parent to link",
    "X_b": "pose of the body that carries the frame",
    "X_links": "transform from link to link",
    "Xd": "transform as a dense matrix",
    "a": "acceleration of each link's origin",
    "about": "momentum about the mass centre",
    "along": "acceleration along sliding joints",
    "arm": "vector from joint to joint",
    "arms": "vectors from each joint to those beyond",
    "away": "velocity of the frame against each link",
    "b": "velocity-dependent and external wrench",
    "body": "motion of the body that carries the frame",
    "c": "velocity-product acceleration",
    "columns": "columns of the result",
    "dV": "derivative of the twists",
    "dVd": "derivative of the accelerations",
    "f": "force that each joint transmits",
    "first_moment": "first mass moment",
    "forces": "joint forces",
    "frame_motion": "motion of the frame",
    "h": "momentum",
    "inverse": "inverse of the mass matrix",
    "k": "second mass moment of each link",
    "luh_walker_paul": "joint forces by the recursion of Luh, Walker and Paul",
    "mass_center": "mass centre",
    "matrices": "entries of the derivative matrices",
    "mine": "products of joint axes",
    "moment": "first mass moment of each link",
    "n": "moment that each joint transmits",
    "p": "vector from joint to joint",
    "pa": "articulated-body bias wrench",
    "pdd": "acceleration of each link's origin",
    "pp": "bias wrench seen through the joint",
    "psi": "inertia times joint axis over the inertia along the joint",
    "qdd": "joint acceleration",
    "rate": "rate of the frame's twist",
    "rated": "acceleration across each joint",
    "rdd": "acceleration of each mass centre",
    "recursion": "motion and wrenches of all links",
    "result": "the result",
    "rotations": "rotation of each link's frame",
    "s": "vector from each joint to its link's mass centre",
    "slopes": "derivatives of the joint forces",
    "tau": "joint force",
    "twist": "twist of the frame",
    "u": "joint acceleration of the link alone",
    "upward": "acceleration of the base against gravity",
    "v": "velocity columns of the Jacobian",
    "vd": "acceleration of each link's origin",
    "velocity": "velocity of the frame",
    "w": "angular velocity",
    "wJd": "angular acceleration across each joint",
    "wd": "angular acceleration",
    # Of the scans over articulated bodies (abia, contraction) and the assemblies of dca.
    "Q": "inertia between two joined runs of links",
    "_outward": "accelerations from base to tip",
    "above": "constraint wrench at the base of a branch",
    "between": "constraint wrench inside an assembly",
    "congruent": "inertia carried across a run of links",
    "crba": "mass matrix by composite rigid bodies",
    "first": "inertia and bias of the first run",
    "free": "acceleration of a link without constraint",
    "handled": "wrench on the ends of an assembly",
    "hung": "inertia and bias of what a link carries",
    "joined": "two runs of links joined to one",
    "joint": "step of one joint",
    "loaded": "run of links with what it carries",
    "links": "run of one link",
    "Y1": "response of a constraint to the near end's wrench",
    "Y2": "response of a constraint to the far end's wrench",
    "chain": "velocity products and gravity of all links",
    "drive": "wrench of the joint forces",
    "from_seats": "constraint directions in the link's frame",
    "rows": "rows of an elimination",
    "moved": "acceleration of a link from its wrenches",
    "near": "effect of a constraint wrench on an assembly's end",
    "pivot": "pivot of an elimination",
    "rest": "remaining columns of an elimination",
    "rho": "relative acceleration across each joint",
    "right": "right-hand side of a linear system",
    "scale": "scaling before an elimination",
    "second": "inertia and bias of the second run",
    "step": "map from the acceleration of a parent to its child's",
    "whole": "assembly of two assemblies",
    "x": "unknowns of a linear system",
    "y": "constraint wrench across each joint",
    "y0": "constraint wrench without outside wrenches",
    # Of the mass matrices of the papers.
    "a_ij": "entry of the mass matrix",
    "a_ii": "diagonal entry of the mass matrix",
    "emit": "entry of the mass matrix",
    "entries": "entries of the mass matrix",
    "moments": "first and second mass moment of each link",
    "partial": "partial velocity",
    "plus": "sum over links",
    "project": "projection on the joint axis",
    "r": "vector between mass centres",
    "ZxH": "joint axis times first mass moment",
    # Of the transputer program: parts of the equations, which workers share out.
    "AnN": "moment from the next link, plus own rate of momentum",
    "AnNsF": "AnN plus the moment of the inertial force",
    "Avd": "acceleration carried to the link's frame",
    "F, N": "inertial force and rate of angular momentum",
    "Jw": "angular momentum",
    "Jwd": "inertia times angular acceleration",
    "Z": "joint axis in the end effector's frame",
}

_INERTIAL = {"F": "inertial force of each link", "psi": "acceleration of each mass centre"}
_COMPOSITE = {
    "M": "composite mass",
    "c": "mass centre of composite bodies",
    "U": "rotation from link to link",
    "F": "force of a unit joint acceleration",
    "N": "moment of a unit joint acceleration",
    "P": "vector from joint to joint",
}
_COLUMNS = {
    "F": "inertial force of a unit joint acceleration",
    "N": "inertial moment of a unit joint acceleration",
    "S": "vector from each joint to its link's mass centre",
    "V": "acceleration that a unit joint acceleration causes",
    "a": "entries of the mass matrix",
    "h": "first mass moment of each link",
    "wd": "angular acceleration that a unit joint acceleration causes",
}
_SCANNED = {
    "F": "wrench across each joint",
    "P": "inertia of a run of links at its base",
    "V": "inertia across the joint between two assemblies",
    "W": "directions in which the joint transmits wrenches",
    "a": "acceleration of each link",
    "r": "bias wrench of a run of links at its base",
}
_SEGMENTS = {
    "B": "wrench that each link's motion takes",
    "U": "twist inside a segment",
    "Ud": "acceleration inside a segment",
    "Y": "transform over a segment",
    "_": "wrench carried along a segment",
    "a": "acceleration before each segment",
    "up": "wrench or inertia handed to the link before",
}

# By the name of the algorithm, where a letter means something else than above.
_OWN: dict[str, dict[str, str]] = {
    "abia": _SCANNED,
    "composite_original": _COMPOSITE,
    "composite_variant": {
        "A": "entries of the mass matrix",
        "P": "vector from joint to joint",
        "f": "force of a unit joint acceleration",
        "n": "moment of a unit joint acceleration",
    },
    "contraction": _SCANNED,
    "crba": {"F": "wrench of a unit acceleration along each joint"},
    "dca": _SCANNED,
    "jsiia": {"F": "wrench of a unit acceleration, and of the bias"},
    "kane_original": _COLUMNS,
    "kane_variant": _COLUMNS | {"f": "force summed over the links beyond", "n": "its moment"},
    "lathrop": _INERTIAL
    | {
        "R": "vector over a run of links",
        "S": "velocity of a run's end against its start",
        "U": "vector over a run of links, in the next frame",
        "V": "rotation over a run of links",
        "X": "motion of a run of links",
        "Y": "force and moment of a run of links",
        "u": "angular velocity of the links before a run",
        "uR": "velocity of a run's end from the rotation before it",
        "rate": "velocity across each joint",
        "ud": "angular acceleration of the links before a run",
    },
    "luh_walker_paul": _INERTIAL | {"c": "acceleration of the link's end against its start"},
    "newton_euler_original": _INERTIAL | {"c": "acceleration of the link's end against its start"},
    "newton_euler_variant": _COLUMNS,
    "partition": _SEGMENTS,
    "processor_array": _COLUMNS,
    "recursive_doubling": _COMPOSITE
    | {"f": "force of a unit joint acceleration", "n": "its moment", "r": "vector between mass centres"},
    "zomaya_morris": _INERTIAL | {"c": "velocity products of a link"},
}
MEANINGS = MappingProxyType(_COMMON)

KINDS = MappingProxyType(
    {"VA": "vector sum", "SV": "scaled vector", "VC": "cross product", "MV": "matrix times vector"}
)


def meaning(quantity: str, algorithm: str = "") -> str:
    """The plain name of a quantity of an algorithm; empty if it has none."""
    return _OWN.get(algorithm, {}).get(quantity) or _COMMON.get(quantity, "")


def explained(quantity: str, algorithm: str = "") -> str:
    """A quantity with its plain name, as a legend shows it."""
    name = meaning(quantity, algorithm)
    return f"{quantity}: {name}" if name else quantity


def explained_kinds(names: Iterable[str]) -> str:
    """What the kinds of vector operations in names of processors mean; empty if there are none."""
    used = {word for name in names for word in name.split()} & set(KINDS)
    return ", ".join(f"{kind}: {KINDS[kind]}" for kind in KINDS if kind in used)
