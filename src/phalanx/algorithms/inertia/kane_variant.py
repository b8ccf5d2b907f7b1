# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix from Kane's equations, their sums over links made recursive."""

from typing import Any

from ...robot.model import Model, diagonal
from ...spatial import Array, cross, matvec, rotated, unpack
from ...sweeps.triangle import triangle
from ...sweeps.verbs import relay
from ..registry import algorithm
from .frames import arms, base_frame, by_joint, project


@algorithm(
    "mass_matrix",
    source="Fijany, Serial and Parallel Computation of Kane's Equations: VKE, O(n^2)",
    topology="chain",
    joints="turning, sliding",
    frames="dh",
    work="O(n^2)",
    span="O(n)",
)
def kane_variant(model: Model, q: Array) -> Array:
    """The mass matrix `M` (…, nv, nv) of a chain, column by column.

    Column i holds what a unit acceleration of joint i does to the links j >= i.

    Source: Fijany, "Serial and Parallel Computation of Kane's Equations for Multibody Dynamics", VKE,
    in the base frame; sliding joints derived (angular partial velocity 0, linear Z_i).
    Cost:   work O(n^2), span O(n).
    """
    chain, pair = model.dh, triangle(model.dh.n)
    R, Z, P, S = base_frame(chain, q)
    J = rotated(R, chain.J)
    Zi, turns = pair.of_columns(Z), chain.turns[pair.column]
    Sj, mj, Ij = pair.of_rows(S), pair.of_rows(chain.m[:, None]), unpack(pair.of_rows(J))

    Pstar = arms(pair, P) + Sj
    N = by_joint(turns, matvec(Ij, Zi), 0.0)
    F = mj * by_joint(turns, cross(Zi, Pstar), Zi)

    def inward(own: Any, next: Any, P: Array) -> Any:  # j = n .. i
        (F, N), (f, n) = own, next
        n = N + n + cross(P, f)
        f = F + f
        return f, n

    N = N + cross(Sj, F)
    f, n = relay(pair.inward(), (F, N), inward, along=pair.along(P), links=pair.row)[-1]
    a = project(chain.turns[pair.row], pair.of_rows(Z), n, f)
    return pair.matrix(a) + diagonal(chain.armature)
