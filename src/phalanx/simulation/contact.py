# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Surroundings of a robot, `px.contact`: shapes, rigid and compliant ground, springs and tendons."""

from ..io.visuals.covering import capsules, spheres
from ..robot.collision import box, capsule, pairs, plane, sphere
from .compliant import ground, spring, tendon
from .rigid import height_field, rigid

__all__ = [
    "box", "capsule", "capsules", "ground", "height_field", "pairs", "plane", "rigid", "sphere", "spheres",
    "spring", "tendon",
]  # fmt: skip
