# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Descriptions put together, taken apart and seen from another base; links keep their frames and inertias."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import real_or_none
from ..errors import PhalanxError, listing, nearest, shown
from . import description as d
from .checks import are_rotations
from .description import (
    BASE,
    IDENTITY,
    Configuration,
    Constraint,
    Description,
    FixedFrame,
    Joint,
    Link,
    Origin,
    Pose,
    ordered,
)
from .joints import FREE, WELD, JointType, joint_type, pose_of, quaternion_of

_WORLD = "world"
_EQUAL_ALONG_ALL_AXES = ("damping", "armature", "stiffness")  # what three equal entries say in any axes


def framed(description: Description, name: Any, parent: Any, pose: Any) -> Description:
    """The description with a frame fixed to a link or to another frame."""
    where = f'with_frame: robot "{description.name}"'
    d.text(name, f"{where}: name")
    link, at = _carrier(description, parent, where)
    frame = FixedFrame(name, link, at @ rigid_pose(pose, f'{where}, frame "{name}"'))
    if name in _frame_names(description) or not name:
        problem = f'there is a link or frame "{name}" already' if name else "the name is empty"
        raise PhalanxError(f"{where}: {problem}; expected a new name.")
    return replace(description, frames=(*description.frames, frame))


def attached(
    description: Description, other: Description, frame: Any, pose: Any, prefix: Any, joint: Any
) -> Description:
    """The description with another robot's base welded to a link or frame."""
    where = f'attach: robot "{description.name}"'
    link, at = _carrier(description, frame, where)
    origin = at @ rigid_pose(pose, f'{where}, robot "{other.name}"')
    added = prefixed(other, d.text(prefix, f"{where}: prefix"))
    added = replace(added, floating_base=False, base_armature=())
    added = d.without_joints(added, (BASE,))
    root, _ = ordered(added)
    added = _with_world_at(added, link, origin)
    both = _joined(description, added, where, 'a prefix such as prefix="tool_"')
    taken = {j.name for j in both.joints}
    name = _free(f"{root}_mount", {*taken}) if joint is None else d.text(joint, f"{where}: joint")
    if name in taken or not name:
        raise PhalanxError(f'{where}: there is a joint "{name}" already; expected a new name in joint=….')
    return replace(both, joints=(*both.joints, Joint(name, WELD, link, root, origin=origin)))


def merged(description: Description, other: Description, poses: Any, prefixes: Any, name: Any) -> Description:
    """Two descriptions side by side in one world."""
    where = f'merge: robots "{description.name}" and "{other.name}"'
    if description.gravity != other.gravity:
        raise PhalanxError(
            f"{where}: gravity is {description.gravity} and {other.gravity}; expected one for both. "
            "Change one with replace(gravity=…)."
        )
    at = [rigid_pose(x, f"{where}: poses") for x in _pair(poses, None, f"{where}: poses")]
    fronts = [d.text(x, f"{where}: prefixes") for x in _pair(prefixes, "", f"{where}: prefixes")]
    parts = [prefixed(*each) for each in zip((description, other), fronts, strict=True)]
    taken = {j.name for part in parts for j in part.joints}
    names = {n for part in parts for n in _frame_names(part)}
    world, mounts = _free(_WORLD, names), []
    for k, (part, pose, front) in enumerate(zip(parts, at, fronts, strict=True)):
        root, _ = ordered(part)
        if part.floating_base:
            base = _free(f"{front}floating_base", taken)
            mount = Joint(base, FREE, world, root, origin=pose, armature=part.base_armature)
            parts[k] = _with_base_named(part, base)
        else:
            parts[k] = d.without_joints(part, (BASE,))
            mount = Joint(_free(f"{root}_mount", taken), WELD, world, root, origin=pose)
        parts[k] = _with_world_at(parts[k], "", pose)
        mounts.append(mount)
    remedy = 'prefixes such as prefixes=("left_", "right_")'
    one, two = (replace(p, floating_base=False, base_armature=()) for p in parts)
    both = _joined(one, two, where, remedy)
    n = len(parts[0].joints)
    title = f"{description.name}_{other.name}" if name is None else d.text(name, f"{where}: name")
    return replace(
        both,
        name=title,
        links=(Link(world), *both.links),
        joints=(mounts[0], *both.joints[:n], mounts[1], *both.joints[n:]),
    )


def removed(description: Description, link: Any) -> Description:
    """The description without a link and all that it carries, or without a frame."""
    where = f'remove: robot "{description.name}"'
    if _is_one_of(link, (frame.name for frame in description.frames)):
        kept = tuple(frame for frame in description.frames if frame.name != link)
        return replace(description, frames=kept)
    root, joints = ordered(description)
    _require_link(description, link, where)
    if link == root:
        raise PhalanxError(
            f'{where}: link "{link}" is the base, with which everything would go; expected a link that it '
            "carries. robot.subtree(link) is a part by itself, robot.reroot(link) has another base."
        )
    gone = _carried(_first_of_body(description, link, joints), joints)
    return _restricted(description, {x.name for x in description.links} - gone, where)


def subtree(description: Description, link: Any, name: Any) -> Description:
    """A link and all that it carries as a description of its own, standing in the world."""
    where = f'subtree: robot "{description.name}"'
    root, joints = ordered(description)
    _require_link(description, link, where)
    part = _restricted(description, _carried(link, joints), where)
    if link != root:
        _require_none_at_the_world(part, where)
        part = replace(part, floating_base=False, base_armature=())
        part = d.without_joints(part, (BASE,))
    return replace(part, name=link if name is None else d.text(name, f"{where}: name"))


def rerooted(description: Description, link: Any) -> Description:
    """The description with another link as its base: the joints between lead the other way.

    Where a massless root carries the rest by one free joint, it is the world, and the free joint's link is
    the base.
    """
    where = f'reroot: robot "{description.name}"'
    root, joints = ordered(description)
    _require_link(description, link, where)
    above = {joint.child: joint for joint in joints}
    path: list[Joint] = []
    here = link
    while here != root:
        path.append(above[here])
        here = above[here].parent
    base = (
        Joint(BASE, FREE, "", root, armature=description.base_armature) if description.floating_base else None
    )
    if base is None and path and path[-1].type == FREE and description.link(root) == Link(root):
        base = path.pop()
    if not path:
        return description
    if base is None:
        _require_none_at_the_world(description, where)
    moved = {joint.name: _reversed(joint, where) for joint in path}
    if base is not None:
        _require_nothing_at(base, where)
        child = replace(base, child=link, after=IDENTITY)
        moved[base.name] = child
    new = replace(
        description,
        joints=tuple(moved.get(joint.name, joint) for joint in description.joints),
        configurations=tuple(_moved(c, path, base) for c in description.configurations),
    )
    ordered(new)
    return new


# ------------------------------------------------------------------- parts of descriptions


def prefixed(description: Description, prefix: str) -> Description:
    """The description with a prefix before the names of everything in it; "" stays a floating base."""
    if not prefix:
        return description
    return _renamed(
        description,
        link=lambda name: prefix + name,
        joint=lambda name: prefix + name if name else name,
        rest=lambda name: prefix + name,
    )


def _with_base_named(description: Description, name: str) -> Description:
    return _renamed(description, joint=lambda joint: joint or name)


def _same(name: str) -> str:
    return name


def _renamed(
    description: Description,
    link: Callable[[str], str] = _same,
    joint: Callable[[str], str] = _same,
    rest: Callable[[str], str] = _same,
) -> Description:
    """The description with other names of links and frames, joints, and loops, constraints and actuators."""
    actuators = description.actuators
    if actuators is not None:
        actuators = tuple(
            replace(a, name=rest(a.name), joints=tuple(map(joint, a.joints))) for a in actuators
        )
    return replace(
        description,
        links=tuple(replace(x, name=link(x.name)) for x in description.links),
        joints=tuple(
            replace(
                j,
                name=joint(j.name),
                parent=link(j.parent),
                child=link(j.child),
                mimic=j.mimic and j.mimic._replace(joint=joint(j.mimic.joint)),
            )
            for j in description.joints
        ),
        frames=tuple(replace(f, name=link(f.name), link=link(f.link)) for f in description.frames),
        loops=tuple(
            replace(x, name=rest(x.name), predecessor=link(x.predecessor), successor=link(x.successor))
            for x in description.loops
        ),
        constraints=tuple(
            replace(
                c,
                name=rest(c.name),
                first=c.first and link(c.first),
                second=c.second and link(c.second),
                joints=tuple(map(joint, c.joints)),
                drivers=tuple(map(joint, c.drivers)),
            )
            for c in description.constraints
        ),
        actuators=actuators,
        configurations=tuple(
            replace(c, joints=tuple(map(joint, c.joints))) for c in description.configurations
        ),
        origins=tuple(
            replace(o, names=tuple((link(now), then) for now, then in o.names)) for o in origins(description)
        ),
    )


def origins(description: Description) -> tuple[Origin, ...]:
    """The files that the links and frames came from."""
    if description.origins or not description.source:
        return description.origins
    return (Origin(description.source, tuple((name, name) for name in _frame_names(description))),)


def _restricted(description: Description, links: Collection[str], where: str) -> Description:
    """The description of some links and the joints between them, with their actuators and constraints."""
    joints = tuple(j for j in description.joints if j.child in links and j.parent in links)
    names = {j.name for j in joints}
    for j in joints if description.coupled else ():
        if j.mimic is not None and j.mimic.joint not in names:
            raise PhalanxError(
                f'{where}: joint "{j.name}" follows "{j.mimic.joint}", which is not in the same part; '
                'expected both or none. Fix them before, or load with mimic="independent".'
            )
    frames = tuple(f for f in description.frames if f.link in links)
    shown_names = {*links, *(f.name for f in frames)}
    part = replace(
        description,
        links=tuple(x for x in description.links if x.name in links),
        joints=tuple(_independent(j) if j.mimic and j.mimic.joint not in names else j for j in joints),
        frames=frames,
        loops=tuple(x for x in description.loops if x.predecessor in links and x.successor in links),
        constraints=tuple(c for c in description.constraints if {c.first, c.second} <= {"", *shown_names}),
        origins=tuple(
            replace(o, names=tuple(pair for pair in o.names if pair[0] in shown_names))
            for o in origins(description)
        ),
    )
    return d.without_joints(part, {j.name for j in description.joints} - names)


def _with_world_at(description: Description, link: str, pose: Pose) -> Description:
    """The description whose constraints with the world are with a pose of a link instead."""

    def moved(c: Constraint) -> Constraint:
        if c.joints:
            return c
        if not c.first:
            c = replace(c, first=link, first_pose=pose @ c.first_pose)
        return c if c.second else replace(c, second=link, second_pose=pose @ c.second_pose)

    return replace(description, constraints=tuple(map(moved, description.constraints)))


def _require_none_at_the_world(description: Description, where: str) -> None:
    """Raise where a constraint holds a frame at the world, which another base sees elsewhere."""
    for c in description.constraints:
        if not c.joints and not (c.first and c.second):
            raise PhalanxError(
                f'{where}: constraint "{c.name}" holds a frame at the world, which is elsewhere for another '
                "base; expected constraints between its frames. Add it afterwards, by with_constraint."
            )


def _independent(joint: Joint) -> Joint:
    return replace(joint, mimic=None)


def _joined(description: Description, other: Description, where: str, remedy: str) -> Description:
    """Links and joints of both, not yet connected."""
    if description.coupled != other.coupled:  # where followers move by themselves, they follow nobody
        description, other = (
            x if x.coupled else replace(x, joints=tuple(map(_independent, x.joints)), coupled=True)
            for x in (description, other)
        )
    for what, names in (
        ("link or frame", _frame_names),
        ("joint", lambda x: [j.name for j in x.joints]),
        ("loop", lambda x: [loop.name for loop in x.loops]),
        ("constraint", lambda x: [c.name for c in x.constraints]),
        ("actuator", lambda x: [a.name for a in x.actuators or ()]),
    ):
        common = set(names(description)) & set(names(other))
        if common:
            both = sorted(common)
            raise PhalanxError(
                f'{where}: robot "{other.name}" too has {"a" if what[0] != "a" else "an"} {what} '
                f"{listing(both, most=4)}; expected different names. Give {remedy}."
            )
    actuators = None
    if description.actuators is not None or other.actuators is not None:
        actuators = (*_actuators(description), *_actuators(other))
    return replace(
        description,
        links=(*description.links, *other.links),
        joints=(*description.joints, *other.joints),
        frames=(*description.frames, *other.frames),
        loops=(*description.loops, *other.loops),
        constraints=(*description.constraints, *other.constraints),
        actuators=actuators,
        configurations=_united((*description.configurations, *other.configurations)),
        origins=(*origins(description), *origins(other)),
        left_out=tuple(dict.fromkeys((*description.left_out, *other.left_out))),
    )


def _actuators(description: Description) -> tuple[d.Actuator, ...]:
    """The actuators of a description; where it declares none, one at each degree of freedom."""
    if description.actuators is not None:
        return description.actuators
    return d.direct_actuators(
        (j.name, joint_type(j.type))
        for j in description.joints
        if not (description.coupled and j.mimic) and j.type != FREE
    )


def _united(configurations: Sequence[Configuration]) -> tuple[Configuration, ...]:
    """Configurations, those of the same name merged: united robots have different joints."""
    made: dict[str, Configuration] = {}
    for c in configurations:
        old = made.get(c.name)
        made[c.name] = (
            c if old is None else Configuration(c.name, old.joints + c.joints, old.values + c.values)
        )
    return tuple(made.values())


def _carried(link: str, joints: Iterable[Joint]) -> set[str]:
    """A link and all links that it carries; joints are given parents first."""
    found = {link}
    for joint in joints:
        if joint.parent in found:
            found.add(joint.child)
    return found


def _first_of_body(description: Description, link: str, joints: Sequence[Joint]) -> str:
    """The first massless link of those that lead to a link in MJCF, whose bodies have several joints."""
    above = {joint.child: joint.parent for joint in joints}
    here = link
    while (parent := above.get(here, "")).startswith(f"{link}_after_"):
        siblings = [child for child, p in above.items() if p == parent]
        if len(siblings) > 1 or description.link(parent) != Link(parent) or parent not in above:
            break
        here = parent
    return here


# ------------------------------------------------------------------- joints that lead the other way


def _reversed(joint: Joint, where: str) -> Joint:
    """The joint from the child to the parent with the inverse motion."""
    kind = joint_type(joint.type)
    axis, axis2 = (tuple(x) for x in kind.reversed_axes(joint.axis, joint.axis2))
    entries: dict[str, Any] = {label: _entries(joint, kind, label, where) for label in d.PER_COORDINATE}
    return replace(
        joint,
        parent=joint.child,
        child=joint.parent,
        origin=joint.after.inverse(),
        after=joint.origin.inverse(),
        **(entries | {"axis": axis, "axis2": axis2}),
    )


def _entries(joint: Joint, kind: type[JointType], label: str, where: str) -> tuple[float, ...]:
    """Limits, damping and the like of a joint whose parent and child are exchanged."""
    values: tuple[float, ...] = getattr(joint, label)
    order = kind.reversed_rates()
    if not values or (order is not None and kind.nv <= 1):
        return values
    if label == "spring_reference":
        return tuple(kind.reversed_coordinates(np.array(values)).tolist())
    if order is not None:
        return tuple(values[k] for k in order)
    turning = {x for x, unit in zip(values, kind.units, strict=False) if unit == "rad"}
    sliding = {x for x, unit in zip(values, kind.units, strict=False) if unit == "m"}
    none = all(x == 0.0 or np.isinf(x) for x in values)
    if none or (label in _EQUAL_ALONG_ALL_AXES and len(turning) == 1 and sliding <= {0.0}):
        return values
    raise PhalanxError(
        f'{where}: joint "{joint.name}" ({kind.name}) has {label} {list(values)} along axes that are others '
        f"once it leads the other way; expected none. Leave it out with {_remedy(joint.name, label)}."
    )


def _require_nothing_at(base: Joint, where: str) -> None:
    """Raise if the floating joint of the old base has limits, damping or the like: they are of its link."""
    for label in d.PER_COORDINATE:
        values = getattr(base, label)
        if label != "spring_reference" and any(x != 0.0 and not np.isinf(x) for x in values):
            raise PhalanxError(
                f'{where}: the floating base has {label} {list(values)}, which is of link "{base.child}"; '
                f"expected none. Leave it out with {_remedy(base.name, label)}."
            )


def _remedy(joint: str, label: str) -> str:
    if label in ("lower", "upper"):
        return f'replace(limits={{"{joint}": (None, None)}})'
    if label in d.LIMITS:
        return f'replace(limits={{"{joint}": {{"{label}": None}}}})'
    return f'replace({label}={{"{joint}": 0.0}})'


def _moved(configuration: Configuration, path: Sequence[Joint], base: Joint | None) -> Configuration:
    """The same configuration of a robot with another base, up from which `path` has led to the old one."""
    known = dict(zip(configuration.joints, configuration.values, strict=True))
    new = dict(known)
    for joint in path:
        if joint.name in known:
            kind = joint_type(joint.type)
            new[joint.name] = tuple(kind.reversed_coordinates(np.array(known[joint.name])).tolist())
    if base is not None:
        pose = _motion(base, known) @ base.after
        for joint in reversed(path):
            pose = pose @ joint.origin @ _motion(joint, known) @ joint.after
        rotation = np.reshape(pose.rotation, (3, 3))
        new[base.name] = (*pose.translation, *quaternion_of(rotation).tolist())
    return Configuration(configuration.name, tuple(new), tuple(new.values()))


def _motion(joint: Joint, values: Mapping[str, Sequence[float]]) -> Pose:
    kind = joint_type(joint.type)
    q = np.asarray(values.get(joint.name, kind.neutral()), dtype=float)
    moved = pose_of(kind.steps(joint.axis, joint.axis2, joint.pitch), q)
    return Pose.of(moved[:3, :3], moved[:3, 3])


# ------------------------------------------------------------------- requests


def rigid_pose(value: Any, where: str) -> Pose:
    """The pose of a (4, 4) matrix, a translation (3,) or None, or an error that begins with `where`."""
    if value is None or isinstance(value, Pose):
        value = (value or IDENTITY).matrix
    array = real_or_none(value, where)
    if array is None or array.shape not in ((3,), (4, 4)) or not np.isfinite(array).all():
        raise PhalanxError(
            f"{where}: pose is {shown(value)}; expected finite numbers (4, 4) or a translation (3,)."
        )
    if array.shape == (3,):
        return Pose.of(None, array)
    if not are_rotations(array[None, :3, :3])[0] or not np.array_equal(array[3], (0.0, 0.0, 0.0, 1.0)):
        raise PhalanxError(
            f"{where}: pose is no rigid motion; expected a right-handed orthonormal rotation in its first "
            "three rows and columns and the last row (0, 0, 0, 1)."
        )
    return Pose.of(array[:3, :3], array[:3, 3])


def _carrier(description: Description, name: Any, where: str) -> tuple[str, Pose]:
    """The link that has a link's or frame's name or carries it, and its pose there."""
    for frame in description.frames:
        if _is_one_of(name, (frame.name,)):
            return frame.link, frame.pose
    names = _frame_names(description)
    if not _is_one_of(name, names):
        raise PhalanxError(f"{where} has no frame {shown(name)};{nearest(name, names, what='frames')}")
    return name, IDENTITY


def _require_link(description: Description, name: Any, where: str) -> None:
    names = [link.name for link in description.links]
    if _is_one_of(name, names):
        return
    for frame in description.frames:
        if _is_one_of(name, (frame.name,)):
            raise PhalanxError(
                f'{where}: "{name}" is a frame, no link; expected a link such as "{frame.link}".'
            )
    raise PhalanxError(f"{where} has no link {shown(name)};{nearest(name, names, what='links')}")


def _is_one_of(name: Any, names: Iterable[str]) -> bool:
    return isinstance(name, str) and name in set(names)


def _frame_names(description: Description) -> list[str]:
    return [*(link.name for link in description.links), *(frame.name for frame in description.frames)]


def _free(name: str, taken: set[str]) -> str:
    """The name, with underscores appended until it is free; the result is marked as taken."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _pair(value: Any, default: Any, where: str) -> tuple[Any, Any]:
    if value is None:
        return default, default
    if isinstance(value, str) or not hasattr(value, "__len__") or len(value) != 2:
        raise PhalanxError(f"{where}: got {shown(value)}; expected two, one for each robot.")
    one, other = value
    return one, other
