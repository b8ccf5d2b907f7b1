# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Armature on joints of every kind: as MuJoCo has it, on every algorithm and backend, energy kept."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx import convert
from phalanx.backends.base import installed
from reference import dynamics as textbook
from reference.sampling import agree

mujoco = pytest.importorskip("mujoco", reason="the oracle of these tests")

INERTIAL = '<inertial pos="0.1 -0.2 0.3" mass="1.5" fullinertia="0.3 0.25 0.2 0.02 -0.03 0.01"/>'
POSE = 'pos="0.3 -0.1 0.4" euler="20 -35 50"'
HINGE = '<joint axis="0.3 -0.5 0.8" armature="0.3"/>'
BALL = '<joint type="ball" armature="0.4"/>'
FREE = '<joint type="free" armature="0.8"/>'


def body(joint: str, inside: str = "") -> str:
    return f"<body {POSE}>{joint}{INERTIAL}{inside}</body>"


def nested(*joints: str) -> str:
    """A chain of bodies on these joints."""
    return body(joints[0], nested(*joints[1:])) if joints else ""


MODELS = {
    "free": body(FREE),
    "chain": nested(FREE, BALL, HINGE),
    "tree": body(FREE, body(BALL) + nested(HINGE, BALL)) + body(FREE, body(HINGE)),
    "long": nested(FREE, *[HINGE, HINGE, BALL] * 25),
}


@cache
def pair(name: str) -> tuple[px.Robot, Any]:
    option = '<option gravity="1 -2 -9"><flag contact="disable" constraint="disable"/></option>'
    text = f"<mujoco>{option}<worldbody>{MODELS[name]}</worldbody></mujoco>"
    return px.load(text), mujoco.MjModel.from_xml_string(text)


def accelerations(robot: px.Robot, model: Any, q: Any, qd: Any, tau: Any) -> np.ndarray:
    """MuJoCo's accelerations in the robot's coordinates."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = convert.to_mujoco(robot, model, q, qd)
    data.qfrc_applied[:] = convert.tau_to_mujoco(robot, model, q, tau)
    mujoco.mj_forward(model, data)
    return convert.from_mujoco(robot, model, data.qpos, data.qvel, data.qacc)[2]


def covering(robot: px.Robot, function: str, backend: str) -> list[str]:
    """All algorithms; on JAX, which compiles long and runs the texts that NumPy runs, the one of "auto"."""
    if backend == "jax":
        return ["auto"]
    return [a.name for a in px.algorithms(function) if not a.refusal(robot)]


CASES = [(name, backend) for name in MODELS for backend in installed() if backend != "jax" or name == "tree"]


@pytest.mark.parametrize(("name", "backend"), CASES)
def test_every_algorithm_moves_free_ball_and_hinge_joints_as_mujoco_does(name: str, backend: str) -> None:
    robot, model = pair(name)
    q, qd, tau = robot.random_state(rng=1)
    wanted = accelerations(robot, model, q, qd, tau)
    if backend == "jax":
        q, qd, tau = (x.astype(np.float32) for x in (q, qd, tau))
    digits = 1e-4 if backend == "jax" else 1e-9
    for algorithm in covering(robot, "forward_dynamics", backend):
        agree(robot.forward_dynamics(q, qd, tau, algorithm=algorithm, backend=backend), wanted, digits)
    qdd = wanted.astype(q.dtype)
    for algorithm in covering(robot, "inverse_dynamics", backend):
        agree(
            robot.inverse_dynamics(q, qd, qdd, algorithm=algorithm, backend=backend), tau, digits, least=9.0
        )
    M, bias = robot.mass_matrix(q, backend=backend), robot.bias_forces(q, qd, backend=backend)
    agree(M @ qdd + bias, tau, digits, least=9.0)


@pytest.mark.skipif(find_spec("llvmlite") is None, reason="llvmlite is not installed")
def test_the_long_chain_runs_as_loops() -> None:
    from phalanx.dispatch import resolve
    from phalanx.program.lowering import unrolls

    robot, _ = pair("long")
    assert not unrolls(resolve(robot, "inverse_dynamics"))
    assert not unrolls(resolve(robot, "forward_dynamics"))


@pytest.mark.parametrize("backend", installed())
def test_a_body_without_forces_keeps_its_velocity_in_space(backend: str) -> None:
    robot = px.load(f"<mujoco><worldbody><body>{FREE}<geom size='0.1'/></body></worldbody></mujoco>")
    robot = robot.replace(gravity=(0.0, 0.0, 0.0))
    w, v = np.array([0.3, -0.7, 1.1]), np.array([1.0, 2.0, -0.5])
    qdd = robot.forward_dynamics(robot.neutral(), [*w, *v], np.zeros(6), backend=backend)
    agree(qdd, [0.0, 0.0, 0.0, *-np.cross(w, v)], 1e-6 if backend == "jax" else 1e-14)


@pytest.mark.parametrize("unequal", [False, True], ids=["as files have it", "unequal along the axes"])
def test_energy_is_conserved(unequal: bool) -> None:
    robot, _ = pair("tree")
    if unequal:
        robot = robot.replace(armature=np.linspace(0.1, 1.5, robot.nv))
    zero = np.zeros(robot.nv)

    def drift(steps: int) -> float:
        """What the midpoint rule loses of the energy in a fifth of a second, relative to all of it."""
        h, (q, qd, _) = 0.2 / steps, robot.random_state(rng=4)
        start = robot.kinetic_energy(q, qd) + robot.potential_energy(q)
        for _ in range(steps):
            rate = qd + 0.5 * h * robot.forward_dynamics(q, qd, zero)
            there = robot.integrate(q, 0.5 * h * qd)
            qd = qd + h * robot.forward_dynamics(there, rate, zero)
            q = robot.integrate(q, h * rate)
        return abs(robot.kinetic_energy(q, qd) + robot.potential_energy(q) - start) / start

    coarse, fine = drift(200), drift(800)
    assert coarse < 1e-4
    assert fine < coarse / 8  # an error of second order, and nothing beneath it


def test_unequal_armature_follows_the_textbook() -> None:
    robot = pair("chain")[0]
    robot = robot.replace(armature=np.linspace(0.1, 1.5, robot.nv))
    q, qd, qdd = robot.random_state(rng=5)
    agree(robot.inverse_dynamics(q, qd, qdd), textbook.inverse_dynamics(robot, q, qd, qdd), 1e-12)
    agree(robot.mass_matrix(q), textbook.mass_matrix(robot, q), 1e-12)


def test_one_number_is_meant_for_joints_of_one_axis() -> None:
    kinds = ("revolute", "spherical", "prismatic", "planar", "universal", "floating", "helical")
    robot = px.tree(7, 0.0, seed=1, joints=kinds).with_floating_base()
    told = robot.replace(armature=0.5)
    for name, kind in zip(robot.joint_names, robot.joint_types, strict=True):
        part = robot.v_slices[name]
        assert set(told.armature[part]) == {0.5 if part.stop - part.start == 1 else 0.0}, kind
    assert not told.armature[:6].any()
    assert not told.replace(armature=0).armature.any()


def test_a_floating_robot_with_armature_falls_as_others_do() -> None:
    robot = px.chain(12, seed=3).with_floating_base().replace(armature=0.1)
    q, zero = robot.neutral(), np.zeros(robot.nv)
    qdd = robot.forward_dynamics(q, zero, zero)
    agree(qdd, [0.0, 0.0, 0.0, *robot.gravity, *zero[6:]], 1e-10)


def alternating() -> px.Robot:
    """Hinges and ball joints in turn on a floating base."""
    builder = px.RobotBuilder("alternating")
    builder.add_link("link0", mass=1.0, inertia=(0.1, 0.1, 0.1))
    for k in range(1, 5):
        builder.add_link(f"link{k}", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.1, 0.1))
        kind = "revolute" if k % 2 else "spherical"
        builder.add_joint(f"joint{k}", kind, f"link{k - 1}", f"link{k}", origin=(0.0, 0.1, 0.2))
    return builder.build(floating_base=True)


def test_armature_can_be_given_by_name() -> None:
    robot = alternating().replace(armature=0.1)
    changed = robot.replace(armature={"joint3": 0.7, "joint2": 0.2, "": (1, 1, 1, 2, 2, 2)})
    assert changed.armature.tolist() == [1, 1, 1, 2, 2, 2, 0.1, 0.2, 0.2, 0.2, 0.7, 0, 0, 0]
    assert robot.replace(armature={}) == robot


def test_a_follower_has_armature_of_its_own() -> None:
    builder = px.RobotBuilder("pair")
    for k in range(3):
        builder.add_link(f"link{k}", mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.add_joint("a", "revolute", "link0", "link1", armature=1.0)
    builder.add_joint("b", "revolute", "link1", "link2", mimic=("a", 3.0))
    assert builder.build().replace(armature={"b": 0.5}).armature.tolist() == [1.0 + 9.0 * 0.5]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"joint9": 1}, 'has no moving joint "joint9"; did you mean "joint'),
        (
            {"joint1": -1},
            r'joint "joint1" \(revolute\): armature got -1; expected one number, finite, >= 0\.',
        ),
        ({"joint2": [1, 2]}, r"\(spherical\): armature got \[1, 2\]; expected one number or \(3,\), finite"),
        ({"joint1": 10**400}, "armature got 1000"),
        ({"": "much"}, r"floating base: armature got 'much'; expected one number or \(6,\)"),
        (10**400, "armature got 1000"),
        ([0.1], "expected one number or"),
    ],
)
def test_wrong_armature_is_refused(given: Any, said: str) -> None:
    robot = alternating()
    with pytest.raises(px.PhalanxError, match=said):
        robot.replace(armature=given)
