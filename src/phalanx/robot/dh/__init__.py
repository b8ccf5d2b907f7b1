# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Serial chains in Denavit-Hartenberg frames: the constants, their equations, and how they are found."""

from .chain import (
    DHChain,
    axes,
    link_wrenches_dh,
    offsets,
    proximal_inertias,
    proximal_offsets,
    proximal_rotations,
    rotations,
)
from .frames import chain_of, refusal, require_chain

__all__ = [
    "DHChain",
    "axes",
    "chain_of",
    "link_wrenches_dh",
    "offsets",
    "proximal_inertias",
    "proximal_offsets",
    "proximal_rotations",
    "refusal",
    "require_chain",
    "rotations",
]
