# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Symmetric matrices from loops along ancestors, written in strips of rows with their mirror images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from phalanx.program.rolled import leaves as L
from phalanx.program.rolled.stages.loops import BodyLoop
from phalanx.program.rolled.stages.matrices import AncestorPairs, MatrixOut
from reference.stages import CHAIN, TREE, code, computed, layout, own, program, related

A, B = np.random.default_rng(3).standard_normal((2, 11))


def along_ancestors(diagonal: int | float, instead: int | float | None) -> AncestorPairs:
    """Entry x_i + sum of b over the path from the body to the ancestor, times a of the ancestor."""

    def step(leaf: Any) -> dict[L.Leaf, Any]:
        passed = leaf(L.Walked(0)) + leaf(L.Param(1, L.THERE))
        return {L.Walked(0): passed, L.EntryLeaf(): passed * leaf(L.Param(0, L.THERE))}

    return AncestorPairs(diagonal, instead, [0], code(step))


def expected(parents: np.ndarray, x: np.ndarray) -> np.ndarray:
    made, behind = np.zeros((11, 11)), related(parents)
    for i, j in np.argwhere(behind):
        made[i, j] = made[j, i] = (x[i] + B[behind[i] & behind[:, j]].sum()) * A[j]
    return made


@pytest.mark.parametrize("lanes", [1, 2])  # strips of 4 and of 8 rows, and a rest
@pytest.mark.parametrize("items", [0, 3])
@pytest.mark.parametrize("parents", [None, TREE], ids=["chain", "tree"])
def test_rows_and_mirror_images(parents: np.ndarray | None, items: int, lanes: int) -> None:
    if items and parents is not None:
        pytest.skip("groups have chains")
    laid = layout(parents, {"x": (11,)}, {"out": (11, 11)}, table=[A, B], slots=1)
    start = BodyLoop(code(lambda leaf: {L.SpillSlot(0): leaf(own("x"))}))
    made = program(laid, start, MatrixOut(along_ancestors(0.5, None)), lanes=lanes, items=items)
    x = np.random.default_rng(4).standard_normal(11)
    wanted = expected(CHAIN if parents is None else parents, x) + 0.5 * np.eye(11)
    np.testing.assert_allclose(computed(made, x=x), wanted, rtol=1e-12, atol=1e-13)


def test_the_diagonal_is_replaced_before_anything_is_added_to_it() -> None:
    laid = layout(TREE, {"x": (11,)}, {"out": (11, 11)}, table=[A, B], slots=1)
    start = BodyLoop(code(lambda leaf: {L.SpillSlot(0): leaf(own("x"))}))
    made = program(laid, start, MatrixOut(along_ancestors(0.5, 0)))  # slot 0: x
    x = np.random.default_rng(5).standard_normal(11)
    np.testing.assert_allclose(np.diag(computed(made, x=x)), x + 0.5, rtol=1e-15)
