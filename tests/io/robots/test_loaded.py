# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The built-in and generated robots as users meet them: loaded, moved, saved."""

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.io.loading import builtin, robots
from phalanx.io.robots.generators import chain
from phalanx.robot.description import Description

Build = Callable[[Description], Any]
NOMINAL = np.array([0.0, math.pi / 4, math.pi, 0.0, math.pi / 4, 0.0])


def load(source: Any) -> px.Robot:
    """The robot without the warning about inertias that are kept as published."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)
        return px.load(source)


def test_puma_shows_the_published_gravity_load_and_inertia() -> None:
    # Robotics Toolbox for Python, test_gravload and test_inertia at the posture qn.
    robot = load("puma560")
    load_at_rest = robot.gravity_forces(NOMINAL)
    np.testing.assert_allclose(load_at_rest, [0, 31.6399, 6.0351, 0, 0.0283, 0], atol=6e-5)
    inertia = robot.mass_matrix(NOMINAL)
    np.testing.assert_allclose(np.diag(inertia), [3.6594, 4.4137, 0.9378, 0.1925, 0.1713, 0.1941], atol=6e-5)
    assert inertia[0, 1] == pytest.approx(-0.4044, abs=6e-5)


@pytest.mark.parametrize("name", robots())
def test_a_built_in_robot_moves_as_pinocchio_says(name: str, pinocchio_model: Build) -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    robot, model = load(name), pinocchio_model(builtin(name))
    assert list(robot.joint_names) == list(model.names)[1:]
    q, qd, qdd = np.random.default_rng(1).uniform(-2, 2, (3, 8, robot.nv))
    expected = np.array([pin.rnea(model, model.createData(), *s) for s in zip(q, qd, qdd, strict=True)])
    scale = np.abs(expected).max()
    tau = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(tau, expected, rtol=0, atol=1e-12 * scale)


def test_a_generated_chain_moves_as_pinocchio_says(pinocchio_model: Build) -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    model = pinocchio_model(chain(30, seed=2, prismatic=0.3))
    q, qd, qdd = np.random.default_rng(1).uniform(-1, 1, (3, 30))
    expected = pin.rnea(model, model.createData(), q, qd, qdd)
    tau = px.chain(30, seed=2, prismatic=0.3).inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(tau, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", robots())
def test_a_built_in_robot_is_saved_and_loaded_to_the_bit(name: str, tmp_path: Path) -> None:
    robot = load(name)
    path = tmp_path / "robot.json"
    robot.save(path)
    q, qd, qdd = np.random.default_rng(1).uniform(-2, 2, (3, robot.nv))
    again = load(path)
    np.testing.assert_array_equal(again.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd))


@pytest.mark.parametrize("make", [lambda: px.snake(6), lambda: px.chain(6), lambda: px.tree(6)])
def test_a_generated_robot_may_float(make: Callable[[], px.Robot]) -> None:
    robot = make().with_floating_base()
    assert np.linalg.eigvalsh(robot.mass_matrix(robot.neutral())).min() > 0.0
