# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Six-dimensional algebra: transforms, twists, wrenches and inertias, one per body.

The only statement of the conventions: spatial vectors are [angular; linear], bodies lie on
the axis before the components, batches on the axes before that: `(…batch, n, 6)`.

Everything here is arithmetic, indexing and `matmul` on the array type of the operands, so
the same code serves floats, JAX arrays and object arrays of traced scalars. Operators stay
factored: a transform is a rotation and a translation, an inertia ten numbers, an
articulated inertia twenty-one. Sums are written without literal zeros so that a trace
counts what a person would. `reproducible` builds robots from floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

Array = Any  # an array of floats, of JAX tracers or of traced scalars

# Packed symmetric 3x3 matrices: xx, xy, xz, yy, yz, zz.
_ROW = [0, 0, 0, 1, 1, 2]
_COLUMN = [0, 1, 2, 1, 2, 2]
_FULL = [[0, 1, 2], [1, 3, 4], [2, 4, 5]]
_NEXT = [1, 2, 0]
_PREVIOUS = [2, 0, 1]


def namespace(*arrays: Array) -> Any:
    """Return the array module (NumPy's or JAX's) of the first array among `arrays`."""
    for array in arrays:
        if hasattr(array, "__array_namespace__"):
            return array.__array_namespace__()
    raise TypeError("no array among the operands")


# ---------------------------------------------------------------- three dimensions


def dot(a: Array, b: Array) -> Array:
    """Sum of products along the last axis, in the order of the components."""
    product = a * b
    total = product[..., 0]
    for k in range(1, product.shape[-1]):
        total = total + product[..., k]
    return total


def inner(a: Array, b: Array) -> Array:
    """Sum of products along the last axis, which becomes one of length one: a scalar per body."""
    return dot(a, b)[..., None]


def cross(a: Array, b: Array) -> Array:
    """Vector product along the last axis."""
    return a[..., _NEXT] * b[..., _PREVIOUS] - a[..., _PREVIOUS] * b[..., _NEXT]


def double_cross(a: Array, b: Array) -> Array:
    """The matrix a^ b^, which takes x to a x (b x x): b a^T - (a . b) 1."""
    product = b[..., :, None] * a[..., None, :]
    xx, yy, zz = product[..., 0, 0], product[..., 1, 1], product[..., 2, 2]
    rows = [-(yy + zz), product[..., 0, 1], product[..., 0, 2]]
    rows += [product[..., 1, 0], -(xx + zz), product[..., 1, 2]]
    rows += [product[..., 2, 0], product[..., 2, 1], -(xx + yy)]
    return namespace(a, b).stack(rows, axis=-1).reshape(product.shape)


def matvec(A: Array, x: Array) -> Array:
    """Matrix times vector."""
    return (A @ x[..., None])[..., 0]


def transpose(A: Array) -> Array:
    """The last two axes exchanged."""
    return A.swapaxes(-1, -2)


def pack(matrix: Array) -> Array:
    """The six entries (…, 6) of the upper triangle of symmetric 3x3 matrices."""
    return matrix[..., _ROW, _COLUMN]


def unpack(packed: Array) -> Array:
    """Symmetric 3x3 matrices of six entries (…, 6)."""
    return packed[..., _FULL]


def symmetric_product(A: Array, B: Array) -> Array:
    """The packed upper triangle of A^T B, known to be symmetric: only six entries are formed."""
    product = A[..., :, _ROW] * B[..., :, _COLUMN]
    return product[..., 0, :] + product[..., 1, :] + product[..., 2, :]


def rotated(U: Array, packed: Array) -> Array:
    """The packed U A U^T of a packed symmetric matrix A."""
    Ut = transpose(U)
    return symmetric_product(Ut, unpack(packed) @ Ut)


def parallel_axis(d: Array) -> Array:
    """The packed (d . d) 1 - d d^T: moments of inertia of a unit mass at d, about the origin."""
    return _complement(symmetric_outer(d, d), dot(d, d))


def symmetric_outer(a: Array, b: Array) -> Array:
    """The packed a b^T of parallel vectors a and b."""
    return a[..., _ROW] * b[..., _COLUMN]


def shift(r: Array, g: Array) -> Array:
    """The packed 2 (r . g) 1 - (r g^T + g r^T)."""
    xp = namespace(r, g)
    rg = r * g
    x, y, z = rg[..., 0], rg[..., 1], rg[..., 2]
    xy = r[..., [0, 0, 1]] * g[..., [1, 2, 2]] + r[..., [1, 2, 2]] * g[..., [0, 0, 1]]
    diagonal = (y + z, x + z, x + y)
    double = [d + d for d in diagonal]
    return xp.stack([double[0], -xy[..., 0], -xy[..., 1], double[1], -xy[..., 2], double[2]], axis=-1)


def second_moments(inertia: Array) -> Array:
    """Packed integral of x x^T dm, from packed moments of inertia."""
    xx, yy, zz = inertia[..., 0], inertia[..., 3], inertia[..., 5]
    return _complement(inertia, (xx + yy + zz) * 0.5)


def moments_of_inertia(second: Array) -> Array:
    """Packed moments of inertia, from the packed integral of x x^T dm."""
    xx, yy, zz = second[..., 0], second[..., 3], second[..., 5]
    return _complement(second, xx + yy + zz)


def _complement(packed: Array, size: Array) -> Array:
    """The packed size 1 - A."""
    xx, xy, xz, yy, yz, zz = (packed[..., k] for k in range(6))
    return namespace(packed).stack([size - xx, -xy, -xz, size - yy, -yz, size - zz], axis=-1)


# ------------------------------------------------------------------- spatial vectors


def angular(V: Array) -> Array:
    """The angular half of twists, the moment of wrenches."""
    return V[..., :3]


def linear(V: Array) -> Array:
    """The linear half of twists, the force of wrenches."""
    return V[..., 3:]


def join(top: Array, bottom: Array) -> Array:
    """The spatial vector [top; bottom]."""
    return namespace(top, bottom).concatenate([top, bottom], axis=-1)


def motion_cross(V: Array, W: Array) -> Array:
    """V x W for twists, i.e. ad_V W."""
    w = angular(V)
    return join(cross(w, angular(W)), cross(w, linear(W)) + cross(linear(V), angular(W)))


def force_cross(V: Array, F: Array) -> Array:
    """V x* F for a twist and a wrench, i.e. -ad_V^T F."""
    w = angular(V)
    return join(cross(w, angular(F)) + cross(linear(V), linear(F)), cross(w, linear(F)))


# ---------------------------------------------------------------- operators on bodies


@dataclass(frozen=True)
class Field:
    """One operator per body, as arrays; `ranks` counts the axes after the body axis."""

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


class Transposed:
    """The transpose of an operator A: `A.T @ x` is `A.transposed(x)`."""

    def __init__(self, operator: Any) -> None:
        self.operator = operator

    def __matmul__(self, x: Any) -> Any:
        return self.operator.transposed(x)


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

    def inverse(self) -> Transform:
        """X_a_b: the transform back."""
        return Transform(transpose(self.E), -dot(self.E, self.r[..., None, :]))

    T = property(Transposed)

    def transposed(self, other: Any) -> Any:
        """X^T times wrenches, inertias or articulated inertias: from frame b back to frame a."""
        E, r = self.E, self.r
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
            moment = moment - pack(HrT + Hpr)
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
        return cls(pack(I), matrix[..., :3, 3:], pack(M))

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
    """B = v x* G - G v x + (G v) x* of moving bodies: how wrenches follow rotations.

    All its entries come from K, the sum of x^ p^ over the particles of a body, each at x with momentum p, and
    from their total momentum, both times -2: B = [[K, 0], [p^, 0]]. It knows the wrench v x* G v = B v / 2.
    """

    K: Array
    p: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 1)

    @classmethod
    def of(cls, G: Inertia, V: Array, times: float = 1.0) -> Momentum:
        """The momenta of rigid bodies with inertias G and twists V, times a factor."""
        w, v = angular(V), linear(V)
        m, h, moment = (x * (-2.0 * times) for x in (G.m, G.h, G.moment))
        J = unpack(second_moments(moment))
        turned = transpose(cross(w[..., None, :], J))  # J is symmetric: column by column
        return cls(turned + double_cross(h, v), m[..., None] * v - cross(h, w))

    def __matmul__(self, V: Array) -> Array:
        w = angular(V)
        return join(matvec(self.K, w), cross(self.p, w))

    T = property(Transposed)

    def transposed(self, V: Array) -> Array:
        """B^T V, a pure moment: its three components."""
        return matvec(transpose(self.K), angular(V)) - cross(self.p, linear(V))


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
    """The field of one body with an axis of length one, to be broadcast over several."""
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


# ---------------------------------------------------------------- second-order tensors


@dataclass(frozen=True)
class Tensor(Field):
    """A 3x3 matrix per body: a rotation, or an acceleration as a function of position."""

    matrix: Array
    ranks: ClassVar[tuple[int, ...]] = (2,)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Tensor):
            return Tensor(self.matrix @ other.matrix)
        return matvec(self.matrix, other)

    @property
    def T(self) -> Tensor:
        return Tensor(transpose(self.matrix))


class Identity:
    """The operator that changes nothing, on every body."""

    @property
    def T(self) -> Identity:
        return self

    def __getitem__(self, bodies: Any) -> Identity:
        return self

    def __matmul__(self, x: Array) -> Array:
        return x


def acceleration_tensor(w: Array, wd: Array) -> Tensor:
    """K = wd^ + w^ w^: a point at x from a body's origin accelerates by K x against it."""
    xp = namespace(w, wd)
    x, y, z = w[..., 0], w[..., 1], w[..., 2]
    xd, yd, zd = wd[..., 0], wd[..., 1], wd[..., 2]
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    rows = [-(yy + zz), xy - zd, xz + yd, xy + zd, -(xx + zz), yz - xd, xz - yd, yz + xd, -(xx + yy)]
    packed = xp.stack(rows, axis=-1)
    return Tensor(packed.reshape((*packed.shape[:-1], 3, 3)))


def inertial_wrench(G: Inertia, K: Tensor, a: Array) -> Array:
    """Wrench that accelerates a rigid body whose origin accelerates by `a`, about that origin."""
    # With the second moments J = integral of x x^T dm (not the moments of inertia), the moment
    # of the body's own motion is the axial vector of K J.
    h = G.h
    J = unpack(second_moments(G.moment))
    k = K.matrix
    product = dot(k[..., [2, 0, 1, 1, 2, 0], :], transpose(J)[..., [1, 2, 0, 2, 0, 1], :])
    moment = product[..., :3] - product[..., 3:]
    return join(moment + cross(h, a), G.m[..., None] * a + matvec(k, h))


# ---------------------------------------------------------------- displacements over a step


@dataclass(frozen=True)
class Displacement(Field):
    """x -> x rotated by a unit quaternion [a, w], then moved by d: of a body, in its frame before the motion.

    The rotation is x + 2 w (a x x) + 2 a x (a x x): nothing large cancels where a body has hardly moved.
    """

    a: Array
    w: Array  # (…, n, 1)
    d: Array
    ranks: ClassVar[tuple[int, ...]] = (1, 1, 1)

    def change(self, x: Array) -> Array:
        """By how much rotation changes vectors."""
        ax = cross(self.a * 2.0, x)
        return self.w * ax + cross(self.a, ax)

    def momentum(self, G: Inertia) -> Array:
        """The sum of m x x dx and m dx over the particles of bodies, in the frames before: a wrench.

        Divided by the time that has passed it tends to G V. Its moment about a fixed point is that of
        m x0 x x1 and serves both ends: `after` gives it in the frames that the bodies have then.
        """
        a, w, d = self.a, self.w, self.d
        Ia = matvec(unpack(G.moment), a * 2.0)
        return join(
            w * Ia + cross(a, Ia) + cross(G.h, d),
            G.m[..., None] * d + self.change(G.h),
        )

    def after(self, F: Array) -> Array:
        """Wrenches given in the frames before the displacement, in those after it."""
        back = Displacement(-self.a, self.w, self.d)
        f = linear(F)
        moment = angular(F) - cross(self.d, f)
        return join(moment + back.change(moment), f + back.change(f))


@dataclass(frozen=True)
class DisplacementOperator(Field):
    """The operator that takes the displacement of a parent to that of a body, which has moved by [a, w], d
    against it; E and r are those of the transform from the parent before."""

    E: Array
    r: Array
    a: Array
    w: Array
    d: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 1, 1, 1, 1)

    def __matmul__(self, parent: Any) -> Displacement:
        r = self.r
        a, w = matvec(self.E, parent.a), parent.w
        d = matvec(self.E, parent.d + parent.change(r))
        moved = Displacement(a, w, d)
        return Displacement(
            w * self.a + self.w * a + cross(a, self.a),
            w * self.w - inner(a, self.a),
            d + self.d + moved.change(self.d),
        )
