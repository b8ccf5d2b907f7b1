# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a link looks like: a few solids and meshes, each in its own frame, and their triangles."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...robot.description import IDENTITY, Pose, Triple

Colour = tuple[float, float, float, float]  # red, green, blue, opacity, each from 0 to 1
Array = np.ndarray[Any, np.dtype[Any]]

_AROUND = 28  # corners of a circle
_RINGS = 7  # from the equator of a sphere to its pole
_TINY = 1e-12  # height of an equator, whose sign says to which half it belongs


class Surface(NamedTuple):
    """Triangles: `vertices` (k, 3) float32 in metres, `faces` (m, 3) uint32, and a colour if it has one."""

    vertices: Array
    faces: Array
    colour: Colour | None = None


@dataclass(frozen=True)
class Box:
    """A box about the origin."""

    size: Triple

    def surfaces(self) -> list[Surface]:
        """Its six sides."""
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.5
        sides = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
        vertices = corners[np.ravel(sides)] * self.size
        faces = [[4 * k + i for i in corners] for k in range(6) for corners in ((0, 1, 2), (0, 2, 3))]
        return [_surface(vertices, faces)]


@dataclass(frozen=True)
class Cylinder:
    """A cylinder about the z axis, its middle at the origin."""

    radius: float
    length: float

    def surfaces(self) -> list[Surface]:
        """Its side and its two ends, which share no vertices: the edges stay sharp."""
        circle = _circle()
        half = 0.5 * self.length
        ring = np.column_stack([self.radius * circle, np.full(len(circle), half)])
        low = ring * (1, 1, -1)
        n = len(circle)
        around = [(k, (k + 1) % n) for k in range(n)]
        faces = [t for a, b in around for t in ((n + a, n + b, b), (n + a, b, a))]
        faces += [(4 * n, 2 * n + a, 2 * n + b) for a, b in around]
        faces += [(4 * n + 1, 3 * n + b, 3 * n + a) for a, b in around]
        ends = [[0, 0, half], [0, 0, -half]]
        return [_surface(np.vstack([ring, low, ring, low, ends]), faces)]


@dataclass(frozen=True)
class Capsule:
    """A cylinder about the z axis with a half sphere on each end; `length` is that of the cylinder."""

    radius: float
    length: float

    def surfaces(self) -> list[Surface]:
        """Its surfaces as triangles."""
        vertices, faces = _ball(halves=True)
        shift = np.where(vertices[:, 2:] > 0, 0.5, -0.5) * self.length
        return [_surface(self.radius * vertices + shift * (0, 0, 1), faces)]


@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid about the origin with its half axes along x, y and z."""

    radii: Triple

    def surfaces(self) -> list[Surface]:
        """Its surfaces as triangles."""
        vertices, faces = _ball()
        return [_surface(vertices * self.radii, faces)]


@dataclass(frozen=True)
class Sphere:
    """A sphere about the origin."""

    radius: float

    def surfaces(self) -> list[Surface]:
        """Its surfaces as triangles."""
        return Ellipsoid((self.radius,) * 3).surfaces()


@dataclass(frozen=True, eq=False)
class Triangles:
    """A mesh that is already in memory."""

    vertices: Array
    faces: Array

    def surfaces(self) -> list[Surface]:
        """The mesh itself."""
        return [_surface(self.vertices, self.faces)]


@dataclass(frozen=True)
class Mesh:
    """A mesh in a file of this machine, read when its surfaces are needed."""

    path: str
    scale: Triple = (1.0, 1.0, 1.0)

    def surfaces(self) -> list[Surface]:
        """Its parts, one for each material of the file."""
        from .meshes import read_mesh

        return [
            Surface(
                (part.vertices * np.asarray(self.scale, np.float32)),
                _outward(part.faces, self.scale),
                part.colour,
            )
            for part in read_mesh(self.path)
        ]


Shape = Box | Cylinder | Capsule | Sphere | Ellipsoid | Triangles | Mesh


@dataclass(frozen=True)
class Visual:
    """A shape on a link or frame of the robot; without a colour that of its mesh, else a neutral one."""

    frame: str
    shape: Shape
    pose: Pose = IDENTITY
    colour: Colour | None = field(default=None)


def along(axis: Any) -> Array:
    """A rotation (3, 3) that takes the z axis to a direction."""
    z = np.asarray(axis, dtype=float)
    length = np.linalg.norm(z)
    if not length > 0.0:
        return np.eye(3)
    z = z / length
    other = np.eye(3)[np.argmin(np.abs(z))]
    x = np.cross(other, z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _circle() -> Array:
    angles = np.arange(_AROUND) * (2 * math.pi / _AROUND)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _ball(*, halves: bool = False) -> tuple[Array, list[tuple[int, int, int]]]:
    """A unit sphere, or two `halves` with an equator each, so that they can be moved apart."""
    circle = _circle()
    heights = np.linspace(0.0, 0.5 * math.pi, _RINGS + 1)[:-1]
    upper = [np.column_stack([math.cos(h) * circle, np.full(_AROUND, math.sin(h))]) for h in heights]
    lower = [ring * (1, 1, -1) for ring in upper[::-1]]
    if halves:
        upper[0], lower[-1] = upper[0] + (0, 0, _TINY), lower[-1] - (0, 0, _TINY)
    else:
        lower.pop()
    rings = lower + upper
    faces = [
        turn
        for k in range(len(rings) - 1)
        for a, b in ((i, (i + 1) % _AROUND) for i in range(_AROUND))
        for turn in (
            (k * _AROUND + a, k * _AROUND + b, (k + 1) * _AROUND + b),
            (k * _AROUND + a, (k + 1) * _AROUND + b, (k + 1) * _AROUND + a),
        )
    ]
    south, north = len(rings) * _AROUND, len(rings) * _AROUND + 1
    top = (len(rings) - 1) * _AROUND
    faces += [(south, (i + 1) % _AROUND, i) for i in range(_AROUND)]
    faces += [(north, top + i, top + (i + 1) % _AROUND) for i in range(_AROUND)]
    return np.vstack([*rings, [[0, 0, -1], [0, 0, 1]]]), faces


def _outward(faces: Array, scale: Triple) -> Array:
    """Faces with outward normals: their order is reversed if the scale mirrors them."""
    return faces[:, ::-1] if math.prod(scale) < 0 else faces


def _surface(vertices: Any, faces: Any) -> Surface:
    return Surface(np.asarray(vertices, np.float32), np.asarray(faces, np.uint32).reshape(-1, 3))
