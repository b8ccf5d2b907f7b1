# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How a state becomes the next: one function for each integrator, on the scalars of a step.

`@integrator` declares one. The method `simulation` with its type and docstring, the commands, the benchmark
and the tests read `INTEGRATORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..algorithms.variational import drift, kick
from .loads import on_bodies
from .step import Forces, Step


@dataclass(frozen=True)
class Next:
    """The state after a step, and the joint forces and accelerations of it."""

    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray
    qdd: np.ndarray
    shown: Mapping[str, np.ndarray] = field(default_factory=dict)  # what else may be recorded of it


@dataclass(frozen=True)
class Integrator:
    """An integrator: its function and what is known of it."""

    name: str
    advance: Callable[[Any], Next]
    summary: str  # for the documentation
    order: int
    evaluations: int = 1  # of the dynamics in one step
    # Whether it needs only forces and accelerations, so that it runs on numbers as well.
    explicit: bool = False
    # Whether it takes stiff forces as they are at the end of the step, and so is stable at any stiffness.
    stiff: bool = False
    # What steps can hold: "loops" of robots; "contacts", which are rigid, limits and dry friction.
    holds: tuple[str, ...] = ()


INTEGRATORS: dict[str, Integrator] = {}
DEFAULT = "implicit"


def integrator(**facts: Any) -> Callable[[Callable[[Any], Next]], Callable[[Any], Next]]:
    """Make the decorated function known as the integrator of its name."""

    def declare(advance: Callable[[Any], Next]) -> Callable[[Any], Next]:
        INTEGRATORS[advance.__name__] = Integrator(advance.__name__, advance, **facts)
        return advance

    return declare


def names(*, explicit: bool = False, stiff: bool = False) -> list[str]:
    """The names of all integrators, or of those that are explicit, or stable when stiff."""
    found = INTEGRATORS.values()
    return [i.name for i in found if (i.explicit or not explicit) and (i.stiff or not stiff)]


@integrator(order=1, stiff=True, holds=("loops", "contacts"), summary="stable at stiff gains and contacts")
def implicit(step: Step) -> Next:
    """Semi-implicit Euler with stiff forces as they are at the end of the step. Order 1.

    Forces of joints, law and contacts are linear in the change of the state, with a diagonal of the joints
    and a matrix for each link in contact, so that one articulated-body pass does it.
    """
    forces = step.forces(step.time, step.q, step.qd, implicit=True)
    if step.enforcement is not None:
        q, qd, qdd, shown = step.enforcement.advanced(forces)
        return Next(q, qd, forces.law, qdd, shown)
    qdd = step.resisted(step.q, step.qd, forces)
    return Next(*step.advanced(step.q, step.qd, qdd, step.h), forces.law, qdd)


@integrator(order=1, explicit=True, holds=("loops", "contacts"), summary="semi-implicit")
def euler(step: Step) -> Next:
    """Semi-implicit (symplectic) Euler: rates first, then coordinates with the new rates. Order 1."""
    forces = step.forces(step.time, step.q, step.qd)
    if step.enforcement is not None:
        q, qd, qdd, shown = step.enforcement.advanced(forces)
        return Next(q, qd, forces.law, qdd, shown)
    qdd = step.accelerations(step.q, step.qd, forces)
    return Next(*step.advanced(step.q, step.qd, qdd, step.h), forces.law, qdd)


@integrator(order=4, evaluations=4, explicit=True, holds=("loops",), summary="for smooth motion")
def rk4(step: Step) -> Next:
    """The classical Runge-Kutta method on coordinates, the law evaluated at each stage. Order 4."""
    h = step.h
    q, qd = step.q, step.qd
    slopes: list[tuple[Any, Any]] = []
    first: Any = None
    for share in (0.0, 0.5, 0.5, 1.0):
        time = step.time + share * h
        if slopes:
            q, qd = step.q + share * h * slopes[-1][0], step.qd + share * h * slopes[-1][1]
        forces = step.forces(time, q, qd)
        qdd = step.accelerations(q, qd, forces)
        first = first or (forces.law, qdd)
        slopes.append((step.rates(q, qd), qdd))
    q1, qd1 = (
        start + (h / 6.0) * (a + 2.0 * (b + c) + d)
        for start, (a, b, c, d) in zip((step.q, step.qd), zip(*slopes, strict=True), strict=True)
    )
    if step.enforcement is not None:
        return Next(*step.enforcement.projected(step.normalized(q1), qd1), *first)
    return Next(step.normalized(q1), qd1, *first)


@integrator(order=2, summary="symplectic, keeps momentum, for energy over long times")
def variational(step: Step) -> Next:
    """Discrete mechanics: conserves momentum; energy stays near its start over any number of steps. Order 2.

    Forces act half at the beginning and half at the end of a step, those at the end as they are at the rates
    that those at the beginning lead to. What resists rates does so at the mean rate of the step.
    """
    h = step.h
    first = step.forces(step.time, step.q, step.qd)
    # Loads as they are now, but how stiff joints are.
    model, damping = step.model, step.forces(step.time, step.q, step.qd, implicit=True).damping

    def acting(forces: Forces, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        more = {"external": on_bodies(step.equations, model, q, forces.loads)} if forces.loads else {}
        return forces.tau + damping * qd, more

    tau, more = acting(first, step.q, step.qd)
    with step.equations.ordered:
        after = drift(model, step.q, step.qd, tau, h, move=step.moved, damping=damping, **more)
        ahead = kick(model, after, tau, h, **more)
    last = step.forces(step.time + h, after.q, ahead)
    tau, more = acting(last, after.q, ahead)
    with step.equations.ordered:
        qd = kick(model, after, tau, h, **more)
    return Next(after.q, qd, first.law, (qd - step.qd) * (1.0 / h))
