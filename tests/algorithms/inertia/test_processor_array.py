# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The steps of the processor array and what they cost."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms.inertia.processor_array import steps
from phalanx.backends.base import installed
from phalanx.sweeps.triangle import triangle
from reference.counting import depth
from reference.sampling import agree

pytestmark = pytest.mark.usefixtures("auto_is_numpy")

SIZES = range(1, 34)
CHOICES = [
    {"processors": processors, **form}
    for processors in ("n(n+1)/2", "n")
    for form in ({}, {"moment": "inside"}, {"form": "composite"}, {"form": "composite_base"})
]
each_choice = pytest.mark.parametrize("options", CHOICES, ids=lambda o: "-".join(o.values()))


def chain(n: int, prismatic: float = 0.4) -> px.Robot:
    return px.chain(n, seed=n, prismatic=prismatic).replace(armature=np.linspace(0.1, 0.3, n))


@each_choice
@pytest.mark.parametrize("prismatic", [0.0, 0.4])
def test_every_form_gives_the_matrix_of_composite_bodies(options: dict[str, str], prismatic: float) -> None:
    for n in SIZES:
        robot = chain(n, prismatic)
        q, _, _ = robot.random_state(3, rng=n)
        expected = robot.mass_matrix(q, algorithm="crba", backend="numpy")
        found = robot.mass_matrix(q, algorithm=("processor_array", options), backend="numpy")
        agree(found, expected, 1e-13)


@each_choice
@pytest.mark.parametrize("backend", ["native", "jax"])
def test_every_form_runs_on_other_backends(options: dict[str, str], backend: str) -> None:
    if backend not in installed():
        pytest.skip(f"{backend} is not installed")
    robot = chain(5)
    q, _, _ = robot.random_state(4, rng=1)
    found = robot.mass_matrix(q, algorithm=("processor_array", options), backend=backend)
    agree(found, robot.mass_matrix(q, algorithm="crba", backend="numpy"), 1e-13)


@each_choice
@pytest.mark.parametrize("n", [1, 2, 9, 33])
def test_every_form_runs_as_loops(options: dict[str, str], n: int) -> None:
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    from reference.rolling import kernel, program

    robot = chain(n)
    q, _, _ = robot.random_state(3, rng=2)
    found = kernel(program(robot, "mass_matrix", ("processor_array", options)))(q)
    agree(found, robot.mass_matrix(q, algorithm="crba", backend="numpy"), 1e-13)


def test_composite_bodies_have_no_moments_to_sum_up() -> None:
    robot = px.chain(3)
    options = {"form": "composite", "moment": "inside"}
    with pytest.raises(px.PhalanxError, match=r'moment="inside" for form="newton_euler" only'):
        robot.mass_matrix(robot.neutral(), algorithm=("processor_array", options))


@pytest.mark.parametrize("n", SIZES)
def test_every_quantity_takes_as_many_steps_as_the_logarithm(n: int) -> None:
    plan = steps(n)
    assert len(plan.rows) == n * (n + 1) // 2, "one processor for each pair"
    expected = int(np.ceil(np.log2(n)))
    assert len(plan.rotations) == len(plan.outward) == len(plan.inward) == expected


@pytest.mark.parametrize("n", SIZES)
def test_one_processor_a_column_takes_it_row_by_row(n: int) -> None:
    plan = steps(n, "n")
    assert len(plan.rows) == n
    assert len(plan.rotations) == int(np.ceil(np.log2(n)))
    assert len(plan.outward) == len(plan.inward) == n - 1


@pytest.mark.parametrize("n", SIZES)
def test_rotations_follow_the_three_cases_of_the_paper(n: int) -> None:
    """R(min(j + 2h, n + 1), j) = R(min(j + 2h, n + 1), j + h) R(j + h, j), nothing where j + h >= n + 1."""
    pair = triangle(n)
    reach = {place: int(row) + 2 for place, row in enumerate(pair.row)}  # rows from 1: R(j+1, j)
    for eta, level in enumerate(steps(n).rotations):
        h = 2**eta
        assert {pair.row[to] + 1 for to, _ in level} == {j for j in range(1, n + 1) if j + h < n + 1}
        before = dict(reach)
        for to, source in level:
            assert pair.column[to] == pair.column[source]
            assert before[to] == pair.row[to] + 1 + h == pair.row[source] + 1
            reach[to] = before[source]
            assert reach[to] == min(pair.row[to] + 1 + 2 * h, n + 1)
    assert set(reach.values()) <= {n + 1}


@pytest.mark.parametrize("n", [1, 2, 5, 8, 13])
@pytest.mark.parametrize("processors", ["n(n+1)/2", "n"])
def test_sums_meet_every_row_of_the_column_once(n: int, processors: str) -> None:
    pair, plan = triangle(n), steps(n, processors)
    for levels, wanted in (
        (plan.inward, lambda r, c: range(r, n)),
        (plan.outward, lambda r, c: range(c, r + 1)),
    ):
        held = {place: [int(row)] for place, row in enumerate(pair.row)}
        for level in levels:
            before = dict(held)
            for to, source in level:
                held[to] = before[to] + before[source]
        for place, rows in held.items():
            assert sorted(rows) == list(wanted(pair.row[place], pair.column[place]))


def test_neighbours_stay_within_the_column() -> None:
    pair, plan = triangle(4), steps(4)
    for place, (before, after) in enumerate(zip(plan.before, plan.after, strict=True)):
        row, column = pair.row[place], pair.column[place]
        assert before == (pair.index[row - 1, column] if row > column else -1)
        assert after == (pair.index[row + 1, column] if row < 3 else -1)


@pytest.mark.parametrize(("n", "expected"), [(2, 17), (4, 25), (8, 32), (16, 38), (32, 44)])
def test_depth_is_that_of_the_listing(n: int, expected: int) -> None:
    assert depth("processor_array", n) == expected


@pytest.mark.parametrize("options", [{"form": "composite"}, {"moment": "inside"}], ids=str)
def test_depth_of_the_other_forms_grows_by_the_same_steps_for_every_doubling(options: dict[str, str]) -> None:
    found = [depth("processor_array", n, **options) for n in (4, 8, 16, 32)]
    assert np.ptp(np.diff(found)) <= 1, found


def test_an_unknown_number_of_processors_is_refused() -> None:
    robot = px.chain(3)
    with pytest.raises(px.PhalanxError, match=r"processors='m', expected .*n\(n\+1\)/2"):
        robot.mass_matrix(robot.neutral(), algorithm=("processor_array", {"processors": "m"}))
