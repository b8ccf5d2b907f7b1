# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""States that pass through a systolic machine: their torques, times and buffers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.study.scheduling.list_scheduler import SystolicSchedule

M = px.machines


def placed(robot: px.Robot, algorithm: str, nodes: str = "per link", **more: Any) -> SystolicSchedule:
    found = px.schedule(robot, "inverse_dynamics", algorithm, M.systolic(nodes=nodes), **more)
    assert isinstance(found, SystolicSchedule)
    return found


@pytest.mark.parametrize("algorithm", ["luh_walker_paul", "lathrop"])
@pytest.mark.parametrize("nodes", ["per link", "one"])
def test_torques_that_leave_are_those_of_the_kernel(algorithm: str, nodes: str) -> None:
    robot = px.load("puma560")
    states = robot.random_state(9, rng=3)[:3]
    s = placed(robot, algorithm, nodes)
    run = s.simulate(*states)
    np.testing.assert_allclose(run.result, robot.inverse_dynamics(*states), rtol=0, atol=1e-12)
    assert run.interval == s.interval
    assert run.latency == s.latency
    assert np.diff(run.left).tolist() == [s.interval] * 8
    # A shorter interval would need a processor twice; a longer one changes no result.
    slow = s.simulate(*states, interval=s.makespan)
    np.testing.assert_array_equal(slow.result, run.result)
    assert sum(slow.words.values()) <= sum(run.words.values())
    with pytest.raises(px.PhalanxError, match="needed twice at a time; the shortest interval is"):
        s.simulate(*states, interval=s.interval / 2)


def test_general_equations_compute_with_numbers_of_the_robot() -> None:
    """Lathrop's count takes every parameter as a symbol: the same machine moves a chain's wrenches."""
    robot = px.load("puma560")
    robot = robot.replace(armature=0.0)
    q, qd, qdd = robot.random_state(4, rng=0)[:3]
    s = placed(robot, "luh_walker_paul", customise="none", convention="lathrop_linear")
    run = s.simulate(q, qd, qdd, interval=4.0)
    assert run.latency == 8 * 6 + 10
    assert len(s.processors) == 132 + 48
    moments = run.result[:, 18:].reshape(-1, 6, 3)
    twist = np.array([np.pi / 2, 0.0, -np.pi / 2, np.pi / 2, -np.pi / 2, 0.0])  # of the DH table
    tau = moments[..., 1] * np.sin(twist) + moments[..., 2] * np.cos(twist)
    np.testing.assert_allclose(tau, robot.inverse_dynamics(q, qd, qdd), rtol=0, atol=1e-12)


def test_a_state_alone_and_a_batch_with_two_axes() -> None:
    robot = px.load("two_link")
    s = placed(robot, "luh_walker_paul")
    states = [x.reshape(2, 3, 2) for x in robot.random_state(6, rng=1)[:3]]
    many = s.simulate(*states)
    assert many.result.shape == (2, 3, 2)
    one = s.simulate(*(x[1, 2] for x in states))
    np.testing.assert_array_equal(one.result, many.result[1, 2])


@pytest.mark.parametrize(
    ("states", "interval", "words"),
    [
        (([0.0, 0.0],) * 4, None, "got 4 arrays, expected q, qd, qdd"),
        (([0.0, 0.0, 0.0],) * 3, None, "do not have the shapes"),
        ((["a", "b"],) * 3, None, "do not have the shapes"),
        (([0.0, 0.0],) * 3, -1.0, "interval is -1.0, expected a time above 0"),
    ],
)
def test_bad_input(states: Any, interval: Any, words: str) -> None:
    with pytest.raises(px.PhalanxError, match=words):
        placed(px.load("two_link"), "luh_walker_paul").simulate(*states, interval=interval)


def test_sets_on_their_way_are_drawn_with_the_buffers(tmp_path: Path) -> None:
    robot = px.load("puma560")
    run = placed(robot, "luh_walker_paul").simulate(*robot.random_state(3, rng=0)[:3])
    drawn = run.plot(tmp_path / "sets.svg").read_text()
    assert "w[5]" in drawn
    assert "a set every 3 operations" in drawn
    assert "turn-around" in drawn
    with pytest.raises(px.PhalanxError, match="expected"):
        run.plot(tmp_path / "sets.doc")
