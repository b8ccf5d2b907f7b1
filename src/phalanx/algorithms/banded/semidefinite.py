# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Small symmetric matrices of recording scalars that may be singular, as those of redundant constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...robot.joints import choose_less
from ...spatial import Array

# Of a row's own diagonal entry: the squared sine of the angle to the rows before, below which it depends on
# them. Rounding leaves 1e-15 of it; loops closed to 3e-5 of their size still count as redundant.
DEPENDENT = 1e-9
# Of the largest diagonal entry: below it a row is rounding, such as that across the plane of a flat loop.
ROUNDING = 1e-16
_NOTHING = 1e-35  # below which all diagonal entries are zero: no joint moves any row

SemidefiniteFactor = list[
    tuple[list[Any], Any]
]  # of each row: the entries right of the pivot over it, 1 / pivot


def factor_semidefinite(A: Array, damping: Any = 0.0) -> SemidefiniteFactor:
    """The unit upper triangular L^T and D^+ of A + damping 1 = L D L^T, row by row; A (k, k) semidefinite.

    A pivot that is nothing but rounding belongs to a row that depends on those before, or that nothing moves:
    its inverse is zero.
    """
    size, rows = len(A), []
    a = {(i, j): A[i, j] for i in range(size) for j in range(i, size)}
    largest: Any = _NOTHING
    for i in range(size):
        largest = _larger(a[i, i] * ROUNDING, largest)
    bounds = [_larger(a[i, i] * DEPENDENT, largest) for i in range(size)]
    for i in range(size):
        a[i, i] = a[i, i] + damping
    for i in range(size):
        pivot = _inverse(a[i, i], bounds[i])
        right = [a[i, j] * pivot for j in range(i + 1, size)]
        for j, scaled in enumerate(right, i + 1):
            for m in range(j, size):
                a[j, m] = a[j, m] - scaled * a[i, m]
        rows.append((right, pivot))
    return rows


def solve_semidefinite(rows: SemidefiniteFactor, b: list[Any]) -> list[Any]:
    """x with A x = b, entry by entry; zero where a row depends on those before."""
    x = list(b)
    for i, (right, _) in enumerate(rows):
        for j, scaled in enumerate(right, i + 1):
            x[j] = x[j] - scaled * x[i]
    for i in range(len(rows) - 1, -1, -1):
        right, pivot = rows[i]
        x[i] = x[i] * pivot
        for j, scaled in enumerate(right, i + 1):
            x[i] = x[i] - scaled * x[j]
    return x


class PartlyEliminated:
    """The equations A x = -b without the first `count` unknowns, in which A (k, k) is semidefinite.

    Rows that depend on those before, within `dependent`, have x = 0.
    """

    def __init__(self, A: Array, b: Sequence[Any], count: int, dependent: float = DEPENDENT) -> None:
        size = len(A)
        a = {(i, j): A[i, j] for i in range(size) for j in range(i, size)}
        bounds = [a[i, i] * dependent for i in range(count)]
        left = list(b)
        self._rows: list[tuple[list[Any], Any, Any]] = []
        for i in range(count):
            pivot = _inverse(a[i, i], bounds[i])
            right = [a[i, j] * pivot for j in range(i + 1, size)]
            for j, scaled in enumerate(right, i + 1):
                left[j] = left[j] - scaled * left[i]
                for m in range(j, size):
                    a[j, m] = a[j, m] - scaled * a[i, m]
            self._rows.append((right, pivot, left[i]))
        rest = range(count, size)
        self.matrix = np.empty((len(rest), len(rest)), dtype=object)
        for i in rest:
            for j in rest:
                self.matrix[i - count, j - count] = a[min(i, j), max(i, j)]
        self.b = left[count:]

    def completed(self, rest: list[Any]) -> list[Any]:
        """All unknowns from those that were not eliminated."""
        made = list(rest)
        for right, pivot, own in reversed(self._rows):
            value = own * pivot
            for scaled, x in zip(right, made, strict=True):
                value = value + scaled * x
            made.insert(0, -value)
        return made


def _inverse(pivot: Any, bound: Any) -> Any:
    """1 / pivot, zero where it is below the bound; NaN remains."""
    if isinstance(pivot, float) and (pivot == 0.0 or isinstance(bound, float)):
        return 1.0 / pivot if pivot != 0.0 and pivot > bound else 0.0
    each = np.empty((3, 1), dtype=object)
    each[:, 0] = pivot - bound, 0.0, 1.0 / pivot
    return choose_less(each[0], 0.0, each[1], each[2])[0]


def _larger(a: Any, b: Any) -> Any:
    if isinstance(a, float) and isinstance(b, float):
        return max(a, b)
    return b.maximum(a) if isinstance(a, float) else a.maximum(b)
