# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Recorded trajectories: opened lazily from any format, and functions computed for every frame.

A `recording` consists of sources (`source`, `formats/`), whose columns `binding` maps to the coordinates of a
robot. A run is a `job`, cut into tasks; `engine` computes them, here or on a cluster (`cluster`), and `store`
holds finished parts until `folder` puts the output in its place.
"""

from .differentiation import differentiate
from .engine import RunReport, run
from .recording import Recording, open
from .transform import BatchTransform, transform

__all__ = ["BatchTransform", "Recording", "RunReport", "differentiate", "open", "run", "transform"]


def __dir__() -> list[str]:
    return sorted(__all__)
