# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.export("arm.ptx")`: kernels, functions, and how they are launched."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.export.api import entries
from phalanx.simulation.integrators import INTEGRATORS
from reference.ptx_machine import Machine
from reference.ptxas import assemble, ptxas


def test_the_file_tells_how_to_launch_what_it_holds(tmp_path: Path) -> None:
    robot = px.load("ur5").replace(name="arm é")
    (path,) = robot.export(tmp_path / "arm.ptx", ("inverse_dynamics", "mass_matrix"), dtype="float32")
    text = path.read_text(encoding="ascii")  # assemblers take nothing else, not even in comments
    told = re.search(r"arm_mass_matrix<<<blocks, (\d+)>>>\(int64_t count, const float \*q, float \*M\)", text)
    assert told is not None
    q = np.random.default_rng(0).normal(size=(200, 6)).astype(np.float32)
    machine = Machine(text)
    memory = machine.memory["global"]
    given, result = memory.allocate(q.tobytes()), memory.allocate(200 * 36 * 4)
    machine.launch("arm_mass_matrix", 2, int(told[1]), [200, given, result])
    start = result - memory.base
    found = memory.data[start : start + 200 * 36 * 4].view(np.float32).reshape(200, 6, 6)
    assert np.array_equal(found, robot.mass_matrix(q))
    assert ".target sm_75" in text
    for name in ("arm_inverse_dynamics", "arm_inverse_dynamics_state", "arm_mass_matrix_state"):
        assert re.search(rf"\.visible \.(entry|func) +{name}\(", text)


def test_loops_tell_the_workspace_they_need(tmp_path: Path) -> None:
    (path,) = px.chain(100).export(tmp_path / "arm.ptx", "forward_dynamics", target="sm_120")
    text = path.read_text(encoding="utf-8")
    assert re.search(r"// workspace: \d+ bytes for each block\n", text)
    assert "double *workspace" in text
    assert ".target sm_120" in text


@pytest.mark.skipif(ptxas() is None, reason="the package nvidia-cuda-nvcc is not installed")
def test_a_simulation_step_is_accepted(tmp_path: Path) -> None:
    robot = px.load("panda")
    (path,) = robot.export(tmp_path / "arm.ptx", robot.simulation(dt=1e-3), dtype="float32", target="sm_90")
    assert assemble(path.read_text(encoding="utf-8"), "sm_90", "arm_step").registers <= 255


def test_an_unknown_target_is_refused_and_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(px.PhalanxError, match=r'unknown target.*"sm_80"'):
        px.load("ur5").export(tmp_path / "arm.ptx", target="sm_81")
    assert list(tmp_path.iterdir()) == []


STEPPED = {
    "two_link": lambda: px.load("two_link"),
    "panda": lambda: px.load("panda"),
    "floating": lambda: px.tree(2, seed=1, joints=("revolute", "prismatic")).with_floating_base(),
    "ball": lambda: px.tree(2, seed=5, joints=("revolute", "spherical")),
}


# Of all pairs, those that are run as well: machines of NumPy's are slow.
RUN = [
    ("two_link", "rk4"),
    ("two_link", "variational"),
    ("floating", "implicit"),
    ("ball", "rk4"),
    ("ball", "euler"),
]


@pytest.mark.parametrize(("name", "integrator"), list(product(STEPPED, INTEGRATORS)))
def test_a_step_of_every_integrator_is_written(name: str, integrator: Any, tmp_path: Path) -> None:
    robot = STEPPED[name]()
    (path,) = robot.export(tmp_path / "arm.ptx", robot.simulation(dt=1e-3, integrator=integrator))
    assert ".visible .entry arm_step(" in path.read_text(encoding="ascii")


@pytest.mark.parametrize(("name", "integrator"), RUN)
def test_a_step_gives_the_bits_of_the_processor(name: str, integrator: Any, tmp_path: Path) -> None:
    robot = STEPPED[name]()
    sim = robot.simulation(dt=1e-3, integrator=integrator)
    (path,) = robot.export(tmp_path / "arm.ptx", sim)
    text = path.read_text(encoding="ascii")
    q, qd, tau = robot.random_state(3, rng=2)
    machine = Machine(text)
    memory = machine.memory["global"]
    (entry,) = entries(robot, sim)
    given = {"q": q, "qd": qd, "u": tau, "time": np.zeros((3, 1))}
    places = [memory.allocate(np.ascontiguousarray(given[each]).tobytes()) for each in entry.inputs]
    outs = [memory.allocate(3 * 8 * n) for n in (robot.nq, robot.nv)]
    told = re.search(r"arm_step<<<blocks, (\d+)>>>", text)
    assert told is not None
    machine.launch("arm_step", 1, int(told[1]), [3, *places, *outs])
    wanted = sim.step(q, qd, tau)
    for place, expected in zip(outs, wanted, strict=True):
        start = place - memory.base
        made = memory.data[start : start + expected.nbytes].view(np.float64).reshape(expected.shape)
        np.testing.assert_array_equal(made, expected)
