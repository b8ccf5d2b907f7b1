# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix by one pass of inverse dynamics for each joint."""

from ...dh import axes, offsets, rotations
from ...model import Model, diagonal
from ...spatial import Array, Tensor, cross, matvec, transpose, unpack
from ...sweeps import accumulate, propagate
from ..registry import algorithm
from .frames import by_joint, project


@algorithm(
    "mass_matrix",
    source="Walker, Orin 1982, method 1; Fijany, Serial and Parallel Computation of Kane's Equations: ON-EB",
    topology="chain",
    joints="turning, sliding",
    work="O(n^2)",
    span="O(n)",
)
def newton_euler_original(model: Model, q: Array) -> Array:
    """The mass matrix `M` (…, nv, nv) of a chain: column j is what a unit acceleration of joint j takes.

    Full passes of the Newton-Euler recursion in the links' frames, at zero rates and without
    gravity; nothing that vanishes is left out.

    Source: ON-EB of Fijany, "Serial and Parallel Computation of Kane's Equations for Multibody
    Dynamics": Luh, Walker and Paul 1980 with the accelerations of Walker and Orin 1982, method 1.
    Cost:   work O(n^2), span O(n).
    """
    chain, turns = model.dh, model.dh.turns
    z, m, s, J = axes(chain), chain.m[:, None], chain.s, unpack(chain.J)
    # Columns stand on the axis before the links.
    R, p = Tensor(transpose(rotations(chain, q))[..., None, :, :, :]), offsets(chain, q)[..., None, :, :]
    zqdd = diagonal(chain.m * 0.0 + 1.0)[..., None] * z
    zqd = zqdd * 0.0

    w = propagate(R, by_joint(turns, zqd, 0.0))
    wd = propagate(R, by_joint(turns, zqdd + cross(w, zqd), 0.0))
    slide = by_joint(turns, 0.0, zqdd + cross(w + w, zqd))
    vd = propagate(R, cross(wd, p) + cross(w, cross(w, p)) + slide)
    F = m * (vd + cross(wd, s) + cross(w, cross(w, s)))
    N = matvec(J, wd) + cross(w, matvec(J, w))
    f = accumulate(R, F)
    n = accumulate(R, N + cross(s, F) + cross(p, f))
    return project(turns, z, n, f) + diagonal(chain.armature)
