# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One class per joint type: its coordinates, its bodies, and how its coordinates add."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ...errors import PhalanxError, nearest
from ...reproducible import product
from ...spatial import Array, Transform, cross, join, matvec, transpose
from .motions import Ball, Free, Helix, Motion, Still, screw_motion
from .quaternions import (
    angular_velocity_of,
    conjugate,
    inverse_left_jacobian,
    left_jacobian_tail,
    leveled,
    quaternion_exp,
    quaternion_log,
    quaternion_product,
    quaternion_rate,
    quaternion_rates,
    rotate,
    rotate_back,
    rotated_by,
    rotation_slopes,
    transpose_quaternion,
    unit_quaternion,
)


@dataclass(frozen=True)
class JointBody:
    """One body of a joint: its motion, its axis, and the rotation of its frame.

    `axis` is the twist [angular; linear] of the body per unit of its rate, in its own frame; `frame` holds
    the axes of the body's frame in the joint's frame as columns; `carrier` is how many bodies further on
    the joint's twist is complete.
    """

    motion: type[Motion]
    axis: tuple[float, ...]
    frame: np.ndarray
    carrier: int = 0

    @property
    def turn(self) -> float:
        """Radians about z per unit of the coordinate of a screw; zero of other motions."""
        return self.axis[2] if self.motion.is_screw else 0.0

    @property
    def slide(self) -> float:
        """Metres along z per unit of the coordinate of a screw; zero of other motions."""
        return self.axis[5] if self.motion.is_screw else 0.0


def screw(axis: Sequence[float] | np.ndarray, *, turn: float = 0.0, slide: float = 0.0) -> JointBody:
    """The body that rotates about an axis and translates along it, by so much per unit of its coordinate."""
    return JointBody(screw_motion(turn, slide), (0.0, 0.0, turn, 0.0, 0.0, slide), frame_along(axis))


def frame_along(axis: Sequence[float] | np.ndarray) -> np.ndarray:
    """A rotation whose third column is the direction `axis`; sparse where the axis is."""
    x, y, z = axis
    return _frame_along(float(x), float(y), float(z))


@lru_cache(maxsize=1024)  # robots of very many joints have few directions
def _frame_along(*axis: float) -> np.ndarray:
    largest = max(map(abs, axis))
    if largest > 1e150:  # whose square is no number
        axis = tuple(x / largest for x in axis)
    z = _unit([0.0 if abs(x) < 1e-12 else x for x in _unit(axis)])
    main = max(range(3), key=lambda i: abs(z[i]))
    # The cyclic order keeps a frame along x, y or z a signed permutation.
    next_one = (main + 1) % 3
    x = _unit([(1.0 if i == next_one else 0.0) - z[next_one] * z[i] for i in range(3)])
    (a, b, c), (p, q, r) = x, z
    frame = np.array([(a, q * c - r * b, p), (b, r * a - p * c, q), (c, p * b - q * a, r)])
    frame.setflags(write=False)
    return frame


def _unit(vector: Sequence[float]) -> list[float]:
    a, b, c = vector
    length = math.sqrt(a * a + b * b + c * c)
    return [a / length, b / length, c / length]


class JointType(ABC):
    """A type of joint: its coordinates, its bodies and the geometry of its coordinates."""

    name: ClassVar[str]
    nq: ClassVar[int]
    nv: ClassVar[int]
    axes: ClassVar[int] = 0  # how many axis vectors of the description it reads
    units: ClassVar[tuple[str, ...]]  # "rad" or "m" for each rate: of what it is the time derivative
    labels: ClassVar[tuple[str, ...]] = ("",)  # names of the rates of one joint
    limited: ClassVar[bool] = True  # whether files may bound its coordinates
    quaternion: ClassVar[slice | None] = None
    adds: ClassVar[bool] = True  # whether its coordinates change by just its rates

    @classmethod
    @abstractmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[JointBody]:
        """The bodies of the joint, from the parent to the child."""

    @classmethod
    def force_units(cls) -> tuple[str, ...]:
        """The unit of the force that belongs to each rate."""
        return tuple(_FORCES[unit] for unit in cls.units)

    @classmethod
    def neutral(cls) -> np.ndarray:
        """Coordinates of the zero position."""
        q = np.zeros(cls.nq)
        if cls.quaternion is not None:
            q[cls.quaternion] = (0.0, 0.0, 0.0, 1.0)
        return q

    @classmethod
    def normalize(cls, q: Array) -> Array:
        """The same coordinates with quaternions of unit length."""
        return q

    @classmethod
    def advance(cls, q: Array, qd: Array, qdd: Array, h: Any) -> tuple[Array, Array]:
        """(q, qd) after a step h of semi-implicit Euler: rates by qdd, then coordinates by the new rates.

        Quaternions of any length become unit ones, as exact after many steps as after one.
        """
        qd = qd + qdd * h
        return cls.integrate(q, qd * h), qd

    @classmethod
    def swept(cls, qd: Array) -> Array:
        """The accelerations at qdd = 0 along axes at rest: what `advance` adds to qdd."""
        return qd * 0.0

    @classmethod
    def integrate(cls, q: Array, dq: Array) -> Array:
        """Coordinates after moving from q with the constant rate dq for unit time."""
        return q + dq

    @classmethod
    def difference(cls, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The rate dq with integrate(q0, dq) = q1."""
        return q1 - q0

    @classmethod
    def coordinate_rates(cls, q: Array, rate: Array) -> Array:
        """How fast coordinates q change at these rates: the derivative of integrate(q, t rate) at t = 0."""
        return rate

    @classmethod
    def along_rates(cls, q: Array, slope: Array) -> Array:
        """Derivatives along rates from those with respect to coordinates: `coordinate_rates` transposed."""
        return slope

    @classmethod
    def rates_of(cls, q: Array, change: Array) -> Array:
        """The rates qd at which q changes by `change`; changes of a quaternion's length are ignored."""
        return change

    @classmethod
    def coordinate_slopes(cls, q: Array, slope: Array) -> Array:
        """Derivatives with respect to coordinates from those along rates: `rates_of` transposed."""
        return slope

    # The joint of the same type that leads from the child to the parent: its motion is the inverse.

    @classmethod
    def reversed_axes(cls, axis: Sequence[float], axis2: Sequence[float]) -> tuple[list[float], list[float]]:
        """Its axes; a joint with one coordinate has the same coordinate and the opposite axis."""
        if cls.nv > 1:
            raise PhalanxError(
                f'joint type "{cls.name}" says of no joint that leads from the child to the parent; '
                f"{cls.__name__}.reversed_axes and reversed_coordinates are needed."
            )
        return _negative(axis), list(axis2)

    @classmethod
    def reversed_coordinates(cls, q: np.ndarray) -> np.ndarray:
        """The coordinates of the reversed joint, parent and child exchanged, where this joint is at q."""
        return q

    @classmethod
    def reversed_rates(cls) -> tuple[int, ...] | None:
        """For each rate of the reversed joint, its index here; None where the axes differ."""
        return tuple(range(cls.nv)) if cls.nv <= 1 else None


def _negative(axis: Sequence[float]) -> list[float]:
    return [0.0 - x for x in axis]  # without negative zeros


def _inverse(q: np.ndarray) -> np.ndarray:
    return np.concatenate([-q[..., :3], q[..., 3:]], axis=-1)  # as long as the quaternion


class Fixed(JointType):
    name, nq, nv = "fixed", 0, 0
    units = labels = ()
    limited = False

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[JointBody]:
        return []


class Revolute(JointType):
    name, nq, nv, axes = "revolute", 1, 1, 1
    units = ("rad",)

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[JointBody]:
        return [screw(axis, turn=1.0)]


class Continuous(Revolute):
    name = "continuous"
    limited = False


class Prismatic(JointType):
    name, nq, nv, axes = "prismatic", 1, 1, 1
    units = ("m",)

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[JointBody]:
        return [screw(axis, slide=1.0)]


class Helical(JointType):
    """A rotation about `axis` that advances along it by `pitch` metres per radian."""

    name, nq, nv, axes = "helical", 1, 1, 1
    units = ("rad",)

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[JointBody]:
        return [screw(axis, turn=1.0, slide=pitch)]


class Universal(JointType):
    """A rotation about `axis`, then about `axis2` as the first one has moved it."""

    name, nq, nv, axes = "universal", 2, 2, 2
    units = ("rad", "rad")
    labels = ("first", "second")

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[JointBody]:
        return [screw(axis, turn=1.0), screw(axis2, turn=1.0)]

    @classmethod
    def reversed_axes(cls, axis: Sequence[float], axis2: Sequence[float]) -> tuple[list[float], list[float]]:
        return _negative(axis2), _negative(axis)

    @classmethod
    def reversed_coordinates(cls, q: np.ndarray) -> np.ndarray:
        return q[..., ::-1]

    @classmethod
    def reversed_rates(cls) -> tuple[int, ...] | None:
        return (1, 0)


class Planar(JointType):
    """Two translations in the plane normal to `axis`, then a rotation about it: q = [x, y, angle]."""

    name, nq, nv, axes = "planar", 3, 3, 1
    units = ("m", "m", "rad")
    labels = ("x", "y", "angle")

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[JointBody]:
        x, y, _ = frame_along(axis).T
        return [screw(x, slide=1.0), screw(y, slide=1.0), screw(axis, turn=1.0)]

    @classmethod
    def reversed_axes(cls, axis: Sequence[float], axis2: Sequence[float]) -> tuple[list[float], list[float]]:
        return list(axis), list(axis2)

    @classmethod
    def reversed_coordinates(cls, q: np.ndarray) -> np.ndarray:
        x, y, angle = np.moveaxis(q, -1, 0)
        c, s = np.cos(angle), np.sin(angle)
        return np.stack([-(c * x + s * y), s * x - c * y, -angle], axis=-1)


class Spherical(JointType):
    """q = quaternion xyzw; qd = angular velocity of the child in its own coordinates."""

    name, nq, nv = "spherical", 4, 3
    units = ("rad",) * 3
    labels = ("turn x", "turn y", "turn z")
    limited = False
    adds = False
    quaternion = slice(0, 4)

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[JointBody]:
        return _unit_steps(Ball, range(3))

    @classmethod
    def reversed_axes(cls, axis: Sequence[float], axis2: Sequence[float]) -> tuple[list[float], list[float]]:
        return list(axis), list(axis2)

    @classmethod
    def reversed_coordinates(cls, q: np.ndarray) -> np.ndarray:
        return _inverse(q)

    @classmethod
    def normalize(cls, q: Array) -> Array:
        return unit_quaternion(q)

    @classmethod
    def advance(cls, q: Array, qd: Array, qdd: Array, h: Any) -> tuple[Array, Array]:
        qd = qd + qdd * h
        return rotated_by(q, quaternion_exp(qd * h)), qd

    @classmethod
    def integrate(cls, q: Array, dq: Array) -> Array:
        return quaternion_product(q, quaternion_exp(dq))

    @classmethod
    def difference(cls, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        return quaternion_log(quaternion_product(conjugate(q0), leveled(q1)))

    @classmethod
    def coordinate_rates(cls, q: Array, rate: Array) -> Array:
        return quaternion_rate(q, rate)

    @classmethod
    def along_rates(cls, q: Array, slope: Array) -> Array:
        return quaternion_rates(q, slope)

    @classmethod
    def rates_of(cls, q: Array, change: Array) -> Array:
        return angular_velocity_of(q, change)

    @classmethod
    def coordinate_slopes(cls, q: Array, slope: Array) -> Array:
        return rotation_slopes(q, slope)


class Floating(JointType):
    """q = [x y z, quaternion xyzw]; qd = [angular; linear] of the child in its own coordinates."""

    name, nq, nv = "floating", 7, 6
    units = ("rad",) * 3 + ("m",) * 3
    labels = ("turn x", "turn y", "turn z", "shift x", "shift y", "shift z")
    limited = False
    adds = False
    quaternion = slice(3, 7)

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[JointBody]:
        return _unit_steps(Free, range(6))

    @classmethod
    def reversed_axes(cls, axis: Sequence[float], axis2: Sequence[float]) -> tuple[list[float], list[float]]:
        return list(axis), list(axis2)

    @classmethod
    def reversed_coordinates(cls, q: np.ndarray) -> np.ndarray:
        back = _inverse(q[..., 3:])
        return np.concatenate([-rotate(back, q[..., :3]), back], axis=-1)

    @classmethod
    def normalize(cls, q: Array) -> Array:
        return join(q[..., :3], unit_quaternion(q[..., 3:]))

    @classmethod
    def advance(cls, q: Array, qd: Array, qdd: Array, h: Any) -> tuple[Array, Array]:
        # The velocity steps in axes at rest, so that nothing is lost of what no force changes.
        p, quaternion = q[..., :3], q[..., 3:]
        w, v = qd[..., :3], qd[..., 3:]
        v = v + (qdd[..., 3:] + cross(w, v)) * h
        w = w + qdd[..., :3] * h
        step = quaternion_exp(w * h)
        moved = p + matvec(transpose(transpose_quaternion(quaternion)), v * h)
        return join(moved, rotated_by(quaternion, step)), join(w, rotate_back(step, v))

    @classmethod
    def swept(cls, qd: Array) -> Array:
        w, v = qd[..., :3], qd[..., 3:]
        return join(w * 0.0, cross(w, v))

    @classmethod
    def integrate(cls, q: Array, dq: Array) -> Array:
        p, quaternion = q[..., :3], q[..., 3:]
        w, v = dq[..., :3], dq[..., 3:]
        moved = p + rotate(quaternion, v + left_jacobian_tail(w, v))
        return join(moved, quaternion_product(quaternion, quaternion_exp(w)))

    @classmethod
    def difference(cls, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        back = conjugate(q0[..., 3:])
        w = quaternion_log(quaternion_product(back, leveled(q1[..., 3:])))
        v = inverse_left_jacobian(w, rotate(back, q1[..., :3] - q0[..., :3]))
        return np.concatenate([w, v], axis=-1)

    @classmethod
    def coordinate_rates(cls, q: Array, rate: Array) -> Array:
        quaternion = q[..., 3:]
        moved = matvec(transpose(transpose_quaternion(quaternion)), rate[..., 3:])
        return join(moved, quaternion_rate(quaternion, rate[..., :3]))

    @classmethod
    def along_rates(cls, q: Array, slope: Array) -> Array:
        quaternion = q[..., 3:]
        return join(
            quaternion_rates(quaternion, slope[..., 3:]),
            matvec(transpose_quaternion(quaternion), slope[..., :3]),
        )

    @classmethod
    def rates_of(cls, q: Array, change: Array) -> Array:
        quaternion = q[..., 3:]
        return join(
            angular_velocity_of(quaternion, change[..., 3:]),
            matvec(transpose_quaternion(quaternion), change[..., :3]),
        )

    @classmethod
    def coordinate_slopes(cls, q: Array, slope: Array) -> Array:
        quaternion = q[..., 3:]
        along = matvec(transpose(transpose_quaternion(quaternion)), slope[..., 3:])
        return join(along, rotation_slopes(quaternion, slope[..., :3]))


def _unit_steps(motion: type[Motion], components: range) -> list[JointBody]:
    """One body per component of a twist: the first moves, all complete the last one's twist."""
    eye = np.eye(6)
    last = len(components) - 1
    return [
        JointBody(motion if k == 0 else Still, tuple(eye[k].tolist()), np.eye(3), carrier=last - k)
        for k in components
    ]


_FORCES = {"rad": "N·m", "m": "N"}
_TYPES: dict[str, type[JointType]] = {}


def register(kind: type[JointType]) -> None:
    """Register a joint type under its name, or raise if its declaration contradicts itself."""
    where = f"joint type {kind.__name__}"
    if kind.name in _TYPES:
        raise PhalanxError(f'{where}: there is a joint type "{kind.name}" already; give it another name.')
    units = getattr(kind, "units", ())
    if len(units) != kind.nv or not set(units) <= set(_FORCES):
        raise PhalanxError(f'{where}: units are {units}, expected "rad" or "m" for each of {kind.nv} rates.')
    if len(kind.labels) != kind.nv:
        raise PhalanxError(f"{where}: labels are {kind.labels}, expected one for each of {kind.nv} rates.")
    steps = kind.steps((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), 1.0)
    if len(steps) != kind.nv or sum(step.motion.nq for step in steps) != kind.nq:
        raise PhalanxError(
            f"{where}: it has {len(steps)} bodies with {sum(step.motion.nq for step in steps)} coordinates, "
            f"expected one for each of {kind.nv} rates and {kind.nq} coordinates in all."
        )
    for step in steps:
        if step.motion.is_screw and not _moves_along_its_axis(step):
            raise PhalanxError(
                f"{where}: {step.motion.__name__} does not move along the axis {step.axis}; "
                "screw(axis, turn=…, slide=…) makes a body that does."
            )
    _TYPES[kind.name] = kind


def _moves_along_its_axis(step: JointBody) -> bool:
    """Whether a screw moves about and along z as its `axis` says; other code reads `axis` only."""
    off, q = np.array(step.axis)[[0, 1, 3, 4]], np.full((1, 1), 0.7)
    rest, given = Transform(np.eye(3)[None], np.zeros((1, 3))), np.array([step.axis])
    found, wanted = (m.transform(q, rest, np.zeros(1), given) for m in (step.motion, Helix))
    return not off.any() and np.allclose(found.E, wanted.E) and np.allclose(found.r, wanted.r)


for _kind in (Fixed, Revolute, Continuous, Prismatic, Helical, Universal, Planar, Spherical, Floating):
    register(_kind)


WELD, FREE = Fixed.name, Floating.name  # of the joint to a payload, and of that under a floating base
REVOLUTE, CONTINUOUS = Revolute.name, Continuous.name  # with limits, and without
SPHERICAL = Spherical.name


def joint_types() -> list[str]:
    """Names of all joint types."""
    return list(_TYPES)


def joint_type(name: str, *, where: str = "joint", joint: str = "") -> type[JointType]:
    """The joint type of that name, or an error naming the nearest."""
    try:
        return _TYPES[name]
    except KeyError:
        of = f' "{joint}"' if joint else ""
        raise PhalanxError(
            f'{where}: joint{of} has the type "{name}";{nearest(name, _TYPES, what="supported")}'
        ) from None


def pose_of(steps: list[JointBody], q: Any) -> np.ndarray:
    """4x4 pose of the joint's child side in its parent side at coordinates q (nq,)."""
    T = np.eye(4)
    q = np.asarray(q, dtype=float)
    for step in steps:
        rest = Transform(step.frame.T[None], np.zeros((1, 3)))
        n = step.motion.nq
        own = q[:n].copy()
        own[n - 4 :] = leveled(own[n - 4 :]) if n >= 4 else own[n - 4 :]  # a quaternion of any length
        # Products and sines of objects are those of single floats, the same on every processor.
        X = step.motion.transform(own.astype(object)[None], rest, np.zeros(1), np.array([step.axis]))
        E, r = (np.asarray(x[0], dtype=float) for x in (X.E, X.r))
        q = q[n:]
        local = np.eye(4)
        local[:3, :3] = product(E.T, step.frame.T)
        local[:3, 3] = r
        T = product(T, local)
    return T
