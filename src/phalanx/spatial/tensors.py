# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Second-order tensors: rotations, and accelerations as functions of place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .operators import Field, Inertia
from .vectors import Array, cross, dot, join, matvec, namespace, second_moments, transpose, unpack


@dataclass(frozen=True)
class Tensor(Field):
    """A 3x3 matrix per body: a rotation, or an acceleration as a function of place."""

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
