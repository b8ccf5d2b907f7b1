# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pairs of links as one axis, and the walks within their columns."""

from __future__ import annotations

import numpy as np
import pytest

from phalanx.spatial import Tensor
from phalanx.sweeps.triangle import along_chain, back_along_chain, gather, shifted, strides, triangle


@pytest.mark.parametrize("n", [1, 2, 5])
def test_pairs_fill_the_lower_triangle(n: int) -> None:
    pair = triangle(n)
    assert len(pair.row) == n * (n + 1) // 2
    assert (pair.row >= pair.column).all()
    assert pair.index[pair.row, pair.column].tolist() == list(range(len(pair.row)))
    A = np.arange(n * n).reshape(n, n)
    lower = A[pair.row, pair.column]
    np.testing.assert_array_equal(pair.matrix(lower), np.tril(A) + np.tril(A, -1).T)


def test_values_per_link_come_to_the_rows_and_columns_of_pairs() -> None:
    pair, x = triangle(3), np.arange(3.0)[:, None]
    np.testing.assert_array_equal(pair.of_rows(x)[:, 0], pair.row)
    np.testing.assert_array_equal(pair.of_columns(x)[:, 0], pair.column)
    np.testing.assert_array_equal(pair.along(x, before=1)(0, np.array([1, 4]))[0][:, 0], pair.row[[1, 4]] - 1)
    turns = Tensor(np.arange(27.0).reshape(3, 3, 3))
    np.testing.assert_array_equal(gather(turns, [2, 0]).matrix, turns.matrix[[2, 0]])


def test_levels_go_row_by_row_or_by_strides() -> None:
    pair = triangle(3)  # places: (0,0) (1,0) (2,0) (1,1) (2,1) (2,2)
    assert pair.outward() == [[(1, 0)], [(2, 1), (4, 3)]]
    assert pair.inward() == [[(1, 2), (3, 4)], [(0, 1)]]
    assert pair.outward([1, 2]) == [[(1, 0), (2, 1), (4, 3)], [(2, 0)]]
    assert pair.inward([1, 2]) == [[(0, 1), (1, 2), (3, 4)], [(0, 2)]]
    assert triangle(1).outward() == triangle(1).inward() == []


def test_levels_along_a_chain() -> None:
    assert along_chain(3) == [[(1, 0)], [(2, 1)]]
    assert back_along_chain(3) == [[(1, 2)], [(0, 1)]]
    assert [strides(n) for n in (1, 2, 3, 4, 5, 9)] == [[], [1], [1, 2], [1, 2], [1, 2, 4], [1, 2, 4, 8]]


def test_shifted_reads_neighbours_and_the_end() -> None:
    x = np.arange(6.0).reshape(1, 3, 2) + 1.0
    np.testing.assert_array_equal(shifted(x, np.array([1, 2, -1])), [[[3.0, 4.0], [5.0, 6.0], [0.0, 0.0]]])
    R = Tensor(np.arange(18.0).reshape(1, 2, 3, 3))
    read = shifted(R, np.array([1, -1]), end=Tensor(np.eye(3))).matrix
    np.testing.assert_array_equal(read, [[R.matrix[0, 1], np.eye(3)]])
