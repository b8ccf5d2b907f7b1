# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix from Kane's equations as they stand."""

from typing import Any

from ...robot.model import Model, diagonal
from ...spatial import Array, cross, inner, matvec, namespace, rotated, unpack
from ...sweeps.triangle import gather, prefers_trees, triangle
from ...sweeps.verbs import relay
from ..registry import algorithm
from .frames import arms, base_frame, by_joint, reach


@algorithm(
    "mass_matrix",
    source="Fijany, Serial and Parallel Computation of Kane's Equations: OKE, O(n^3)",
    topology="chain",
    joints="turning, sliding",
    frames="dh",
    work="O(n^3)",
    span="O(n)",
    options={"processors": ("one", "n^3")},
)
def kane_original(model: Model, q: Array, *, processors: str = "one") -> Array:
    """The mass matrix `M` (…, nv, nv) of a chain, by sums over links for each pair of joints.

    With processors="n^3" all sums and products over links are trees: span O(log n).

    Source: Fijany, "Serial and Parallel Computation of Kane's Equations for Multibody Dynamics", OKE:
    a_ij = sum over k >= j of V*_k(i) . m_k V*_k(j) + w_k(i) . I_k w_k(j), in the base frame.
    Cost:   work O(n^3), span O(n), on n^3 processors O(log n): four operations for each doubling of n.
    """
    chain, pair, trees = model.dh, triangle(model.dh.n), processors == "n^3" or prefers_trees()
    # P_{k*,i} stands at the pair (k, i).
    if trees:
        R, Z, O, C = reach(chain, q)  # noqa: E741
        Pstar = pair.of_rows(C) - pair.of_columns(O)
    else:
        R, Z, P, S = base_frame(chain, q)
        Pstar = arms(pair, P) + pair.of_rows(S)
    J = rotated(R, chain.J)
    m = chain.m[:, None]

    def partial(j: Any, k: int) -> tuple[Array, Array]:
        """Partial velocities w_k(j) and V*_k(j) of joints j at link k."""
        z, arm = gather(Z, j), gather(Pstar, pair.index[j, k])
        return by_joint(chain.turns[j], z, 0.0), by_joint(chain.turns[j], cross(z, arm), z)

    def add(a: Any, _: Any, wi: Array, Vi: Array, wj: Array, Vj: Array, m: Array, J: Array) -> Any:
        a_ij = a[0] + inner(Vi, m * Vj) + inner(wi, matvec(unpack(J), wj))
        return (a_ij,)

    def along(k: int, to: Any) -> Any:
        there = pair.link(k)
        return (
            *partial(pair.column[to], k),
            *partial(pair.row[to], k),
            gather(m, there),
            gather(J, there),
        )

    zero = namespace(m).zeros_like(pair.of_rows(m))
    a = relay(pair.beyond(by_halves=trees), (zero,), add, along=along, links=pair.row)[-1][0]
    return pair.matrix(a[..., 0]) + diagonal(chain.armature)
