# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forward dynamics by the factored mass matrix against the articulated bodies and a dense solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import phalanx as px
from phalanx.algorithms.forward.jsiia import columns
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import ordering
from reference.chains import KINDS, agrees_with_pinocchio
from reference.sampling import agree, conditioning, seeds, trees

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


@given(trees(), seeds)
def test_it_agrees_with_the_articulated_bodies(robot: px.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, qd, tau = robot.random_state((2,), rng=rng)
    external = rng.standard_normal((2, robot.n_links, 6))
    agree(
        robot.forward_dynamics(q, qd, tau, external=external, algorithm="jsiia"),
        robot.forward_dynamics(q, qd, tau, external=external, algorithm="aba"),
        1e-14 * conditioning(robot.mass_matrix(q)) + 1e-11,
    )


@given(trees(), seeds)
def test_it_solves_the_equations_of_motion(robot: px.Robot, seed: int) -> None:
    q, qd, tau = robot.random_state(rng=seed)
    M = robot.mass_matrix(q)
    wanted = np.linalg.solve(M, tau - robot.bias_forces(q, qd))
    agree(robot.forward_dynamics(q, qd, tau, algorithm="jsiia"), wanted, 1e-14 * conditioning(M) + 1e-11)


@given(trees(), seeds)
def test_columns_of_inverse_dynamics_make_the_mass_matrix(robot: px.Robot, seed: int) -> None:
    q, _, _ = robot.random_state((2,), rng=seed)
    with ordering(Sequential(robot.model.parents)):
        wanted = robot.mass_matrix(q)
        # The matrix of sliding joints alone does not depend on q.
        agree(np.broadcast_to(columns(robot.model, q), wanted.shape), wanted, 1e-12)


@given(trees(), seeds)
def test_both_ways_to_the_mass_matrix_agree(robot: px.Robot, seed: int) -> None:
    q, qd, tau = robot.random_state((2,), rng=seed)
    agree(
        robot.forward_dynamics(q, qd, tau, algorithm=("jsiia", {"inertia": "columns"})),
        robot.forward_dynamics(q, qd, tau, algorithm=("jsiia", {"inertia": "composite"})),
        1e-14 * conditioning(robot.mass_matrix(q)) + 1e-11,
    )


@pytest.mark.parametrize("inertia", ["composite", "columns"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_agrees_with_pinocchio(inertia: str, kind: str) -> None:
    for n in (1, 2, 7, 32, 100):
        agrees_with_pinocchio(("jsiia", {"inertia": inertia}), kind, n)
