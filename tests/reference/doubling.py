# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""All bodies at once, each hopping over twice as many ancestors as before: logarithmic depth."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from phalanx.errors import PhalanxError
from phalanx.spatial import Array, Field, Identity
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.orders.slots import Slots, lift


class Doubling(Sequential):
    """Affine sweeps by pointer jumping; sweeps that have no such order are refused."""

    by_halves = True

    def __init__(self, parents: np.ndarray, pattern: np.ndarray | None = None) -> None:
        super().__init__(parents, pattern, joining="shift")

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        if not self.n:
            return super().propagate(X, c, root, through, plus)
        if through is not None:
            # through (X x + c) + plus is affine again.
            X = through if isinstance(X, Identity) else through @ X
            c = None if c is None else through @ c
        if plus is not None:
            c = plus if c is None else c + plus
        if root is None:
            return self.paths(X) @ c
        world = lift(root)
        if c is None:
            whole = self.paths(X).from_world()
            return whole @ (world[np.zeros(self.n, dtype=np.intp)] if isinstance(world, Field) else world)
        start, first = Slots(self.n, None, start=c), np.flatnonzero(self.parents < 0)
        start.add(first, X[first] @ world)
        return self.paths(X) @ start.all()

    def accumulate(self, X: Any, c: Any) -> Any:
        return self.paths(X).T @ c

    def total(self, values: Array) -> Array:
        while (count := values.shape[-1]) > 1:
            even = values[..., : count - count % 2]
            pairs = even[..., 0::2] + even[..., 1::2]
            rest = values[..., count - count % 2 :]
            values = np.concatenate([pairs, rest], axis=-1)
        return values.sum(axis=-1) if not values.shape[-1] else values[..., 0]

    def fold(self, *_: Any) -> NoReturn:
        _refuse("fold", "its steps are not affine and have to follow one another from the tips to the root")

    def pairs(self, *_: Any) -> NoReturn:
        _refuse("pairs", "it walks from each body along its ancestors one by one")

    def segments(self, *_: Any) -> NoReturn:
        _refuse("segments", "inside a segment one link follows another")

    def eliminate(self, *_: Any) -> NoReturn:
        _refuse("eliminate", "it removes one degree of freedom after another")

    def substitute(self, *_: Any) -> NoReturn:
        _refuse("substitute", "it removes one degree of freedom after another")


def _refuse(sweep: str, why: str) -> NoReturn:
    raise PhalanxError(
        f"{sweep}: no order of logarithmic depth, since {why}; use an algorithm whose span is "
        "logarithmic (phalanx.algorithms tells), or the sequential order."
    )
