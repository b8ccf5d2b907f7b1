# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a kernel costs: the operations that it carries out for one state."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import PhalanxError
from ...program.cost import Cost, Count, Flow, cost_of, flow_of_kernel
from ...program.form.critical_path import critical_path
from ...program.loops import cost_of_loops
from ...program.rolled import RolledProgram
from ..base import Call
from .lowering import lowered, operations_in_loops, traced, unrolls

LONGEST = 1_000_000  # operations: about a minute of writing out
_WALKED = 5_000_000  # operations in loops whose path is found in some seconds
_QUICK = 20_000  # operations in loops that are written out in a second or two


def kernel_cost(call: Call) -> Cost:
    """The cost of the kernel of a call, every instruction as often as it is carried out.

    The critical path and the width of loops are those of the same equations written out. Where loops keep
    the order of the equations, a walk over the loops finds the path; else, and for the width, they are
    written out, unless that would take too long.
    """
    made = lowered(call, ())
    form = str(made.form)
    if made.loops is None:
        return cost_of(traced(call, ()), fused=True, form=form).named(call.robot)
    operations, program = operations_in_loops(call), made.loops.built()

    def written_out() -> Flow:
        return flow_of_kernel(traced(call, ()))

    is_short = operations <= LONGEST
    flow: Flow | Callable[[], Flow] | None = written_out if is_short else None
    span = Count()
    keeps_order = isinstance(made.loops, RolledProgram) and made.loops.keeps_order
    if keeps_order and program.lanes == 1 and operations <= _WALKED:
        span = Count(*critical_path(program))
    elif is_short:
        flow = written_out()
        span = flow.longest()
    return cost_of_loops(program, call.function.symbol, span, form).with_flow(flow).named(call.robot)


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
