# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What all machines tell, and the one with a common memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar

from ...errors import PhalanxError, is_one_of, shown
from .times import Times

_MOST = 2**62  # processors: as many as a sequence may have entries
ASSIGNMENTS = ("paper", "list")  # a paper's own, or by our list scheduler


@dataclass(frozen=True)
class Machine:
    """Processors and what their operations take; times are in `unit`.

    It says what its tasks are by default ("scalar", "vector", "equation"), whether a processor computes the
    coordinates of a vector at once, and for which function and algorithm it has a paper's own assignment.
    """

    granularity: ClassVar[str] = "equation"
    at_once: ClassVar[bool] = False
    paper: ClassVar[tuple[str, str] | None] = None

    times: Times = field(default_factory=Times)
    unit: str = "operations"

    def pairs(self) -> Iterable[tuple[int, int]]:
        """The pairs of processors that are linked, both ways: what a machine of your own has to say.

        Processors are numbered from 0. A field `links` (`LinkTimes`) holds what a message takes, nothing by
        default, `master` the number of a processor that has the inputs and wants the results, if any.
        """
        raise PhalanxError(
            f"schedule: a {type(self).__name__} has no links to place tasks on; give it a method pairs() "
            "that tells which processors are linked."
        )


@dataclass(frozen=True)
class Pram(Machine):
    """Processors around one memory: a value is at hand for all as soon as it is computed."""

    granularity = "scalar"

    count: int = 4

    def __str__(self) -> str:
        return f"pram({self.count})"


def pram(
    processors: int = 4,
    *,
    multiplication: float = 1.0,
    addition: float = 1.0,
    division: float = 1.0,
    trigonometric: float = 0.0,
) -> Pram:
    """So many processors with a common memory."""
    times = Times(multiplication, addition, division, trigonometric)
    return Pram(times, count=whole(processors, "pram: processors"))


def whole(value: Any, where: str, least: int = 1) -> int:
    """An integer of at least `least`, or an error."""
    number = int(value) if isinstance(value, Integral) and value is not True else least - 1
    if number < least:
        raise PhalanxError(f"{where} is {shown(value)}, expected an integer of at least {least}.")
    if number > _MOST:
        raise PhalanxError(f"{where} is {shown(value)}, expected at most 2**62.")
    return number


def one_of(value: Any, choices: tuple[str, ...], where: str) -> str:
    """One of some words, or an error that lists them."""
    if not is_one_of(value, choices):
        raise PhalanxError(f"{where} is {shown(value)}, expected one of {', '.join(map(repr, choices))}.")
    return str(value)
