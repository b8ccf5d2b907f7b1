# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The links of a robot, each with the bodies of its joint taken together.

Equations that invert the inertia of a link cannot see the massless bodies inside a joint; here a
joint has all its d degrees of freedom at once. Its wrenches split into W (6 x (6 - d)), which do no
work on it, and T (6 x d) with S^T T = 1, which drive it. Blocks of all links have one size: joints with
more degrees of freedom have columns of zeros.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import PhalanxError
from ..robot.model import Model, identity_transform
from ..spatial import Array, Transform, dense, matvec, namespace, transpose
from ..sweeps.verbs import current
from .banded.limbs import Limbs
from .banded.symmetric import inverse

_SINGULAR = 1e-13


@dataclass(frozen=True, eq=False)
class Links(ABC):
    """m links: transforms, joints and inverse inertias.

    Forces of a joint are T tau + W y. Where a rotor of inertia A sits on the joint, its acceleration z
    is an unknown beside the constraint forces: W has the further column -T A and `unused` the entry A,
    so that tau - A z drives the joint. Elsewhere the column is zero and `unused` one.
    """

    X: Array  # (…, m, 6, 6) from the link that carries each
    W: Array  # (…, m, 6, w)
    G: Array  # (m, 6, 6) inertias
    Gi: Array  # (m, 6, 6) their inverses
    unused: Array  # (m, w)

    @property
    @abstractmethod
    def count(self) -> int:
        """The number m of links."""

    @cached_property
    @abstractmethod
    def limbs(self) -> Limbs:
        """Which link hangs on which, as the order of the sweeps sees it."""

    @abstractmethod
    def along(self, c: Array) -> Array:
        """What accelerations (…, n, 6) added at the bodies of each joint add to its link."""

    @abstractmethod
    def at(self, b: Array) -> Array:
        """The wrenches (…, n, 6) on bodies that belong to links."""

    @abstractmethod
    def driven(self, tau: Array) -> Array:
        """T tau."""

    @abstractmethod
    def accelerations(self, rho: Array, y: Array) -> Array:
        """`qdd` (…, nv) from S qdd = rho, or from the rotors among the unknowns y."""


@dataclass(frozen=True, eq=False)
class ArrayLinks(Links):
    """Links as arrays over all of them."""

    model: Model
    T: Array  # (…, m, 6, d)
    tails: tuple[Transform, ...]  # from the bodies 1, 2, … before each link's last one
    shape: Shape

    @property
    def count(self) -> int:
        return len(self.shape.last)

    @cached_property
    def limbs(self) -> Limbs:
        carrier = self.model.parents[self.shape.last - self.shape.size + 1]
        return Limbs(np.where(carrier < 0, -1, np.searchsorted(self.shape.last, carrier)))

    def along(self, c: Array) -> Array:
        total = c[..., self.shape.last, :]
        for k, tail in enumerate(self.tails, 1):
            part = tail @ c[..., np.maximum(self.shape.last - k, 0), :]
            total = total + part * self.shape.has(k).astype(self.model.axis.dtype)[:, None]
        return total

    def at(self, b: Array) -> Array:
        return b[..., self.shape.last, :]

    def driven(self, tau: Array) -> Array:
        mask = self.shape.moves.astype(self.model.axis.dtype)
        return matvec(self.T, tau[..., self.shape.bodies] * mask)

    def accelerations(self, rho: Array, y: Array) -> Array:
        link, slot = self.shape.place
        qdd = matvec(transpose(self.T), rho)[..., link, slot]
        if self.W.shape[-1] < 6:
            return qdd
        rotor = self.model.derived(rotors)
        return qdd * (1.0 - rotor) + y[..., link, 6 - self.shape.size[link] + slot] * rotor


class Shape:
    """Which bodies belong to which link, and what is constant about their joints."""

    def __init__(self, model: Model) -> None:
        self.n = model.n
        self.last = model.links
        self.size = np.diff(model.links, prepend=-1)  # degrees of freedom of each joint
        self.slots = int(self.size.max(initial=1))

    def has(self, k: int) -> np.ndarray:
        """Whether a joint has a body k before its last one."""
        return self.size > k

    @cached_property
    def bodies(self) -> np.ndarray:
        """The bodies (m, slots) of each joint, its last one repeated."""
        first = self.last - self.size + 1
        return np.minimum(first[:, None] + np.arange(self.slots), self.last[:, None])

    @cached_property
    def moves(self) -> np.ndarray:
        return np.arange(self.slots) < self.size[:, None]

    @cached_property
    def place(self) -> tuple[np.ndarray, np.ndarray]:
        """Link and slot of each body."""
        link = np.searchsorted(self.last, np.arange(self.n))
        return link, np.arange(self.n) - (self.last - self.size + 1)[link]


def links_of(model: Model, X: Transform) -> Links:
    """The links of a model whose bodies have the transforms X from their parents."""
    order = current()
    own: Links | None = None if order is None else order.links_of(model, X)
    if own is not None:
        return own
    shape = Shape(model)
    tails = _tails(model, shape, X)
    seats = None if shape.slots == 1 else _pick(model, X, np.where(shape.has(1), shape.last, model.n))
    W, T, unused = model.derived(bases)
    if seats is not None:
        W, T = from_seats(seats, W), from_seats(seats, T)
    G = dense(model.inertia[shape.last])
    return ArrayLinks(dense(tails[-1]), W, G, inverse(G), unused, model, T, tails[:-1], shape)


def _tails(model: Model, shape: Shape, X: Transform) -> tuple[Transform, ...]:
    """Transforms from the body 1, 2, … before each link's last one, at last from the link that carries it."""
    tails = [X[shape.last] if shape.slots > 1 else X]
    for k in range(1, shape.slots):
        before = _pick(model, X, np.where(shape.has(k), shape.last - k, model.n))
        tails.append(tails[-1] @ before)
    return tuple(tails)


def _pick(model: Model, X: Transform, bodies: np.ndarray) -> Transform:
    """The transforms of some bodies; of body n the one that changes nothing."""
    xp, one = namespace(X.r), identity_transform(model, X)
    E = xp.concatenate([X.E, one.E[..., None, :, :]], axis=-3)
    r = xp.concatenate([X.r, one.r[..., None, :]], axis=-2)
    return Transform(E, r)[bodies]


def inverse_transform(X: Transform) -> Transform:
    """The transform back."""
    return Transform(transpose(X.E), -matvec(X.E, X.r))


def from_seats(seats: Transform, wrenches: Array) -> Array:
    """Wrenches (m, 6, w) moved from the frames in which they are constant to those of the links."""
    columns = inverse_transform(seats).map(
        lambda a, rank: a[(..., slice(None), None) + (slice(None),) * rank]
    )
    return transpose(columns.T @ transpose(wrenches))


def rotors(model: Model) -> Array:
    """1 for each degree of freedom (nv,) with a rotor, else 0."""
    return (model.armature > 0.0).astype(model.axis.dtype)


def bases(model: Model) -> tuple[Array, Array, Array]:
    """(W, T, unused) of all joints, in frames in which their axes do not move."""
    shape, dtype = Shape(model), model.axis.dtype
    m = len(shape.last)
    driven = not (isinstance(model.armature, np.ndarray) and not np.any(model.armature > 0.0))
    width = 6 if driven else max(1, 6 - int(shape.size.min(initial=1)))
    W, T, drives = np.zeros((m, 6, width)), np.zeros((m, 6, shape.slots)), np.zeros((m, width, shape.slots))
    for d in np.unique(shape.size).tolist():
        joints = np.flatnonzero(shape.size == d)
        S = _axes(model, shape.last[joints], d)
        W[joints, :, : 6 - d] = _complements(S)
        T[joints, :, :d] = S @ np.linalg.inv(transpose(S) @ S)
        if driven:
            drives[joints[:, None], range(6 - d, 6), range(d)] = 1.0
    free = np.arange(width) >= 6 - shape.size[:, None]
    if not driven:
        return W.astype(dtype), T.astype(dtype), free.astype(dtype)
    T, drives = T.astype(dtype), drives.astype(dtype)
    A = matvec(drives, model.armature[shape.bodies] * shape.moves.astype(dtype))
    still = (A <= 0.0).astype(dtype)
    return W.astype(dtype) - T @ transpose(drives) * A[..., None, :], T, (A + still) * free.astype(dtype)


def _axes(model: Model, last: np.ndarray, d: int) -> np.ndarray:
    """S (m, 6, d) of joints with d bodies: of one body in its frame, of several in that of the last but one.

    There the axes of all do not move: each motion keeps its own axis, and those in the middle
    change no axis before them, else the joint is refused.
    """
    axis, rest = model.axis.astype(float), model.rest.map(lambda a, _: a.astype(float))
    if d == 1:
        return axis[last][..., None]
    moves, turns = (np.zeros(model.n, dtype=bool) for _ in range(2))
    for g in model.groups:
        moves[g.bodies], turns[g.bodies] = g.motion.nq > 0, g.motion.turns
    columns: list[np.ndarray] = []
    for k in range(d - 1, 0, -1):
        body = last - k
        if columns:
            angular = np.abs(np.stack(columns))[..., :3].any(axis=(0, 2))
            if (wrong := moves[body] & (turns[body] | angular)).any():
                raise PhalanxError(
                    f"the joint of body {last[wrong][0]} has axes that move in every frame; "
                    'use algorithm "aba".'
                )
            columns = [rest[body] @ S for S in columns]
        columns.append(axis[body])
    return np.stack([*columns, inverse_transform(rest[last]) @ axis[last]], axis=-1)


def _complements(S: np.ndarray) -> np.ndarray:
    """W (m, 6, 6 - d) with W^T S = 0: columns of the unit matrix where S has such columns only."""
    d = S.shape[-1]
    touched = np.abs(S).any(axis=-1)
    W = np.eye(6)[:, np.argsort(touched, axis=-1, kind="stable")[:, : 6 - d]].swapaxes(0, 1)
    tilted = touched.sum(axis=-1) != d
    W[tilted] = np.linalg.qr(S[tilted], mode="complete")[0][..., d:]
    return W


def singular_link(model: Model) -> int:
    """The first link whose inertia has no inverse, -1 if all have one."""
    G = model.inertia[model.links]
    m = np.where(G.m > 0.0, G.m, 1.0)[:, None, None]
    r = G.h[:, None, :] / m
    centre = r.swapaxes(-1, -2) * r
    turned = np.trace(centre, axis1=-2, axis2=-1)[:, None, None] * np.eye(3) - centre
    size = np.linalg.eigvalsh(G.moment[:, [[0, 1, 2], [1, 3, 4], [2, 4, 5]]] - m * turned)
    scale = np.abs(G.moment).max(axis=-1, initial=0.0) + size[:, 2]
    regular = (G.m > 0.0) & (size[:, 0] > _SINGULAR * scale)
    return -1 if regular.all() else int(np.argmin(regular))
