# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Changed descriptions: other gravity, limits or numbers of joints, welded joints, payloads, configurations.

Requests name moving joints and frames, which the assembly knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import real_or_none
from ..errors import PhalanxError, nearest, shown
from . import description as d
from .assembly import BASE, Assembly, MovingJoint
from .checks import check_numbers, reversed_range
from .description import IDENTITY, Configuration, Description, Joint, Link, Mimic, Pose
from .joints import CONTINUOUS, FREE, REVOLUTE, WELD, joint_type, pose_of

_AGREES = 1e-6  # how far a follower may be from where its driver takes it; files round


def replaced(
    assembly: Assembly, gravity: Any, numbers: Mapping[str, Any], limits: Any, name: str | None
) -> Description:
    """The description with all that is not None replaced; `numbers` are entries of joints by attribute."""
    new = assembly.description
    if gravity is not None:
        new = replace(new, gravity=d.triple(gravity, f'robot "{new.name}": gravity'))
    if name is not None:
        new = replace(new, name=d.text(name, f'robot "{new.name}": name'))
    for label, value in numbers.items():
        if value is not None:
            change = _with_numbers_of if isinstance(value, Mapping) else _with_numbers
            new = change(assembly, new, label, value)
    return new if limits is None else _with_limits(assembly, new, limits)


def _changed(joint: Joint, entries: Mapping[str, Any]) -> Joint:
    return replace(joint, **entries)


def _with_numbers(assembly: Assembly, new: Description, label: str, value: Any) -> Description:
    """The description with other numbers of all joints.

    What one number or armature says of a joint includes its followers; values leave them their own.
    """
    values = _checked_numbers(assembly, label, value)
    slices = assembly.q_of if label in d.OF_COORDINATES else assembly.v_of
    alone = label == "armature" or np.ndim(value) == 0
    joints = []
    for j in new.joints:
        if j.name in assembly.drivers:
            joints.append(_changed(j, {label: ()}) if alone else j)
        else:
            own = values[slices[j.name]] if j.name in slices else ()
            joints.append(_changed(j, {label: tuple(map(float, own))}))
    new = replace(new, joints=tuple(joints))
    base = values[slices.get(BASE, slice(0, 0))]
    if label == "armature":
        return replace(new, base_armature=tuple(base.tolist()))
    rest = joint_type(FREE).neutral() if label in d.OF_COORDINATES else np.zeros(6)
    if len(base) and not np.array_equal(base, rest):
        raise PhalanxError(
            f'robot "{new.name}": {label} of the floating base is {base.tolist()}; only joints have any. '
            "Leave its entries as they are."
        )
    return new


def _with_numbers_of(
    assembly: Assembly, new: Description, label: str, given: Mapping[str, Any]
) -> Description:
    """The description with other numbers for the named joints, a number for each."""
    by_name = {m.joint.name: m for m in assembly.moving if label == "armature" or m.joint.name != BASE}
    values: dict[str, tuple[float, ...]] = {}
    for name, value in given.items():
        m = _moving(assembly, by_name, name)
        signed = label in d.OF_COORDINATES
        size = m.kind.nq if signed else m.kind.nv
        entries = _entries(value, size, label, signed)
        if entries is None:
            of = f'joint "{name}" ({m.kind.name})' if name != BASE else "floating base"
            several = f" or ({size},)" if size > 1 else ""
            raise PhalanxError(
                f'robot "{new.name}": {of}: {label} got {shown(value)}; '
                f"expected one number{several}, finite{'' if signed else ', >= 0'}."
            )
        values[name] = tuple(entries.tolist())
    joints = tuple(_changed(j, {label: values[j.name]}) if j.name in values else j for j in new.joints)
    return replace(new, joints=joints, base_armature=values.get(BASE, new.base_armature))


def _checked_numbers(assembly: Assembly, label: str, given: Any) -> np.ndarray:
    """An array (nv,), or (nq,) of coordinates; one number is that of each joint with one axis, others get 0.

    On the others it would be a choice of axes too, and armature of a floating base a mass that does not fall.
    """
    signed = label in d.OF_COORDINATES
    size = assembly.nq if signed else assembly.nv
    values = None if signed and np.ndim(given) == 0 else _entries(given, size, label, signed)
    if values is None:
        expected = "" if signed else "one number or "
        raise PhalanxError(
            f'robot "{assembly.description.name}": {label} got {shown(given)}; expected {expected}({size},), '
            f"finite{'' if signed else ', >= 0'}, or a mapping from joints to these."
        )
    if np.ndim(given) == 0:
        for m in assembly.own:
            if m.kind.nv > 1:
                values[assembly.v_of[m.joint.name]] = 0.0
    return values


def _entries(value: Any, size: int, label: str, signed: bool) -> np.ndarray | None:
    """An array (size,) from one number or `size`; None unless finite, and not negative if unsigned."""
    values = real_or_none(value, label)
    if values is None or values.shape not in ((), (size,)) or not np.isfinite(values).all():
        return None
    if not signed and (values < 0).any():
        return None
    return np.array(np.broadcast_to(values, (size,)))


def _with_limits(assembly: Assembly, new: Description, limits: Any) -> Description:
    """The description with other limits of joints."""
    robot = f'robot "{new.name}"'
    given: dict[str, Mapping[str, Any]] = {}
    if isinstance(limits, Mapping):
        by_name = {m.joint.name: m for m in assembly.moving if m.joint.name != BASE}
        for name, value in limits.items():
            m = _moving(assembly, by_name, name)
            given[name] = _limit_entries(m, value, f'{robot}: joint "{name}": limits')
    else:
        arrays: dict[str, Any] = {label: getattr(limits, label, None) for label in d.LIMITS}
        sizes = {label: assembly.nq if label in d.OF_COORDINATES else assembly.nv for label in d.LIMITS}
        if any(np.shape(arrays[label]) != (sizes[label],) for label in d.LIMITS):
            raise PhalanxError(
                f"{robot}: limits got {shown(limits)}; expected those of a robot with as many coordinates "
                f"(lower and upper ({assembly.nq},), velocity and effort ({assembly.nv},)), or a mapping "
                "from joints to (lower, upper)."
            )
        for m in assembly.own:
            name = m.joint.name
            slices = {
                label: assembly.q_of if label in d.OF_COORDINATES else assembly.v_of for label in d.LIMITS
            }
            given[name] = {label: arrays[label][slices[label][name]] for label in d.LIMITS}
        base = given.pop(BASE, {})
        if any(np.isfinite(values).any() for values in base.values()):
            raise PhalanxError(f"{robot}: limits of the floating base are finite; only joints have any.")
    kinds = {m.joint.name: m for m in assembly.moving}
    joints = tuple(
        _limited(kinds[j.name], j, given[j.name], f'{robot}: joint "{j.name}"') if j.name in given else j
        for j in new.joints
    )
    return replace(new, joints=joints)


def _limit_entries(m: MovingJoint, value: Any, where: str) -> Mapping[str, Any]:
    """Limits of a joint by their names, from a mapping or from (lower, upper)."""
    if isinstance(value, Mapping):
        if unknown := [key for key in value if key not in d.LIMITS]:
            hint = nearest(unknown[0], d.LIMITS, what="limits")
            raise PhalanxError(f"{where} got the unknown entry {shown(unknown[0])};{hint}")
        return value
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or len(value) != 2:
        raise PhalanxError(
            f"{where} got {shown(value)}; expected (lower, upper) or a mapping of {list(d.LIMITS)}."
        )
    return {"lower": value[0], "upper": value[1]}


def _limited(m: MovingJoint, joint: Joint, limits: Mapping[str, Any], where: str) -> Joint:
    """The joint with some limits; None and infinity are no limit."""
    found: dict[str, Any] = {}
    for label, value in limits.items():
        size = m.kind.nq if label in d.OF_COORDINATES else m.kind.nv
        none = -np.inf if label == "lower" else np.inf
        given = np.array(none) if value is None else real_or_none(value, where)
        values = np.full(1, np.nan) if given is None or given.shape not in ((), (size,)) else given
        if np.isnan(values).any() or (label in ("velocity", "effort") and (values < 0.0).any()):
            raise PhalanxError(
                f"{where}: {label} got {shown(value)}; expected {size} number{'s' * (size > 1)}"
                f"{', >= 0' if label in ('velocity', 'effort') else ''}, or None for no limit."
            )
        unlimited = np.isinf(values).all() and not getattr(joint, label)
        found[label] = () if unlimited else tuple(np.broadcast_to(values, (size,)).tolist())
    new = _changed(joint, found)
    bounds = [x for label in ("lower", "upper") for x in getattr(new, label) if np.isfinite(x)]
    for low, high in zip(new.lower, new.upper, strict=False):
        if low > high:
            raise PhalanxError(reversed_range(where, low, high))
    if bounds and new.type == CONTINUOUS:
        return replace(new, type=REVOLUTE)
    if bounds and not m.kind.limited:
        raise PhalanxError(
            f"{where} ({joint.type}) got limits of its coordinates {bounds}; such joints have none. "
            'Leave out "lower" and "upper".'
        )
    return new


def configured(assembly: Assembly, name: Any, q: Any) -> Description:
    """The description with named coordinates, in place of those of the same name."""
    where = f'robot "{assembly.description.name}": configuration {shown(name)}'
    d.text(name, f"{where}: name")
    if isinstance(q, Mapping):
        by_name = {m.joint.name: m for m in assembly.own}
        given = {joint: (_moving(assembly, by_name, joint), value) for joint, value in q.items()}
        sizes = {joint: m.kind.nq for joint, (m, _) in given.items()}
        parts = {joint: real_or_none(value, where) for joint, (_, value) in given.items()}
    else:
        whole = real_or_none(q, where)
        if whole is None or whole.shape != (assembly.nq,):
            raise PhalanxError(f"{where} got {shown(q)}; expected coordinates ({assembly.nq},) or a mapping.")
        sizes = {m.joint.name: m.kind.nq for m in assembly.own}
        parts = {joint: whole[assembly.q_of[joint]] for joint in sizes}
    values: dict[str, tuple[float, ...]] = {}
    for joint, size in sizes.items():
        own = parts[joint]
        if own is None or np.atleast_1d(own).shape != (size,) or not np.isfinite(own).all():
            raise PhalanxError(
                f'{where}: joint "{joint}" got {shown(q[joint] if isinstance(q, Mapping) else own)}; '
                f"expected {size} finite number{'s' * (size > 1)}."
            )
        values[joint] = tuple(np.atleast_1d(own).tolist())
    new = Configuration(name, tuple(values), tuple(values.values()))
    others = tuple(c for c in assembly.description.configurations if c.name != name)
    return replace(assembly.description, configurations=(*others, new))


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
