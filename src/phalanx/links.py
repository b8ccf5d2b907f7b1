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
from functools import cached_property

import numpy as np

from .banded.limbs import Limbs
from .banded.rows import after, before
from .banded.symmetric import inverse
from .errors import PhalanxError
from .model import Model, identity_transform
from .spatial import Array, Articulated, Tensor, Transform, dense, matvec, namespace, transpose
from .sweeps import children, current, parent, paths

_NEAR = 0.1  # how fast the size of further links loses influence on what a link is lent
_SINGULAR = 1e-13


@dataclass(frozen=True, eq=False)
class Links:
    """m links: transforms, joints and inverse inertias, as arrays over links.

    Forces of a joint are T tau + W y. Where a rotor of inertia A sits on the joint, its acceleration z
    is an unknown beside the constraint forces: W has the further column -T A and `unused` the entry A,
    so that tau - A z drives the joint. Elsewhere the column is zero and `unused` one.
    """

    model: Model
    X: Array  # (…, m, 6, 6) from the link that carries each
    W: Array  # (…, m, 6, w)
    T: Array  # (…, m, 6, d)
    G: Array  # (m, 6, 6) inertias
    Gi: Array  # (m, 6, 6) their inverses
    unused: Array  # (m, w)
    tails: tuple[Transform, ...]  # from the bodies 1, 2, … before each link's last one
    shape: _Shape

    @property
    def count(self) -> int:
        return len(self.shape.last)

    @cached_property
    def limbs(self) -> Limbs:
        """Which link hangs on which, as the order of the sweeps sees it."""
        own = getattr(current(), "limbs", None)
        if own is not None:
            found: Limbs = own()
            return found
        carrier = self.model.parents[self.shape.last - self.shape.size + 1]
        return Limbs(np.where(carrier < 0, -1, np.searchsorted(self.shape.last, carrier)))

    def along(self, c: Array) -> Array:
        """What accelerations (…, n, 6) added at the bodies of each joint add to its link."""
        total = c[..., self.shape.last, :]
        for k, tail in enumerate(self.tails, 1):
            part = tail @ c[..., np.maximum(self.shape.last - k, 0), :]
            total = total + part * self.shape.has(k).astype(self.model.axis.dtype)[:, None]
        return total

    def at(self, b: Array) -> Array:
        """The wrenches (…, n, 6) on bodies that belong to links."""
        return b[..., self.shape.last, :]

    def driven(self, tau: Array) -> Array:
        """T tau."""
        mask = self.shape.moves.astype(self.model.axis.dtype)
        return matvec(self.T, tau[..., self.shape.bodies] * mask)

    def accelerations(self, rho: Array, y: Array) -> Array:
        """`qdd` (…, nv) from S qdd = rho, or from the rotors among the unknowns y."""
        link, slot = self.shape.place
        qdd = matvec(transpose(self.T), rho)[..., link, slot]
        if self.W.shape[-1] < 6:
            return qdd
        rotor = self.model.derived(_rotors)
        return qdd * (1.0 - rotor) + y[..., link, 6 - self.shape.size[link] + slot] * rotor


class _Shape:
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
    shape = _Shape(model)
    tails = _tails(model, shape, X)
    seats = None if shape.slots == 1 else _pick(model, X, np.where(shape.has(1), shape.last, model.n))
    W, T, unused = model.derived(_bases)
    if seats is not None:
        W, T = _from_seats(seats, W), _from_seats(seats, T)
    G = dense(model.inertia[shape.last])
    return Links(model, dense(tails[-1]), W, T, G, inverse(G), unused, tails[:-1], shape)


def _tails(model: Model, shape: _Shape, X: Transform) -> tuple[Transform, ...]:
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


def _from_seats(seats: Transform, wrenches: Array) -> Array:
    """Wrenches (m, 6, w) moved from the frames in which they are constant to those of the links."""
    inverse_X = Transform(transpose(seats.E), -matvec(seats.E, seats.r))
    columns = inverse_X.map(lambda a, rank: a[(..., slice(None), None) + (slice(None),) * rank])
    return transpose(columns.T @ transpose(wrenches))


def _rotors(model: Model) -> Array:
    """1 for each degree of freedom (nv,) with a rotor, else 0."""
    return (model.armature > 0.0).astype(model.axis.dtype)


def _bases(model: Model) -> tuple[Array, Array, Array]:
    """(W, T, unused) of all joints, in frames in which their axes do not move."""
    shape, dtype = _Shape(model), model.axis.dtype
    m = len(shape.last)
    rotors = not (isinstance(model.armature, np.ndarray) and not np.any(model.armature > 0.0))
    width = 6 if rotors else max(1, 6 - int(shape.size.min(initial=1)))
    W, T, drives = np.zeros((m, 6, width)), np.zeros((m, 6, shape.slots)), np.zeros((m, width, shape.slots))
    known: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
    for i, S in enumerate(_axes(model, shape)):
        key = S.tobytes()
        if key not in known:
            known[key] = _complement(S), S @ np.linalg.inv(S.T @ S)
        d = S.shape[1]
        W[i, :, : 6 - d], T[i, :, :d] = known[key]
        if rotors:
            drives[i, range(6 - d, 6), range(d)] = 1.0
    free = np.arange(width) >= 6 - shape.size[:, None]
    if not rotors:
        return W.astype(dtype), T.astype(dtype), free.astype(dtype)
    T, drives = T.astype(dtype), drives.astype(dtype)
    A = matvec(drives, model.armature[shape.bodies] * shape.moves.astype(dtype))
    still = (A <= 0.0).astype(dtype)
    return W.astype(dtype) - T @ transpose(drives) * A[..., None, :], T, (A + still) * free.astype(dtype)


def _axes(model: Model, shape: _Shape) -> list[np.ndarray]:
    """S (6, d) of each joint: of one body in its frame, of several in that of the last but one.

    There the axes of all do not move: each motion keeps its own axis, and those in the middle
    change no axis before them, else the joint is refused.
    """
    axis, rest = model.axis.astype(float), model.rest.map(lambda a, _: a.astype(float))
    motions = {int(i): g.motion for g in model.groups for i in g.bodies}
    result = []
    for last, d in zip(shape.last.tolist(), shape.size.tolist(), strict=True):
        if d == 1:
            result.append(axis[last][:, None])
            continue
        columns: list[np.ndarray] = []
        for body in range(last - d + 1, last):
            if columns:
                moving = motions[body].nq > 0
                if moving and (motions[body].turns or np.abs(columns)[:, :3].any()):
                    raise PhalanxError(
                        f'the joint of body {last} has axes that move in every frame; use algorithm "aba".'
                    )
                columns = [rest[body] @ S for S in columns]
            columns.append(axis[body])
        back = Transform(rest.E[last].T, -rest.E[last] @ rest.r[last])
        result.append(np.stack([*columns, back @ axis[last]], axis=1))
    return result


def _complement(S: np.ndarray) -> np.ndarray:
    """W (6, 6 - d) with W^T S = 0: columns of the unit matrix if S has such columns only."""
    touched = np.abs(S).any(axis=1)
    if touched.sum() == S.shape[1]:
        return np.eye(6)[:, ~touched]
    return np.linalg.qr(S, mode="complete")[0][:, S.shape[1] :]


def singular_link(model: Model) -> int:
    """The first link whose inertia has no inverse, -1 if all have one."""
    G = model.inertia[model.links]
    for i, (m, h, moment) in enumerate(zip(G.m, G.h, G.moment, strict=True)):
        if not m > 0.0:
            return i
        r = h / m
        own = moment[[[0, 1, 2], [1, 3, 4], [2, 4, 5]]] - m * ((r @ r) * np.eye(3) - np.outer(r, r))
        size = np.linalg.eigvalsh(own)
        if not size[0] > _SINGULAR * (np.abs(moment).max() + size[2]):
            return i
    return -1


def lent_inertia(model: Model) -> Articulated:
    """A ball for each body but the last, as large as its neighbours on the side where they are smaller.

    Lending too little leaves a light link between heavy ones to divide by nearly nothing, too much
    drowns a link's own inertia: a mean over all links lost eight digits on a light tail. The base
    counts as a mean link.
    """
    sizes = []
    for x in _sizes(model):
        mean = x.sum() / model.n
        inner_side = _faded(x[..., None], mean, inward=True)[..., 0] + x
        outer_side = _faded(x[..., None], mean, inward=False)[..., 0]
        sizes.append(inner_side * outer_side / (inner_side + outer_side))
    return _balls(model, *sizes)


def lent_inertia_on_tree(model: Model) -> Articulated:
    """A ball for each body but the tips, as large as what hangs on it, or a tenth of that.

    The tenth where what carries the body is much lighter: all of it would drown light links in the middle
    of a chain; only as much as the lighter side has (`lent_inertia`) leaves heavy tips on light
    branches to divide by nearly nothing, for six digits. Each step away counts a tenth; the base counts
    as a mean link.
    """
    far = paths(Tensor(model.rest.E[..., :1, :1] * 0.0 + _NEAR))
    sizes = []
    for x in _sizes(model):
        mean = x.sum(axis=-1, keepdims=True) / model.n
        x = x[..., None]
        inner_side = parent(far @ (x + parent(x * 0.0, root=mean * _NEAR)), root=mean) + x
        outer_side = children(far.T @ x)
        part = (inner_side + _NEAR * outer_side) / (inner_side + outer_side)
        sizes.append((part * outer_side)[..., 0])
    return _balls(model, *sizes)


def _sizes(model: Model) -> tuple[Array, Array]:
    """The mass of each body and its mean moment of inertia."""
    moment = model.inertia.moment
    return model.inertia.m, (moment[..., 0] + moment[..., 3] + moment[..., 5]) / 3.0


def _balls(model: Model, mass: Array, turn: Array) -> Articulated:
    """Inertias that are the same in all directions."""
    zero = mass * 0.0
    stack = namespace(zero).stack
    return Articulated(
        stack([turn, zero, zero, turn, zero, turn], axis=-1),
        model.rest.E * 0.0,
        stack([mass, zero, zero, mass, zero, mass], axis=-1),
    )


def _faded(x: Array, base: Array, *, inward: bool) -> Array:
    """Sums of the values before (inward) or after each body, each step away counting a tenth."""
    total = before(x, first=base) if inward else after(x)
    for step in (1, 2, 4, 8):
        total = total + (before(total, step=step) if inward else after(total, step=step)) * _NEAR**step
    return total
