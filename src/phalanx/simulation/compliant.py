# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Compliant surroundings of a robot: ground under its feet, springs and tendons between frames.

Points touch a plane; there are no shapes that touch one another. Written in NumPy's functions, as users write
theirs: `ground(…)(t, q, qd, u, robot)` gives the wrenches at states that are plain arrays, too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import UNREADABLE
from ..errors import PhalanxError, shown
from ..tracing.arrays import Traced
from .external_forces import Surroundings, require_frame
from .loads import Above, FrameLoad, Position, above

__all__ = ["ground", "spring", "tendon"]

# Speeds [m/s] from which friction is full, of implicit and of explicit steps; those would chatter below.
SLIP, EXPLICIT_SLIP = 1e-4, 1e-2
_TINY = 1e-12  # m; ends of a spring that are nearer have no direction

Number = float | str  # or the name of a parameter of the simulation


def ground(
    points: Mapping[str, Any] | Sequence[str],
    stiffness: Number,
    damping: Number = 0.0,
    friction: Number = 0.0,
    *,
    height: Number = 0.0,
    normal: Any = (0.0, 0.0, 1.0),
    slip: float | None = None,
    passes: int = 2,
) -> Surroundings:
    """A plane that points of the robot sink into: a spring and a damper along its normal, and dry friction.

    `points` are frames, whose origins touch, or a mapping from frames to positions (3,) or (k, 3) in them. At
    each the plane pushes with k depth - d v along the normal, never pulls, and rubs with up to `friction`
    times that, linear below the speed `slip` [m/s], so that what should stick creeps: 0.1 mm/s at most with
    "implicit", where it is 1e-4 by default, and 1e-2 with the others. The plane is normal · x = `height`. A
    number may be the name of a parameter of the simulation, of size 1, which differs from one to another.

    With "implicit" both are taken at the end of the step, at any stiffness; friction there follows the normal
    force at the beginning. A point that leaves may be held back for one step.

    A first solution of each step separates points that slide from those that stick. With
    `passes=1` there is none: steps take half the time, and friction slows what gets faster too much: a block
    that slides down 20 degrees from rest loses 14 % of its path in a second at 2 ms and friction 0.3.

    A stiffness lets weight sink in by m g / k: for 1 mm, k = 1000 m g / points. Damping of 2 sqrt(k m), m
    the mass on a point, takes bounces away.
    """
    where = "contact.ground"
    return Ground(
        _points(points, where),
        _number(stiffness, f"{where}: stiffness"),
        _number(damping, f"{where}: damping"),
        _number(friction, f"{where}: friction"),
        _number(height, f"{where}: height", least=-np.inf),
        _direction(normal, f"{where}: normal"),
        None if slip is None else float(_number(slip, f"{where}: slip", least=1e-12, names=False)),
        _one_or_two(passes, f"{where}: passes"),
    )


def spring(
    frame_a: Any, frame_b: Any, stiffness: Number, damping: Number = 0.0, length: Number = 0.0
) -> Surroundings:
    """A spring and damper between two points, along the line from one to the other; at rest at `length` [m].

    A point is a frame (its origin), a pair (frame, position (3,) in it), or None for the world's origin and
    (None, position) for another point of the world. With "implicit" it is taken at the end of the step if
    one end is fixed.
    """
    where = "contact.spring"
    return Tendon(
        (_point(frame_a, f"{where}: frame_a"), _point(frame_b, f"{where}: frame_b")),
        _number(stiffness, f"{where}: stiffness"),
        _number(damping, f"{where}: damping"),
        _number(length, f"{where}: length"),
        pushes=True,
        name=where,
    )


def tendon(
    frames: Sequence[Any], stiffness: Number, damping: Number = 0.0, length: Number = 0.0
) -> Surroundings:
    """An elastic string through points of several frames, without friction; it pulls and never pushes.

    Points are those of `spring`. Below `length` [m] the string is slack. With "implicit" it is taken at the
    end of the step if all but one of its frames are fixed.
    """
    where = "contact.tendon"
    if isinstance(frames, str) or not isinstance(frames, Sequence) or len(frames) < 2:
        raise PhalanxError(f"{where}: frames is {shown(frames)}, expected a list of two or more points.")
    return Tendon(
        tuple(_point(point, f"{where}: point {k}") for k, point in enumerate(frames)),
        _number(stiffness, f"{where}: stiffness"),
        _number(damping, f"{where}: damping"),
        _number(length, f"{where}: length"),
        pushes=False,
        name=where,
    )


# ------------------------------------------------------------------- points that move


@dataclass(frozen=True)
class Point:
    """A point of a frame, or of the world (None)."""

    frame: str | None
    position: Position = (0.0, 0.0, 0.0)

    def motion(self, q: Any, qd: Any, robot: Any) -> MovingPoint:
        """Where it is and how it moves, along the axes of the world."""
        at = np.array(self.position)
        if self.frame is None:
            return MovingPoint(at, np.zeros(3), np.zeros(3))
        pose = robot.frame_pose(q, self.frame)
        velocity = robot.frame_velocity(q, qd, self.frame)
        lever = (pose[..., :3, :3] @ at[:, None])[..., 0]
        spin = velocity[..., :3]
        return MovingPoint(pose[..., :3, 3] + lever, velocity[..., 3:] + np.cross(spin, lever), spin)

    def moves(self, robot: Any) -> bool:
        """Whether it belongs to a link that joints move."""
        return self.frame is not None and robot.frames[self.frame].link >= 0


@dataclass(frozen=True)
class MovingPoint:
    """A point's position and velocity, and the angular velocity of its frame."""

    x: Any
    v: Any
    spin: Any

    def swept(self) -> Any:
        """The part of its acceleration that no rate of the frame's twist explains."""
        return np.cross(self.spin, self.v)


@dataclass(frozen=True)
class PointForces(Surroundings):
    """Forces at points of frames, whose numbers may be parameters of the simulation."""

    points: tuple[Point, ...]

    @property
    @abstractmethod
    def _numbers(self) -> tuple[Number, ...]:
        """Numbers, and names of parameters."""

    def check(self, robot: Any) -> None:
        for point in self.points:
            if point.frame is not None:
                require_frame(robot, point.frame, self.name)

    def reads(self) -> set[str]:
        return {x for x in self._numbers if isinstance(x, str)}


# ------------------------------------------------------------------- ground


@dataclass(frozen=True)
class Ground(PointForces):
    """A compliant plane under some points."""

    stiffness: Number
    damping: Number
    friction: Number
    height: Number
    normal: tuple[float, float, float]
    slip: float | None
    passes: int
    name: str = field(default="contact.ground", repr=False)

    @property
    def _numbers(self) -> tuple[Number, ...]:
        return self.stiffness, self.damping, self.friction, self.height

    def loads(
        self, q: Any, qd: Any, robot: Any, *, h: float | None = None, parameters: Mapping[str, Any]
    ) -> list[FrameLoad]:
        numbers = [_value(x, parameters, self.name) for x in self._numbers]
        self.check(robot)
        moving = [point for point in self.points if point.moves(robot)]
        return [
            self._load(point, above(robot, q, qd, str(point.frame), point.position, self.normal), h, *numbers)
            for point in moving
        ]

    def _load(
        self,
        point: Point,
        p: Above,
        h: float | None,
        k: Any,
        d: Any,
        mu: Any,
        height: Any,
        ahead: Any = None,
    ) -> FrameLoad:
        """What acts at a point; with h at the end of a step, where `ahead` is its velocity then, if known.

        Friction of a step is first taken for a damper that holds at the speed of the beginning. A point that
        gets faster would then feel too much: it slides, with constant friction against its velocity ahead.
        """
        n, v = p.normal, p.v
        depth, speed = height - p.height, _dot(n, v)
        now = np.where(depth > 0.0, np.maximum(k * depth - d * speed, 0.0), 0.0)
        if h is None:
            push, inside = now, depth > 0.0
        else:
            # As deep as it will be if it goes on at this speed.
            depth = depth - h * speed
            push = np.maximum(k * depth - d * speed, 0.0)
            inside = (depth > 0.0) & (push > 0.0)
            push = np.where(inside, push, 0.0)
        slip = self.slip or (EXPLICIT_SLIP if h is None else SLIP)
        sliding = np.sqrt(np.maximum(_dot(v, v) - speed * speed, slip**2))
        most = mu * np.where(inside, now, 0.0)
        rub, drag = most / sliding, 0.0
        if ahead is not None:
            along = ahead - n * _dot(n, ahead)[..., None]
            size = np.sqrt(np.maximum(_dot(along, along), slip**2))
            slides = size > sliding
            rub, drag = np.where(slides, 0.0, rub), along * np.where(slides, most / size, 0.0)[..., None]
        push = push + rub * speed  # friction is along the plane
        frame, at = str(point.frame), point.position
        if h is None:
            return FrameLoad(frame, ((at, n * push[..., None] - v * rub[..., None]),), axes=p.axes)
        stiff, even = np.where(inside, h * d + h * h * k, 0.0), h * rub
        swept = np.cross(p.spin, v)  # the part of its acceleration that no rate of the frame's twist explains
        push = push - (stiff - even) * _dot(n, swept)
        force = n * push[..., None] - (v + h * swept) * rub[..., None] - drag
        corrected = None
        if ahead is None and self.passes == 2 and not (isinstance(mu, float) and mu == 0.0):
            corrected = lambda ahead: self._load(point, p, h, k, d, mu, height, ahead)  # noqa: E731
        return FrameLoad(
            frame,
            ((at, force),),
            evenly=((at, even),),
            along=((stiff - even, ((at, n),)),),
            axes=p.axes,
            corrected=corrected,
        )


# ------------------------------------------------------------------- springs


@dataclass(frozen=True)
class Tendon(PointForces):
    """An elastic line through points; one that `pushes` is a spring."""

    stiffness: Number
    damping: Number
    length: Number
    pushes: bool
    name: str

    @property
    def _numbers(self) -> tuple[Number, ...]:
        return self.stiffness, self.damping, self.length

    def loads(
        self, q: Any, qd: Any, robot: Any, *, h: float | None = None, parameters: Mapping[str, Any]
    ) -> list[FrameLoad]:
        self.check(robot)
        k, d, rest = (_value(x, parameters, self.name) for x in self._numbers)
        at = [point.motion(q, qd, robot) for point in self.points]
        lines = [b.x - a.x for a, b in pairwise(at)]
        sizes = [np.sqrt(np.maximum(_dot(line, line), _TINY**2)) for line in lines]
        along = [line / size[..., None] for line, size in zip(lines, sizes, strict=True)]
        # How the length changes with each point.
        slopes = [a - b for a, b in zip([0.0 * along[0], *along], [*along, 0.0 * along[0]], strict=True)]
        over = sum(sizes[1:], sizes[0]) - rest
        rates = [_dot(slope, p.v) for slope, p in zip(slopes, at, strict=True)]
        rate = sum(rates[1:], rates[0])
        frames = sorted({p.frame for p in self.points if p.frame is not None and p.moves(robot)})
        implicit = h is not None and len(frames) == 1
        ahead = over + h * rate if implicit else over
        tension = k * ahead + d * rate
        stiff: Any = 0.0
        if implicit:
            assert h is not None
            stiff = h * d + h * h * k
            swept = [_dot(slope, p.swept()) for slope, p in zip(slopes, at, strict=True)]
            tension = tension + stiff * sum(swept[1:], swept[0])
        if not self.pushes:
            taut = (ahead > 0.0) & (tension > 0.0)
            tension, stiff = np.where(taut, tension, 0.0), np.where(taut, stiff, 0.0)
        made = []
        for frame in frames:
            mine = [
                (own.position, s) for own, s in zip(self.points, slopes, strict=True) if own.frame == frame
            ]
            forces = tuple((at, -slope * tension[..., None]) for at, slope in mine)
            made.append(FrameLoad(frame, forces, along=((stiff, tuple(mine)),) if implicit else ()))
        return made


def _dot(a: Any, b: Any) -> Any:
    """The product of vectors along the last axis."""
    return np.sum(a * b, axis=-1)


def _value(number: Number, parameters: Mapping[str, Any], where: str) -> Any:
    """A number, or the parameter of that name."""
    if not isinstance(number, str):
        return number
    if number not in parameters:
        raise PhalanxError(
            f"{where} asks for the parameter {number!r}, which the simulation does not have; declare it: "
            f"robot.simulation(…, parameters={{{number!r}: ()}})."
        )
    value = parameters[number]
    if not isinstance(value, Traced):
        return np.asarray(value)
    if value.size != 1:
        raise PhalanxError(f"{where}: the parameter {number!r} has shape {value.shape}, expected size 1.")
    return value.reshape(())


# ------------------------------------------------------------------- what users pass


def _number(value: Any, where: str, least: float = 0.0, names: bool = True) -> Number:
    """A finite number, not below `least`, or the name of a parameter."""
    if isinstance(value, str) and names:
        return value
    try:
        number = float(value) if not isinstance(value, (bool, str)) and np.ndim(value) == 0 else np.nan
    except UNREADABLE:
        number = np.nan
    if not (np.isfinite(number) and number >= least):
        wanted = "a number" if least == -np.inf else f"a number >= {least:g}"
        raise PhalanxError(f"{where} is {shown(value)}, expected {wanted}{' or a parameter' * names}.")
    return number


def _one_or_two(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value not in (1, 2):
        raise PhalanxError(f"{where} is {shown(value)}, expected 1 or 2.")
    return int(value)


def _vectors(value: Any, where: str) -> np.ndarray:
    """Positions (k, 3)."""
    try:
        array = np.asarray(value, dtype=float)
    except UNREADABLE:
        array = np.zeros(0)
    if array.ndim not in (1, 2) or array.shape[-1] != 3 or not array.size or not np.isfinite(array).all():
        raise PhalanxError(f"{where} is {shown(value)}, expected positions (3,) or (k, 3) of finite numbers.")
    return array.reshape(-1, 3)


def _direction(value: Any, where: str) -> tuple[float, float, float]:
    vector = _vectors(value, where)
    length = float(np.linalg.norm(vector[0]))
    if len(vector) != 1 or length == 0.0:
        raise PhalanxError(f"{where} is {shown(value)}, expected a vector (3,) that is not zero.")
    x, y, z = (vector[0] / length).tolist()
    return x, y, z


def _points(given: Any, where: str) -> tuple[Point, ...]:
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        points = [
            Point(frame, (float(x), float(y), float(z)))
            for frame, positions in given.items()
            for x, y, z in _vectors(positions, f"{where}: points on {shown(frame)}")
        ]
    elif isinstance(given, Sequence) and all(isinstance(frame, str) for frame in given):
        points = [Point(frame) for frame in given]
    else:
        raise PhalanxError(
            f"{where}: points is {shown(given)}, expected a list of frames, or a mapping from frames to "
            'positions in them such as {"foot": (0, 0, -0.02)}.'
        )
    if not points:
        raise PhalanxError(f"{where}: points is empty, expected one frame at least.")
    return tuple(points)


def _point(given: Any, where: str) -> Point:
    if given is None or isinstance(given, str):
        return Point(given)
    if (
        isinstance(given, (tuple, list))
        and len(given) == 2
        and (given[0] is None or isinstance(given[0], str))
    ):
        vector = _vectors(given[1], where)
        if len(vector) == 1:
            x, y, z = vector[0].tolist()
            return Point(given[0], (x, y, z))
    raise PhalanxError(
        f"{where} is {shown(given)}, expected a frame, a pair (frame, position (3,)), or None for the world."
    )
