# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The orders of a scan: which runs they join, in how many levels, and that all give the same."""

from __future__ import annotations

from functools import partial
from math import ceil, log2

import numpy as np
import pytest

import phalanx as px
from phalanx.spatial import Tensor
from phalanx.sweeps import verbs as sweeps
from phalanx.sweeps.orders.joining import JOININGS, levels, runs, segments
from phalanx.sweeps.orders.sequential import Sequential
from reference.sampling import agree

COUNTS = (*range(10), 15, 16, 17, 31, 33)
ORDERS = [*JOININGS.values(), partial(segments, pieces=3), partial(segments, pieces=1)]


@pytest.mark.parametrize("reverse", [False, True], ids=["outward", "inward"])
@pytest.mark.parametrize("joining", ORDERS, ids=[*JOININGS, "three segments", "one segment"])
@pytest.mark.parametrize("count", COUNTS)
def test_every_slot_ends_with_the_run_of_all_elements_on_its_side(
    count: int, joining: object, reverse: bool
) -> None:
    held = [(i, i) for i in range(count)]
    for level in levels(count, joining, reverse=reverse):
        assert len(set(level[:, 2].tolist())) == len(level), "two joins of a level write the same slot"
        made = []
        for left, right, target in level.tolist():
            assert held[left][1] + 1 == held[right][0], "only neighbours may be joined"
            made.append((target, (held[left][0], held[right][1])))
        for target, run in made:
            held[target] = run
    assert held == [(i, count - 1) if reverse else (0, i) for i in range(count)]


def test_the_tree_of_seven_joints_is_that_of_figure_5() -> None:
    assert runs(8) == [
        [(0, 1), (2, 3), (4, 5), (6, 7)],
        [(0, 2), (0, 3), (4, 6), (4, 7)],
        [(0, 4), (0, 5), (0, 6), (0, 7)],
    ]


def test_inward_the_tree_is_aligned_at_the_tip() -> None:
    # Aligned at the base it would take nine joins.
    assert [len(level) for level in levels(6, "tree", reverse=True)] == [3, 2, 2]
    assert runs(6, "tree", reverse=True)[0] == [(4, 5), (2, 3), (0, 1)]


@pytest.mark.parametrize("count", COUNTS[1:])
def test_tree_and_shift_take_the_logarithm_of_the_count_in_levels(count: int) -> None:
    for name in ("tree", "shift"):
        assert len(levels(count, name)) == ceil(log2(count))
    assert max((len(level) for level in levels(count)), default=0) <= count // 2
    assert len(levels(count, "fold")) == count - 1
    assert (
        sum(map(len, levels(count, "fold")))
        <= sum(map(len, levels(count)))
        <= sum(map(len, levels(count, "shift")))
    )


def test_segments_run_side_by_side() -> None:
    assert [len(level) for level in levels(12, partial(segments, pieces=4))] == [4, 4, 1, 1, 1, 6]


@pytest.mark.parametrize("joining", ORDERS, ids=[*JOININGS, "three segments", "one segment"])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 8, 13])
def test_all_orders_scan_to_the_same(n: int, joining: object) -> None:
    rng = np.random.default_rng(n)
    elements, root = Tensor(rng.standard_normal((2, n, 3, 3))), Tensor(rng.standard_normal((3, 3)))
    join = lambda left, right: left @ right  # noqa: E731
    with sweeps.ordering(Sequential(np.arange(-1, n - 1), joining=joining)):
        out, rooted = sweeps.scan(join, elements), sweeps.scan(join, elements, root=root)
        back = sweeps.scan(join, elements, reverse=True)
        tipped = sweeps.scan(join, elements, root=root, reverse=True)
    before, after = np.eye(3), np.eye(3)
    for i in range(n):
        before = before @ elements.matrix[:, i]
        agree(out.matrix[:, i], before, 1e-13)
        agree(rooted.matrix[:, i], root.matrix @ before, 1e-13)
        after = elements.matrix[:, n - 1 - i] @ after
        agree(back.matrix[:, n - 1 - i], after, 1e-13)
        agree(tipped.matrix[:, n - 1 - i], after @ root.matrix, 1e-13)


def test_a_tree_of_bodies_is_refused() -> None:
    with (
        sweeps.ordering(Sequential(np.array([-1, 0, 0]))),
        pytest.raises(px.PhalanxError, match="scan: joins the runs of an unbranched chain; a tree has paths"),
    ):
        sweeps.scan(lambda left, right: left, Tensor(np.zeros((3, 3, 3))))


def test_an_unknown_order_is_refused_with_the_nearest() -> None:
    with pytest.raises(px.PhalanxError, match="joining: unknown order 'three'; did you mean \"tree\""):
        Sequential(np.array([-1]), joining="three")
