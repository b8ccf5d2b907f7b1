# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How many processors are worth it: curves, knees, and what is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import phalanx as px
from phalanx.study.speedup import Curve, best_curve, core_count

FEW = (1, 2, 4, 8)


def test_the_knee_has_the_largest_product_of_speedup_and_efficiency() -> None:
    assert Curve((1, 2, 4, 8), (1.0, 1.9, 3.2, 3.4), ("a",) * 4).knee == 2
    assert Curve((1, 2, 4), (1.0, 1.1, 1.2), ("a",) * 3).knee == 0
    # Amdahl's law with a serial share f: S = 1 / (f + (1 - f) / p), S^2 / p is largest at p = (1 - f) / f.
    counts = tuple(range(1, 65))
    amdahl = tuple(1.0 / (0.1 + 0.9 / p) for p in counts)
    assert counts[Curve(counts, amdahl, ("a",) * 64).knee] == 9


def test_free_messages_gain_and_dear_ones_do_not() -> None:
    robot = px.load("two_link")
    free = px.speedup(robot, processors=FEW, message=0, measure=False)
    assert free.free == free.charged
    assert free.free.speedups[1] > 1.5
    dear = px.speedup(robot, processors=FEW, message=1e6, measure=False)
    assert dear.charged.speedups == (1.0,) * 4
    assert dear.charged.knee == 0
    assert dear.free == free.free
    some = px.speedup(robot, processors=FEW, message=3, measure=False)
    for a, b, c in zip(dear.charged.speedups, some.charged.speedups, free.free.speedups, strict=True):
        assert a <= b <= c


def test_the_free_curve_is_that_of_schedules() -> None:
    robot = px.load("two_link")
    found = px.speedup(robot, "forward_dynamics", processors=(4,), measure=False).free
    best = max(
        px.schedule(robot, "forward_dynamics", a.name, px.machines.pram(4), granularity=cut).speedup
        for a in px.algorithms("forward_dynamics")
        if not a.refusal(robot)
        for cut in ("scalar", "equation")
    )
    assert found.processors == (1, 4)
    assert found.speedups[1] == pytest.approx(best)


def test_where_operations_are_many_the_free_curve_has_what_greedy_schedules_keep() -> None:
    robot = px.chain(16, seed=2)
    found = px.speedup(robot, "forward_dynamics", processors=(64,), measure=False).free
    placed = px.schedule(robot, "forward_dynamics", "aba", px.machines.pram(64), granularity="scalar")
    counted = px.cost(robot, "forward_dynamics", "aba")
    kept = counted.span.total + (counted.total - counted.span.total) / 64
    assert counted.total > 6000
    assert placed.makespan <= kept
    assert found.speedups[1] >= placed.least.work / kept > 1.0


def test_it_measures_this_machine(tmp_path: Path) -> None:
    found = px.speedup(px.load("two_link"), processors=FEW)
    assert found.measured[0].cores == 1
    assert 1e-8 < found.measured[0].seconds < 1e-3
    if found.message_seconds is not None:  # more than one core
        assert 1e-8 < found.message_seconds < 1e-2
        assert found.message > 0.0
    assert found.measurements in str(found)
    found.plot(tmp_path / "speedup.png")
    assert (tmp_path / "speedup.png").stat().st_size > 10_000
    assert found.to_dict()["charged"]["knee"] in FEW


def test_the_best_of_several_curves() -> None:
    found = best_curve((1, 2), {"a": [1.0, 1.2], "b": [0.5, 1.9]})
    assert found == Curve((1, 2), (1.0, 1.9), ("a", "b"))
    assert found.at_knee() == "2 processors (1.9 times one, efficiency 95%, by b)"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"processors": 4}, "processors is 4, expected a list of integers"),
        ({"processors": [0]}, "processors is 0, expected an integer of at least 1"),
        ({"message": -1}, "message is -1, expected operations"),
        ({"message": "much"}, "message is 'much', expected operations"),
        ({"function": "dynamics"}, "dynamics"),
    ],
)
def test_bad_input(given: dict[str, Any], words: str) -> None:
    with pytest.raises(px.PhalanxError, match=words):
        px.speedup(px.load("two_link"), **{"measure": False, **given})


def test_a_schedule_on_cores_charges_every_message() -> None:
    robot = px.load("panda")
    near = px.schedule(robot, "inverse_dynamics", machine=px.machines.cores(4, start_up=1.0))
    far = px.schedule(robot, "inverse_dynamics", machine=px.machines.cores(4, start_up=1e4))
    assert near.messages
    assert not far.messages  # everything on one of them
    assert near.makespan < far.makespan == pytest.approx(far.work)


def test_a_long_chain_is_measured_on_lanes_and_cores() -> None:
    found = px.speedup(px.chain(10_000), "inverse_dynamics")
    assert len(found.free.processors) == 1
    assert "see what was measured" in found.answer
    assert found.measured[1].lanes > 1
    if len(found.measured) > 2:  # more than one core
        assert found.measured[2].cores > 1


def test_a_chain_too_short_for_cores_is_measured_in_more_segments() -> None:
    found = px.speedup(px.chain(500), "inverse_dynamics")
    on_cores = [m for m in found.measured if m.cores > 1]
    if core_count() > 1:
        assert [m.algorithm for m in on_cores if m.cores == 2] == ["partition(segments=16)"]
        assert "2 cores with segments in" in found.measurements
        assert "by partition(segments=16)" in found.measurements
