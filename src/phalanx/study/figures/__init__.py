# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pictures of what algorithms cost, how parallel they are and how they compare; simulations, recordings.

Every function returns a matplotlib figure and, given a `path`, also writes it (.png, .pdf, .svg).
"""

from .comparison import comparison
from .cost_over_n import cost_over_n
from .data_flow import data_flow
from .motion import motion
from .recorded import recorded
from .speedup import speedup_over_processors

__all__ = ["comparison", "cost_over_n", "data_flow", "motion", "recorded", "speedup_over_processors"]
