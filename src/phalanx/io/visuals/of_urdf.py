# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The <visual> elements of URDF and SDF files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ...reproducible import rotation_rpy
from ...robot.description import IDENTITY, Pose, Triple
from ..xml import Element, parse
from .meshes import MeshFiles
from .shapes import Box, Capsule, Colour, Cylinder, Ellipsoid, Mesh, Shape, Sphere, Visual


@dataclass
class Found:
    """The visuals of a file, and what could not be drawn: the frame and the mesh or the reason."""

    visuals: list[Visual] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)


def urdf_visuals(text: str | bytes, mesh_files: MeshFiles, *, source: str) -> Found:
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
            shape, missing = _urdf_shape(visual.find("geometry"), mesh_files)
        except ValueError:
            shape, missing = None, "a <visual> whose numbers cannot be read"
        _add(found, link, shape, missing, pose if shape is not None else IDENTITY, colour)
    return found


def sdf_visuals(text: str | bytes, mesh_files: MeshFiles, *, source: str) -> Found:
    """The visuals of the first model of an SDF text in file order; `source` names it in messages."""
    root = parse(text, source=source, keep_text=True)
    model: Element | None = next(_models(root), None)
    found = Found()
    for link, visual in _elements(model) if model is not None else ():
        at = visual.find("pose")
        try:
            shape, missing = _sdf_shape(visual.find("geometry"), mesh_files)
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


def _urdf_shape(geometry: Element | None, mesh_files: MeshFiles) -> tuple[Shape | None, str]:
    """The shape of <geometry>, or a note on what it lacks."""
    for e in geometry if geometry is not None else ():
        return _shape(e, e.attrib.get, "filename", mesh_files)
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


def _sdf_shape(geometry: Element | None, mesh_files: MeshFiles) -> tuple[Shape | None, str]:
    for e in geometry if geometry is not None else ():
        if e.tag in ("empty", "plane"):
            return None, ""
        return _shape(e, partial(_text, e), "uri", mesh_files)
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


# ------------------------------------------------------------ shapes and numbers


def _shape(
    e: Element, read: Callable[[str], str | None], file: str, mesh_files: MeshFiles
) -> tuple[Shape | None, str]:
    """The shape of an element whose sizes `read` returns by name, or the name of a missing size."""
    if e.tag == "box":
        return Box(_sizes(read("size"))), ""
    if e.tag in ("cylinder", "capsule"):
        kind = Cylinder if e.tag == "cylinder" else Capsule
        return kind(_size(read("radius")), _size(read("length"))), ""
    if e.tag == "sphere":
        return Sphere(_size(read("radius"))), ""
    if e.tag == "ellipsoid":
        return Ellipsoid(_sizes(read("radii"))), ""
    if e.tag == "mesh":
        return _mesh(read(file) or "", read("scale"), mesh_files)
    return None, f"a <{e.tag}>"


def _mesh(name: str, scale: str | None, mesh_files: MeshFiles) -> tuple[Shape | None, str]:
    path = mesh_files.find(name.strip())
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
    """The `count` finite numbers in a text; raises ValueError if there are others."""
    values = [float(word) for word in (text or "").split()[:100]]
    if (count is not None and len(values) != count) or not all(map(math.isfinite, values)):
        raise ValueError
    return values
