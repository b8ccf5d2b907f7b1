# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse dynamics by Lathrop's logarithmic recursion: joining neighbouring runs of links."""

from dataclasses import dataclass
from typing import ClassVar

from ...robot.dh.chain import axes, base_motion, but_last, either, offsets, rotations
from ...robot.model import Model, identity_transform
from ...spatial import Array, Field, Tensor, angular, cross, dot, linear, matvec, transpose, unpack
from ...sweeps.verbs import children, pick, scan
from ..registry import algorithm


@dataclass(frozen=True)
class RunMotion(Field):
    """How links a … b move as seen from O_{a-1}, written in O_b."""

    W: Array  # A_a … A_b: rotation from O_b to O_{a-1}
    w: Array  # angular velocity and acceleration of link b
    wd: Array
    Q: Array  # sum of the rates of joints that slide
    R: Array  # from O_{a-1} to O_b
    S: Array  # sum of w_{a,j} x p_j
    pdd: Array  # acceleration of O_b
    ranks: ClassVar[tuple[int, ...]] = (2, 1, 1, 1, 1, 1, 1)


@dataclass(frozen=True)
class Force(Field):
    """The wrench that moves links a … b, in O_a: force f, and moment n about O_{a-1}."""

    V: Array  # A_{a+1} … A_{b+1}: rotation from O_{b+1} to O_a
    U: Array  # from O_{a-1} to O_b, in O_{b+1}
    f: Array
    n: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 1, 1, 1)


def join_motions(left: RunMotion, right: RunMotion) -> RunMotion:
    """The motion of both runs joined; values of the left run, ready last, enter every sum last."""
    Wt = transpose(right.W)
    u = matvec(Wt, left.w)
    ud = matvec(Wt, left.wd)
    uR = cross(u, right.R)
    W = left.W @ right.W
    w = u + right.w
    wd = cross(u, right.w) + right.wd + ud
    Q = matvec(Wt, left.Q) + right.Q
    R = matvec(Wt, left.R) + right.R
    S = uR + right.S + matvec(Wt, left.S)
    pdd = cross(u, uR + 2.0 * (right.S + right.Q))
    pdd = cross(ud, right.R) + pdd + right.pdd + matvec(Wt, left.pdd)
    return RunMotion(W, w, wd, Q, R, S, pdd)


def join_forces(left: Force, right: Force) -> Force:
    """The force of both runs; V is distributed over the bracket of n, which saves an addition's time."""
    V = left.V @ right.V
    U = matvec(transpose(right.V), left.U) + right.U
    f = left.f + matvec(left.V, right.f)
    n = left.n + matvec(left.V, cross(left.U, right.f)) + matvec(left.V, right.n)
    return Force(V, U, f, n)


@algorithm(
    "inverse_dynamics",
    source="Lathrop 1985, Table 5",
    topology="chain",
    joints="turning, sliding",
    frames="dh",
    work="O(n log n)",
    span="O(log n)",
)
def lathrop(
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

    A quantity X_{a,b} describes links a … b; runs a … k and k+1 … b join to a … b. Leaves:

        W = A_a, w = A_a' z q'_a, w' = A_a' z q''_a, Q = 0                  if a turns
        W = A_a, w = 0, w' = 0, Q = A_a' z q'_a                             if a slides
        R = p_a, S = w x p_a, p'' = w' x p_a + w x S (+ A_a' z q''_a if a slides)
        V = A_{a+1}, U = A_{a+1}' p_a, f = F_a, n = N_a + s_a x F_a

    X_{0,i} is the X_i of the linear recursion, with the base as leaf 0; f_{i,n+1} and n_{i,n+1}
    are f_i and n_i, with the environment of the last link as leaf n + 1.

    Source: Lathrop, "Parallelism in manipulator dynamics", 1985, Table 5 and Fig. 5; V and U close
    the inward operator, which the paper leaves open.
    Cost:   work O(n log n), span O(log n).
    """
    chain = model.dh
    A, p, Az = rotations(chain, q), offsets(chain, q), axes(chain)
    r, m, J = chain.s, chain.m[:, None], Tensor(unpack(chain.J))
    rate, rated = Az * qd[..., None], Az * qdd[..., None]
    one, zero = identity_transform(model).E, identity_transform(model).r
    w0, wd0, pdd0 = base_motion(chain, base_velocity, base_acceleration)

    w, wd, Q = either(chain, rate, zero), either(chain, rated, zero), either(chain, rate * 0.0, rate)
    S = cross(w, p)
    pdd = either(chain, cross(wd, p) + cross(w, S), rated)
    base = RunMotion(one, zero if w0 is None else w0, zero if wd0 is None else wd0, zero, zero, zero, pdd0)
    X = scan(join_motions, RunMotion(A, w, wd, Q, p, S, pdd), root=base)

    rdd = cross(X.w, cross(X.w, r)) + cross(X.wd, r) + X.pdd
    F = m * rdd
    N = J @ X.wd + cross(X.w, J @ X.w)

    V = children(Tensor(A), tip=Tensor(one)).matrix
    f, n, tip = F, cross(p + r, F) + N, None
    if external is not None:
        inner, last = but_last(chain, external), pick(external, chain.n - 1)
        tip = Force(one, zero, -linear(last), -angular(last))
        f, n = f - linear(inner), n - angular(inner) - cross(p, linear(inner))
    Y = scan(join_forces, Force(V, matvec(transpose(V), p), f, n), root=tip, reverse=True)
    return dot(Az, either(chain, Y.n, Y.f)) + chain.armature * qdd
