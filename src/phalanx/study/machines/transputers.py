# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A master and some workers, each pair of them joined by a link, as Zomaya and Morris used them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ...errors import PhalanxError, shown
from .base import ASSIGNMENTS, Machine, one_of, whole
from .many import numbered
from .times import LinkTimes, Times, require_times

UNITS = ("operations", "microseconds")
PROGRAMS = ("repaired", "delayed", "ahead")  # of the paper's assignment


@dataclass(frozen=True)
class T800:
    """Figures of the INMOS T800 as far as they are known; none of these times is printed in the paper.

    The time of an operation is inferred from the paper's own results: 2 ms, which it calls 58 % and 41 %
    less than one processor takes for 1596 and 1128 operations, make 2.98 and 3.01 microseconds. So run times
    in microseconds cannot confirm the printed 2 ms; only their ratios can. The link rate (20 Mbit/s less
    framing and acknowledgement) and the four bytes of a real are assumed, start-up is unknown.
    """

    microseconds_per_operation: float = 3.0
    bytes_per_microsecond: float = 1.7
    bytes_per_real: float = 4.0
    start_up_microseconds: float = 0.0
    links: int = 4  # one of the master's leads to the host

    def __post_init__(self) -> None:
        require_times(self, "T800")
        if self.bytes_per_microsecond == 0.0:
            raise PhalanxError("T800: bytes_per_microsecond is 0, expected more.")


@dataclass(frozen=True)
class Transputers(Machine):
    """A master P0 that hands out the joint data and collects the results, and workers P1, P2, …"""

    paper = ("inverse_dynamics", "zomaya_morris")

    count: int = 4
    links: LinkTimes = field(default_factory=LinkTimes)
    assignment: str = "paper"
    figures: T800 = field(default_factory=T800)
    program: str = "repaired"

    @property
    def names(self) -> Sequence[str]:
        """P0 and the workers."""
        return numbered(self.count)

    def __str__(self) -> str:
        program = f", program={self.program!r}" if self.program != "repaired" else ""
        return f"transputers({self.count}, assignment={self.assignment!r}{program})"


def transputers(
    processors: int = 4,
    *,
    assignment: str = "paper",
    program: str = "repaired",
    unit: str = "operations",
    figures: T800 | None = None,
    multiplication: float | None = None,
    addition: float | None = None,
    start_up: float | None = None,
    per_word: float | None = None,
) -> Transputers:
    """A master and `processors - 1` workers; every pair has a link.

    `assignment="paper"` runs the program of Zomaya and Morris, "list" our own list schedule. The printed
    program reads values before they have arrived; `program` tells how that is mended: "repaired" exchanges
    them later in a pass, "delayed" does the work of a link one pass later, and "ahead", not in the paper,
    has buffered channels and lets each worker run through its own recursion first. In `unit="operations"`
    an operation takes one unit and messages none, as their count of operations assumes; in "microseconds"
    the `figures` of the T800 hold. Each time can be set by itself.
    """
    figures = T800() if figures is None else figures
    if not isinstance(figures, T800):
        raise PhalanxError(f"transputers: figures is {shown(figures)}, expected phalanx.machines.T800(…).")
    count = whole(processors, "transputers: processors", least=2)
    if one_of(assignment, ASSIGNMENTS, "transputers: assignment") == "paper" and count != 4:
        raise PhalanxError(
            f"transputers: the paper's assignment is for 4 processors, got {count}; "
            'use assignment="list" for other numbers.'
        )
    one_of(program, PROGRAMS, "transputers: program")
    if assignment == "list" and program != "repaired":
        raise PhalanxError(
            f"transputers: program={program!r} is one of the paper's assignment; leave it out with "
            'assignment="list".'
        )
    if count > figures.links:
        raise PhalanxError(
            f"transputers: {count} processors need {count - 1} links each beside the host's, "
            f"a T800 has {figures.links}; use at most {figures.links} processors or other figures."
        )
    if one_of(unit, UNITS, "transputers: unit") == "operations":
        times, links = Times(), LinkTimes()
    else:
        one = figures.microseconds_per_operation
        times = Times(one, one, one)
        links = LinkTimes(
            figures.start_up_microseconds, figures.bytes_per_real / figures.bytes_per_microsecond
        )
    given = {"multiplication": multiplication, "addition": addition}
    times = replace(times, **{k: v for k, v in given.items() if v is not None})
    given = {"start_up": start_up, "per_word": per_word}
    links = replace(links, **{k: v for k, v in given.items() if v is not None})
    return Transputers(times, unit, count, links, assignment, figures, program)
