# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Each sweep on one symbolic body gives loops that compute what it gives on every body."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx.program.ir import For, statements
from phalanx.program.rolled import roll
from reference.rolled_equations import SWEPT, loops_and_straight, task

SCANS = ("scan", "scan from the tip", "children")  # along chains


@pytest.mark.parametrize("name", SWEPT)
@pytest.mark.parametrize("n", [1, 2, 9])
def test_on_a_chain(n: int, name: str) -> None:
    found, wanted = loops_and_straight(px.chain(n, seed=n, prismatic=0.3), name)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("name", [name for name in SWEPT if name not in SCANS])
def test_on_a_tree_with_joints_of_several_bodies(name: str) -> None:
    robot = px.tree(8, 0.6, seed=3, joints=("revolute", "spherical", "universal", "prismatic"))
    found, wanted = loops_and_straight(robot, name)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize(("name", "count"), [("propagate", 1), ("accumulate", 1), ("paths", 2), ("total", 2)])
def test_a_sweep_takes_one_loop_for_each_change_of_direction(name: str, count: int) -> None:
    program = roll(task(px.chain(9), SWEPT[name])).built(1)
    assert sum(isinstance(s, For) for s in statements(program.body)) == count
