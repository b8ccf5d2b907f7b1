# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The block-tridiagonal solvers against SciPy, on random symmetric positive definite systems."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve, solveh_banded

from phalanx.algorithms.banded import SOLVERS
from phalanx.algorithms.banded.solvers import Solver
from phalanx.program.graph import Graph
from phalanx.sweeps.heavy_paths import ArrayLinks
from reference.effort import calls_of
from reference.sampling import agree

SIZES = (*range(1, 34), 100)
each_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=list(SOLVERS))


@cache
def known(n: int, k: int) -> tuple[Any, ...]:
    """(D, U, R, x, condition): a system with its solution by SciPy, found once for all solvers."""
    A, D, U, R = system(n, k, seed=100 * n + k)
    if n <= 10:
        x = solve(A, R.ravel(), assume_a="pos")
    else:
        upper = [np.pad(np.diagonal(A, j), (j, 0)) for j in range(2 * k - 1, -1, -1)]
        x = solveh_banded(np.array(upper), R.ravel())
    return D, U, R, x.reshape(n, k), np.linalg.cond(A)


def system(n: int, k: int, seed: int, batch: tuple[int, ...] = ()) -> tuple[np.ndarray, ...]:
    """(A, D, U, R): a matrix L L^T + 1 with its blocks, and right-hand sides."""
    rng = np.random.default_rng(seed)
    band = np.kron(np.tri(n) - np.tri(n, k=-2), np.ones((k, k)))
    L = np.tril(rng.standard_normal((*batch, n * k, n * k)) * band)
    A = L @ np.swapaxes(L, -1, -2) + np.eye(n * k)
    blocks = A.reshape(*batch, n, k, n, k)
    D = np.stack([blocks[..., i, :, i, :] for i in range(n)], axis=-3)
    U = np.zeros((*batch, n, k, k))
    for i in range(n - 1):
        U[..., i, :, :] = blocks[..., i, :, i + 1, :]
    return A, D, U, rng.standard_normal((*batch, n, k))


def solved(solver: Solver, D: np.ndarray, U: np.ndarray, R: np.ndarray) -> np.ndarray:
    """The solution on the rows of a chain."""
    return solver(ArrayLinks(np.arange(-1, R.shape[-2] - 1)), D, U, R)


@each_solver
@pytest.mark.parametrize("k", range(1, 7))
@pytest.mark.parametrize(
    "sizes",
    [(1, 2, 3, 4, 5, 8, 13, 33), pytest.param(SIZES, marks=pytest.mark.exhaustive)],
    ids=["few", "all"],
)
def test_solutions_are_those_of_scipy(solver: Solver, k: int, sizes: tuple[int, ...]) -> None:
    for n in sizes:
        D, U, R, x, condition = known(n, k)
        agree(solved(solver, D, U, R), x, 1e-14 * condition)


@pytest.mark.parametrize(("name", "most"), [("odd_even", 800), ("cyclic_reduction", 2000)])
def test_shifting_rows_of_arrays_takes_few_calls(name: str, most: int) -> None:
    # Ten small blocks are all overhead: joining arrays with zeros took half of the time.
    _, D, U, R = system(10, 5, 1)
    assert calls_of(lambda: solved(SOLVERS[name], D, U, R)) < most


@each_solver
def test_batches_are_solved_state_by_state(solver: Solver) -> None:
    _, D, U, R = system(6, 3, 1, batch=(2, 3))
    found = solved(solver, D, U, R)
    for index in np.ndindex(2, 3):
        agree(found[index], solved(solver, D[index], U[index], R[index]), 1e-12)


@each_solver
def test_blocks_without_a_batch_serve_a_batch_of_right_hand_sides(solver: Solver) -> None:
    _, D, U, R = system(7, 2, 2)
    several = np.stack([R, 2.0 * R])
    agree(solved(solver, D, U, several)[1], 2.0 * solved(solver, D, U, R), 1e-12)


@each_solver
def test_nothing_but_the_upper_triangles_of_the_diagonal_blocks_is_read(solver: Solver) -> None:
    _, D, U, R = system(5, 4, 3)
    agree(solved(solver, D + np.tril(np.full((4, 4), 1e9), -1), U, R), solved(solver, D, U, R), 1e-12)


@each_solver
def test_they_run_on_traced_scalars(solver: Solver) -> None:
    _, D, U, R = system(5, 2, 4)
    graph = Graph()
    traced = np.array([graph.input("r", i) for i in range(R.size)], dtype=object).reshape(R.shape)
    x = solved(solver, D.astype(object), U.astype(object), traced)
    assert x.shape == R.shape
    assert {node.op for node in graph.nodes} <= {"input", "add", "sub", "mul", "neg"}


def test_a_row_that_is_not_finite_spoils_its_own_state_only() -> None:
    _, D, U, R = system(4, 2, 5, batch=(2,))
    R[0, 1, 0] = np.nan
    for solver in SOLVERS.values():
        assert np.isfinite(solved(solver, D, U, R)[1]).all()
