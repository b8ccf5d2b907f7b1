# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse dynamics as a linear function of the links' inertial parameters."""

from dataclasses import dataclass
from typing import ClassVar

from ...robot.model import Model, gravity_twist, joint_kinematics, on_bodies
from ...spatial import Array, Field, beneath, dot, force_cross, motion_cross, unit_inertias
from ...sweeps.verbs import ancestor_pairs, propagate
from ..registry import algorithm


@dataclass(frozen=True)
class Wrenches(Field):
    """A wrench for each of the ten inertial parameters of a body, behind one another."""

    F: Array
    ranks: ClassVar[tuple[int, ...]] = (1,)

    @property
    def apart(self) -> Array:
        """The wrenches (…, 10, 6)."""
        return self.F.reshape((*self.F.shape[:-1], 10, 6))

    @classmethod
    def of(cls, F: Array) -> "Wrenches":
        """Ten wrenches (…, 10, 6), one for each inertial parameter, as one row."""
        return cls(F.reshape((*F.shape[:-2], 60)))


@algorithm(
    "regressor",
    name="recursive",
    source="Atkeson, An, Hollerbach 1986, equations (10) to (18)",
    coupled=True,
    work="O(n depth)",
    symmetric=False,
)
def regressor(model: Model, q: Array, qd: Array, qdd: Array) -> Array:
    """The matrix Y (…, nv, 10 n_links) with tau = Y `robot.inertial_parameters`, without armature.

    The ten parameters of a link are its mass, first moment and moments of inertia xx, xy, xz, yy, yz, zz
    about its origin, in its frame.

    Source: Atkeson, An, Hollerbach 1986, equations (10) to (18).
    Cost:   work O(n depth), span O(depth).
    """
    X, S, cJ = joint_kinematics(model, q)
    VJ = S @ qd
    V = propagate(X, VJ)
    Vd = propagate(X, S @ qdd + cJ + motion_cross(V, VJ), root=-gravity_twist(model))
    V, Vd = (model.link_frame @ each[..., model.links, :] for each in (V, Vd))
    V, Vd, G = V[..., None, :], Vd[..., None, :], unit_inertias(V)
    W = G @ Vd + force_cross(V, G @ V)  # (…, n_links, 10, 6)
    F = on_bodies(model, beneath(model.link_frame).T @ W, rank=2)
    Y = ancestor_pairs(
        Wrenches.of(F),
        carry=lambda x, X, S: Wrenches.of(beneath(X).T @ x.apart),
        emit=lambda x, X, S: (dot(S[..., None, :], x.apart) * 0.0, dot(S[..., None, :], x.apart)),
        along=(X, S.axis),
    )
    Y = Y[..., model.links, :]
    return model.joint_columns(Y.reshape((*Y.shape[:-2], 10 * len(model.links))))
