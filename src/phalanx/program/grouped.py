# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Lower a call to a program for work-groups: the items of a group share the links of one state.

Algorithms that cut a chain have one segment for each item. All others have one link: linear and associative
sweeps run by recursive doubling, eliminations level by level, columns of matrices side by side. What no items
can share, such as the recursion of articulated inertias, is computed by one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

from ..errors import PhalanxError, shown
from ..robot.frames import placement_of
from .ir import Buffer, ParallelFor, Program, statements
from .lowering import loop_task
from .passes.iterations import in_single_iterations, lanes_as_iterations
from .passes.nonfinite import spread
from .passes.specialise import specialise
from .task import SEGMENTS, Call, cuts, refusal_of_loops


@dataclass(frozen=True)
class GroupProgram:
    """The program of one state for a work-group."""

    program: Program
    form: str  # what the items share

    @property
    def barriers(self) -> int:
        """Parallel loops in the code, each followed by a barrier; those in loops count once."""
        return sum(isinstance(s, ParallelFor) for s in statements(self.program.body))


def grouped(call: Call, optional: tuple[str, ...], items: int) -> GroupProgram:
    """The program with which the `items` work-items of a group compute one state together."""
    require_shared(call)
    if call.algorithm.splits == SEGMENTS or (call.segments is not None and not call.is_matrix):
        return _in_segments(call, optional, items)
    from .rolled import roll  # only what has loops imports them

    made = roll(loop_task(call, optional), doubling=True).grouped(items)
    form = f"{call.robot.model.n} links over {items} work-items, sweeps by doubling"
    frame = placement_of(call.robot, call.frame).numbers().tolist() if call.function.frame else ()
    return GroupProgram(_for_items(specialise(made, frame)), form)


def _in_segments(call: Call, optional: tuple[str, ...], items: int) -> GroupProgram:
    from .rolled.segments.roll import roll_segments

    n, given = call.robot.model.n, dict(call.options).get(SEGMENTS)
    # One segment after another is joined: as many as links in each.
    count = min(items, isqrt(n - 1) + 1) if given is None else given
    options = tuple(sorted({**dict(call.options), SEGMENTS: count}.items()))
    loops = roll_segments(loop_task(replace(call, options=options), optional))
    made = lanes_as_iterations(loops.built(len(loops.bodies), lockstep=False))
    form = f"{len(loops.bodies)} segments of {n} links over {items} work-items"
    return GroupProgram(_for_items(made), form)


def _for_items(program: Program) -> Program:
    return in_single_iterations(spread(program, in_parallel=True))


def require_shared(call: Call) -> None:
    """Raise unless the work-items of a group can share a call."""
    a, robot = call.algorithm, call.robot
    where, remedy = f"{call.function.name}: ", "leave out group="
    reason = ""
    if a.derivative:
        reason = "derivatives of a function have no form for work-groups"
    elif not cuts(robot.model):
        reason = f'the work-items of a group share the links of a chain, and robot "{robot.name}" is none'
    elif robot.model.n < 2:
        reason = f'robot "{robot.name}" has one body, which no work-items can share'
    elif a.splits != SEGMENTS and (refusal := refusal_of_loops(a, robot.model)):
        reason = f'algorithm "{a.name}" has no loops that work-items could share: {refusal}'
        remedy += " or take another algorithm"
    if reason:
        raise PhalanxError(f"{where}{reason}; {remedy}.")


def local_offsets(program: Program, element: int, most: int) -> dict[Buffer, int]:
    """The scratch buffers that fit into `most` bytes of local memory, smallest first, and where each begins.

    Numbers have `element` bytes; offsets are numbers.
    """
    found: dict[Buffer, int] = {}
    numbers = 0
    for buffer in sorted(program.scratch, key=lambda b: b.size):
        if (numbers + buffer.size) * element <= most and buffer.size:
            found[buffer] = numbers
            numbers += buffer.size
    return found


def items_of(group: Any) -> int:
    """The work-items of a group, checked."""
    if isinstance(group, bool) or not isinstance(group, int) or group < 1:
        raise PhalanxError(
            f"kernel: group={shown(group)}, expected the work-items of a group, a positive integer such as "
            "64, or None for one state in each work-item."
        )
    return group
