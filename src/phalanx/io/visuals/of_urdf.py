# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The <visual> elements of URDF and SDF texts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...robot.description import IDENTITY, Pose, Triple
from ..angles import rotation_rpy
from ..xml import Element, parse
from .mesh_files import MeshFiles
from .shapes import Box, Capsule, Colour, Cylinder, Ellipsoid, Mesh, Shape, Sphere, Visual


@dataclass
class Found:
    """The visuals of a file, and what could not be drawn: the frame and the mesh or the reason."""

    visuals: list[Visual] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)


def urdf_visuals(text: str | bytes, places: MeshFiles, *, source: str) -> Found:
    """The visuals of a URDF text in file order; `source` names it in messages."""
    root = parse(text, source=source)
    materials = {e.attrib.get("name", ""): colour for e in root.findall("material") if (colour := _rgba(e))}
    found = Found()
    for link, visual in _elements(root):
        material = visual.find("material")
        colour = None
        if material is not None:
            colour = _rgba(material) or materials.get(material.attrib.get("name", ""))
        try:
            pose = _origin(visual.find("origin"))
            shape, missing = _urdf_shape(visual.find("geometry"), places)
        except ValueError:
            shape, missing = None, "a <visual> whose numbers cannot be read"
        _add(found, link, shape, missing, pose if shape is not None else IDENTITY, colour)
    return found


def sdf_visuals(text: str | bytes, places: MeshFiles, *, source: str) -> Found:
    """The visuals of the first model of an SDF text in file order; `source` names it in messages."""
    root = parse(text, source=source, keep_text=True)
    model: Element | None = next(_models(root), None)
    found = Found()
    for link, visual in _elements(model) if model is not None else ():
        at = visual.find("pose")
        try:
            shape, missing = _sdf_shape(visual.find("geometry"), places)
            pose = _sdf_pose(at)
        except ValueError:
            shape, missing, pose = None, "a <visual> whose numbers cannot be read", IDENTITY
        _add(found, link, shape, missing, pose, _diffuse(visual.find("material")))
    return found


def _add(
    found: Found, link: str, shape: Shape | None, missing: str, pose: Pose, colour: Colour | None
) -> None:
    if shape is not None:
        found.visuals.append(Visual(link, shape, pose, colour))
    elif missing:
        found.missing.append((link, missing))


def _elements(root: Element) -> Iterator[tuple[str, Element]]:
    for link in root.findall("link"):
        for visual in link.findall("visual"):
            yield link.attrib.get("name", ""), visual


# ------------------------------------------------------------------- URDF


def _urdf_shape(geometry: Element | None, places: MeshFiles) -> tuple[Shape | None, str]:
    """The shape of <geometry>, or what is missing to it."""
    for e in geometry if geometry is not None else ():
        given = e.attrib
        if e.tag == "box":
            return Box(_sizes(given.get("size"))), ""
        if e.tag in ("cylinder", "capsule"):
            kind = Cylinder if e.tag == "cylinder" else Capsule
            return kind(_size(given.get("radius")), _size(given.get("length"))), ""
        if e.tag == "sphere":
            return Sphere(_size(given.get("radius"))), ""
        if e.tag == "mesh":
            return _mesh(given.get("filename", ""), given.get("scale"), places)
        return None, f"a <{e.tag}>"
    return None, ""


def _origin(element: Element | None) -> Pose:
    if element is None:
        return IDENTITY
    rpy, xyz = (_numbers(element.attrib.get(key, "0 0 0"), 3) for key in ("rpy", "xyz"))
    return Pose(rotation_rpy(*rpy), (xyz[0], xyz[1], xyz[2]))


def _rgba(material: Element) -> Colour | None:
    element = material.find("color")
    return None if element is None else _colour(element.attrib.get("rgba"))


# -------------------------------------------------------------------- SDF


def _models(root: Element) -> Iterator[Element]:
    """The models of a file or of its worlds."""
    yield from root.findall("model")
    for world in root.findall("world"):
        yield from world.findall("model")


def _sdf_shape(geometry: Element | None, places: MeshFiles) -> tuple[Shape | None, str]:
    for e in geometry if geometry is not None else ():
        if e.tag == "box":
            return Box(_sizes(_text(e, "size"))), ""
        if e.tag in ("cylinder", "capsule"):
            kind = Cylinder if e.tag == "cylinder" else Capsule
            return kind(_size(_text(e, "radius")), _size(_text(e, "length"))), ""
        if e.tag == "sphere":
            return Sphere(_size(_text(e, "radius"))), ""
        if e.tag == "ellipsoid":
            return Ellipsoid(_sizes(_text(e, "radii"))), ""
        if e.tag == "mesh":
            return _mesh(_text(e, "uri") or "", _text(e, "scale"), places)
        return None, "" if e.tag in ("empty", "plane") else f"a <{e.tag}>"
    return None, ""


def _sdf_pose(element: Element | None) -> Pose:
    """A pose in the frame of the link; one relative to another frame is refused."""
    if element is None or not element.text.strip():
        return IDENTITY
    if element.attrib.get("relative_to") or element.attrib.get("rotation_format"):
        raise ValueError
    x, y, z, *angles = _numbers(element.text, 6)
    if element.attrib.get("degrees") in ("true", "1"):
        angles = [math.radians(angle) for angle in angles]
    return Pose(rotation_rpy(*angles), (x, y, z))


def _diffuse(material: Element | None) -> Colour | None:
    return None if material is None else _colour(_text(material, "diffuse"))


def _text(element: Element, tag: str) -> str | None:
    child = element.find(tag)
    return None if child is None else child.text.strip()


# ----------------------------------------------------------------- numbers


def _mesh(name: str, scale: str | None, places: MeshFiles) -> tuple[Shape | None, str]:
    path = places.find(name.strip())
    if path is None:
        return None, name
    x, y, z = _numbers(scale, 3) if scale else (1.0, 1.0, 1.0)
    return Mesh(path, (x, y, z)), ""


def _colour(text: str | None) -> Colour | None:
    try:
        rgba = [min(max(x, 0.0), 1.0) for x in _numbers(text, None)]
    except ValueError:
        return None
    if len(rgba) not in (3, 4):
        return None
    red, green, blue, opacity = (*rgba, 1.0)[:4]
    return (red, green, blue, opacity)


def _sizes(text: str | None) -> Triple:
    x, y, z = (abs(number) for number in _numbers(text, 3))
    return (x, y, z)


def _size(text: str | None) -> float:
    return abs(_numbers(text, 1)[0])


def _numbers(text: Any, count: int | None) -> list[float]:
    """So many finite numbers, or a ValueError."""
    values = [float(word) for word in (text or "").split()[:100]]
    if (count is not None and len(values) != count) or not all(map(math.isfinite, values)):
        raise ValueError
    return values
