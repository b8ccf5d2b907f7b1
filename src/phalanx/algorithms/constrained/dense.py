# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Constrained dynamics by the sparse factor of the mass matrix and a dense factor of the Delassus matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...robot.model import Model
from ...spatial import Array, dot, transpose
from ...sweeps.verbs import eliminate, substitute_inward, substitute_outward
from ..banded.semidefinite import SemidefiniteFactor, factor_semidefinite, solve_semidefinite
from ..inertia.crba import crba
from ..inverse.cartesian_tensor import cartesian_tensor
from .closures import PlacedClosure, PlacedEquation, Seen, constraint_rows


class Factored:
    """M = L^T D L, the constraints' J in its coordinates, and the factor of their Delassus matrix.

    With Y = J L^-1 the Delassus matrix is J M^-1 J^T = Y D^-1 Y^T.
    """

    def __init__(self, model: Model, q: Array, J: Array, damping: Array = 0.0) -> None:
        self.L = eliminate(crba(model, q))
        index = list(range(model.nv))
        self.Di = self.L[..., index, index]
        self.Y = substitute_inward(self.L[None], J)
        self.scaled = self.Y * self.Di
        size = len(J)
        delassus = J[:, :1] * J[:, 0] * 0.0
        for i in range(size):
            for j in range(i, size):
                delassus[i, j] = delassus[j, i] = dot(self.scaled[i], self.Y[j])
        self.delassus: SemidefiniteFactor = factor_semidefinite(delassus, damping)

    def solved(self, b: Array) -> Array:
        """x (m,) with (J M^-1 J^T + damping) x = b."""
        return as_array(solve_semidefinite(self.delassus, [b[k] for k in range(len(b))]), b)

    def inward(self, tau: Array) -> Array:
        """L^-T tau."""
        return substitute_inward(self.L, tau)

    def accelerations(self, z: Array, forces: Array) -> Array:
        """M^-1 (tau + J^T forces) for z = L^-T tau."""
        y = z * self.Di
        for k in range(len(forces)):
            y = y + self.scaled[k] * forces[k]
        return substitute_outward(self.L, y)


def as_array(entries: Sequence[Any], like: Array) -> Array:
    """Scalars as an array like another one."""
    made = like * 0.0
    for k, x in enumerate(entries):
        made[k] = x
    return made


def constrained_dynamics(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    *,
    closures: Sequence[PlacedClosure],
    equations: Sequence[PlacedEquation],
    external: Array = 0.0,
    damping: Array = 0.0,
) -> tuple[Array, Array]:
    """(qdd (nv,), forces (m,)): accelerations under joint forces and constraints, and what these exert.

    M qdd + bias = tau + J^T forces and J qdd + dJ/dt qd = -damping forces.

    Source: Featherstone 2008, section 8.3; Carpentier, Budhiraja, Mansard 2021, equations (5) to (9).
    Cost:   work O(n depth^2 + m n depth + m^3), span O(depth^2 + m^2).
    """
    qdd, forces, _, _ = solved_dynamics(
        model, q, qd, tau, closures=closures, equations=equations, external=external, damping=damping
    )
    return qdd, forces


def solved_dynamics(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    *,
    closures: Sequence[PlacedClosure],
    equations: Sequence[PlacedEquation],
    external: Array,
    damping: Array,
) -> tuple[Array, Array, Array, Factored]:
    """As `constrained_dynamics`, with J (m, nv) and the factors besides."""
    still = qd * 0.0
    J, rest = constraint_rows(Seen(model, q, qd, still), closures, equations)
    factored = Factored(model, q, J, damping)
    free = tau - cartesian_tensor(model, q, qd, still, external=external)
    rotors = model.rotor_forces(qd)
    z = factored.inward(free if rotors is None else free - rotors)
    forces = factored.solved(-dot(factored.scaled, z) - rest)
    return factored.accelerations(z, forces), forces, J, factored


def impulse_dynamics(
    model: Model,
    q: Array,
    qd: Array,
    *,
    closures: Sequence[PlacedClosure],
    equations: Sequence[PlacedEquation],
    restitution: Array = 0.0,
    damping: Array = 0.0,
) -> tuple[Array, Array]:
    """(qd (nv,), impulses (m,)): rates after an impact at which J qd_after = -restitution J qd, and impulses.

    Source: Featherstone 2008, section 11.2.
    Cost:   work O(n depth^2 + m n depth + m^3), span O(depth^2 + m^2).
    """
    J, _ = constraint_rows(Seen(model, q, qd, qd * 0.0), closures, equations)
    factored = Factored(model, q, J, damping)
    velocity = dot(J, qd)
    impulses = factored.solved(-(velocity + velocity * restitution))
    return qd + factored.accelerations(qd * 0.0, impulses), impulses


def least_step(J: Array, error: Array, moves: Array) -> Array:
    """The shortest dq (nv,) with J dq = -error, as far as possible; joints with `moves` 0 stand still."""
    free = J * moves
    factored = factor_semidefinite(free @ transpose(free))
    x = as_array(solve_semidefinite(factored, list(-error)), error)
    return transpose(free) @ x
