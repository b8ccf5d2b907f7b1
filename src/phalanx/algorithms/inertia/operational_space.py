# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The inertia that a frame shows to a wrench acting on it."""

from typing import Any

from ...robot.frames import Placement
from ...robot.model import Model, identity_transform, joint_kinematics
from ...spatial import (
    Array,
    Projector,
    Transform,
    angular,
    inner,
    join,
    linear,
    matvec,
    namespace,
    transpose,
)
from ...sweeps.verbs import eliminate, fold, marked, propagate, substitute, total
from ..banded.symmetric import inverse, unit
from ..kinematics import Motions, frame_transform, jacobian, referred
from ..registry import REFERENCE, algorithm
from .crba import crba


@algorithm(
    "operational_space_inertia",
    name="ltl",
    source="Khatib 1987; Featherstone 2008, section 6.5",
    coupled=True,
    work="O(n depth^2)",
    span="O(depth^2)",
    assembles=True,
    symmetric=False,
    options=REFERENCE,
)
def operational_space_inertia(
    model: Model, q: Array, *, frame: Placement, reference: str = "world_aligned"
) -> Array:
    """Inertia (…, 6, 6) that a frame shows: (J M^-1 J^T)^-1, from its acceleration to the wrench on it.

    `frame` is a name in `robot.frame_names`, `reference` that of its Jacobian J. The joints must be able to
    move the frame in all six directions, or the robot is refused. In single configurations where they cannot
    the inertia is infinite: entries of that state are huge or not finite, those of others are as ever.

    Source: Khatib 1987; the factor of M is Featherstone 2008, Table 6.3.
    Cost:   work O(n depth^2), span O(depth^2).
    """
    J = jacobian(model, q, frame=frame, reference=reference)
    L = eliminate(crba(model, q))
    rows = [J[..., k, :] for k in range(6)]
    by_wrench = [substitute(L, row) for row in rows]  # joint accelerations by a unit wrench in each direction
    stack = namespace(J).stack
    return inverse(stack([stack([total(row * qdd) for row in rows], axis=-1) for qdd in by_wrench], axis=-1))


@algorithm(
    "operational_space_inertia",
    name="articulated",
    source="Kreutz-Delgado, Jain, Rodriguez 1992; Featherstone 2008, Table 7.1",
    options=REFERENCE,
)
def articulated(model: Model, q: Array, *, frame: Placement, reference: str = "world_aligned") -> Array:
    """Inertia (…, 6, 6) that a frame shows, by articulated bodies: the accelerations by unit wrenches on it.

    Source: Kreutz-Delgado, Jain, Rodriguez 1992, recursions of the operational space inertia; each column by
    Featherstone 2008, Table 7.1, at rest and without gravity.
    Cost:   work O(n), span O(depth).
    """
    X, S, _ = joint_kinematics(model, q)
    X_w: Transform = propagate(X, root=identity_transform(model))
    X_f = frame_transform(model, X_w, frame)
    wrenches = [(frame.X.T @ F) * frame.at[..., None] for F in unit(6, S.axis)]  # in the axes of the frame

    def joint(state: Any, X: Any, S: Array, own: Array) -> Any:
        Ga, *pa = state
        U = Ga @ S
        Di = 1.0 / (inner(S, U) + own)
        u = [-inner(S, p) * Di for p in pa]
        psi = U * Di
        moved = [X.T @ (p + U * each) for p, each in zip(pa, u, strict=True)]
        return (X.T @ Ga.minus_outer(psi, U), *moved), (psi, *u)

    still = S.axis * 0.0
    Ga, pa = model.inertia.articulated(), [still - F for F in wrenches]
    psi, *u = fold(joint, (Ga, *pa), X, S.axis, model.bodies(model.armature))
    through = Projector(S.axis, psi)
    accelerations = []
    for each in u:
        Vd = propagate(X, still, through=through, plus=S.axis * each)
        accelerations.append(frame.X @ marked(Motions(Vd, Vd), frame.at).Vd)
    mobility = namespace(psi).stack(accelerations, axis=-2)
    return inverse(_seen(transpose(_seen(mobility, X_f, reference)), X_f, reference))


def _seen(motions: Array, X_f: Transform, reference: str) -> Array:
    """Motions (…, 6, 6) of a frame, row by row, from its own axes to a reference."""
    if reference == "local":
        return motions
    Et = transpose(X_f.E)[..., None, :, :]
    return join(*referred(matvec(Et, angular(motions)), matvec(Et, linear(motions)), X_f, reference))
