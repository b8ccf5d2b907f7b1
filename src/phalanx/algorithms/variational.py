# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A step from one moment to another that keeps momentum, and energy over long times: discrete mechanics.

The action of a step is h (T - U), with T the kinetic energy of particles at the velocity dx/h and U half and
half of both ends (Moser and Veselov 1991 for one rigid body, here for trees of them). Its derivatives at both
ends are the momenta p0 and p1:

    p0 = J(q0)^T pi/h - h/2 f(q0)        pi = sum of m x x dx and m dx over the particles of each body
    p1 = J(q1)^T pi/h + h/2 f(q1)

The same wrench pi stands in both, so that nothing but forces changes the total momentum. `drift` solves the
first for q1, `kick` takes the rates from the second.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Any

from ..robot.model import Model, diagonal, gravity_twist, joint_displacements, joint_kinematics
from ..spatial import Array, Displacement, DisplacementOperator
from ..sweeps.verbs import accumulate, eliminate, propagate, substitute
from .inertia.crba import crba

_FAST = 10.0  # rad/s, m/s: joints of a robot are hardly faster


def iterations_for(h: float) -> int:
    """The number of iterations that converge to rounding; each gains a factor of h times the rates."""
    gain = min(0.2, h * _FAST)
    return max(4, round(log(1e-16) / log(gain)))


@dataclass(frozen=True)
class Drift:
    """A step of positions: those at its end, and momenta there before the last half of the forces."""

    q: Array
    pi: Array  # (…, n, 6) of the bodies, in their frames
    p: Array  # (…, nv) of the joints themselves


def drift(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    h: Any,
    *,
    move: Callable[[Array, Array], Array],
    damping: Array = 0.0,
    external: Array = 0.0,
    iterations: int | None = None,
) -> Drift:
    """The positions a time h later, under the joint forces tau - damping * step / h.

    `move(q, step)` adds a step (…, nv) to coordinates; `external` (…, n, 6) [N m, N] acts on the bodies, in
    body coordinates. Simplified Newton iterations on the step, with the mass matrix at q.

    Source: Marsden and West 2001, Discrete mechanics and variational integrators, section 2.3
    (position-momentum form); rigid bodies by Moser and Veselov 1991.
    Cost:   work O(n depth^2), and O(n depth) for each iteration.
    """
    G, half = model.inertia, h * 0.5
    X, S, _ = joint_kinematics(model, q)
    V = propagate(X, S @ qd)
    weight = propagate(X, root=gravity_twist(model))
    start = S.T @ accumulate(X, G @ (V + weight * half) + external * half)
    start = start + model.armature * qd + tau * half
    # One factor 1/h at both ends of a step, so that its rounding cancels: h (1/h) is not one.
    rate = 1.0 / h
    Gh, armature = G.map(lambda array, _: array * rate), model.armature * rate
    factor = eliminate(crba(model, q) + diagonal(model.armature * 0.0 + damping * half))
    step = qd * h

    def missing(step: Array) -> tuple[Array, Displacement, Array]:
        moved = displacements(model, X, step)
        pi = moved.momentum(Gh)
        left = start - S.T @ accumulate(X, pi) - (armature + damping * 0.5) * step
        return _less(left, rotors(step)), moved, pi

    def rotors(step: Array) -> Array | None:
        force = model.rotor_forces(step)  # quadratic in the rates
        return None if force is None else force * (0.5 * rate)

    for _ in range(iterations_for(h) if iterations is None else iterations):
        step = step + substitute(factor, missing(step)[0]) * h
    left, moved, pi = missing(step)
    # What rotors and dampers of the joints take away, once more at the end; and what the iterations have left
    # of the momentum at the beginning.
    rest = _less((armature - damping * 0.5) * step, rotors(step)) + left
    return Drift(move(q, step), moved.after(pi), rest)


def kick(model: Model, after: Drift, tau: Array, h: Any, *, external: Array = 0.0) -> Array:
    """Rates (…, nv) at the end of a step, where the joint forces are tau - damping * step / h.

    `external` (…, n, 6) [N m, N] acts on the bodies, in body coordinates.

    Source: Marsden and West 2001, section 2.3.
    Cost:   work O(n depth^2), span O(depth^2).
    """
    half = h * 0.5
    X, S, _ = joint_kinematics(model, after.q)
    weight = propagate(X, root=gravity_twist(model))
    p = S.T @ accumulate(X, after.pi + model.inertia @ (weight * half) + external * half)
    p = p + after.p + tau * half
    factor = eliminate(crba(model, after.q))
    qd = substitute(factor, p)
    # The mass matrix is rounded nearly alike from step to step, which would show in momentum: what the first
    # solution leaves of it, as the next step will see it, is solved for once more.
    V = propagate(X, S @ qd)
    return qd + substitute(factor, p - S.T @ accumulate(X, model.inertia @ V) - model.armature * qd)


def displacements(model: Model, X: Any, step: Array) -> Displacement:
    """How far each body has moved, seen from where it was, when the joints have made a step (…, nv)."""
    own = joint_displacements(model, step)
    carried = DisplacementOperator(X.E, X.r, own.a, own.w, own.d)
    nothing = gravity_twist(model)[:3] * 0.0
    moved: Displacement = propagate(carried, root=Displacement(nothing, nothing[:1] + 1.0, nothing))
    return moved


def _less(force: Array, part: Array | None) -> Array:
    return force if part is None else force - part
