# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Recorded trajectories: opened lazily from any format, and functions computed for every frame."""

from .differentiation import differentiate
from .engine import RunReport, run
from .recording import Recording, open
from .transform import BatchTransform, transform

__all__ = ["BatchTransform", "Recording", "RunReport", "differentiate", "open", "run", "transform"]
