# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What joints do by themselves in a simulation: dampers, springs, dry friction and limits from the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..program.scalar import Graph
from ..robot.robot import Robot

if TYPE_CHECKING:
    from .step import Settings

SLIDING = 1e-2  # rate [rad/s, m/s] from which dry friction is full
STOP_TIME = 0.02  # seconds in which a joint limit stops a joint
_STOP_STEPS = 4  # steps that this takes at least
_POSES, _FEW = 32, 40  # for which inertias are looked at, of so many joints at most


@dataclass(frozen=True)
class JointForces:
    """Forces of the joints themselves; arrays (nv,) of numbers or scalars, limits by coordinate."""

    robot: Robot
    damping: np.ndarray
    friction: np.ndarray
    stiffness: np.ndarray
    stops: tuple[tuple[int, int, float, float, float, float], ...]  # coordinate, rate, lower, upper, k, d

    def __call__(self, graph: Graph, q: np.ndarray, qd: np.ndarray) -> tuple[Any, Any, Any]:
        """The forces (nv,), and the stiffness and damping with which they resist."""
        n = self.robot.nv
        stiffness, damping = np.zeros(n, dtype=object), np.zeros(n, dtype=object)
        damping = damping + self.damping
        force = -(self.damping * qd)
        for i in range(n):
            if _is_some(self.friction[i]):
                slip = self.friction[i] / graph.maximum(graph.abs(qd[i]), SLIDING)
                force[i] = force[i] - slip * qd[i]
                damping[i] = damping[i] + slip
        force, stiffness = self._springs(force, stiffness, q)
        for k, i, lower, upper, stiff, damp in self.stops:
            for sign, limit in ((1.0, lower), (-1.0, upper)):
                if np.isfinite(limit):
                    depth = graph.maximum(sign * (limit - q[k]), 0.0)
                    inside = graph.less(0.0, depth)
                    push = graph.maximum(stiff * depth - damp * inside * sign * qd[i], 0.0)
                    force[i] = force[i] + sign * push
                    stiffness[i] = stiffness[i] + stiff * inside
                    damping[i] = damping[i] + damp * inside
        return force, stiffness, damping

    def _springs(self, force: Any, stiffness: Any, q: np.ndarray) -> tuple[Any, Any]:
        if not self.stiffness.any():
            return force, stiffness
        rest = self.robot.spring_reference
        for c in self.robot.coordinates:
            k = self.stiffness[c.v]
            if k.any():
                force[c.v] = force[c.v] + k * c.kind.difference(q[None, c.q], rest[None, c.q])[0]
                stiffness[c.v] = stiffness[c.v] + k
        return force, stiffness


def joint_forces(settings: Settings, parameters: Mapping[str, np.ndarray]) -> JointForces:
    """What the joints of a robot do in a simulation; parameters take the place of the file's numbers."""
    robot, nothing = settings.robot, np.zeros(settings.nv)
    damping = parameters.get("damping", robot.damping if settings.damping else nothing)
    friction = parameters.get("friction", robot.friction if settings.friction else nothing)
    stiffness = robot.stiffness if settings.springs else nothing
    return JointForces(robot, damping.astype(object), friction.astype(object), stiffness, _stops(settings))


def _stops(settings: Settings) -> tuple[Any, ...]:
    """Springs and dampers beyond the limits of coordinates, that stop what each joint moves in a short time.

    Critically damped for the most that a joint carries; with explicit steps no stiffer than the least
    inertia at a joint, its others free, lets them be.
    """
    robot, h = settings.robot, settings.dt
    limits = robot.limits
    if not settings.limits or not (np.isfinite(limits.lower).any() or np.isfinite(limits.upper).any()):
        return ()
    most, least = inertias_at_joints(robot)
    time = max(STOP_TIME, _STOP_STEPS * h)
    stiff, damp = most / time**2, 2.0 * most / time
    if settings.integrator != "implicit":
        stiff = np.minimum(stiff, least / (2.0 * h) ** 2)
        damp = np.minimum(2.0 * np.sqrt(stiff * least), least / (2.0 * h))
    made = []
    for c in robot.coordinates:
        if c.kind.quaternion is not None:
            continue
        for k, i in zip(range(c.q.start, c.q.stop), range(c.v.start, c.v.stop), strict=True):
            lower, upper = float(limits.lower[k]), float(limits.upper[k])
            if np.isfinite(lower) or np.isfinite(upper):
                made.append((k, i, lower, upper, float(stiff[i]), float(damp[i])))
    return tuple(made)


def inertias_at_joints(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """The largest inertia (nv,) at each joint with all others held, the least with all others free.

    Over some poses, always the same; where there are many joints, in the neutral one.
    """
    poses = _POSES if robot.nv <= _FEW else 0
    q = np.concatenate([robot.neutral()[None], robot.random_state((poses,), np.random.default_rng(0))[0]])
    held = np.diagonal(robot.mass_matrix(q, backend="numpy"), axis1=-2, axis2=-1)
    free = 1.0 / np.diagonal(robot.mass_matrix_inverse(q, backend="numpy"), axis1=-2, axis2=-1)
    return held.max(axis=0), free.min(axis=0)


def _is_some(x: Any) -> bool:
    return not isinstance(x, float) or x != 0.0
