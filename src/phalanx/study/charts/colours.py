# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Colours of quantities: colour-blind safe, and told apart in print."""

from __future__ import annotations

from collections.abc import Iterable

from ..plotting import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION

# The common colours, then dark ones of Paul Tol's muted scheme and light ones in between.
PALETTE = (BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, "#332288", "#F0E442", "#882255", "#117733", "#D9C6F0")
OTHERS = "#B8B8B8"
OTHERS_NAME = "others"


def colours_of(quantities: Iterable[str], weights: Iterable[float]) -> dict[str, str]:
    """A colour for each quantity, those with the most weight first; what is left over is grey."""
    total: dict[str, float] = {}
    for quantity, weight in zip(quantities, weights, strict=True):
        total[quantity] = total.get(quantity, 0.0) + weight
    ranked = sorted(total, key=lambda q: (-total[q], q))
    return {q: PALETTE[k] if k < len(PALETTE) else OTHERS for k, q in enumerate(ranked)}


def ink_on(colour: str) -> str:
    """Black or white, whichever is readable on a colour."""
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return "#000000" if 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 > 0.18 else "#ffffff"
