# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Neighbours and halves of the rows of a chain."""

from __future__ import annotations

import numpy as np

from phalanx.sweeps.heavy_paths import after, before, together, woven

X = np.arange(1.0, 6.0)[:, None]


def test_each_row_reads_a_neighbour_or_zero() -> None:
    assert before(X)[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert after(X)[:, 0].tolist() == [2.0, 3.0, 4.0, 5.0, 0.0]
    assert before(X, first=np.array([7.0]))[0, 0] == 7.0
    assert before(X, step=2)[:, 0].tolist() == [0.0, 0.0, 1.0, 2.0, 3.0]
    assert after(X, step=8)[:, 0].tolist() == [0.0] * 5
    assert before(X, step=8)[:, 0].tolist() == [0.0] * 5


def test_rows_by_turns_are_the_rows_themselves() -> None:
    for n in range(1, 6):
        assert np.array_equal(woven(X[:n:2], X[1:n:2]), X[:n])


def test_rows_with_and_without_a_batch_go_together() -> None:
    assert together(X, np.ones((3, 2, 1))).shape == (3, 7, 1)
