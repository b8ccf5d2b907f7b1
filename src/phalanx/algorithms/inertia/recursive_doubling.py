# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix in logarithmic depth: composite bodies and columns by recursive doubling."""

from functools import cache, partial
from typing import Any, NamedTuple

from ...robot.dh.chain import first_axis, proximal_offsets, proximal_rotations
from ...robot.model import Model, diagonal
from ...spatial import Array, Tensor, angular, cross, linear
from ...sweeps.triangle import JoinLevels, Level, gather, triangle
from ...sweeps.verbs import relay
from ..registry import algorithm
from .composite_original import bodies, joined, linear_columns, unit_wrenches
from .frames import project


@algorithm(
    "mass_matrix",
    source="Parallel Algorithms for Computation of the Manipulator Inertia Matrix, Table 2",
    topology="chain",
    joints="turning, sliding",
    frames="dh",
    work="O(n^2)",
    span="O(log n)",
    options={"columns": ("doubled", "linear")},
)
def recursive_doubling(model: Model, q: Array, *, columns: str = "doubled") -> Array:
    """The mass matrix `M` (…, nv, nv) of a chain; frame i lies on the axis of joint i, z along it.

    Set u of level l joins links i+1 .. j with links j+1 .. k; its computation v starts at link s = i+v.
    (M, c, E)(s,k) is the rigid body of links s .. k; U(s,k+1), P(s,k+1) lead from frame k+1 to frame s.

    With `columns="linear"` Stage B goes from link to link as in Table 1: the paper's mixture of both forms,
    K1 O(n) + K2 O(log n).

    Source: "Parallel Algorithms for Computation of the Manipulator Inertia Matrix", Table 2, with
    the moment of Stage B formed in frame s; transforms from a frame N+1 are left out.
    Cost:   work O(n^2), span O(log n): ceil(log2 n) levels in each stage.
    """
    chain, pair = model.dh, triangle(model.dh.n)
    stage_a = stage_a_levels(chain.n)

    # Level 0: U(i,i+1) and P(i,i+1); the variable of joint 1 never enters.
    links = Tensor(proximal_rotations(chain, q)), proximal_offsets(chain, q)
    U, P = (gather(x, pair.later) for x in links)

    # Stage A, transforms: U(s,k+1) and P(s,k+1) of every level are kept for the next one and for Stage B.
    def compose(first: Any, second: Any) -> Any:
        (U, P), (Un, Pn) = first, second
        P = P + U @ Pn
        U = U @ Un
        return U, P

    within = [[c for c in level if c.k < chain.n] for level in stage_a]
    levels = relay(runs(within), (U, P), compose)

    def transforms(level: int, s: Any) -> tuple[Tensor, Array]:
        """U(s,j+1) and P(s,j+1), finished one level before."""
        U, P = levels[level]
        return gather(U, s), gather(P, s)

    # Stage A, bodies: M(s,k), c(s,k) and E(s,k).
    M, c, E = relay(runs(stage_a), bodies(model), partial(joined, chain), along=transforms)[-1]
    # Diagonal: f(i,i) and n(i,i), from which column i starts.
    wrench = unit_wrenches(model, M, c, E)
    if columns == "linear":
        return linear_columns(chain, wrench, *links) + diagonal(chain.armature)
    wrench = pair.of_rows(wrench)

    # Stage B: column x goes from link j+1 to link s.
    def move(_: Any, column: Any, U: Tensor, P: Array) -> Any:
        f, n = column
        f = U @ f
        n = U @ n + cross(P, f)
        return f, n

    row = pair.column  # the pairs (x, s) with s <= x stand in the lower triangle
    at = lambda level, targets: transforms(level, row[targets])  # noqa: E731
    stage_b = pair.across(lambda: moves(stage_b_levels(chain.n)))
    f, n = relay(stage_b, (linear(wrench), angular(wrench)), move, along=at, links=row)[-1]
    H = project(chain.turns[row], first_axis(chain), n, f)
    return pair.matrix(H) + diagonal(chain.armature)


class Computation(NamedTuple):
    """Computation v of set u: links i+1 .. j meet links j+1 .. k, from link s = i+v; links count from 1.

    In Stage B, x is the column that goes from link j+1 to link s; in Stage A it is 0.
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
    """The computations of each level of Stage A; k is at most n, a set without a second half has none."""
    return [
        [
            Computation(u, v, i, i + w // 2, min(i + w, n))
            for u, i in enumerate(range(0, n - w // 2, w), start=1)
            for v in range(1, w // 2 + 1)
        ]
        for w in _widths(n)
    ]


@cache
def stage_b_levels(n: int) -> list[list[Computation]]:
    """The computations of each level of Stage B, in all columns; x lies in the second half of a set."""
    return [
        [
            Computation(u, v, i, i + w // 2, i + w, x)
            for u, i in enumerate(range(0, n - w // 2, w), start=1)
            for x in range(i + w // 2 + 1, min(i + w, n) + 1)
            for v in range(1, w // 2 + 1)
        ]
        for w in _widths(n)
    ]


def _widths(n: int) -> list[int]:
    """Links per set on each level: 2, 4, 8, … until one set holds all."""
    return [2 << level for level in range((n - 1).bit_length())]


def runs(levels: list[list[Computation]]) -> JoinLevels:
    """Where computations write and read among links, from 0: link s takes in the run that starts at j+1."""
    return JoinLevels(([(c.s - 1, c.j) for c in level] for level in levels), inward=True)


def moves(levels: list[list[Computation]]) -> list[Level]:
    """Where computations of Stage B write and read among pairs: (s, x) from (j+1, x)."""
    index = triangle(max((c.x for level in levels for c in level), default=1)).index
    return [[(int(index[c.s - 1, c.x - 1]), int(index[c.j, c.x - 1])) for c in level] for level in levels]
