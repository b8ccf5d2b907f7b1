# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Equality constraints of a compiled MuJoCo model: mimic joints, loops, and others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from phalanx.io.mjcf.tree import MujocoNames, is_scalar, rotation, site_pose, unique_names
from phalanx.robot.description import Joint, LoopClosure, Mimic, Pose

_KINDS = {0: "connect", 1: "weld", 2: "joint", 3: "tendon"}  # by the numbers of mjtEq


class Equalities(NamedTuple):
    """The couplings and closed loops that the constraints of a model make."""

    joints: list[Joint]  # the joints of the tree, some of them with a driver now
    loops: list[LoopClosure]
    others: list[str]  # names of the constraints that are neither


def read_equalities(model: Any, names: MujocoNames, joints: list[Joint]) -> Equalities:
    """The active constraints: linear ones between two joints as mimics, `connect` and `weld` as loops."""
    import mujoco

    kinds = mujoco.mjtEq
    drivers: dict[str, Mimic] = {}
    loops, others = [], []
    defaults = [f"{_KINDS.get(int(kind), 'equality')}{e}" for e, kind in enumerate(model.eq_type)]
    labels = unique_names(names.at(model.name_eqadr), defaults)
    for e in np.flatnonzero(model.eq_active0).tolist() if _enabled(model) else ():
        kind = model.eq_type[e]
        if kind == kinds.mjEQ_JOINT and (found := _mimic(model, names, e, drivers)):
            drivers |= found
        elif kind == kinds.mjEQ_CONNECT:
            loops.append(_loop(model, names, e, labels[e], "spherical"))
        elif kind == kinds.mjEQ_WELD:
            loops.append(_loop(model, names, e, labels[e], "fixed"))
        else:
            others.append(_described(model, names, e, labels[e]))
    coupled = [replace(j, mimic=drivers[j.name]) if j.name in drivers else j for j in joints]
    return Equalities(coupled, loops, others)


def _enabled(model: Any) -> bool:
    import mujoco

    bits = mujoco.mjtDisableBit
    return not model.opt.disableflags & (bits.mjDSBL_EQUALITY | bits.mjDSBL_CONSTRAINT)


def _mimic(model: Any, names: MujocoNames, e: int, drivers: dict[str, Mimic]) -> dict[str, Mimic]:
    """The follower's name and its driver, nothing where the constraint is no mimic joint of a tree."""
    follower, driver = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    shift, factor, *higher = model.eq_data[e, :5].tolist()
    if any(higher) or not (is_scalar(model, follower) and is_scalar(model, driver)):
        return {}
    name = names.joints[follower]
    if name in drivers or name in _drivers_of(names.joints[driver], drivers):
        return {}
    zero, driver_zero = (float(model.qpos0[model.jnt_qposadr[k]]) for k in (follower, driver))
    return {name: Mimic(names.joints[driver], factor, zero + shift - factor * driver_zero)}


def _described(model: Any, names: MujocoNames, e: int, label: str) -> str:
    """The name of a constraint, with the joints that it couples."""
    if _KINDS.get(int(model.eq_type[e])) != "joint":
        return label
    joints = [names.joints[j] for j in (model.eq_obj1id[e], model.eq_obj2id[e]) if j >= 0]
    return f"{label}: {' with '.join(joints)}"


def _drivers_of(joint: str, drivers: dict[str, Mimic]) -> set[str]:
    """The joint, its driver, the driver's driver, …"""
    found = {joint}
    while joint in drivers:
        joint = drivers[joint].joint
        found.add(joint)
    return found


def _loop(model: Any, names: MujocoNames, e: int, name: str, kind: str) -> LoopClosure:
    """The loop of a constraint between two bodies or two sites.

    Between bodies MuJoCo keeps the points that shall meet, of a weld in the opposite order, and the
    orientation of the second body in the first; between sites, their poses say it all.
    """
    import mujoco

    ends = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    data = model.eq_data[e]
    if model.eq_objtype[e] == mujoco.mjtObj.mjOBJ_SITE:
        bodies = [int(model.site_bodyid[s]) for s in ends]
        first, second = (site_pose(model, s) for s in ends)
    else:
        bodies = list(ends)
        first, second = Pose.of(None, data[:3]), Pose.of(None, data[3:6])
        if kind == "fixed":
            first, second = Pose.of(rotation(data[6:10]), data[3:6]), first
    return LoopClosure(name, kind, names.bodies[bodies[0]], names.bodies[bodies[1]], first, second)
