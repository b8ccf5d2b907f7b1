# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How the joints and the base of a chain in Denavit-Hartenberg frames move."""

from __future__ import annotations

import numpy as np

from ...spatial import Array, angular, cross, linear, namespace
from .chain import DHChain


def first_axis(chain: DHChain) -> Array:
    """z0 (3,): axis of joint i, in O_i."""
    return np.array([0.0, 0.0, 1.0]).astype(chain.gravity.dtype)


def either(chain: DHChain, turning: Array, sliding: Array) -> Array:
    """Vectors (…, n, 3): `turning` where the joint turns, `sliding` where it slides."""
    return turning if chain.turns.all() else namespace(turning).where(chain.turns[:, None], turning, sliding)


def but_last(chain: DHChain, external: Array) -> Array:
    """The wrenches (…, n, 6) on all links but the last, and zero there."""
    return namespace(external).where(chain.is_last[:, None], 0.0, external)


def base_motion(chain: DHChain, velocity: Array, acceleration: Array) -> tuple[Array, Array, Array]:
    """Angular velocity and acceleration (None: zero) and acceleration less gravity of O_0, in O_0.

    `velocity` and `acceleration` are the base's twist and its derivative, component by component;
    None and 0.0 if the base is at rest.
    """
    given = not isinstance(acceleration, float)
    Vd = chain.base @ acceleration if given else None
    pdd = linear(Vd) - chain.gravity if given else -chain.gravity
    if velocity is None:
        return None, angular(Vd) if given else None, pdd
    V = chain.base @ velocity
    return angular(V), angular(Vd) if given else None, pdd + cross(angular(V), linear(V))
