# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A rolled program: loops over bodies and what stands between them, all of it small."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rewrite import Code
from .bodies.joints import Joints
from .limbs import LimbRows

LINKS = "links"  # the map that lists the last bodies of joints
END = "end of joint"  # from a body to the last one of its joint
CARRIER = "carrier of joint"  # from a body to the one on which its joint sits
_PARAMETERS = ("param", "param row", "param column", "param third")


class Stage:
    """A part of a program that runs after the one before it."""

    def codes(self) -> Iterator[Code]:
        """All instructions of the stage."""
        yield from ()


@dataclass(frozen=True)
class Loop(Stage):
    """One pass over the bodies: instructions for one, and where its results go.

    Inputs of the code are told by their first argument: "param" (column), "told" (number of what is told
    to this body), "state" (input, map, width, offset), "sine" and "cosine" (angle), "load" (slot),
    "load at" (slot of the body to which a map leads, map), "common" (number), "carry" (number).
    Targets: ("carry", number), ("save", slot), ("total", common),
    ("out", map, width, offset), ("add", map, width, offset), ("angle", number, quantity), ("rest", k).
    """

    code: Code
    targets: list[tuple[Any, ...]]
    outward: bool = True
    roots: Mapping[int, Any] | None = None  # of outward carries: a number or ("common", k)
    bodies: str | None = None  # the map that lists the bodies; all of them if None

    def codes(self) -> Iterator[Code]:
        yield self.code


@dataclass(frozen=True)
class Once(Stage):
    """Instructions for one value per state. Inputs: "global", "common", "at" (slot, body), "told to all"."""

    code: Code
    targets: list[tuple[Any, ...]]  # ("common", number) or ("out", position)

    def codes(self) -> Iterator[Code]:
        yield self.code


@dataclass(frozen=True)
class Pairs:
    """A walk along ancestors: inputs "walk" (number), "load" and "param" at the ancestor, "common".

    Results: what is carried on, then the entry. Numbers are slots (int) or constants (float).
    """

    start: list[int | float]
    code: Code
    diagonal: int | float  # what is added on the diagonal
    instead: int | float | None = None  # what stands on the diagonal before that is added

    def codes(self) -> Iterator[Code]:
        yield self.code


@dataclass(frozen=True)
class Columns:
    """Loops over the pairs of one column after another, or of one row.

    Inputs of their codes beside those of `Loop`: "load row", "load column" (slot of the bodies),
    "param row", "param column" (column of the table), "load" (slot of the pairs), "load diagonal" (the
    same of the diagonal pair) and "delta", one on the diagonal. One target is ("entry",).

    "sum" (number) is a sum over the bodies from the row on; inputs of its code beside those of the loop are
    "so far", "load third" and "param third" of such a body, and "kept" (side, number), what the columns of
    `kept` have saved as ("keep", number) for the pair of that body with the row's or the column's.
    """

    loops: list[Loop]
    slots: int  # kept from one loop to the next, for one column at a time
    shape: str  # "columns": from the diagonal down; "rows": up to the diagonal; "square": all
    diagonal: int | float = 0.0
    instead: int | float | None = None
    sums: tuple[Code, ...] = ()
    kept: Columns | None = None

    def codes(self) -> Iterator[Code]:
        yield from self.sums
        for loop in self.loops:
            yield loop.code
        if self.kept is not None:
            yield from self.kept.codes()


@dataclass(frozen=True)
class MatrixOut(Stage):
    """The matrix of a walk, or of columns, written to the output as it is made."""

    pairs: Pairs | Columns

    def codes(self) -> Iterator[Code]:
        yield from self.pairs.codes()


@dataclass(frozen=True)
class Factor(Stage):
    """The packed factor of the matrix of a walk, or of columns, kept for later."""

    pairs: Pairs | Columns

    def codes(self) -> Iterator[Code]:
        yield from self.pairs.codes()


@dataclass(frozen=True)
class Step:
    """Instructions for some rows of a level. Inputs: "load" (slot, operand), "param" (column, operand),
    "inside" (operand): one unless it would lie beyond the ends, where the nearest row is read; "common".
    """

    rows: str  # "odd" or "even" multiples of h, "all" rows, or the "first" one
    offsets: tuple[int, ...]  # where the operands stand, in units of h from the row
    code: Code
    targets: list[tuple[int, int]]  # slot, operand
    carrier: bool = False  # whether the link that carries the limb is one more operand


@dataclass(frozen=True)
class Levels(Stage):
    """Steps on the levels h = 1, 2, 4, … below the number of rows, or back, and steps after the last."""

    steps: list[Step]
    last: list[Step]
    down: bool
    bodies: str | None = None  # the map that lists the bodies of the rows; all of them if None

    def codes(self) -> Iterator[Code]:
        for step in (*self.steps, *self.last):
            yield step.code


@dataclass(frozen=True)
class LimbLevels(Stage):
    """Levels of one limb after another, from those on which nothing hangs, or back.

    Steps `before` all limbs, at the `start` of each, on its levels, and after the last. Their rows may also
    be "laden", those of links that carry limbs, or "world", a row of its own.
    """

    before: list[Step]
    start: list[Step]
    steps: list[Step]
    last: list[Step]
    down: bool

    def codes(self) -> Iterator[Code]:
        for step in (*self.before, *self.start, *self.steps, *self.last):
            yield step.code


@dataclass(frozen=True)
class Solve(Stage):
    """The solution for the right-hand side in one slot, stored to another."""

    source: int | float
    slot: int


TOGETHER = 4  # right-hand sides that share one pass over the factor when all are unit vectors


@dataclass(frozen=True)
class InverseOut(Stage):
    """The inverse of the factored matrix, written to the output."""


@dataclass(frozen=True)
class RolledProgram:
    """What an emitter needs: sizes, tables and the stages in order."""

    inputs: Mapping[str, tuple[int, ...]]
    output: tuple[int, ...]
    n: int
    parents: np.ndarray | None  # None: a chain
    table: np.ndarray  # (n, columns)
    columns: Mapping[int, int]  # number of a parameter to its column in the table
    maps: Mapping[str, np.ndarray]
    stages: list[Stage]
    slots: int
    commons: int
    angles: int
    carries: Mapping[int, int]  # outward ones: place among the values that a tree keeps
    arrivals: Mapping[int, int]  # inward ones
    rest: bool  # whether some bodies' transforms are computed first
    joints: Joints | None = None  # the degrees of freedom of a robot with mimic joints
    limbs: LimbRows | None = None  # where they stand, if some stage visits limbs
    told: bool = False  # whether it reads numbers that are told with a call, for all states alike


def columns_of(stages: Iterable[Stage]) -> dict[int, int]:
    """The columns of parameters that some stage reads, with their places in the table."""
    found: dict[int, int] = {}
    for stage in stages:
        for code in stage.codes():
            for i in code.instructions:
                if i.op == "input" and i.args[0] in _PARAMETERS:
                    found.setdefault(i.args[1], len(found))
    return found
