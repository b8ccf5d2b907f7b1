# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The one form of a program: regions of memory, tables, loops with loop-carried values, loads and stores.

Straight-line code is the case without loops. Everything else that is done with a program is a walk over
it: counting, interpreting, writing LLVM. A walk that meets a statement it does not know raises.

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
    """What stands at a place of a region; `alike`: in all lanes the single number that the index counts."""

    region: Region
    index: Index
    alike: bool = False


@dataclass(frozen=True, eq=False)
class Number:
    """An entry of a table of real numbers."""

    table: Table
    index: Index


@dataclass(frozen=True, eq=False)
class Flag:
    """One where a condition holds, else zero."""

    condition: Index


@dataclass(frozen=True, eq=False)
class Choice:
    """`a` where a condition on whole numbers holds, else `b`."""

    condition: Index
    a: Any
    b: Any


@dataclass(frozen=True, eq=False)
class Carried:
    """A loop-carried value: `start` in the first round, later what the round before has fed."""

    start: Any


@dataclass(frozen=True, eq=False)
class Final:
    """What a loop-carried value has become when its loop is over."""

    carried: Carried


Real = float | Value | Load | Number | Flag | Choice | Carried | Final


# ------------------------------------------------------------------- statements


@dataclass(frozen=True, eq=False)
class Turn:
    """Sines and cosines of several angles, taken together; None for those that nothing needs."""

    angles: tuple[Any, ...]
    sines: tuple[Value | None, ...]
    cosines: tuple[Value | None, ...]

    @property
    def values(self) -> tuple[Value, ...]:
        """The sines and cosines that are needed."""
        return tuple(v for v in (*self.sines, *self.cosines) if v is not None)


@dataclass(frozen=True, eq=False)
class Store:
    """Put a value at a place of a region."""

    region: Region
    index: Index
    value: Any


@dataclass(frozen=True, eq=False)
class Clear:
    """Zeros at the first `count` places of a region."""

    region: Region
    count: int


@dataclass(frozen=True, eq=False)
class Move:
    """`count` numbers, `step` apart from `index` on in one region, one after another from `to` on in another.

    `rest` tells by how many the count exceeds a multiple of the widest register's lanes.
    """

    target: Region
    to: Index
    source: Region
    index: Index
    count: Index
    rest: int
    step: int = 1


@dataclass(frozen=True, eq=False)
class Weave:
    """Between lanes and rows of plain memory: lane j of place index + k is number starts[j] + k.

    From memory to lanes, or `back`; `count` numbers for each lane. With `values` these go back instead of
    what stands in a region.
    """

    region: Region | None
    index: Index
    memory: Region
    starts: tuple[Index, ...]
    count: int
    back: bool = False
    values: tuple[Any, ...] = ()


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

    Its regions have `width` numbers in every place: the lanes of the program, or one. Inputs, outputs and
    memory that is woven are counted in single numbers.
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
