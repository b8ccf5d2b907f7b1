# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Simple shapes on frames of a robot, or in the world, between which distances are computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from ..errors import PhalanxError, nearest, shown
from .constraint import direction_of, pose_of
from .description import IDENTITY, Pose, Triple, number, triple


@dataclass(frozen=True)
class RoundShape:
    """All points within `radius` of a point (a sphere) or of a segment (a capsule) in a frame."""

    frame: str | None
    radius: float
    ends: tuple[Triple, ...]  # one point, or two


@dataclass(frozen=True)
class HalfSpace:
    """All points with normal · x below `height` in a frame; its surface is a plane."""

    frame: str | None
    normal: Triple  # of unit length
    height: float


@dataclass(frozen=True)
class BoxShape:
    """A box about the origin of `pose` in a frame."""

    frame: str | None
    size: Triple
    pose: Pose = IDENTITY


CollisionShape: TypeAlias = RoundShape | HalfSpace | BoxShape
Body: TypeAlias = tuple[CollisionShape, ...]  # the nearest of them counts
Pair: TypeAlias = tuple[Body, Body]
SHAPES = (RoundShape, HalfSpace, BoxShape)


def sphere(frame: str | None, radius: float, center: Any = (0.0, 0.0, 0.0)) -> RoundShape:
    """A sphere about `center` in a frame; frame None is the world."""
    where = "contact.sphere"
    return RoundShape(_frame(frame, where), _radius(radius, where), (_point(center, f"{where}: center"),))


def capsule(frame: str | None, radius: float, start: Any, end: Any) -> RoundShape:
    """All points within `radius` of the segment from `start` to `end` in a frame; frame None is the world."""
    where = "contact.capsule"
    ends = _point(start, f"{where}: start"), _point(end, f"{where}: end")
    own = _radius(radius, where)
    return RoundShape(_frame(frame, where), own, ends if ends[0] != ends[1] else ends[:1])


def plane(normal: Any = (0.0, 0.0, 1.0), height: float = 0.0, *, frame: str | None = None) -> HalfSpace:
    """A plane and all below it: normal · x <= `height`, in the world or in a frame."""
    where = "contact.plane"
    along = direction_of(normal, f"{where}: normal")
    length = float(np.sqrt(sum(x * x for x in along)))
    unit = (along[0] / length, along[1] / length, along[2] / length)
    return HalfSpace(_frame(frame, where), unit, _finite(height, f"{where}: height"))


def box(size: Any, pose: Any = None, *, frame: str | None = None) -> BoxShape:
    """A box of edges `size` about the origin of `pose` (4, 4), in the world or in a frame."""
    where = "contact.box"
    edges = _point(size, f"{where}: size")
    if min(edges) <= 0.0:
        raise PhalanxError(f"{where}: size is {shown(size)}, expected three positive lengths.")
    return BoxShape(_frame(frame, where), edges, pose_of(pose, f"{where}: pose"))


def pairs(
    robot: Any, shapes: Iterable[CollisionShape], obstacles: Iterable[CollisionShape] = ()
) -> tuple[tuple[CollisionShape, CollisionShape], ...]:
    """Pairs of shapes that may touch: all but those on the same or on adjacent links, then with obstacles.

    Shapes of the robot that joints move are paired with every one of `obstacles`.
    """
    where = "contact.pairs"
    own, others = checked_shapes(robot, shapes, where), checked_shapes(robot, obstacles, where)
    links = [_link(robot, shape) for shape in own]
    made = [
        (a, b)
        for (a, i), (b, j) in combinations(zip(own, links, strict=True), 2)
        if i != j and _parent(robot, i) != j and _parent(robot, j) != i and is_known(a, b)
    ]
    made += [(a, b) for a, i in zip(own, links, strict=True) if i >= 0 for b in others]
    return tuple(made)


def checked_shapes(robot: Any, shapes: Any, where: str) -> Body:
    """Shapes, each on a frame that the robot has."""
    if isinstance(shapes, SHAPES):
        shapes = (shapes,)
    if isinstance(shapes, str) or not isinstance(shapes, Iterable):
        raise PhalanxError(
            f"{where} got {shown(shapes)}, expected shapes such as px.contact.capsules(robot)."
        )
    made = tuple(shapes)
    for shape in made:
        if not isinstance(shape, SHAPES):
            raise PhalanxError(
                f"{where} got {shown(shape)}, expected a shape such as px.contact.sphere(frame, radius)."
            )
        if shape.frame is not None and shape.frame not in robot.frames:
            raise PhalanxError(
                f'{where}: robot "{robot.name}" has no frame {shown(shape.frame)};'
                f"{nearest(shape.frame, robot.frames, what='frames')}"
            )
    return made


def is_known(a: CollisionShape, b: CollisionShape) -> bool:
    """Whether the distance between two shapes is implemented: one of them is round, or half a space."""
    return (
        isinstance(a, RoundShape) or isinstance(b, RoundShape) or {type(a), type(b)} == {HalfSpace, BoxShape}
    )


def checked_pair(robot: Any, a: Sequence[CollisionShape], b: Sequence[CollisionShape], where: str) -> None:
    """Raise unless the distance between two bodies can be computed and changes."""
    for first in a:
        for second in b:
            if not is_known(first, second):
                raise PhalanxError(
                    f"{where}: no distance is implemented between {_word(first)} and {_word(second)}; one of "
                    "them must be a sphere or a capsule."
                )
    links = {_link(robot, shape) for shape in (*a, *b)}
    if len(links) == 1:
        link = links.pop()
        on = "the world" if link < 0 else f'link "{robot.link_names[link]}"'
        raise PhalanxError(
            f'{where}: both bodies of a pair are fixed to {on} of robot "{robot.name}", so that their '
            "distance does not change; name frames of two links."
        )


def _word(shape: CollisionShape) -> str:
    return {RoundShape: "a round shape", HalfSpace: "a plane", BoxShape: "a box"}[type(shape)]


def _link(robot: Any, shape: CollisionShape) -> int:
    return -1 if shape.frame is None else int(robot.frames[shape.frame].link)


def _parent(robot: Any, link: int) -> int:
    return -2 if link < 0 else int(robot.parents[link])


def _frame(frame: Any, where: str) -> str | None:
    if frame is not None and (not isinstance(frame, str) or not frame):
        raise PhalanxError(f"{where}: frame is {shown(frame)}, expected a name, or None for the world.")
    return frame


def _point(value: Any, where: str) -> Triple:
    found = triple(value, where)
    if not np.isfinite(found).all():
        raise PhalanxError(f"{where} is {shown(value)}, expected three finite numbers.")
    return found


def _finite(value: Any, where: str) -> float:
    found = number(value, where)
    if not np.isfinite(found):
        raise PhalanxError(f"{where} is {shown(value)}, expected a finite number.")
    return found


def _radius(value: Any, where: str) -> float:
    found = number(value, f"{where}: radius")
    if not 0.0 <= found < np.inf:
        raise PhalanxError(f"{where}: radius is {shown(value)}, expected a length in metres.")
    return found
