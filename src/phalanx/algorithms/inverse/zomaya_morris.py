# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse dynamics of a turning chain as Zomaya and Morris spread it over transputers."""

from ...robot.dh.chain import base_motion, first_axis, offsets, rotations
from ...robot.model import Model
from ...spatial import Array, Identity, Tensor, angular, cross, dot, linear, unpack
from ...sweeps.verbs import accumulate, parent, propagate
from ..registry import algorithm


@algorithm(
    "inverse_dynamics",
    source="Zomaya, Morris 1989, eqs. (5)-(13)",
    topology="chain",
    joints="turning",
    frames="dh",
    span="O(n)",
)
def zomaya_morris(
    model: Model,
    q: Array,
    qd: Array,
    qdd: Array,
    *,
    external: Array = None,
    base_velocity: Array = None,
    base_acceleration: Array = 0.0,
) -> Array:
    """Joint forces `tau` (…, n) that produce `qdd` at state (q, qd).

    All vectors of link i are written in O_i; s leads from O_i to its mass centre. That z0 has one
    component, A_i a zero and most inertias a diagonal is left to whoever unrolls the equations:
    the result is the paper's semi-customised form. The programs for a master and three workers
    are in `machines.transputer_programs`.

    Source: Zomaya, Morris, "A parallel Newton-Euler formulation for fast dynamic simulation of robot
    manipulators", 1989, equations (5) to (13); (12) takes moments of the updated f_i.
    Cost:   work O(n), span O(n).
    """
    chain = model.dh
    A, p, z0 = Tensor(rotations(chain, q)), offsets(chain, q), first_axis(chain)
    s, m, J = chain.s, chain.m[:, None], Tensor(unpack(chain.J))
    zqd, zqdd = z0 * qd[..., None], z0 * qdd[..., None]
    w0, wd0, vd0 = base_motion(chain, base_velocity, base_acceleration)
    n_, f_ = (0.0, 0.0) if external is None else (angular(external), linear(external))

    w = propagate(Identity(), zqd, root=w0, through=A.T)  # (5)
    wd = propagate(Identity(), zqdd + cross(parent(w, root=w0), zqd), root=wd0, through=A.T)  # (6)
    vd = propagate(A.T, cross(wd, p) + cross(w, cross(w, p)), root=vd0)  # (7)
    psi = cross(wd, s) + cross(w, cross(w, s)) + vd  # (8)
    F = m * psi  # (9)
    N = J @ wd + cross(w, J @ w)  # (10)
    f = accumulate(A.T, F - f_)  # (11)
    n = accumulate(A.T, cross(p, f) + N + cross(s, F) - n_)  # (12)
    Az = A.T @ z0
    return dot(n, Az) + chain.armature * qdd  # (13)
