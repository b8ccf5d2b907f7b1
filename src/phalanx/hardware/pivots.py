# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Ranges of the values that appear while a mass matrix is factored, which intervals cannot bound away from
zero.

After the joints beyond k are eliminated, what is left of the mass matrix is that of the robot whose joints
beyond k are free to move: positive definite, at most the mass matrix itself, and about its own axis a link
keeps at least the inertia of its own body. An entry (i, j) is at most the geometric mean of the entries (i,
i) and (j, j).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..program.analyses.ranges import Interval
from ..program.ir import Load, Program, Value
from ..program.ops import OPS

_DIGITS = 1e-9  # relative: values that agree so far at all random states are the same function


def factor_ranges(
    program: Program,
    states: Mapping[str, np.ndarray],
    matrices: np.ndarray,
    least: np.ndarray,
    most: np.ndarray,
) -> dict[Any, Interval]:
    """Ranges of those values of a program that are entries of a partly eliminated mass matrix.

    `matrices` (states, nv, nv) are the mass matrices at random states, by which the values are recognised;
    `least` and `most` (nv,) bound the entries on the diagonal.
    """
    values = _values(program, states)
    found: dict[Any, Interval] = {}
    left = matrices.copy()
    nv = left.shape[1]
    for k in range(nv - 1, -1, -1):
        for i in range(k + 1):
            for j in range(i + 1):
                size = float(np.sqrt(most[i] * most[j]))
                interval = Interval(float(least[i]), size) if i == j else Interval(-size, size)
                for s in _equal(values, left[:, i, j]):
                    found.setdefault(s, interval)
                if i != j:
                    for s in _equal(values, -left[:, i, j]):
                        found.setdefault(s, interval)
        if k:
            pivot = left[:, k, k]
            row = left[:, k, :k]
            ratios = row / pivot[:, None]
            for i in range(k):  # (k, i) is at most the geometric mean of (k, k), which is left, and (i, i)
                size = float(np.sqrt(most[i] / least[k]))
                for sign in (1, -1):
                    for s in _equal(values, sign * ratios[:, i]):
                        found.setdefault(s, Interval(-size, size))
            left[:, :k, :k] -= row[:, :, None] * ratios[:, None, :]
    return found


def _values(program: Program, states: Mapping[str, np.ndarray]) -> tuple[list[Any], np.ndarray]:
    """The operations of a program, and (operations, states) their values."""
    known: dict[Any, np.ndarray] = {}
    count = len(next(iter(states.values())))
    for s in program.body:
        if isinstance(s, Load):
            at: Any = s.index
            known[s] = states[s.buffer.name].reshape(count, -1)[:, at]
        elif isinstance(s, Value):
            args = [np.full(count, a) if isinstance(a, float) else known[a] for a in s.args]
            known[s] = np.asarray(OPS[s.op].numpy(*args), dtype=float)
    nodes = [s for s in known if isinstance(s, Value)]
    return nodes, np.array([known[s] for s in nodes]).reshape(len(nodes), count)


def _equal(values: tuple[list[Any], np.ndarray], wanted: np.ndarray) -> list[Any]:
    nodes, numbers = values
    if np.abs(wanted).max() < _DIGITS:
        return []
    close = np.abs(numbers - wanted).max(axis=1) <= _DIGITS * np.abs(wanted).max()
    return [nodes[k] for k in np.flatnonzero(close)]
