# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The degrees of freedom of robots with mimic joints, which several bodies may share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....robot.model import Model


@dataclass(frozen=True, eq=False)
class CoupledJoints:
    """The degrees of freedom of a robot with mimic joints, as its bodies have them.

    Values per degree of freedom stand with the first body that it moves; what other bodies add to them
    is summed at the end.
    """

    count: int
    dof: np.ndarray  # (n,) that moves each body
    ratio: np.ndarray  # (n,) rate of the body over that of its degree of freedom
    first: np.ndarray  # (n,) bool: whether it is the first body of its degree of freedom

    @property
    def place(self) -> np.ndarray:
        """The degree of freedom of each body that is its first one, one past the last for others."""
        return np.where(self.first, self.dof, self.count)

    @property
    def first_body(self) -> np.ndarray:
        """The first body of each degree of freedom."""
        bodies = np.flatnonzero(self.first)
        order: np.ndarray = bodies[np.argsort(self.dof[bodies])]
        return order


def joints_of(model: Model) -> CoupledJoints | None:
    """The degrees of freedom of a robot with mimic joints, None of others."""
    if model.coupling is None:
        return None
    A = np.asarray(model.coupling.A, dtype=float)
    dof = np.argmax(A != 0.0, axis=1)
    first = np.zeros(model.n, dtype=bool)
    first[[int(np.flatnonzero(column)[0]) for column in A.T]] = True
    return CoupledJoints(model.nv, dof, A[np.arange(model.n), dof], first)
