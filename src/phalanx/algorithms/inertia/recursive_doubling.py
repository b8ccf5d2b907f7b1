# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix in logarithmic depth: composite bodies and columns by recursive doubling."""

from functools import cache
from typing import Any, NamedTuple

from ...model import Model, diagonal
from ...spatial import Array, cross
from ...sweeps import relay
from ...triangle import Level, at_places, triangle
from ..registry import algorithm
from .composite_original import bodies, joined, links_to_next, unit_wrenches
from .frames import project, z0


@algorithm(
    "mass_matrix",
    source="Parallel Algorithms for Computation of the Manipulator Inertia Matrix, Table 2",
    topology="chain",
    joints="turning, sliding",
    work="O(n^2)",
    span="O(log n)",
)
def recursive_doubling(model: Model, q: Array) -> Array:
    """The mass matrix `M` (…, nv, nv) of a chain; frame i lies on the axis of joint i, z along it.

    Set u of level l joins links i+1 .. j and j+1 .. k; its computation v starts at link s = i+v.
    What Stage B moves to link s, it moves by the transforms that Stage A had before that level.

    Source: "Parallel Algorithms for Computation of the Manipulator Inertia Matrix", Table 2, with
    the moment of Stage B about O_s in frame s; transforms to a frame N+1 are left out.
    Cost:   work O(n^2), span O(log n): ceil(log2 n) levels in each stage.
    """
    chain, pair = model.dh, triangle(model.dh.n)
    stage_a, stage_b = stage_a_levels(chain.n), stage_b_levels(chain.n)

    # Stage A: U(s,k+1) = U(s,j+1) U(j+1,k+1), P(s,k+1) = P(s,j+1) + U(s,j+1) P(j+1,k+1).
    def compose(first: Any, second: Any) -> Any:
        (U, P), (Un, Pn) = first, second
        return U @ Un, P + U @ Pn

    inside = [[(c.s - 1, c.j) for c in level if c.k < chain.n] for level in stage_a]
    UP = relay(inside, links_to_next(model, q), compose)
    runs = [[(c.s - 1, c.j) for c in level] for level in stage_a]
    along = lambda l, s: (at_places(UP[l][0], s), at_places(UP[l][1], s))  # noqa: E731
    M, c, E = relay(runs, bodies(model), joined, along=along)[-1]

    # Diagonal: f(i,i) and n(i,i), where column i of Stage B begins.
    wrench = pair.of_rows(unit_wrenches(model, M, c, E))

    # Stage B: the wrench of column x goes from link j+1 to links s.
    def move(_: Any, x: Any, U: Any, P: Array) -> Any:
        n, f = x
        f = U @ f
        return U @ n + cross(P, f), f

    columns = [[(int(pair.place[c.s - 1, c.x - 1]), int(pair.place[c.j, c.x - 1])) for c in l] for l in stage_b]
    at_s = lambda l, to: along(l, pair.column[to])  # noqa: E731
    n, f = relay(columns, (wrench[..., :3], wrench[..., 3:]), move, along=at_s, links=pair.column)[-1]
    H = project(chain.turns[pair.column], z0(n), n, f)
    return pair.matrix(H) + diagonal(chain.armature)


class Computation(NamedTuple):
    """Computation v of set u: links i+1 .. j meet links j+1 .. k, from link s = i+v; links count from 1.

    In Stage B, x is the column whose wrench goes from link j+1 to link s; in Stage A it is 0.
    """

    u: int
    v: int
    i: int
    j: int
    k: int
    x: int = 0

    @property
    def s(self) -> int:
        """The link at which the joined run starts."""
        return self.i + self.v


@cache
def stage_a_levels(n: int) -> list[list[Computation]]:
    """The computations of each level of Stage A; k is clipped to n, sets without second half are left out."""
    return [
        [
            Computation(u, v, w * (u - 1), w * (u - 1) + w // 2, min(w * u, n))
            for u in range(1, (n - 1) // w + 2)
            if w * (u - 1) + w // 2 + 1 <= n
            for v in range(1, w // 2 + 1)
        ]
        for w in (2 << level for level in range((n - 1).bit_length()))
    ]


@cache
def stage_b_levels(n: int) -> list[list[Computation]]:
    """The computations of each level of Stage B, all columns at once: x lies in the second half of its set."""
    return [
        [
            Computation(u, v, w * (u - 1), w * (u - 1) + w // 2, w * u, x)
            for x in range(1, n + 1)
            for u in [(x - 1) // w + 1]
            if x > w * (u - 1) + w // 2
            for v in range(1, w // 2 + 1)
        ]
        for w in (2 << level for level in range((n - 1).bit_length()))
    ]
