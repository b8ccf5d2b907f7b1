# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices over bodies as one body sees them: how their entries come about, not the entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Walk:
    """A walk from each body along its ancestors: what is carried, and the entry at each one."""

    phase: int
    start: list[Any]
    carried: list[Any]
    entry: Any
    runs: bool = False  # whether ancestors may be taken several at once


@dataclass(frozen=True)
class Entries:
    """Entries of a matrix that loops over the pairs of each column, or of each row, compute.

    `shape` tells which pairs: "columns" those from the diagonal down, "rows" those up to the diagonal,
    "square" all of them, row by row.
    """

    phase: int
    entry: Any
    shape: str


@dataclass(frozen=True)
class Matrix:
    """A symmetric matrix over bodies, what is added on its diagonal, and what stands there instead."""

    walk: Walk | Entries
    diagonal: Any = 0.0
    instead: Any = None

    def __add__(self, other: Any) -> Matrix:
        # A value per body stands for the diagonal matrix of all of them.
        return Matrix(self.walk, self.diagonal + other, self.instead)

    __radd__ = __add__


@dataclass(frozen=True)
class Solution:
    """The inverse of a matrix, row by row."""

    matrix: Matrix


class Boxed(np.ndarray):
    """An array of one matrix over bodies; `np.where` with the unit matrix gives it another diagonal."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.where and isinstance(args[2], Boxed):
            matrix: Matrix = args[2].ravel()[0]
            return box(Matrix(matrix.walk, matrix.diagonal, np.asarray(args[1]).ravel()[0]), args[2].shape)
        return super().__array_function__(function, types, args, kwargs)


def box(value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """An array of one value."""
    made = np.empty(shape, dtype=object)
    made.fill(value)
    return made.view(Boxed) if isinstance(value, Matrix) else made
