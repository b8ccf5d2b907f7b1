# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Whole numbers of a program: loop counters, tables, and what is computed from them.

They say where values lie and how often loops run. They are plain expressions without side effects:
equal ones are equal objects, and constants fold while they are built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Table:
    """Constants of a program, real or whole. A `wide` one has a number for each lane in every entry."""

    name: str
    values: np.ndarray
    wide: bool = False

    kind = "constant"
    given = True


@dataclass(frozen=True, eq=False)
class Counter:
    """The index of a loop."""


@dataclass(frozen=True)
class Whole:
    """An operation of `WHOLE_OPS` on whole numbers; the first operand of "entry" is a table.

    "lanes" has an operand for each lane, or one for all: a load or store with such an index reaches so many
    single numbers of a region.
    """

    op: str
    args: tuple[Any, ...]

    def __post_init__(self) -> None:
        if self.op not in WHOLE_OPS:
            raise TypeError(f"program: unknown operation on whole numbers {self.op!r}.")


Index = int | Counter | Whole  # conditions are whole numbers, too: one where they hold, else zero

# What each operation means, for numbers and for arrays of them.
WHOLE_OPS: dict[str, Callable[..., Any]] = {
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


def whole(op: str, *args: Any) -> Index:
    """An operation, carried out now if all operands are known."""
    if all(isinstance(a, int | Table) for a in args):
        return int(WHOLE_OPS[op](*args))
    return Whole(op, args)


def plus(a: Index, b: Index) -> Index:
    """a + b; constants come last and merge."""
    if isinstance(a, int):
        a, b = b, a
    if isinstance(b, int):
        variable, constant = apart(a)
        constant += b
        if variable == 0 or constant == 0:
            return constant if variable == 0 else variable
        return whole("add", variable, constant)
    (first, k), (second, m) = apart(a), apart(b)
    return plus(whole("add", first, second), k + m)


def less(a: Index, b: Index) -> Index:
    """a - b."""
    return plus(a, -b) if isinstance(b, int) else whole("sub", a, b)


def times(a: Index, b: Index) -> Index:
    """a * b."""
    if isinstance(a, int):
        a, b = b, a
    if b == 1:
        return a
    return 0 if b == 0 or a == 0 else whole("mul", a, b)


def select(condition: Index, a: Index, b: Index) -> Index:
    """a where a condition holds, else b."""
    if isinstance(condition, int):
        return a if condition else b
    return whole("select", condition, a, b)


def alike(index: Index) -> Index:
    """The same single number for all lanes."""
    return Whole("lanes", (index,))


def apart(index: Index) -> tuple[Index, int]:
    """(variable part, constant) of a sum."""
    if isinstance(index, int):
        return 0, index
    if isinstance(index, Whole) and index.op == "add" and isinstance(index.args[1], int):
        return index.args[0], index.args[1]
    return index, 0


def entry(table: Table, index: Index) -> Index:
    """An entry of a table of whole numbers, without the table if all are equal or count the index."""
    values = table.values
    if len(values) and (values == values[0]).all():
        return int(values[0])
    if np.array_equal(values, np.arange(len(values))):
        return index
    return whole("entry", table, index)


def evaluate(index: Any, counters: dict[Counter, Any], known: dict[Any, Any]) -> Any:
    """The value of an expression, or of it at many points at once, where counters have values or arrays."""
    if type(index) is Counter:
        return counters[index]
    if type(index) is not Whole:
        return index
    if index not in known:
        known[index] = WHOLE_OPS[index.op](*(evaluate(a, counters, known) for a in index.args))
    return known[index]


def counters_of(index: Any) -> set[Counter]:
    """The counters that an expression depends on."""
    if type(index) is Counter:
        return {index}
    if type(index) is not Whole:
        return set()
    return set().union(*(counters_of(a) for a in index.args))
