# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Semi-implicit steps against MuJoCo's own, over a thousand of them, for robots of all its joint types."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx import convert
from reference.mjcf_texts import mjcf_of

mujoco = pytest.importorskip("mujoco", reason="the oracle of these tests")

DT, STEPS, HELD = 1e-3, 1000, 50  # a torque is held over some steps
# Damping is explicit in both, as in the textbook; nothing else acts.
OPTIONS = f'integrator="Euler" timestep="{DT}"'
FLAGS = 'eulerdamp="disable" contact="disable" constraint="disable"'
EULERDAMP = int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)

INERTIAL = '<inertial pos="0.1 -0.2 0.3" mass="1.5" fullinertia="0.3 0.25 0.2 0.02 -0.03 0.01"/>'
POSE = 'pos="0.3 -0.1 0.4" euler="20 -35 50"'
AXIS = 'axis="0.3 -0.5 0.8"'


def body(joints: str, inside: str = "") -> str:
    return f"<body {POSE}>{joints}{INERTIAL}{inside}</body>"


HINGE = f'<joint {AXIS} pos="0.2 0.1 -0.15" damping="0.4" armature="0.05"/>'
SLIDE = f'<joint type="slide" {AXIS} damping="1.5"/>'
BALL = '<joint type="ball" pos="-0.1 0.2 0.1" damping="0.3" armature="0.02"/>'
FREE = '<joint type="free" damping="0.6" armature="0.1"/>'
TEXTS = {
    "cart and pole": body('<joint type="slide" axis="1 0 0" damping="0.2"/>', body('<joint axis="0 1 0"/>')),
    "balls": body(BALL, body(BALL) + body(HINGE, body(BALL))),
    "joints of one body": body(HINGE + SLIDE + '<joint axis="0 1 1" ref="40"/>', body(SLIDE + BALL)),
    "free tree": body(FREE, body(HINGE, body(SLIDE)) + body(BALL)),
    "springs": body(
        f'<joint {AXIS} stiffness="8" springref="20"/><joint type="slide" stiffness="40" ref="0.1"/>',
        body('<joint type="ball" stiffness="3" damping="0.1"/>'),
    ),
    "two free bodies": body(FREE) + body("<freejoint/>", body(HINGE)),
}


def from_text(world: str) -> tuple[px.Robot, Any]:
    """Both read the same text."""
    option = f'<option gravity="1 -2 -9" {OPTIONS}><flag {FLAGS}/></option>'
    text = f"<mujoco>{option}<worldbody>{world}</worldbody></mujoco>"
    return px.load(text), mujoco.MjModel.from_xml_string(text)


def from_robot(robot: px.Robot) -> tuple[px.Robot, Any]:
    return robot, mujoco.MjModel.from_xml_string(mjcf_of(robot, options=OPTIONS, flags=FLAGS))


def example(name: str, **options: Any) -> px.Robot:
    """A robot of the package example-robot-data."""
    pin = pytest.importorskip("pinocchio", reason="its distribution holds the robots")
    folder = Path(pin.__file__).parents[4] / "share" / "example-robot-data"
    files = sorted(folder.rglob(name))
    if not files:
        pytest.skip(f"no {name} in {folder}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)
        return px.load(files[0], **options)


ROBOTS: dict[str, Callable[[], tuple[px.Robot, Any]]] = {
    **{name: lambda name=name: from_text(TEXTS[name]) for name in TEXTS},
    "panda": lambda: from_robot(px.load("panda")),
    "iiwa14": lambda: from_robot(px.load("iiwa14").replace(armature=0.1)),
    "solo12, floating": lambda: from_robot(example("solo12.urdf", floating_base=True)),
    "anymal, floating": lambda: from_robot(example("anymal.urdf", floating_base=True)),
    "chain": lambda: from_robot(px.chain(6, prismatic=0.4)),
    "tree": lambda: from_robot(px.tree(6, seed=2, joints=("revolute", "prismatic", "spherical"))),
}


@cache
def pair(name: str) -> tuple[px.Robot, Any]:
    return ROBOTS[name]()


def torques(robot: px.Robot, q: np.ndarray) -> np.ndarray:
    """Random joint forces (STEPS / HELD, nv) of the size that gives accelerations about one."""
    wanted = np.random.default_rng(1).standard_normal((STEPS // HELD, robot.nv))
    return robot.gravity_forces(q) + wanted @ robot.mass_matrix(q)


def mujoco_states(
    robot: px.Robot, model: Any, q: np.ndarray, qd: np.ndarray, tau: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The states at the end of each held torque, by `mj_step`."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = convert.to_mujoco(robot, model, q, qd)
    found = []
    for force in tau:
        for _ in range(HELD):
            # Our forces turn with a floating link, MuJoCo's do not.
            own = convert.from_mujoco(robot, model, data.qpos)
            data.qfrc_applied[:] = convert.tau_to_mujoco(robot, model, own, force)
            mujoco.mj_step(model, data)
        found.append(convert.from_mujoco(robot, model, data.qpos, data.qvel))
    return np.array([x for x, _ in found]), np.array([v for _, v in found])


def compare(robot: px.Robot, model: Any, integrator: str) -> None:
    """A thousand steps of both from the same start, under the same torques."""
    q, qd, _ = robot.random_state(rng=0)
    tau = torques(robot, q)
    expected_q, expected_qd = mujoco_states(robot, model, q, qd, tau)
    sim = robot.simulation(dt=DT, integrator=integrator, friction=False, limits=False)
    run = sim.rollout(q, qd, controls=tau, steps=STEPS, every=HELD)
    assert not run.diverged
    assert np.abs(expected_qd).max() > 0.1  # it moves
    assert np.abs(robot.difference(run.q, expected_q)).max() < 1e-9
    assert np.abs(run.qd - expected_qd).max() < 1e-9 * max(1.0, np.abs(expected_qd).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_a_thousand_steps_are_those_of_mujoco(name: str) -> None:
    compare(*pair(name), "euler")


@pytest.mark.parametrize("name", ["panda", "iiwa14", "balls", "joints of one body", "solo12, floating"])
def test_implicit_damping_is_that_of_mujoco(name: str) -> None:
    """MuJoCo's Euler steps have M + h D too, unless `eulerdamp` is off."""
    robot, model = pair(name)
    model.opt.disableflags &= ~EULERDAMP
    try:
        compare(robot, model, "implicit")
    finally:
        model.opt.disableflags |= EULERDAMP
