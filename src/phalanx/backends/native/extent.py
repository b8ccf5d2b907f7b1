# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What is known of a kernel's form without its program: whether there are loops or segments for a call."""

from __future__ import annotations

from ...program.task import cuts, refusal_of_loops
from ..base import Call

# Bodies up to which a call may become straight-line code.
MOST_BODIES = 106


def serves(call: Call) -> bool:
    """Whether a call can be compiled in reasonable time: a robot without bodies needs no loops."""
    return is_segmented(call) or rolls(call) or call.robot.model.n == 0


def is_segmented(call: Call) -> bool:
    """Whether lanes are segments of a chain in one state, not states."""
    return call.algorithm.splits == "segments" and cuts(call.robot.model)


def rolls(call: Call) -> bool:
    """Whether there are loops over bodies for a call."""
    return not refusal_of_loops(call.algorithm, call.robot.model)
