# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""SDF: links, joints and frames of one model; one warning counts sensors and plugins, which are left out.

A joint to "world" makes the world the base. Otherwise the link without a joint above it is the base, as in
URDF: fixed, unless loaded with `floating_base`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from phalanx.errors import PhalanxError, listing, nearest
from phalanx.io.ignored import counted, leaving_out
from phalanx.io.urdf import UNLIMITED, rotated_inertias
from phalanx.io.xml import Element, parse
from phalanx.reproducible import rotation_rpy, times
from phalanx.robot.checks import reversed_range
from phalanx.robot.description import (
    IDENTITY,
    Description,
    FixedFrame,
    Joint,
    Link,
    LoopClosure,
    Mimic,
    Pose,
    Triple,
)
from phalanx.robot.joints import joint_type, transpose_quaternion

WORLD, MODEL = "world", "__model__"
_TYPES = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "ball": "spherical",
    "universal": "universal",
    "revolute2": "universal",
    "screw": "helical",
}
_DYNAMICS = {
    "damping": "damping",
    "friction": "friction",
    "stiffness": "spring_stiffness",
    "spring_reference": "spring_reference",
}
_Z: Triple = (0.0, 0.0, 1.0)


def read_sdf(text: str | bytes, *, source: str) -> Description:
    """The links, joints and frames of an SDF text with one model; `source` names it in messages."""
    root = parse(text, source=source, keep_text=True)
    worlds = list(root.findall("world")) if root.tag == "sdf" else []
    models = [model for holder in (root, *worlds) for model in holder.findall("model")]
    if root.tag != "sdf" or len(models) != 1:
        found = f"{len(models)} models" if root.tag == "sdf" else f"the root element <{root.tag}>"
        raise PhalanxError(f"{source}:{root.line}: got {found}; expected <sdf> with one <model>.")
    reader = _SdfReader(source, models[0], _version(root))
    gravity = worlds[0].find("gravity") if worlds else None
    return reader.description(Description.gravity if gravity is None else reader.triple(gravity, "world"))


def _spanned(joints: list[Joint]) -> tuple[list[Joint], list[LoopClosure]]:
    """The joints of a tree, and as loops those whose child has a joint already, or carries their parent."""
    tree: list[Joint] = []
    loops: list[LoopClosure] = []
    above: dict[str, str] = {}  # the parent of each link
    for joint in joints:
        link: str | None = joint.parent
        while link is not None and link != joint.child:
            link = above.get(link)
        if joint.child in above or (link is not None and joint.parent != joint.child):
            loops.append(
                LoopClosure(
                    joint.name,
                    joint.type,
                    joint.parent,
                    joint.child,
                    joint.origin,
                    joint.after.inverse(),
                    joint.axis,
                    joint.axis2,
                    joint.pitch,
                )
            )
        else:
            tree.append(joint)
            above[joint.child] = joint.parent
    return tree, loops


def _version(root: Element) -> tuple[int, ...]:
    digits = root.attrib.get("version", "1.7").split(".")
    return tuple(int(x) for x in digits[:2] if x.isdecimal() and len(x) < 5)


class _SdfReader:
    """Elements of a model to links and joints; all poses are resolved in the model's frame first."""

    def __init__(self, source: str, model: Element, version: tuple[int, ...]) -> None:
        self.source, self.model, self.version = source, model, version
        for nested in ("model", "include"):
            if found := model.find(nested):
                raise self.error(
                    found,
                    f"<{nested}> inside a model is not supported; flatten it first (gz sdf -p model.sdf).",
                )
        self.named: dict[str, Element] = {}
        for element in (e for e in model if e.tag in ("link", "joint", "frame")):
            name = element.attrib.get("name", "")
            if not name or name in self.named or name in (WORLD, MODEL):
                raise self.error(element, f'<{element.tag}> has the name "{name}"; expected a unique name.')
            self.named[name] = element
        self.carriers: dict[str, str] = {}  # the links of frames, as they are found
        self.known = {MODEL: IDENTITY, WORLD: self.pose(model, "model").inverse()}

    def description(self, gravity: Triple) -> Description:
        """The description; gravity in the frame of the base."""
        links = [self.link(element) for element in self.model.findall("link")]
        joints, loops = _spanned([self.joint(element) for element in self.model.findall("joint")])
        if any(joint.parent == WORLD for joint in joints) or any(x.predecessor == WORLD for x in loops):
            links.insert(0, Link(WORLD))
        else:
            below = {joint.child for joint in joints}
            base = next((link.name for link in links if link.name not in below), MODEL)
            rotation = np.reshape(self.between(WORLD, base).rotation, (3, 3))
            x, y, z = (times(rotation.T, gravity) + 0.0).tolist()
            gravity = (x, y, z)
        frames = [self.frame(element) for element in self.model.findall("frame")]
        name = self.model.attrib.get("name", "model")
        described = Description(
            name,
            tuple(links),
            tuple(joints),
            gravity,
            frames=tuple(frames),
            loops=tuple(loops),
            source=self.source,
        )
        return leaving_out(described, self.left_out())

    def left_out(self) -> Iterator[str]:
        """A phrase for each kind of element that acts on links or measures them, and is left out."""
        inside = [part for element in (self.model, *self.named.values()) for part in element]
        for tag in ("plugin", "sensor", "gripper"):
            yield from counted(tag, count=sum(part.tag == tag for part in inside))
        weightless = [
            part for part in inside if part.tag == "gravity" and part.text.strip() in ("false", "0")
        ]
        yield from counted("link without gravity", "links without gravity", count=len(weightless))

    # ------------------------------------------------------------------- poses

    def resolved(self, name: str) -> Pose:
        """The pose of a link, joint or frame in the model's frame."""
        path: dict[str, None] = {}
        while name not in self.known:
            if name in path:
                raise PhalanxError(
                    f"{self.source}: the poses of {listing(path)} refer to each other in a circle."
                )
            path[name] = None
            name = self.base(name)
        for each in reversed(path):
            self.known[each] = self.known[name] @ self.pose(self.named[each], each)
            name = each
        return self.known[name]

    def base(self, name: str) -> str:
        """The frame in which the pose of an element is given."""
        if name not in self.named:
            raise self.unknown(name)
        element = self.named[name]
        pose = element.find("pose")
        given = "" if pose is None else pose.attrib.get("relative_to", pose.attrib.get("frame", ""))
        if not given and element.tag != "link":
            given = self.above(element)
        return given or MODEL

    def above(self, element: Element) -> str:
        """The name of what a frame is attached to, or of a joint's child; empty for the model's frames."""
        return self.end(element, "child") if element.tag == "joint" else element.attrib.get("attached_to", "")

    def between(self, a: str, b: str) -> Pose:
        """The pose of frame b in frame a."""
        return self.resolved(a).inverse() @ self.resolved(b)

    def carrier(self, name: str) -> str:
        """The link that a frame is attached to."""
        path: dict[str, None] = {}
        while name != WORLD and (name not in self.named or self.named[name].tag != "link"):
            if name in path:
                raise PhalanxError(f"{self.source}: the frames {listing(path)} are attached to each other.")
            if name in self.carriers:
                name = self.carriers[name]
                break
            path[name] = None
            if name not in self.named and name != MODEL:
                raise self.unknown(name)
            name = (self.above(self.named[name]) if name in self.named else "") or self.canonical
        self.carriers |= dict.fromkeys(path, name)  # else chains of frames would take quadratic time
        return name

    @property
    def canonical(self) -> str:
        """The link to which the frame of the model belongs: the first, unless the file says which."""
        first = self.model.find("link")
        given = self.model.attrib.get("canonical_link", "")
        return given or ("" if first is None else first.attrib["name"])

    def pose(self, holder: Element, where: str) -> Pose:
        """The <pose> of an element, unresolved: x y z roll pitch yaw, or a quaternion."""
        element = holder.find("pose")
        if element is None or not element.text.strip():
            return IDENTITY
        if element.attrib.get("rotation_format") == "quat_xyzw":
            x, y, z, *quaternion = self.numbers(element, where, 7)
            if not math.hypot(*quaternion) > 1e-12:
                raise self.error(element, f"{where}: the quaternion of <pose> is zero; expected a rotation.")
            return Pose.of(transpose_quaternion(np.array(quaternion)).T, (x, y, z))
        x, y, z, *angles = self.numbers(element, where, 6)
        if element.attrib.get("degrees") in ("true", "1"):
            angles = [math.radians(angle) for angle in angles]
        return Pose(rotation_rpy(*angles), (x, y, z))

    # ------------------------------------------------------------------- elements

    def link(self, element: Element) -> Link:
        """A link; without <inertial>, or without entries of it, SDF gives it 1 kg and 1 kg m2."""
        name = element.attrib["name"]
        inertial = element.find("inertial")
        if inertial is None:
            return Link(name, 1.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
        where = f'link "{name}"'
        at = self.pose(inertial, where)
        moments = inertial.find("inertia")
        entries = {"ixx": 1.0, "ixy": 0.0, "ixz": 0.0, "iyy": 1.0, "iyz": 0.0, "izz": 1.0}
        packed = tuple(self.entry(moments, key, where, default) for key, default in entries.items())
        return Link(
            name,
            self.entry(inertial, "mass", where, 1.0),
            at.translation,
            rotated_inertias([packed], [at.rotation])[0],
        )

    def joint(self, element: Element) -> Joint:
        """A joint with its geometry, limits, damping, friction and coupling."""
        name = element.attrib["name"]
        where = f'joint "{name}"'
        given = element.attrib.get("type", "")
        if given not in _TYPES:
            raise self.error(element, f'{where} has type "{given}"; supported: {", ".join(_TYPES)}.')
        kind = _TYPES[given]
        ends: dict[str, Any] = {role: self.carrier(self.end(element, role)) for role in ("parent", "child")}
        holders = [element.find(tag) for tag in ("axis", "axis2")[: joint_type(kind).axes]]
        axes = [_Z if holder is None else self.axis(holder, name) for holder in holders]
        more: dict[str, Any] = dict(zip(("axis", "axis2"), axes, strict=False))
        if holders:
            more |= self.limits(holders, kind, where)
        if kind == "helical":
            more["pitch"] = self.screw_pitch(element, where)
        mimic = holders[0].find("mimic") if holders and holders[0] is not None else None
        return Joint(
            name,
            kind,
            **ends,
            origin=self.between(ends["parent"], name),
            after=self.between(name, ends["child"]),
            mimic=None if mimic is None else self.mimic(mimic, where),
            **more,
        )

    def axis(self, holder: Element, joint: str) -> Triple:
        """The axis in the joint's frame."""
        xyz = holder.find("xyz")
        if xyz is None:
            return _Z
        frame = xyz.attrib.get("expressed_in", "") or joint
        old = holder.find("use_parent_model_frame")
        if self.version < (1, 5) or (old is not None and old.text.strip() in ("true", "1")):
            frame = MODEL
        rotation = np.reshape(self.between(joint, frame).rotation, (3, 3))
        x, y, z = (times(rotation, self.triple(xyz, f'joint "{joint}"')) + 0.0).tolist()
        return (x, y, z)

    def limits(self, holders: list[Element | None], kind: str, where: str) -> dict[str, tuple[float, ...]]:
        """Limits, damping, friction and springs of each axis; a negative effort or velocity is none."""
        found: dict[str, tuple[float, ...]] = {}
        held = [None if holder is None else holder.find("limit") for holder in holders]
        for key, default in (("lower", -math.inf), ("upper", math.inf), ("velocity", -1.0), ("effort", -1.0)):
            values = [self.entry(limit, key, where, default, unlimited=True) for limit in held]
            if key in ("velocity", "effort"):
                values = [math.inf if value < 0.0 else value for value in values]
            values = [math.copysign(math.inf, x) if abs(x) >= UNLIMITED else x for x in values]
            found[key] = (default,) if kind == "continuous" and key in ("lower", "upper") else tuple(values)
        for limit, low, high in zip(held, found["lower"], found["upper"], strict=True):
            if limit is not None and low > high:
                raise self.error(limit, reversed_range(where, low, high))
        held = [None if holder is None else holder.find("dynamics") for holder in holders]
        for key, entry in _DYNAMICS.items():
            values = [self.entry(dynamics, entry, where, 0.0) for dynamics in held]
            found[key] = tuple(values) if any(values) else ()
        return found

    def screw_pitch(self, element: Element, where: str) -> float:
        """Metres per radian, from metres per turn or the older radians per metre of the other hand."""
        if element.find("screw_thread_pitch") is not None:
            return self.entry(element, "screw_thread_pitch", where, 1.0) / (2.0 * math.pi)
        older = self.entry(element, "thread_pitch", where, 1.0)
        if older == 0.0:
            raise self.error(element, f"{where}: <thread_pitch> is 0; expected radians per metre.")
        return -1.0 / older

    def mimic(self, element: Element, where: str) -> Mimic:
        """multiplier (q - reference) + offset."""
        multiplier, reference, offset = (
            self.entry(element, key, where, default)
            for key, default in (("multiplier", 1.0), ("reference", 0.0), ("offset", 0.0))
        )
        driver = element.attrib.get("joint", "")
        if driver not in self.named or self.named[driver].tag != "joint":
            joints = [e.attrib["name"] for e in self.model.findall("joint")]
            raise self.error(
                element,
                f'{where} mimics the unknown joint "{driver}";{nearest(driver, joints, what="joints")}',
            )
        return Mimic(driver, multiplier, offset - multiplier * reference)

    def frame(self, element: Element) -> FixedFrame:
        """A frame with the link that carries it."""
        name = element.attrib["name"]
        link = self.carrier(name)
        return FixedFrame(name, link, self.between(link, name))

    # ------------------------------------------------------------------- contents of elements

    def end(self, joint: Element, role: str) -> str:
        """The name of the parent or child of a joint."""
        element = joint.find(role)
        name = "" if element is None else (element.text.strip() or element.attrib.get("link", ""))
        if not name or (name != WORLD and name not in self.named) or (name == WORLD and role == "child"):
            links = [e.attrib["name"] for e in self.model.findall("link")]
            which = f'joint "{joint.attrib["name"]}" has the {role} "{name}"'
            raise self.error(joint, f"{which};{nearest(name, links, what='links')}")
        return name

    def entry(
        self, holder: Element | None, key: str, where: str, default: float, *, unlimited: bool = False
    ) -> float:
        """The number in a child element, or the default of the format."""
        element = None if holder is None else holder.find(key)
        if element is None or not element.text.strip():
            return default
        return self.numbers(element, where, 1, unlimited=unlimited)[0]

    def triple(self, element: Element, where: str) -> Triple:
        """Three finite numbers."""
        x, y, z = self.numbers(element, where, 3)
        return (x, y, z)

    def numbers(self, element: Element, where: str, size: int, *, unlimited: bool = False) -> list[float]:
        """The numbers in the text of an element."""
        try:
            values = [float(word) for word in element.text.split()]
        except ValueError:
            values = []
        fine = all(math.isfinite(x) or (unlimited and math.isinf(x)) for x in values)
        if len(values) != size or not fine:
            what = f"{size} finite numbers" if size > 1 else "a finite number"
            raise self.error(element, f'{where}: <{element.tag}> is "{element.text:.60}"; expected {what}.')
        return values

    def unknown(self, name: str) -> PhalanxError:
        """An error about a name that nothing has."""
        return PhalanxError(
            f'{self.source}: unknown frame "{name}";{nearest(name, self.named, what="frames")}'
        )

    def error(self, element: Element, message: str) -> PhalanxError:
        """An error that names the file and the line."""
        return PhalanxError(f"{self.source}:{element.line}: {message}")
