# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Spheres and capsules that cover what links look like, one or several for each frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...errors import PhalanxError, nearest, shown
from ...robot.collision import RoundShape
from ...robot.description import Triple
from ...robot.robot import Robot
from .scene import visuals
from .shapes import Array

_ROUNDS = 400  # of a bounding circle or sphere; the error falls with one over their number


def capsules(robot: Robot, frames: Iterable[str] | None = None) -> tuple[RoundShape, ...]:
    """A capsule for each frame that has visuals, around all of them; of some frames only, if named.

    Shapes of the file count, as `px.visuals` shows them; a capsule is the smallest that was found along
    the axes of the frame and the principal axes of what it covers.
    """
    return tuple(_capsule(name, corners) for name, corners, _ in _clouds(robot, frames, "contact.capsules"))


def spheres(robot: Robot, frames: Iterable[str] | None = None, *, count: int = 4) -> tuple[RoundShape, ...]:
    """Spheres that cover the visuals of each frame, at most `count` along its longest extent."""
    where = "contact.spheres"
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise PhalanxError(f"{where}: count is {shown(count)}, expected a positive integer.")
    made: list[RoundShape] = []
    for name, corners, triangles in _clouds(robot, frames, where):
        for part in _slices(corners, triangles, int(count)):
            center, radius = _bounding(part)
            made.append(RoundShape(name, radius, (_triple(center),)))
    return tuple(made)


def _clouds(robot: Robot, frames: Any, where: str) -> list[tuple[str, Array, Array]]:
    """(frame, corners (k, 3), triangles (m, 3, 3)) in the coordinates of each frame that has visuals."""
    scene = visuals(robot)
    found: dict[str, list[Array]] = {}
    for part in scene.parts:
        pose = part.visual.pose.matrix
        for surface in part.surfaces:
            if len(surface.faces):
                corners = surface.vertices.astype(float) @ pose[:3, :3].T + pose[:3, 3]
                found.setdefault(part.visual.frame, []).append(corners[surface.faces])
    if frames is not None:
        wanted = (frames,) if isinstance(frames, str) else tuple(frames)
        for name in wanted:
            if name not in found:
                raise PhalanxError(
                    f'{where}: robot "{robot.name}" has no visuals on {shown(name)};'
                    f"{nearest(name, found, what='frames with visuals') if isinstance(name, str) else ''}"
                )
        found = {name: found[name] for name in wanted}
    made = []
    for name, groups in found.items():
        triangles = np.concatenate(groups)
        made.append((name, np.unique(triangles.reshape(-1, 3), axis=0), triangles))
    return made


def _capsule(frame: str, corners: Array) -> RoundShape:
    """The smallest capsule about some points of those tried."""
    best: tuple[float, RoundShape] | None = None
    for axis in (*np.eye(3), *_principal(corners)):
        across = np.eye(3) - np.outer(axis, axis)
        center, radius = _bounding(corners @ across)
        heights = (corners - center) @ axis
        away = np.linalg.norm((corners - center) @ across, axis=1)
        cap = np.sqrt(np.maximum(radius * radius - away * away, 0.0))
        low, high = float((heights + cap).min()), float((heights - cap).max())
        ends = (center + low * axis, center + high * axis)
        if low >= high:  # one sphere covers both caps
            middle = center + 0.5 * (heights.min() + heights.max()) * axis
            radius, ends = float(np.linalg.norm(corners - middle, axis=1).max()), (middle, middle)
        volume = radius**2 * (max(high - low, 0.0) + 4.0 / 3.0 * radius)
        if best is None or volume < best[0] * (1.0 - 1e-9):
            points = (_triple(ends[0]), _triple(ends[1]))
            best = volume, RoundShape(frame, radius, points if low < high else points[:1])
    assert best is not None
    return best[1]


def _slices(corners: Array, triangles: Array, count: int) -> list[Array]:
    """The corners of parts of a surface between planes across its longest axis, planes included."""
    axis = _principal(corners)[0]
    low, high = (corners @ axis).min(), (corners @ axis).max()
    planes = np.linspace(low, high, count + 1)
    parts: list[list[Array]] = [[] for _ in range(count)]
    heights = triangles @ axis
    for k in range(count):
        a, b = planes[k], planes[k + 1]
        inside = (heights >= a) & (heights <= b)
        parts[k].append(triangles[inside])
    for level, k in ((planes[k], k) for k in range(1, count)):
        for i, j in ((0, 1), (1, 2), (2, 0)):
            cut = (heights[:, i] < level) != (heights[:, j] < level)
            h, g = heights[cut, i], heights[cut, j]
            share = ((level - h) / (g - h))[:, None]
            met = triangles[cut, i] * (1.0 - share) + triangles[cut, j] * share
            parts[k - 1].append(met)
            parts[k].append(met)
    joined = [np.concatenate(part) for part in parts]
    return [np.unique(part, axis=0) for part in joined if len(part)]


def _principal(points: Array) -> Array:
    """Three axes (3, 3) as rows, that of the largest extent first."""
    centred = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes.T[::-1]
    reach = np.ptp(points @ axes.T, axis=0)
    made: Array = axes[np.argsort(-reach, kind="stable")]
    return made


def _bounding(points: Array) -> tuple[Array, float]:
    """A sphere (centre, radius) about points: the centre goes to the farthest one, ever less.

    Source: Badoiu and Clarkson 2003.
    """
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    best = center, float(np.linalg.norm(points - center, axis=1).max())
    for k in range(1, _ROUNDS + 1):
        away = points - center
        size = np.einsum("ij,ij->i", away, away)
        farthest = int(np.argmax(size))
        radius = float(np.sqrt(size[farthest]))
        if radius < best[1]:
            best = center, radius
        center = center + away[farthest] / (k + 1)
    return best


def _triple(x: Any) -> Triple:
    made: Triple = tuple(float(value) for value in x)  # type: ignore[assignment]
    return made
