# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rows of arrays, every second of which goes, then every second of the rest and so on, and the way back."""

from __future__ import annotations

from typing import Any

from ..spatial import Array
from .links import Halving
from .rows import after, among_zeros, count, together, woven


def joined(how: Halving, parts: Any) -> tuple[Any, Any]:
    """(whole, levels): all parts as one, and what each level leaves behind."""
    levels = []
    while (rows := count(parts)) > 1:
        even, odd = parts[::2], parts[1::2]
        whole, between = how.join(even[: rows // 2], odd)
        levels.append((even, between))
        parts = whole if rows % 2 == 0 else together(whole, even[rows // 2 :])
        if how.stays is not None:
            padded = between.map(_padded)
            left = (rows + 1) // 2
            parts = how.stays(parts, padded[:left], padded[1 : left + 1])
    return parts[0], levels


def _padded(x: Array, rank: int) -> Array:
    """The rows of x between two of zeros."""
    return among_zeros(x, rank, before=1, after=1)


def unfolded(how: Halving, levels: Any, x: Array) -> Array:
    """A value (…, n, k) before each part, from the one (…, k) before the whole."""
    x = x[..., None, :]
    for even, between in reversed(levels):
        half = count(between)
        f, g = how.sides(even, x)
        x = woven(x, how.inside(between, f[..., :half, :], after(g)[..., :half, :]))
    return x
