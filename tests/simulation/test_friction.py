# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Blocks on a slope under implicit steps: they slide as far as Coulomb says, stick, and stand still."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px

G, MASS = 9.81, 2.0
FEET = {"a": (0.1, 0.1, 0.0), "b": (-0.1, 0.1, 0.0), "c": (0.0, -0.1, 0.0)}
DEGREES = np.radians(20.0)
NORMAL = np.array([np.sin(DEGREES), 0.0, np.cos(DEGREES)])
DOWN = np.array([np.cos(DEGREES), 0.0, -np.sin(DEGREES)])


def moved(
    friction: float, seconds: float, dt: float = 2e-3, stiffness: float = 1e5, **more: int
) -> np.ndarray:
    """The way and the rates of a block that starts at rest on a slope of 20 degrees, on three feet."""
    builder = px.RobotBuilder("block")
    builder.add_link("block", mass=MASS, inertia=(0.02, 0.03, 0.04))
    for name, position in FEET.items():
        builder.add_frame(name, "block", position)
    robot = builder.build(floating_base=True)
    damping = 2.0 * np.sqrt(stiffness * MASS / 3.0)
    ground = px.contact.ground(list(FEET), stiffness, damping, friction, normal=NORMAL, **more)
    sim = robot.simulation(dt, forces=ground)
    q = np.array([0.0, 0.0, 0.0, 0.0, np.sin(DEGREES / 2), 0.0, np.cos(DEGREES / 2)])
    q[:3] = -NORMAL * MASS * G * np.cos(DEGREES) / (3.0 * stiffness)
    steps = round(seconds / dt)
    run = sim.rollout(q, np.zeros(6), steps=steps, every=steps)
    return np.array([(run.q[-1, :3] - q[:3]) @ DOWN, np.abs(run.qd[-1]).max()])


@pytest.mark.parametrize("friction", [0.1, 0.3, 0.35])
@pytest.mark.parametrize("stiffness", [1e5, 1e9])
def test_a_block_that_slides_from_rest_comes_as_far_as_coulomb_says(
    friction: float, stiffness: float
) -> None:
    way = 0.5 * G * (np.sin(DEGREES) - friction * np.cos(DEGREES))
    found, _ = moved(friction, 1.0, stiffness=stiffness)
    assert found == pytest.approx(way, rel=0.01)


def test_one_pass_slows_what_gets_faster() -> None:
    way = 0.5 * G * (np.sin(DEGREES) - 0.3 * np.cos(DEGREES))
    assert moved(0.3, 1.0, passes=1)[0] < 0.95 * way
    with pytest.raises(px.PhalanxError, match="passes is 3, expected 1 or 2"):
        moved(0.3, 1.0, passes=3)


@pytest.mark.parametrize("stiffness", [1e4, 1e9])
@pytest.mark.parametrize("friction", [0.4, 0.8])
def test_a_block_that_sticks_creeps_less_than_a_millimetre_in_ten_seconds(
    friction: float, stiffness: float
) -> None:
    way, rates = moved(friction, 10.0, dt=4e-3, stiffness=stiffness)
    assert 0.0 < way < 1e-3
    assert rates < 1.01e-4  # and does not chatter


def test_a_block_comes_to_rest_where_friction_stops_it() -> None:
    builder = px.RobotBuilder("block")
    builder.add_link("block", mass=MASS, inertia=(0.02, 0.03, 0.04))
    robot = builder.build(floating_base=True)
    ground = px.contact.ground(["block"], stiffness=1e5, damping=1e3, friction=0.5)
    sim = robot.simulation(1e-3, forces=ground)
    q = np.array([0.0, 0.0, -MASS * G / 1e5, 0.0, 0.0, 0.0, 1.0])
    run = sim.rollout(q, [0.0, 0.0, 0.0, 1.0, 1.0, 0.0], steps=1000, every=1000)
    assert np.linalg.norm(run.q[-1, :2]) == pytest.approx(2.0 / (2.0 * 0.5 * G), rel=0.01)
    assert np.abs(run.qd[-1]).max() < 1e-6
