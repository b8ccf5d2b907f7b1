# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kane's equations as they stand: the counted work, and the critical path with trees for sums."""

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import find
from phalanx.sweeps.verbs import ordering
from reference.counting import depth, operations
from reference.doubling import Doubling
from reference.sampling import agree

TREES = ("kane_original", {"processors": "n^3"})


def test_work_is_that_of_oke() -> None:
    assert operations("kane_original", 6) == (2208, 1398, 0)


def test_work_grows_with_the_cube() -> None:
    m = [operations("kane_original", n)[0] for n in (4, 6, 8, 10)]
    third_difference = m[3] - 3 * m[2] + 3 * m[1] - m[0]
    assert third_difference == 6 * 5 * 2**3


@pytest.mark.parametrize(("n", "expected"), [(4, 22), (8, 26), (16, 30)])
def test_with_trees_a_doubling_takes_four_operations(n: int, expected: int) -> None:
    # 4 ceil(log2 n) + 14: three for rotations and origins, one for the sums over links.
    assert depth("kane_original", n, processors="n^3") == expected


@pytest.mark.parametrize("n", [8, 16])
def test_so_does_the_schedule_on_as_many_processors_as_the_cube(n: int) -> None:
    machine = px.machines.pram(n**3)
    s = px.schedule(px.chain(n), "mass_matrix", TREES, machine, customise="semi")
    assert s.makespan == 4 * np.log2(n) + 14


def test_trees_give_the_matrix_of_composite_bodies() -> None:
    for n in range(1, 34):
        robot = px.chain(n, seed=n, prismatic=0.4)
        q, _, _ = robot.random_state(2, rng=n)
        expected = robot.mass_matrix(q, algorithm="crba", backend="numpy")
        agree(robot.mass_matrix(q, algorithm=TREES, backend="numpy"), expected, 1e-13)


def test_an_order_of_logarithmic_depth_prefers_trees() -> None:
    robot = px.chain(7)
    q, _, _ = robot.random_state(rng=1)
    with ordering(Doubling(robot.model.parents)):
        found = find("mass_matrix", "kane_original").run(robot.model, q)
    by_trees = robot.mass_matrix(q, algorithm=TREES, backend="numpy")
    one_by_one = robot.mass_matrix(q, algorithm="kane_original", backend="numpy")
    assert np.array_equal(found, by_trees)
    assert not np.array_equal(found, one_by_one), "the last digits tell"
