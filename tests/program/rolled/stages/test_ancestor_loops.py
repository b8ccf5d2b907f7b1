# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Several matrices at once, both triangles of which loops along ancestors fill."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from phalanx.program.rolled import leaves as L
from phalanx.program.rolled.stages.ancestor_loops import MatricesOut, SolvedOut
from phalanx.program.rolled.stages.factor import Factor
from phalanx.program.rolled.stages.loops import BodyLoop
from phalanx.program.rolled.stages.matrices import AncestorPairs
from reference.stages import CHAIN, TREE, code, computed, layout, own, program, related

A = np.random.default_rng(7).uniform(0.5, 1.5, 11)


def entries(leaf: Any) -> dict[L.Leaf, Any]:
    """Of two matrices: x_i a_j in the row of the body, and another multiple in its column."""
    x, a = leaf(L.Walked(0)), leaf(L.Param(0, L.THERE))
    made = [x * a, x * a * 2.0, x + a, x - a]
    return {L.Walked(0): x, **{L.Walked(k + 1): value for k, value in enumerate(made)}}


def expected(parents: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.zeros((2, 11, 11))
    for i, j in np.argwhere(related(parents)):
        first[i, j], second[i, j] = x[i] * A[j], x[i] + A[j]
        first[j, i], second[j, i] = 2.0 * x[i] * A[j], x[i] - A[j]
    return first, second


def laid(parents: np.ndarray | None) -> Any:
    return layout(parents, {"x": (11,)}, {"first": (11, 11), "second": (11, 11)}, table=[A], slots=2)


START = BodyLoop(code(lambda leaf: {L.SpillSlot(0): leaf(own("x")), L.SpillSlot(1): leaf(L.Param(0))}))


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("parents", [None, TREE], ids=["chain", "tree"])
def test_rows_and_columns_of_each_matrix(parents: np.ndarray | None, lanes: int) -> None:
    out = MatricesOut([0], code(entries), {"first": 0.0, "second": 3.0})
    x = np.random.default_rng(8).standard_normal(11)
    found = computed(program(laid(parents), START, out, lanes=lanes), x=x)
    first, second = expected(CHAIN if parents is None else parents, x)
    # On the diagonal the entry of the column is the later one.
    np.testing.assert_allclose(found["first"], first, rtol=1e-13)
    np.testing.assert_allclose(found["second"], second + 3.0 * np.eye(11), rtol=1e-13)


@pytest.mark.parametrize("parents", [None, TREE], ids=["chain", "tree"])
def test_solved_matrices_are_the_negative_of_the_inverse_times_them(parents: np.ndarray | None) -> None:
    walk = code(
        lambda leaf: {
            L.Walked(0): leaf(L.Walked(0)),
            L.EntryLeaf(): leaf(L.Walked(0)) * leaf(L.Param(0, L.THERE)),
        }
    )
    behind = related(CHAIN if parents is None else parents)
    M = np.where(behind | behind.T, np.outer(A, A), 0.0) + 20.0 * np.eye(11)
    factor = Factor(AncestorPairs(20.0, None, [1], walk))
    x = np.random.default_rng(9).standard_normal(11)
    made = program(laid(parents), START, factor, SolvedOut([0], code(entries), ["first", "second"]))
    found = computed(made, x=x)
    for name, matrix in zip(
        ("first", "second"), expected(CHAIN if parents is None else parents, x), strict=True
    ):
        np.testing.assert_allclose(found[name], -np.linalg.solve(M, matrix), rtol=1e-11, atol=1e-13)
