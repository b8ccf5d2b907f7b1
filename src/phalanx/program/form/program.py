# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The one form of a program: regions of memory, tables, loops with loop-carried values, loads and stores.

Statements are `Load`, `Value`, `Choice` and `Store`, and those that hold others: `For`, `If`, `Owned` and
`Part`. The first three are real numbers as well, for all that follows them. Straight-line code is the case
without loops. Everything else that is done with a program is a walk over it: counting, interpreting,
writing LLVM. A walk that meets a statement it does not know raises.

One program computes one state. A backend may put different states into SIMD lanes, all in lockstep; or a
program itself has parts whose lanes are the segments of a chain (`Part.width`): a region then holds
so many numbers side by side in every place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..ops import OPS
from .wholes import Counter, Index, Table


@dataclass(frozen=True, eq=False)
class Region:
    """Memory for `size` real numbers. Inputs are read only, outputs written only."""

    name: str
    size: int
    kind: str = "scratch"  # or "input", "output", "uniform": told with a call, for all states alike
    given: bool = False  # whether it holds what the caller has passed


# ------------------------------------------------------------------- real numbers


@dataclass(frozen=True, eq=False)
class Value:
    """An operation on real numbers. A multiply-add has two quantities, of its product and of its sum."""

    op: str
    args: tuple[Any, ...]
    quantity: str = ""
    of_product: str = ""

    def __post_init__(self) -> None:
        if self.op not in OPS:
            raise TypeError(f"program: unknown operation on real numbers {self.op!r}.")


@dataclass(frozen=True, eq=False)
class Load:
    """What stands at a place of a region, or in a table of real numbers."""

    region: Region | Table
    index: Index


@dataclass(frozen=True, eq=False)
class Choice:
    """`a` where a condition on whole numbers holds, else `b`."""

    condition: Index
    a: Any
    b: Any


@dataclass(frozen=True, eq=False)
class Carried:
    """A loop-carried value: `start` in the first round, later what the round before has fed.

    Behind its loop it is what the last round has fed.
    """

    start: Any


Real = float | Value | Load | Choice | Carried


# ------------------------------------------------------------------- statements


@dataclass(frozen=True, eq=False)
class Store:
    """Put a value at a place of a region."""

    region: Region
    index: Index
    value: Any


@dataclass(frozen=True, eq=False)
class For:
    """Rounds with a counter from `first` up to `end`, which it does not reach, or `down`; at least one.

    `following` makes it a walk: the counter's next value, until that is negative. `again` feeds the
    loop-carried values.
    """

    counter: Counter
    first: Index
    end: Index
    down: bool
    carried: tuple[Carried, ...]
    again: tuple[Any, ...]
    body: tuple[Any, ...]
    following: Index | None = None


@dataclass(frozen=True, eq=False)
class If:
    """Statements that run only if a condition holds."""

    condition: Index
    body: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Owned:
    """Statements in the name of a body, as counts tell them."""

    body_index: Index
    body: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Part:
    """Statements with lanes of their own, a function in compiled code.

    Its regions have `width` numbers in every place: the lanes of the program, or one. Inputs and outputs are
    counted in single numbers: a load or store reaches `width` of them.
    """

    width: int
    body: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """Inputs, outputs and scratch memory, and the statements in order."""

    inputs: tuple[Region, ...]
    outputs: tuple[Region, ...]
    body: tuple[Any, ...]
    scratch: tuple[Region, ...] = ()
    lanes: int = 1  # numbers in every place of scratch memory
    bodies: int = 0  # of the robot, and its parameters, for counts
    parameters: int = 0
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # of inputs and outputs
    uniform: Region | None = None

    @property
    def is_straight(self) -> bool:
        """Whether there is no loop."""
        return not any(isinstance(s, For) for s in statements(self.body))


def statements(body: tuple[Any, ...]) -> Iterator[Any]:
    """All statements, those inside others included."""
    for s in body:
        yield s
        if isinstance(s, For | If | Owned | Part):
            yield from statements(s.body)
