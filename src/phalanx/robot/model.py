# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What the equations see of a robot: bodies with one degree of freedom each, as arrays.

The z axis of every body's frame is its joint's axis, whatever the file says; the constant
transforms at both ends (`rest`, `link_frame`) absorb the difference. That makes a rotation about an
arbitrary axis as cheap as one about z, and lets a long chain run through one loop body.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..reproducible import moved
from ..spatial import (
    Array,
    Displacement,
    Field,
    Inertia,
    Transform,
    Transposed,
    cross,
    dot,
    join,
    matvec,
    moments_of_inertia,
    motion_cross,
    namespace,
    pack,
    second_moments,
    transpose,
    unpack,
)
from .dh.chain import DHChain
from .dh.frames import chain_of
from .inertia_shift import inertia_shift
from .joints import Motion

_REGROUPED_DIGITS = 1e-10  # of a moment of inertia that regrouping may take


@dataclass(frozen=True)
class Group:
    """The bodies that share one motion, and the indices of their coordinates in q."""

    motion: type[Motion]
    bodies: np.ndarray  # (k,)
    coordinates: np.ndarray  # (k, motion.nq)


@dataclass(frozen=True)
class Coupling:
    """Mimic joints: body coordinates = Q q + offset, body rates = A qd."""

    Q: Array  # (coordinates of the bodies, nq)
    offset: Array
    A: Array  # (n, nv)


@dataclass(frozen=True, eq=False)
class Model:
    """A robot as bodies 0 … n-1, parents first; the world is -1."""

    n: int
    nq: int
    nv: int
    parents: np.ndarray  # (n,)
    groups: tuple[Group, ...]
    rest: Transform  # X of each body from its parent with all coordinates zero
    offset: Array  # (n,) constant part of the angle of a screw
    axis: Array  # (n, 6) joint axis in the body's frame
    carrier: np.ndarray  # (n,) the body on which the twist of this body's joint is complete
    inertia: Inertia
    armature: Array  # (nv,)
    gravity: Array  # (3,)
    links: np.ndarray  # (n_links,) last body of each link
    link_frame: Transform  # X from each link's last body to the link's frame in the file
    coupling: Coupling | None = None
    # (k, 6) degrees of freedom of joints whose rates are a whole twist, in axes that turn with the child
    twists: np.ndarray = field(default_factory=lambda: np.zeros((0, 6), dtype=np.intp))
    # The chain in DH frames of the model that this one was made from.
    dh_of: Callable[[], DHChain] | None = field(default=None, repr=False)
    # Its inertia shift, too.
    shift_of: Callable[[], Inertia | None] | None = field(default=None, repr=False)

    def cast(self, convert: Any) -> Model:
        """The same model with `convert(array)` applied to every array of real numbers."""
        each = lambda array, _: convert(array)  # noqa: E731
        coupling = self.coupling and replace(
            self.coupling,
            Q=convert(self.coupling.Q),
            offset=convert(self.coupling.offset),
            A=convert(self.coupling.A),
        )
        return replace(
            self,
            rest=self.rest.map(each),
            offset=convert(self.offset),
            axis=convert(self.axis),
            inertia=self.inertia.map(each),
            armature=convert(self.armature),
            gravity=convert(self.gravity),
            link_frame=self.link_frame.map(each),
            coupling=coupling,
            dh_of=lambda: self.dh.cast(convert),
            shift_of=lambda: None if self.inertia_shift is None else self.inertia_shift.map(each),
        )

    def fixed(self) -> Model:
        """The same model with read-only arrays."""
        groups = tuple(Group(g.motion, frozen(g.bodies), frozen(g.coordinates)) for g in self.groups)
        return replace(
            self.cast(frozen),
            groups=groups,
            parents=frozen(self.parents),
            carrier=frozen(self.carrier),
            links=frozen(self.links),
            twists=frozen(self.twists),
        )

    def regrouped(self) -> Model:
        """A model with the same forces and accelerations and as many zero inertias as possible.

        A rotation does not move a mass on its axis, so that this mass may as well belong to the
        parent: mass, first moment and second moment along z move there (the base parameters
        of Gautier and Khalil 1990). Energies and mass centres are those of another robot. A body whose
        moment about z would lose digits in its second moments, being that small beside the others, stays
        as it is.
        """
        m, h = self.inertia.m.copy(), self.inertia.h.copy()
        J = unpack(second_moments(self.inertia.moment))
        own = self.inertia.moment[:, 5]
        stays = np.abs(J[:, 0, 0] + J[:, 1, 1] - own) > _REGROUPED_DIGITS * np.abs(own)
        turn, slide = self.rates.T
        turning = (turn != 0.0) & (slide == 0.0)  # the points of their axes stay where they are
        for i in range(self.n - 1, -1, -1):
            p, r, z = int(self.parents[i]), self.rest.r[i], self.rest.E[i, 2]
            if not turning[i] or stays[i] or (p >= 0 and (m[p] == 0.0 or stays[p])):
                continue
            mass, first, second = m[i], h[i, 2], J[i, 2, 2]
            m[i] = h[i, 2] = J[i, 2, 2] = 0.0
            if p >= 0:
                line = np.outer(r, z) * first
                m[p] += mass
                h[p] += mass * r + first * z
                J[p] += mass * np.outer(r, r) + line + line.T + second * np.outer(z, z)
        moment = moments_of_inertia(pack(J))
        moment[stays] = self.inertia.moment[stays]
        # These have no mass centre: DH frames keep the robot's own inertias.
        return replace(self, inertia=Inertia(m, h, moment), dh_of=lambda: self.dh)

    @cached_property
    def dh(self) -> DHChain:
        """The bodies of a serial chain in Denavit-Hartenberg frames."""
        return chain_of(self) if self.dh_of is None else self.dh_of()

    @cached_property
    def inertia_shift(self) -> Inertia | None:
        """A regularisation that cancels exactly and makes link inertias definite; None if they are."""
        return inertia_shift(self) if self.shift_of is None else self.shift_of()

    @property
    def definite_inertia(self) -> Inertia:
        """Inertias of the bodies, shifted across joints where that of a link has no inverse."""
        return self.inertia if self.inertia_shift is None else self.inertia + self.inertia_shift

    def indices(self) -> list[np.ndarray]:
        """All arrays of integers."""
        groups = (a for g in self.groups for a in (g.bodies, g.coordinates))
        return [self.parents, self.carrier, self.links, self.twists, *groups]

    def constants(self) -> list[np.ndarray]:
        """All arrays of real numbers."""
        G, X, Y = self.inertia, self.rest, self.link_frame
        arrays = [X.E, X.r, self.offset, self.axis, G.m, G.h, G.moment]
        arrays += [self.armature, self.gravity, Y.E, Y.r]
        if self.coupling is not None:
            arrays += [self.coupling.Q, self.coupling.offset, self.coupling.A]
        return arrays

    @cached_property
    def rates(self) -> np.ndarray:
        """Rotation about z and translation along z of each body per unit of its coordinate (n, 2).

        They are zero for bodies whose motion is not a one-degree-of-freedom screw.
        """
        rates = np.zeros((self.n, 2))
        for g in self.groups:
            if g.motion.is_screw:
                rates[g.bodies] = self.axis[g.bodies][:, [2, 5]]
        return rates

    def moving_axes(self, group: Group) -> Array:
        """The axes along which the bodies of a group move (k, 6)."""
        return self.axis[group.bodies]

    @cached_property
    def is_chain(self) -> bool:
        """Whether the parent of each body is the one before."""
        return bool(np.array_equal(self.parents, np.arange(-1, self.n - 1)))

    @cached_property
    def pattern(self) -> np.ndarray:
        """Parent of each degree of freedom in the mass matrix: entries off its ancestors are zero.

        Coupling across branches fills the matrix, as if the robot were one chain.
        """
        return self.parents if self.coupling is None else np.arange(-1, self.nv - 1)

    @cached_property
    def inverse_order(self) -> np.ndarray:
        """Permutation that brings the groups' bodies, one group after another, into order."""
        return np.argsort(np.concatenate([g.bodies for g in self.groups]), kind="stable")

    @cached_property
    def depth(self) -> np.ndarray:
        """Number of ancestors of each body."""
        depth = np.zeros(self.n, dtype=np.intp)
        for i, p in enumerate(self.parents.tolist()):
            depth[i] = 0 if p < 0 else depth[p] + 1
        return depth

    def ancestors(self, body: int) -> list[int]:
        """The body itself, its parent, … up to the one next to the world."""
        path = []
        while body >= 0:
            path.append(body)
            body = int(self.parents[body])
        return path

    def bodies(self, value: Array) -> Array:
        """Values per degree of freedom (…, nv) as scalars per body (…, n, 1)."""
        return self.body_rates(value)[..., None]

    def body_rates(self, rate: Array) -> Array:
        """Rates (or forces) per degree of freedom as rates per body."""
        return rate if self.coupling is None else matvec(self.coupling.A, rate)

    def joint_forces(self, force: Array) -> Array:
        """Forces per body projected on the degrees of freedom."""
        return force if self.coupling is None else matvec(self.coupling.A.T, force)

    def axes(self) -> Any:
        """The joint axes as an operator."""
        return Axes(self)

    def derived(self, constants: Callable[[Model], Any]) -> Any:
        """A field of constants over bodies that follows from the whole model."""
        return constants(self)

    def rotor_forces(self, qd: Array) -> Array | None:
        """Joint forces (…, nv) that rotors need at constant rates because their axes turn; None if none do.

        Where linear axes turn with the child, a velocity v that keeps its components turns: with armature
        a along these axes the momentum p = a v changes by w x p and has the moment v x p.
        """
        if not len(self.twists):
            return None
        a = self.armature[..., self.twists[:, 3:]]
        if isinstance(a, np.ndarray) and not np.any(a):
            return None
        w, v = qd[..., self.twists[:, :3]], qd[..., self.twists[:, 3:]]
        # v x p with differences of armature in front: none is left where all three are equal.
        moment = (a[..., [2, 0, 1]] - a[..., [1, 2, 0]]) * (v[..., [1, 2, 0]] * v[..., [2, 0, 1]])
        F = join(moment, cross(w, a * v))
        index = np.zeros(self.nv, dtype=np.intp)
        index[self.twists.ravel()] = np.arange(self.twists.size)
        mask = np.zeros(self.nv)
        mask[self.twists] = 1.0
        return F.reshape((*qd.shape[:-1], self.twists.size))[..., index] * mask.astype(self.axis.dtype)

    def rotor_slopes(self, qd: Array) -> Array:
        """The derivative (…, nv, nv) of `rotor_forces` with respect to the rates; zero if they are none."""
        if (here := self.rotor_forces(qd)) is None:
            return 0.0
        ones = np.eye(self.nv).astype(self.axis.dtype)
        # They are quadratic in the rates.
        ahead = self.rotor_forces(qd[..., None, :] + ones)
        return transpose(ahead - here[..., None, :] - self.rotor_forces(ones))

    def rotor_matrix(self, qd: Array) -> Array:
        """The skew-symmetric matrix C (…, nv, nv) with `rotor_forces` C qd; zero if they are none."""
        if self.rotor_forces(qd) is None:
            return 0.0
        matrix = diagonal(qd * 0.0)
        for twist in self.twists:
            turn, slide = twist[:3], twist[3:]
            p = self.armature[..., slide] * qd[..., slide]
            for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
                for row, column in ((turn, slide), (slide, turn)):
                    matrix[..., row[i], column[j]] = p[..., k]
                    matrix[..., row[j], column[i]] = -p[..., k]
        return matrix

    def joint_columns(self, columns: Array) -> Array:
        """Vectors per body (…, n, k) summed for each degree of freedom (…, nv, k)."""
        return columns if self.coupling is None else self.coupling.A.T @ columns

    def joint_matrix(self, M: Array) -> Array:
        """A matrix over bodies projected on the degrees of freedom."""
        return M if self.coupling is None else self.coupling.A.T @ M @ self.coupling.A


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

    T = property(Transposed)

    def transposed(self, F: Array) -> Array:
        """The forces (…, nv) of wrenches along the axes."""
        return self.model.joint_forces(dot(self.axis, F))

    def across(self, rate: Array) -> Array:
        """The twist across each joint on all of its bodies, not only on the one that completes it."""
        twist = self @ rate
        return twist[..., self.model.carrier, :] if self._parts else twist

    def turning(self, rate: Array) -> Array:
        """The rate of a joint's axes by its own twist: V_J x S, zero where a joint has one axis."""
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


def frozen(array: np.ndarray) -> np.ndarray:
    """The array on memory that cannot be made writeable again: kernels have its numbers built in."""
    return np.ndarray(array.shape, array.dtype, buffer=array.tobytes())


def joint_kinematics(model: Model, q: Array) -> tuple[Transform, Axes, Any]:
    """(X, S, cJ) of all bodies: transform from the parent, axes, velocity-dependent acceleration (zero)."""
    if model.coupling is not None:
        q = matvec(model.coupling.Q, q) + model.coupling.offset
    parts = [
        g.motion.transform(
            q[..., g.coordinates], model.rest[g.bodies], model.offset[g.bodies], model.moving_axes(g)
        )
        for g in model.groups
    ]
    if not parts:
        parts = [model.rest]
    X = parts[0]
    if len(parts) > 1:
        order = model.inverse_order
        X = Transform(*(_concatenate(arrays, order, rank) for arrays, rank in _columns(parts)))
    return X, model.axes(), 0.0


def joint_displacements(model: Model, step: Array) -> Displacement:
    """How each body moves against its parent at constant rates (…, nv) for unit time, seen from where it was.

    What stands still at the end of a joint with several rates moves with the body that has them all.
    """
    rates = model.body_rates(step)
    parts = [
        g.motion.displacement(rates[..., g.bodies[:, None] + np.arange(g.motion.nv)], model.moving_axes(g))
        for g in model.groups
    ]
    arrays = [
        _concatenate(list(each), model.inverse_order, 1) for each in zip(*map(_arrays, parts), strict=True)
    ]
    return Displacement(*arrays)


def _arrays(field: Field) -> list[Array]:
    return [array for array, _ in field.arrays()]


def _columns(parts: list[Transform]) -> list[tuple[list[Array], int]]:
    return [([part.E for part in parts], 2), ([part.r for part in parts], 1)]


def _concatenate(arrays: list[Array], order: np.ndarray, rank: int) -> Array:
    joined = arrays[0].__array_namespace__().concatenate(arrays, axis=-1 - rank)
    return joined[(..., order) + (slice(None),) * rank]


def gravity_twist(model: Model) -> Array:
    """Gravity as a spatial acceleration (6,)."""
    return model.gravity[[0, 0, 0, 0, 1, 2]] * np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]).astype(
        model.gravity.dtype
    )


def link_wrenches(model: Model, wrench: Array) -> Array:
    """Wrenches (…, n_links, 6) given in link frames, on the bodies (…, n, 6) in body frames."""
    return on_bodies(model, model.link_frame.T @ wrench, rank=1)


def link_parameters(model: Model) -> np.ndarray:
    """The inertias of the links (n_links, 10), each about its origin in its frame."""
    G = moved(model.link_frame.inverse(), model.inertia[model.links])
    return np.concatenate([G.m[:, None], G.h, G.moment], axis=-1)


def with_inertias(model: Model, parameters: Array) -> Model:
    """The model with other inertias of its links, (…, n_links, 10) each about its origin in its frame."""
    G = model.link_frame.T @ Inertia(parameters[..., 0], parameters[..., 1:4], parameters[..., 4:])
    return replace(model, inertia=G.map(lambda array, rank: on_bodies(model, array, rank)))


def on_bodies(model: Model, values: Array, rank: int) -> Array:
    """Values of links with `rank` component axes on the last body of each, zero on the other bodies."""
    where = np.zeros(model.n, dtype=np.intp)
    where[model.links] = np.arange(len(model.links))
    mask = np.zeros(model.n)
    mask[model.links] = 1.0
    mask = mask.astype(model.axis.dtype).reshape(-1, *(1,) * rank)
    return values[(..., where) + (slice(None),) * rank] * mask


def diagonal(values: Array) -> Array:
    """The diagonal matrix (…, k, k) of values (…, k)."""
    size = values.shape[-1]
    return values[..., None] * np.eye(size).astype(values.dtype)


def identity_transform(model: Model, like: Transform | None = None) -> Transform:
    """The transform that changes nothing, batched as `like`."""
    E = np.eye(3).astype(model.axis.dtype)
    r = np.zeros(3).astype(model.axis.dtype)
    if like is None:
        return Transform(E, r)
    xp, batch = namespace(like.r), like.r.shape[:-2]
    return Transform(xp.broadcast_to(E, (*batch, 3, 3)), xp.broadcast_to(r, (*batch, 3)))


def pose_matrix(X: Transform) -> Array:
    """4x4 poses in the world of frames with transforms X from the world."""
    xp = namespace(X.r)
    last = np.array([[0.0, 0.0, 0.0, 1.0]]).astype(X.r.dtype)
    top = xp.concatenate([transpose(X.E), X.r[..., None]], axis=-1)
    return xp.concatenate([top, xp.broadcast_to(last, (*top.shape[:-2], 1, 4))], axis=-2)
