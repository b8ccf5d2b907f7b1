# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Straight-line code or loops: the limits, on counts alone."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx.dispatch import resolve
from phalanx.program.unroll_policy import (
    InLoops,
    branch_of,
    branches,
    large_form,
    most_scalars,
    serves,
    short_form,
)
from phalanx.robot.frames import placement_of


def test_code_may_be_the_longer_the_more_loops_move() -> None:
    few, many = (InLoops(20_000, moves, joins=False) for moves in (1_000, 10_000))
    assert few.limit(8_000, 8_000) < 8_000 < many.limit(8_000, 8_000)
    assert [x.form([8_000], 7).name for x in (few, many)] == ["looped", "unrolled"]
    assert many.form([8_000], 100_000).reason.startswith("100,000 results, limit ")


def test_loops_that_do_too_much_decide_alone() -> None:
    assert InLoops(10_000, 5_000, joins=False).refusal() is None
    form = InLoops(10_000_000, 5_000, joins=False).refusal()
    assert form is not None
    assert str(form).startswith("looped over bodies: ")


def test_short_code_is_unrolled_and_long_robots_are_not() -> None:
    call = resolve(px.load("panda"), "inverse_dynamics")
    assert short_form(call, [1_000, 1_999]) is not None
    assert short_form(call, [1_000, 2_001]) is None
    assert large_form(call) is None
    assert large_form(resolve(px.chain(60), "inverse_dynamics", "newton_euler")) is not None
    assert most_scalars(call, moves=5_000) > most_scalars(call)


@pytest.mark.parametrize(("n", "wanted"), [(8, True), (80, False)])
def test_what_has_no_loops_is_served_for_short_robots(n: int, wanted: bool) -> None:
    robot = px.chain(n)
    call = resolve(robot, "inverse_dynamics_derivatives", "carpentier_mansard")
    assert serves(call) is wanted


def test_every_frame_has_code_that_serves_it() -> None:
    for robot in (px.load("panda"), px.tree(14, seed=2), px.tree(30, seed=1)):
        every = branches(robot.model)
        assert sum(f.world for f in every) == 1
        carried = np.sum([f.carriers for f in every], axis=0)
        assert (carried == 1).all()
        for frame in robot.frame_names:
            at = placement_of(robot, frame)
            assert 0 <= branch_of(every, at) < len(every)
