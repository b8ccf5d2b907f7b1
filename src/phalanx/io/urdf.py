# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""URDF: links and joints of a robot file; shapes, materials and plugins are left alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from phalanx.description import IDENTITY, Description, Joint, Link, Mimic, Pose, Triple
from phalanx.errors import PhalanxError, listing, nearest, warn
from phalanx.io.angles import rotation_rpy
from phalanx.io.xacro import only_macros
from phalanx.io.xml import Element, parse

TYPES = ("fixed", "revolute", "continuous", "prismatic", "planar", "floating")
UNLIMITED = 1e16  # what Gazebo and others write for no limit, since many readers refuse "inf"
_HINTS = {"spherical": "three revolute joints in a row", "universal": "two revolute joints in a row"}
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
    root = parse(text, source=source)
    if root.tag != "robot":
        raise PhalanxError(
            f"{source}:{root.line}: the root element is <{root.tag}>; expected <robot> of a URDF file."
        )
    reader = _Reader(source)
    reader.judge_xacro(root, strict)
    links = tuple(reader.link(element) for element in root.all("link"))
    joints = tuple(reader.joint(element) for element in root.all("joint"))
    joints = reader.known_mimics(root, joints, strict)
    return Description(root.attributes.get("name", "robot"), links, joints, source=source)


class _Reader:
    """Elements to links and joints, with the file's name at hand for messages."""

    def __init__(self, source: str) -> None:
        self.source = source

    def link(self, element: Element) -> Link:
        """A link with its mass, mass centre and inertia in link axes."""
        name = self.text(element, "name", "link")
        where = f'link "{name}"'
        inertial = element.first("inertial")
        if inertial is None:
            return Link(name)
        mass = inertial.first("mass")
        if mass is None:
            raise self.error(inertial, f"{where} has an <inertial> without <mass>; expected one. Add it.")
        turn, com = self.origin(inertial, where)
        inertia = self.inertia(inertial.first("inertia"), turn.rotation, where)
        return Link(name, self.number(mass, "value", where), com, inertia)

    def inertia(self, element: Element | None, rotation: tuple[float, ...], where: str) -> tuple[float, ...]:
        """xx, xy, xz, yy, yz, zz in link axes; the schema's default of each entry is 0."""
        if element is None:
            return (0.0,) * 6
        entries = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        return turned_inertia(tuple(self.number(element, entry, where, 0.0) for entry in entries), rotation)

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
        pose, translation = self.origin(element, where)
        axis = element.first("axis")
        return Joint(
            name,
            kind,
            parent=self.end(element, "parent", where),
            child=self.end(element, "child", where),
            origin=pose._replace(translation=translation),
            axis=_X if axis is None or kind in ("fixed", "floating") else self.triple(axis, "xyz", where, _X),
            mimic=self.mimic(element.first("mimic"), where),
            **self.limits(element, kind, where),
        )

    def limits(self, element: Element, kind: str, where: str) -> dict[str, Any]:
        """Limits, damping and friction; URDF knows them for joints with one coordinate only."""
        found: dict[str, Any] = {}
        if kind not in ("revolute", "continuous", "prismatic"):
            return found
        limit = element.first("limit")
        if kind == "continuous":
            found["lower"], found["upper"] = (-math.inf,), (math.inf,)
        elif limit is not None:
            for side in ("lower", "upper"):  # the standard's default of both is 0
                found[side] = (_limit(self.number(limit, side, where, 0.0, unlimited=True)),)
        for holder, attribute, target in (
            (limit, "velocity", "velocity"),
            (limit, "effort", "effort"),
            (element.first("dynamics"), "damping", "damping"),
            (element.first("dynamics"), "friction", "friction"),
        ):
            if holder is not None and attribute in holder.attributes:
                value = self.number(holder, attribute, where, unlimited=holder is limit)
                found[target] = (_limit(value) if holder is limit else value,)
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

    def known_mimics(self, root: Element, joints: tuple[Joint, ...], strict: bool) -> tuple[Joint, ...]:
        """The joints; those that mimic an unknown joint are made independent, or raise if `strict`."""
        names = [joint.name for joint in joints]
        known = set(names)
        lost: dict[str, str] = {}
        for element, joint in zip(root.all("joint"), joints, strict=True):
            driver = joint.mimic.joint if joint.mimic else ""
            if driver == joint.name:
                raise self.error(element, f'joint "{driver}" mimics itself; expected another joint.')
            if driver and driver not in known:
                lost[joint.name] = driver
                if strict:
                    hint = nearest(driver, names, what="joints")
                    message = f'joint "{joint.name}" mimics the unknown joint "{driver}";{hint}'
                    raise self.error(element, message)
        if not lost:
            return joints
        pairs = listing(f"{name} of {driver}" for name, driver in lost.items())
        warn(
            f"{self.source}: joints mimic unknown joints ({pairs}); they are left independent. "
            "Correct the names in the file."
        )
        return tuple(replace(joint, mimic=None) if joint.name in lost else joint for joint in joints)

    def judge_xacro(self, root: Element, strict: bool) -> None:
        """Warn of xacro elements that an expansion has left over; raise where there was none."""
        macros = [element.attributes.get("name", "") for element in root.all("xacro:macro")]
        found = [
            (parent, element)
            for parent, element in _inside(root)
            if element.tag.startswith("xacro:") and element.tag not in _XACRO_DECLARATIONS
        ]
        empty = root.first("link") is None
        if macros and empty and not found:
            raise PhalanxError(only_macros(f"{self.source}:{root.line}", macros))
        tags = {element.tag for _, element in found}
        untouched = "xacro:include" in tags and len(tags) > 1  # the file of macros, and calls of them
        for parent, element in found:
            known = element.tag in _XACRO_INSTRUCTIONS or element.tag.removeprefix("xacro:") in macros
            if strict or empty or known or untouched or parent.tag == "inertial":
                raise self.error(
                    element, f"<{element.tag}> is an unprocessed xacro instruction. {self.remedy}"
                )
        if found:
            places = ", ".join(f"<{element.tag}> in line {element.line}" for _, element in found[:4])
            more = f" and {len(found) - 4} more" if len(found) > 4 else ""
            warn(
                f"{self.source}: xacro has left elements over, which are ignored: {places}{more}. "
                f"Remove them if they add nothing to the robot. If the file was never expanded: {self.remedy}"
            )

    @property
    def remedy(self) -> str:
        return "Run xacro first (`xacro robot.xacro > robot.urdf`), or pass xacro_args={…} to px.load."

    def origin(self, element: Element, where: str) -> tuple[Pose, Triple]:
        """The turn (a pose without translation) and the translation of <origin>."""
        origin = element.first("origin")
        if origin is None:
            return IDENTITY, _ZERO
        rpy = self.triple(origin, "rpy", where, _ZERO)
        turn = IDENTITY if rpy == _ZERO else Pose(rotation_rpy(*rpy))
        return turn, self.triple(origin, "xyz", where, _ZERO)

    def end(self, element: Element, role: str, where: str) -> str:
        """The name of the parent or child link."""
        child = element.first(role)
        if child is None:
            raise self.error(element, f'{where} has no <{role}>; expected <{role} link="…"/>.')
        return self.text(child, "link", where)

    def text(self, element: Element, attribute: str, where: str) -> str:
        """An attribute that must be there and not empty."""
        value = element.attributes.get(attribute, "")
        if not value:
            got = "an empty" if attribute in element.attributes else "no"
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
        value = element.attributes.get(attribute)
        if value is None:
            if default is not None:
                return default
            raise self.error(
                element, f'{where}: <{element.tag}> has no "{attribute}"; expected a number. Add it.'
            )
        numbers = list(self.numbers(value, unlimited))
        if len(numbers) != 1 or numbers[0] is None:
            raise self.wrong(element, attribute, where, "a finite number" if not unlimited else "a number")
        return numbers[0]

    def triple(self, element: Element, attribute: str, where: str, default: Triple) -> Triple:
        """Three finite numbers."""
        value = element.attributes.get(attribute)
        if value is None:
            return default
        numbers = tuple(self.numbers(value, False))
        if len(numbers) != 3 or None in numbers:
            raise self.wrong(element, attribute, where, "three finite numbers")
        return numbers  # type: ignore[return-value]

    def numbers(self, value: str, unlimited: bool) -> Iterator[float | None]:
        """The numbers of an attribute, None where there is none."""
        for word in value.split():
            try:
                number = float(word)
            except ValueError:
                yield None
                continue
            # Python reads 1_000 as a number; no other URDF reader does.
            fine = "_" not in word and (math.isfinite(number) or (unlimited and math.isinf(number)))
            yield number if fine else None

    def wrong(self, element: Element, attribute: str, where: str, expected: str) -> PhalanxError:
        """The error for an attribute that does not hold the `expected` numbers."""
        value = element.attributes[attribute]
        remedy = f" {self.remedy}" if "${" in value or "$(" in value else ""
        return self.error(
            element, f'{where}: <{element.tag}> has {attribute}="{value}"; expected {expected}.{remedy}'
        )

    def error(self, element: Element, message: str) -> PhalanxError:
        """An error that names the file and the line."""
        return PhalanxError(f"{self.source}:{element.line}: {message}")


def turned_inertia(packed: tuple[float, ...], rotation: tuple[float, ...]) -> tuple[float, ...]:
    """The inertia (xx, xy, xz, yy, yz, zz) in the axes in which `rotation` turns its own ones."""
    if rotation == IDENTITY.rotation:
        return packed
    turn = np.reshape(rotation, (3, 3))
    full = np.array(packed)[[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3)
    return tuple((turn @ full @ turn.T)[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]].tolist())


def _limit(value: float) -> float:
    return math.copysign(math.inf, value) if abs(value) >= UNLIMITED else value


def _inside(root: Element) -> Iterator[tuple[Element, Element]]:
    """Parent and child for the children of the robot, of its links, joints and inertials."""
    for child in root.children:
        yield root, child
        if child.tag in ("link", "joint"):
            for part in child.children:
                yield child, part
                if part.tag == "inertial":
                    yield from ((part, entry) for entry in part.children)
