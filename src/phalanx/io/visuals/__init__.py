# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What robots look like: shapes from files, or made from kinematics and inertias."""

from .scene import PlacedShape, Scene, visuals
from .shapes import Surface, Visual

__all__ = ["PlacedShape", "Scene", "Surface", "Visual", "visuals"]
