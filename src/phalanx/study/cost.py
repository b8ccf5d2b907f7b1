# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a function of a robot costs: operations, critical path, width, bytes."""

from __future__ import annotations

from typing import Any

from ..dispatch import resolve
from ..errors import PhalanxError, is_one_of, nearest, shown
from ..products import derivative_of
from ..program.analyses.cost import Cost, cost_of
from ..program.ir import Program
from ..program.task import Call
from ..program.trace import trace
from ..robot.robot import Robot
from ..typing import AlgorithmLike, Customise
from .conventions import Convention, convention_of

LEVELS = ("none", "semi", "full")
PRODUCTS = ("jvp", "vjp", "hvp")


def cost(
    robot: Robot,
    function: str,
    algorithm: AlgorithmLike = "auto",
    *,
    customise: Customise = "full",
    convention: str | None = None,
    frame: str | None = None,
    derivative: str | None = None,
) -> Cost:
    """Operations of one state of a function by an algorithm, from the traced program.

    `customise` says what of the robot is used. "none": nothing, the general equations with z0, base
    motion and tip wrench symbolic, nothing folded or shared. "semi": structure (z0, the zero of A,
    inertias without products where the robot has none). "full": every instruction of the kernel, as often
    as it is carried out for one state. Kernels of long robots are loops over bodies (`looped`): they
    compute the same for every body, whatever its zeros, and some values twice instead of storing them; what
    the equations join in a tree they may compute one body after another. Operations, `span` and `width` are
    all of the loops then (the last two are empty beyond five million operations), and `written_out` is the
    cost of the same equations without loops, trees and all. `form` says why a kernel is unrolled or looped.

    `convention` names whose bookkeeping decides what is charged: one of
    `phalanx.study.conventions.CONVENTIONS`. None is that of the algorithm's source for "none" and
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

    `frame` is that of functions which take one. `derivative` is "jvp", "vjp" or "hvp": the cost of
    that product (`robot.jvp` and its like) instead of the function's own.

    Of the result: `multiplications`, `additions`, `divisions`, `trigonometric`, `total` (the first
    three), `span` (along the critical path), `span_with(multiplication=…, addition=…)`, `width`,
    `by_quantity`, `by_link`, `bytes`, `written_out`.
    """
    call, rules = charged(robot, function, algorithm, customise, convention, frame, derivative)
    if _is_kernel(call, customise, rules):
        from ..program.analyses.cost import kernel_cost  # slow to import

        return kernel_cost(call)
    found = cost_of(
        program_at(call, customise, rules),
        free=rules.free_quantities(customise),
        customise=customise,
        convention=rules.name,
    )
    return found.named(robot)


def program_of(
    robot: Robot,
    function: str,
    algorithm: Any = "auto",
    customise: str = "full",
    convention: str | None = None,
    frame: str | None = None,
) -> tuple[Program, Convention]:
    """The unrolled program of a function, and the convention that says what is charged."""
    call, rules = charged(robot, function, algorithm, customise, convention, frame)
    return program_at(call, customise, rules), rules


def charged(
    robot: Robot,
    function: str,
    algorithm: Any,
    customise: str,
    convention: str | None,
    frame: str | None = None,
    derivative: str | None = None,
) -> tuple[Call, Convention]:
    """The call whose operations are counted, and the convention that says which of them are charged."""
    if derivative is None:
        call = resolve(robot, function, algorithm, frame)
    else:
        _require_product(derivative, customise)
        call = derivative_of(robot, derivative, function, algorithm, frame)
    return call, convention_at(customise, convention, call.algorithm.name)


def _require_product(derivative: str, customise: str) -> None:
    """Raise unless there is such a product, of the program that a kernel runs."""
    if not is_one_of(derivative, PRODUCTS):
        raise PhalanxError(
            f"cost: derivative={shown(derivative)};{nearest(derivative, PRODUCTS, what='derivatives')}"
        )
    if customise != "full" and is_one_of(customise, LEVELS):
        raise PhalanxError(
            f'cost: derivative="{derivative}" with customise="{customise}"; products are derived from '
            'the kernel\'s program, expected customise="full".'
        )


def convention_at(customise: str, convention: str | None, algorithm: str) -> Convention:
    """The convention that says what is charged at a level, or an error naming the choices."""
    if not is_one_of(customise, LEVELS):
        raise PhalanxError(f"cost: customise={shown(customise)};{nearest(customise, LEVELS, what='levels')}")
    return convention_of(convention, algorithm, customise)


def _is_kernel(call: Call, customise: str, rules: Convention) -> bool:
    """Whether the kernel's own program is counted; robots without degrees of freedom have no kernel."""
    return customise == "full" and rules.name == "program" and call.robot.model.n > 0


def program_at(call: Call, customise: str, rules: Convention) -> Program:
    """The unrolled program of a call, specialised to the robot as far as `customise` allows."""
    from ..program.analyses.cost import require_short
    from ..program.lowering import traced

    require_short(call)
    if _is_kernel(call, customise, rules):
        return traced(call, ())
    f = call.function
    optional = [] if customise == "full" else [name for name in f.optional if name in rules.inputs]
    return trace(call.task(optional), customise, rules.bookkeeping(customise))
