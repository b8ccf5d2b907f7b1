# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The links of a robot, each with the bodies of its joint taken together.

Equations that invert the inertia of a link cannot see the massless bodies inside a joint; here a
joint has all its d degrees of freedom at once. Its wrenches split into W (6 x (6 - d)), which do no
work on it, and T (6 x d) with S^T T = 1, which drive it. Blocks of all links have one size: joints with
more degrees of freedom have columns of zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ..errors import PhalanxError
from ..robot.inertia_shift import is_definite
from ..robot.model import Model, identity_transform
from ..spatial import Array, Transform, dense, dot, matvec, namespace, transpose
from ..sweeps.heavy_paths import ArrayLinks
from ..sweeps.links import LinkSweeps
from ..sweeps.verbs import current
from .banded.symmetric import inverse


@dataclass(frozen=True, eq=False)
class Links:
    """m links: transforms, joints and inverse inertias.

    Forces of a joint are T tau + W y. Where a rotor of inertia A sits on the joint, its acceleration z
    is an unknown beside the constraint forces: W has the further column -T A and `unused` the entry A,
    so that tau - A z drives the joint. Elsewhere the column is zero and `unused` one.
    """

    heavy_paths: LinkSweeps  # which link hangs on which
    X: Array  # (…, m, 6, 6) from the link that carries each
    W: Array  # (…, m, 6, w)
    G: Array  # (m, 6, 6) inertias
    Gi: Array  # (m, 6, 6) their inverses
    unused: Array  # (m, w)
    bodies: Transform  # (n) from the body before each one
    seats: Transform | None  # (m) from frames in which the axes of joints do not move; None: that of the link
    T: Array  # (n, 6) the column of each body, in the frame of its link's seat
    rotor: Array  # (n,) one for a body with a rotor
    unknown: Array  # (n, w) one for the unknown that is the acceleration of its rotor

    def along(self, c: Array) -> Array:
        """The link accelerations that result from accelerations c (…, n, 6) at the bodies of each joint."""
        return self.heavy_paths.joined(lambda before, own, X: own + X @ before, c, self.bodies)

    def driven(self, tau: Array) -> Array:
        """The wrenches T tau of joint forces."""
        wrench = self.heavy_paths.joined(lambda before, own: own + before, self.T * tau[..., None])
        return wrench if self.seats is None else inverse_transform(self.seats).T @ wrench

    def accelerations(self, rho: Array, y: Array) -> Array:
        """`qdd` (…, nv) from S qdd = rho, or from the rotors among the unknowns y."""
        at_seats = rho if self.seats is None else inverse_transform(self.seats) @ rho
        qdd = dot(self.T, self.heavy_paths.spread(at_seats))
        if y.shape[-1] < 6:
            return qdd
        return qdd * (1.0 - self.rotor) + dot(self.unknown, self.heavy_paths.spread(y)) * self.rotor


class Shape:
    """Which bodies belong to which link, and what is constant about their joints."""

    def __init__(self, model: Model) -> None:
        self.last = model.links
        self.size = np.diff(model.links, prepend=-1)  # degrees of freedom of each joint
        self.slots = int(self.size.max(initial=1))
        self.link = np.repeat(np.arange(len(self.last)), self.size)  # of each body
        self.slot = np.arange(model.n) - (self.last - self.size + 1)[self.link]

    @cached_property
    def bodies(self) -> np.ndarray:
        """The bodies (m, slots) of each joint, its last one repeated."""
        first = self.last - self.size + 1
        return np.minimum(first[:, None] + np.arange(self.slots), self.last[:, None])

    @cached_property
    def moves(self) -> np.ndarray:
        return np.arange(self.slots) < self.size[:, None]


def links_of(model: Model, X: Transform) -> Links:
    """The links of a model whose bodies have the transforms X from their parents."""
    order = current()
    heavy_paths = ArrayLinks.of(model) if order is None else order.links(model)
    W, T, unused, seated, rotor, unknown = model.derived(constants)
    W, unused, seated = (
        heavy_paths.at_links(W, 2),
        heavy_paths.at_links(unused),
        heavy_paths.at_links(seated, 0),
    )
    seats = None
    if not seated.all():
        seats = heavy_paths.at_links(X).zip(identity_transform(model), partial(_seat, seated))
        W = from_seats(seats, W)
    X_links = dense(heavy_paths.joined(lambda before, own: own @ before, X))
    G = dense(heavy_paths.at_links(model.definite_inertia))
    return Links(heavy_paths, X_links, W, G, inverse(G), unused, X, seats, T, rotor, unknown)


def constants(model: Model) -> tuple[Array, ...]:
    """The constants of links, one row per body, as `Links` has them: (W, T, unused, seated, rotor, unknown).

    A link is `seated` if the axes of its joint are constant in the link's own frame.
    """
    shape, dtype = Shape(model), model.axis.dtype
    W, T, unused = bases(model)
    link, slot, size = shape.link, shape.slot, shape.size
    rotor = (model.armature > 0.0).astype(dtype)
    unknown = (np.arange(W.shape[-1]) == (6 - size[link] + slot)[:, None]).astype(dtype)
    seated = (size == 1) | _as_before(model)[shape.last]
    return W[link], T[link, :, slot], unused[link], seated[link], rotor, unknown


def _as_before(model: Model) -> np.ndarray:
    """Whether each body (n,) only adds an axis to the one before, in the same frame."""
    still = np.zeros(model.n, dtype=bool)
    for g in model.groups:
        still[g.bodies] = g.motion.nq == 0
    rest = model.rest.map(lambda array, _: array.astype(float))
    same: np.ndarray = still & (np.eye(3) == rest.E).all(axis=(-1, -2)) & ~rest.r.any(axis=-1)
    return same


def _seat(seated: Array, X: Array, one: Array, rank: int) -> Array:
    """Arrays of transforms, with the identity for links that are seated."""
    return namespace(X).where(seated[(..., *(None,) * rank)], one, X)


def inverse_transform(X: Transform) -> Transform:
    """The transform from the link's frame to its parent's."""
    return Transform(transpose(X.E), -matvec(X.E, X.r))


def from_seats(seats: Transform, wrenches: Array) -> Array:
    """Wrenches (m, 6, w) moved from the frames in which they are constant to those of the links."""
    columns = inverse_transform(seats).map(
        lambda a, rank: a[(..., slice(None), None) + (slice(None),) * rank]
    )
    return transpose(columns.T @ transpose(wrenches))


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

    All axes are constant there: each motion leaves its own axis in place, and those in the middle
    change no axis before them, else the joint is refused.
    """
    axis, rest = model.axis.astype(float), model.rest.map(lambda a, _: a.astype(float))
    if d == 1:
        return axis[last][..., None]
    moves, turns = np.zeros(model.n, dtype=bool), model.rates[:, 0] != 0.0
    for g in model.groups:
        moves[g.bodies] = g.motion.nq > 0
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
    regular = is_definite(model.definite_inertia[model.links])
    return -1 if regular.all() else int(np.argmin(regular))
