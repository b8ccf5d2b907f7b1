# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrix-vector processors, one for each step of the equations, as in Lathrop's pipeline."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Machine, one_of
from .times import Times

NODES = ("per link", "one")


@dataclass(frozen=True)
class Systolic(Machine):
    """One processor for each vector operation, which computes the coordinates of a vector at once.

    `nodes="per link"` is the pipeline, in which every link has processors of its own, "one" the single
    device, through which the links pass one after another. A processor begins the next set when it is
    done with the one before; nothing inside it overlaps.
    """

    granularity = "vector"
    at_once = True

    nodes: str = "per link"

    def __str__(self) -> str:
        return f"systolic(nodes={self.nodes!r})"


def systolic(
    *,
    nodes: str = "per link",
    multiplication: float = 1.0,
    addition: float = 1.0,
    division: float = 1.0,
    trigonometric: float = 0.0,
) -> Systolic:
    """A processor for each vector operation of each link, or of one link that serves all."""
    times = Times(multiplication, addition, division, trigonometric)
    return Systolic(times, nodes=one_of(nodes, NODES, "systolic: nodes"))
