# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rigid contact: points and spheres on frames of a robot against planes, boxes, spheres and height fields.

What a ground says of a point, its distance and the direction away from it, is written in NumPy's functions:
it serves states of numbers and the symbols of a step alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..arrays import UNREADABLE
from ..errors import PhalanxError, listing, shown
from ..robot.collision import BoxShape, HalfSpace, RoundShape, plane
from .compliant import Number, Point, _number, _points, _vectors
from .external_forces import require_frame

__all__ = ["height_field", "rigid"]

_MOST_HEIGHTS = 1024  # each is read for each point in each step
_TINY = 1e-12


@dataclass(frozen=True)
class HeightField:
    """Heights at the nodes of a grid, bilinear between them, level beyond its edges."""

    heights: tuple[tuple[float, ...], ...]  # [along x][along y]
    spacing: tuple[float, float]
    origin: tuple[float, float, float]
    frame: str | None = None  # the world

    def nearest(self, x: Any) -> tuple[Any, Any]:
        """The distance (…,) from the tangent plane below a point, and its normal (…, 3)."""
        heights, place = np.array(self.heights), x - np.array(self.origin)
        (w, dw), (u, du) = (_hats(place[..., k], self.spacing[k], heights.shape[k]) for k in (0, 1))
        along = w @ heights
        z = np.sum(along * u, axis=-1)
        zx, zy = np.sum((dw @ heights) * u, axis=-1), np.sum(along * du, axis=-1)
        scale = 1.0 / np.sqrt(1.0 + zx * zx + zy * zy)
        normal = np.stack([-zx * scale, -zy * scale, scale], axis=-1)
        return (place[..., 2] - z) * scale, normal


def _hats(x: Any, spacing: float, count: int) -> tuple[Any, Any]:
    """The weights (…, count) of the nodes of a line at x, and their slopes."""
    at = np.clip(x / spacing, 0.0, count - 1.0)[..., None] - np.arange(float(count))
    inside = (x > 0.0) & (x < (count - 1) * spacing)
    size = np.abs(at)
    slope = np.where(size < 1.0, np.where(at < 0.0, 1.0, -1.0), 0.0) * (1.0 / spacing)
    return np.maximum(1.0 - size, 0.0), np.where(inside[..., None], slope, 0.0)


Shape: TypeAlias = HalfSpace | BoxShape | RoundShape | HeightField
_SHAPES = (HalfSpace, BoxShape, RoundShape, HeightField)


def nearest(shape: Shape, x: Any) -> tuple[Any, Any]:
    """The distance of a point x (…, 3) from a shape, both in its frame, and the direction away (…, 3).

    It is negative inside.
    """
    if isinstance(shape, HalfSpace):
        n = np.array(shape.normal)
        return np.sum(n * x, axis=-1) - shape.height, n
    if isinstance(shape, BoxShape):
        return _from_box(shape, x)
    if isinstance(shape, RoundShape):
        return _from_segment(shape, x)
    return shape.nearest(x)


def _from_segment(shape: RoundShape, x: Any) -> tuple[Any, Any]:
    start, along = np.array(shape.ends[0]), np.array(shape.ends[-1]) - np.array(shape.ends[0])
    away = x - start
    if len(shape.ends) > 1:
        share = np.clip(np.sum(away * along, axis=-1) / float(along @ along), 0.0, 1.0)
        away = away - along * share[..., None]
    size = np.sqrt(np.maximum(np.sum(away * away, axis=-1), _TINY**2))
    return size - shape.radius, away / size[..., None]


def _from_box(shape: BoxShape, x: Any) -> tuple[Any, Any]:
    R = np.reshape(np.array(shape.pose.rotation), (3, 3))  # noqa: N806
    local = (x - np.array(shape.pose.translation)) @ R
    over = np.abs(local) - 0.5 * np.array(shape.size)
    out = np.maximum(over, 0.0)
    size = np.sqrt(np.sum(out * out, axis=-1))
    outside = size > _TINY
    a, b, c = over[..., 0], over[..., 1], over[..., 2]
    most = np.maximum(np.maximum(a, b), c)
    first = np.where(a >= most, 1.0, 0.0)
    second = np.where(b >= most, 1.0, 0.0) * (1.0 - first)
    face = np.stack([first, second, 1.0 - first - second], axis=-1)
    away = np.where(outside[..., None], out / np.maximum(size, _TINY)[..., None], face)
    side = np.where(local < 0.0, -1.0, 1.0)
    return np.where(outside, size, most), (away * side) @ R.T


@dataclass(frozen=True)
class RigidContact:
    """Points or spheres of a robot on a rigid shape, with Coulomb's friction and Newton's restitution."""

    shape: Shape
    points: tuple[Point, ...]
    radius: float
    friction: Number
    restitution: Number

    name = "contact.rigid"

    def check(self, robot: Any) -> None:
        """Raise if the robot lacks a frame, or one does not move."""
        for point in self.points:
            frame = require_frame(robot, point.frame, self.name)
            if frame.link < 0:
                moving = [name for name, f in robot.frames.items() if f.link >= 0]
                raise PhalanxError(
                    f'{self.name}: frame "{point.frame}" is on a link of the world of robot "{robot.name}", '
                    f"which does not move; frames that do: {listing(moving, most=8)}."
                )
            own = self.shape.frame
            if own is not None and require_frame(robot, own, f"{self.name}: ground").link == frame.link:
                raise PhalanxError(
                    f'{self.name}: frame "{point.frame}" and the ground on "{own}" are on one link of robot '
                    f'"{robot.name}", so that nothing moves between them; name a frame on another link.'
                )

    def reads(self) -> set[str]:
        """The names of the simulation parameters that it reads."""
        return {x for x in (self.friction, self.restitution) if isinstance(x, str)}

    def gaps(self, q: Any, robot: Any) -> Any:
        """The distances (…, k) of its points from the shape at configurations of numbers."""
        made = []
        for point in self.points:
            x = _position(point, q, robot)
            if self.shape.frame is not None:
                pose = robot.frame_pose(q, self.shape.frame)
                x = (np.swapaxes(pose[..., :3, :3], -1, -2) @ (x - pose[..., :3, 3])[..., None])[..., 0]
            made.append(nearest(self.shape, x)[0] - self.radius)
        return np.stack(made, axis=-1)


def _position(point: Point, q: Any, robot: Any) -> Any:
    at = np.array(point.position)
    if point.frame is None:
        return at
    pose = robot.frame_pose(q, point.frame)
    return (pose[..., :3, :3] @ at[:, None])[..., 0] + pose[..., :3, 3]


# ------------------------------------------------------------------- what users call


def rigid(
    ground: Any = None,
    points: Any = (),
    friction: Number = 0.8,
    restitution: Number = 0.0,
    *,
    radius: float = 0.0,
) -> RigidContact:
    """Rigid contact of points with a ground: no point sinks in, and friction holds what should stick.

    - `ground`: what `plane`, `box`, `sphere`, `capsule` or `height_field` return, in the world or on a frame
      of the robot; by default the plane z = 0.
    - `points`: frames, whose origins touch, or a mapping from frames to positions (3,) or (k, 3) in them;
      with a `radius` [m] they are the centers of spheres.
    - `friction`: Coulomb's coefficient, of sticking and sliding.
    - `restitution`: the part of the speed along the normal with which a point bounces, 0 to 1.

    Of friction and restitution each may be the name of a parameter of the simulation, of size 1. Each step
    solves for the impulses of all contacts together: nothing pulls, forces stay in Coulomb's cone, and
    friction opposes sliding exactly. Record "contact_forces" and "contact_residual".
    """
    where = "contact.rigid"
    shape = plane() if ground is None else ground
    if not isinstance(shape, _SHAPES):
        raise PhalanxError(
            f"{where}: ground is {shown(ground)}, expected what px.contact.plane, box, sphere, capsule or "
            "height_field return, or None for the plane z = 0."
        )
    bounce = _number(restitution, f"{where}: restitution")
    if not isinstance(bounce, str) and bounce > 1.0:
        raise PhalanxError(f"{where}: restitution is {shown(restitution)}, expected 0 to 1.")
    return RigidContact(
        shape,
        _points(points, where),
        float(_number(radius, f"{where}: radius", names=False)),
        _number(friction, f"{where}: friction"),
        bounce,
    )


def height_field(heights: Any, spacing: Any, origin: Any = (0.0, 0.0, 0.0)) -> HeightField:
    """Ground with `heights` (nx, ny) [m] at nodes `spacing` apart along x and y, the first at `origin`.

    Bilinear between nodes and level beyond the edges. Distances are those from the tangent plane below a
    point, so that spheres should be small beside the spacing. At most 1024 heights: each is read for each
    point in each step.
    """
    where = "contact.height_field"
    try:
        grid = np.asarray(heights, dtype=float)
        step = np.broadcast_to(np.asarray(spacing, dtype=float), (2,))
    except UNREADABLE:
        grid, step = np.zeros(0), np.zeros(2)
    if grid.ndim != 2 or min(grid.shape) < 2 or grid.size > _MOST_HEIGHTS or not np.isfinite(grid).all():
        raise PhalanxError(
            f"{where}: heights is {shown(heights)}, expected (nx, ny) finite numbers, at least 2 x 2 and at "
            f"most {_MOST_HEIGHTS} in all."
        )
    if not (step > 0.0).all() or not np.isfinite(step).all():
        raise PhalanxError(f"{where}: spacing is {shown(spacing)}, expected positive lengths.")
    (start,) = _vectors(origin, f"{where}: origin")[:1].tolist()
    return HeightField(tuple(map(tuple, grid.tolist())), (float(step[0]), float(step[1])), tuple(start))
