# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Integrators against SciPy's DOP853: their orders, their stability, and what they keep over long times."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import phalanx as px
from phalanx.robot.joints import joint_type
from phalanx.simulation.integrators import INTEGRATORS
from reference.stepping import distance, reference

ORDERS = {name: integrator.order for name, integrator in INTEGRATORS.items()}
SECONDS = 0.25
STEPS = {1: (125, 250, 500), 2: (40, 80), 3: (48, 96), 4: (48, 96)}  # by order
INERTIA = (0.03, 0.02, 0.04)


def hanging(kind: str, *, floating: bool = False, damping: float = 0.1) -> px.Robot:
    """Three links on joints of a kind; the last one on a hinge."""
    builder = px.RobotBuilder(kind)
    builder.add_link("base", mass=2.0, com=(0.02, 0.01, -0.03), inertia=(0.1, 0.2, 0.15))
    above = "base"
    for k, each in enumerate((kind, "revolute", kind)):
        link = builder.add_link(f"link{k}", mass=1.0 - 0.2 * k, com=(0.1, -0.05, -0.3), inertia=INERTIA)
        place = {"origin": (0.0, 0.1, -0.4)} if k else {}
        axis = (0.6, 0.8, 0.0) if k % 2 else (0.0, 0.6, 0.8)
        values = [damping] * joint_type(each).nv
        builder.add_joint(f"joint{k}", each, above, link, axis=axis, damping=values, **place)
        above = link
    robot = builder.build()
    return robot.with_floating_base() if floating else robot


ROBOTS = {
    "hinges": lambda: hanging("revolute"),
    "slides": lambda: hanging("prismatic"),
    "balls": lambda: hanging("spherical"),
    "floating base": lambda: hanging("spherical", floating=True),
    "planar joints": lambda: hanging("planar"),
    "panda": lambda: px.load("panda"),
}


@cache
def robot_of(name: str) -> px.Robot:
    return ROBOTS[name]()


@cache
def case(name: str) -> tuple[np.ndarray, ...]:
    """A start, constant joint forces, and the state that they lead to."""
    robot = robot_of(name)
    q, qd, wanted = robot.random_state(rng=1)
    tau = robot.gravity_forces(q) + robot.mass_matrix(q) @ wanted
    return q, qd, tau, *reference(robot, q, qd, lambda t, q, qd: tau, SECONDS)


def slope(sizes: tuple[int, ...], errors: list[float]) -> float:
    """The measured order of convergence."""
    return float(-np.polyfit(np.log(sizes), np.log(errors), 1)[0])


# Discrete mechanics compiles long; a Panda has no joint that "hinges" has not.
QUICK = [name for name in INTEGRATORS if name != "variational"]
CASES = [(i, name) for i in ORDERS for name in ROBOTS if i in QUICK or name != "panda"]


@pytest.mark.parametrize(("integrator", "name"), CASES)
def test_every_integrator_converges_to_the_reference_with_its_order(integrator: str, name: str) -> None:
    robot = robot_of(name)
    q, qd, tau, *end = case(name)
    errors = []
    for steps in STEPS[ORDERS[integrator]]:
        sim = robot.simulation(dt=SECONDS / steps, integrator=integrator, friction=False, limits=False)
        run = sim.rollout(q, qd, controls=tau, steps=steps, every=steps)
        errors.append(distance(robot, run.final, (end[0], end[1])))
    assert slope(STEPS[ORDERS[integrator]], errors) == pytest.approx(ORDERS[integrator], abs=0.15), errors


def wave(t, q, qd, u, robot):
    """Forces that follow time and state within a step."""
    return u * np.sin(3.0 * t) - 2.0 * qd


@pytest.mark.parametrize("integrator", QUICK)
def test_laws_of_time_and_state_keep_the_order(integrator: str) -> None:
    robot = robot_of("balls")
    q, qd, tau, *_ = case("balls")
    end = reference(robot, q, qd, lambda t, q, qd: tau * np.sin(3.0 * t) - 2.0 * qd, SECONDS)
    errors = []
    for steps in STEPS[ORDERS[integrator]]:
        sim = robot.simulation(
            dt=SECONDS / steps, integrator=integrator, control=wave, controls=robot.nv, friction=False
        )
        errors.append(distance(robot, sim.rollout(q, qd, controls=tau, steps=steps, every=steps).final, end))
    assert slope(STEPS[ORDERS[integrator]], errors) == pytest.approx(ORDERS[integrator], abs=0.2), errors


@pytest.mark.parametrize("integrator", ORDERS)
def test_quaternions_stay_of_unit_length(integrator: str) -> None:
    robot = robot_of("floating base")
    q, qd, _ = robot.random_state(8, rng=2)
    sim = robot.simulation(dt=2e-3, integrator=integrator)
    run = sim.rollout(q, 3.0 * qd, steps=2000, every=100)
    for part in robot.q_slices.values():
        if part.stop - part.start in (4, 7):
            lengths = np.linalg.norm(run.q[..., part.stop - 4 : part.stop], axis=-1)
            np.testing.assert_allclose(lengths, 1.0, atol=4e-15)


# ------------------------------------------------------------------------ stability


def stiffest(robot: px.Robot, goal: np.ndarray, dt: float) -> float:
    """A gain that explicit Euler no longer survives, by doubling; damping ratio and step are given."""
    gain = 10.0
    while gain < 1e12:
        sim = robot.simulation(dt, integrator="euler", control=px.control.pd(gain, 0.1 * gain), limits=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", px.PhalanxWarning)  # of those that diverge
            run = sim.rollout(goal + 0.1, np.zeros(robot.nv), controls=goal, steps=2000, every=2000)
        if run.diverged or not np.abs(run.q).max() < 10.0:
            return gain
        gain *= 2.0
    raise AssertionError("explicit Euler survives everything")


@pytest.mark.parametrize("name", ["panda", "two_link"])
def test_implicit_steps_survive_gains_a_hundred_times_beyond_explicit_ones(name: str) -> None:
    robot, dt = px.load(name), 2e-3
    goal = robot.random_state(rng=4)[0]
    gain = 100.0 * stiffest(robot, goal, dt)
    sim = robot.simulation(
        dt=dt, integrator="implicit", control=px.control.pd(gain, 0.1 * gain), limits=False
    )
    run = sim.rollout(goal + 0.1, np.zeros(robot.nv), controls=goal, steps=5000, every=50)
    assert not run.diverged
    assert np.abs(run.q - goal).max() < 0.2
    assert np.abs(run.q[-1] - goal).max() < 1e-3  # and it does what the gains ask for
    assert np.abs(run.qd[-1]).max() < 1e-3


def test_implicit_damping_cannot_overshoot() -> None:
    robot = hanging("revolute", damping=1e4).replace(gravity=(0.0, 0.0, 0.0))
    qd = np.ones(robot.nv)
    run = robot.simulation(dt=0.01, integrator="implicit").rollout(robot.neutral(), qd, steps=100)
    speeds = np.linalg.norm(run.qd, axis=-1)
    assert np.all(np.diff(speeds) <= 1e-12)
    assert speeds[-1] < 1e-6


# ------------------------------------------------------------------------ what is kept


def energy_error(robot: px.Robot, integrator: str, dt: float, steps: int, every: int) -> np.ndarray:
    q, qd = robot.neutral() + 0.7, np.zeros(robot.nv)
    sim = robot.simulation(dt=dt, integrator=integrator, limits=False)
    run = sim.rollout(q, qd, steps=steps, every=every, record=("energy",))
    begin = robot.kinetic_energy(q, qd) + robot.potential_energy(q)
    lowest = robot.potential_energy(robot.neutral())
    return (run["energy"].ravel() - begin) / (begin - lowest)


def test_energy_of_an_undamped_chain_stays_bounded_over_a_million_variational_steps() -> None:
    robot = hanging("revolute", damping=0.0)
    error = energy_error(robot, "variational", 2e-3, 1_000_000, 1000)
    assert np.abs(error).max() < 1e-3
    # No drift: the last tenth is where the first one was.
    tenth = len(error) // 10
    assert abs(error[-tenth:].mean() - error[:tenth].mean()) < 0.2 * np.abs(error).max()


def test_energy_of_rk4_drifts_where_the_variational_one_does_not() -> None:
    robot = hanging("revolute", damping=0.0)
    drift = {kind: energy_error(robot, kind, 0.02, 400_000, 1000) for kind in ("rk4", "variational")}
    last = {kind: abs(e[-100:].mean()) for kind, e in drift.items()}
    assert last["rk4"] > 5 * last["variational"]


@pytest.mark.parametrize(
    ("integrator", "limit"), [("variational", 1e-12), ("euler", None), ("implicit", None)]
)
def test_momentum_in_free_space_is_kept(integrator: str, limit: float | None) -> None:
    """Variational steps keep both momenta to rounding, Euler steps the linear one of a single body."""
    robot = hanging("spherical", floating=True, damping=0.1).replace(gravity=(0.0, 0.0, 0.0))
    if limit is None:
        builder = px.RobotBuilder("body", gravity=(0.0, 0.0, 0.0))
        builder.add_link("body", mass=2.0, inertia=(0.1, 0.2, 0.15))
        robot = builder.build(floating_base=True)
    q, qd, _ = robot.random_state(rng=3)
    before = robot.centroidal_momentum(q, qd)
    run = robot.simulation(dt=2e-3, integrator=integrator).rollout(
        q, qd, steps=2000, every=100, record=("q", "qd", "centroidal_momentum")
    )
    np.testing.assert_allclose(
        run["centroidal_momentum"], robot.centroidal_momentum(run.q, run.qd), atol=1e-12
    )
    error = np.abs(run["centroidal_momentum"] - before)
    kept = error if limit is not None else error[..., 3:]
    assert kept.max() < 1e-12 * max(1.0, np.abs(before).max())
