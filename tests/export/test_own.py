# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Users' own functions as C: the numbers of the compiled function."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.export.api import requested
from reference.c_library import Library

COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]


def reach(q: Any, qd: Any, goal: Any, robot: Any) -> Any:
    """Forces towards a point, and the distance."""
    error = goal - robot.frame_pose(q, "panda_hand")[:3, 3]
    J = robot.jacobian(q, "panda_hand")[3:]
    force = 50.0 * error - 10.0 * (J @ qd)
    return {"tau": J.T @ force + robot.gravity_forces(q), "distance": np.linalg.norm(error)}


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_function_and_its_derivatives_as_c(compiler: str, tmp_path: Path) -> None:
    robot = px.load("panda")
    f = robot.function(reach, goal=3)
    functions = {"reach": f, "grad": f.vjp, "M": "mass_matrix", "J": f.jacobian("tau", "q")}
    library = Library(robot, functions, tmp_path, "float64", compiler, ("-O1", "-march=native"))
    q, qd, _ = robot.random_state((5,), np.random.default_rng(0))
    goal = np.random.default_rng(1).normal(size=(5, 3))
    made = f(q, qd, goal)
    tau, distance = library("reach", q, qd, goal)
    assert np.array_equal(tau, made["tau"])
    assert np.array_equal(distance.reshape(5), made["distance"])
    weights = (np.ones((5, 7)), np.full(5, 2.0))
    slopes = f.vjp((q, qd, goal), dict(zip(("tau", "distance"), weights, strict=True)))
    for mine, theirs in zip(
        library("grad", q, qd, goal, weights[0], weights[1][:, None]), slopes, strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-13, atol=1e-13)
    (jacobian,) = library("J", q, qd, goal)
    np.testing.assert_allclose(jacobian.reshape(5, 7, 7), f.jacobian("tau", "q")(q, qd, goal), atol=1e-12)


def test_the_version_of_a_file_follows_the_code_of_a_function(tmp_path: Path) -> None:
    robot = px.load("two_link")
    versions = set()
    for gain in (1.0, 2.0):
        f = robot.function(lambda q, gain=gain: gain * q)
        versions.add(requested(robot, tmp_path / "a.h", {"f": f}, "float64").version)
    assert len(versions) == 2
