# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Three-dimensional pieces, packed symmetric matrices, and six-dimensional vectors."""

from __future__ import annotations

from typing import Any

Array = Any  # an array of floats, of JAX tracers or of traced scalars

# Packed symmetric 3x3 matrices: xx, xy, xz, yy, yz, zz.
ROW = [0, 0, 0, 1, 1, 2]
COLUMN = [0, 1, 2, 1, 2, 2]
_FULL = [[0, 1, 2], [1, 3, 4], [2, 4, 5]]
_NEXT = [1, 2, 0]
_PREVIOUS = [2, 0, 1]


def namespace(*arrays: Array) -> Any:
    """Return the array module (NumPy's or JAX's) of the first array among `arrays`."""
    for array in arrays:
        if hasattr(array, "__array_namespace__"):
            return array.__array_namespace__()
    raise TypeError("no array among the operands")


# ---------------------------------------------------------------- three-dimensional pieces


def dot(a: Array, b: Array) -> Array:
    """Sum of products along the last axis, in the order of the components."""
    product = a * b
    total = product[..., 0]
    for k in range(1, product.shape[-1]):
        total = total + product[..., k]
    return total


def inner(a: Array, b: Array) -> Array:
    """Sum of products along the last axis, kept as an axis of length one: a scalar per body."""
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


def unpack(packed: Array) -> Array:
    """3x3 matrix of six entries."""
    return packed[..., _FULL]


def symmetric_product(A: Array, B: Array) -> Array:
    """The packed upper triangle of A^T B, known to be symmetric: only six entries are formed."""
    product = A[..., :, ROW] * B[..., :, COLUMN]
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
    return a[..., ROW] * b[..., COLUMN]


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
