# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Machines with loops: Cassie's legs from its SDF file, a delta robot and a gripper of four-bars."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.examples import example

EXAMPLES = Path(__file__).parents[2] / "examples"


def of_example(name: str, robot: str) -> px.Robot:
    spec = importlib.util.spec_from_file_location(robot, EXAMPLES / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: px.Robot = getattr(module, robot)()
    return made


def on_independent_rows(robot: px.Robot, q: Any, qd: Any, tau: Any) -> Any:
    """qdd of dense equations on an orthonormal basis of the rows, refined in extended precision."""
    U, size, V = np.linalg.svd(robot.constraint_jacobian(q), full_matrices=False)
    kept = size > 1e-7 * size[0]
    J = V[kept]
    bias = (U.T @ robot.constraint_bias(q, qd))[kept] / size[kept]
    m = len(J)
    K = np.block([[robot.mass_matrix(q), -J.T], [J, np.zeros((m, m))]])
    b = np.concatenate([tau - robot.bias_forces(q, qd), -bias])
    x = np.linalg.solve(K, b).astype(np.longdouble)
    for _ in range(4):
        x = x + np.linalg.solve(K, (b.astype(np.longdouble) - K.astype(np.longdouble) @ x).astype(float))
    return x[: robot.nv].astype(float)


def cassie() -> px.Robot:
    robot = example("cassie_v2.sdf", floating_base=True)
    if robot is None:
        pytest.skip("the package example-robot-data is not installed")
    return robot


MACHINES = {
    "cassie": (cassie, {}),
    "delta": (
        lambda: of_example("17_delta.py", "delta"),
        {"z": -0.5, "elbow0": 0.7, "elbow1": 0.7, "elbow2": 0.7},
    ),
    "gripper": (lambda: of_example("16_gripper.py", "gripper"), {"left_motor": 0.3, "right_motor": -0.2}),
}


@pytest.mark.filterwarnings("ignore:.*loop:phalanx.PhalanxWarning")
@pytest.mark.parametrize("algorithm", ["dense", "articulated"])
@pytest.mark.parametrize("name", MACHINES)
def test_machines_move_as_dense_equations_in_extended_precision_say(name: str, algorithm: str) -> None:
    made, start = MACHINES[name]
    robot = made()
    q = robot.neutral()
    for joint, value in start.items():
        q[robot.q_slices[joint].start] = value
    q = robot.close_loops(q, strict=True).q
    rng = np.random.default_rng(0)
    J = robot.constraint_jacobian(q)
    for _ in range(3):
        qd, tau = rng.normal(size=(2, robot.nv))
        qd -= np.linalg.pinv(J, rcond=1e-7) @ (J @ qd)
        found = robot.constrained_dynamics(q, qd, tau, algorithm=algorithm)
        expected = on_independent_rows(robot, q, qd, tau)
        assert np.abs(found.qdd - expected).max() < 1e-9 * np.abs(expected).max()
        assert np.abs(J @ found.qdd + robot.constraint_bias(q, qd)).max() < 1e-8 * np.abs(expected).max()


@pytest.mark.filterwarnings("ignore:.*loop:phalanx.PhalanxWarning")
def test_cassies_file_has_four_loops_which_hold_at_its_neutral_configuration() -> None:
    robot = cassie()
    assert [c.kind for c in robot.constraints] == ["point"] * 4
    closed = robot.close_loops(robot.neutral() + 0.0)
    assert closed.converged
    assert np.abs(robot.constraint_error(closed.q)).max() < 1e-10
