# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pictures of what algorithms cost, how parallel they are and how they compare; simulations, recordings.

Every function returns a matplotlib figure and, given a `path`, also writes it (.png, .pdf, .svg).
"""

from .cost_figures import comparison, cost_over_n, speedup_over_processors
from .data_flow import data_flow
from .trajectories import motion, recorded
from .workspace_cut import reachability

__all__ = [
    "comparison",
    "cost_over_n",
    "data_flow",
    "motion",
    "reachability",
    "recorded",
    "speedup_over_processors",
]
