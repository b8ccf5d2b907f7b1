# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Eliminations over distances 1, 2, 4, … along heavy paths: sums reach the first link of each path."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx.program.rolled import leaves as L
from phalanx.program.rolled.heavy_path_tables import heavy_path_rows
from phalanx.program.rolled.stages.levels import ALL, EVEN, FIRST, ODD, EliminationLevels, LevelStep
from phalanx.program.rolled.stages.loops import BodyLoop
from reference.stages import code, computed, layout, own, program

LOAD = BodyLoop(code(lambda leaf: {L.SpillSlot(0): leaf(own("x"))}))
OUT = BodyLoop(code(lambda leaf: {own("out"): leaf(L.SpillSlot(0))}))
JOIN = code(
    lambda leaf: {L.SpillSlot(0, 0): leaf(L.SpillSlot(0, 0)) + leaf(L.SpillSlot(0, 1)) * leaf(L.InBounds(1))}
)


def run(robot: px.Robot, *steps: LevelStep, down: bool = False, items: int = 0, x: np.ndarray) -> np.ndarray:
    model = robot.model
    rows = heavy_path_rows(model)
    laid = layout(
        np.asarray(model.parents), {"x": (model.n,)}, {"out": (model.n,)}, slots=1, heavy_paths=rows
    )
    stage = EliminationLevels([], [], list(steps), [], down)
    found: np.ndarray = computed(program(laid, LOAD, stage, OUT, items=items), x=x)
    return found


@pytest.mark.parametrize("n", [1, 2, 5, 8, 13])
def test_even_rows_collect_a_whole_chain_in_its_first_link(n: int) -> None:
    x = np.random.default_rng(n).standard_normal(n)
    found = run(px.chain(n), LevelStep(EVEN, (0, 1), JOIN), x=x)
    assert found[0] == pytest.approx(x.sum(), rel=1e-12)


def test_every_heavy_path_of_a_tree_is_collected_by_itself() -> None:
    robot = px.tree(19, 0.6, seed=4)
    x = np.random.default_rng(0).standard_normal(19)
    found, rows = run(robot, LevelStep(EVEN, (0, 1), JOIN), x=x), heavy_path_rows(robot.model)
    for first, length in zip(rows.first, rows.length, strict=True):
        links = rows.bodies[first : first + length]
        assert found[links[0]] == pytest.approx(x[links].sum(), rel=1e-12)


def test_odd_rows_are_at_odd_multiples_of_the_distance() -> None:
    mark = code(lambda leaf: {L.SpillSlot(0, 0): leaf(L.SpillSlot(0, 0)) + 1.0})
    found = run(px.chain(13), LevelStep(ODD, (0,), mark), x=np.zeros(13))
    # Level by level 1, 3, 5, …; 2, 6, 10; 4, 12; 8: every row but the first is odd once.
    np.testing.assert_array_equal(found, [0.0] + [1.0] * 12)


def test_steps_of_all_rows_and_of_the_first_one_run_on_every_level() -> None:
    mark = code(lambda leaf: {L.SpillSlot(0, 0): leaf(L.SpillSlot(0, 0)) + 1.0})
    found = run(px.chain(5), LevelStep(ALL, (0,), mark), LevelStep(FIRST, (0,), mark), x=np.zeros(5))
    np.testing.assert_array_equal(found, [6.0, 3.0, 3.0, 3.0, 3.0])  # 3 levels


def test_unknown_rows_are_refused() -> None:
    with pytest.raises(TypeError, match="an elimination has no rows 'some'"):
        run(px.chain(3), LevelStep("some", (0,), JOIN), x=np.zeros(3))
