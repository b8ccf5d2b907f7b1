# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Schedules as the page shows them, against the schedules themselves."""

import numpy as np
import pytest

import phalanx as px
from phalanx.studio.playback import (
    MACHINES,
    PROCESSORS,
    begins_drawn,
    choices,
    functions,
    playback,
    rivals,
    speedups,
)

ROBOT = px.load("panda")


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix"])
def test_links_light_up_exactly_while_their_tasks_run(machine: str, function: str) -> None:
    play = playback(ROBOT, function, choices(ROBOT, function)[0], machine, 4)
    s = play.schedule
    for part in np.linspace(0.003, 0.997, 40):
        time = part * s.makespan
        busy = {play.link_name(t.link) for t in s.tasks if t.start <= time < t.end} - {""}
        assert set(play.at(part)) == busy
    assert set(play.at(0.5).values()) <= set(play.colours.values())
    assert sum(end - start for _, start, end, _, _ in play.spans()) <= s.work * (1 + 1e-9)


def test_every_algorithm_on_offer_can_be_scheduled() -> None:
    robot = px.load("two_link")
    for function in functions():
        for name in choices(robot, function):
            play = playback(robot, function, name, "p processors", 8)
            assert play.schedule.makespan > 0
            assert play.critical()
            facts, s = dict(play.facts()), play.schedule
            assert facts["speed-up"] == f"{s.least.work / s.makespan:.2f} on 8"
            assert facts["over one processor by"] == f"{s.least.algorithm}, {s.least.work:,g} operations"
            assert facts["parallel efficiency"] == f"{s.efficiency:.0%}"
            assert sum(play.by_link().values()) == play.cost.total


def test_papers_run_their_own_programs() -> None:
    puma = px.load("puma560")
    own = playback(puma, "inverse_dynamics", "zomaya_morris", "transputers", 4)
    assert own.schedule.machine.assignment == "paper"
    assert (
        playback(puma, "inverse_dynamics", "zomaya_morris", "transputers", 3).schedule.machine.assignment
        == "list"
    )
    assert playback(puma, "mass_matrix", "processor_array", "processor array", 4).schedule.messages


def test_joined_bars_cover_the_same_time() -> None:
    robot = px.chain(24)
    play = playback(robot, "forward_dynamics", "aba", "p processors", 2)
    bars, tasks = play.spans(), play.schedule.timed
    assert len(bars) < len(tasks)
    for p in range(2):
        covered = sum(end - start for row, start, end, _, _ in bars if row == p)
        assert covered == pytest.approx(sum(t.end - t.start for t in tasks if t.processor == p))


def test_speedups_are_those_of_schedules() -> None:
    found = speedups(ROBOT, "inverse_dynamics", ["newton_euler", "lathrop"])
    for name, gains in found.items():
        for p, gain in zip(PROCESSORS, gains, strict=True):
            assert gain <= p * (1 + 1e-9)
        graph = px.schedule(ROBOT, "inverse_dynamics", name, px.machines.pram(8), convention="program")
        least = min(
            px.schedule(ROBOT, "inverse_dynamics", n, px.machines.pram(1), convention="program").makespan
            for n in found
        )
        assert gains[PROCESSORS.index(8)] == pytest.approx(least / graph.makespan)


def test_a_comparison_of_a_long_robot_begins_with_algorithms_of_little_work() -> None:
    assert rivals(px.load("panda"), "inverse_dynamics") == ("cartesian_tensor", "lathrop")
    first, second = rivals(px.snake(50), "inverse_dynamics")
    spans = {a.name: a.span for a in px.algorithms("inverse_dynamics")}
    assert "log" not in spans[first] + spans[second]
    assert first != second
    assert begins_drawn(px.snake(200))
    assert not begins_drawn(px.snake(500))
