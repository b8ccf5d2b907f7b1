# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The sparse factor of a matrix over bodies: its solutions and its inverse are NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from phalanx.program.rolled import leaves as L
from phalanx.program.rolled.stages.factor import Factor, InverseOut, Solve
from phalanx.program.rolled.stages.loops import BodyLoop
from phalanx.program.rolled.stages.matrices import AncestorPairs
from reference.stages import CHAIN, TREE, code, computed, layout, own, program, related

A = np.random.default_rng(1).uniform(0.5, 1.5, 11)
FORMS = [(None, 0), (None, 4), (TREE, 0)]


def matrix(parents: np.ndarray | None) -> np.ndarray:
    """a_i a_j where one body is an ancestor of the other, and 20 more on the diagonal."""
    behind = related(CHAIN if parents is None else parents)
    return np.where(behind | behind.T, np.outer(A, A), 0.0) + 20.0 * np.eye(11)


def entries() -> AncestorPairs:
    """A loop along ancestors that carries a_i of the body and multiplies by a_j of each ancestor."""
    walk = code(
        lambda leaf: {
            L.Walked(0): leaf(L.Walked(0)),
            L.EntryLeaf(): leaf(L.Walked(0)) * leaf(L.Param(0, L.THERE)),
        }
    )
    return AncestorPairs(20.0, None, [0], walk)


def loaded() -> BodyLoop:
    return BodyLoop(code(lambda leaf: {L.SpillSlot(0): leaf(L.Param(0)), L.SpillSlot(1): leaf(own("x"))}))


@pytest.mark.parametrize(("parents", "items"), FORMS)
def test_solutions_are_those_of_the_dense_matrix(parents: np.ndarray | None, items: int) -> None:
    laid = layout(parents, {"x": (11,)}, {"out": (11,)}, table=[A], slots=3)
    out = BodyLoop(code(lambda leaf: {own("out"): leaf(L.SpillSlot(2))}))
    made = program(laid, loaded(), Factor(entries()), Solve(1, 2), out, items=items)
    x = np.random.default_rng(2).standard_normal(11)
    np.testing.assert_allclose(computed(made, x=x), np.linalg.solve(matrix(parents), x), rtol=1e-12)


@pytest.mark.parametrize(("parents", "items"), FORMS)
def test_the_inverse_is_that_of_the_dense_matrix(parents: np.ndarray | None, items: int) -> None:
    laid = layout(parents, {"x": (11,)}, {"out": (11, 11)}, table=[A], slots=2)
    made = program(laid, loaded(), Factor(entries()), InverseOut(), items=items)
    wanted = np.linalg.inv(matrix(parents))
    np.testing.assert_allclose(computed(made, x=np.zeros(11)), wanted, rtol=1e-11, atol=1e-14)
