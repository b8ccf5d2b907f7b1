# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How the mass centre and the momentum about it move: slopes of what is known, and Newton's law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import phalanx as px
from reference.dynamics import slope
from reference.sampling import agree, seeds, trees

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


@given(trees(), seeds)
def test_velocity_and_acceleration_are_slopes_of_the_centre(robot: px.Robot, seed: int) -> None:
    q, qd, qdd = robot.random_state(rng=seed)

    def velocity(t: float) -> np.ndarray:
        return robot.center_of_mass_velocity(robot.integrate(q, t * qd), qd)

    wanted = slope(lambda t: robot.center_of_mass(robot.integrate(q, t * qd)))
    agree(robot.center_of_mass_velocity(q, qd), wanted, 1e-8, least=1.0)
    agree(robot.center_of_mass_jacobian(q) @ qd, robot.center_of_mass_velocity(q, qd), 1e-12, least=1.0)
    wanted = slope(velocity) + robot.center_of_mass_jacobian(q) @ qdd
    agree(robot.center_of_mass_acceleration(q, qd, qdd), wanted, 1e-8, least=1.0)


@given(trees(), seeds)
def test_the_momentum_changes_by_the_force_on_the_mass(robot: px.Robot, seed: int) -> None:
    q, qd, qdd = robot.random_state(rng=seed)
    rate = robot.centroidal_momentum_time_variation(q, qd, qdd)
    wanted = slope(lambda t: robot.centroidal_momentum(robot.integrate(q, t * qd), qd))
    agree(rate, wanted + robot.centroidal_momentum_matrix(q) @ qdd, 1e-8, least=1.0)
    agree(rate[3:], robot.total_mass * robot.center_of_mass_acceleration(q, qd, qdd), 1e-11, least=1.0)


def test_a_free_robot_falls_and_keeps_its_spin() -> None:
    robot = px.tree(6, 0.4, seed=3).with_floating_base()
    q, qd, _ = robot.random_state(5, rng=1)
    qdd = robot.forward_dynamics(q, qd, np.zeros_like(qd))
    rate = robot.centroidal_momentum_time_variation(q, qd, qdd)
    agree(rate[:, :3], np.zeros((5, 3)), 1e-9, least=robot.total_mass)
    agree(rate[:, 3:], np.tile(robot.total_mass * robot.gravity, (5, 1)), 1e-10)
    agree(robot.center_of_mass_acceleration(q, qd, qdd), np.tile(robot.gravity, (5, 1)), 1e-10)
