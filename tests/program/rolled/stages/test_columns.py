# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices whose columns, or rows, loops over pairs of bodies compute one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from phalanx.program.rolled import leaves as L
from phalanx.program.rolled.stages.columns import Columns
from phalanx.program.rolled.stages.loops import BodyLoop
from phalanx.program.rolled.stages.matrices import MatrixOut
from reference.stages import code, computed, layout, program

A = np.random.default_rng(6).standard_normal(11)
LAID = layout(None, {}, {"out": (11, 11)}, table=[A])
# A column after another, on three work-items, and side by side in two, four and eleven lanes.
ALONE: list[dict[str, int]] = [{"alone": 2}, {"alone": 4}, {"alone": 11}]
HOW: list[dict[str, int]] = [{}, {"items": 3}, *ALONE]


def sums(leaf: Any) -> dict[L.Leaf, Any]:
    """The sum of a over the bodies of a pair, and 1 more on the diagonal."""
    total = leaf(L.CarriedLeaf(0)) + leaf(L.Param(0))
    return {L.CarriedLeaf(0): total, L.EntryLeaf(): total + leaf(L.Delta())}


@pytest.mark.parametrize(
    ("which", "how"), [*(("columns", how) for how in HOW), ("rows", {}), ("rows", {"items": 3})]
)
def test_a_loop_begins_or_ends_at_the_diagonal(which: str, how: dict[str, int]) -> None:
    loop = BodyLoop(code(sums), outward=which == "columns", roots={0: 0.0})
    found = computed(program(LAID, MatrixOut(Columns(0.0, None, [loop], 0, which)), **how))
    low, high = np.minimum.outer(np.arange(11), np.arange(11)), np.maximum.outer(np.arange(11), np.arange(11))
    ends = np.append(0.0, np.cumsum(A))
    np.testing.assert_allclose(found, ends[high + 1] - ends[low] + np.eye(11), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("how", HOW)
def test_square_matrices_compute_all_pairs(how: dict[str, int]) -> None:
    def pair(leaf: Any) -> dict[L.Leaf, Any]:
        a, b = leaf(L.Param(0, L.COLUMN)), leaf(L.Param(0, L.ROW))
        return {L.EntryLeaf(): a * b + (a + b)}

    made = program(LAID, MatrixOut(Columns(0.0, None, [BodyLoop(code(pair))], 0, "square")), **how)
    wanted = np.multiply.outer(A, A) + np.add.outer(A, A)
    np.testing.assert_allclose(computed(made), wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("how", HOW)
def test_slots_hold_a_column_between_two_loops(how: dict[str, int]) -> None:
    first = BodyLoop(code(lambda leaf: {L.SpillSlot(0): leaf(L.Param(0)) * leaf(L.Param(0, L.DIAGONAL))}))
    second = BodyLoop(
        code(
            lambda leaf: {
                L.CarriedLeaf(0): leaf(L.CarriedLeaf(0)) + leaf(L.SpillSlot(0)),
                L.EntryLeaf(): leaf(L.CarriedLeaf(0)) + leaf(L.SpillSlot(0)),
            }
        ),
        outward=False,
        roots={0: 0.0},
    )
    found = computed(program(LAID, MatrixOut(Columns(0.0, None, [first, second], 1, "columns")), **how))
    tails = np.cumsum(A[::-1])[::-1]
    lower = np.tril(tails[:, None] * A[None, :])
    np.testing.assert_allclose(found, lower + np.tril(lower, -1).T, rtol=1e-12, atol=1e-13)
