# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Symbolic matrices over bodies: sums change their diagonals, inverses and products stay symbols."""

from __future__ import annotations

import numpy as np

from phalanx.program.rolled.sweeps.matrices import (
    AncestorLoop,
    InverseRows,
    Matrix,
    Solved,
    Walks,
    box,
    several,
)

LOOP = AncestorLoop(0, [], [], 1.0)


def test_what_is_added_to_a_matrix_is_added_on_its_diagonal() -> None:
    assert Matrix(LOOP) + 2.0 == 3.0 + (Matrix(LOOP) + -1.0) == Matrix(LOOP, diagonal=2.0)


def test_where_with_the_unit_matrix_replaces_the_diagonal() -> None:
    boxed = box(Matrix(LOOP), (1, 3, 3))
    made = np.where(np.eye(3, dtype=bool), np.full((3, 3), 7.0), boxed)
    assert {x.instead for x in made.ravel().tolist()} == {7.0}
    assert made.shape == boxed.shape


def test_a_loop_that_fills_several_matrices_numbers_them() -> None:
    made = several(Walks(0, [], [], ["row 0", "column 0", "row 1", "column 1"]))
    assert [m.number for m in made.ravel().tolist()] == [0, 1]


def test_the_negative_of_a_solution_is_marked_once() -> None:
    solved = InverseRows(Matrix(LOOP)) * Matrix(LOOP, number=1)
    assert isinstance(solved, Solved)
    assert (-solved).negative
    twice = -solved
    assert -twice == solved
