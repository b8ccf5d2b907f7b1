# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Shapes for robots whose file has none: tubes along Denavit-Hartenberg parameters, or a skeleton.

Of a table, a link is a tube from its joint to the next ones, first along its own axis and then across it, as
the parameters go; a joint that turns is a drum about its axis, one that slides a beam. Any other robot is a
skeleton: straight bones from joint to joint, a small drum at each joint, and the axes of its frame.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...robot.assembly import MovingJoint
from ...robot.description import Pose
from ...robot.joints import FREE
from ...robot.robot import Robot
from ...spatial import unpack
from .shapes import Array, Box, Capsule, Colour, Cylinder, Ellipsoid, Shape, Sphere, Visual, along

TUBE: Colour = (0.83, 0.85, 0.88, 1.0)  # no colour that means something on a chart
DRUM: Colour = (0.24, 0.29, 0.36, 1.0)
TIP: Colour = (0.902, 0.624, 0.0, 1.0)
DARK: Colour = (0.30, 0.33, 0.37, 1.0)
AXES: tuple[Colour, ...] = ((0.835, 0.369, 0.0, 1.0), (0.0, 0.62, 0.451, 1.0), (0.0, 0.447, 0.698, 1.0))

_THINNEST = 0.007  # radius over the size of the robot: thinner lines cannot be seen
_BONE = 0.09  # radius of a bone over the usual distance of joints
_THICKEST = 0.012  # and over the size of the robot
_NOWHERE = 0.2  # metres that a robot is drawn as whose joints are all at one point, without mass
_MOST_FRAMES = 64  # links up to which frames are drawn
_REACH = 0.05  # radius of the first link over the length of the robot, at most
_SEGMENT = 0.32  # and over the mean distance of joints
_TAPER = 0.42  # how much thinner the last link is


@dataclass(frozen=True)
class _Joint:
    """A joint seen from a link: where it is, and along which axis it moves, if along one."""

    at: Array
    axis: Array | None
    slides: bool
    travel: float  # metres that a sliding joint moves at most


@dataclass(frozen=True)
class _Piece:
    """A link, or the world: the joint that carries it and those that it carries, in its own frame."""

    frame: str
    entry: _Joint | None
    exits: tuple[_Joint, ...]
    ends: tuple[Array, ...]  # origins of the frames welded to a link that carries no joint
    depth: float  # 0 for the world, 1 for the link furthest from it

    @property
    def start(self) -> Array:
        return np.zeros(3) if self.entry is None else self.entry.at


def generated(robot: Robot) -> list[Visual]:
    """Tubes along links and drums at joints, for every link with an extent."""
    pieces = _pieces(robot)
    radius = _radius(robot, pieces)
    return [visual for piece in pieces for visual in _drawn(piece, radius * (1.0 - _TAPER * piece.depth))]


def skeleton(robot: Robot) -> list[Visual]:
    """Straight bones between joints, a drum at each joint, and small axes of x, y and z there.

    A robot without any extent, such as a single free body, is its ellipsoids of inertia.
    """
    pieces, size = _pieces(robot), _size(robot)
    lengths, bodies = _lengths(pieces), inertia_ellipsoids(robot)
    if not lengths and bodies:
        return [Visual(name, shape, pose, TUBE) for name, shape, pose in bodies]
    usual = float(np.median(lengths)) if lengths else _NOWHERE
    size = size if lengths else _NOWHERE
    radius = max(min(_BONE * usual, _THICKEST * size), _THINNEST * size)
    arms = min(0.35 * usual, 6.0 * radius) if robot.n_links <= _MOST_FRAMES else 0.0
    return [visual for piece in pieces for visual in _bones(piece, radius, usual, arms)]


def inertia_ellipsoids(robot: Robot) -> list[tuple[str, Ellipsoid, Pose]]:
    """The link, the homogeneous ellipsoid of its mass and inertia, and its pose there, of links with mass.

    Half axes are sqrt(5 (I_b + I_c - I_a) / 2m); zero where the inertia breaks the triangle inequality.
    """
    found = []
    for name, row in zip(robot.link_names, robot.inertial_parameters.reshape(-1, 10), strict=True):
        m, com = row[0], row[1:4] / (row[0] or 1.0)
        if not m > 0.0:
            continue
        about = unpack(row[4:]) - m * (com @ com * np.eye(3) - np.outer(com, com))
        moments, axes = np.linalg.eigh(about)
        if np.linalg.det(axes) < 0:
            axes[:, 0] *= -1
        square = 2.5 / m * (moments.sum() - 2.0 * moments)
        radii = np.sqrt(np.maximum(square, 0.0))
        if not radii.any():
            continue
        x, y, z = np.maximum(radii, 0.02 * radii.max()).tolist()
        found.append((name, Ellipsoid((x, y, z)), Pose.of(axes, com)))
    return found


def joint_axes(robot: Robot) -> list[tuple[str, int, Array, Array]]:
    """Joint, link that it carries, its origin and axis on that link, of joints along or about one axis."""
    found = []
    for i, m in enumerate(robot._assembly.moving):
        joint = _seen(m, m.joint.after.inverse().matrix)
        if joint.axis is not None:
            found.append((m.joint.name, i, joint.at, joint.axis))
    return found


def root_frame(robot: Robot) -> str:
    """The name of the robot's root link, which a fixed base welds to the world."""
    joined = {joint.child for joint in robot.description.joints}
    return next(link.name for link in robot.description.links if link.name not in joined)


# ------------------------------------------------------------------- what is where


def _pieces(robot: Robot) -> list[_Piece]:
    moving = robot._assembly.moving
    exits: dict[int, list[_Joint]] = defaultdict(list)
    for m in moving:
        if m.joint.type != FREE:
            exits[m.parent].append(_seen(m, m.origin.matrix))
    ends: dict[int, list[Array]] = defaultdict(list)
    for name, frame in robot.frames.items():
        if name not in robot.link_names:
            ends[frame.link].append(np.array(frame.pose.translation))
    deep: list[int] = []
    for p in robot.parents.tolist():
        deep.append(1 if p < 0 else deep[p] + 1)
    most = max(deep, default=1)
    found = []
    if exits[-1]:
        found.append(_Piece(root_frame(robot), None, tuple(exits[-1]), (), 0.0))
    for i, m in enumerate(moving):
        entry = None
        if m.joint.type != FREE:
            entry = _seen(m, m.joint.after.inverse().matrix)
        leaf = _ends(robot, i, entry, ends[i]) if not exits[i] else []
        found.append(_Piece(m.joint.child, entry, tuple(exits[i]), tuple(leaf), deep[i] / most))
    return found


def _seen(m: MovingJoint, frame: Array) -> _Joint:
    """A moving joint whose frame has that pose."""
    straight = len(m.steps) == 1 and m.steps[0].motion.is_screw
    axis = frame[:3, :3] @ np.asarray(m.joint.axis) if straight else None
    if axis is not None:
        length = float(np.linalg.norm(axis))
        axis = axis / length if length > 0.0 else None
    slides = m.kind.units == ("m",)
    bounds = [abs(x) for x in (*m.joint.lower, *m.joint.upper) if np.isfinite(x)] if slides else []
    return _Joint(frame[:3, 3], axis, slides, max(bounds, default=0.0))


def _ends(robot: Robot, i: int, entry: _Joint | None, frames: list[Array]) -> list[Array]:
    """Where the last link of a branch ends: at the furthest frame on it, else beyond its mass centre.

    In standard Denavit-Hartenberg frames the link's own frame is not at its joint but at its end.
    """
    start = np.zeros(3) if entry is None else entry.at
    far = max([np.zeros(3), *frames], key=lambda at: float(np.linalg.norm(at - start)))
    if np.linalg.norm(far - start) > 1e-6:
        return [far]
    row = robot.inertial_parameters.reshape(-1, 10)[i]
    return [start + 2.0 * (row[1:4] / row[0] - start)] if row[0] > 0.0 else []


def _lengths(pieces: list[_Piece]) -> list[float]:
    """The distances from the joint of a link to the next ones and to its ends."""
    found = [
        float(np.linalg.norm(at - piece.start))
        for piece in pieces
        for at in (*(joint.at for joint in piece.exits), *piece.ends)
    ]
    return [x for x in found if x > 1e-6]


def _size(robot: Robot) -> float:
    """The diagonal of the box around all joints in the neutral pose."""
    origins = np.asarray(robot.forward_kinematics(robot.neutral(), backend="numpy"))[:, :3, 3]
    return float(np.linalg.norm(np.ptp(np.vstack([origins, np.zeros(3)]), axis=0)))


def _radius(robot: Robot, pieces: list[_Piece]) -> float:
    """The radius of the first link."""
    lengths = _lengths(pieces)
    if lengths:
        thin = min(_REACH * sum(lengths), _SEGMENT * sum(lengths) / len(lengths))
        return max(thin, _THINNEST * _size(robot), 1e-4)
    sizes = [max(shape.radii) for _, shape, _ in inertia_ellipsoids(robot)]
    return max(0.5 * max(sizes, default=0.1), 1e-4)


# ------------------------------------------------------------------- how it is drawn


def _add(found: list[Visual], frame: str, shape: Shape, at: Any, axis: Any, colour: Colour) -> None:
    """Append a shape at a point, its z axis along `axis`."""
    found.append(Visual(frame, shape, Pose.of(np.eye(3) if axis is None else along(axis), at), colour))


def _drawn(piece: _Piece, r: float) -> list[Visual]:
    """The shapes of one link whose tubes have about that radius."""
    found: list[Visual] = []
    add = partial(_add, found, piece.frame)
    entry, start = piece.entry, piece.start
    if entry is None and piece.exits:
        add(Cylinder(1.7 * r, 0.3 * r), start, (0, 0, 1), DARK)
    elif entry is not None and entry.slides and entry.axis is not None:
        back = max(entry.travel, 4.0 * r)
        add(Box((1.2 * r, 1.2 * r, back)), start - 0.5 * back * entry.axis, entry.axis, TUBE)
    elif entry is not None and entry.axis is not None:
        add(Cylinder(1.12 * r, 2.3 * r), start, entry.axis, DRUM)
    elif entry is not None:
        add(Sphere(1.2 * r), start, None, DRUM)
    for joint in piece.exits:
        if joint.slides:
            add(Box((2.1 * r, 2.1 * r, 2.6 * r)), joint.at, joint.axis, DRUM)
    for at in (*(joint.at for joint in piece.exits), *piece.ends):
        for a, b in _route(entry, start, at, r):
            length = float(np.linalg.norm(b - a))
            add(Capsule(0.8 * r, length), 0.5 * (a + b), b - a, TUBE)
    for at in piece.ends:
        reach = at - start
        axis = reach if np.linalg.norm(reach) > 0.5 * r else None if entry is None else entry.axis
        add(Cylinder(1.0 * r, 0.5 * r), at, axis, TIP)
    return found


def _bones(piece: _Piece, r: float, usual: float, arms: float) -> list[Visual]:
    """The shapes of one link of a skeleton whose bones have that radius, and frames arms of that length."""
    found: list[Visual] = []
    add = partial(_add, found, piece.frame)
    entry, start = piece.entry, piece.start
    if entry is None:
        if piece.exits:
            add(Sphere(1.7 * r), start, None, DARK)
    elif entry.axis is None:
        add(Sphere(1.7 * r), start, None, DRUM)
    else:
        # Where bones are shorter than thick, joints are only rings: a long chain still shows its links.
        wide, long = (1.6 * r, 3.4 * r) if usual > 4.0 * r else (r, 0.3 * usual)
        shape = Box((1.6 * wide, 1.6 * wide, long)) if entry.slides else Cylinder(wide, long)
        add(shape, start, entry.axis, DRUM)
    for at in (*(joint.at for joint in piece.exits), *piece.ends):
        length = float(np.linalg.norm(at - start))
        if length > 0.3 * r:
            add(Capsule(0.8 * r, length), 0.5 * (start + at), at - start, TUBE)
    for at in piece.ends:
        add(Sphere(1.3 * r), at, None, TIP)
    if entry is not None and arms > 2.2 * r:
        for axis, colour in zip(np.eye(3), AXES, strict=True):
            add(Cylinder(0.35 * r, arms), start + 0.5 * arms * axis, axis, colour)
    return found


def _route(entry: _Joint | None, a: Array, b: Array, r: float) -> list[tuple[Array, Array]]:
    """Straight tubes from a joint to the next: along the first axis, then across it; short ones left out."""
    corner = a
    if entry is not None and entry.axis is not None:
        corner = a + (b - a) @ entry.axis * entry.axis
    elif entry is None:
        corner = a + (b - a) * (0.0, 0.0, 1.0)
    if np.linalg.norm(corner - a) < 0.3 * r or np.linalg.norm(b - corner) < 0.3 * r:
        return [(a, b)] if np.linalg.norm(b - a) > 0.3 * r else []
    return [(a, corner), (corner, b)]
