# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""MJCF: robots from models of MuJoCo, compiled by the `mujoco` package."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from phalanx.io.ignored import counted, leaving_out, named
from phalanx.io.mjcf.actuators import read_actuators
from phalanx.io.mjcf.compiling import compiled, is_mujoco
from phalanx.io.mjcf.equalities import read_equalities, softened
from phalanx.io.mjcf.tree import (
    TYPES,
    MujocoNames,
    drives_scalar_joint,
    read_sites,
    read_tree,
    rotors,
    springs_are_off,
    triple,
    unique_names,
)
from phalanx.robot.description import Description

__all__ = ["is_mujoco", "read_mjcf"]


def read_mjcf(given: Any, *, source: str) -> Description:
    """The bodies, joints, sites, actuators and loops of MJCF; `source` names it in messages.

    Given is a string, a path, a `mujoco.MjSpec` or a `mujoco.MjModel`. Only a path or a specification
    lets the model include other files and meshes. What is no part of a tree of rigid bodies
    (tendons, loops, keyframes, sensors, gains of servos) is counted in one warning.
    """
    model, sensors = compiled(given, source)
    names = MujocoNames.of(model)
    links, joints = read_tree(model, names)
    joints, loops, constraints, others = read_equalities(model, names, joints)
    gravity = (0.0, 0.0, 0.0) if _weightless(model) else triple(model.opt.gravity)
    titles = names.at(model.name_actuatoradr)
    drives = unique_names(titles, [f"actuator{a}" for a in range(len(titles))])
    actuators, idle, servos = read_actuators(model, TYPES, names.joints, drives)
    described = Description(
        names.model,
        tuple(links),
        tuple(joints),
        gravity,
        frames=tuple(read_sites(model, names, links)),
        loops=tuple(loops),
        actuators=actuators,
        constraints=tuple(constraints),
        source=source,
    )
    return leaving_out(described, left_out(model, names, others, sensors, idle, servos))


def _weightless(model: Any) -> bool:
    import mujoco

    return bool(model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY)


_INPUTS = "their inputs in robot.actuated are forces"


def left_out(
    model: Any, names: MujocoNames, others: list[str], sensors: int, idle: list[str], servos: list[str]
) -> list[str]:
    """One phrase for each kind of element that is left out: how many there are, and their names.

    `idle` are actuators that are not read, `servos` those whose inputs are forces instead of controls.
    """

    def of(what: str, chosen: Iterable[Any]) -> list[str]:
        given = names.at(getattr(model, f"name_{what}adr"))
        return [given[i] or f"{what}{i}" for i in chosen]

    balls = model.jnt_limited.astype(bool) & (model.jnt_type == TYPES.index("spherical"))
    joints, bodies = np.array(names.joints, dtype=object), np.array(names.bodies, dtype=object)
    elsewhere = [a for a, _ in rotors(model) if not drives_scalar_joint(model, a)]
    return [
        *named("equality constraint", names=others),
        *counted(
            "soft equality constraint (solref, solimp), held exactly",
            "soft equality constraints (solref, solimp), held exactly",
            count=softened(model),
        ),
        *named("actuator", names=idle),
        *counted("gain of a servo", "gains of servos", count=len(servos), note=_INPUTS),
        *counted("keyframe", count=model.nkey),
        *counted("sensor", count=sensors),
        *named("tendon", names=of("tendon", range(model.ntendon))),
        *named("nonlinear joint spring", names=joints[_stiff(model)]),
        *named("nonlinear joint damping", names=joints[_nonlinear(model)]),
        *named("limit of a ball joint", "limits of ball joints", names=joints[balls]),
        *named("gravity compensation", names=bodies[model.body_gravcomp != 0]),
        *named(
            "rotor inertia not at a hinge or slide",
            "rotor inertias not at a hinge or slide",
            names=of("actuator", elsewhere),
        ),
        *named("mocap body, held still", "mocap bodies, held still", names=bodies[model.body_mocapid >= 0]),
        *named("flexible body", "flexible bodies", names=of("flex", range(getattr(model, "nflex", 0)))),
        *counted("plugin", count=model.nplugin),
        *(["fluid forces"] if model.opt.density or model.opt.viscosity else []),
    ]


def _stiff(model: Any) -> Any:
    """Which joints have springs that act, and not in proportion to their deflection."""
    if springs_are_off(model):
        return np.zeros(model.njnt, dtype=bool)
    higher = getattr(model, "jnt_stiffnesspoly", np.zeros((model.njnt, 1)))
    return higher.any(axis=1)


def _nonlinear(model: Any) -> Any:
    """Which joints have damping that is not proportional to their rates."""
    higher = getattr(model, "dof_dampingpoly", np.zeros((model.nv, 1)))
    which = np.zeros(model.njnt, dtype=bool)
    which[model.dof_jntid[higher.any(axis=1)]] = True
    return which
