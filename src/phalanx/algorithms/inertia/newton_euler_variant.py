# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix by the Newton-Euler recursion, freed of what vanishes and of mass centres."""

from typing import Any

from ...robot.model import Model, diagonal
from ...spatial import Array, cross, matvec, rotated, unpack
from ...sweeps.triangle import triangle
from ...sweeps.verbs import relay
from ..registry import algorithm
from .frames import base_frame, by_joint, moments, project


@algorithm(
    "mass_matrix",
    source="Fijany, Serial and Parallel Computation of Kane's Equations: VN-EB, O(n^2)",
    topology="chain",
    joints="turning, sliding",
    frames="dh",
    work="O(n^2)",
    span="O(n)",
)
def newton_euler_variant(model: Model, q: Array) -> Array:
    """The mass matrix `M` (…, nv, nv) of a chain, column by column.

    Column j holds what a unit acceleration of joint j does to the links i >= j.

    Source: Fijany, "Serial and Parallel Computation of Kane's Equations for Multibody Dynamics", VN-EB
    in the base frame, with the term h x V that the print lacks.
    Cost:   work O(n^2), span O(n).
    """
    chain, pair = model.dh, triangle(model.dh.n)
    R, Z, P, _ = base_frame(chain, q)
    h, k = moments(chain, q)
    h = matvec(R, h)
    k = rotated(R, k)
    hi, ki = pair.of_rows(h), unpack(pair.of_rows(k))
    mi, turns = pair.of_rows(chain.m[:, None]), chain.turns[pair.column]
    wd = by_joint(turns, pair.of_columns(Z), 0.0)  # angular acceleration of all links i >= j

    V = by_joint(turns, 0.0, pair.of_columns(Z))

    def outward(_: Any, last: Any, P: Array) -> Any:  # i = j .. n
        V, wd = last
        V = V + cross(wd, P)
        return V, wd

    V, wd = relay(pair.outward(), (V, wd), outward, along=pair.along(P, before=1), links=pair.row)[-1]
    F = mi * V + cross(wd, hi)
    N = matvec(ki, wd) + cross(hi, V)

    def inward(own: Any, next: Any, P: Array) -> Any:  # i = n .. j
        (F, N), (Fn, Nn) = own, next
        F = F + Fn
        N = N + Nn + cross(P, Fn)
        return F, N

    F, N = relay(pair.inward(), (F, N), inward, along=pair.along(P), links=pair.row)[-1]
    a = project(chain.turns[pair.row], pair.of_rows(Z), N, F)
    return pair.matrix(a) + diagonal(chain.armature)
