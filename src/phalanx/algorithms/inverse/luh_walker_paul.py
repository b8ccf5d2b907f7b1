# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse dynamics by the recursion of Luh, Walker and Paul in Denavit-Hartenberg frames."""

from ...robot.dh.chain import axes, base_motion, either, first_axis, offsets, rotations
from ...robot.model import Model
from ...spatial import Array, Identity, Tensor, angular, cross, dot, linear, unpack
from ...sweeps.verbs import accumulate, children, parent, propagate
from ..registry import algorithm


@algorithm(
    "inverse_dynamics",
    source="Luh, Walker, Paul 1980; Lathrop 1985, Table 2",
    topology="chain",
    joints="turning, sliding",
    frames="dh",
    span="O(n)",
)
def luh_walker_paul(
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

    Link i carries frame O_i, in which its vectors are written; A_i takes them to O_{i-1}. With
    z = (0, 0, 1), p from O_{i-1} to O_i, r from O_i to the mass centre and s = p + r:

        w_i   = A_i' (w_{i-1} + z q'_i)                                            if i turns
        w'_i  = A_i' (w'_{i-1} + z q''_i + w_{i-1} x z q'_i)                       if i turns
        p''_i = A_i' p''_{i-1} + w'_i x p_i + w_i x (w_i x p_i)
                + A_i' z q''_i + 2 w_i x A_i' z q'_i                               if i slides
        F_i   = m_i (w_i x (w_i x r_i) + w'_i x r_i + p''_i)
        N_i   = J_i w'_i + w_i x J_i w_i
        f_i   = F_i + A_{i+1} f_{i+1}
        n_i   = A_{i+1} n_{i+1} + N_i + s_i x F_i + p_i x A_{i+1} f_{i+1}
        tau_i = A_i' z . n_i if i turns, A_i' z . f_i if it slides

    `external` (…, n, 6) acts on the links, about O_i in O_i; that of the last link is -f_{n+1}, -n_{n+1}.

    Source: Lathrop, "Parallelism in manipulator dynamics", 1985, Table 2.
    Cost:   work O(n), span O(n).
    """
    chain = model.dh
    A, p, Az, z = Tensor(rotations(chain, q)), offsets(chain, q), axes(chain), first_axis(chain)
    r, m, J = chain.s, chain.m[:, None], Tensor(unpack(chain.J))
    qd_, qdd_ = qd[..., None], qdd[..., None]
    zqd, zqdd = z * qd_, z * qdd_
    w0, wd0, pdd0 = base_motion(chain, base_velocity, base_acceleration)

    w = propagate(Identity(), either(chain, zqd, 0.0), root=w0, through=A.T)
    wJd = either(chain, zqdd + cross(parent(w, root=w0), zqd), 0.0)
    wd = propagate(Identity(), wJd, root=wd0, through=A.T)
    c = cross(wd, p) + cross(w, cross(w, p))
    pdd = propagate(A.T, either(chain, c, c + (Az * qdd_ + 2.0 * cross(w, Az * qd_))), root=pdd0)
    rdd = cross(w, cross(w, r)) + cross(wd, r) + pdd
    F = m * rdd
    N = J @ wd + cross(w, J @ w)

    s = p + r
    n_, f_ = (0.0, 0.0) if external is None else (angular(external), linear(external))
    f = accumulate(A.T, F - f_)
    n = accumulate(A.T, cross(s, F) + N + cross(p, children(A @ f) - f_) - n_)
    return dot(Az, either(chain, n, f)) + chain.armature * qdd
