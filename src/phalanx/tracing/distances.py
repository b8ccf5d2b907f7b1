# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Signed distances between simple shapes on a robot, in NumPy's functions: plain arrays or traced ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ..errors import PhalanxError, nearest, shown
from ..io.visuals.covering import capsules
from ..robot.collision import (
    SHAPES,
    BoxShape,
    CollisionShape,
    HalfSpace,
    Pair,
    RoundShape,
    checked_pair,
    checked_shapes,
    pairs,
)
from ..robot.robot import Robot

_WHERE = "distances: pairs"
_TINY = 1e-30  # m^2; what lies on one point has no direction from one to the other
_PARALLEL = 1e-12  # of the squared sine between segments
_STEPS = 2.0**52  # of a parameter of a segment


def distances(robot: Any, q: Any, pairs: Sequence[Pair]) -> Any:
    """Signed distances (k,) of pairs of bodies, negative where they overlap.

    Of spheres and capsules it is that of their centres or segments less the radii. That of a box is the
    depth of the deepest point of a segment inside of it. Segments' nearest points are by Ericson 2005,
    sections 5.1.9 and 5.3.
    """
    frames = _Frames(robot, q)
    return np.stack(
        [_least([_distance(frames, a, b) for a in first for b in second]) for first, second in pairs]
    )


class _Frames:
    """Points and directions of frames at a configuration, along the axes of the world."""

    def __init__(self, robot: Any, q: Any) -> None:
        self.robot, self.q = robot, q
        self.poses: dict[str, Any] = {}

    def pose(self, frame: str) -> Any:
        if frame not in self.poses:
            self.poses[frame] = self.robot.frame_pose(self.q, frame)
        return self.poses[frame]

    def point(self, frame: str | None, x: Any) -> Any:
        at = np.array(x, dtype=float)
        if frame is None:
            return at
        pose = self.pose(frame)
        return pose[:3, :3] @ at + pose[:3, 3]

    def direction(self, frame: str | None, x: Any) -> Any:
        along = np.array(x, dtype=float)
        return along if frame is None else self.pose(frame)[:3, :3] @ along

    def inside(self, box: BoxShape, frame: str | None, x: Any) -> Any:
        """A point of a frame in the coordinates of a box."""
        turn, t = np.reshape(box.pose.rotation, (3, 3)), np.array(box.pose.translation)
        if box.frame == frame:
            return turn.T @ (np.array(x, dtype=float) - t)
        turned = turn.T if box.frame is None else (self.pose(box.frame)[:3, :3] @ turn).T
        return turned @ (self.point(frame, x) - self.point(box.frame, t))


def _distance(frames: _Frames, a: CollisionShape, b: CollisionShape) -> Any:
    if not isinstance(a, RoundShape) and isinstance(b, (RoundShape, BoxShape)):
        a, b = b, a
    if isinstance(a, RoundShape) and isinstance(b, RoundShape):
        return _apart(frames, a, b) - (a.radius + b.radius)
    if isinstance(a, RoundShape) and isinstance(b, BoxShape):
        return _from_box(frames, a, b) - a.radius
    if isinstance(b, HalfSpace):
        n = frames.direction(b.frame, b.normal)
        height = b.height if b.frame is None else b.height + n @ frames.pose(b.frame)[:3, 3]
        if isinstance(a, RoundShape):
            return _least([n @ frames.point(a.frame, x) for x in a.ends]) - height - a.radius
        if isinstance(a, BoxShape):
            sides, half = np.reshape(a.pose.rotation, (3, 3)).T, 0.5 * np.array(a.size)
            reach = sum(np.abs(n @ frames.direction(a.frame, sides[k])) * half[k] for k in range(3))
            return n @ frames.point(a.frame, a.pose.translation) - height - reach
    raise TypeError(f"no distance is implemented between {a} and {b}")


def _apart(frames: _Frames, a: RoundShape, b: RoundShape) -> Any:
    """The distance between the centres or segments of two round shapes."""
    if len(a.ends) < len(b.ends):
        a, b = b, a
    here, there = frames.point(a.frame, a.ends[0]), frames.point(b.frame, b.ends[0])
    away = here - there
    if len(a.ends) == 1:
        return _length(away)
    along, size = _segment(frames, a)
    if len(b.ends) == 1:
        s = _held(np.clip((along @ away) * (-1.0 / size), 0.0, 1.0))
        return _length(away + s * along)
    other, other_size = _segment(frames, b)
    mixed, first, second = along @ other, along @ away, other @ away
    least = _PARALLEL * size * other_size
    s = np.clip(
        (mixed * second - first * other_size) / np.maximum(size * other_size - mixed * mixed, least), 0.0, 1.0
    )
    t = np.clip((mixed * s + second) * (1.0 / other_size), 0.0, 1.0)
    s = np.clip((mixed * t - first) * (1.0 / size), 0.0, 1.0)
    return _length(away + _held(s) * along - _held(t) * other)


def _segment(frames: _Frames, shape: RoundShape) -> tuple[Any, float]:
    """The way from one end of a capsule to the other, and its squared length."""
    way = np.subtract(shape.ends[1], shape.ends[0])
    return frames.direction(shape.frame, way), float(way @ way)


def _held(x: Any) -> Any:
    """A number in [0, 1] whose derivative counts as zero.

    The distance does not change to first order with the parameters of nearest points, whose own
    derivatives are without bound between parallel segments.
    """
    return np.floor(x * _STEPS) * (1.0 / _STEPS)


def _from_box(frames: _Frames, a: RoundShape, box: BoxShape) -> Any:
    """The signed distance of a centre or segment from a box."""
    half = 0.5 * np.array(box.size)
    x = frames.inside(box, a.frame, a.ends[0])
    if len(a.ends) == 1:
        beyond = np.abs(x) - half
        return _length(np.maximum(beyond, 0.0)) + np.minimum(_most(list(beyond)), 0.0)
    d = frames.inside(box, a.frame, a.ends[1]) - x
    length = float(np.sqrt(sum((p - r) ** 2 for p, r in zip(*a.ends, strict=True))))
    safe = _away_from_zero(d, _PARALLEL * length)
    s = _held(_nearest(x, d, safe, half))
    outside = _length(np.maximum(np.abs(x + s * d) - half, 0.0))
    # Inside, the depth of the deepest point: a linear program, with its optimum where two sides tie.
    places = [0.0, 1.0, *(-x[k] / safe[k] for k in range(3))]
    for i, j in combinations(range(3), 2):
        for sign in (1.0, -1.0):
            slope = _away_from_zero(d[i] - sign * d[j], _PARALLEL * length)
            level = sign * x[j] - x[i]
            places += [(level + (half[i] - half[j])) / slope, (level - (half[i] - half[j])) / slope]
            places += [(level + (half[i] + half[j])) / slope, (level - (half[i] + half[j])) / slope]
    depths = [_most(list(np.abs(x + np.clip(p, 0.0, 1.0) * d) - half)) for p in places]
    return outside + np.minimum(_least(depths), 0.0)


def _nearest(x: Any, d: Any, safe: Any, half: Any) -> Any:
    """Where in [0, 1] x + s d is nearest to a box: its slope is linear between the box's planes."""

    def slope(s: Any) -> Any:
        p = x + s * d
        return d @ (p - np.clip(p, -half, half))

    stops = [np.clip((sign * half[k] - x[k]) / safe[k], 0.0, 1.0) for k in range(3) for sign in (1.0, -1.0)]
    low: Any = 0.0
    high: Any = 1.0
    for s in (*stops, 0.0, 1.0):
        g = slope(s)
        low = np.maximum(low, np.where(g <= 0.0, s, 0.0))
        high = np.minimum(high, np.where(g >= 0.0, s, 1.0))
    from_low, from_high = slope(low), slope(high)
    share = -from_low / np.maximum(from_high - from_low, _TINY)
    return np.clip(low + np.clip(share, 0.0, 1.0) * (high - low), 0.0, 1.0)


def _away_from_zero(x: Any, least: float) -> Any:
    return np.where(np.abs(x) < least, least, x)


def _length(x: Any) -> Any:
    return np.sqrt(np.maximum(x @ x, _TINY))


def _least(values: Sequence[Any]) -> Any:
    return _reduced(np.minimum, values)


def _most(values: Sequence[Any]) -> Any:
    return _reduced(np.maximum, values)


def _reduced(rule: Callable[[Any, Any], Any], values: Sequence[Any]) -> Any:
    made = values[0]
    for x in values[1:]:
        made = rule(made, x)
    return made


def pairs_of(robot: Robot, given: Any) -> tuple[Pair, ...]:
    """Pairs of bodies, checked; None is all that may touch of capsules around the visuals."""
    fitted: dict[str, Any] = {}
    if given is None:
        given = pairs(robot, capsules(robot))
        if not given:
            raise PhalanxError(
                f'distances: robot "{robot.name}" has no two shapes on links that are not adjacent; '
                "pass pairs=."
            )
    if isinstance(given, (str, *SHAPES)) or not hasattr(given, "__iter__"):
        raise PhalanxError(f"{_WHERE} is {shown(given)}, expected pairs such as [(shape, shape), …].")
    listed = list(given)
    if listed and all(isinstance(each, SHAPES) for each in listed):
        listed = list(pairs(robot, listed))
    made = []
    for pair in listed:
        if isinstance(pair, (str, *SHAPES)) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise PhalanxError(
                f"{_WHERE} has {shown(pair)}, expected two shapes, frames, or lists of shapes."
            )
        a, b = (_body(robot, each, fitted) for each in pair)
        checked_pair(robot, a, b, _WHERE)
        made.append((a, b))
    if not made:
        raise PhalanxError(
            f'{_WHERE} is empty for robot "{robot.name}"; shapes on the same or on adjacent links make none.'
        )
    return tuple(made)


def _body(robot: Robot, given: Any, fitted: dict[str, Any]) -> Any:
    """A shape, several of them, or a frame, which stands for the capsule around its visuals."""
    if not isinstance(given, str):
        made = checked_shapes(robot, given, _WHERE)
        if not made:
            raise PhalanxError(f"{_WHERE} has a body without shapes; pass one shape or more.")
        return made
    if given not in robot.frames:
        raise PhalanxError(
            f'{_WHERE}: robot "{robot.name}" has no frame {shown(given)};'
            f"{nearest(given, robot.frames, what='frames')}"
        )
    if not fitted:
        fitted.update({str(shape.frame): (shape,) for shape in capsules(robot)})
    if given not in fitted:
        raise PhalanxError(
            f'{_WHERE}: frame "{given}" of robot "{robot.name}" has no visuals; pass a shape such as '
            f'px.contact.sphere("{given}", radius).'
        )
    return fitted[given]
