# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forward dynamics by the constraint forces of a chain: one block-tridiagonal system."""

from ...robot.model import Model, diagonal, gravity_twist, joint_kinematics
from ...spatial import Array, force_cross, matvec, motion_cross, transpose
from ...sweeps.verbs import paths
from ..banded import SOLVERS
from ..banded.symmetric import congruent, mirrored
from ..inverse.scan import scan as inverse_dynamics
from ..links import Links, links_of
from ..registry import algorithm


@algorithm(
    "forward_dynamics",
    source="Yang, Wu, Pan 2017, section III (CFA); Fijany and Featherstone 2013",
    topology="chain",
    bodies="definite",
    work="O(n log n)",
    span="O(log n)",
    options={"solver": tuple(SOLVERS), "bias": ("local", "global"), "refine": (0, 1)},
)
def cfa(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    *,
    external: Array = 0.0,
    solver: str = "cyclic_reduction",
    bias: str = "local",
    refine: int = 0,
) -> Array:
    """Joint accelerations `qdd` (…, nv) of a chain under the joint forces `tau` at state (q, qd).

    `external` (…, n, 6) [N m, N] acts on the bodies, in body coordinates.

    With Gamma the block matrix that holds X_i left of the diagonal, and wrenches F across the joints:

        S qdd = rho(F) = (1 - Gamma) G^-1 ((1 - Gamma)^T F - b) - c - X_1 Vd_0 in the first row
        F     = T tau + W y,    W^T S = 0,  T^T S = 1
        A y   = -W^T rho(T tau),    A = W^T (1 - Gamma) G^-1 (1 - Gamma)^T W

    `bias="global"` subtracts the joint forces of b, c and gravity from tau, as published; that costs
    four digits along a thousand links and misses 1e-9 from about three hundred on. `refine=1` solves
    once more for what the first solution leaves, which gives `solver="odd_even"` the digits of the
    others on all but the lightest links.

    Source: Yang, Wu, Pan, "Unified GPU-parallelizable robot forward dynamics computation using band
    sparsity", 2017, section III, with a dual basis T in place of S; local bias, rotors and joints of
    several degrees of freedom are the library's.
    Cost:   work O(n log n), span O(log n); with `solver="serial"` span O(n).
    """
    links, b, c, Vd0 = chain(model, q, qd, external)
    if bias == "global":
        tau = tau - inverse_dynamics(model, q, qd, qd * 0.0, external=external)
        b, c, Vd0 = b * 0.0, c * 0.0, Vd0 * 0.0
    X, W, Gi, heavy_paths = links.X, links.W, links.Gi, links.heavy_paths
    Wt = transpose(W)
    D = mirrored(Wt @ (Gi + congruent(X, heavy_paths.parent(Gi, 2))) @ W) + diagonal(links.unused)
    U = -Wt @ Gi @ heavy_paths.children(transpose(X) @ W, 2)
    F = links.driven(tau)  # T tau
    solve = SOLVERS[solver]
    y = solve(heavy_paths, D, U, -matvec(Wt, rho(links, F, b, c, Vd0)))
    for _ in range(refine):
        left = -matvec(Wt, rho(links, F + matvec(W, y), b, c, Vd0)) - links.unused * y
        y = y + solve(heavy_paths, D, U, left)
    return links.accelerations(rho(links, F + matvec(W, y), b, c, Vd0), y)


def chain(model: Model, q: Array, qd: Array, external: Array) -> tuple[Links, Array, Array, Array]:
    """(links, b, c, Vd_0): wrenches and accelerations that velocities and gravity cause."""
    G = model.definite_inertia
    X, S, cJ = joint_kinematics(model, q)
    VJ = S @ qd
    V = paths(X) @ VJ
    links = links_of(model, X)
    b, c = force_cross(V, G @ V) - external, cJ + motion_cross(V, VJ)
    return links, links.heavy_paths.at_links(b), links.along(c), -gravity_twist(model)


def rho(links: Links, F: Array, b: Array, c: Array, Vd0: Array) -> Array:
    """The relative accelerations across the joints that the wrenches F cause, less c."""
    X, heavy_paths = links.X, links.heavy_paths
    Vd = matvec(links.Gi, F - heavy_paths.children(matvec(transpose(X), F)) - b)
    return Vd - matvec(X, heavy_paths.parent(Vd, first=Vd0)) - c
