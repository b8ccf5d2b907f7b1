# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""All bodies of a posed robot in one common frame, where every sweep is a sum over ancestors.

Algorithms in body frames walk from level to level: a loop of XLA's own for each sweep, which takes long to
compile. In one frame nothing is transformed on the way, and sums over all ancestors are taken at once. That
takes n depth operations in place of n, and digits where bodies are far apart: meant for arms and humanoids.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...robot.model import Model, joint_kinematics
from ...spatial import Array, Transform, cross, join, matvec, transpose
from ...sweeps.orders.slots import lift
from ...sweeps.verbs import ordering
from .arrays import EXACT, JaxArray, array, unwrap
from .gather_scatter import arrays
from .levels import JaxLevels
from .pytrees import each, merge


class Unmoved(Transform):
    """The transforms between bodies that share a frame."""

    def __matmul__(self, other: Any) -> Any:
        return other

    @property
    def T(self) -> Any:
        return self

    def map(self, change: Callable[[Array, int], Array]) -> Unmoved:
        return self


class Common(JaxLevels):
    """All at once, for bodies in one frame: operators between them change nothing.

    What is carried along ancestors then changes only where a joint of several bodies begins.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model.parents, model.pattern)
        self.joint = model.carrier

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        own = plus if c is None else c if plus is None else c + plus
        total = each(arrays(own), lambda x, rank: self._summed(x, rank, self.table.above))
        return total if root is None else merge(total, lift(arrays(root)), lambda a, b, _: a + b)

    def accumulate(self, X: Any, c: Any) -> Any:
        return each(arrays(c), lambda x, rank: self._summed(x, rank, self.table.above.T))

    def _summed(self, x: Any, rank: int, of: np.ndarray) -> JaxArray:
        """Sums over bodies: row i of a table tells which ones belong to that of body i."""
        axis = x.ndim - rank - 1
        flat = x.value.reshape((*x.shape[: axis + 1], -1))
        return JaxArray(jnp.matmul(of.astype(x.dtype), flat, precision=EXACT).reshape(x.shape))

    def pairs(
        self,
        start: Array,
        carry: Callable[..., Array],
        emit: Callable[..., Array],
        along: tuple[Any, ...],
        both: bool = False,
    ) -> Array:
        start, along = array(start), arrays(along)
        first = np.searchsorted(self.joint, self.joint)  # the body with which the joint of each one begins
        beyond = carry(start, *_at(along, first))
        entries = emit(beyond[..., :, None, :], *along)
        # Bodies of one joint meet what was not carried beyond it.
        same = self.joint[:, None] == self.joint
        row, column = np.nonzero(same)
        pick = np.cumsum(same.ravel()).reshape(same.shape) - 1
        own = emit(start[..., row, :], *_at(along, column))
        wide = (*same.shape, *(1,) * (2 * both))
        entries = jnp.where(
            same.reshape(wide), unwrap(own[(..., pick, *(slice(None),) * (2 * both))]), unwrap(entries)
        )
        return self.both_sides(jnp.moveaxis(entries, -3 if both else -1, -1), both)


def _at(fields: Any, bodies: np.ndarray) -> Any:
    return each(fields, lambda x, rank: x[(..., bodies, *(slice(None),) * rank)])


def posed(model: Model, q: Array, order: JaxLevels) -> Model:
    """The model at positions q with all bodies in one frame: along the axes of the world, amid the bodies."""
    X, _, _ = joint_kinematics(model, q)
    with ordering(order):
        X = order.paths(X).whole()
    # Wherever the origin is, results are the same; amid the bodies their digits are the best.
    middle = jax.lax.stop_gradient(unwrap(X.r).mean(axis=-2, keepdims=True))
    X = Transform(X.E, JaxArray(unwrap(X.r) - middle))
    w = matvec(transpose(X.E), model.axis[..., :3])
    v = matvec(transpose(X.E), model.axis[..., 3:])
    still = Unmoved(np.eye(3, dtype=model.axis.dtype), np.zeros(3, model.axis.dtype))
    return replace(
        model,
        groups=(),
        rest=still,
        axis=join(w, v + cross(X.r, w)),
        inertia=X.T @ model.inertia,
        link_frame=model.link_frame @ X[model.links],
        dh_of=None,
    )
