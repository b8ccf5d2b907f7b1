# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What joints do by themselves in a simulation: dampers, springs, dry friction and limits from the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..robot.configurations import resistances
from ..robot.joints import at_least, choose_less
from ..robot.robot import Robot
from ..spatial import coarse

if TYPE_CHECKING:
    from .step import Settings

SLIDING = 1e-2  # rate [rad/s, m/s] from which dry friction is full
STOP_TIME = 0.02  # seconds in which a joint limit stops a joint
_STOP_STEPS = 4  # steps that this takes at least
_POSES, _FEW = 32, 40  # for which inertias are looked at, of so many joints at most


@dataclass(frozen=True)
class Stops:
    """One-sided springs and dampers beyond limits of some coordinates, and their rates."""

    sign: float  # 1 for lower limits
    coordinates: Any  # places, or a slice of them
    rates: Any
    limits: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray


@dataclass(frozen=True)
class JointForces:
    """Forces of the joints themselves; arrays (nv,) of numbers or scalars, or (…, nv) of numbers."""

    robot: Robot
    damping: np.ndarray
    friction: np.ndarray
    stiffness: np.ndarray
    rest: np.ndarray  # coordinates (nq,) at which springs rest
    stops: tuple[Stops, ...]

    def __call__(self, q: np.ndarray, qd: np.ndarray) -> tuple[Any, Any, Any]:
        """The forces (…, nv), and the stiffness and damping with which they resist."""
        damping = self.damping + self.friction / at_least(np.abs(qd), SLIDING)
        force = -(damping * qd)
        stiffness = np.zeros_like(force)
        for c in self.robot._coordinates if self.stiffness.any() else ():
            if (k := self.stiffness[..., c.v]).any():
                away = c.kind.difference(self.rest[None, c.q], q[None, ..., c.q])[0]
                force[..., c.v] = force[..., c.v] - k * away
                stiffness[..., c.v] = stiffness[..., c.v] + k
        for s in self.stops:
            room = (q[..., s.coordinates] - s.limits) * s.sign
            beyond = choose_less(room, 0.0, np.ones(room.shape, room.dtype), np.zeros(room.shape, room.dtype))
            stiff, damp = s.stiffness * beyond, s.damping * beyond
            push = at_least(-(stiff * room) - damp * s.sign * qd[..., s.rates], 0.0)
            force[..., s.rates] = force[..., s.rates] + push * s.sign
            stiffness[..., s.rates] = stiffness[..., s.rates] + stiff
            damping[..., s.rates] = damping[..., s.rates] + damp
        return force, stiffness, damping


def joint_forces(settings: Settings, parameters: Mapping[str, np.ndarray]) -> JointForces:
    """What the joints of a robot do in a simulation; parameters take the place of the file's numbers."""
    robot, nothing = settings.robot, np.zeros(settings.nv)
    own = robot._memoized("resistances", lambda: resistances(robot._assembly))
    damping = parameters.get("damping", own.damping if settings.damping else nothing)
    friction = parameters.get("friction", own.friction if settings.friction else nothing)
    stiffness = parameters.get("stiffness", own.stiffness if settings.springs else nothing)
    return JointForces(robot, damping, friction, stiffness, own.spring_reference, _stops(settings))


def _stops(settings: Settings) -> tuple[Stops, ...]:
    """Springs and dampers beyond the limits of coordinates, that stop what each joint moves in a short time.

    Critically damped for the most that a joint carries; with explicit steps no stiffer than the least
    inertia at a joint, its others free, lets them be.
    """
    robot, h = settings.robot, settings.dt
    limits = robot.limits
    if not settings.limits or not (np.isfinite(limits.lower).any() or np.isfinite(limits.upper).any()):
        return ()
    most, least = robot._memoized("inertias at joints", lambda: inertias_at_joints(robot))
    time = max(STOP_TIME, _STOP_STEPS * h)
    stiff, damp = most / (time * time), 2.0 * most / time
    if not settings.stiff:
        stiff = np.minimum(stiff, least / (4.0 * h * h))
        damp = np.minimum(2.0 * np.sqrt(stiff * least), least / (2.0 * h))
    places = [
        (k, i)
        for c in robot._coordinates
        if c.kind.quaternion is None
        for k, i in zip(range(c.q.start, c.q.stop), range(c.v.start, c.v.stop), strict=True)
    ]
    made = []
    for sign, bound in ((1.0, limits.lower), (-1.0, limits.upper)):
        if some := [(k, i) for k, i in places if np.isfinite(bound[k])]:
            at, rates = _places([k for k, _ in some]), _places([i for _, i in some])
            made.append(Stops(sign, at, rates, bound[at], stiff[rates], damp[rates]))
    return tuple(made)


def inertias_at_joints(robot: Any) -> tuple[np.ndarray, np.ndarray]:
    """The largest inertia (nv,) at each joint with all others held, the least with all others free.

    Over some poses, always the same; where there are many joints, in the neutral one.
    """
    poses, backend = (_POSES, "numpy") if robot.nv <= _FEW else (0, "auto")
    q = np.concatenate([robot.neutral()[None], robot.random_state((poses,), np.random.default_rng(0))[0]])
    held = np.diagonal(robot.mass_matrix(q, backend=backend), axis1=-2, axis2=-1)
    free = 1.0 / np.diagonal(robot.mass_matrix_inverse(q, backend=backend), axis1=-2, axis2=-1)
    return coarse(held.max(axis=0)), coarse(free.min(axis=0))


def _places(numbers: list[int]) -> list[int] | slice:
    """Places in an array, as a slice where they are neighbours: then nothing is copied."""
    first, end = numbers[0], numbers[-1] + 1
    return slice(first, end) if numbers == list(range(first, end)) else numbers
