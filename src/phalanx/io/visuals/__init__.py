# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What robots look like: shapes from files, or made from kinematics and inertias."""

from .scene import Part, Scene, visuals
from .shapes import Surface, Visual

__all__ = ["Part", "Scene", "Surface", "Visual", "visuals"]
