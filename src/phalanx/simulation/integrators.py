# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How a state becomes the next: one function for each integrator, on the scalars of a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .step import Step


@dataclass(frozen=True)
class Next:
    """The state after a step, and the joint forces and accelerations of it."""

    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray
    qdd: np.ndarray


def euler(step: Step) -> Next:
    """Semi-implicit (symplectic) Euler: rates first, then coordinates with the new rates. Order 1."""
    forces = step.forces(step.time, step.q, step.qd)
    qdd = step.accelerations(step.q, step.qd, forces)
    return Next(*step.advanced(step.q, step.qd, qdd, step.h), forces.law, qdd)


def implicit(step: Step) -> Next:
    """Semi-implicit Euler with stiff forces as they are at the end of the step. Order 1.

    Forces of joints, law and contacts are linear in the change of the state, with a diagonal of the joints
    and a matrix for each link in contact, so that one articulated-body pass does it.
    """
    forces = step.forces(step.time, step.q, step.qd, implicit=True)
    qdd = step.resisted(step.q, step.qd, forces)
    return Next(*step.advanced(step.q, step.qd, qdd, step.h), forces.law, qdd)


def rk4(step: Step) -> Next:
    """The classical Runge-Kutta method on coordinates, the law evaluated at each stage. Order 4."""
    h = step.h
    q, qd = step.q, step.qd
    slopes: list[tuple[Any, Any]] = []
    first: Any = None
    for part in (0.0, 0.5, 0.5, 1.0):
        time = step.time + part * h
        if slopes:
            q, qd = step.q + part * h * slopes[-1][0], step.qd + part * h * slopes[-1][1]
        forces = step.forces(time, q, qd)
        qdd = step.accelerations(q, qd, forces)
        first = first or (forces.law, qdd)
        slopes.append((step.rates(q, qd), qdd))
    q1, qd1 = (
        start + (h / 6.0) * (a + 2.0 * (b + c) + d)
        for start, (a, b, c, d) in zip((step.q, step.qd), zip(*slopes, strict=True), strict=True)
    )
    return Next(step.normalized(q1), qd1, *first)


INTEGRATORS: dict[str, Callable[[Step], Next]] = {"euler": euler, "implicit": implicit, "rk4": rk4}
