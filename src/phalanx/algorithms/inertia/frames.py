# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What the mass-matrix papers share: a chain seen from one frame, and the two kinds of joints."""

from typing import Any

from ...robot.dh.chain import DHChain, first_axis, offsets, proximal_inertias, rotations
from ...spatial import Array, Tensor, angular, cross, dot, join, linear, namespace, parallel_axis
from ...sweeps.triangle import Triangle, along_chain, strides
from ...sweeps.verbs import pairs, parent, relay


def base_frame(chain: DHChain, q: Array) -> tuple[Array, Array, Array, Array]:
    """(R, Z, P, S) in O_0: rotations from the links, joint axes, O_i to O_{i+1}, O_i to mass centre i."""
    A, p = rotations(chain, q), offsets(chain, q)
    R = relay(along_chain(chain.n), (Tensor(A),), lambda own, before: (before[0] @ own[0],))[-1][0]
    Z = parent(R.matrix[..., :, 2], root=first_axis(chain))
    P = R @ p
    s = p + chain.s
    S = R @ s
    return R.matrix, Z, P, S


def reach(chain: DHChain, q: Array) -> tuple[Array, Array, Array, Array]:
    """(R, Z, O, C) in O_0: rotations from the links, joint axes, origins of joints, mass centres.

    By doubling: runs of 1, 2, 4, … links are joined, rotations and origins together.
    """
    A, p = Tensor(rotations(chain, q)), offsets(chain, q)

    def joined(own: Any, before: Any) -> Any:
        (R, E), (Rb, Eb) = own, before
        E = after(Eb, Rb, E)
        R = Rb @ R
        return R, E

    R, E = relay(along_chain(chain.n, strides(chain.n)), (A, A @ p), joined)[-1]
    Z = parent(R.matrix[..., :, 2], root=first_axis(chain))
    O = parent(E)  # noqa: E741
    s = p + chain.s
    C = after(O, R, s)
    return R.matrix, Z, O, C


def after(E: Array, R: Tensor, x: Array) -> Array:
    """E + R x, the four terms of a coordinate added two by two."""
    terms = R.matrix * x[..., None, :]
    return (E + terms[..., 0]) + (terms[..., 1] + terms[..., 2])


def arms(pair: Triangle, P: Array) -> Array:
    """P_{j,i} from O_i to O_j at each pair (row j, column i): P_{j,i} = P_{j-1,i} + P_{j,j-1}."""
    start = namespace(P).zeros_like(pair.of_rows(P))
    step = lambda own, last, P: (last[0] + P,)  # noqa: E731
    return relay(pair.outward(), (start,), step, along=pair.along(P, before=1), links=pair.row)[-1][0]


def moments(chain: DHChain, q: Array) -> tuple[Array, Array]:
    """(h, k): first and packed second moment of each link about O_i, in its own frame O_{i+1}."""
    S = offsets(chain, q) + chain.s
    m = chain.m[:, None]
    return m * S, chain.J + m * parallel_axis(S)


def proximal_moments(chain: DHChain) -> tuple[Array, Array]:
    """(h, k): first and packed second moment of each link about O_i, in the link's frame on its own axis."""
    s, J = proximal_inertias(chain)
    m = chain.m[:, None]
    return m * s, J + m * parallel_axis(s)


def identity(like: Array) -> Array:
    """The 3x3 unit matrix in the dtype of a given array."""
    return namespace(like).asarray([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=like.dtype)


def by_joint(turns: Array, turning: Array, sliding: Array) -> Array:
    """Vectors (…, n, k): `turning` where the joint turns, `sliding` where it slides."""
    return namespace(turns).where(turns[..., None], turning, sliding)


def project(turns: Array, z: Array, n: Array, f: Array) -> Array:
    """z . n where the joint turns, z . f where it slides."""
    return dot(z, by_joint(turns, n, f))


def along_ancestors(n: Array, f: Array, Z: Array, P: Array, turns: Array) -> Array:
    """The matrix (…, n, n) of z_j . n, or z_j . f where joint j slides, of each wrench moved to ancestor j.

    Z are the joints' axes and P leads to each link's origin from that of the one before.
    """

    def carry(x: Array, Z: Array, P: Array, _: Array) -> Array:
        n, f = angular(x), linear(x)
        n = n + cross(P, f)
        return join(n, f)

    def emit(x: Array, Z: Array, P: Array, turns: Array) -> Array:
        return project(turns[..., 0], Z, angular(x), linear(x))

    return pairs(join(n, f), carry=carry, emit=emit, along=(Z, P, turns[:, None]))


def with_diagonal(M: Array, values: Array) -> Array:
    """The matrix with these values on its diagonal instead of its own."""
    xp = namespace(M)
    return xp.where(xp.eye(M.shape[-1], dtype=bool), values[..., None], M)
