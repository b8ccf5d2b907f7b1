# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of the dynamics."""

from . import coriolis, forward, idsva, regressor

# The first algorithm to be registered is the default.
# isort: split
from . import carpentier_mansard

__all__ = ["carpentier_mansard", "coriolis", "forward", "idsva", "regressor"]
