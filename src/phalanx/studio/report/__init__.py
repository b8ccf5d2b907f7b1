# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A report of a robot: one self-contained page, which needs no server and no network."""

from .writing import Report, report

__all__ = ["Report", "report"]
