# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The doubling order for JAX: pointer jumping, as many steps as the logarithm of the depth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ...errors import PhalanxError
from ...schedule.slots import lift
from ...spatial import Array, Field, Identity, Tensor, Transform
from .arrays import JaxArray, array
from .levels import Levels
from .pytrees import each


class NotDoubled(PhalanxError):
    """A walk that pointer jumping cannot shorten."""


class Doubling(Levels):
    """Every body looks at its first, second, fourth, … ancestor."""

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        if not self.n:
            return super().propagate(X, c, root, through, plus)
        A, b = _arrays(_composed(through, X)), c
        if through is not None and b is not None:
            b = through @ b
        b = plus if b is None else b if plus is None else b + plus
        if b is None:
            return self.paths(A).whole() @ lift(_arrays(root))
        if root is not None:
            b = b + self._from_world(A, root)
        return self.paths(A) @ _arrays(b)

    def _from_world(self, A: Any, root: Any) -> JaxArray:
        """What the bodies next to the world get from it, zero on all others."""
        near = np.flatnonzero(self.parents < 0)
        value = A[near] @ lift(_arrays(root))
        place = np.full(self.n, len(near))
        place[near] = np.arange(len(near))
        widths = [(0, 0)] * (value.ndim - 2) + [(0, 1), (0, 0)]
        return JaxArray(jnp.pad(value.value, widths))[..., place, :]

    def accumulate(self, X: Any, c: Any) -> Any:
        return self.paths(_arrays(X)).T @ _arrays(c) if self.n else c

    def fold(self, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]) -> Any:
        raise NotDoubled("fold")

    def pairs(
        self, start: Array, carry: Callable[..., Array], emit: Callable[..., Array], along: tuple[Any, ...]
    ) -> Array:
        return super().pairs(start, carry, emit, along)


def _arrays(field: Any) -> Any:
    return each(field, lambda x, _: array(x))


def _composed(outer: Any, inner: Any) -> Any:
    """The operator that applies `inner`, then `outer`."""
    if outer is None:
        return inner
    if isinstance(inner, Identity):
        return outer
    raise NotDoubled("propagate")
