# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Composite rigid bodies and their mass centres: what they cost, and what a run of links is."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms.inertia import composite_original
from phalanx.spatial import Tensor
from reference.counting import depth, operations
from reference.sampling import agree


@pytest.mark.parametrize(
    ("n", "count"),
    [(4, (561, 419, 3)), (6, (1052, 787, 5)), (8, (1651, 1235, 7)), (13, (3621, 2705, 12))],
)
def test_work_is_that_of_table_1(n: int, count: tuple[int, int, int]) -> None:
    assert operations("composite_original", n) == count


@pytest.mark.parametrize("n", [2, 3, 6, 13])
def test_depth_grows_with_the_number_of_links(n: int) -> None:
    assert depth("composite_original", n) == 9 * n - 1


def test_joining_bodies_is_associative() -> None:
    rng = np.random.default_rng(1)
    bodies = [(rng.uniform(1.0, 2.0, (1, 1)), rng.random((1, 3)), rng.random((1, 6))) for _ in range(3)]
    U1, U2 = (Tensor(np.linalg.qr(rng.standard_normal((1, 3, 3)))[0]) for _ in range(2))
    P1, P2 = rng.standard_normal((2, 1, 3))
    joined = partial(composite_original.joined, px.chain(3).model.dh)
    left = joined(joined(bodies[0], bodies[1], U1, P1), bodies[2], U1 @ U2, P1 + U1 @ P2)
    right = joined(bodies[0], joined(bodies[1], bodies[2], U2, P2), U1, P1)
    for x, y in zip(left, right, strict=True):
        agree(x, y, 1e-14)
