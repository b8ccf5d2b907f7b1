# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse dynamics with constraints: the forces of actuated joints and of constraints, of least norm."""

from __future__ import annotations

from collections.abc import Sequence

from ...robot.model import Model, diagonal
from ...spatial import Array, dot, transpose
from ..banded.semidefinite import factor_semidefinite, solve_semidefinite
from ..inverse.cartesian_tensor import cartesian_tensor
from .closures import PlacedClosure, PlacedEquation, Seen, constraint_rows
from .dense import as_array

_REFINED = 2  # times: the factor is of the square of the problem


def constrained_inverse_dynamics(
    model: Model,
    q: Array,
    qd: Array,
    qdd: Array,
    *,
    closures: Sequence[PlacedClosure],
    equations: Sequence[PlacedEquation],
    actuated: Array,
    external: Array = 0.0,
) -> tuple[Array, Array, Array]:
    """(tau (nv,), forces (m,), residual (nv,)): tau + J^T forces + residual is inverse dynamics.

    With A = [actuated, J^T] the forces are A^T (A A^T)^+ times that, refined.

    Source: Righetti, Buchli, Mistry, Schaal 2011, section III.
    Cost:   work O(n^3 + m n^2), span O(n^2).
    """
    J, _ = constraint_rows(Seen(model, q, qd, qdd), closures, equations)
    wanted = cartesian_tensor(model, q, qd, qdd, external=external)
    rotors = model.rotor_forces(qd)
    wanted = wanted if rotors is None else wanted + rotors
    square = transpose(J) @ J + diagonal(actuated + qd * 0.0)
    rows = factor_semidefinite(square)
    tau, forces, left = wanted * 0.0, J[:, 0] * 0.0, wanted
    for _ in range(1 + _REFINED):
        x = as_array(solve_semidefinite(rows, list(left)), left)
        tau, forces = tau + actuated * x, forces + dot(J, x)
        left = wanted - tau - transpose(J) @ forces
    return tau, forces, left
