# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Wrenches that users write themselves under implicit steps: their diagonal slopes keep them stable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px


def slider() -> px.Robot:
    builder = px.RobotBuilder("slider")
    builder.add_link("rail")
    builder.add_link("mass", mass=2.0, inertia=(0.1, 0.1, 0.1))
    builder.add_joint("slide", "prismatic", "rail", "mass", axis=(0.0, 0.0, 1.0))
    return builder.build()


def test_a_spring_of_ones_own_is_that_of_the_library() -> None:
    def own(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        z, v = robot.frame_pose(q, "mass")[2, 3], robot.frame_velocity(q, qd, "mass")[5]
        return {"mass": np.stack([0.0 * z] * 5 + [-1e8 * z - 10.0 * v])}

    spring = px.contact.spring("mass", None, stiffness=1e8, damping=10.0)
    runs = [slider().simulation(1e-3, forces=f).rollout([0.01], [0.0], steps=500) for f in (own, spring)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-15)
    assert np.abs(runs[0].q).max() < 0.01


def test_dampers_on_rates_do_not_explode() -> None:
    def own(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return {"block": np.concatenate([-50.0 * qd[:3], -5000.0 * qd[3:]])}

    builder = px.RobotBuilder("block")
    builder.add_link("block", mass=2.0, inertia=(0.02, 0.03, 0.04))
    robot = builder.build(floating_base=True)
    run = robot.simulation(2e-3, forces=own).rollout(robot.neutral(), np.ones(6), steps=200)
    assert np.abs(run.qd).max() < 1.0
    # Weight against the damper.
    assert run.qd[-1, 5] == pytest.approx(-2.0 * 9.81 / 5000.0, rel=1e-3)
