# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Thousands of links in a row: nothing recurses, and work and memory grow with their number only."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.effort import calls_of, memory_of
from reference.sampling import agree

N = 3_000


@pytest.fixture(scope="module")
def long() -> px.Robot:
    return px.chain(N)


def test_its_dynamics_run_and_invert_each_other(long: px.Robot) -> None:
    q, qd, qdd = long.random_state(rng=0)
    qd, qdd = 0.01 * qd, 0.01 * qdd
    tau = long.inverse_dynamics(q, qd, qdd, backend="numpy")
    found = long.forward_dynamics(q, qd, tau, algorithm="aba", backend="numpy")
    back = long.inverse_dynamics(q, qd, found, backend="numpy")
    agree(back, tau, 1e-11)
    agree(found, qdd, 1e-4)


def test_its_kinematics_and_energies_run(long: px.Robot) -> None:
    q, qd, _ = long.random_state(rng=0)
    poses = long.forward_kinematics(q, backend="numpy")
    J = long.jacobian(q, f"link{N}", backend="numpy")
    energy = long.kinetic_energy(q, qd, backend="numpy")
    centre = long.center_of_mass(q, backend="numpy")
    agree(poses[-1, :3, :3] @ poses[-1, :3, :3].T, np.eye(3), 1e-11)
    assert J.shape == (6, N)
    assert energy > 0
    assert np.isfinite(centre).all()
    assert (long.is_serial, long.depth, long.n_links) == (True, N, N)


def test_it_pickles_copies_compares_and_changes(long: px.Robot) -> None:
    for other in (pickle.loads(pickle.dumps(long)), copy.deepcopy(long)):
        assert other == long
        assert hash(other) == hash(long)
        assert other.digest == long.digest
    assert long.fix({"joint1500": 0.1}).nv == N - 1
    assert long.with_payload(f"link{N}", 1.0).total_mass == pytest.approx(long.total_mass + 1.0)


def test_it_is_saved_and_loaded_to_the_bit(long: px.Robot, tmp_path: Path) -> None:
    long.save(tmp_path / "long.json")
    assert px.load(tmp_path / "long.json").digest == long.digest


def test_its_urdf_loads_and_runs() -> None:
    link = (
        '<link name="l{0}"><inertial><origin xyz="0.05 0 0"/><mass value="0.1"/>'
        '<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    joint = (
        '<joint name="j{1}" type="revolute"><parent link="l{0}"/><child link="l{1}"/>'
        '<origin xyz="0.1 0 0" rpy="0.5 0 0"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" effort="9" velocity="9"/></joint>'
    )
    links = "".join(link.format(i) for i in range(N + 1))
    joints = "".join(joint.format(i, i + 1) for i in range(N))
    robot = px.load(f'<robot name="long">{links}{joints}</robot>')
    assert (robot.nv, robot.depth, robot.joint_names[-1]) == (N, N, f"j{N}")
    q, qd, qdd = robot.random_state(rng=1)
    assert np.isfinite(robot.inverse_dynamics(q, qd, qdd, backend="numpy")).all()
    assert np.isfinite(robot.forward_dynamics(q, 0.0 * qd, qdd, algorithm="aba", backend="numpy")).all()


def test_a_star_of_many_branches_runs_as_well() -> None:
    robot = px.tree(3000, branching=1.0, seed=0)
    q, qd, qdd = robot.random_state(rng=0)
    tau = robot.inverse_dynamics(q, qd, qdd, backend="numpy")
    agree(robot.forward_dynamics(q, qd, tau, algorithm="aba", backend="numpy"), qdd, 1e-8)


WORK: dict[str, Callable[[px.Robot, Any], Any]] = {
    "inverse dynamics": lambda robot, state: robot.inverse_dynamics(*state, backend="numpy"),
    "forward dynamics": lambda robot, state: robot.forward_dynamics(*state, algorithm="aba", backend="numpy"),
    "poses": lambda robot, state: robot.forward_kinematics(state[0], backend="numpy"),
    "Jacobian": lambda robot, state: robot.jacobian(state[0], robot.link_names[-1], backend="numpy"),
    "energy": lambda robot, state: robot.kinetic_energy(*state[:2], backend="numpy"),
    "pickling": lambda robot, _: pickle.loads(pickle.dumps(robot)) == robot,
    "copying": lambda robot, _: copy.deepcopy(robot),
    "fixing a joint": lambda robot, _: robot.fix({"joint50": 0.1}),
    "a payload": lambda robot, _: robot.with_payload(robot.link_names[-1], 1.0),
    "writing and reading": lambda robot, _: px.load(robot.to_urdf()),
}


@pytest.mark.parametrize("work", WORK)
def test_work_and_memory_grow_with_the_number_of_links_only(work: str) -> None:
    def effort(n: int) -> tuple[int, int]:
        robot = px.chain(n)
        state = robot.random_state(rng=0)
        WORK[work](robot, state)  # what is found out once per robot
        robot = px.chain(n)
        return calls_of(lambda: WORK[work](robot, state)), memory_of(lambda: WORK[work](robot, state))

    small, large = effort(100), effort(400)
    assert large[0] < 4.4 * small[0]
    assert large[1] < 5.0 * small[1]
