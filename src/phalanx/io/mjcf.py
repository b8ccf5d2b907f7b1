# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""MJCF: bodies and joints of a MuJoCo model, compiled by the `mujoco` package.

Coordinates keep MuJoCo's zero: q of a hinge or slide is its qpos, `ref` included, and q of
a free joint is the pose of its body in the world.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Set
from dataclasses import replace
from typing import Any

import numpy as np

from phalanx.convert import MujocoNames
from phalanx.description import IDENTITY, Description, Joint, Link, Mimic, Pose, Triple
from phalanx.errors import PhalanxError, warn
from phalanx.io.xml import root_tag
from phalanx.joints import joint_type

Array = np.ndarray[Any, np.dtype[Any]]

WORLD = "world"
_TYPES = ("floating", "spherical", "prismatic", "revolute")  # by the numbers of mjtJoint


def read_mjcf(text: str | bytes | os.PathLike[str], *, source: str) -> Description:
    """The bodies and joints of an MJCF text or file; `source` names it in messages.

    Only a path lets the model include other files and meshes. What moves bodies but is no
    part of a tree of rigid bodies (tendons, springs, loops) is named in one warning.
    """
    model = _compiled(text, source)
    names = MujocoNames.of(model)
    links, joints = [Link(WORLD)], []
    for body in range(1, model.nbody):
        new_links, new_joints = _body(model, names, body)
        links += new_links
        joints += new_joints
    coupled, leftover = _coupled(model, names, joints)
    ignored = [*leftover, *_ignored(model)]
    if ignored:
        warn(
            f"{source}: left out, for they are not part of a tree of rigid bodies: {', '.join(ignored)}. "
            "Remove them from the file if they do not matter."
        )
    gravity = (0.0, 0.0, 0.0) if _weightless(model) else _triple(model.opt.gravity)
    return Description(names.model, tuple(links), tuple(coupled), gravity, source=source)


def _free_name(name: str, taken: Set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _compiled(text: str | bytes | os.PathLike[str], source: str) -> Any:
    """The model as MuJoCo compiles it; its complaints become one line of ours."""
    if isinstance(text, str | bytes):
        # MuJoCo would read anything else as an empty model or as URDF.
        tag = root_tag(text, source=source)
        if tag != "mujoco":
            raise PhalanxError(f"{source}: the root element is <{tag}>; expected <mujoco> of an MJCF file.")
    try:
        import mujoco
    except ImportError:
        raise PhalanxError(
            f"{source}: reading MJCF needs the package mujoco. Install it: pip install phalanx[mjcf]"
        ) from None
    try:
        if isinstance(text, bytes):
            text = text.decode()
        if isinstance(text, str):
            return mujoco.MjModel.from_xml_string(text)
        return mujoco.MjModel.from_xml_path(os.fspath(text))
    except (ValueError, TypeError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split()).removeprefix("Error: ").removeprefix("XML Error: ")
        hint = (
            "" if isinstance(text, os.PathLike) else " Files it refers to are found only if a path is loaded."
        )
        raise PhalanxError(f"{source}: MuJoCo refuses the model: {reason.rstrip('.')}.{hint}") from None


def _body(model: Any, names: MujocoNames, body: int) -> tuple[list[Link], list[Joint]]:
    """The link of a body and its joints, with a massless link between each two of them."""
    parent = names.bodies[model.body_parentid[body]]
    origin = Pose.of(_rotation(model.body_quat[body]), model.body_pos[body])
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    last = _link(model, names, body)
    if count == 0:
        name = _free_name(f"{last.name}_fixed", names.taken)
        return [last], [Joint(name, "fixed", parent, last.name, origin=origin)]
    links, joints = [], []
    for j in range(first, first + count):
        link = last
        if j < first + count - 1:
            link = Link(_free_name(f"{last.name}_after_{names.joints[j]}", names.taken))
        joints.append(_joint(model, names.joints[j], j, parent, link.name, origin))
        links.append(link)
        parent, origin = link.name, IDENTITY
    return links, joints


def _link(model: Any, names: MujocoNames, body: int) -> Link:
    turn = _rotation(model.body_iquat[body])
    inertia = (turn * model.body_inertia[body]) @ turn.T
    packed = inertia[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    return Link(
        names.bodies[body],
        float(model.body_mass[body]),
        _triple(model.body_ipos[body]),
        tuple(packed.tolist()),
    )


def _joint(model: Any, name: str, j: int, parent: str, child: str, origin: Pose) -> Joint:
    """Joint j, which moves the frame of its body about an anchor fixed in that frame."""
    kind = _TYPES[model.jnt_type[j]]
    axis, anchor = model.jnt_axis[j], model.jnt_pos[j]
    before, after = origin @ Pose.of(None, anchor), Pose.of(None, -anchor)
    # The file shows the body at qpos0, so what the joint does from 0 to qpos0 is undone after it.
    rest = float(model.qpos0[model.jnt_qposadr[j]])
    if kind == "floating":
        before, after = IDENTITY, IDENTITY
    elif kind == "revolute" and rest:
        after = Pose.of(_rotation_about(axis, -rest)) @ after
    elif kind == "prismatic" and rest:
        after = Pose.of(None, -rest * axis) @ after
    if kind == "revolute" and not model.jnt_limited[j]:
        kind = "continuous"
    return Joint(
        name,
        kind,
        parent,
        child,
        before,
        after,
        axis=_triple(axis),
        **_limits(model, j, kind),
        **_losses(model, j, kind),
    )


def _limits(model: Any, j: int, kind: str) -> dict[str, Any]:
    """Range and largest actuator force of a joint with one coordinate."""
    found: dict[str, Any] = {}
    if kind in ("floating", "spherical"):
        return found
    if model.jnt_limited[j]:
        found["lower"], found["upper"] = ((float(x),) for x in model.jnt_range[j])
    elif kind == "continuous":
        found["lower"], found["upper"] = (-math.inf,), (math.inf,)
    if model.jnt_actfrclimited[j]:
        found["effort"] = (float(np.abs(model.jnt_actfrcrange[j]).max()),)
    return found


def _losses(model: Any, j: int, kind: str) -> dict[str, Any]:
    """Damping, friction and armature per degree of freedom, where there are any."""
    first = int(model.jnt_dofadr[j])
    dofs = slice(first, first + joint_type(kind).nv)
    # MuJoCo writes the linear part of a free joint first.
    order = [3, 4, 5, 0, 1, 2] if kind == "floating" else slice(None)
    found = {}
    for label, values in (
        ("damping", model.dof_damping[dofs]),
        ("friction", model.dof_frictionloss[dofs]),
        ("armature", model.dof_armature[dofs] + _geared_armature(model, j)),
    ):
        if np.any(values):
            found[label] = tuple(values[order].tolist())
    return found


def _geared_armature(model: Any, j: int) -> float:
    """Inertia of the actuators' rotors as joint j feels it."""
    total = 0.0
    for a, armature in _rotors(model):
        if _drives_scalar_joint(model, a) and model.actuator_trnid[a, 0] == j:
            total += float(armature * model.actuator_gear[a, 0] ** 2)
    return total


def _rotors(model: Any) -> Iterator[tuple[int, float]]:
    """Actuators with rotor inertia, which MuJoCo knows since version 4."""
    armature = getattr(model, "actuator_armature", np.zeros(0))
    return ((int(a), float(armature[a])) for a in np.flatnonzero(armature))


def _drives_scalar_joint(model: Any, actuator: int) -> bool:
    at_joint = model.actuator_trntype[actuator] <= 1  # mjTRN_JOINT, mjTRN_JOINTINPARENT
    return bool(at_joint) and _is_scalar(model, int(model.actuator_trnid[actuator, 0]))


def _is_scalar(model: Any, joint: int) -> bool:
    return joint >= 0 and _TYPES[model.jnt_type[joint]] in ("prismatic", "revolute")


def _coupled(model: Any, names: MujocoNames, joints: list[Joint]) -> tuple[list[Joint], list[str]]:
    """The joints with linear couplings as mimics, and what to say of all other constraints."""
    import mujoco

    drivers: dict[str, Mimic] = {}
    left = 0
    for e in np.flatnonzero(model.eq_active0):
        joint, driver = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        shift, factor, *higher = model.eq_data[e, :5].tolist()
        if (
            model.eq_type[e] != mujoco.mjtEq.mjEQ_JOINT
            or any(higher)
            or not (_is_scalar(model, joint) and _is_scalar(model, driver))
            or names.joints[joint] in _drivers_of(names.joints[driver], drivers)
            or names.joints[joint] in drivers
        ):
            left += 1
            continue
        zero, driver_zero = (float(model.qpos0[model.jnt_qposadr[k]]) for k in (joint, driver))
        offset = zero + shift - factor * driver_zero
        drivers[names.joints[joint]] = Mimic(names.joints[driver], factor, offset)
    coupled = [replace(j, mimic=drivers[j.name]) if j.name in drivers else j for j in joints]
    return coupled, [_count(left, "equality constraint")] if left else []


def _drivers_of(joint: str, drivers: dict[str, Mimic]) -> set[str]:
    """The joint, its driver, the driver's driver, …"""
    found = {joint}
    while joint in drivers:
        joint = drivers[joint].joint
        found.add(joint)
    return found


def _ignored(model: Any) -> list[str]:
    """MujocoNames of the things in a model that act on bodies and are not read."""
    balls = model.jnt_type == _TYPES.index("spherical")
    rotors = sum(not _drives_scalar_joint(model, a) for a, _ in _rotors(model))
    found = [
        _count(int(n), what)
        for n, what in (
            (model.ntendon, "tendon"),
            (np.count_nonzero(model.jnt_stiffness), "joint spring"),
            (np.count_nonzero(model.jnt_limited[balls]), "limit of a ball joint"),
            (np.count_nonzero(model.body_gravcomp), "gravity compensation"),
            (rotors, "rotor inertia not at a hinge or slide"),
            (getattr(model, "nflex", 0), "flexible body"),
        )
        if n
    ]
    if model.opt.density or model.opt.viscosity:
        found.append("fluid forces")
    return found


def _count(n: int, what: str) -> str:
    return f"{what} ({n})"


def _weightless(model: Any) -> bool:
    import mujoco

    return bool(model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY)


def _triple(values: Array) -> Triple:
    x, y, z = values.tolist()
    return (x, y, z)


def _rotation(quaternion: Array) -> Array:
    """Rotation matrix of a unit quaternion wxyz."""
    w, x, y, z = quaternion.tolist()
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.array(rows)


def _rotation_about(axis: Array, angle: float) -> Array:
    """Rotation matrix of a turn about a unit vector."""
    half = 0.5 * angle
    return _rotation(np.array([math.cos(half), *(math.sin(half) * axis)]))
