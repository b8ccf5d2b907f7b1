# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Targets of frames in inverse kinematics (`px.target`), besides whole poses and positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import real_numbers
from ..errors import PhalanxError, shown

__all__ = ["FrameTarget", "axis", "look_at", "point", "pose"]

POSE, POINT, AXIS, LOOK_AT, MASS_CENTER = "pose", "point", "axis", "look_at", "center_of_mass"
SHAPES = {POSE: (4, 4), POINT: (3,), AXIS: (3,), LOOK_AT: (3,), MASS_CENTER: (3,)}
ROWS = {POSE: 6, POINT: 3, AXIS: 2, LOOK_AT: 2, MASS_CENTER: 3}
# Of the residual of each kind: how many rows, and whether they are turns (0) or distances (1).
PARTS = {
    POSE: ((3, 0), (3, 1)),
    POINT: ((3, 1),),
    AXIS: ((2, 0),),
    LOOK_AT: ((2, 0),),
    MASS_CENTER: ((3, 1),),
}
Z = (0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class FrameTarget:
    """A target of a frame; made by `px.target.pose`, `point`, `axis` and `look_at`."""

    kind: str
    value: Any = None  # (…, 4, 4) or (…, 3)
    at: tuple[float, ...] = (0.0, 0.0, 0.0)  # the point of the frame that is moved there
    axis: tuple[float, ...] = Z  # the axis of the frame that is turned there

    @property
    def key(self) -> tuple[Any, ...]:
        """The part of the target that determines the compiled program."""
        return self.kind, self.at, self.axis

    @property
    def rows(self) -> int:
        """The number of residuals."""
        return ROWS[self.kind]


def pose(value: Any) -> FrameTarget:
    """A pose (…, 4, 4) of the frame in the base frame of the file."""
    return _target(POSE, value, "pose")


def point(value: Any, *, at: Sequence[float] = (0.0, 0.0, 0.0)) -> FrameTarget:
    """A position (…, 3) for the point `at` of the frame, in its own axes; its orientation is free."""
    return _target(POINT, value, "point", at=_vector(at, "point: at"))


def axis(value: Any, *, axis: Sequence[float] = Z) -> FrameTarget:
    """A direction (…, 3) in the base for an `axis` of the frame, by default z; turns about it are free."""
    return _target(AXIS, value, "axis", axis=_direction(axis, "axis: axis"))


def look_at(value: Any, *, axis: Sequence[float] = Z) -> FrameTarget:
    """A point (…, 3) of the base at which an `axis` of the frame, by default z, points."""
    return _target(LOOK_AT, value, "look_at", axis=_direction(axis, "look_at: axis"))


def across(direction: Sequence[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A right-handed orthonormal basis whose third vector is a direction."""
    third = np.asarray(direction, dtype=float)
    least = np.eye(3)[int(np.argmin(np.abs(third)))]
    first = np.cross(third, least)
    first /= np.sqrt((first * first).sum())
    second = np.cross(third, first)
    return first, second, third


def _target(kind: str, value: Any, where: str, **more: Any) -> FrameTarget:
    real_numbers(value, f"target.{where}: value", f"real numbers (…, {', '.join(map(str, SHAPES[kind]))})")
    return FrameTarget(kind, value, **more)


def _vector(value: Any, where: str) -> tuple[float, ...]:
    array = real_numbers(value, f"target.{where}", "three finite numbers")
    if array.shape != (3,) or not np.isfinite(array).all():
        raise PhalanxError(f"target.{where} is {shown(value)}, expected three finite numbers.")
    return tuple(map(float, array))


def _direction(value: Any, where: str) -> tuple[float, ...]:
    array = np.array(_vector(value, where))
    length = float(np.sqrt((array * array).sum()))
    if not 0.0 < length < np.inf:
        raise PhalanxError(f"target.{where} is {shown(value)}, expected a direction; it has no length.")
    return tuple(map(float, array / length))
