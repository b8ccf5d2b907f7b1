# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How long a processor takes for an operation, and a link for a message."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ...errors import PhalanxError, shown
from ...program.cost import Count

_LONGEST = 1e100  # a time of which sums and products are finite


@dataclass(frozen=True)
class Times:
    """Time of one operation of each kind; by default the weights of `phalanx.cost`.

    Sines and cosines take none: the papers count them as given. What takes no time and needs
    nothing but inputs is at hand everywhere from the beginning.
    """

    multiplication: float = 1.0
    addition: float = 1.0
    division: float = 1.0
    trigonometric: float = 0.0

    def __post_init__(self) -> None:
        require_times(self, "times")

    def of(self, count: Count) -> float:
        """Time of so many operations, one after another."""
        return (
            count.multiplications * self.multiplication
            + count.additions * self.addition
            + count.divisions * self.division
            + count.trigonometric * self.trigonometric
        )


@dataclass(frozen=True)
class LinkTimes:
    """What a message takes on each link that it passes: a start-up time and a time per real number.

    A link carries one message at a time in each direction; processors need not wait for it.
    """

    start_up: float = 0.0
    per_word: float = 0.0

    def __post_init__(self) -> None:
        require_times(self, "links")

    def of(self, words: int) -> float:
        """Time of a message on one link."""
        return self.start_up + words * self.per_word


def require_times(owner: object, where: str) -> None:
    """Raise unless all fields of a dataclass are finite and not negative."""
    for f in fields(owner):  # type: ignore[arg-type]
        value = getattr(owner, f.name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= _LONGEST:
            raise PhalanxError(f"{where}: {f.name} is {shown(value)}, expected a time of at least 0.")
