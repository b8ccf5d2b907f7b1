# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a function of a robot costs: operations, longest path, width, bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..analysis.conventions import Convention, convention_of
from ..analysis.cost import Cost, cost_of
from ..backends.base import Call
from ..dispatch import resolve
from ..errors import PhalanxError, nearest
from ..ir.trace import Program, trace
from ..robot import Robot

LEVELS = ("none", "semi", "full")
_LONGEST = 1_000_000  # operations: about a minute of counting


def cost(
    robot: Robot,
    function: str,
    algorithm: Any = "auto",
    *,
    customise: str = "full",
    convention: str | None = None,
    frame: str | None = None,
) -> Cost:
    """Operations of one state of a function by an algorithm, from the traced program.

    `customise` tells what of the robot is used. "none": nothing, the general equations with z0, base
    motion and tip wrench symbolic, nothing folded or shared. "semi": structure (z0, the zero of A,
    inertias without products where the robot has none). "full": the program that the kernel runs,
    instruction by instruction; where loops over bodies take the place of straight-line code, the
    same equations written out.

    `convention` names whose bookkeeping decides what is charged: one of
    `phalanx.analysis.conventions.CONVENTIONS`. None is that of the algorithm's source for "none" and
    "semi", and "program", which counts everything, for "full".

    | convention | charges |
    |---|---|
    | program | every operation; sines and cosines are counted apart, here and below |
    | zomaya_morris | none: everything; semi: A, p, A' z0 and the projection are free |
    | lathrop | A, p, A' z and the joints' rates are free; the projection is charged |
    | lathrop_linear | as lathrop, the projection free too (eq. 1) |
    | lathrop_online | as lathrop_linear, rates and projection charged (eq. 5) |
    | kane | p, p + s and moments of single links are free; A is charged |
    | inertia_matrix | p* and the links' constants are free; U and composite masses are charged |

    Of the result: `multiplications`, `additions`, `divisions`, `trigonometric`, `total` (the first
    three), `span` (along the longest path), `span_with(multiplication=…, addition=…)`, `width`,
    `by_quantity`, `by_link`, `bytes`.
    """
    program, rules = program_of(robot, function, algorithm, customise, convention, frame)
    found = cost_of(
        program,
        free=rules.free_quantities(customise),
        fused=customise == "full" and rules.name == "program",
        customise=customise,
        convention=rules.name,
    )
    return found.named(lambda body: _link_name(robot, body))


def program_of(
    robot: Robot,
    function: str,
    algorithm: Any = "auto",
    customise: str = "full",
    convention: str | None = None,
    frame: str | None = None,
) -> tuple[Program, Convention]:
    """The program that a cost is counted on, and the convention that says what is charged."""
    if customise not in LEVELS:
        raise PhalanxError(f"cost: customise={customise!r};{nearest(customise, LEVELS, what='levels')}")
    call = resolve(robot, function, algorithm, frame)
    rules = convention_of(convention, call.algorithm.name, customise)
    _require_short(call)
    f = call.function
    if customise == "full" and rules.name == "program" and robot.model.n:
        from ..backends.native.build import traced  # llvmlite takes a while to import

        return traced(call, ()), rules
    optional = [] if customise == "full" else [name for name in f.optional if name in rules.inputs]
    program = trace(
        call.algorithm,
        robot.model,
        {name: call.sizes(f.inputs[name]) for name in f.inputs},
        {name: call.sizes(f.optional[name]) for name in optional},
        call.sizes(f.output),
        call.arguments(),
        customise,
        rules.bookkeeping(customise),
    )
    return program, rules


def _require_short(call: Call) -> None:
    """Raise if the program would be too long to hold: every operation is an object."""
    from ..backends.native.build import predicted_instructions

    if call.robot.model.n and (expected := predicted_instructions(call)) > _LONGEST:
        raise PhalanxError(
            f'cost: the program of algorithm "{call.algorithm.name}" for robot "{call.robot.name}" '
            f"({call.robot.model.n} bodies) has about {expected:,} operations, more than {_LONGEST:,}; "
            "count a shorter chain, or ask px.closed_form for a formula in n."
        )


def _link_name(robot: Robot, body: int) -> str:
    """The link that a body belongs to; what belongs to none is the world's."""
    return robot.link_names[int(np.searchsorted(robot.model.links, body))] if body >= 0 else "world"
