# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Shapes in tables of links or of Denavit-Hartenberg rows: `[[visual]]` entries.

[[visual]]                     # in JSON: "visuals": [{…}, …]
link = "upper"
shape = "cylinder"             # radius and length, along z; also "capsule", "sphere" (radius),
                               # "box" (size), "ellipsoid" (radii)
radius = 0.05
length = 0.4
xyz = [0, 0, 0.2]              # in the link's frame, with rpy in rad
colour = [0.8, 0.8, 0.8]       # red, green, blue and perhaps opacity, from 0 to 1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import PhalanxError
from ..fields import Fields
from .shapes import Box, Capsule, Colour, Cylinder, Ellipsoid, Shape, Sphere, Visual

_KEYS = ("link", "shape", "radius", "length", "size", "radii", "xyz", "rpy", "colour")
_SHAPES = ("box", "capsule", "cylinder", "ellipsoid", "sphere")


def table_visuals(table: Mapping[str, Any], *, source: str) -> list[Visual]:
    """The shapes of a parsed table, none where it has no such entries."""
    if "visual" not in table and "visuals" not in table:
        return []
    given = {key: table[key] for key in ("visual", "visuals") if key in table}
    entries = Fields(given, source, given).tables("visuals", "visual")
    return [_visual(Fields(e, f"{source}: visual {i}", _KEYS)) for i, e in enumerate(entries, 1)]


def _visual(fields: Fields) -> Visual:
    kind = fields.choice("shape", _SHAPES, "")
    return Visual(fields.text("link"), _shape(fields, kind), fields.xyz_rpy(), _colour(fields))


def _shape(fields: Fields, kind: str) -> Shape:
    if kind == "box":
        return Box(fields.triple("size"))
    if kind == "ellipsoid":
        return Ellipsoid(fields.triple("radii"))
    if kind == "sphere":
        return Sphere(fields.number("radius"))
    solid = Cylinder if kind == "cylinder" else Capsule
    return solid(fields.number("radius"), fields.number("length"))


def _colour(fields: Fields) -> Colour | None:
    if "colour" not in fields:
        return None
    values = fields.numbers("colour", None)
    if len(values) not in (3, 4) or not all(0.0 <= x <= 1.0 for x in values):
        raise PhalanxError(
            f'{fields.where}: "colour" is {values}; expected three or four numbers from 0 to 1.'
        )
    red, green, blue, opacity = (*values, 1.0)[:4]
    return (red, green, blue, opacity)
