# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Changed descriptions: another gravity or armature, welded joints, payloads.

Requests name moving joints and frames, which the assembly knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import real_or_none
from ..errors import PhalanxError, nearest, shown
from . import description as d
from .assembly import BASE, Assembly, MovingJoint
from .checks import check_numbers
from .description import IDENTITY, Description, Joint, Link, Mimic, Pose
from .joints import WELD, pose_of

_AGREES = 1e-6  # how far a follower may be from where its driver takes it; files round


def replaced(assembly: Assembly, gravity: Any, armature: Any, name: str | None) -> Description:
    """The description with every argument that is not None replaced."""
    new = assembly.description
    if gravity is not None:
        new = replace(new, gravity=d.triple(gravity, f'robot "{new.name}": gravity'))
    if name is not None:
        new = replace(new, name=d.text(name, f'robot "{new.name}": name'))
    return new if armature is None else _with_armature(assembly, new, armature)


def _with_armature(assembly: Assembly, new: Description, armature: Any) -> Description:
    if isinstance(armature, Mapping):
        return _with_armature_of(assembly, new, armature)
    values = _checked_armature(assembly, armature)
    joints = tuple(
        replace(j, armature=tuple(values[assembly.v_of[j.name]].tolist()))
        if j.name in assembly.v_of and j.name not in assembly.drivers
        else replace(j, armature=())
        for j in new.joints
    )
    base = tuple(values[assembly.v_of.get(BASE, slice(0, 0))].tolist())
    return replace(new, joints=joints, base_armature=base)


def _with_armature_of(assembly: Assembly, new: Description, armature: Mapping[str, Any]) -> Description:
    """The description with another armature on the named joints, each one's own."""
    by_name = {m.joint.name: m for m in assembly.moving}
    values: dict[str, tuple[float, ...]] = {}
    for name, value in armature.items():
        m = _moving(assembly, by_name, name)
        given = _not_negative(value, m.kind.nv)
        if given is None:
            of = f'joint "{name}" ({m.kind.name})' if name != BASE else "floating base"
            several = f" or ({m.kind.nv},)" if m.kind.nv > 1 else ""
            raise PhalanxError(
                f'robot "{new.name}": {of}: armature got {shown(value)}; '
                f"expected one number{several}, finite, >= 0."
            )
        values[name] = tuple(given.tolist())
    joints = tuple(replace(j, armature=values[j.name]) if j.name in values else j for j in new.joints)
    return replace(new, joints=joints, base_armature=values.get(BASE, new.base_armature))


def _checked_armature(assembly: Assembly, armature: Any) -> np.ndarray:
    """Armature (nv,) of all joints; one number is meant for joints of one axis.

    On the others it would be a choice of axes too, and on a floating base a mass that does not fall.
    """
    values = _not_negative(armature, assembly.nv)
    if values is None:
        raise PhalanxError(
            f'robot "{assembly.description.name}": armature got {shown(armature)}; '
            f"expected one number or ({assembly.nv},), finite, >= 0, or a mapping from joints to these."
        )
    if np.ndim(armature) == 0:
        for m in assembly.own:
            if m.kind.nv > 1:
                values[assembly.v_of[m.joint.name]] = 0.0
    return values


def _not_negative(value: Any, size: int) -> np.ndarray | None:
    """An array (size,) from one number or `size` numbers; None unless all are finite and not negative."""
    values = real_or_none(value, "armature")
    if (
        values is None
        or values.shape not in ((), (size,))
        or not np.isfinite(values).all()
        or (values < 0).any()
    ):
        return None
    return np.array(np.broadcast_to(values, (size,)))


def welded(assembly: Assembly, joints: Mapping[str, Any]) -> Description:
    """The description with the named joints welded at the given coordinates."""
    robot = assembly.description.name
    if not isinstance(joints, Mapping):
        raise PhalanxError(
            f'robot "{robot}": fix got {type(joints).__name__}, expected a mapping from joints to '
            'coordinates such as {"joint": 0.0}.'
        )
    poses: dict[str, Pose] = {}
    by_name = {m.joint.name: m for m in assembly.moving if m.joint.name != BASE}
    for name, value in joints.items():
        m = _moving(assembly, by_name, name)
        poses[name] = _joint_pose(robot, m, value)
    for name, mimic in assembly.drivers.items():  # followers stop with their driver
        if mimic.joint in joints:
            driven = mimic.multiplier * np.asarray(joints[mimic.joint], dtype=float) + mimic.offset
            _require_agreement(robot, name, mimic, joints.get(name, driven), driven)
            poses[name] = _joint_pose(robot, by_name[name], driven)
        elif name in joints:
            raise PhalanxError(
                f'robot "{robot}": joint "{name}" follows "{mimic.joint}" '
                'and cannot be fixed alone; fix its driver, or load with mimic="independent".'
            )
    return d.weld(assembly.description, poses)


def _moving(assembly: Assembly, by_name: Mapping[str, MovingJoint], name: Any) -> MovingJoint:
    """The moving joint of that name, or an error naming the nearest."""
    if name not in by_name:
        raise PhalanxError(
            f'robot "{assembly.description.name}" has no moving joint "{_named(name)}";'
            f"{nearest(name, (n for n in by_name if n != BASE), what='joints')}"
        )
    return by_name[name]


def _require_agreement(robot: str, follower: str, mimic: Mimic, value: Any, driven: np.ndarray) -> None:
    """Raise if a follower is to be fixed at another coordinate than its driver gives it."""
    if not np.allclose(np.asarray(value, dtype=float), driven, rtol=_AGREES, atol=_AGREES):
        raise PhalanxError(
            f'robot "{robot}": joint "{follower}" is to be fixed at {shown(value)}, but follows '
            f'"{mimic.joint}", which takes it to {float(np.ravel(driven)[0]):.9g}; leave "{follower}" out, '
            'or load with mimic="independent".'
        )


def _named(name: Any) -> str:
    return name if isinstance(name, str) else shown(name)


def _joint_pose(robot: str, m: MovingJoint, value: Any) -> Pose:
    where = f'robot "{robot}": joint "{m.joint.name}" ({m.kind.name})'
    given = real_or_none(value, where)
    q = np.atleast_1d(np.nan if given is None else given)
    if q.shape != (m.kind.nq,) or not np.isfinite(q).all():
        raise PhalanxError(
            f"{where} got the coordinates {shown(value)}; "
            f"expected {m.kind.nq} finite number{'s' if m.kind.nq > 1 else ''}."
        )
    moved = pose_of(m.steps, q)
    return Pose.of(moved[:3, :3], moved[:3, 3])


def loaded(
    description: Description, link: str, mass: float, com: Any, inertia: Any
) -> tuple[Description, Description]:
    """The description with a body welded to a link or frame, and that body by itself."""
    taken = {own.name for own in description.links} | {own.name for own in description.frames}
    name = next(n for k in range(len(taken) + 1) if (n := f"{link}_payload{k or ''}") not in taken)
    where = f'with_payload: robot "{description.name}", payload on "{link}"'
    body = Link(
        name,
        d.number(mass, f"{where}: mass"),
        d.triple(com, f"{where}: com"),
        d.packed_inertia(inertia, f"{where}: inertia"),
    )
    carrier, origin = next(((f.link, f.pose) for f in description.frames if f.name == link), (link, IDENTITY))
    joint = Joint(f"{name}_joint", WELD, carrier, name, origin)
    links, joints = (*description.links, body), (*description.joints, joint)
    own = Description(name, (body,), (), source=where)
    check_numbers(own)  # what is wrong here is not the robot's file
    return replace(description, links=links, joints=joints), own
