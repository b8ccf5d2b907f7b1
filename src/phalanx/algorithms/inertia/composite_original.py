# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix by composite rigid bodies and their mass centres."""

from functools import partial
from typing import Any

from ...robot.dh.chain import DHChain, first_axis, proximal_inertias, proximal_offsets, proximal_rotations
from ...robot.model import Model, diagonal
from ...spatial import Array, Tensor, angular, cross, join, linear, matvec, parallel_axis, rotated, unpack
from ...sweeps.triangle import back_along_chain, gather
from ...sweeps.verbs import pairs, relay
from ..registry import algorithm
from .frames import by_joint, project


@algorithm(
    "mass_matrix",
    source="Walker, Orin 1982; Parallel Algorithms for the Manipulator Inertia Matrix, Table 1",
    topology="chain",
    joints="turning, sliding",
    frames="dh",
    work="O(n^2)",
    span="O(n)",
)
def composite_original(model: Model, q: Array) -> Array:
    """The mass matrix `M` (…, nv, nv) of a chain; frame i lies on the axis of joint i, z along it.

    M, c and E are mass, mass centre and inertia about it of links i .. N as one rigid body.

    Source: Walker and Orin 1982 as "Parallel Algorithms for Computation of the Manipulator
    Inertia Matrix" states it, Table 1, with p* in frame j in the last sum.
    Cost:   work O(n^2), span O(n).
    """
    chain = model.dh
    U, P = Tensor(proximal_rotations(chain, q)), proximal_offsets(chain, q)
    along = lambda _, i: (gather(U, i + 1), gather(P, i + 1))  # noqa: E731
    M, c, E = relay(back_along_chain(chain.n), bodies(model), partial(joined, chain), along=along)[
        -1
    ]  # i = N .. 1
    H = linear_columns(chain, unit_wrenches(model, M, c, E), U, P)
    return H + diagonal(chain.armature)


def linear_columns(chain: DHChain, wrench: Array, U: Tensor, P: Array) -> Array:
    """H (…, n, n): the wrench of column i taken from link to link, projected on each axis on the way."""

    def carry(x: Array, U: Tensor, P: Array, _: Array) -> Array:  # j = i-1 .. 1
        n, f = angular(x), linear(x)
        f = U @ f
        n = U @ n + cross(P, f)
        return join(n, f)

    def emit(x: Array, U: Tensor, P: Array, turns: Array) -> Array:
        return project(turns[..., 0], first_axis(chain), angular(x), linear(x))

    return pairs(wrench, carry=carry, emit=emit, along=(U, P, chain.turns[:, None]))


def bodies(model: Model) -> tuple[Array, Array, Array]:
    """(m, s, I) of each link: mass, mass centre, packed inertia about it, in its own frame."""
    return model.dh.m[:, None], *proximal_inertias(model.dh)


def joined(chain: DHChain, first: Any, second: Any, U: Tensor, P: Array) -> Any:
    """(M, c, E) of two neighbouring runs of links as one rigid body, in the frame of the first."""
    (M1, c1, E1), (M2, c2, E2) = first, second
    r = U @ c2 + P
    M = M1 + M2
    c = (M1 * c1 + M2 * r) * (1.0 / chain.divisor(M))
    E = rotated(U.matrix, E2) + E1 + M2 * parallel_axis(r - c) + M1 * parallel_axis(c1 - c)
    return M, c, E


def unit_wrenches(model: Model, M: Array, c: Array, E: Array) -> Array:
    """[n_ii; f_ii] (…, n, 6) at joint i that give links i .. N a unit acceleration along joint i."""
    z, turns = first_axis(model.dh), model.dh.turns
    F = by_joint(turns, cross(z, M * c), M * z)
    N = by_joint(turns, matvec(unpack(E), z), 0.0)
    N = N + cross(c, F)
    return join(N, F)
