# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Operators on bodies: transforms, inertias and what their products need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from .vectors import (
    COLUMN,
    ROW,
    Array,
    angular,
    cross,
    double_cross,
    inner,
    join,
    linear,
    matvec,
    namespace,
    second_moments,
    shift,
    symmetric_outer,
    symmetric_product,
    transpose,
    unpack,
)


@dataclass(frozen=True)
class Field:
    """One operator per body, as arrays; `ranks` tells how many axes follow the body axis."""

    ranks: ClassVar[tuple[int, ...]] = ()

    def arrays(self) -> Iterator[tuple[Array, int]]:
        """Yield each array with its number of component axes."""
        for f, rank in zip(fields(self), self.ranks, strict=True):
            yield getattr(self, f.name), rank

    def map(self, change: Callable[[Array, int], Array]) -> Self:
        """Return the field with `change(array, rank)` applied to every array."""
        return type(self)(*(change(array, rank) for array, rank in self.arrays()))

    def zip(self, other: Self, merge: Callable[[Array, Array, int], Array]) -> Self:
        """Return `merge(mine, theirs, rank)` array by array."""
        pairs = zip(self.arrays(), other.arrays(), strict=True)
        return type(self)(*(merge(a, b, rank) for (a, rank), (b, _) in pairs))

    def __getitem__(self, bodies: Any) -> Self:
        return self.map(lambda array, rank: at(array, bodies, rank))

    def __add__(self, other: Self) -> Self:
        return self.zip(other, lambda a, b, _: a + b)


def at(array: Array, bodies: Any, rank: int) -> Array:
    """Return the entries of some bodies of an array with `rank` component axes."""
    return array[(..., bodies) + (slice(None),) * rank]


@dataclass(frozen=True)
class Transform(Field):
    """X_b_a: twists from frame a to frame b, with E = rotation a to b, r = origin of b in a.

    `X @ V` moves twists from a to b, `X @ Y` composes, `X.T @ F` moves wrenches from b to a
    and `X.T @ G` inertias (as X^T G X).
    """

    E: Array
    r: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 1)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Transform):
            return Transform(self.E @ other.E, other.r + matvec(transpose(other.E), self.r))
        w, v = angular(other), linear(other)
        return join(matvec(self.E, w), matvec(self.E, v + cross(w, self.r)))

    @property
    def T(self) -> TransposedTransform:
        return TransposedTransform(self)


class TransposedTransform:
    """X^T: wrenches, inertias and articulated inertias from frame b back to frame a."""

    def __init__(self, X: Transform) -> None:
        self.X = X

    def __matmul__(self, other: Any) -> Any:
        E, r = self.X.E, self.X.r
        Et = transpose(E)
        if isinstance(other, Inertia):
            h = matvec(Et, other.h)
            mr = other.m[..., None] * r
            half = h + mr * 0.5
            moment = symmetric_product(E, unpack(other.moment) @ E) + shift(r, half)
            return Inertia(other.m, h + mr, moment)
        if isinstance(other, Momentum):
            p = matvec(Et, other.p)
            return Momentum(Et @ other.K @ E + double_cross(r, p), p)
        if isinstance(other, Articulated):
            M = symmetric_product(E, unpack(other.M) @ E)
            H = Et @ other.H @ E
            rows = r[..., None, :]
            H_p = H + transpose(cross(rows, unpack(M)))
            # I' - H_p r^ - (H r^)^T, where a row of (H r^) is (row of H) x r.
            HrT, Hpr = transpose(cross(H, rows)), cross(H_p, rows)
            moment = symmetric_product(E, unpack(other.moment) @ E)
            moment = moment - (HrT + Hpr)[..., ROW, COLUMN]
            return Articulated(moment, H_p, M)
        f = matvec(Et, linear(other))
        return join(matvec(Et, angular(other)) + cross(r, f), f)


@dataclass(frozen=True)
class Projector(Field):
    """P = 1 - S psi^T, applied factor by factor."""

    S: Array
    psi: Array
    ranks: ClassVar[tuple[int, ...]] = (1, 1)

    def __matmul__(self, V: Array) -> Array:
        return V - self.S * inner(self.psi, V)


@dataclass(frozen=True)
class Inertia(Field):
    """G of a rigid body about its frame's origin: mass, first moment, packed second moment."""

    m: Array
    h: Array
    moment: Array
    ranks: ClassVar[tuple[int, ...]] = (0, 1, 1)

    def __matmul__(self, V: Array) -> Array:
        w, v = angular(V), linear(V)
        return join(
            matvec(unpack(self.moment), w) + cross(self.h, v), self.m[..., None] * v - cross(self.h, w)
        )

    def articulated(self) -> Articulated:
        """The same inertia in the form that joint elimination preserves."""
        xp = namespace(self.m, self.h)
        x, y, z = self.h[..., 0], self.h[..., 1], self.h[..., 2]
        o = x * 0.0
        H = xp.stack([o, -z, y, z, o, -x, -y, x, o], axis=-1).reshape((*self.h.shape[:-1], 3, 3))
        m = self.m
        M = xp.stack([m, o, o, m, o, m], axis=-1)
        return Articulated(self.moment, H, M)


@dataclass(frozen=True)
class Articulated(Field):
    """Ga = [[I, H], [H^T, M]] with I, M packed symmetric: twenty-one entries."""

    moment: Array
    H: Array
    M: Array
    ranks: ClassVar[tuple[int, ...]] = (1, 2, 1)

    @classmethod
    def of(cls, matrix: Array) -> Articulated:
        """That of symmetric matrices (…, n, 6, 6), of which the upper triangle is read."""
        I, M = matrix[..., :3, :3], matrix[..., 3:, 3:]  # noqa: E741
        return cls(I[..., ROW, COLUMN], matrix[..., :3, 3:], M[..., ROW, COLUMN])

    def __matmul__(self, V: Array) -> Array:
        w, v = angular(V), linear(V)
        return join(
            matvec(unpack(self.moment), w) + matvec(self.H, v),
            matvec(transpose(self.H), w) + matvec(unpack(self.M), v),
        )

    def minus_outer(self, U: Array, W: Array) -> Articulated:
        """Ga - U W^T for parallel U and W."""
        u, f, w, g = angular(U), linear(U), angular(W), linear(W)
        return Articulated(
            self.moment - symmetric_outer(u, w),
            self.H - u[..., :, None] * g[..., None, :],
            self.M - symmetric_outer(f, g),
        )


@dataclass(frozen=True)
class Momentum(Field):
    """B = v x* G - G v x + (G v) x* of moving bodies: how wrenches follow turns.

    All its entries come from K, the sum of x^ p^ over the particles of a body, each at x with momentum p, and
    from their total momentum, both times -2: B = [[K, 0], [p^, 0]]. It knows the wrench v x* G v = B v / 2.
    """

    K: Array
    p: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 1)

    @classmethod
    def of(cls, G: Inertia, V: Array, times: float = 1.0) -> Momentum:
        """That of rigid bodies with inertias G and twists V, times a factor, which meets constants here."""
        w, v = angular(V), linear(V)
        m, h, moment = (x * (-2.0 * times) for x in (G.m, G.h, G.moment))
        J = unpack(second_moments(moment))
        turned = transpose(cross(w[..., None, :], J))  # J is symmetric: column by column
        return cls(turned + double_cross(h, v), m[..., None] * v - cross(h, w))

    def __matmul__(self, V: Array) -> Array:
        w = angular(V)
        return join(matvec(self.K, w), cross(self.p, w))

    @property
    def T(self) -> TransposedMomentum:
        return TransposedMomentum(self)


class TransposedMomentum:
    """B^T, which gives a pure moment: its three components."""

    def __init__(self, B: Momentum) -> None:
        self.B = B

    def __matmul__(self, V: Array) -> Array:
        return matvec(transpose(self.B.K), angular(V)) - cross(self.B.p, linear(V))


def beside(field: Any) -> Any:
    """The field with a new axis before that of the bodies, for several problems on the same bodies."""
    return field.map(lambda array, rank: array[(..., None, slice(None)) + (slice(None),) * rank])


def beneath(X: Transform) -> Transform:
    """The transforms with a new axis after that of the bodies, for several vectors on each."""
    return Transform(X.E[..., None, :, :], X.r[..., None, :])


def unit_inertias(like: Array) -> Inertia:
    """Ten inertias, each with one of its ten parameters one and the others zero."""
    ones = np.eye(10).astype(like.dtype)
    return Inertia(ones[:, 0], ones[:, 1:4], ones[:, 4:])


def each(field: Any) -> Any:
    """The field of one body with an axis of length one for all whom it serves alike."""
    return field.map(lambda array, rank: array[(..., None) + (slice(None),) * rank])


def dense(operator: Transform | Inertia | Articulated) -> Array:
    """The operator as matrices (…, n, 6, 6), for equations that multiply operators of different kinds."""
    if isinstance(operator, Transform):
        E = operator.E
        corner = -cross(E, operator.r[..., None, :])
        return _blocks(E, E * 0.0, corner, E)
    G = operator.articulated() if isinstance(operator, Inertia) else operator
    return _blocks(unpack(G.moment), G.H, transpose(G.H), unpack(G.M))


def _blocks(a: Array, b: Array, c: Array, d: Array) -> Array:
    """[[a, b], [c, d]]."""
    xp = namespace(a, b, c, d)
    return xp.concatenate([xp.concatenate([a, b], axis=-1), xp.concatenate([c, d], axis=-1)], axis=-2)
