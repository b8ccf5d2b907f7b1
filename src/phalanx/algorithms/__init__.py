# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One file per published algorithm, equations only; importing a file registers it."""

from . import center_of_mass, derivatives, energy, forward, inertia, inverse, kinematics, momentum
from .registry import (
    ALGORITHMS,
    ALIASES,
    FUNCTIONS,
    NOTHING,
    Algorithm,
    Function,
    FunctionSpec,
    algorithms,
    default_algorithm,
    find,
    functions_algorithms,
    require_covered,
)

__all__ = [
    "ALGORITHMS",
    "ALIASES",
    "FUNCTIONS",
    "NOTHING",
    "Algorithm",
    "Function",
    "FunctionSpec",
    "algorithms",
    "center_of_mass",
    "default_algorithm",
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
