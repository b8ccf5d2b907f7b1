# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rates and accelerations from recorded positions by Savitzky–Golay filters.

For every frame a polynomial is fitted to a window of its episode by least squares and differentiated at that
frame; at the ends of an episode the window is moved inside. Joints with quaternions are fitted in the tangent
space of the frame, where the first two derivatives of `robot.difference` are `qd` and `qdd` themselves.

A. Savitzky and M. J. E. Golay, Smoothing and differentiation of data by simplified least squares procedures,
Analytical Chemistry 36 (1964).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..arrays import memory_for
from ..errors import PhalanxError
from ..robot.configurations import difference
from ..robot.robot import Robot
from .arguments import array_from, rate_from, require_robot, require_window

WINDOW, POLYNOMIAL = 11, 3


class Rates(NamedTuple):
    """What `differentiate` returns: rates and accelerations (T, nv)."""

    qd: np.ndarray
    qdd: np.ndarray


def differentiate(
    robot: Robot,
    q: Any,
    rate: float,
    *,
    qd: Any = None,
    ends: Any = None,
    window: int = WINDOW,
    polynomial: int = POLYNOMIAL,
) -> Rates:
    """`Rates`: qd and qdd (T, nv) of positions q (T, nq) recorded `rate` times a second.

    `ends` are the frames at which episodes end; no window reaches across. Where `qd` (T, nv) was recorded it
    is returned as it is, and qdd is its derivative. `window` is odd; short episodes have shorter ones.
    """
    require_robot(robot, "differentiate")
    expected = f'(T, {robot.nq}) real numbers for robot "{robot.name}"'
    positions = array_from(q, "differentiate: q", expected)
    if positions.ndim != 2 or positions.shape[1] != robot.nq:
        raise PhalanxError(
            f"differentiate: q has shape {positions.shape} of {positions.dtype}, expected {expected}."
        )
    if positions.dtype not in (np.float32, np.float64):
        positions = positions.astype(np.float64)
    require_window(window, polynomial)
    rate = rate_from(rate, "differentiate: rate")
    given = None if qd is None else array_from(qd, "differentiate: qd", f"(T, {robot.nv}) real numbers")
    if given is not None and given.shape != (len(positions), robot.nv):
        raise PhalanxError(
            f"differentiate: qd has shape {given.shape}, expected {(len(positions), robot.nv)}."
        )
    cuts = [0, len(positions)]
    if ends is not None:
        given_ends = array_from(ends, "differentiate: ends", "frames at which episodes end").reshape(-1)
        cuts = [0, *map(int, given_ends)] if given_ends.dtype.kind in "iu" else [0, -1]
    if cuts[-1] != len(positions) or any(a >= b for a, b in pairwise(cuts)):
        raise PhalanxError(f"differentiate: ends must rise to the number of frames, {len(positions)}.")
    with memory_for("differentiate: the rates", "pass fewer frames at a time"):
        first, second = (np.empty((len(positions), robot.nv), positions.dtype) for _ in range(2))
    for a, b in pairwise(cuts):
        own = None if given is None else given[a:b]
        first[a:b], second[a:b] = episode(robot, positions[a:b], rate, own, window, polynomial)
    return Rates(first, second)


def episode(
    robot: Robot,
    q: np.ndarray,
    rate: float,
    qd: np.ndarray | None,
    window: int,
    polynomial: int,
    *,
    inner: tuple[int, int] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """qd and qdd of one episode, or of its frames `inner`; the bits of a frame depend on its window only."""
    total = len(q)
    if total < 3:
        raise PhalanxError(f"an episode of {total} frames has no accelerations; at least 3 are needed.")
    window = min(window, total - 1 + total % 2)
    polynomial = min(polynomial, window - 1)
    low, high = inner or (0, total)
    if qd is None:
        q = q.astype(np.float64, copy=False)  # second differences of float32 are mostly rounding
        at = _plain(q) if _is_plain(robot) else _tangent(robot, q)
        first = _fitted(at, total, low, high, window, polynomial, 1, rate)
        return first, _fitted(at, total, low, high, window, polynomial, 2, rate)
    return qd[low:high], _fitted(
        _plain(qd.astype(np.float64, copy=False)), total, low, high, window, polynomial, 1, rate
    )


_Values = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of frames `others`, relative to those at `rows`


def _plain(values: np.ndarray) -> _Values:
    return lambda rows, others: values[others]


def _tangent(robot: Robot, q: np.ndarray) -> _Values:
    # Not `robot.difference`, whose fast path begins at its second call: every run must give the same bytes.
    return lambda rows, others: difference(robot._assembly, q[rows], q[others])


def _is_plain(robot: Robot) -> bool:
    """Whether the configuration space is a vector space: positions add and subtract."""
    return robot.nq == robot.nv and all(c.kind.quaternion is None for c in robot._coordinates)


def _fitted(
    values: _Values, total: int, low: int, high: int, window: int, polynomial: int, order: int, rate: float
) -> np.ndarray:
    """A derivative at frames low to high; every frame sums its terms in the order of time."""
    half = window // 2
    parts = []
    edges = (min(half, high), max(total - half, low))
    # The first frames, the inner ones together, the last frames.
    runs = [(i, i + 1) for i in range(low, edges[0])]
    if max(low, half) < min(high, total - half):
        runs.append((max(low, half), min(high, total - half)))
    runs += [(i, i + 1) for i in range(max(edges[1], edges[0], low), high)]
    for a, b in runs:
        rows = np.arange(a, b)
        start = min(max(a - half, 0), total - window)
        weights = _weights(window, polynomial, a - start, order) * rate**order
        total_sum: Any = 0.0
        for k in range(window):
            term = values(rows, rows - a + start + k)
            total_sum = total_sum + term * weights[k]
        parts.append(total_sum)
    return np.concatenate(parts)


@lru_cache(256)
def _weights(window: int, polynomial: int, position: int, order: int) -> np.ndarray:
    """The filter weights of a window: their dot product with its values is the derivative at one frame."""
    times = np.arange(window, dtype=float) - position
    basis = np.vander(times, polynomial + 1, increasing=True)
    return np.asarray(np.linalg.pinv(basis)[order] * math.factorial(order))
