# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Symbolic matrices over bodies: the loops that compute their entries, not the entries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class AncestorLoop:
    """A loop from each body along its ancestors: its carried values, and the entry at each ancestor."""

    phase: int
    start: list[Any]
    carried: list[Any]
    entry: Any
    runs: bool = False  # whether one state may visit several ancestors at once


@dataclass(frozen=True)
class Walks:
    """A loop from each body along its ancestors that fills both triangles of several matrices.

    For each matrix there are two entries at every ancestor: in the row of the body, and in its column.
    """

    phase: int
    start: list[Any]
    carried: list[Any]
    entries: list[Any]


@dataclass(frozen=True)
class LoopedEntries:
    """Entries of a matrix that loops over the pairs of each column, or of each row, compute.

    `shape` selects the pairs: "columns" those from the diagonal down, "rows" those up to the diagonal,
    "square" all of them, row by row.
    """

    phase: int
    entry: Any
    shape: str


@dataclass(frozen=True)
class Matrix:
    """A matrix over bodies, what is added on its diagonal, and what replaces the diagonal before that.

    It is symmetric unless it is one of several, by number, that an ancestor loop fills (`Walks`).
    """

    walk: AncestorLoop | LoopedEntries | Walks
    diagonal: Any = 0.0
    instead: Any = None
    number: int = 0

    def __add__(self, other: Any) -> Matrix:
        # A value per body is added as a diagonal matrix.
        return replace(self, diagonal=self.diagonal + other)

    __radd__ = __add__


@dataclass(frozen=True)
class InverseRows:
    """The inverse of a matrix, row by row."""

    matrix: Matrix

    def __mul__(self, columns: Matrix) -> Solved:
        return Solved(self.matrix, columns)


@dataclass(frozen=True)
class Solved:
    """The inverse of a matrix times another one; only its negative can be an output."""

    matrix: Matrix
    columns: Matrix
    negative: bool = False

    def __neg__(self) -> Solved:
        return replace(self, negative=not self.negative)


class Boxed(np.ndarray):
    """An array of one matrix over bodies; `np.where` with the unit matrix replaces its diagonal."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.where and isinstance(args[2], Boxed):
            matrix: Matrix = args[2].ravel()[0]
            return box(replace(matrix, instead=np.asarray(args[1]).ravel()[0]), args[2].shape)
        return super().__array_function__(function, types, args, kwargs)


def several(walks: Walks) -> np.ndarray:
    """Return an array (1, 1, k) of the matrices that an ancestor loop fills."""
    made = np.empty((1, 1, len(walks.entries) // 2), dtype=object)
    made[0, 0, :] = [Matrix(walks, number=k) for k in range(made.size)]
    return made.view(Boxed)


def box(value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return an object array of a shape whose entries are all `value`."""
    made = np.empty(shape, dtype=object)
    made.fill(value)
    return made.view(Boxed) if isinstance(value, Matrix) else made
