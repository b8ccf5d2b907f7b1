# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The joint axes of all bodies as one operator."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..spatial import Array, dot, motion_cross

if TYPE_CHECKING:
    from .model import Model


class Axes:
    """The joint axes S of all bodies as one operator.

    `S @ qd` is the twist across each joint, on the body that completes the joint;
    `S.T @ F` the forces along the axes; `S.axis` the vectors themselves, body by body.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.axis = model.axis

    def __matmul__(self, rate: Array) -> Array:
        own = self.axis * self.model.body_rates(rate)[..., None]
        total = own
        for back, complete in self._parts:
            total = total + own[..., back, :] * complete[:, None]
        return total if not self._parts else total * self._complete[:, None]

    @property
    def T(self) -> _TransposedAxes:
        return _TransposedAxes(self)

    def across(self, rate: Array) -> Array:
        """The twist across each joint on all of its bodies, not only on the one that completes it."""
        twist = self @ rate
        return twist[..., self.model.carrier, :] if self._parts else twist

    def turning(self, rate: Array) -> Array:
        """What the twist across a joint does to its axes: V_J x S, zero where a joint has one axis."""
        return motion_cross(self.across(rate), self.axis) if self._parts else 0.0

    @cached_property
    def first(self) -> Array:
        """(n, 1): one at the first body of every joint, zero at those that share its twist."""
        carrier = self.model.carrier
        return self._mask(np.append(True, carrier[1:] != carrier[:-1])[: len(carrier)])[:, None]

    @cached_property
    def _parts(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For k = 1, 2, …: the body k before each one, and 1 where it shares the joint."""
        carrier, index = self.model.carrier, np.arange(self.model.n)
        parts = []
        for k in range(1, int((carrier - index).max(initial=0)) + 1):
            back = np.maximum(index - k, 0)
            parts.append((back, self._mask((carrier[back] == index) & (index >= k))))
        return parts

    @cached_property
    def _complete(self) -> np.ndarray:
        return self._mask(self.model.carrier == np.arange(self.model.n))

    def _mask(self, where: np.ndarray) -> np.ndarray:
        return where.astype(self.axis.dtype) if self.axis.dtype != object else where.astype(float)


class _TransposedAxes:
    def __init__(self, S: Axes) -> None:
        self.S = S

    def __matmul__(self, F: Array) -> Array:
        return self.S.model.joint_forces(dot(self.S.axis, F))
