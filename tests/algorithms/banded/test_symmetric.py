# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Small symmetric matrices against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from phalanx.algorithms.banded.symmetric import congruent, factor, interface, inverse, mirrored, solve
from reference.sampling import agree


def semidefinite(rng: np.random.Generator, size: int, rank: int, count: int = 5) -> np.ndarray:
    Z = rng.standard_normal((count, size, rank))
    return Z @ np.swapaxes(Z, -1, -2)


@pytest.mark.parametrize("size", range(1, 8))
def test_factors_solve_and_invert(size: int) -> None:
    rng = np.random.default_rng(size)
    A, B = semidefinite(rng, size, size) + np.eye(size), rng.standard_normal((5, size, 3))
    agree(solve(factor(A), B), np.linalg.solve(A, B), 1e-12)
    agree(inverse(A), np.linalg.inv(A), 1e-12)
    assert np.array_equal(inverse(A), np.swapaxes(inverse(A), -1, -2))


@pytest.mark.parametrize("rank", range(7))
def test_two_ports_act_on_each_other_though_one_yields_in_few_directions_only(rank: int) -> None:
    rng = np.random.default_rng(rank)
    P, C = semidefinite(rng, 6, 5), semidefinite(rng, 6, rank)
    G = np.linalg.inv(np.eye(6) + C @ P)
    for found, expected in zip(interface(P, C), (P @ G, G, G @ C), strict=True):
        agree(found, expected, 1e-11)


def test_a_port_may_be_joined_where_unpivoted_elimination_would_divide_by_zero() -> None:
    P = np.array([[1.0, 1.0], [1.0, 1.0]])
    C = np.array([[1.0, -2.0], [-2.0, 4.0]])
    assert (np.eye(2) + C @ P)[0, 0] == 0.0
    PG, G, GC = interface(P, C)
    expected = np.linalg.inv(np.eye(2) + C @ P)
    agree(G, expected, 1e-15)
    agree(PG, P @ expected, 1e-15)
    agree(GC, expected @ C, 1e-15)


def test_products_are_symmetric_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    P, Phi = semidefinite(rng, 6, 6), rng.standard_normal((5, 6, 6))
    found = congruent(Phi, P)
    agree(found, Phi @ P @ np.swapaxes(Phi, -1, -2), 1e-14)
    assert np.array_equal(found, np.swapaxes(found, -1, -2))
    assert np.array_equal(mirrored(np.array([[1.0, 2.0], [9.0, 3.0]])), [[1.0, 2.0], [2.0, 3.0]])
