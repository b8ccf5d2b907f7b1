# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The state of a robot on the page, and what follows from it: forces, energies, ellipsoids; no GUI code."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..errors import PhalanxError
from ..io.visuals import Scene
from ..io.visuals.generated import inertia_ellipsoids, joint_axes
from ..io.visuals.shapes import Ellipsoid
from ..robot.assembly import Coordinates
from ..robot.robot import Robot
from ..simulation.driving import middle

Array = np.ndarray[Any, np.dtype[Any]]

_ANGLE_UNIT = "rad"


@dataclass(frozen=True)
class Slider:
    """A slider of the page: a coordinate, or one of the three angles of a quaternion."""

    label: str
    unit: str
    lower: float
    upper: float
    index: int  # in q; of a quaternion's angle, where the quaternion begins
    angle: int = -1  # 0, 1, 2: roll, pitch or yaw of a quaternion

    def of(self, q: Array) -> float:
        """Its number at the coordinates q (nq,)."""
        if self.angle < 0:
            return float(q[self.index])
        return _angles(q[self.index : self.index + 4])[self.angle]

    @property
    def step(self) -> float:
        """The slider's step: a power of ten, 200 to 2000 of them in the range."""
        return float(10.0 ** math.floor(math.log10(max(self.upper - self.lower, 1e-6) / 200.0)))


GROUP = 16  # joints that are shown together


def groups(count: int) -> dict[str, slice]:
    """Slices of at most `GROUP` joints by title: "Joints 1 to 16" and so on."""
    starts = range(0, count, GROUP)
    if len(starts) < 2:
        return {"Joints": slice(0, count)}
    return {f"Joints {k + 1} to {min(k + GROUP, count)}": slice(k, min(k + GROUP, count)) for k in starts}


class Arrow(NamedTuple):
    """A joint force as an arrow along its axis, in the frame of its link (-1 = world)."""

    rate: int  # which entry of tau
    link: int
    at: Array
    axis: Array


class Session:
    """A robot in a state (q, qd), and what follows from it."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.robot: Robot = scene.robot
        if not self.robot.nv:
            raise PhalanxError(f'studio: robot "{self.robot.name}" has no degree of freedom; nothing moves.')
        self.q: Array = middle(self.robot)
        self.qd: Array = np.zeros(self.robot.nv)
        self.push_frame = self.frame_names[-1]
        self.push = np.zeros(3)  # newtons on that frame's origin, world axes
        self.sliders = _sliders(self.robot)
        self.units = _units(self.robot)
        self.rate_names = _rate_names(self.robot)
        self.arrows = _arrows(self.robot)

    # ---------------------------------------------------------------- coordinates

    @property
    def frame_names(self) -> list[str]:
        """Frames to choose from, moving links first in the order of the robot, tips last."""
        return [name for name in self.robot.frame_names if self.robot.frames[name].link >= 0] or list(
            self.robot.frame_names
        )

    def value(self, slider: Slider) -> float:
        """What a slider shows, within its range."""
        return min(max(slider.of(self.q), slider.lower), slider.upper)

    def move(self, slider: Slider, value: float) -> None:
        """Set the coordinate or angle of a slider, and all rates to zero."""
        q = self.q.copy()
        if slider.angle < 0:
            q[slider.index] = value
        else:
            angles = _angles(q[slider.index : slider.index + 4])
            angles[slider.angle] = value
            q[slider.index : slider.index + 4] = _quaternion(*angles)
        self.q, self.qd = q, np.zeros(self.robot.nv)

    def reset(self) -> None:
        """Return to the initial configuration, at rest."""
        self.q, self.qd = middle(self.robot), np.zeros(self.robot.nv)

    # ------------------------------------------------------------------- geometry

    def link_poses(self) -> Array:
        """Poses (n_links, 4, 4) of the links in the world."""
        return np.asarray(self.robot.forward_kinematics(self.q))

    def frame_pose(self, frame: str) -> Array:
        """The pose (4, 4) of a frame in the world."""
        return np.asarray(self.robot.frame_pose(self.q, frame))

    def ellipsoids(self) -> list[tuple[int, Ellipsoid, Array]]:
        """The link, its inertia ellipsoid and the ellipsoid's pose on it, of every link with mass."""
        index = {name: i for i, name in enumerate(self.robot.link_names)}
        return [(index[name], shape, pose.matrix) for name, shape, pose in inertia_ellipsoids(self.robot)]

    def mass_centres(self) -> list[tuple[int, Array, float]]:
        """The link, its mass centre in its frame and its mass, of every link with mass."""
        rows = self.robot.inertial_parameters.reshape(-1, 10)
        return [(i, row[1:4] / row[0], float(row[0])) for i, row in enumerate(rows) if row[0] > 0.0]

    def manipulability(self, frame: str) -> tuple[Array, Array, float]:
        """Half axes (3,), axes (3, 3) and product of the half axes of the linear Jacobian's ellipsoid."""
        jacobian = np.asarray(self.robot.jacobian(self.q, frame))[3:]
        squares, axes = np.linalg.eigh(jacobian @ jacobian.T)
        radii = np.sqrt(np.maximum(squares, 0.0))
        if np.linalg.det(axes) < 0:
            axes[:, 0] *= -1
        return radii, axes, float(np.prod(radii))

    def reach(self, frame: str, pose: Array, *, turns: bool) -> Array | None:
        """The coordinates (nq,) near the present ones with a frame at a pose (4, 4), or at its position.

        If it is out of reach, the nearest ones. Limits are kept; a floating base stays. None if there is no
        finite answer.
        """
        robot, own = self._arm
        base = self.frame_pose(self.robot.link_names[0]) if len(own) < self.robot.nq else np.eye(4)
        target = np.linalg.inv(base) @ pose
        found = robot.inverse_kinematics(
            {frame: target if turns else target[:3, 3]}, self.q[own], seeds=1, iterations=60, threads=1
        )
        if not np.isfinite(found.q).all():
            return None
        q = self.q.copy()
        q[own] = found.q
        return q

    @cached_property
    def _arm(self) -> tuple[Robot, Array]:
        """The robot with its base held, and which coordinates it has."""
        every = np.arange(self.robot.nq)
        if "" not in self.robot.q_slices:
            return self.robot, every
        held = Robot(replace(self.robot.description, floating_base=False), warn=False)
        return held, np.delete(every, self.robot.q_slices[""])

    # ------------------------------------------------------------------- dynamics

    def gravity_torques(self) -> Array:
        """Joint forces (nv,) that hold the robot still."""
        return np.asarray(self.robot.gravity_forces(self.q))

    def pushed(self) -> Array:
        """Joint forces (nv,) equivalent to the force that pushes a frame: J^T f."""
        if not self.push.any():
            return np.zeros(self.robot.nv)
        return np.asarray(self.robot.jacobian(self.q, self.push_frame))[3:].T @ self.push

    def accelerations(self, tau: Array | None = None) -> Array:
        """Accelerations (nv,) under the joint forces `tau` (none) and the push."""
        forces = self.pushed() if tau is None else tau + self.pushed()
        return np.asarray(self.robot.forward_dynamics(self.q, self.qd, forces))

    def energies(self) -> tuple[float, float]:
        """Kinetic and potential energy in joules."""
        kinetic, potential = self.robot.kinetic_energy(self.q, self.qd), self.robot.potential_energy(self.q)
        return float(kinetic), float(potential)

    def torque_arrows(self, tau: Array, poses: Array, length: float) -> tuple[Array, Array]:
        """Points (k, 2, 3) of the arrows of joint forces, the largest of a length, and their signs (k,)."""
        most = float(np.abs(tau).max()) or 1.0
        points, signs = [], []
        for arrow in self.arrows:
            pose = poses[arrow.link] if arrow.link >= 0 else np.eye(4)
            start = pose[:3, :3] @ arrow.at + pose[:3, 3]
            along = pose[:3, :3] @ arrow.axis * (length * tau[arrow.rate] / most)
            points.append([start, start + along])
            signs.append(1.0 if tau[arrow.rate] >= 0 else -1.0)
        return np.array(points).reshape(-1, 2, 3), np.array(signs)

    @cached_property
    def size(self) -> float:
        """Metres across the robot as it started, for cameras and arrows."""
        low, high = self.bounds()
        return max(float(np.linalg.norm(high - low)), 1e-3)

    def bounds(self) -> tuple[Array, Array]:
        """The smallest and the largest coordinates (3,) of what is drawn."""
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for part, pose in zip(self.scene.parts, self.scene.poses(self.q), strict=True):
            for surface in part.surfaces:
                corners = np.array([surface.vertices.min(axis=0), surface.vertices.max(axis=0)])
                box = np.array(
                    [[x, y, z] for x in corners[:, 0] for y in corners[:, 1] for z in corners[:, 2]]
                )
                at = box @ pose[:3, :3].T + pose[:3, 3]
                low, high = np.minimum(low, at.min(axis=0)), np.maximum(high, at.max(axis=0))
        if not np.isfinite(low).all():
            return np.full(3, -0.5), np.full(3, 0.5)
        return low, high


# ------------------------------------------------------------------------ names and sliders


def _joints(robot: Robot) -> list[tuple[str, Coordinates]]:
    """The name and the coordinates of each joint that has some of its own; the base first."""
    names = [name or "base" for name in robot.q_slices if name not in robot.mimics]
    return list(zip(names, robot._coordinates, strict=True))


def _sliders(robot: Robot) -> list[Slider]:
    found: list[Slider] = []
    for name, at in _joints(robot):
        found += _of_joint(robot, name, at)
    return found


def _of_joint(robot: Robot, name: str, at: Coordinates) -> list[Slider]:
    kind, start = at.kind, at.q.start
    if kind.quaternion is not None:
        angles = [
            Slider(f"{name} {word}", _ANGLE_UNIT, -bound, bound, start + kind.quaternion.start, k)
            for k, (word, bound) in enumerate((("roll", math.pi), ("pitch", 1.55), ("yaw", math.pi)))
        ]
        lengths = zip("xyz", range(start, start + kind.quaternion.start), strict=False)
        return [Slider(f"{name} {letter}", "m", -2.0, 2.0, k) for letter, k in lengths] + angles
    found = []
    for k, (unit, label) in enumerate(zip(kind.units, kind.labels, strict=True)):
        lower, upper = (float(x[start + k]) for x in (robot.limits.lower, robot.limits.upper))
        wide = math.pi if unit == _ANGLE_UNIT else 1.0
        lower = lower if math.isfinite(lower) else min(-wide, upper if math.isfinite(upper) else 0.0)
        upper = upper if math.isfinite(upper) else max(wide, lower)
        bounds = _rounded(lower, max(upper, lower))
        found.append(Slider(f"{name} {label}".strip(), unit, *bounds, start + k))
    return found


def _rounded(lower: float, upper: float) -> tuple[float, float]:
    """Bounds of few digits inside the given ones, where these are wide enough."""
    inside = math.ceil(lower * 1000.0) / 1000.0, math.floor(upper * 1000.0) / 1000.0
    return inside if inside[1] - inside[0] > 0.01 else (lower, upper)


def _units(robot: Robot) -> list[str]:
    """The unit of each joint force."""
    return [unit for _, at in _joints(robot) for unit in at.kind.force_units()]


def _rate_names(robot: Robot) -> list[str]:
    """A name for each degree of freedom."""
    return [f"{name} {label}".strip() for name, at in _joints(robot) for label in at.kind.labels]


def _arrows(robot: Robot) -> list[Arrow]:
    at = {name: coordinates.v.start for name, coordinates in _joints(robot)}
    return [
        Arrow(at[name], link, origin, axis) for name, link, origin, axis in joint_axes(robot) if name in at
    ]


def _angles(quaternion: Array) -> list[float]:
    """Roll, pitch and yaw of a quaternion xyzw."""
    x, y, z, w = (quaternion / (np.linalg.norm(quaternion) or 1.0)).tolist()
    roll = math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = math.asin(min(max(2 * (w * y - z * x), -1.0), 1.0))
    return [roll, pitch, math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))]


def _quaternion(roll: float, pitch: float, yaw: float) -> Array:
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a / 2), math.sin(a / 2)) for a in (roll, pitch, yaw))
    return np.array(
        [
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        ]
    )
