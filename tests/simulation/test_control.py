# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""px.control: the same forces in a simulation and on arrays, the right ones, and clear errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.errors import PhalanxError

TOOL = "panda_hand_tcp"
RNG = np.random.default_rng(7)
WEIGHTS = [0.3 * RNG.normal(size=(9, 16)), RNG.normal(size=(7, 9))]
BIASES = [RNG.normal(size=9), RNG.normal(size=7)]
POSE = np.array([[0, 1, 0, 0.4], [1, 0, 0, 0.1], [0, 0, -1, 0.5], [0, 0, 0, 1.0]])


@cache
def panda() -> px.Robot:
    return px.load("panda")


@cache
def walker() -> px.Robot:
    """A floating base, a ball joint and hinges."""
    return px.tree(4, 0.3, seed=2, joints=("spherical", "revolute")).with_floating_base()


LAWS: dict[str, tuple[Callable[[], Any], int | None]] = {
    "pd": (lambda: px.control.pd(80.0, np.arange(1.0, 8.0)), None),
    "pd with rates": (lambda: px.control.pd(80.0, 9.0), 14),
    "pd without gravity": (lambda: px.control.pd(80.0, 9.0, gravity=False), None),
    "pd with target": (lambda: px.control.pd(80.0, 9.0, target=np.linspace(-1, 1, 7)), None),
    "computed torque": (lambda: px.control.computed_torque(100.0, np.full(7, 20.0)), None),
    "computed torque with rates": (lambda: px.control.computed_torque(100.0, 20.0), 14),
    "computed torque of a position": (lambda: px.control.computed_torque(100.0, 20.0), 7),
    "impedance": (lambda: px.control.impedance(TOOL, [20, 300], [3, 40], POSE), None),
    "impedance of controls": (lambda: px.control.impedance(TOOL, np.full(6, 50.0), np.eye(6)), None),
    "impedance of a position": (lambda: px.control.impedance(TOOL, [20, 300], [3, 40], gravity=False), 3),
    "impedance beside": (
        lambda: px.control.impedance(TOOL, [20, 300], [3, 40], POSE, nullspace=(10.0, 2.0, np.zeros(7))),
        None,
    ),
    "differential ik": (lambda: px.control.differential_ik(TOOL, 5.0, 20.0, POSE), None),
    "differential ik of controls": (lambda: px.control.differential_ik(TOOL, 5.0, np.full(7, 20.0)), None),
    "differential ik of a position": (lambda: px.control.differential_ik(TOOL, 5.0, 20.0, gravity=False), 3),
    "network": (lambda: px.control.network(WEIGHTS, BIASES), None),
    "network of relus": (lambda: px.control.network(WEIGHTS, BIASES, "relu", scale=np.arange(7.0)), None),
    "network that observes": (
        lambda: px.control.network(
            [WEIGHTS[0][:, :10], WEIGHTS[1]],
            BIASES,
            observe=lambda t, q, qd, u, robot: np.concatenate(
                [np.sin(q), robot.frame_pose(q, TOOL)[..., :3, 3]], axis=-1
            ),
        ),
        None,
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_a_law_gives_the_same_forces_in_a_simulation_and_on_arrays(name: str) -> None:
    make, controls = LAWS[name]
    law, robot = make(), panda()
    q, qd, _ = robot.random_state(5, rng=1)
    sim = robot.simulation(dt=1e-3, control=law, controls=controls)
    u = np.random.default_rng(2).normal(size=(5, sim.controls))
    run = sim.rollout(q, qd, controls=u[:, None] if sim.controls else None, steps=1, record=("tau",))
    batch = law(0.0, q, qd, u, robot)
    np.testing.assert_allclose(run.tau[:, 0], batch, rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(law(0.0, q[2], qd[2], u[2], robot), batch[2], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["pd", "computed_torque"])
def test_ball_joints_and_floating_bases_are_drawn_along_the_turn_that_is_left(kind: str) -> None:
    robot = walker()
    law = getattr(px.control, kind)(30.0, 4.0)
    q, qd, _ = robot.random_state(4, rng=3)
    target = robot.random_state(4, rng=4)[0]
    sim = robot.simulation(dt=1e-3, control=law, controls=robot.nq)
    run = sim.rollout(q, qd, controls=target[:, None], steps=1, record=("tau",))
    pull = 30.0 * robot.difference(q, target) - 4.0 * qd
    wanted = pull + robot.gravity_forces(q) if kind == "pd" else robot.inverse_dynamics(q, qd, pull)
    np.testing.assert_allclose(run.tau[:, 0], wanted, rtol=1e-10, atol=1e-10)


def test_traced_robots_integrate_and_normalize_as_robots_do() -> None:
    robot = walker()
    q, qd, _ = robot.random_state(4, rng=5)
    q = 1.7 * q  # of any length

    def moved(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return robot.integrate(q, 0.3 * qd)

    def unit(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return robot.normalize(q)

    def same(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return robot.difference(q, q)

    sim = robot.simulation(dt=1e-9)
    run = sim.rollout(q, qd, controls=np.zeros(robot.nv), steps=1, record=("q", moved, unit, same))
    now = run.q[:, 0]
    np.testing.assert_allclose(
        run.moved[:, 0], robot.integrate(now, 0.3 * run.final[1]), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(run.unit[:, 0], robot.normalize(now), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(run.same[:, 0], 0.0, atol=1e-12)


def test_computed_torque_makes_every_joint_a_unit_mass() -> None:
    robot = panda()
    law = px.control.computed_torque(25.0, 10.0)
    q, qd, qdd = robot.random_state(3, rng=6)
    target, rate, _ = robot.random_state(3, rng=7)
    tau = law(0.0, q, qd, np.concatenate([target, rate, qdd], axis=1), robot)
    wanted = qdd + 25.0 * (target - q) + 10.0 * (rate - qd)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), wanted, rtol=1e-8, atol=1e-8)


def test_impedance_pulls_as_a_spring_does() -> None:
    """Its wrench does the work that the energy of the spring loses, to first order."""
    robot, law = panda(), px.control.impedance(TOOL, [20.0, 300.0], [0.0, 0.0], POSE, gravity=False)
    q = robot.random_state(rng=8)[0]

    def energy(q: np.ndarray) -> float:
        pose = robot.frame_pose(q, TOOL)
        turn = POSE[:3, :3] @ pose[:3, :3].T
        angle = np.arccos(0.5 * (np.trace(turn) - 1.0))
        return float(10.0 * angle**2 + 150.0 * np.sum((POSE[:3, 3] - pose[:3, 3]) ** 2))

    h = 1e-6
    wanted = [-(energy(q + h * e) - energy(q - h * e)) / (2.0 * h) for e in np.eye(7)]
    np.testing.assert_allclose(law(0.0, q, np.zeros(7), np.zeros(0), robot), wanted, rtol=1e-6, atol=1e-6)


def test_impedance_at_its_target_only_holds_against_gravity() -> None:
    robot = panda()
    q = robot.random_state(rng=9)[0]
    law = px.control.impedance(TOOL, [20, 300], [3, 40], robot.frame_pose(q, TOOL))
    tau = law(0.0, q, np.zeros(7), np.zeros(0), robot)
    np.testing.assert_allclose(tau, robot.gravity_forces(q), atol=1e-9)


def test_the_null_space_does_not_accelerate_the_frame() -> None:
    pinocchio = pytest.importorskip("pinocchio")
    robot = panda()
    q, qd, _ = robot.random_state(rng=10)
    laws = [
        px.control.impedance(TOOL, [20, 300], [3, 40], POSE, nullspace=more)
        for more in (None, (50.0, 5.0, np.zeros(7)))
    ]
    plain, beside = (law(0.0, q, qd, np.zeros(0), robot) for law in laws)
    assert np.abs(beside - plain).max() > 1.0
    urdf = robot.to_urdf()
    model = pinocchio.buildModelFromXML(urdf)
    data, tool = model.createData(), model.getFrameId(TOOL)
    M = pinocchio.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    J = pinocchio.computeFrameJacobian(model, data, q, tool, pinocchio.LOCAL_WORLD_ALIGNED)
    np.testing.assert_allclose(J @ np.linalg.solve(M, beside - plain), 0.0, atol=1e-6)


def test_a_panda_under_impedance_control_reaches_its_pose() -> None:
    robot = panda()
    start = np.array([0.0, -0.3, 0.0, -2.0, 0.0, 1.8, 0.7])
    target = robot.frame_pose(start + np.array([0.2, 0.1, -0.1, 0.2, 0.1, -0.2, 0.1]), TOOL)
    law = px.control.impedance(TOOL, [30, 400], [6, 60], target, nullspace=(2.0, 2.0, start))
    sim = robot.simulation(dt=1e-3, control=law, limits=False)
    run = sim.rollout(start, np.zeros(7), steps=4000, every=4000, record=(f"frame_pose:{TOOL}",))
    np.testing.assert_allclose(run[f"frame_pose:{TOOL}"][-1], target, atol=2e-3)


def test_differential_ik_reaches_its_pose_within_the_limits() -> None:
    robot = panda()
    start = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8])
    goal = start + np.array([0.3, 0.2, -0.2, 0.3, 0.2, -0.1, 0.2])
    target = robot.frame_pose(goal, TOOL)
    law = px.control.differential_ik(TOOL, 4.0, 50.0, target)
    run = robot.simulation(dt=1e-3, control=law).rollout(start, np.zeros(7), steps=4000, every=50)
    assert np.abs(robot.frame_pose(run.q[-1], TOOL) - target).max() < 1e-4
    far = target.copy()
    far[:3, 3] = [2.0, 0.0, 2.0]  # out of reach
    law = px.control.differential_ik(TOOL, 4.0, 50.0, far)
    run = robot.simulation(dt=1e-3, control=law, limits=False).rollout(
        start, np.zeros(7), steps=4000, every=50
    )
    assert (run.q > robot.limits.lower - 1e-2).all()
    assert (run.q < robot.limits.upper + 1e-2).all()
    assert np.abs(run.qd).max() < 1.05 * robot.limits.velocity.max()


def test_gains_may_be_parameters_that_differ_in_a_batch() -> None:
    robot = panda()
    q, qd, _ = robot.random_state(3, rng=11)
    kp = np.random.default_rng(12).uniform(10, 100, (3, 7))
    sim = robot.simulation(
        dt=1e-3, control=px.control.pd("kp", 3.0, target=np.zeros(7)), parameters={"kp": 7}
    )
    run = sim.rollout(q, qd, steps=1, record=("tau",), parameters={"kp": kp})
    wanted = px.control.pd(1.0, 3.0, target=np.zeros(7))(0.0, q, qd, None, robot) + (1.0 - kp) * q
    np.testing.assert_allclose(run.tau[:, 0], wanted, rtol=1e-11, atol=1e-11)
    law = px.control.pd("kp", 3.0, target=np.zeros(7))
    np.testing.assert_allclose(law(0.0, q, qd, None, robot, kp=kp), wanted, rtol=1e-11, atol=1e-11)


def test_gains_of_a_pose_may_be_parameters_of_any_shape() -> None:
    robot = panda()
    q, qd, _ = robot.random_state(3, rng=14)
    law = px.control.impedance(TOOL, "spring", "friction_of_tool", POSE)
    given = {
        "spring": np.abs(RNG.normal(size=(3, 6))),
        "friction_of_tool": np.abs(RNG.normal(size=(3, 2))),
    }
    sim = robot.simulation(dt=1e-3, control=law, parameters={"friction_of_tool": 2})
    run = sim.rollout(q, qd, steps=1, record=("tau",), parameters=given)
    np.testing.assert_allclose(run.tau[:, 0], law(0.0, q, qd, None, robot, **given), rtol=1e-11, atol=1e-10)
    with pytest.raises(PhalanxError, match="gain 'spring' is a parameter, but none is declared"):
        law(0.0, q, qd, None, robot)


def test_a_network_is_what_its_layers_say() -> None:
    robot = panda()
    q, qd, _ = robot.random_state(rng=13)
    u = np.array([0.3, -0.7])
    x = np.concatenate([q, qd, u])
    law = px.control.network(WEIGHTS, BIASES)
    assert law.controls(robot) == 2
    wanted = WEIGHTS[1] @ np.tanh(WEIGHTS[0] @ x + BIASES[0]) + BIASES[1]
    np.testing.assert_allclose(law(0.0, q, qd, u, robot), wanted, rtol=1e-12)


# ------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda c: c.pd(-1.0, 2.0), r"pd: kp is -1\.0, expected no negative number"),
        (lambda c: c.pd(np.nan, 2.0), r"pd: kp is nan, expected finite numbers"),
        (lambda c: c.pd([1.0, "a"], 2.0), r"pd: kp: got .*expected real numbers"),
        (lambda c: c.pd("two words", 2.0), r"expected numbers or the name of a parameter"),
        (lambda c: c.pd(1.0, 2.0, target=np.zeros((2, 2))), r"target has shape \(2, 2\), expected \(nq,\)"),
        (lambda c: c.pd(1.0, 2.0, gravity=1), r"gravity is 1, expected True or False"),
        (lambda c: c.computed_torque(1.0, np.inf), r"computed_torque: kd is inf"),
        (lambda c: c.differential_ik(3, 1.0, 1.0), r"frame is 3, expected the name of a frame"),
        (lambda c: c.differential_ik(TOOL, 0.0, 1.0), r"rate is 0.0, expected a positive number"),
        (lambda c: c.differential_ik(TOOL, 1.0, 1.0, 2 * np.eye(4)), r"differential_ik: the first three"),
        (lambda c: c.impedance(3, 1.0, 1.0), r"frame is 3, expected the name of a frame"),
        (
            lambda c: c.impedance(TOOL, [1, 1], [1, 1], np.eye(3)),
            r"target has shape \(3, 3\), expected a pose",
        ),
        (lambda c: c.impedance(TOOL, [1, 1], [1, 1], 2 * np.eye(4)), r"are no rotation"),
        (lambda c: c.impedance(TOOL, [1, 1], [1, 1], nullspace=3.0), r"expected a tuple \(kp, kd, q\)"),
        (lambda c: c.network(WEIGHTS, BIASES[:1]), r"2 weights and 1 biases"),
        (lambda c: c.network([], []), r"0 weights"),
        (lambda c: c.network(WEIGHTS[::-1], BIASES), r"layer 0 has weights \(7, 9\) and biases \(9,\)"),
        (lambda c: c.network(WEIGHTS, BIASES, "tan"), r'unknown activation \'tan\'; did you mean "tanh"\?'),
    ],
)
def test_bad_gains_are_told(make: Any, message: str) -> None:
    with pytest.raises(PhalanxError, match=message):
        make(px.control)


@pytest.mark.parametrize(
    ("make", "controls", "message"),
    [
        (
            lambda c: c.pd(np.ones(6), 1.0),
            None,
            r'a gain has shape \(6,\), expected \(7,\) for robot "panda"',
        ),
        (lambda c: c.pd(1.0, 1.0), 9, r"pd: there are 9 controls, expected 7 or 14"),
        (lambda c: c.computed_torque(1.0, 1.0), 5, r"there are 5 controls, expected 7 or 14 or 21"),
        (lambda c: c.pd(1.0, 1.0, target=np.zeros(6)), None, r"target has shape \(6,\), expected \(7,\)"),
        (lambda c: c.impedance("nowhere", [1, 1], [1, 1], POSE), None, r"nowhere"),
        (
            lambda c: c.impedance(TOOL, np.ones(5), [1, 1], POSE),
            None,
            r"a gain has shape \(5,\), expected \(6,\)",
        ),
        (lambda c: c.impedance(TOOL, [1, 1], [1, 1]), 5, r"there are 5 controls, expected 7"),
        (lambda c: c.network(WEIGHTS, BIASES), 3, r"first layer takes 16 numbers.*17"),
        (lambda c: c.network(WEIGHTS[:1], BIASES[:1]), None, r"last layer has shape \(9,\), expected \(7,\)"),
    ],
)
def test_a_law_that_does_not_fit_the_robot_is_told(make: Any, controls: int | None, message: str) -> None:
    robot = panda()
    sim = robot.simulation(control=make(px.control), controls=controls)
    with pytest.raises(PhalanxError, match=message):
        sim.rollout(robot.neutral(), np.zeros(7), controls=np.zeros(sim.controls), steps=1)


def test_a_network_takes_no_masked_numbers() -> None:
    robot = px.load("two_link")
    law = px.control.network([np.ones((4, 4)), np.ones((2, 4))], [np.zeros(4), np.zeros(2)])
    q, qd, _ = robot.random_state(rng=0)
    plain = law(0.0, q, qd, np.zeros(0), robot)
    np.testing.assert_array_equal(law(0.0, np.ma.masked_array(q), qd, np.zeros(0), robot), plain)
    with pytest.raises(px.PhalanxError, match="network: a state has masked entries"):
        law(0.0, np.ma.masked_array(q, [True, False]), qd, np.zeros(0), robot)
