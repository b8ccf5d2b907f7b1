# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A serial chain in standard Denavit-Hartenberg frames, as the classic papers write it.

Link i (0 … n-1) carries frame O_{i+1}; joint i acts about or along the z axis of O_i, and
O_{i+1} = Rz(theta) Tz(d) Tx(a) Rx(alpha) after it. Joint variables are the user's, in the
user's order and signs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .spatial import Array, Transform


@dataclass(frozen=True, eq=False)
class DHChain:
    """Constants of a chain in DH frames; index i is joint i and the link it moves.

    The variable of a turning joint adds to `theta`, of a sliding joint to `d`.
    """

    n: int
    a: Array  # (n,)
    alpha: Array
    d: Array
    theta: Array
    sa: Array  # sine and cosine of alpha, exact at right angles
    ca: Array
    turns: np.ndarray  # (n,) bool: True where the joint turns
    m: Array  # (n,) masses
    s: Array  # (n, 3) from O_{i+1} to the mass centre of link i, in O_{i+1}
    J: Array  # (n, 6) packed inertia about the mass centre, in O_{i+1}
    base: Transform  # X from the world (the file's base frame) to O_0
    tool: Transform  # X from O_n to the frame of the last link in the file
    gravity: Array  # (3,) in O_0
    armature: Array  # (n,)
