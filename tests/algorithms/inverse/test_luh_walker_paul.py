# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The recursion of Luh, Walker and Paul, and what all algorithms for chains have in common with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.robot.dh.chain import offsets, rotations
from phalanx.spatial import Tensor
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import ordering
from reference import dynamics as textbook
from reference.sampling import agree

pytestmark = pytest.mark.usefixtures("auto_is_numpy")

CHAINS = ("luh_walker_paul", "lathrop", "zomaya_morris", "scan")
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33)
MOTIONS: tuple[tuple[str, ...], ...] = (
    (),
    ("external",),
    ("base_velocity",),
    ("base_acceleration",),
    ("external", "base_velocity", "base_acceleration"),
)

each_algorithm = pytest.mark.parametrize("algorithm", CHAINS)


def covers(algorithm: str, robot: px.Robot) -> bool:
    """Whether an algorithm takes the joints of a chain."""
    return algorithm != "zomaya_morris" or set(robot.joint_types) == {"revolute"}


def surroundings(
    robot: px.Robot, names: tuple[str, ...], batch: tuple[int, ...], seed: int
) -> dict[str, Any]:
    """Random wrenches and base motion."""
    rng = np.random.default_rng(seed)
    return {
        name: rng.standard_normal((*batch, robot.n_links, 6) if name == "external" else (*batch, 6))
        for name in names
    }


@pytest.mark.parametrize("slides", [0.0, 0.4], ids=["turning", "mixed"])
@pytest.mark.parametrize("n", LENGTHS)
@each_algorithm
def test_random_chains_agree_with_pinocchio(algorithm: str, n: int, slides: float) -> None:
    pinocchio = pytest.importorskip("reference.pinocchio", reason="Pinocchio is not installed")
    robot = px.chain(n, seed=n, prismatic=slides).replace(armature=np.linspace(0.0, 0.3, n))
    if not covers(algorithm, robot):
        return
    states = robot.random_state((2,), rng=n)
    for given in MOTIONS[:: 1 if n < 10 else 4]:
        more = surroundings(robot, given, (2,), n)
        tau = robot.inverse_dynamics(*states, **more, algorithm=algorithm)
        wanted = [
            pinocchio.inverse_dynamics(robot, *(x[k] for x in states), **{m: v[k] for m, v in more.items()})
            for k in range(2)
        ]
        agree(tau, wanted, 1e-11)


@pytest.mark.parametrize("name", ["puma560", "stanford"])
@each_algorithm
def test_the_papers_arms_agree_with_pinocchio(algorithm: str, name: str) -> None:
    pinocchio = pytest.importorskip("reference.pinocchio", reason="Pinocchio is not installed")
    robot = px.load(name)
    if not covers(algorithm, robot):
        return
    for seed in range(5):
        state = robot.random_state(rng=seed)
        for given in MOTIONS:
            more = surroundings(robot, given, (), seed)
            tau = robot.inverse_dynamics(*state, **more, algorithm=algorithm)
            agree(tau, pinocchio.inverse_dynamics(robot, *state, **more), 1e-11)


@pytest.mark.parametrize("given", MOTIONS, ids=lambda names: "-".join(names) or "at rest")
@each_algorithm
def test_moving_bases_and_wrenches_agree_with_the_textbook(algorithm: str, given: tuple[str, ...]) -> None:
    for robot in (px.chain(6, seed=2), px.chain(5, seed=3, prismatic=0.5), px.load("panda")):
        if not covers(algorithm, robot):
            continue
        state = robot.random_state(rng=4)
        more = surroundings(robot, given, (), 5)
        tau = robot.inverse_dynamics(*state, **more, algorithm=algorithm)
        agree(tau, textbook.inverse_dynamics(robot, *state, **more))


@pytest.mark.parametrize("n", [1, 3, 6, 20])
@each_algorithm
def test_native_code_agrees_in_batches(algorithm: str, n: int) -> None:
    robot = px.chain(n, seed=1, prismatic=0.0 if algorithm == "zomaya_morris" else 0.3)
    state = robot.random_state((5, 3), rng=0)
    more = surroundings(robot, MOTIONS[-1] if n < 10 else (), (3,), 1)
    native = robot.inverse_dynamics(*state, **more, algorithm=algorithm, backend="native")
    agree(native, robot.inverse_dynamics(*state, **more, algorithm=algorithm, backend="numpy"), 1e-12)


@each_algorithm
def test_single_precision_stays_single(algorithm: str) -> None:
    robot = px.chain(7, seed=1, prismatic=0.0 if algorithm == "zomaya_morris" else 0.3)
    state = robot.random_state((4,), rng=0)
    tau = robot.inverse_dynamics(*(x.astype(np.float32) for x in state), algorithm=algorithm, backend="numpy")
    assert tau.dtype == np.float32
    agree(tau, robot.inverse_dynamics(*state), 1e-4)


ANY_CHAIN = '"cartesian_tensor", "newton_euler", "partition", "scan"'
REFUSED: list[tuple[px.Robot, str, str]] = [
    (px.tree(6, 0.9, seed=1), "it branches", '"cartesian_tensor", "newton_euler", "scan"'),
    (px.chain(3).with_floating_base(), "its base floats", ANY_CHAIN),
    (
        px.tree(3, 0.0, joints=("spherical",)),
        'joint "joint1" is neither revolute nor prismatic',
        ANY_CHAIN,
    ),
]


@pytest.mark.parametrize(("robot", "reason", "others"), REFUSED, ids=["tree", "floating", "spherical"])
@pytest.mark.parametrize("algorithm", CHAINS[:3])
def test_other_robots_are_refused_with_algorithms_that_cover_them(
    algorithm: str, robot: px.Robot, reason: str, others: str
) -> None:
    with pytest.raises(px.PhalanxError) as caught:
        robot.inverse_dynamics(*robot.random_state(rng=0), algorithm=algorithm)
    assert str(caught.value) == (
        f'inverse_dynamics: algorithm "{algorithm}" does not cover robot "{robot.name}": {reason}; '
        f"use {others}."
    )


@each_algorithm
def test_mimic_joints_are_refused_with_algorithms_that_cover_them(algorithm: str) -> None:
    builder = px.RobotBuilder("gripper")
    builder.add_link("base")
    for k, parent in enumerate(["base", "link0"]):
        builder.add_link(f"link{k}", mass=1.0, com=(0.1, 0.0, 0.0))
        mimic = {"mimic": ("joint0", 2.0)} if k else {}
        builder.add_joint(f"joint{k}", "revolute", parent, f"link{k}", axis=(0.0, 0.0, 1.0), **mimic)
    with pytest.raises(px.PhalanxError) as caught:
        builder.build().inverse_dynamics([0.1], [0.2], [0.3], algorithm=algorithm)
    assert str(caught.value) == (
        f'inverse_dynamics: algorithm "{algorithm}" does not cover robot "gripper" with its mimic joints; '
        'use "cartesian_tensor", "newton_euler", or load the robot with mimic="independent".'
    )


def test_a_slide_is_refused_by_who_only_turns() -> None:
    robot = px.load("stanford")
    with pytest.raises(px.PhalanxError, match=r'"stanford": joint "joint3" does not turn; use .*"lathrop"'):
        robot.inverse_dynamics(*robot.random_state(rng=0), algorithm="zomaya_morris")


def test_the_frames_of_the_equations_are_those_of_the_links() -> None:
    # w_i of Table 2 against the angular velocities that the Jacobians of the file's frames give.
    robot = px.load("stanford")
    q, qd, _ = robot.random_state(rng=0)
    chain = robot.model.dh
    A, w = rotations(chain, q), np.zeros(3)
    with ordering(Sequential(robot.model.parents)):
        for i in range(chain.n):
            w = A[i].T @ (w + chain.turns[i] * np.array([0.0, 0.0, qd[i]]))
            R = robot.forward_kinematics(q)[i, :3, :3]
            J = robot.jacobian(q, robot.link_names[i])[:3]
            agree(R @ (Tensor(chain.links.E[i]) @ w), J @ qd, 1e-13)
    assert offsets(chain, q).shape == (6, 3)
