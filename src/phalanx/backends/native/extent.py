# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How long the code of a call would be, and so in which form it is compiled: known before any tracing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...program.task import RUN, cuts, refusal_of_loops
from ..base import Call

# Instructions up to which code is unrolled: about a second of compiling.
_UNROLLED = 8_000
_TIMES = {"jvp": 3, "vjp": 3, "hvp": 8}  # instructions of derivatives over those of a function


def serves(call: Call) -> bool:
    """Whether a call can be compiled in reasonable time: unrolled, or as loops over bodies."""
    return unrolls(call) or is_segmented(call) or rolls(call)


def is_segmented(call: Call) -> bool:
    """Whether lanes are segments or columns of a chain in one state, not states."""
    splits, model = call.algorithm.splits, call.robot.model
    return bool(splits) and cuts(model) and (splits == "segments" or model.n >= RUN)


def rolls(call: Call) -> bool:
    """Whether there are loops over bodies for a call."""
    return not refusal_of_loops(call.algorithm, call.robot.model)


def unrolls(call: Call) -> bool:
    """Whether a call becomes straight-line code; derivatives do wherever their function does."""
    a, most = call.algorithm, float(_UNROLLED)
    if a.derivative:
        most *= _TIMES["vjp"]
    elif not a.symmetric:  # loops over pairs take long beside arithmetic that knows a robot's zeros
        most *= 3.75 if a.assembles else 1.7
    return predicted_instructions(call) <= most and not is_segmented(call)


def is_straight(call: Call) -> bool:
    """Whether a call is compiled as straight-line code, also where that is long and the only way."""
    return unrolls(call) or not (is_segmented(call) or rolls(call))


def is_countable(call: Call) -> bool:
    """Whether the scalar program of a call is short enough to be traced for its operations."""
    return predicted_instructions(call) <= 2 * _UNROLLED


def is_writable(call: Call) -> bool:
    """Whether unrolling, where it is the only way, would not compile for minutes."""
    return predicted_instructions(call) <= 16 * _UNROLLED


def predicted_instructions(call: Call) -> int:
    """A guess, from the robot's shape alone, of what unrolling would give (within a factor of two)."""
    if mode := call.algorithm.derivative:
        plain = replace(call, algorithm=replace(call.algorithm, derivative=""))
        return _TIMES[mode] * predicted_instructions(plain)
    depth = call.robot.model.depth + 1.0
    n, work = len(depth), call.algorithm.work
    # Axes at right angles leave three entries of a rotation, general ones all nine.
    dense = max(1.0, np.count_nonzero(call.robot.model.rest.E) / (4.5 * max(n, 1)))
    if call.algorithm.side_by_side:
        return int(165 * dense * depth.sum())
    if not call.algorithm.symmetric and rolls(call):
        each = 32 if call.algorithm.function == "coriolis_matrix" else 62
        return int(each * dense * depth.sum()) + (_solving(call) if call.algorithm.assembles else 0)
    if "depth" in work:  # entries for pairs of bodies, perhaps their elimination
        return int(70 * n + 8 * depth.sum() + 0.5 * (depth**2).sum())
    if "n^3" in work:
        return 8 * n**3
    if "n^2" in work:
        return 30 * n**2
    forward, joined = call.algorithm.function == "forward_dynamics", "log" in work
    each = int(dense * ((450 if joined else 200) if forward else 75))
    # With a logarithm: a join for every body whenever the depth doubles.
    return each * n * (int(depth.max(initial=1)).bit_length() if joined else 1)


def _solving(call: Call) -> int:
    """A guess of what solving with the mass matrix for two matrices of derivatives takes."""
    model = call.robot.model
    if model.n > 100:
        return 16 * _UNROLLED
    above = np.zeros((model.n, model.n))
    for i in range(model.n):
        above[i, model.ancestors(i)] = 1.0
    root = above.argmax(axis=1)  # ancestors have lower numbers
    return int(3.2 * ((root[:, None] == root) @ np.maximum(above, above.T)).sum())
