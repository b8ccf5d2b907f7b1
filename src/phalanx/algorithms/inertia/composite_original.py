# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix by composite rigid bodies and their mass centres."""

from typing import Any

from ...dh import proximal_inertias, proximal_offsets, proximal_rotations
from ...model import Model, diagonal
from ...spatial import Array, Tensor, cross, join, matvec, namespace, parallel_axis, rotated, unpack
from ...sweeps import pairs, relay
from ...triangle import at_places, back_along_chain
from ..registry import algorithm
from .frames import by_joint, project, z0


@algorithm(
    "mass_matrix",
    source="Walker, Orin 1982; Parallel Algorithms for Computation of the Manipulator Inertia Matrix, Table 1",
    topology="chain",
    joints="turning, sliding",
    work="O(n^2)",
    span="O(n)",
)
def composite_original(model: Model, q: Array) -> Array:
    """The mass matrix `M` (…, nv, nv) of a chain; frame i lies on the axis of joint i, z along it.

    Source: Walker and Orin 1982 as "Parallel Algorithms for Computation of the Manipulator
    Inertia Matrix" states it, Table 1, with p* in frame j in the last sum.
    Cost:   work O(n^2), span O(n).
    """
    chain = model.dh
    U, P = links_to_next(model, q)
    along = lambda _, to: (at_places(U, to), at_places(P, to))  # noqa: E731
    M, c, E = relay(back_along_chain(chain.n), bodies(model), joined, along=along)[-1]  # i = N .. 1
    wrench = unit_wrenches(model, M, c, E)

    def carry(x: Array, U: Tensor, p: Array, *_: Any) -> Array:  # j = i-1 .. 1
        n, f = x[..., :3], U @ x[..., 3:]
        return join(U @ n + cross(p, f), f)

    def emit(x: Array, *along: Any) -> Array:
        return project(along[-1][..., 0], z, x[..., :3], x[..., 3:])

    z = z0(chain.s)
    to_parent = (Tensor(proximal_rotations(chain, q)), proximal_offsets(chain, q), chain.turns[:, None])
    H = pairs(wrench, carry=carry, emit=emit, along=to_parent)
    return H + diagonal(chain.armature)


def links_to_next(model: Model, q: Array) -> tuple[Tensor, Array]:
    """(U, P): iU(i+1) takes components from frame i+1 to frame i, ip*(i+1) leads from O_i to O_{i+1}."""
    U, P = proximal_rotations(model.dh, q), proximal_offsets(model.dh, q)
    return Tensor(U[..., 1:, :, :]), P[..., 1:, :]


def bodies(model: Model) -> tuple[Array, Array, Array]:
    """(m, s, I) of each link: mass, mass centre, packed inertia about it, in its own frame."""
    return model.dh.m[:, None], *proximal_inertias(model.dh)


def joined(first: Any, second: Any, U: Tensor, P: Array) -> Any:
    """(M, c, E) of two neighbouring runs of links as one rigid body, in the frame of the first."""
    (M1, c1, E1), (M2, c2, E2) = first, second
    r = U @ c2 + P
    M = M1 + M2
    c = (M1 * c1 + M2 * r) * reciprocal(M)
    E = rotated(U.matrix, E2) + M2 * parallel_axis(r - c) + E1 + M1 * parallel_axis(c1 - c)
    return M, c, E


def reciprocal(M: Array) -> Array:
    """1 / M, and 1 where nothing has mass: its mass centre is anywhere."""
    return 1.0 / namespace(M).where(M == 0.0, 1.0, M)


def unit_wrenches(model: Model, M: Array, c: Array, E: Array) -> Array:
    """[n_ii; f_ii] (…, n, 6) at joint i that give links i .. N a unit acceleration along joint i."""
    z, turns = z0(c), model.dh.turns
    F = by_joint(turns, cross(z, M * c), M * z)
    N = by_joint(turns, matvec(unpack(E), z), 0.0)
    return join(N + cross(c, F), F)
