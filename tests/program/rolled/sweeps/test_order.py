# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Each sweep on one symbolic body gives loops that compute what it gives on every body."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx.program.rolled import roll
from phalanx.program.rolled.stages.loops import BodyLoop
from reference.rolled_equations import SWEPT, loops_and_straight, task

ALONG_CHAINS = ("scanned", "scanned_from_the_tip", "of_children")


@pytest.mark.parametrize("name", SWEPT)
@pytest.mark.parametrize("n", [1, 2, 9])
def test_on_a_chain(n: int, name: str) -> None:
    found, wanted = loops_and_straight(px.chain(n, seed=n, prismatic=0.3), name)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("name", [name for name in SWEPT if name not in ALONG_CHAINS])
def test_on_a_tree_with_joints_of_several_bodies(name: str) -> None:
    robot = px.tree(8, 0.6, seed=3, joints=("revolute", "spherical", "universal", "prismatic"))
    found, wanted = loops_and_straight(robot, name)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("name", "outward"),
    [
        ("scanned_from_the_tip", [False]),
        ("accumulated", [True, False]),
        ("folded", [True, False]),
        ("times_a_total", [True, False]),  # the sum is known after the first
    ],
)
def test_a_loop_ends_where_the_direction_changes(name: str, outward: list[bool]) -> None:
    stages = roll(task(px.chain(9), name)).stages
    assert [s.outward for s in stages if isinstance(s, BodyLoop)] == outward
