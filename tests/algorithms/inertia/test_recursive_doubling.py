# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The levels of recursive doubling, what they compute once and what they cost."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms.inertia.recursive_doubling import Computation, stage_a_levels, stage_b_levels
from phalanx.spatial import Tensor
from reference.counting import depth, operations

SIZES = range(1, 34)


def levels(n: int) -> int:
    """ceil(log2 n)"""
    return int(np.ceil(np.log2(n)))


@pytest.mark.parametrize("n", SIZES)
def test_each_stage_has_as_many_levels_as_the_logarithm(n: int) -> None:
    assert len(stage_a_levels(n)) == len(stage_b_levels(n)) == levels(n)


@pytest.mark.parametrize("n", SIZES)
def test_sets_follow_the_papers_indices(n: int) -> None:
    for stage in (stage_a_levels(n), stage_b_levels(n)):
        for level, computations in enumerate(stage, start=1):
            width = 2**level
            for c in computations:
                assert (c.i, c.j) == (width * (c.u - 1), width * (c.u - 1) + width // 2)
                assert c.k == (width * c.u if c.x else min(width * c.u, n))
                assert 1 <= c.v <= width // 2
                assert c.s == c.i + c.v <= c.j < (c.x or c.j + 1) <= min(c.k, n)


@pytest.mark.parametrize("n", SIZES)
def test_stage_a_ends_with_every_run_that_reaches_the_tip(n: int) -> None:
    held = {link: (link, link) for link in range(1, n + 1)}
    for level in stage_a_levels(n):
        before = dict(held)
        for c in level:
            assert before[c.s] == (c.s, c.j)
            assert before[c.j + 1] == (c.j + 1, c.k)
            held[c.s] = (c.s, c.k)
        assert len({c.s for c in level}) == len(level), "a level writes each place once"
        assert not {c.s for c in level} & {c.j + 1 for c in level}, "and reads none that it writes"
    assert held == {link: (link, n) for link in range(1, n + 1)}


@pytest.mark.parametrize("n", SIZES)
def test_stage_b_forms_each_element_off_the_diagonal_once(n: int) -> None:
    formed = Counter((c.s, c.x) for level in stage_b_levels(n) for c in level)
    assert set(formed) == {(s, x) for x in range(1, n + 1) for s in range(1, x)}
    assert sum(formed.values()) == n * (n - 1) // 2


@pytest.mark.parametrize("n", SIZES)
def test_stage_b_reads_elements_and_transforms_that_are_finished(n: int) -> None:
    finished = {(x, x) for x in range(1, n + 1)}
    transforms = {(s, s + 1) for s in range(1, n)}
    for a, b in zip(stage_a_levels(n), stage_b_levels(n), strict=True):
        assert {(c.j + 1, c.x) for c in b} <= finished
        assert {(c.s, c.j + 1) for c in b} <= transforms
        finished |= {(c.s, c.x) for c in b}
        transforms |= {(c.s, c.k + 1) for c in a if c.k < n}


def test_widths_are_those_of_the_paper() -> None:
    assert [len(level) for level in stage_a_levels(6)] == [3, 2, 4]
    assert [len(level) for level in stage_a_levels(13)] == [6, 6, 8, 8]
    for n in (2, 4, 8, 16, 32):
        assert [len(level) for level in stage_a_levels(n)] == [n // 2] * levels(n)
        assert [len(level) for level in stage_b_levels(n)] == [n // 2 * 2**k for k in range(levels(n))]
    assert stage_a_levels(1) == stage_b_levels(1) == []


def test_column_six_of_eight() -> None:
    rows = [[c.s for c in level if c.x == 6] for level in stage_b_levels(8)]
    assert rows == [[5], [], [1, 2, 3, 4]]
    assert stage_b_levels(8)[0][2] == Computation(u=3, v=1, i=4, j=5, k=6, x=6)


@pytest.mark.parametrize("n", [1, 2, 6, 8, 13])
def test_transforms_are_composed_in_stage_a_only(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    products = Counter[str]()
    own = Tensor.__matmul__

    def counting(self: Tensor, other: Any) -> Any:
        products["matrix" if isinstance(other, Tensor) else "vector"] += self.matrix.shape[-3]
        return own(self, other)

    monkeypatch.setattr(Tensor, "__matmul__", counting)
    robot = px.chain(n)
    robot.mass_matrix(robot.neutral(), algorithm="recursive_doubling", backend="numpy")
    inside = sum(c.k < n for level in stage_a_levels(n) for c in level)
    joined = sum(map(len, stage_a_levels(n)))
    assert products["matrix"] == inside
    assert products["vector"] == inside + joined + n * (n - 1)  # P, c, and f with n of each element


@pytest.mark.parametrize(
    ("n", "count"),
    [(4, (690, 523, 4)), (6, (1568, 1203, 9)), (8, (2296, 1755, 12)), (13, (5685, 4369, 28))],
)
def test_work_is_that_of_table_2_with_needed_transforms_only(n: int, count: tuple[int, int, int]) -> None:
    assert operations("recursive_doubling", n) == count


@pytest.mark.parametrize("n", [1, 2, 5, 8, 13])
def test_columns_may_go_from_link_to_link(n: int) -> None:
    robot = px.chain(n, seed=n, prismatic=0.3)
    q, _, _ = robot.random_state((2,), rng=n)
    mixed = robot.mass_matrix(q, algorithm=("recursive_doubling", {"columns": "linear"}), backend="numpy")
    wanted = robot.mass_matrix(q, algorithm="crba", backend="numpy")
    np.testing.assert_allclose(mixed, wanted, rtol=0.0, atol=1e-13 * np.abs(wanted).max())


@pytest.mark.parametrize("n", [2, 4, 8, 16, 32])
def test_depth_grows_with_the_logarithm(n: int) -> None:
    assert depth("recursive_doubling", n) == 13 * levels(n) + 4
