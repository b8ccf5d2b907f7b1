# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Powers of two that bring numbers near one, so that their squares neither overflow nor vanish."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ...spatial import Array, namespace


def leveled(q: Array) -> Array:
    """q (…, k) times a power of two, so that the largest of its components is between two and four.

    What does not depend on the length of q keeps its bits, unless it would overflow or vanish.
    """
    if q.dtype.kind == "O":
        return q * _of_objects(q)
    xp = namespace(q)
    size = xp.abs(q)
    largest = reduce(xp.maximum, (size[..., k] for k in range(q.shape[-1])))
    own = rescale if xp is np else xp.rescale
    return q * own(largest)[..., None]


def rescale(x: np.ndarray) -> np.ndarray:
    """The power of two with 2 <= x * power < 4 for each normal x > 0; that of the least one below."""
    x = np.maximum(x, np.finfo(x.dtype).tiny)
    _, exponent = np.frexp(x)
    return np.ldexp(np.ones((), x.dtype), 2 - exponent)


def _of_objects(q: np.ndarray) -> np.ndarray:
    """The powers of two of traced scalars; of other objects, which do not overflow, one."""
    made = np.empty((*q.shape[:-1], 1), dtype=object)
    for place in np.ndindex(q.shape[:-1]):
        components = q[place].tolist()
        made[place] = _rescaled(components) if hasattr(components[0], "rescale") else 1.0
    return made


def _rescaled(components: list[Any]) -> Any:
    return reduce(lambda a, b: a.maximum(b), map(abs, components)).rescale()
