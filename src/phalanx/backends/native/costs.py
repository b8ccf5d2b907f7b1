# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a kernel costs: the operations that it carries out for one state."""

from __future__ import annotations

from functools import partial

from ...errors import PhalanxError
from ...program.cost import Cost, Count, cost_of
from ...program.form.critical_path import carried_out
from ...program.loops import cost_of_loops
from ..base import Call
from .lowering import lowered, operations_in_loops, traced, unrolls

LONGEST = 1_000_000  # operations: about a minute of writing out
_WALKED = 5_000_000  # operations in loops whose path is found in some seconds
_QUICK = 20_000  # operations in loops that are counted in a moment


def kernel_cost(call: Call) -> Cost:
    """The cost of the kernel of a call, every instruction as often as it is carried out.

    Critical path and width of loops are those of the operations that the loops carry out, in their order.
    """
    made = lowered(call, ())
    form = str(made.form)
    if made.loops is None:
        return cost_of(traced(call, ()), fused=True, form=form).named(call.robot)
    program = made.loops.built()
    found = cost_of_loops(program, call.function.symbol, form=form)
    if found.total <= _WALKED:
        # Segments in lanes depend on each other as in a row; columns in lanes are another program in a row.
        path, width = carried_out(program if program.lanes == 1 else made.loops.built(1))
        found = found.with_path(Count(*path), width) if sum(width) == found.total else found
    return found.with_written_out(partial(_written_out, call)).named(call.robot)


def _written_out(call: Call) -> Cost:
    """The cost of the equations of a call, written out, none of them in a loop."""
    require_short(call)
    return cost_of(traced(call, ()), fused=True).named(call.robot)


def is_countable(call: Call) -> bool:
    """Whether counting a call, its critical path included, takes no longer than a second or two."""
    return unrolls(call) or operations_in_loops(call) <= _QUICK


def require_short(call: Call) -> None:
    """Raise if equations would be too long to write out: every operation is an object."""
    if (expected := operations_in_loops(call)) > LONGEST:
        raise PhalanxError(
            f'cost: the program of algorithm "{call.algorithm.name}" for robot "{call.robot.name}" '
            f"({call.robot.model.n} bodies) has about {expected:,} operations, more than {LONGEST:,}; "
            "count a shorter chain, or ask px.closed_form for a formula in n."
        )
