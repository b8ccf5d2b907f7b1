# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix by composite rigid bodies and their first and second moments."""

from ...robot.dh.chain import first_axis, proximal_offsets, proximal_rotations
from ...robot.model import Model, diagonal
from ...spatial import Array, Inertia, Tensor, Transform, namespace, transpose
from ...sweeps.triangle import along_chain
from ...sweeps.verbs import accumulate, parent, relay
from ..registry import algorithm
from .frames import along_ancestors, by_joint, identity, proximal_moments, with_diagonal


@algorithm(
    "mass_matrix",
    source="Fijany, Serial and Parallel Computation of Kane's Equations: VCR-B, O(n^2)",
    topology="chain",
    joints="turning, sliding",
    frames="dh",
    work="O(n^2)",
    span="O(n)",
)
def composite_variant(model: Model, q: Array) -> Array:
    """The mass matrix `M` (…, nv, nv) of a chain: step 1 in the links' frames, step 2 in the base frame.

    Source: Fijany, "Serial and Parallel Computation of Kane's Equations for Multibody Dynamics",
    VCR-B; frame i lies on the axis of joint i, z along it. Sliding joints are derived.
    Cost:   work O(n^2), span O(n).
    """
    chain, turns = model.dh, model.dh.turns
    U, P = proximal_rotations(chain, q), proximal_offsets(chain, q)
    h, k = proximal_moments(chain)
    # Step 1, i = n .. 1: M = m + M', H = h + H' + M' P, K = k + K' - M' P^ P^ - P^ H'^ - H'^ P^.
    Gc = accumulate(Transform(transpose(U), P), Inertia(chain.m, h, k))
    M, H, K = Gc.m[..., None], Gc.h, Gc.moment
    # In these frames Z(i) = (0, 0, 1), so Z x H, K Z and a_ii cost nothing.
    x, y, o = H[..., 0], H[..., 1], H[..., 2] * 0.0
    ZxH = namespace(H).stack([-y, x, o], axis=-1)
    f = by_joint(turns, ZxH, M * first_axis(chain))
    n = by_joint(turns, K[..., [2, 4, 5]], -ZxH)
    a_ii = namespace(K).where(turns, K[..., 5], M[..., 0])

    # Step 2, j = i-1 .. 1, in the base frame.
    R = relay(along_chain(chain.n), (Tensor(U),), lambda own, before: (before[0] @ own[0],))[-1][0]
    Z = R.matrix[..., :, 2]
    P = parent(R, root=Tensor(identity(U))) @ P
    A = along_ancestors(R @ n, R @ f, Z, P, turns)
    return with_diagonal(A, a_ii) + diagonal(chain.armature)
