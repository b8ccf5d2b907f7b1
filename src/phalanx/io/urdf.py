# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""URDF: links and joints of a robot file; one warning counts the drives, sensors and plugins left out."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from phalanx.errors import PhalanxError, listing, nearest, warn
from phalanx.io.ignored import Item, leaving_out, left_out, soft_limits, summary
from phalanx.io.transmissions import read_transmissions
from phalanx.io.xacro import only_macros
from phalanx.io.xml import Element, UnfitError, children_quickly, parse
from phalanx.reproducible import congruent, rotation_rpy
from phalanx.robot.actuation import with_rotors
from phalanx.robot.checks import reversed_range
from phalanx.robot.description import IDENTITY, Description, Joint, Link, LoopClosure, Mimic, Pose, Triple
from phalanx.spatial import pack, unpack

TYPES = ("fixed", "revolute", "continuous", "prismatic", "planar", "floating")
UNLIMITED = 1e16  # what Gazebo and others write for no limit, since many readers refuse "inf"
_HINTS = {"spherical": "three revolute joints in a row", "universal": "two revolute joints in a row"}
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_MOST_KNOWN = 10_000  # from where on a file is one that does not repeat itself
_ZERO: Triple = (0.0, 0.0, 0.0)
_X: Triple = (1.0, 0.0, 0.0)
# These declare something for later use; they add no link or joint by themselves.
_XACRO_DECLARATIONS = ("xacro:property", "xacro:arg", "xacro:macro")
# These never survive an expansion; calls of unknown macros and includes do with some tools.
_XACRO_INSTRUCTIONS = ("xacro:if", "xacro:unless", "xacro:insert_block", "xacro:element", "xacro:attribute")


def read_urdf(text: str | bytes, *, source: str, strict: bool = False) -> Description:
    """The links and joints of a URDF text; `source` names it in messages.

    Masses are those of the file: a link without <inertial> has none. Axes keep their length.
    A joint that mimics an unknown joint is left independent with a warning, since published
    files have such joints; with `strict` it is an error.
    """
    with contextlib.suppress(UnfitError, PhalanxError):  # said again below, with the line
        children = children_quickly(text)
        return _read(next(children), children, source, strict)
    root = parse(text, source=source, keep_text=True)
    _UrdfReader(source).judge_xacro(root, strict)
    return _read(root, root, source, strict)


def _read(root: Element, children: Iterable[Element], source: str, strict: bool) -> Description:
    reader = _UrdfReader(source)
    if root.tag != "robot":
        raise reader.error(root, f"the root element is <{root.tag}>; expected <robot> of a URDF file.")
    bodies, joints, loops = [], [], []
    others: list[Item] = []
    drives: list[Element] = []
    for element in children:
        if element.tag == "link":
            bodies.append(reader.link(element))
        elif element.tag == "joint":
            joints.append(reader.joint(element))
            others += soft_limits(element)
        elif element.tag == "loop":
            loops.append(reader.loop(element))
        elif element.tag == "transmission":
            others.append((element.tag, element.attrib.get("name", "")))
            drives.append(element)
        else:
            others += left_out(element)
    known = reader.known_mimics(root, joints, strict)
    name = root.attrib.get("name", "robot")
    actuators, unread = read_transmissions(drives, known, reader.error)
    described = Description(
        name, _in_link_axes(bodies), known, loops=tuple(loops), actuators=actuators, source=source
    )
    return leaving_out(with_rotors(described), summary(_without_read(others, len(unread))))


def _without_read(others: list[Item], unread: int) -> Iterator[Item]:
    """The items with as many transmissions as have not been read."""
    for item in others:
        if item[0] != "transmission":
            yield item
        elif unread:
            unread -= 1
            yield item


def _in_link_axes(bodies: list[tuple[Link, tuple[float, ...]]]) -> tuple[Link, ...]:
    """The links, with inertias given in other axes rotated to theirs, all at once."""
    given = {(link.inertia, axes): None for link, axes in bodies if axes is not IDENTITY.rotation}
    new = dict(zip(given, rotated_inertias(*zip(*given, strict=True)) if given else (), strict=True))
    return tuple(
        link if axes is IDENTITY.rotation else Link(link.name, link.mass, link.com, new[link.inertia, axes])
        for link, axes in bodies
    )


class _UrdfReader:
    """Elements to links and joints, with the file's name at hand for messages."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.known: dict[Any, Any] = {}

    def once(self, key: Any, read: Callable[[], Any]) -> Any:
        """The memoized result of `read()` for these attributes, which files of many links repeat."""
        found = self.known.get(key)
        if found is None:
            found = read()
            if len(self.known) < _MOST_KNOWN:
                self.known[key] = found
        return found

    def link(self, element: Element) -> tuple[Link, tuple[float, ...]]:
        """A link with its mass, mass centre and inertia, and the rotation of the axes of the latter."""
        name = self.text(element, "name", "link")
        where = f'link "{name}"'
        inertial = element.find("inertial")
        if inertial is None:
            return Link(name), IDENTITY.rotation
        mass = inertial.find("mass")
        if mass is None:
            raise self.error(inertial, f"{where} has an <inertial> without <mass>; expected one. Add it.")
        at = self.origin(inertial, where)
        inertia = self.inertia(inertial.find("inertia"), where)
        return Link(name, self.number(mass, "value", where), at.translation, inertia), at.rotation

    def inertia(self, element: Element | None, where: str) -> tuple[float, ...]:
        """xx, xy, xz, yy, yz, zz; the schema's default of each entry is 0."""
        if element is None:
            return (0.0,) * 6
        return self.once(
            ("inertia", *element.attrib.items()),
            lambda: tuple(self.number(element, entry, where, 0.0) for entry in _MOMENTS),
        )

    def joint(self, element: Element) -> Joint:
        """A joint with its geometry, limits, damping, friction and coupling."""
        name = self.text(element, "name", "joint")
        where = f'joint "{name}"'
        kind = self.text(element, "type", where)
        if kind not in TYPES:
            hint = f" Write it as {_HINTS[kind]}." if kind in _HINTS else ""
            raise self.error(
                element,
                f'{where} has type "{kind}"; supported: {", ".join(TYPES)}.{hint}',
            )
        axis = element.find("axis")
        return Joint(
            name,
            kind,
            parent=self.end(element, "parent", where),
            child=self.end(element, "child", where),
            origin=self.origin(element, where),
            axis=_X if axis is None or kind in ("fixed", "floating") else self.axis(axis, where),
            mimic=self.mimic(element.find("mimic"), where),
            **self.limits(element, kind, where),
        )

    def loop(self, element: Element) -> LoopClosure:
        """A joint that closes a loop, as URDF+ has it: with a frame on either link."""
        name = self.text(element, "name", "loop")
        where = f'loop "{name}"'
        axis = element.find("axis")
        frames: dict[str, Any] = {}
        for role in ("predecessor", "successor"):
            own, older = element.find(role), element.find(f"{role}_origin")
            at = IDENTITY if own is None else self.origin(own, where)
            frames[f"{role}_pose"] = at if older is None else self.pose(older, where)
        return LoopClosure(
            name,
            self.text(element, "type", where),
            self.end(element, "predecessor", where),
            self.end(element, "successor", where),
            axis=_X if axis is None else self.axis(axis, where),
            **frames,
        )

    def axis(self, element: Element, where: str) -> Triple:
        """The axis of a joint."""
        return self.once(("axis", *element.attrib.items()), lambda: self.triple(element, "xyz", where, _X))

    def limits(self, element: Element, kind: str, where: str) -> dict[str, Any]:
        """Limits, damping and friction; URDF knows them for joints with one coordinate only."""
        if kind not in ("revolute", "continuous", "prismatic"):
            return {}
        limit, dynamics = element.find("limit"), element.find("dynamics")
        key = [kind, None, *(() if limit is None else limit.attrib.items())]
        key += [None, *(() if dynamics is None else dynamics.attrib.items())]
        found: dict[str, Any] = self.once(tuple(key), lambda: self.limits_in(limit, dynamics, kind, where))
        return found

    def limits_in(
        self, limit: Element | None, dynamics: Element | None, kind: str, where: str
    ) -> dict[str, Any]:
        """The limits, damping and friction in <limit> and <dynamics>."""
        found: dict[str, Any] = {}
        if kind == "continuous":
            found["lower"], found["upper"] = (-math.inf,), (math.inf,)
        elif limit is not None:
            for side in ("lower", "upper"):  # the standard's default of both is 0
                found[side] = (_limit(self.number(limit, side, where, 0.0, unlimited=True)),)
            if found["lower"] > found["upper"]:
                raise self.error(limit, reversed_range(where, *found["lower"], *found["upper"]))
        if limit is not None:
            for key in ("velocity", "effort"):
                if key in limit.attrib:
                    found[key] = (_limit(self.number(limit, key, where, unlimited=True)),)
        if dynamics is not None:
            for key in ("damping", "friction"):
                if key in dynamics.attrib:
                    found[key] = (self.number(dynamics, key, where),)
        return found

    def mimic(self, element: Element | None, where: str) -> Mimic | None:
        """The coupling to another joint, or None."""
        if element is None:
            return None
        return Mimic(
            self.text(element, "joint", where),
            self.number(element, "multiplier", where, 1.0),
            self.number(element, "offset", where, 0.0),
        )

    def known_mimics(self, root: Element, joints: list[Joint], strict: bool) -> tuple[Joint, ...]:
        """The joints; those that mimic an unknown joint are made independent, or raise if `strict`."""
        known = {joint.name for joint in joints}
        lost: dict[str, str] = {}
        for joint in joints:
            if joint.mimic is None:
                continue
            driver = joint.mimic.joint
            if driver == joint.name:
                raise self.error(
                    _named(root, driver), f'joint "{driver}" mimics itself; expected another joint.'
                )
            if driver not in known:
                lost[joint.name] = driver
                if strict:
                    hint = nearest(driver, (joint.name for joint in joints), what="joints")
                    message = f'joint "{joint.name}" mimics the unknown joint "{driver}";{hint}'
                    raise self.error(_named(root, joint.name), message)
        if not lost:
            return tuple(joints)
        pairs = listing(f"{name} of {driver}" for name, driver in lost.items())
        warn(
            f"{self.source}: joints mimic unknown joints ({pairs}); they are left independent. "
            "Correct the names in the file."
        )
        return tuple(replace(joint, mimic=None) if joint.name in lost else joint for joint in joints)

    def judge_xacro(self, root: Element, strict: bool) -> None:
        """Warn of xacro elements that an expansion has left over; raise where there was none."""
        macros = [element.attrib.get("name", "") for element in root.findall("xacro:macro")]
        found = [
            (parent, element)
            for parent, element in _inside(root)
            if element.tag.startswith("xacro:") and element.tag not in _XACRO_DECLARATIONS
        ]
        empty = root.find("link") is None
        if macros and empty and not found:
            raise PhalanxError(only_macros(f"{self.source}:{getattr(root, 'line', 0)}", macros))
        tags = {element.tag for _, element in found}
        untouched = "xacro:include" in tags and len(tags) > 1  # the file of macros, and calls of them
        for parent, element in found:
            known = element.tag in _XACRO_INSTRUCTIONS or element.tag.removeprefix("xacro:") in macros
            if strict or empty or known or untouched or parent.tag == "inertial":
                raise self.error(
                    element, f"<{element.tag}> is an unprocessed xacro instruction. {self.remedy}"
                )
        if found:
            lines = ", ".join(f"<{element.tag}> in line {element.line}" for _, element in found[:4])
            more = f" and {len(found) - 4} more" if len(found) > 4 else ""
            warn(
                f"{self.source}: xacro has left elements over, which are ignored: {lines}{more}. "
                f"Remove them if they add nothing to the robot. If the file was never expanded: {self.remedy}"
            )

    @property
    def remedy(self) -> str:
        return "Run xacro first (`xacro robot.xacro > robot.urdf`), or pass xacro_args={…} to px.load."

    def origin(self, element: Element, where: str) -> Pose:
        """The pose of <origin>."""
        origin = element.find("origin")
        if origin is None:
            return IDENTITY
        return self.once(("origin", *origin.attrib.items()), lambda: self.pose(origin, where))

    def pose(self, origin: Element, where: str) -> Pose:
        """The pose of <origin>."""
        rpy = self.triple(origin, "rpy", where, _ZERO)
        rotation = IDENTITY.rotation if rpy == _ZERO else rotation_rpy(*rpy)
        return Pose(rotation, self.triple(origin, "xyz", where, _ZERO))

    def end(self, element: Element, role: str, where: str) -> str:
        """The name of the parent or child link."""
        child = element.find(role)
        if child is None:
            raise self.error(element, f'{where} has no <{role}>; expected <{role} link="…"/>.')
        return self.text(child, "link", where)

    def text(self, element: Element, attribute: str, where: str) -> str:
        """An attribute's text; raises if it is missing or empty."""
        value = element.attrib.get(attribute, "")
        if not value:
            got = "an empty" if attribute in element.attrib else "no"
            within = where if where == element.tag else f"{where}: <{element.tag}>"
            raise self.error(element, f'{within} has {got} "{attribute}" attribute; expected a name. Add it.')
        if "${" in value:
            raise self.error(element, f'{attribute} "{value}" is an unprocessed xacro name. {self.remedy}')
        return value

    def number(
        self,
        element: Element,
        attribute: str,
        where: str,
        default: float | None = None,
        *,
        unlimited: bool = False,
    ) -> float:
        """One number; infinite only where `unlimited`."""
        value = element.attrib.get(attribute)
        if value is None:
            if default is not None:
                return default
            raise self.error(
                element, f'{where}: <{element.tag}> has no "{attribute}"; expected a number. Add it.'
            )
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        # Python reads 1_000 as a number; no other URDF reader does.
        if (number - number == 0.0 or (unlimited and math.isinf(number))) and "_" not in value:
            return number
        raise self.wrong(element, attribute, where, "a number" if unlimited else "a finite number")

    def triple(self, element: Element, attribute: str, where: str, default: Triple) -> Triple:
        """Three finite numbers."""
        value = element.attrib.get(attribute)
        if value is None:
            return default
        try:
            x, y, z = map(float, value.split())
        except ValueError:
            x = y = z = math.nan
        if (x - x) + (y - y) + (z - z) == 0.0 and "_" not in value:  # else one is infinite or NaN
            return (x, y, z)
        raise self.wrong(element, attribute, where, "three finite numbers")

    def wrong(self, element: Element, attribute: str, where: str, expected: str) -> PhalanxError:
        """The error for an attribute that does not hold the `expected` numbers."""
        value = element.attrib[attribute]
        remedy = f" {self.remedy}" if "${" in value or "$(" in value else ""
        return self.error(
            element, f'{where}: <{element.tag}> has {attribute}="{value}"; expected {expected}.{remedy}'
        )

    def error(self, element: Element, message: str) -> PhalanxError:
        """An error that names the file and the line."""
        return PhalanxError(f"{self.source}:{getattr(element, 'line', 0)}: {message}")


def rotated_inertias(
    packed: Sequence[tuple[float, ...]], rotations: Sequence[tuple[float, ...]]
) -> list[tuple[float, ...]]:
    """Inertias (xx, xy, xz, yy, yz, zz) rotated to other axes."""
    new = congruent(np.reshape(rotations, (-1, 3, 3)), unpack(np.reshape(packed, (-1, 6))))
    return [tuple(row) for row in pack(new).tolist()]


def _limit(value: float) -> float:
    return math.copysign(math.inf, value) if abs(value) >= UNLIMITED else value


def _named(root: Element, name: str) -> Element:
    """The joint of that name, for messages."""
    return next((e for e in root.findall("joint") if e.attrib.get("name") == name), root)


def _inside(root: Element) -> Iterator[tuple[Element, Element]]:
    """Parent and child for the children of the robot, of its links, joints and inertials."""
    for child in root:
        yield root, child
        if child.tag in ("link", "joint"):
            for part in child:
                yield child, part
                if part.tag == "inertial":
                    yield from ((part, entry) for entry in part)
