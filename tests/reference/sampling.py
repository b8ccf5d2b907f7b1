# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Random robots and comparisons that the tests share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
from hypothesis import strategies as st

import phalanx as px
from phalanx.robot.joints import joint_types

ALL_TYPES = tuple(joint_types())
MOVING_TYPES = tuple(t for t in ALL_TYPES if t != "fixed")


@st.composite
def trees(draw: Any, largest: int = 8, types: Sequence[str] = ALL_TYPES) -> px.Robot:
    """Random trees of all joint types, with or without a floating base and armature."""
    n = draw(st.integers(1, largest))
    branching = draw(st.sampled_from((0.0, 0.3, 1.0)))
    joints = tuple(draw(st.lists(st.sampled_from(types), min_size=1, max_size=4)))
    robot = px.tree(n, branching, seed=draw(st.integers(0, 1000)), joints=joints)
    if draw(st.booleans()) or robot.nv == 0:
        robot = robot.with_floating_base()
    if draw(st.booleans()):
        robot = robot.replace(armature=np.linspace(0.1, 0.5, robot.nv))
    return robot


seeds = st.integers(0, 2**32 - 1)


def agree(actual: Any, expected: Any, tolerance: float = 1e-11, *, least: float = 0.0) -> None:
    """Raise unless the arrays agree relative to the largest expected entry, or to `least`; so of several."""
    if isinstance(expected, tuple):
        for mine, theirs in zip(actual, expected, strict=True):
            agree(mine, theirs, tolerance, least=least)
        return
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    # An infinite entry must be met exactly, and widens no tolerance.
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=least) or 1.0
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=tolerance * scale)


def conditioning(M: np.ndarray) -> float:
    """The largest condition number of mass matrices (…, nv, nv) with their diagonals scaled to one."""
    if M.size == 0:
        return 1.0
    scale = 1.0 / np.sqrt(np.diagonal(M, axis1=-2, axis2=-1))
    return float(np.linalg.cond(M * scale[..., :, None] * scale[..., None, :]).max())


def pairwise(*choices: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Few combinations in which every two values of different choices meet at least once.

    Each row starts with a pair that has not met yet; further values are those that make most new pairs meet,
    the first of a choice where nothing is gained: put what is quick to test first.
    """
    lists = [list(c) for c in choices]
    axes = range(len(lists))
    pairs = [
        (i, j, a, b)
        for i, j in combinations(axes, 2)
        for a, b in product(range(len(lists[i])), range(len(lists[j])))
    ]
    missing = set(pairs)
    chosen = []
    for i, j, a, b in pairs:
        if (i, j, a, b) not in missing:
            continue
        row = {i: a, j: b}
        for axis in axes:
            if axis not in row:
                row[axis] = max(
                    range(len(lists[axis])),
                    key=lambda value: sum(_pair(axis, value, k, row[k]) in missing for k in row),
                )
        missing -= {_pair(k, row[k], m, row[m]) for k, m in combinations(axes, 2)}
        chosen.append(tuple(values[row[k]] for k, values in enumerate(lists)))
    return chosen


def _pair(i: int, a: int, j: int, b: int) -> tuple[int, int, int, int]:
    """Two values of two choices, the earlier choice first."""
    return (i, j, a, b) if i < j else (j, i, b, a)
