# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Algorithms side by side."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx.dispatch import choose
from phalanx.explain.compare import compare


def test_every_algorithm_is_measured_or_refused_with_a_reason() -> None:
    robot = px.load("stanford")
    rows = compare(robot, "inverse_dynamics", batch=16)
    assert {r.algorithm for r in rows} == {a.name for a in px.algorithms("inverse_dynamics")}
    for r in rows:
        if r.refused:
            assert "does not cover" in r.refused
        else:
            assert r.error < 1e-12
            assert 0 < r.per_state < r.prepare
    assert [r.algorithm for r in rows if r.refused] == ["zomaya_morris"]  # a sliding joint


def test_rows_are_sorted_by_time_and_mark_the_choice_of_auto() -> None:
    robot = px.load("panda")
    rows = compare(robot, "mass_matrix", batch=32)
    times = [r.per_state for r in rows if not r.refused]
    assert times == sorted(times)
    assert [r.algorithm for r in rows if r.chosen] == [choose(robot, "mass_matrix").name]


def test_logarithmic_algorithms_take_more_operations_on_a_shorter_path() -> None:
    rows = {r.algorithm: r for r in compare(px.chain(12), "inverse_dynamics", batch=8)}
    linear, logarithmic = rows["luh_walker_paul"].cost, rows["lathrop"].cost
    assert linear is not None
    assert logarithmic is not None
    assert logarithmic.total > linear.total
    assert logarithmic.span.total < linear.span.total


def test_a_function_of_one_frame_has_nothing_to_compare() -> None:
    with pytest.raises(px.PhalanxError, match="nothing to compare"):
        compare(px.load("panda"), "jacobian")


def test_what_does_not_compile_in_time_is_measured_on_the_reference() -> None:
    rows = {r.algorithm: r for r in compare(px.chain(40), "mass_matrix", batch=2)}
    assert rows["kane_original"].backend == "numpy"
    assert rows["kane_original"].cost is None
    assert np.isfinite(rows["kane_original"].per_state)
