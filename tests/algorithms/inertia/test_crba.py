# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix and its inverse against what they are made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import phalanx as px
from reference import dynamics as textbook
from reference.sampling import agree, conditioning, seeds, trees

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


@given(trees(), seeds)
def test_its_columns_are_inverse_dynamics_of_unit_accelerations(robot: px.Robot, seed: int) -> None:
    q, qd, _ = robot.random_state(rng=seed)
    columns = robot.inverse_dynamics(q, qd, np.eye(robot.nv)) - robot.bias_forces(q, qd)
    agree(robot.mass_matrix(q), columns.T, 1e-10)


@given(trees(), seeds)
def test_it_is_the_sum_over_the_links(robot: px.Robot, seed: int) -> None:
    q, _, _ = robot.random_state(rng=seed)
    agree(robot.mass_matrix(q), textbook.mass_matrix(robot, q))


@given(trees(), seeds)
def test_it_is_symmetric_to_the_bit_and_positive_definite(robot: px.Robot, seed: int) -> None:
    M = robot.mass_matrix(robot.random_state(3, rng=seed)[0])
    np.testing.assert_array_equal(M, np.swapaxes(M, -1, -2))
    assert (np.linalg.eigvalsh(M) > 0).all()


@given(trees(), seeds)
def test_armature_stands_on_its_diagonal(robot: px.Robot, seed: int) -> None:
    q, _, _ = robot.random_state(rng=seed)
    bare = robot.replace(armature=0.0)
    armature = np.random.default_rng(seed).uniform(0.0, 2.0, robot.nv)
    heavy = bare.replace(armature=armature)
    np.testing.assert_array_equal(heavy.armature, armature)
    agree(heavy.mass_matrix(q) - bare.mass_matrix(q), np.diag(armature), 1e-12)


@given(trees(), seeds)
def test_entries_between_branches_are_exactly_zero(robot: px.Robot, seed: int) -> None:
    M = robot.mass_matrix(robot.random_state(rng=seed)[0])
    model = robot.model
    above = [set(model.ancestors(i)) for i in range(model.n)]
    for i in range(model.n):
        for j in range(i):
            if j not in above[i]:
                assert M[i, j] == M[j, i] == 0.0


@given(trees(), seeds)
def test_the_inverse_inverts_it(robot: px.Robot, seed: int) -> None:
    q, _, _ = robot.random_state(2, rng=seed)
    M, inverse = robot.mass_matrix(q), robot.mass_matrix_inverse(q)
    tolerance = 1e-14 * conditioning(M) + 1e-13
    agree(inverse, np.linalg.inv(M), max(tolerance, 1e-14 * float(np.linalg.cond(M).max())))
    agree(inverse, np.swapaxes(inverse, -1, -2), tolerance)
