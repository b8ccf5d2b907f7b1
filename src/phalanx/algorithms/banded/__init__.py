# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Block-tridiagonal systems: one interface, three orders of elimination."""

from .solvers import SOLVERS, cyclic_reduction, odd_even, serial

__all__ = ["SOLVERS", "cyclic_reduction", "odd_even", "serial"]
