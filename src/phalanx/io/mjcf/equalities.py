# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Equality constraints of a compiled MuJoCo model: mimic joints, loops, and others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from phalanx.io.mjcf.tree import MujocoNames, is_scalar, rotation, site_pose, unique_names
from phalanx.robot.description import Constraint, Joint, LoopClosure, Mimic, Pose

_KINDS = {0: "connect", 1: "weld", 2: "joint", 3: "tendon"}  # by the numbers of mjtEq

_SOLREF, _SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)  # MuJoCo's defaults


class Equalities(NamedTuple):
    """The couplings and closed loops that the constraints of a model make."""

    joints: list[Joint]  # the joints of the tree, some of them with a driver now
    loops: list[LoopClosure]
    constraints: list[Constraint]  # polynomials between joints, equalities of fixed tendons
    others: list[str]  # names of the constraints that are none of these


def read_equalities(model: Any, names: MujocoNames, joints: list[Joint]) -> Equalities:
    """The active constraints: linear ones between two joints as mimics, `connect` and `weld` as loops.

    Polynomials between joints, and equalities of fixed tendons, are constraints of their own.
    """
    import mujoco

    kinds = mujoco.mjtEq
    drivers: dict[str, Mimic] = {}
    loops, constraints, others = [], [], []
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
        elif made := _equation(model, names, e, labels[e]):
            constraints.append(made)
        else:
            others.append(_described(model, names, e, labels[e]))
    coupled = [replace(j, mimic=drivers[j.name]) if j.name in drivers else j for j in joints]
    return Equalities(coupled, loops, constraints, others)


def softened(model: Any) -> int:
    """The number of active constraints whose softness (solref, solimp) is not MuJoCo's default."""
    if not _enabled(model):
        return 0
    own = (model.eq_solref != _SOLREF).any(axis=1) | (model.eq_solimp != _SOLIMP).any(axis=1)
    return int(np.count_nonzero(own & (model.eq_active0 != 0)))


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


def _equation(model: Any, names: MujocoNames, e: int, label: str) -> Constraint | None:
    """A constraint between coordinates, None where it is none."""
    kind = _KINDS.get(int(model.eq_type[e]))
    if kind == "joint":
        return _coupling(model, names, e, label)
    return _tendons(model, names, e, label) if kind == "tendon" else None


def _coupling(model: Any, names: MujocoNames, e: int, label: str) -> Constraint | None:
    """A polynomial between two joints, or a joint that is held, as MuJoCo has it about their references."""
    follower, driver = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    if not is_scalar(model, follower) or (driver >= 0 and not is_scalar(model, driver)):
        return None
    zero = float(model.qpos0[model.jnt_qposadr[follower]])
    polynomial = tuple(model.eq_data[e, :5].tolist())
    own = Constraint(
        label,
        "coupling",
        joints=(names.joints[follower],),
        factors=(1.0,),
        offset=-zero,
        polynomial=polynomial,
    )
    if driver < 0:
        return replace(own, polynomial=polynomial[:1])
    driver_zero = float(model.qpos0[model.jnt_qposadr[driver]])
    return replace(own, drivers=(names.joints[driver],), driver_factors=(1.0,), driver_offset=-driver_zero)


def _tendons(model: Any, names: MujocoNames, e: int, label: str) -> Constraint | None:
    """An equality of one fixed tendon or two, whose lengths are linear in coordinates."""
    own = _fixed_tendon(model, names, int(model.eq_obj1id[e]))
    other = _fixed_tendon(model, names, int(model.eq_obj2id[e])) if model.eq_obj2id[e] >= 0 else ({}, 0.0)
    if own is None or other is None:
        return None
    polynomial = tuple(model.eq_data[e, :5].tolist())
    return Constraint(
        label,
        "tendon",
        joints=tuple(own[0]),
        factors=tuple(own[0].values()),
        offset=-own[1],
        drivers=tuple(other[0]),
        driver_factors=tuple(other[0].values()),
        driver_offset=-other[1],
        polynomial=polynomial if other[0] else polynomial[:1],
    )


def _fixed_tendon(model: Any, names: MujocoNames, tendon: int) -> tuple[dict[str, float], float] | None:
    """The factors of joints in the length of a tendon, and its reference length; None of a spatial one."""
    import mujoco

    factors: dict[str, float] = {}
    first = int(model.tendon_adr[tendon])
    for w in range(first, first + int(model.tendon_num[tendon])):
        joint = int(model.wrap_objid[w])
        if model.wrap_type[w] != mujoco.mjtWrap.mjWRAP_JOINT or not is_scalar(model, joint):
            return None
        factors[names.joints[joint]] = factors.get(names.joints[joint], 0.0) + float(model.wrap_prm[w])
    return factors, float(model.tendon_length0[tendon])


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

    Between bodies MuJoCo stores the points that meet (of a weld in the opposite order) and the
    orientation of the second body in the first; between sites, their poses are enough.
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
