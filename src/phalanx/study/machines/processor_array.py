# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Processors in a triangle or a row, of which neighbours or shuffled partners exchange messages."""

from __future__ import annotations

from dataclasses import dataclass, field

from .base import ASSIGNMENTS, Machine, one_of
from .times import LinkTimes, Times

PROCESSORS = ("n(n+1)/2", "n")
NETWORKS = ("shuffle-exchange", "nearest")


@dataclass(frozen=True)
class ProcessorArray(Machine):
    """Processor (j, i), j >= i, of a triangle with n rows, or one processor for each column.

    Neighbours in rows and columns are linked. With `network="shuffle-exchange"` each column has a
    perfect shuffle besides; rows need none.
    """

    paper = ("mass_matrix", "processor_array")

    processors: str = "n(n+1)/2"
    network: str = "shuffle-exchange"
    links: LinkTimes = field(default_factory=LinkTimes)
    assignment: str = "paper"

    def count(self, n: int) -> int:
        """How many processors there are for a chain of n links."""
        return n if self.processors == "n" else n * (n + 1) // 2

    def __str__(self) -> str:
        return f"processor_array({self.processors!r}, network={self.network!r})"


def processor_array(
    processors: str = "n(n+1)/2",
    *,
    network: str = "shuffle-exchange",
    assignment: str = "paper",
    multiplication: float = 1.0,
    addition: float = 1.0,
    start_up: float = 1.0,
    per_word: float = 0.0,
) -> ProcessorArray:
    """The array of Fijany for a chain of n links; one step of communication takes `start_up` by default."""
    return ProcessorArray(
        Times(multiplication, addition),
        processors=one_of(processors, PROCESSORS, "processor_array: processors"),
        network=one_of(network, NETWORKS, "processor_array: network"),
        links=LinkTimes(start_up, per_word),
        assignment=one_of(assignment, ASSIGNMENTS, "processor_array: assignment"),
    )
