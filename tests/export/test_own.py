# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Users' own functions as C: the numbers of the compiled function."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native.compile import host
from phalanx.export.api import requested, write
from phalanx.export.c import prototypes
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


def pull(t: Any, q: Any, qd: Any, u: Any, robot: Any, *, gain: Any) -> Any:
    return gain * (u - q) - qd + robot.gravity_forces(q)


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_laws_are_exported_as_the_forces_that_they_return(tmp_path: Path) -> None:
    robot = px.load("two_link")
    sim = robot.simulation(1e-3, control=pull, controls=2, parameters={"gain": 2, "damping": 2})
    assert list(sim.law.inputs) == ["t", "q", "qd", "u", "gain"]
    assert sim.law is sim.law
    pd = px.control.pd("kp", 3.0)
    assert robot.function(pd).inputs["kp"] == (2,)
    driven = robot.simulation(1e-3, control=pd)
    assert list(driven.law.inputs) == ["t", "q", "qd", "u", "kp"]
    library = Library(robot, {"tau": sim.law, "pd": pd, "plain": held}, tmp_path, "float64", COMPILERS[0])
    rng = np.random.default_rng(0)
    q, qd, u, gain = rng.normal(size=(4, 3, 2))
    t = np.zeros((3, 1))
    for row, made in enumerate(library("tau", t, q, qd, u, gain)[0]):
        expected = pull(0.0, q[row], qd[row], u[row], robot, gain=gain[row])
        np.testing.assert_allclose(made, expected, rtol=1e-13, atol=1e-13)
    expected = gain * (u - q) - 3.0 * qd + robot.gravity_forces(q)
    np.testing.assert_allclose(library("pd", t, q, qd, u, gain)[0], expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(library("plain", q)[0], robot.gravity_forces(q), rtol=1e-13, atol=1e-13)
    with pytest.raises(px.PhalanxError, match=r"law: this simulation .* has none"):
        _ = robot.simulation(1e-3).law
    with pytest.raises(px.PhalanxError, match=r"takes 'gain'.*whose size is not known"):
        robot.export(tmp_path / "arm.h", {"tau": pull})


def held(q: Any, robot: Any) -> Any:
    return robot.gravity_forces(q)


FLAGS = (
    (),
    ("-DARM_LANES=4",),
    ("-mavx2", "-mfma", "-fno-math-errno", "-fno-trapping-math", "-DARM_LANES=4"),
)


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.skipif(not host().fma, reason="no multiply-add")
@pytest.mark.parametrize("flags", FLAGS, ids=len)
def test_lanes_and_flags_that_vectorise_change_no_bits(flags: tuple[str, ...], tmp_path: Path) -> None:
    robot = px.load("panda")
    f = robot.function(reach, goal=3)
    library = Library(robot, {"reach": f}, tmp_path, "float64", COMPILERS[0], ("-O2", *flags))
    q, qd, _ = robot.random_state((9,), np.random.default_rng(0))
    goal = np.random.default_rng(1).normal(size=(9, 3))
    together, apart = (library("reach", q, qd, goal, batch=batch) for batch in (True, False))
    for one, other in zip(together, apart, strict=True):
        np.testing.assert_array_equal(one, other)
    if "-mfma" in flags:
        np.testing.assert_array_equal(together[0], f(q, qd, goal)["tau"])


@pytest.mark.skipif("gcc" not in COMPILERS, reason="no gcc")
@pytest.mark.parametrize("flags", [("-O1",), ("-O2", "-march=native")], ids=len)
def test_functions_need_no_more_stack_than_their_export_says(flags: tuple[str, ...], tmp_path: Path) -> None:
    robot = px.load("panda")
    functions = {"reach": robot.function(reach, goal=3), "M": "mass_matrix", "fd": "forward_dynamics"}
    request = requested(robot, tmp_path / "arm.c", functions, "float64")
    write(request)
    command = ["gcc", *flags, "-fstack-usage", "-c", "arm.c", "-o", "arm.o"]
    subprocess.run(command, cwd=tmp_path, check=True)
    rows = [line.split("\t") for line in (tmp_path / "arm.su").read_text().splitlines()]
    used = {row[0].rpartition(":")[2]: int(row[1]) for row in rows}
    told = {d.partition("(")[0].removeprefix("void "): stack for d, stack in prototypes(request)}
    assert used.keys() == told.keys()
    for name, stack in told.items():
        assert used[name] <= stack, name
    assert told["arm_M"] < 6 * used["arm_M"]
    assert f"needs at most {told['arm_fd']} bytes of stack" in (tmp_path / "arm.c").read_text().replace(
        "\n * ", " "
    )


def test_results_whose_names_are_one_identifier_are_refused_by_name(tmp_path: Path) -> None:
    robot = px.load("panda")
    f = robot.function(lambda q, robot: {"a": {"b": q}, "a_b": 2 * q})
    for each in (f, f.vjp):
        with pytest.raises(px.PhalanxError, match=r'arrays ".*a\.b" and ".*a_b" are both called .*a_b'):
            robot.export(tmp_path / "cl.h", {"f": each})
    assert not (tmp_path / "cl.h").exists()
