# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Energies and the centre of mass against sums over links and against power."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import phalanx as px
from reference import dynamics as textbook
from reference.sampling import agree, seeds, trees

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


@given(trees(), seeds)
def test_energy_grows_by_the_power_of_the_joint_forces(robot: px.Robot, seed: int) -> None:
    q, qd, qdd = robot.random_state(rng=seed)
    tau = robot.inverse_dynamics(q, qd, qdd)

    def energy(t: float) -> float:
        there = robot.integrate(q, t * qd + 0.5 * t**2 * qdd)
        rate = qd + t * qdd
        return robot.kinetic_energy(there, rate) + robot.potential_energy(there)

    h = 1e-4
    slope = (8.0 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12.0 * h)
    size = np.abs(tau) @ np.abs(qd) + abs(energy(0.0))
    np.testing.assert_allclose(slope, tau @ qd, rtol=0.0, atol=1e-9 * size)


@given(trees(), seeds)
def test_gravity_forces_are_the_slope_of_the_potential(robot: px.Robot, seed: int) -> None:
    q, _, _ = robot.random_state(rng=seed)
    h = 1e-4
    steps = h * np.eye(robot.nv)
    rise = robot.potential_energy(robot.integrate(q, steps)) - robot.potential_energy(
        robot.integrate(q, -steps)
    )
    size = np.abs(robot.potential_energy(q)) + np.abs(robot.gravity_forces(q)).max()
    np.testing.assert_allclose(rise / (2 * h), robot.gravity_forces(q), rtol=0.0, atol=1e-7 * size)


@given(trees(), seeds)
def test_kinetic_energy_is_half_the_mass_matrix_twice_the_rates(robot: px.Robot, seed: int) -> None:
    q, qd, _ = robot.random_state(3, rng=seed)
    wanted = np.einsum("bi,bij,bj->b", qd, robot.mass_matrix(q), qd) / 2
    agree(robot.kinetic_energy(q, qd), wanted)


@given(trees(), seeds)
def test_the_centre_of_mass_is_the_mean_of_the_links(robot: px.Robot, seed: int) -> None:
    q, _, _ = robot.random_state(rng=seed)
    links = {link.name: link for link in robot.description.links}
    moving = [name for name, frame in robot.frames.items() if frame.link >= 0]
    masses = np.array([links[name].mass for name in moving])
    places = np.array([(robot.frame_pose(q, name) @ np.r_[links[name].com, 1.0])[:3] for name in moving])
    agree(robot.center_of_mass(q), masses @ places / masses.sum())
    agree(masses.sum(), robot.total_mass, 1e-13)


@given(trees(), seeds)
def test_the_centre_of_a_free_robot_accelerates_with_the_forces_outside(robot: px.Robot, seed: int) -> None:
    if not robot.description.floating_base:
        robot = robot.with_floating_base()
    robot = robot.replace(armature=0.0)
    q, qd, qdd = robot.random_state(rng=seed)
    tau = robot.inverse_dynamics(q, qd, qdd)
    push = robot.forward_kinematics(q)[0, :3, :3] @ tau[3:6]
    h = 1e-3

    def centre(t: float) -> np.ndarray:
        return robot.center_of_mass(robot.integrate(q, t * qd + 0.5 * t**2 * qdd))

    acceleration = (centre(h) - 2.0 * centre(0.0) + centre(-h)) / h**2
    wanted = push / robot.total_mass + robot.gravity
    np.testing.assert_allclose(acceleration, wanted, rtol=0.0, atol=1e-3 * (1.0 + np.abs(wanted).max()))


@given(trees(), seeds)
def test_energies_agree_with_the_textbook(robot: px.Robot, seed: int) -> None:
    q, qd, _ = robot.random_state(rng=seed)
    agree(robot.potential_energy(q), textbook.potential_energy(robot, q), least=1.0)
    agree(robot.kinetic_energy(q, qd), textbook.kinetic_energy(robot, q, qd))
