# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Residuals of targets and their Jacobians, as scalars of one graph.

A residual is a motion that leads to the target, along the axes of the base: [angular; linear] for a pose.
Turns by an angle x are 2 sin(x / 2) long: that grows up to half a turn, and needs no inverse sine. The
Jacobian is that of the frame, exact at the solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..constraints.compiled import closing
from ..program.graph import Graph
from ..robot.description import Constraint
from ..tracing.arrays import Traced
from ..tracing.equations import TracedRobot
from .target import AXIS, LOOK_AT, MASS_CENTER, POINT, POSE, FrameTarget, across

_FLAT = 1e-6  # of the squared cosine of half an angle: near half a turn
_ASKEW = np.array([0.36, 0.48, 0.8])


@dataclass(frozen=True)
class Rows:
    """The rows of one target: a residual, its Jacobian, and the parts whose lengths count as errors."""

    residual: np.ndarray
    jacobian: np.ndarray
    parts: list[Part]


class Part(NamedTuple):
    """Rows whose length is an error, whether it is a turn, and if known one plus the cosine of its angle."""

    rows: slice
    is_turn: bool
    whole: Any = None


def rows_of(
    view: TracedRobot, graph: Graph, q: np.ndarray, name: str, kind: FrameTarget, given: np.ndarray
) -> Rows:
    """The rows of a target with the numbers `given`."""
    at = Traced(q)
    if kind.kind == MASS_CENTER:
        jacobian = view.center_of_mass_jacobian(at).scalars
        return Rows(given - view.center_of_mass(at).scalars, jacobian, [Part(slice(0, 3), False)])
    pose, jacobian = view.frame_pose(at, name).scalars, view.jacobian(at, name).scalars
    rotation, origin = pose[:3, :3], pose[:3, 3]
    turning, moving = jacobian[:3], jacobian[3:]
    if kind.kind == POSE:
        wanted = given.reshape(4, 4)
        twice: Any = sum(np.cross(rotation[:, k], wanted[:3, k]) for k in range(3))
        trace = sum((rotation[:, k] * wanted[:3, k]).sum() for k in range(3))
        cosine = 0.5 * (trace - 1.0)
        residual = np.concatenate([_half(graph, 0.5 * twice, cosine, _ASKEW), wanted[:3, 3] - origin])
        return Rows(residual, jacobian, [Part(slice(0, 3), True, 1.0 + cosine), Part(slice(3, 6), False)])
    if kind.kind == POINT:
        arm = rotation @ np.asarray(kind.at, dtype=float).astype(object)
        point = moving + _cross(turning, arm) if any(kind.at) else moving
        return Rows(given - origin - (arm if any(kind.at) else 0.0), point, [Part(slice(0, 3), False)])
    first, second, third = across(kind.axis)
    axis, basis = rotation @ third.astype(object), [rotation @ x.astype(object) for x in (first, second)]
    if kind.kind == AXIS:
        toward, extra = given * (1.0 / graph.sqrt((given * given).sum())), None
    else:
        assert kind.kind == LOOK_AT
        way = given - origin
        scale = 1.0 / graph.sqrt(graph.maximum((way * way).sum(), _FLAT))
        toward = way * scale
        extra = -_cross(moving, toward) * scale
    cosine = (axis * toward).sum()
    turn = _half(graph, np.cross(axis, toward), cosine, basis[0])
    turned = turning if extra is None else turning + extra
    residual = np.array([(b * turn).sum() for b in basis], dtype=object)
    rows = np.array([b @ turned for b in basis], dtype=object)
    return Rows(residual, rows, [Part(slice(0, 2), True, 1.0 + cosine)])


def closure_rows(view: TracedRobot, q: np.ndarray, constraints: Sequence[Constraint]) -> list[Rows]:
    """The rows that keep the loops of a robot closed."""
    if not constraints:
        return []
    found = closing(view._equations, constraints, q)
    return [Rows(-found.error, found.jacobian, [Part(*part) for part in found.parts])]


def _half(graph: Graph, sine: np.ndarray, cosine: Any, elsewhere: np.ndarray) -> np.ndarray:
    """The axis of a turn, 2 sin(angle / 2) long, from that of length sin(angle).

    At half a turn the latter vanishes: there it is turned about an axis `elsewhere`.
    """
    half = 0.5 + 0.5 * cosine
    found = sine * (1.0 / graph.sqrt(graph.maximum(half, _FLAT)))
    is_flat = graph.less(half, _FLAT)
    return np.array(
        [graph.choose(is_flat, 2.0 * y, x) for x, y in zip(found.tolist(), elsewhere.tolist(), strict=True)],
        dtype=object,
    )


def _cross(columns: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The cross products of the columns of a matrix (3, n) with a vector."""
    made: np.ndarray = np.cross(columns, v, axisa=0, axisc=0)
    return made
