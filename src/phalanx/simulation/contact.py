# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Surroundings of a robot in a simulation, `px.contact`: rigid and compliant ground, springs and tendons."""

from .compliant import ground, spring, tendon
from .rigid import ball, box, height_field, plane, rigid

__all__ = ["ball", "box", "ground", "height_field", "plane", "rigid", "spring", "tendon"]
