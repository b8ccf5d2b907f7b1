# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a kernel costs: the operations that it carries out for one state."""

from __future__ import annotations

from ...errors import PhalanxError
from ...program.cost import Cost, cost_of
from ...program.loops import cost_of_loops
from ..base import Call
from .extent import predicted_instructions
from .source import looped, traced

LONGEST = 1_000_000  # operations: about a minute of writing out


def kernel_cost(call: Call) -> Cost:
    """The cost of the kernel of a call, every instruction as often as it is carried out.

    Paths and widths of loops are those of the same equations written out; loops that are too long for
    that have none.
    """
    loops = looped(call, ())
    if loops is None:
        require_short(call)
        return cost_of(traced(call, ()), fused=True).named(call.robot)
    short = predicted_instructions(call) <= LONGEST
    written_out = cost_of(traced(call, ()), fused=True) if short else None
    return cost_of_loops(loops.built(), call.function.symbol, written_out).named(call.robot)


def require_short(call: Call) -> None:
    """Raise if equations would be too long to write out: every operation is an object."""
    if (expected := predicted_instructions(call)) > LONGEST:
        raise PhalanxError(
            f'cost: the program of algorithm "{call.algorithm.name}" for robot "{call.robot.name}" '
            f"({call.robot.model.n} bodies) has about {expected:,} operations, more than {LONGEST:,}; "
            "count a shorter chain, or ask px.closed_form for a formula in n."
        )
