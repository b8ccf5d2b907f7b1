# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One file per published algorithm, equations only; importing a file registers it."""

from . import center_of_mass, derivatives, energy, forward, inertia, inverse, kinematics, momentum
from .registry import (
    ALGORITHMS,
    FUNCTIONS,
    NOTHING,
    Algorithm,
    Function,
    algorithms,
    find,
    functions_algorithms,
    require_covered,
)

__all__ = [
    "ALGORITHMS",
    "FUNCTIONS",
    "NOTHING",
    "Algorithm",
    "Function",
    "algorithms",
    "center_of_mass",
    "derivatives",
    "energy",
    "find",
    "forward",
    "functions_algorithms",
    "inertia",
    "inverse",
    "kinematics",
    "momentum",
    "require_covered",
]
