# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Parts in a row joined by pairs, pairs of pairs and so on, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...spatial import Array
from .rows import after, together, woven


def halved(join: Callable[[Any, Any], tuple[Any, Any]], parts: Any) -> tuple[Any, Any]:
    """(whole, levels): all parts as one, and what each level leaves behind.

    `join(A, B)` is the part of both and what lies between them.
    """
    levels = []
    while (count := _count(parts)) > 1:
        even, odd = parts[::2], parts[1::2]
        whole, between = join(even[: count // 2], odd)
        levels.append((even, between))
        parts = whole if count % 2 == 0 else together(whole, even[count // 2 :])
    return parts[0], levels


def unfolded(
    levels: Any, x: Array, sides: Callable[..., tuple[Array, Array]], inside: Callable[..., Array]
) -> Array:
    """A value (…, n, k) before each part, from the one (…, k) before the whole.

    `sides(part, x)` is what the value before a part does to this part and to the one before it;
    `inside(between, f, g)` the value between two parts, from what is done to the first and to the second.
    """
    x = x[..., None, :]
    for even, between in reversed(levels):
        half = between[0].shape[-2]
        f, g = sides(even, x)
        x = woven(x, inside(between, f[..., :half, :], after(g)[..., :half, :]))
    return x


def _count(parts: Any) -> int:
    """How many parts there are."""
    array, rank = next(parts.arrays())
    return int(array.shape[array.ndim - rank - 1])
