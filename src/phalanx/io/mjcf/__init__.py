# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""MJCF: robots from models of MuJoCo, compiled by the `mujoco` package."""

from __future__ import annotations

from typing import Any

from phalanx.io.ignored import leaving_out
from phalanx.io.mjcf.compiling import compiled, is_mujoco
from phalanx.io.mjcf.equalities import read_equalities
from phalanx.io.mjcf.ignored import left_out
from phalanx.io.mjcf.sites import read_sites
from phalanx.io.mjcf.tree import read_tree, triple
from phalanx.io.mujoco_names import MujocoNames
from phalanx.robot.description import Description

__all__ = ["is_mujoco", "read_mjcf"]


def read_mjcf(given: Any, *, source: str) -> Description:
    """The bodies, joints, sites and loops of MJCF; `source` names it in messages.

    Given is a text, a path, a `mujoco.MjSpec` or a `mujoco.MjModel`. Only a path or a specification
    lets the model include other files and meshes. What is no part of a tree of rigid bodies
    (actuators, tendons, loops, keyframes, sensors) is counted in one warning.
    """
    model, sensors = compiled(given, source)
    names = MujocoNames.of(model)
    links, joints = read_tree(model, names)
    joints, loops, others = read_equalities(model, names, joints)
    gravity = (0.0, 0.0, 0.0) if _weightless(model) else triple(model.opt.gravity)
    described = Description(
        names.model,
        tuple(links),
        tuple(joints),
        gravity,
        frames=tuple(read_sites(model, names, links)),
        loops=tuple(loops),
        source=source,
    )
    bounded = len(model.actuator_trntype) > 0 and any(joint.effort for joint in joints)
    return leaving_out(described, left_out(model, names, others, sensors, bounded))


def _weightless(model: Any) -> bool:
    import mujoco

    return bool(model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY)
