# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inertia shifted across joints that do not feel it, so that every link has an inverse inertia.

A thin rod along the axis of a revolute joint moves with the links on both sides of the joint and resists
no rotation about the axis: its mass and its second moment may be added to one link and subtracted from the
other (the base parameters of Gautier and Khalil 1990, read backwards). The same holds for a point mass in
the centre of a spherical joint and for the moments of inertia of a ball across a prismatic one. Forces and
accelerations are those of the robot, whatever the amount: the regularisation cancels exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..reproducible import moved
from ..spatial import Inertia, Transform, dense, unpack

if TYPE_CHECKING:
    from .model import Model

_SINGULAR = 1e-13  # smallest moment of inertia about the mass centre, relative to the largest
_PART = 0.5  # of its own inertia that a link may hand over
_LEAST = 2.0**-13  # of a link's size to be added to it: less would cost more digits than 1e-9 leaves


class _Across(NamedTuple):
    """An inertia that a joint does not feel, of unit size: at its link, and at the link that carries it."""

    own: Inertia
    carried: Inertia


def inertia_shift(model: Model) -> Inertia | None:
    """A regularisation that cancels exactly, added so that link inertias have inverses; None if they have.

    Links that nothing helps stay as they are. Amounts are powers of two, so that rounding in the search for
    them changes no result.
    """
    links = model.links
    if is_definite(model.inertia[links]).all():
        return None
    return _Shift(model).found()


def is_definite(inertias: Inertia) -> np.ndarray:
    """Whether inertias (m,) have inverses."""
    moment, some = inertias.moment, inertias.m > 0.0
    m = np.where(some, inertias.m, 1.0)[:, None, None]
    r = inertias.h[:, None, :] / m
    centre = r.swapaxes(-1, -2) * r
    offset = np.trace(centre, axis1=-2, axis2=-1)[:, None, None] * np.eye(3) - centre
    size = np.linalg.eigvalsh(unpack(moment) - m * offset)
    scale = np.abs(moment).max(axis=-1, initial=0.0) + size[:, 2]
    definite: np.ndarray = some & (size[:, 0] > _SINGULAR * scale)
    return definite


class _Shift:
    """The search for amounts, link by link."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.shift = model.inertia.map(lambda array, _: np.zeros_like(array))
        last = model.links
        self.first = np.append(0, last[:-1] + 1)[: len(last)]  # bodies of joints
        carrier = model.parents[self.first]
        self.parent = np.where(carrier < 0, -1, np.searchsorted(last, carrier))
        self.children: list[list[int]] = [[] for _ in last]
        for k, p in enumerate(self.parent.tolist()):
            if p >= 0:
                self.children[p].append(k)
        moment = model.inertia.moment[last]
        self.mass = _powers(model.inertia.m[last])
        self.turn = _powers((moment[:, 0] + moment[:, 3] + moment[:, 5]) / 3.0)

    def found(self) -> Inertia:
        """The shift of all bodies."""
        count = len(self.parent)
        for k in range(count - 1, -1, -1):
            if not self.moves_itself(k):
                self.take_from_children(k)
        for k in range(count):
            if not self.is_definite(k):
                self.take_from_parent(k)
        return self.shift

    def take_from_children(self, k: int) -> None:
        """Shift inertia to a link that has none along its own joint's axis."""
        for c in self.children[k]:
            across = self.across(c)
            if across is not None and self.is_definite(c):
                self.add(c, across, -_power(_PART / _largest(across.own, self.inertia(c))))

    def take_from_parent(self, k: int) -> None:
        """Shift inertia to a link from the one that carries it; the world has any amount."""
        across, p = self.across(k), int(self.parent[k])
        if across is None or not self.moves_itself(k) or (p >= 0 and not self.is_definite(p)):
            return
        most = 1.0 if p < 0 else min(1.0, _PART / _largest(across.carried, self.inertia(p)))
        if most >= _LEAST:
            self.add(k, across, _power(most))

    def across(self, k: int) -> _Across | None:
        """The inertias that may be shifted across the joint before a link."""
        model, first, last = self.model, int(self.first[k]), int(self.model.links[k])
        joint = slice(first, last + 1)
        axes, one_point = model.axis[joint], not model.rest.r[first + 1 : last + 1].any()
        turns, slides = axes[:, :3].any(axis=-1), axes[:, 3:].any(axis=-1)
        mass, turn = 0.0 if slides.any() else self.mass[k], self.turn[k]
        moment = np.zeros(6)
        if first == last:
            moment[[0, 3, 5]] = turn, turn, 0.0 if turns[0] else turn
        elif not (turns.all() and one_point):
            return None
        own = Inertia(np.array(mass), np.zeros(3), moment)
        rest = Transform(model.rest.E[first], model.rest.r[first])
        return _Across(own, moved(rest, own))

    def add(self, k: int, across: _Across, times: float) -> None:
        """Add `times` an inertia to a link and subtract it from the one that carries it."""
        for (total, _), (own, _), (carried, _) in zip(
            self.shift.arrays(), across.own.arrays(), across.carried.arrays(), strict=True
        ):
            total[self.model.links[k]] += times * own
            if self.parent[k] >= 0:
                total[self.model.links[self.parent[k]]] -= times * carried

    def inertia(self, k: int) -> Inertia:
        """The inertia of a link with what has been shifted to it so far."""
        i = [int(self.model.links[k])]
        return self.model.inertia[i] + self.shift[i]

    def is_definite(self, k: int) -> bool:
        return bool(is_definite(self.inertia(k))[0])

    def moves_itself(self, k: int) -> bool:
        """Whether a link resists the motion of its own joint."""
        first, last = int(self.first[k]), int(self.model.links[k])
        matrix = dense(self.inertia(k))[0]
        if first < last:
            return bool(matrix[3, 3] > 0.0)
        axis = self.model.axis[last]
        return bool(axis @ matrix @ axis > _SINGULAR * np.abs(matrix).max())


def _largest(part: Inertia, whole: Inertia) -> float:
    """The largest ratio of x^T part x to x^T whole x, `whole` being definite."""
    whole_matrix = dense(whole)[0]
    scale = np.sqrt(np.diag(whole_matrix))
    root = np.linalg.inv(np.linalg.cholesky(whole_matrix / scale / scale[:, None]))
    return float(np.linalg.eigvalsh(root @ (dense(part) / scale / scale[:, None]) @ root.T)[-1])


def _power(x: float) -> float:
    """The largest power of two that is not above x."""
    return float(2.0 ** np.floor(np.log2(x)))


def _powers(sizes: np.ndarray) -> np.ndarray:
    """Powers of two near the sizes of links; the mean of the others where one has none."""
    some = sizes > 0.0
    mean = sizes[some].mean() if some.any() else 1.0
    return np.array([_power(x) for x in np.where(some, sizes, mean)])
