# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forward dynamics of a chain in segments, each eliminated beside the others."""

from typing import Any

from ...robot.model import Model, gravity_twist, identity_transform, joint_kinematics
from ...spatial import (
    Array,
    Articulated,
    Projector,
    Tensor,
    Transform,
    dense,
    each,
    force_cross,
    inner,
    matvec,
    motion_cross,
    transpose,
)
from ...sweeps.verbs import Neighbours, fold, parent, propagate
from ...sweeps.verbs import segments as cut
from ..banded.symmetric import congruent, interface, unit
from ..registry import INTEGERS, algorithm
from ..regularisation import shifted_inertia, shifted_inertia_of_part


@algorithm(
    "forward_dynamics",
    source="Featherstone 2008, Table 7.1, p. 132, on segments side by side as in Critchley et al. 2009",
    topology="chain",
    bodies="rigid",
    span="O(n / segments + segments)",
    splits="segments",
    options={"segments": INTEGERS},
)
def partition(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    *,
    external: Array = 0.0,
    segments: int | None = None,
    neighbours: Neighbours | None = None,
) -> Array:
    """Joint accelerations `qdd` (…, nv) of a chain under the joint forces `tau` at state (q, qd).

    `external` (…, n, 6) [N m, N] acts on the bodies, in body coordinates.

    Every segment is eliminated as if it were alone. What it does at its base follows from the acceleration
    a before it and the wrench f that its last link passes on; f = P a + Phi f_tip + r and
    a_tip = Phi^T a + K f_tip + d. The segments are then joined one after another.

    A segment that ends in a light link would divide by nearly nothing. So an inertia is shifted to its tip
    Sigma: f_tip is f_tip - Sigma a_tip, and what lies beyond subtracts it again. Exact for any Sigma.

    `segments` may be any number; fewer where links are fewer, since a joint with several axes stays whole.
    By default as many as usually pay: eight, or a multiple of 16 from 10,000 bodies on, which cores share.
    For a part of a chain, `neighbours` hold the other parts: it sends them its motion and its response to
    wrenches, in two messages.

    Source: the articulated-body algorithm (Featherstone 2008, Table 7.1, p. 132) with the columns of the
    unknown tip wrench carried along. Large parts of a chain each in turn, one beside the other: Critchley,
    Anderson, Binani, "An Efficient Multibody Divide and Conquer Algorithm and Implementation", J. Comput.
    Nonlinear Dynamics 4(2), 2009; the equations here and the shifted inertia are the library's.
    Cost:   work O(n), span O(n / segments + segments).
    """
    X, S, cJ = joint_kinematics(model, q)
    VJ = S @ qd
    S = S.axis
    parts = cut(segments, model.links)
    with parts.inside():
        Y = propagate(X, root=each(identity_transform(model, X)))
        V = propagate(X, VJ)  # against the link before the segment
    with parts.along():
        Y, V, root = parts.last(Y), parts.last(V), None
        if neighbours is not None:
            whole = propagate(Y, root=identity_transform(model)), propagate(Y, V)
            (root,) = neighbours.exchange(tuple(map(parts.at_tip, whole)), like=(parts.at_tip(V),))
        before = parent(propagate(Y, V, root=root), root=root)
    with parts.inside():
        V = propagate(X, VJ, root=before)
    c = cJ + motion_cross(V, VJ)
    b = force_cross(V, model.inertia @ V) - external

    shifted, o = model.derived(shifted_inertia if neighbours is None else shifted_inertia_of_part), S * 0.0
    Sigma = parts.last(shifted)
    with parts.inside():
        joints = (X, S, c, model.bodies(tau), model.bodies(model.armature))
        psi, u, Di, P, r = fold(
            _alone, (model.inertia.articulated(), b), *joints, tips=(Sigma, o[..., :1, :])
        )
        one, nothing = Tensor(unit(6, S)[None]), Tensor(o[..., :, None] * o[..., None, :])
        s, Phi, d = fold(_pulled, (nothing, o), X, S, c, psi, u, tips=(one, o[..., :1, :]))
        (K,) = fold(_yielding, (shifted.map(lambda a, _: a * 0.0),), s, Di)
    with parts.along():
        P, r, Phi, K, d = (parts.first(x) for x in (P, r, Phi, K, d))
        own, beyond, root = (Tensor(dense(Sigma) * -1.0), r * 0.0), None, -gravity_twist(model)
        if neighbours is not None:
            o, nothing = r * 0.0, Tensor(Phi.matrix * 0.0)
            tips = Tensor(dense(parts.at_tip(Sigma))), o[0], one[0], nothing[0], o[0]
            whole = fold(_whole, (*own, nothing, nothing, o), P, r, Phi, K, d, tips=tips)
            *beyond, root = neighbours.exchange(tuple(map(parts.at_base, whole)), like=(tips[0], root, root))
        G, e, Q, w = fold(_joined, own, P, r, Phi, K, d, tips=beyond)
        a = propagate(Phi, d, root=root, through=G, plus=e)
        before = parent(a, root=root)
    u = u - Di * inner(s, parts.spread(Q @ a + w))
    with parts.inside():
        Vd = propagate(X, c, root=before, through=Projector(S, psi), plus=S * u)
        qdd = u - inner(psi, X @ parent(Vd, root=before) + c)
    return qdd[..., 0]


def _alone(state: Any, X: Transform, S: Array, c: Array, tau: Array, armature: Array) -> Any:
    """The articulated-body step of one joint, as if the segment were alone."""
    Ga, pa = state
    U = Ga @ S
    Di = 1.0 / (inner(S, U) + armature)
    u = (tau - inner(S, pa)) * Di
    psi = U * Di
    Gp = Ga.minus_outer(psi, U)
    up = X.T @ Gp, X.T @ (pa + Gp @ c + U * u)
    return up, (psi, u, Di, *up)


def _pulled(state: Any, X: Transform, S: Array, c: Array, psi: Array, u: Array) -> Any:
    """One joint's step towards the tip: the rows of Phi^T for unit wrenches at the tip, and the bias d."""
    Phi, d = state
    s = matvec(Phi.matrix, S)
    rows = Phi.matrix - s[..., :, None] * psi[..., None, :]
    up = Tensor(each(X).T @ rows), d + matvec(rows, c) + s * u
    return up, (s, *up)


def _yielding(state: Any, s: Array, Di: Array) -> Any:
    """The tip's compliance K = - sum of s s^T / D, with one joint more."""
    K = state[0].minus_outer(s * Di, s)
    return (K,), (K,)


def _joined(state: Any, P: Articulated, r: Array, Phi: Tensor, K: Articulated, d: Array) -> Any:
    """The response of a segment and all links beyond it, at its base; a_tip = G (Phi^T a + d) + e."""
    Q, w = state
    compliance = dense(K) * -1.0
    QG, G, _ = interface(Q.matrix, compliance)
    columns, passed = transpose(Phi.matrix), matvec(transpose(G), w)
    up = dense(P) + congruent(columns, QG), r + matvec(columns, passed + matvec(QG, d))
    return (Tensor(up[0]), up[1]), (Tensor(G), -matvec(compliance, passed), Q, w)


def _whole(state: Any, P: Articulated, r: Array, Phi: Tensor, K: Articulated, d: Array) -> Any:
    """A segment joined with those beyond it: P, r, Phi^T, K and d of all of them as one."""
    Q, w, beyond, Kb, db = state
    QG, G, GC = interface(Q.matrix, dense(K) * -1.0)
    rows, columns = Phi.matrix, transpose(Phi.matrix)
    up = (
        Tensor(dense(P) + congruent(columns, QG)),
        r + matvec(columns, matvec(transpose(G), w) + matvec(QG, d)),
        Tensor(beyond.matrix @ G @ rows),
        Tensor(Kb.matrix - congruent(beyond.matrix, GC)),
        db + matvec(beyond.matrix, matvec(G, d) - matvec(GC, w)),
    )
    return up, up
