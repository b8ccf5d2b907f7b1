# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The steps of the processor array and what they cost."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms.inertia.processor_array import steps
from phalanx.triangle import triangle
from reference.counting import depth

SIZES = range(1, 34)


@pytest.mark.parametrize("n", SIZES)
def test_every_quantity_takes_as_many_steps_as_the_logarithm(n: int) -> None:
    plan = steps(n)
    assert len(plan.rows) == n * (n + 1) // 2, "one processor for each pair"
    expected = int(np.ceil(np.log2(n)))
    assert len(plan.rotations) == len(plan.outward) == len(plan.inward) == expected


@pytest.mark.parametrize("n", SIZES)
def test_one_processor_a_column_takes_it_row_by_row(n: int) -> None:
    plan = steps(n, "n")
    assert len(plan.rows) == n
    assert len(plan.rotations) == int(np.ceil(np.log2(n)))
    assert len(plan.outward) == len(plan.inward) == n - 1


@pytest.mark.parametrize("n", SIZES)
def test_rotations_follow_the_three_cases_of_the_paper(n: int) -> None:
    """R(min(j + 2h, n + 1), j) = R(min(j + 2h, n + 1), j + h) R(j + h, j), nothing where j + h >= n + 1."""
    pair = triangle(n)
    reach = {place: int(row) + 2 for place, row in enumerate(pair.row)}  # rows from 1: R(j+1, j)
    for eta, level in enumerate(steps(n).rotations):
        h = 2**eta
        assert {pair.row[to] + 1 for to, _ in level} == {j for j in range(1, n + 1) if j + h < n + 1}
        before = dict(reach)
        for to, source in level:
            assert pair.column[to] == pair.column[source]
            assert before[to] == pair.row[to] + 1 + h == pair.row[source] + 1
            reach[to] = before[source]
            assert reach[to] == min(pair.row[to] + 1 + 2 * h, n + 1)
    assert set(reach.values()) <= {n + 1}


@pytest.mark.parametrize("n", [1, 2, 5, 8, 13])
@pytest.mark.parametrize("processors", ["n(n+1)/2", "n"])
def test_sums_meet_every_row_of_the_column_once(n: int, processors: str) -> None:
    pair, plan = triangle(n), steps(n, processors)
    for levels, wanted in (
        (plan.inward, lambda r, c: range(r, n)),
        (plan.outward, lambda r, c: range(c, r + 1)),
    ):
        held = {place: [int(row)] for place, row in enumerate(pair.row)}
        for level in levels:
            before = dict(held)
            for to, source in level:
                held[to] = before[to] + before[source]
        for place, rows in held.items():
            assert sorted(rows) == list(wanted(pair.row[place], pair.column[place]))


def test_neighbours_stay_within_the_column() -> None:
    pair, plan = triangle(4), steps(4)
    for place, (before, after) in enumerate(zip(plan.before, plan.after, strict=True)):
        row, column = pair.row[place], pair.column[place]
        assert before == (pair.place[row - 1, column] if row > column else -1)
        assert after == (pair.place[row + 1, column] if row < 3 else -1)


@pytest.mark.parametrize(("n", "expected"), [(2, 17), (4, 25), (8, 32), (16, 38), (32, 44)])
def test_depth_is_that_of_the_listing(n: int, expected: int) -> None:
    assert depth("processor_array", n) == expected


def test_an_unknown_number_of_processors_is_refused() -> None:
    robot = px.chain(3)
    with pytest.raises(px.PhalanxError, match=r"no option processors='m'; options: .*n\(n\+1\)/2"):
        robot.mass_matrix(robot.neutral(), algorithm=("processor_array", {"processors": "m"}))
