# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A description as URDF text that other tools read.

First the description is rewritten with what URDF has: joints of its types whose child frame lies on the
axis. Every link keeps its name and its pose; links without mass appear between.

| joint | in URDF |
|---|---|
| universal | two revolute joints, `_1` and `_2` |
| helical | a revolute joint, and a prismatic one, `_slide`, that mimics it |
| spherical | three continuous joints, `_z`, `_y` and `_x`: other coordinates |
| planar with an axis other than z | turned so that its axis is z |
| child frame off the axis (DH tables, MJCF) | a link `_axis` on the axis, to which the child is fixed |
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import PhalanxError, listing
from ..reproducible import roll_pitch_yaw, times
from ..robot.description import (
    IDENTITY,
    Actuator,
    Description,
    Joint,
    Link,
    LoopClosure,
    Mimic,
    Pose,
    Triple,
)
from ..robot.joints import frame_along, joint_type
from .urdf import TYPES, UNLIMITED

_KEPT = ("lower", "upper", "velocity", "effort", "damping", "friction")
_NONE: dict[str, Any] = dict.fromkeys(_KEPT, ())
_DRAKE = "http://drake.mit.edu"
_INTERFACE = "hardware_interface/EffortJointInterface"
_ONE_COORDINATE = ("revolute", "continuous", "prismatic")
_ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_urdf(description: Description, drivers: Mapping[str, Mimic]) -> tuple[str, list[str]]:
    """URDF text of a description, and what URDF cannot hold.

    `drivers` names what each coupled joint follows in the end: many tools do not follow chains of mimics.
    """
    tree = _Rewriter(description, drivers)
    lines = ['<?xml version="1.0"?>', f"<robot name={_quoted(description.name, description, 'robot')}>"]
    lines += [_link(link, description) for link in tree.links]
    lines += [_joint(joint, description) for joint in tree.joints]
    lines += [_loop(loop, description) for loop in description.loops]
    lines += [_transmission(x, description) for x in description.actuators or () if tree.holds(x)]
    if any(x.rotor_inertia for x in description.actuators or ()):
        lines[1] = lines[1].replace("<robot ", f'<robot xmlns:drake="{_DRAKE}" ', 1)
    return "\n".join([*lines, "</robot>", ""]), tree.lost()


# ------------------------------------------------------------------- rewriting


@dataclass
class _Rewriter:
    """Links and joints as URDF has them."""

    description: Description
    drivers: Mapping[str, Mimic]
    links: list[Link] = field(init=False)
    joints: list[Joint] = field(init=False)
    angles: list[str] = field(init=False)  # spherical joints that became angles
    dropped: dict[str, list[str]] = field(init=False)  # joints whose limits, damping … are left out

    def __post_init__(self) -> None:
        self.links, self.joints, self.angles, self.dropped = list(self.description.links), [], [], {}
        self._link_names = {link.name for link in self.description.links}
        self._link_names |= {frame.name for frame in self.description.frames}
        self._joint_names = {joint.name for joint in self.description.joints}
        for joint in self.description.joints:
            mimic = self.drivers.get(joint.name)
            for part in self.parts(replace(joint, mimic=mimic)):
                self.joints += self.placed(part)
        for frame in self.description.frames:
            self.links.append(Link(frame.name))
            name = _free(f"{frame.name}_frame", self._joint_names)
            self.joints.append(Joint(name, "fixed", frame.link, frame.name, origin=frame.pose))

    def parts(self, joint: Joint) -> Iterator[Joint]:
        """The joint as joints of URDF's types in a row, links without mass between them."""
        if joint.type == "universal":
            yield from self.row(joint, ("_1", "_2"), "revolute", (joint.axis, joint.axis2))
        elif joint.type == "spherical":
            self.angles.append(joint.name)
            self.drop(joint)
            axes = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
            bare = replace(joint, **_NONE)
            yield from self.row(bare, ("_z", "_y", "_x"), "continuous", axes)
        elif joint.type == "planar":
            self.drop(joint)
            frame = frame_along(joint.axis)
            aligned = joint if _is_identity(frame) else _rotated(joint, frame)
            yield replace(aligned, **_NONE, axis=(0.0, 0.0, 1.0))
        elif joint.type in _ONE_COORDINATE:
            yield joint
        elif joint.type in TYPES:
            self.drop(joint)
            yield replace(joint, **_NONE)
        elif 1.0 in (rates := _screw_rates(joint)):
            yield from self.screw(joint, *rates)
        else:
            raise PhalanxError(
                f'to_urdf: joint "{joint.name}" has type "{joint.type}", which URDF cannot write; '
                'robot.save("….json") keeps it.'
            )

    def screw(self, joint: Joint, turn: float, slide: float) -> Iterator[Joint]:
        """A screw as the joint that has its coordinate and one that follows it, if it turns and slides."""
        kinds = ("revolute", "prismatic") if turn == 1.0 else ("prismatic", "revolute")
        ratio = slide if turn == 1.0 else turn
        if not ratio:
            yield replace(joint, type=kinds[0])
            return
        endings = ("", "_slide" if turn == 1.0 else "_turn")
        first, second = self.row(joint, endings, kinds[0], (joint.axis, joint.axis))
        lower, upper = sorted(ratio * x for x in (_one(joint.lower, -1), _one(joint.upper, 1)))
        driver = joint.mimic or Mimic(joint.name)
        follow = Mimic(driver.joint, ratio * driver.multiplier, ratio * driver.offset)
        yield first
        yield replace(second, **_NONE | {"lower": (lower,), "upper": (upper,)}, type=kinds[1], mimic=follow)

    def row(self, joint: Joint, endings: Sequence[str], kind: str, axes: Sequence[Triple]) -> Iterator[Joint]:
        """One joint for each axis; the first has the origin, the last leads to the child."""
        parent, last = joint.parent, len(axes) - 1
        for i, (ending, axis) in enumerate(zip(endings, axes, strict=True)):
            child = joint.child if i == last else self.massless(joint.child + (ending or "_turn"))
            yield replace(
                joint,
                name=_free(joint.name + ending, self._joint_names) if ending else joint.name,
                type=kind,
                parent=parent,
                child=child,
                origin=joint.origin if i == 0 else IDENTITY,
                after=joint.after if i == last else IDENTITY,
                axis=axis,
                **{key: getattr(joint, key)[i : i + 1] for key in _KEPT},
            )
            parent = child

    def placed(self, joint: Joint) -> Iterator[Joint]:
        """The joint with its child frame where the joint is; else with a link on its axis between."""
        if joint.after == IDENTITY:
            yield joint
        elif joint.type == "fixed" or _on_axis(joint):
            axis = times(np.reshape(joint.after.rotation, (3, 3)).T, joint.axis)
            yield replace(joint, origin=joint.origin @ joint.after, after=IDENTITY, axis=_triple(axis))
        else:
            between = self.massless(f"{joint.child}_axis")
            yield replace(joint, child=between, after=IDENTITY)
            name = _free(f"{joint.child}_frame", self._joint_names)
            yield Joint(name, "fixed", between, joint.child, origin=joint.after)

    def massless(self, name: str) -> str:
        """The name of a new link without mass."""
        self.links.append(Link(_free(name, self._link_names)))
        return self.links[-1].name

    def drop(self, joint: Joint) -> None:
        """Note the limits, damping and friction of a joint for which URDF has no such entries."""
        for key in _KEPT:
            if any(math.isfinite(x) and x != 0.0 for x in getattr(joint, key)):
                self.dropped.setdefault(joint.name, []).append(key)

    def holds(self, actuator: Actuator) -> bool:
        """Whether URDF can say the actuator as a transmission.

        One drives a single joint, with lever arm 1, which URDF must have as one joint, too: not as several.
        """
        kinds = {joint.name: joint.type for joint in self.joints}
        return actuator.arms == ((1.0,),) and kinds.get(actuator.joints[0]) in _ONE_COORDINATE

    def _rotors(self) -> Mapping[str, tuple[float, ...]]:
        """The armature of joints that readers make of the rotors of transmissions."""
        made: dict[str, float] = {}
        for a in self.description.actuators or ():
            if a.rotor_inertia and self.holds(a):
                made[a.joints[0]] = made.get(a.joints[0], 0.0) + a.gear * a.gear * a.rotor_inertia
        return {joint: (value,) for joint, value in made.items()}

    def lost(self) -> list[str]:
        """What URDF cannot hold, in words."""
        d, found = self.description, []
        rotors = self._rotors()
        if any(any(j.armature) and j.armature != rotors.get(j.name) for j in d.joints) or any(
            d.base_armature
        ):
            found.append("armature")
        if unheld := [a.name for a in d.actuators or () if not self.holds(a)]:
            found.append(f"the actuators {listing(unheld, most=4)}")
        if bounded := [a.name for a in d.actuators or () if math.isfinite(a.upper - a.lower)]:
            found.append(f"the bounds of the actuators {listing(bounded, most=4)}")
        if d.actuators == ():
            found.append("that no joint is actuated")
        if d.configurations:
            found.append(f"the configurations {listing((c.name for c in d.configurations), most=4)}")
        if any(any(j.stiffness) for j in d.joints):
            found.append("springs")
        if d.gravity != Description.gravity:
            found.append(f"gravity {d.gravity} (load with gravity=…)")
        if d.floating_base:
            found.append("the floating base (load with floating_base=True)")
        if self.dropped:
            keys = sorted({key for keys in self.dropped.values() for key in keys}, key=_KEPT.index)
            found.append(f"{', '.join(keys)} of {listing(self.dropped, most=4)}")
        if self.angles:
            found.append(f"the quaternions of {listing(self.angles, most=4)} (three angles instead)")
        return found


def _free(name: str, taken: set[str]) -> str:
    """The name, or a variation that is not taken; the result is marked as taken."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _screw_rates(joint: Joint) -> tuple[float, float]:
    """Radians about its axis and metres along it per unit of the coordinate; zeros unless a screw."""
    steps = joint_type(joint.type).steps(joint.axis, joint.axis2, joint.pitch)
    return (steps[0].turn, steps[0].slide) if len(steps) == 1 else (0.0, 0.0)


def _on_axis(joint: Joint) -> bool:
    """Whether the child frame moves along with the joint's motion as if it lay on the axis."""
    if joint.type == "prismatic":
        return True
    if joint.type not in ("revolute", "continuous"):
        return False
    axis, at = _unit(joint.axis), np.array(joint.after.translation)
    return bool(np.linalg.norm(np.cross(axis, at)) <= 1e-15 * max(1.0, float(np.linalg.norm(at))))


def _rotated(joint: Joint, frame: np.ndarray) -> Joint:
    return replace(joint, origin=joint.origin @ Pose.of(frame), after=Pose.of(frame.T) @ joint.after)


def _is_identity(rotation: np.ndarray) -> bool:
    return bool(np.array_equal(rotation, np.eye(3)))


def _unit(axis: Triple) -> np.ndarray:
    """The axis at unit length; unchanged where it has that already."""
    length = math.hypot(*axis)
    return np.array(axis) / (1.0 if abs(length - 1.0) <= 1e-15 else length)


def _triple(values: np.ndarray) -> Triple:
    x, y, z = values.tolist()
    return (x, y, z)


def _one(values: tuple[float, ...], sign: int) -> float:
    return values[0] if values else sign * math.inf


# ------------------------------------------------------------------- XML


def _link(link: Link, description: Description) -> str:
    name = _quoted(link.name, description, "link")
    if link == Link(link.name):
        return f"  <link name={name}/>"
    entries = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    moments = " ".join(f'{key}="{_number(x)}"' for key, x in zip(entries, link.inertia, strict=True))
    return (
        f"  <link name={name}>\n    <inertial>\n"
        f'      <origin xyz="{_numbers(link.com)}"/>\n      <mass value="{_number(link.mass)}"/>\n'
        f"      <inertia {moments}/>\n    </inertial>\n  </link>"
    )


def _joint(joint: Joint, description: Description) -> str:
    name, parent, child = (
        _quoted(x, description, what)
        for x, what in ((joint.name, "joint"), (joint.parent, "link"), (joint.child, "link"))
    )
    lines = [f"  <joint name={name} type={_attribute(joint.type)}>"]
    lines += [f"    <parent link={parent}/>", f"    <child link={child}/>"]
    if joint.origin != IDENTITY:
        lines.append(f"    {_origin(joint.origin)}")
    if joint.type not in ("fixed", "floating"):
        lines.append(f'    <axis xyz="{_numbers(_triple(_unit(joint.axis)))}"/>')
    if joint.type in _ONE_COORDINATE:
        lines += _limits(joint)
    if joint.mimic:
        driver = _quoted(joint.mimic.joint, description, "joint")
        factor, offset = _number(joint.mimic.multiplier), _number(joint.mimic.offset)
        lines.append(f'    <mimic joint={driver} multiplier="{factor}" offset="{offset}"/>')
    return "\n".join([*lines, "  </joint>"])


def _loop(loop: LoopClosure, description: Description) -> str:
    """A joint that closes a loop, as URDF+ writes it; other readers pass over it."""
    name = _quoted(loop.name, description, "loop")
    lines = [f"  <loop name={name} type={_attribute(loop.type)}>"]
    for role in ("predecessor", "successor"):
        link, at = getattr(loop, role), getattr(loop, f"{role}_pose")
        lines.append(f"    <{role} link={_quoted(link, description, 'link')}>{_origin(at)}</{role}>")
    lines.append(f'    <axis xyz="{_numbers(_triple(_unit(loop.axis)))}"/>')
    return "\n".join([*lines, "  </loop>"])


def _transmission(actuator: Actuator, description: Description) -> str:
    """A motor at a joint; the inertia of its rotor as Drake writes it."""
    name, joint = (
        _quoted(x, description, what)
        for x, what in ((actuator.name, "actuator"), (actuator.joints[0], "joint"))
    )
    gear, rotor = _number(actuator.gear), _number(actuator.rotor_inertia)
    own = f"      <mechanicalReduction>{gear}</mechanicalReduction>\n"
    if actuator.rotor_inertia:
        own += f'      <drake:gear_ratio value="{gear}"/>\n      <drake:rotor_inertia value="{rotor}"/>\n'
    return (
        f"  <transmission name={name}>\n    <type>transmission_interface/SimpleTransmission</type>\n"
        f"    <joint name={joint}>\n      <hardwareInterface>{_INTERFACE}</hardwareInterface>\n    </joint>\n"
        f"    <actuator name={name}>\n{own}    </actuator>\n  </transmission>"
    )


def _origin(pose: Pose) -> str:
    rotation = np.reshape(pose.rotation, (3, 3))
    rpy = "" if _is_identity(rotation) else f' rpy="{_numbers(roll_pitch_yaw(rotation))}"'
    return f'<origin xyz="{_numbers(pose.translation)}"{rpy}/>'


def _limits(joint: Joint) -> Iterator[str]:
    """The limits with all entries that other readers insist on, and damping and friction where given."""
    values = {key: _one(getattr(joint, key), 1) for key in ("effort", "velocity")}
    if joint.type != "continuous":
        values = {"lower": _one(joint.lower, -1), "upper": _one(joint.upper, 1), **values}
    if joint.type != "continuous" or any(map(math.isfinite, values.values())):
        written = " ".join(f'{key}="{_number(_bounded(x))}"' for key, x in values.items())
        yield f"    <limit {written}/>"
    given = {key: getattr(joint, key)[0] for key in ("damping", "friction") if getattr(joint, key)}
    if given:
        yield f"    <dynamics {' '.join(f'{key}={_attribute(_number(x))}' for key, x in given.items())}/>"


def _bounded(value: float) -> float:
    return math.copysign(min(abs(value), UNLIMITED), value)


def _numbers(values: Sequence[float]) -> str:
    return " ".join(map(_number, values))


def _number(value: float) -> str:
    """The shortest decimal number that reads back as the same float."""
    return repr(float(value)).removesuffix(".0")


def _quoted(name: str, description: Description, what: str) -> str:
    if not name and what != "robot":
        raise PhalanxError(f"to_urdf: {description.where}: a {what} has an empty name; URDF needs one.")
    if found := _NOT_XML.search(name):
        raise PhalanxError(
            f"to_urdf: {description.where}: the {what} name {name!r:.60} holds {found.group()!r}, "
            "which XML cannot write. Rename it."
        )
    return _attribute(name)


def _attribute(text: str) -> str:
    """Text between quotes. Python's own module for this loads what fetches files from the network."""
    return f'"{text.translate(_ESCAPED)}"'
