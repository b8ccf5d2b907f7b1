# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse dynamics of a chain in segments, swept beside each other."""

from typing import Any

from ...robot.model import Model, gravity_twist, identity_transform, joint_kinematics
from ...spatial import (
    Array,
    Transform,
    acceleration_tensor,
    angular,
    cross,
    each,
    inertial_wrench,
    linear,
    motion_cross,
)
from ...sweeps.verbs import Neighbours, fold, parent, propagate
from ...sweeps.verbs import segments as cut
from ..registry import INTEGERS, algorithm
from .cartesian_tensor import accelerations


@algorithm(
    "inverse_dynamics",
    source="Lathrop 1985, runs of links joined, on segments side by side; links by Balafoutis et al. 1988",
    topology="chain",
    span="O(n / segments + segments)",
    splits="segments",
    options={"segments": INTEGERS},
)
def partition(
    model: Model,
    q: Array,
    qd: Array,
    qdd: Array,
    *,
    external: Array = 0.0,
    base_velocity: Array = None,
    base_acceleration: Array = 0.0,
    segments: int | None = None,
    neighbours: Neighbours | None = None,
) -> Array:
    """Joint forces `tau` (…, nv) of a chain that produce `qdd` at state (q, qd).

    A segment moves like one joint: as if the link before it were at rest, its last link has the transform Y
    from that link, the twist U and the acceleration Ud; then along the segments

        V = Y V_before + U,  Vd = Y Vd_before + Ud + V x U

    as along links. With the motion before each segment known, its links follow by themselves. What they need
    adds up along the segment, and along the segments to the wrench that each passes on at its tip.

    `segments` may be any number; fewer where links are fewer, since a joint with several axes stays whole.
    For a part of a chain, `neighbours` hold the other parts: it sends them its motion and the wrench that it
    needs, in two messages.

    Source: runs of links joined one after another are Lathrop's ("Parallelism in manipulator dynamics",
    1985, Table 5), few and long here; the links of a run are swept as in `cartesian_tensor`.
    Cost:   work O(n), span O(n / segments + segments).
    """
    X, S, cJ = joint_kinematics(model, q)
    VJ, VJd = S @ qd, S @ qdd + cJ
    parts = cut(segments, model.links)
    with parts.inside():  # against the link before the segment
        Y = propagate(X, root=each(identity_transform(model, X)))
        U = propagate(X, VJ)
        Ud = propagate(X, VJd + motion_cross(U, VJ))
    with parts.along():
        Y, U, Ud = (parts.last(x) for x in (Y, U, Ud))
        # Gravity enters as an upward acceleration of the root.
        upward = base_acceleration - gravity_twist(model)
        if neighbours is not None:
            W = propagate(Y, U)
            whole = propagate(Y, root=identity_transform(model)), W, propagate(Y, Ud + motion_cross(W, U))
            base_velocity, upward = neighbours.exchange(
                tuple(map(parts.at_tip, whole)), like=(parts.at_tip(U), parts.at_tip(U))
            )
        V = propagate(Y, U, root=base_velocity)
        Vd = propagate(Y, Ud + motion_cross(V, U), root=upward)
        V, Vd = parent(V, root=base_velocity), parent(Vd, root=upward)
        w0, wd0 = angular(V), angular(Vd)
        a0 = linear(Vd) + cross(w0, linear(V))
        before = w0, wd0, a0, acceleration_tensor(w0, wd0)
    with parts.inside():
        K, a = accelerations(X, VJ, VJd, before)
        B = inertial_wrench(model.inertia, K, a) - external
        _, own = fold(_carried, (B,), X)
    with parts.along():
        tips = None
        if neighbours is not None:
            alone = fold(_summed, (U * 0.0,), Y, parts.first(own))
            tips = neighbours.exchange((parts.at_base(alone[0]),), like=(parts.at_base(U),))
        (beyond,) = fold(_passed_on, (U * 0.0,), Y, parts.first(own), tips=tips)
    with parts.inside():
        F, _ = fold(_carried, (B,), X, tips=(beyond,))
    return S.T @ F + model.armature * qdd


def _carried(state: Any, X: Transform) -> Any:
    """The wrench F on a link, and the same wrench in the coordinates of the link before."""
    (F,) = state
    up = X.T @ F
    return (up,), (F, up)


def _passed_on(state: Any, Y: Transform, own: Array) -> Any:
    """The wrench at the tip of a segment; the next segment gets it plus the segment's own."""
    (f,) = state
    return (Y.T @ f + own,), (f,)


def _summed(state: Any, Y: Transform, own: Array) -> Any:
    """The wrench at the base of a segment that moves it and all segments after it."""
    (f,) = state
    up = Y.T @ f + own
    return (up,), (up,)
