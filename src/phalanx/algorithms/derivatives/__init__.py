# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of the dynamics."""

from . import coriolis, forward, idsva, regressor

__all__ = ["coriolis", "forward", "idsva", "regressor"]
