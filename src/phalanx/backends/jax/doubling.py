# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The doubling order for JAX: pointer jumping in ceil(log2(depth)) steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import PhalanxError
from ...spatial import Array, Identity, Tensor
from ...sweeps.orders.slots import lift, take
from .arrays import JaxArray, array, unwrap
from .gather_scatter import arrays
from .levels import JaxLevels


class NotDoubledError(PhalanxError):
    """A recursion that pointer jumping cannot evaluate in logarithmic depth."""


class JaxDoubling(JaxLevels):
    """The sweeps by pointer jumping: every body reads its first, second, fourth, … ancestor."""

    by_halves = True

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        if not self.n:
            return super().propagate(X, c, root, through, plus)
        A, b = self._composed(arrays(through), arrays(X), c if plus is None else plus), arrays(c)
        if through is not None and b is not None:
            b = through @ b
        b = plus if b is None else b if plus is None else b + plus
        if b is None:
            return self.paths(A).from_world() @ lift(arrays(root))
        if root is not None:
            b = b + self._from_world(A, root)
        return self.paths(A) @ arrays(b)

    def accumulate(self, X: Any, c: Any) -> Any:
        return self.paths(arrays(X)).T @ arrays(c) if self.n else c

    def fold(self, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]) -> Any:
        raise NotDoubledError("a recursion that is not affine has no logarithmic depth.")

    def pairs(
        self,
        start: Array,
        carry: Callable[..., Array],
        emit: Callable[..., Array],
        along: tuple[Any, ...],
        both: bool = False,
    ) -> Array:
        along = tuple(arrays(f) for f in along)
        size = start.shape[-1]
        # The matrix of `carry` composed over 1, 2, 4, … ancestors; dense, for any type of operator.
        power = Tensor(matrices(lambda x: carry(x, *along), self.n, size, array(start)))
        x = array(start)[..., :, None, :]
        for hop in self.hops:
            reached = x.shape[-2]
            ahead = power[self._kth_ancestor[:, :reached]] @ x
            x = JaxArray(jnp.concatenate([x.value, ahead.value], axis=-2))[..., : len(self.outward), :]
            far = np.arange(self.n)
            far[hop.bodies] = hop.ancestors  # bodies without one compute values that are not read
            power = power[far] @ power
        entries = emit(x, *(take(f, self._kth_ancestor) for f in along)).value
        back = self.table.level_of[:, None] - self.table.level_of[None, :]
        back = np.maximum(back, 0)
        if both:
            entries, back = jnp.moveaxis(entries, -3, -1), back[:, None, None, :]
        rows = jnp.take_along_axis(entries, jnp.asarray(back), axis=-1)
        return self.both_sides(rows, both)

    @cached_property
    def _kth_ancestor(self) -> np.ndarray:
        """Ancestors (n, depth): entry (i, k) is the k-th ancestor of body i, and 0 beyond the root."""
        columns = [np.arange(self.n)]
        for _ in range(len(self.outward) - 1):
            columns.append(np.maximum(self.parents[columns[-1]], 0))
        return np.stack(columns, axis=-1)

    def _composed(self, outer: Any, inner: Any, like: Any) -> Any:
        """The operator that applies `inner`, then `outer`."""
        if outer is None:
            return inner
        if isinstance(inner, Identity):
            return outer
        like = array(like)
        return Tensor(matrices(lambda x: outer @ (inner @ x), self.n, like.shape[-1], like))

    def _from_world(self, A: Any, root: Any) -> JaxArray:
        """The root's value carried to the bodies whose parent is the world, zero for all others."""
        near = np.flatnonzero(self.parents < 0)
        value = A[near] @ lift(arrays(root))
        index = np.full(self.n, len(near))
        index[near] = np.arange(len(near))
        widths = [(0, 0)] * (value.ndim - 2) + [(0, 1), (0, 0)]
        return JaxArray(jnp.pad(value.value, widths))[..., index, :]


def matrices(apply: Callable[..., Array], count: int, size: int, like: JaxArray) -> JaxArray:
    """The matrices (…, count, rows, size) of a linear map on vectors (…, count, size)."""

    def column(unit: Any) -> Any:
        return unwrap(apply(JaxArray(jnp.broadcast_to(unit, (count, size)))))

    columns = jax.vmap(column)(jnp.eye(size, dtype=like.dtype))
    return JaxArray(jnp.moveaxis(columns, 0, -1))
