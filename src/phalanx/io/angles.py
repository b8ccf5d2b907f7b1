# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rotations as files write them: right angles give exact zeros and ones."""

from __future__ import annotations

import math

import numpy as np

from ..spatial import arctan2, length, reproducible

_RIGHT_ANGLE = math.pi / 2
RIGHT_ANGLE_TOLERANCE = 1e-14  # what fifteen printed digits of pi/2 leave over


def cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine, exact at multiples of a right angle."""
    if angle == 0.0:
        return 1.0, 0.0
    quarter = round(angle / _RIGHT_ANGLE)
    if abs(angle - quarter * _RIGHT_ANGLE) <= RIGHT_ANGLE_TOLERANCE:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter % 4]
    return reproducible.cos_sin(angle)


def rotation_x(angle: float) -> np.ndarray:
    """Rotation about x."""
    c, s = cos_sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_z(angle: float) -> np.ndarray:
    """Rotation about z."""
    c, s = cos_sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_rpy(roll: float, pitch: float, yaw: float) -> tuple[float, ...]:
    """The rows of Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, sr), (cp, sp), (cy, sy) = cos_sin(roll), cos_sin(pitch), cos_sin(yaw)
    return (  # -0.0 becomes 0.0
        cy * cp + 0.0, cy * sp * sr - sy * cr + 0.0, cy * sp * cr + sy * sr + 0.0,
        sy * cp + 0.0, sy * sp * sr + cy * cr + 0.0, sy * sp * cr - cy * sr + 0.0,
        -sp + 0.0, cp * sr + 0.0, cp * cr + 0.0,
    )  # fmt: skip


def roll_pitch_yaw(turn: np.ndarray) -> tuple[float, float, float]:
    """Angles about fixed x, y, z whose rotation is `turn` (3, 3), to rounding everywhere.

    Where the pitch is a right angle only the sum of roll and yaw is defined; the yaw is taken from what
    the roll leaves over, so that their errors cancel nearby too.
    """
    flat = length(float(turn[2, 1]), float(turn[2, 2]))
    roll = arctan2(turn[2, 1], turn[2, 2]) if flat > 1e-15 else 0.0
    c, s = cos_sin(roll)
    yaw = arctan2(s * turn[0, 2] - c * turn[0, 1], c * turn[1, 1] - s * turn[1, 2])
    return roll + 0.0, arctan2(-turn[2, 0], flat) + 0.0, yaw + 0.0
