# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What is known of a kernel's form without its program: whether there are loops or segments for a call."""

from __future__ import annotations

from ...program.task import RUN, cuts, refusal_of_loops
from ..base import Call

# Bodies up to which a call that has loops may become straight-line code instead.
MOST_BODIES = 106
# Pairs of bodies and ancestors up to which "auto" compiles what has no loops; derivatives weigh more.
_PAIRS = 400
_TIMES = {"jvp": 3, "vjp": 3, "hvp": 8}


def serves(call: Call) -> bool:
    """Whether a call can be compiled in reasonable time: what has no loops only for short robots."""
    pairs = _TIMES.get(call.algorithm.derivative, 1) * int((call.robot.model.depth + 1).sum())
    return is_segmented(call) or rolls(call) or pairs <= _PAIRS


def is_segmented(call: Call) -> bool:
    """Whether lanes are segments or columns of a chain in one state, not states."""
    splits, model = call.algorithm.splits, call.robot.model
    return bool(splits) and cuts(model) and (splits == "segments" or model.n >= RUN)


def rolls(call: Call) -> bool:
    """Whether there are loops over bodies for a call."""
    return not refusal_of_loops(call.algorithm, call.robot.model)
