# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of forward dynamics: what their kernels leave out."""

import numpy as np
import pytest

import phalanx as px
from reference.sampling import agree

FUNCTION = "forward_dynamics_derivatives"


def test_the_inverse_takes_each_entry_once() -> None:
    # Solving with every column of the unit matrix, as the function that gives the inverse alone does.
    robot = px.load("panda")
    alone = px.cost(robot, "mass_matrix_inverse").by_quantity["result"].total
    assert px.cost(robot, FUNCTION).by_quantity["inverse"].total < 0.6 * alone


def test_branches_leave_out_what_is_zero() -> None:
    # As many degrees of freedom, so that the matrices are of one size.
    chain, bush = px.chain(9), px.tree(9, branching=0.5, seed=1)
    one, other = (px.cost(robot, FUNCTION).by_quantity["slopes"].total for robot in (chain, bush))
    assert 0 < other < 0.7 * one


@pytest.mark.parametrize("robot", [px.chain(6), px.tree(8, branching=0.6, seed=4)], ids=["chain", "tree"])
def test_kernels_give_what_the_reference_gives(robot: px.Robot) -> None:
    inputs = robot.random_state(5, rng=2)
    found, wanted = (getattr(robot, FUNCTION)(*inputs, backend=b) for b in ("native", "numpy"))
    for mine, theirs in zip(found, wanted, strict=True):
        agree(mine, theirs, 1e-10)
    assert np.array_equal(found.dtau, np.swapaxes(found.dtau, -1, -2))  # to the last bit
