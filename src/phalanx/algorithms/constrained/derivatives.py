# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of constrained dynamics, through the inverse of what it solves."""

from __future__ import annotations

from collections.abc import Sequence

from ...robot.model import Model
from ...spatial import (
    Array,
    angular,
    cross,
    dot,
    force_cross,
    join,
    linear,
    matvec,
    motion_cross,
    namespace,
    transpose,
)
from ...sweeps.verbs import invert, parent, substitute_outward
from ..banded.symmetric import unit
from ..derivatives.idsva import idsva
from .closures import PlacedClosure, PlacedEquation, Seen, driven
from .dense import Factored, solved_dynamics


def constrained_dynamics_derivatives(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    *,
    closures: Sequence[PlacedClosure],
    equations: Sequence[PlacedEquation],
    external: Array = 0.0,
    damping: Array = 0.0,
) -> tuple[Array, ...]:
    """The derivatives of qdd (nv, nv) and of the forces (m, nv) with respect to q, qd and tau.

    With the forces held, the residuals r of inverse dynamics and a of the constraints change by their own
    derivatives; ∂qdd and ∂forces make up for both: M ∂qdd - J^T ∂forces = ∂tau - ∂r, J ∂qdd = -∂a.

    Source: Carpentier, Budhiraja, Mansard 2021, section IV; of inverse dynamics Singh, Russell, Wensing 2022.
    Cost:   work O(n^3 + m n^2 + m^3), span O(depth^2 + m^2).
    """
    qdd, forces, _, factored = solved_dynamics(
        model, q, qd, tau, closures=closures, equations=equations, external=external, damping=damping
    )
    seen = Seen(model, q, qd, qdd)
    slopes = [ClosureSlopes(seen, c) for c in closures]
    parts = _split(forces, [len(c.rows) for c in closures])
    loads = external
    for c, f in zip(closures, parts, strict=False):
        loads = loads + seen.loads(c, f)
    dq, dqd, _ = idsva(model, q, qd, qdd, external=loads)
    aq, aqd = [s.by_q for s in slopes], [s.by_qd for s in slopes]
    for s, f in zip(slopes, parts, strict=False):
        dq = dq + s.turned_force(f)
    for e, f in zip(equations, parts[len(closures)], strict=True):
        _, curvature, third, rate = driven(seen, e)
        dq = dq + e.driver[:, None] * e.driver * (curvature * f)
        bent = curvature * dot(e.driver, qdd) + third * rate * rate
        aq.append((qd * 0.0 - e.driver * bent)[None])
        aqd.append((qd * 0.0 - e.driver * (2.0 * curvature * rate))[None])
    concatenate = namespace(q).concatenate
    aq, aqd = concatenate(aq, axis=0), concatenate(aqd, axis=0)
    # J M^-1, and by how much a joint force changes the forces of the constraints.
    through = substitute_outward(factored.L[None], factored.scaled)
    by_tau = _solved(factored, through)
    inverse = _less_symmetric(invert(factored.L, model.armature * 0.0 + 1.0), transpose(through), by_tau)
    motions = [-(inverse @ r + transpose(by_tau) @ a) for r, a in ((dq, aq), (dqd, aqd))]
    pushes = [by_tau @ r - _solved(factored, a) for r, a in ((dq, aq), (dqd, aqd))]
    return (*motions, inverse, *pushes, -by_tau)


def _less_symmetric(A: Array, B: Array, C: Array) -> Array:
    """A - B C, which is symmetric."""
    made = A * 1.0
    for i in range(len(A)):
        for j in range(i, len(A)):
            made[i, j] = made[j, i] = A[i, j] - dot(B[i], C[:, j])
    return made


def _solved(factored: Factored, columns: Array) -> Array:
    """The forces (m, k) of the Delassus matrix for columns (m, k)."""
    stack = namespace(columns).stack
    return stack([factored.solved(columns[:, k]) for k in range(columns.shape[1])], axis=1)


def _split(forces: Array, sizes: Sequence[int]) -> list[Array]:
    """The forces of each closure, then those of all equations."""
    parts, start = [], 0
    for size in sizes:
        parts.append(forces[start : start + size])
        start += size
    return [*parts, forces[start:]]


class ClosureSlopes:
    """How the acceleration of a closure, and its force on frame b, change with the state.

    `own` and `other` are what a unit rate (S), and its changes, do to frame a and to frame b, body by body,
    in the axes of a: of a weld at its origin, of a point each at its own.
    """

    def __init__(self, seen: Seen, closure: PlacedClosure) -> None:
        self.seen, self.closure = seen, closure
        model = seen.model
        X, S, _ = seen.joints
        V, Vd = seen.motions
        V_p, Vd_p = X @ parent(V), X @ parent(Vd, root=seen.root)
        Sd = motion_cross(V_p, S.axis)
        Sdd = motion_cross(Vd_p, S.axis) + motion_cross(V_p, Sd)
        Sv = Sd + Sd + S.turning(seen.qd)
        axes = unit(6, S.axis)
        own = seen.wrenches(closure.a, axes)

        def columns(Z: Array, F: Array) -> Array:
            return model.joint_columns(transpose(dot(Z, F)))

        self.own = [columns(Z, own) for Z in (S.axis, Sd, Sdd, Sv)]  # (nv, 6) each
        if closure.is_grounded:
            self.other = [x * 0.0 for x in self.own]
        else:
            other = seen.wrenches(closure.b, seen.seen_by_other(closure, axes))
            self.other = [columns(Z, other) for Z in (S.axis, Sd, Sdd, Sv)]
        self.by_q, self.by_qd = self._of_point() if closure.is_point else self._of_pose()

    def _of_point(self) -> tuple[Array, Array]:
        seen, c = self.seen, self.closure
        v = linear(seen.motion(c.a)[0])
        (s, sd, sdd, sv), (z, zd, zdd, zv) = self.own, self.other
        by_q = linear(sdd) + 2.0 * cross(angular(sd), v)
        by_qd = linear(sv) + 2.0 * cross(angular(s), v)
        if c.is_grounded:
            a = -seen.seen_gravity(c.a)
        else:
            E = seen.between(c).E
            u, a = matvec(E, linear(seen.motion(c.b)[0])), matvec(E, seen.point_acceleration(c.b))
            by_q = by_q - linear(zdd) - 2.0 * cross(angular(zd), u)
            by_qd = by_qd - linear(zv) - 2.0 * cross(angular(z), u)
        by_q = by_q - cross(angular(z) - angular(s), a)
        return transpose(by_q), transpose(by_qd)

    def _of_pose(self) -> tuple[Array, Array]:
        seen, c = self.seen, self.closure
        (s, sd, sdd, sv), (z, zd, zdd, zv) = self.own, self.other
        V, _ = seen.motion(c.a)
        if c.is_grounded:
            g = seen.seen_gravity(c.a)
            W = -join(g * 0.0, g)
            by_q = sdd - motion_cross(V, sd) + motion_cross(s, W)
            by_qd = sv - motion_cross(V, s)
        else:
            X = seen.between(c)
            U, W = seen.motion(c.b)
            U, W = X @ U, X @ W
            far = z - s
            turned = zd + motion_cross(far, U)
            by_q = sdd - motion_cross(V, sd) + motion_cross(sd, U) + motion_cross(V, turned)
            by_q = by_q - (zdd - motion_cross(U, zd) + motion_cross(far, W))
            by_qd = sv - motion_cross(V, s) + motion_cross(s, U) + motion_cross(V, z)
            by_qd = by_qd - (zv - motion_cross(U, z))
        rows = list(c.rows)
        return transpose(by_q[:, rows]), transpose(by_qd[:, rows])

    def turned_force(self, forces: Array) -> Array:
        """By how much joint forces (nv, nv) change since that on frame b has the axes of a, which turn."""
        c = self.closure
        if c.is_grounded:
            return 0.0
        s, z = self.own[0], self.other[0]
        far = z - s
        if c.is_point:
            return -(linear(z) @ transpose(cross(angular(far), forces)))
        wrench = spread(c, forces)
        return -(z @ transpose(force_cross(far, wrench)))


def spread(closure: PlacedClosure, forces: Array) -> Array:
    """The wrench (6,) of the forces of a closure."""
    return forces @ unit(6, forces)[list(closure.rows)]
