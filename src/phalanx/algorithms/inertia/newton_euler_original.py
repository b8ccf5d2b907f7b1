# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix by one pass of inverse dynamics for each joint."""

from dataclasses import replace

from ...robot.model import Model
from ...spatial import Array
from ...sweeps.verbs import unit
from ..inverse.luh_walker_paul import luh_walker_paul
from ..registry import algorithm


@algorithm(
    "mass_matrix",
    source="Walker, Orin 1982, method 1; Fijany, Serial and Parallel Computation of Kane's Equations: ON-EB",
    topology="chain",
    joints="turning, sliding",
    frames="dh",
    work="O(n^2)",
    span="O(n)",
)
def newton_euler_original(model: Model, q: Array) -> Array:
    """The mass matrix `M` (…, nv, nv) of a chain: column j is the force for a unit acceleration of joint j.

    Full passes of the Newton-Euler recursion in the links' frames and with mass centres, at zero rates
    and without gravity; the variants of Fijany start by removing what vanishes then.

    Source: ON-EB of Fijany, "Serial and Parallel Computation of Kane's Equations for Multibody
    Dynamics", named there without a listing; Walker and Orin 1982, method 1.
    Cost:   work O(n^2), span O(n).
    """
    chain = model.dh
    weightless = replace(model, dh_of=lambda: replace(chain, gravity=chain.gravity * 0.0))
    columns = unit(chain.m * 0.0 + 1.0)
    return luh_walker_paul(weightless, q[..., None, :], columns * 0.0, columns)
