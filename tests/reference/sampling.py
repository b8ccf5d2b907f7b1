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
    """Raise unless the arrays agree relative to the largest expected entry, or to `least`."""
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
    """Few combinations in which every two values of different choices meet at least once."""
    lists = [list(c) for c in choices]
    axes = list(combinations(range(len(lists)), 2))
    missing = {(i, j, a, b) for i, j in axes for a in range(len(lists[i])) for b in range(len(lists[j]))}
    every = list(product(*(range(len(c)) for c in lists)))
    chosen = []
    while missing:
        best = max(every, key=lambda row: sum((i, j, row[i], row[j]) in missing for i, j in axes))
        missing -= {(i, j, best[i], best[j]) for i, j in axes}
        chosen.append(tuple(c[k] for c, k in zip(lists, best, strict=True)))
    return chosen
