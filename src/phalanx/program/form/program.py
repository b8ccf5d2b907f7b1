# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The one form of a program: regions of memory, tables, loops with loop-carried values, loads and stores.

Statements are `Load`, `Value`, `Select` and `Store`, and those that hold others: `For`, `If`, `Attributed`
and `SimdRegion`. The first three are real numbers as well, for all that follows them. Straight-line code is
the case without loops. Everything else is a visitor: counting, interpreting, writing LLVM. A visitor that
meets a statement it does not know raises.

One program computes one state. A backend may put different states into SIMD lanes, all in lockstep; or a
program itself has parts whose lanes are the segments of a chain (`SimdRegion.width`): a region then holds
so many numbers side by side in every place.

Whole numbers are loop counters, tables, and expressions of them without side effects: equal ones are equal
objects, and constants fold while they are built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ops import OPS

# ------------------------------------------------------- whole numbers: where values lie, how often loops run


@dataclass(frozen=True, eq=False)
class Table:
    """Constants of a program, real or whole. A `wide` one has a number for each lane in every entry."""

    name: str
    values: np.ndarray
    wide: bool = False

    kind = "constant"
    given = True


@dataclass(frozen=True, eq=False)
class InductionVariable:
    """The index of a loop."""


@dataclass(frozen=True)
class IntExpr:
    """An operation of `INT_OPS` on whole numbers; the first operand of "entry" is a table.

    "lanes" has an operand for each lane, or one for all: a load or store with such an index reaches so many
    single numbers of a region.
    """

    op: str
    args: tuple[Any, ...]

    def __post_init__(self) -> None:
        if self.op not in INT_OPS:
            raise TypeError(f"program: unknown operation on whole numbers {self.op!r}.")


Index = int | InductionVariable | IntExpr  # conditions are whole numbers, too: one where they hold, else zero

# What each operation means, for numbers and for arrays of them.
INT_OPS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "shl": lambda a, b: a << b,
    "div": lambda a, b: a // b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "and": lambda a, b: a & b,
    "select": lambda c, a, b: np.where(c, a, b) if isinstance(c, np.ndarray) else (a if c else b),
    "entry": lambda table, i: table.values[i],
    "lanes": lambda *each: np.array(each),
}


def int_expr(op: str, *args: Any) -> Index:
    """An operation, carried out now if all operands are known."""
    if all(isinstance(a, int | Table) for a in args):
        return int(INT_OPS[op](*args))
    return IntExpr(op, args)


def plus(a: Index, b: Index) -> Index:
    """a + b; constants come last and merge."""
    if isinstance(a, int):
        a, b = b, a
    if isinstance(b, int):
        variable, constant = apart(a)
        constant += b
        if variable == 0 or constant == 0:
            return constant if variable == 0 else variable
        return int_expr("add", variable, constant)
    (first, k), (second, m) = apart(a), apart(b)
    return plus(int_expr("add", first, second), k + m)


def less(a: Index, b: Index) -> Index:
    """a - b."""
    return plus(a, -b) if isinstance(b, int) else int_expr("sub", a, b)


def times(a: Index, b: Index) -> Index:
    """a * b."""
    if isinstance(a, int):
        a, b = b, a
    if b == 1:
        return a
    return 0 if b == 0 or a == 0 else int_expr("mul", a, b)


def select(condition: Index, a: Index, b: Index) -> Index:
    """a where a condition holds, else b."""
    if isinstance(condition, int):
        return a if condition else b
    return int_expr("select", condition, a, b)


def alike(index: Index) -> Index:
    """The same single number for all lanes."""
    return IntExpr("lanes", (index,))


def apart(index: Index) -> tuple[Index, int]:
    """(variable part, constant) of a sum."""
    if isinstance(index, int):
        return 0, index
    if isinstance(index, IntExpr) and index.op == "add" and isinstance(index.args[1], int):
        return index.args[0], index.args[1]
    return index, 0


def entry(table: Table, index: Index) -> Index:
    """An entry of a table of whole numbers, without the table if all are equal or count the index."""
    values = table.values
    if len(values) and (values == values[0]).all():
        return int(values[0])
    if np.array_equal(values, np.arange(len(values))):
        return index
    return int_expr("entry", table, index)


def evaluate(index: Any, counters: dict[InductionVariable, Any], known: dict[Any, Any]) -> Any:
    """The value of an expression, or of it at many points at once, where counters have values or arrays."""
    if type(index) is InductionVariable:
        return counters[index]
    if type(index) is not IntExpr:
        return index
    if index not in known:
        known[index] = INT_OPS[index.op](*(evaluate(a, counters, known) for a in index.args))
    return known[index]


def counters_of(index: Any) -> set[InductionVariable]:
    """The counters that an expression depends on."""
    if type(index) is InductionVariable:
        return {index}
    if type(index) is not IntExpr:
        return set()
    return set().union(*(counters_of(a) for a in index.args))


# -------------------------------------------------------------------- memory


@dataclass(frozen=True, eq=False)
class Buffer:
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

    region: Buffer | Table
    index: Index


@dataclass(frozen=True, eq=False)
class Select:
    """`a` where a condition on whole numbers holds, else `b`."""

    condition: Index
    a: Any
    b: Any


@dataclass(frozen=True, eq=False)
class LoopCarried:
    """A loop-carried value: `start` in the first round, later what the round before has fed.

    Behind its loop it is what the last round has fed.
    """

    start: Any


Real = float | Value | Load | Select | LoopCarried


# ------------------------------------------------------------------- statements


@dataclass(frozen=True, eq=False)
class Store:
    """Put a value at a place of a region."""

    region: Buffer
    index: Index
    value: Any


@dataclass(frozen=True, eq=False)
class For:
    """Rounds with a counter from `first` up to `end`, which it does not reach, or `down`; at least one.

    `successor` makes it a walk: the counter's next value, until that is negative. `yields` feeds the
    loop-carried values.
    """

    counter: InductionVariable
    first: Index
    end: Index
    down: bool
    carried: tuple[LoopCarried, ...]
    yields: tuple[Any, ...]
    body: tuple[Any, ...]
    successor: Index | None = None


@dataclass(frozen=True, eq=False)
class If:
    """Statements that run only if a condition holds."""

    condition: Index
    body: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Attributed:
    """Statements in the name of a body, as counts tell them."""

    body_index: Index
    body: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class SimdRegion:
    """Statements with lanes of their own, a function in compiled code.

    Its regions have `width` numbers in every place: the lanes of the program, or one. Inputs and outputs are
    counted in single numbers: a load or store reaches `width` of them.
    """

    width: int
    body: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """Inputs, outputs and scratch memory, and the statements in order."""

    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    body: tuple[Any, ...]
    scratch: tuple[Buffer, ...] = ()
    lanes: int = 1  # numbers in every place of scratch memory
    bodies: int = 0  # of the robot, and its parameters, for counts
    parameters: int = 0
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # of inputs and outputs
    uniform: Buffer | None = None
    sizes: tuple[
        InductionVariable, ...
    ] = ()  # whole numbers that are told with a call, such as rounds of loops

    @property
    def is_straight(self) -> bool:
        """Whether there is no loop."""
        return not any(isinstance(s, For) for s in statements(self.body))


def statements(body: tuple[Any, ...]) -> Iterator[Any]:
    """All statements, those inside others included."""
    for s in body:
        yield s
        if isinstance(s, For | If | Attributed | SimdRegion):
            yield from statements(s.body)
