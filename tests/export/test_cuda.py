# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Exported CUDA: host compilers accept it and have the kernels' bits; nvcc compiles it without a spill."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.cuda_library import nvcc, on_host

ARCHITECTURES = (75, 80, 90, 100, 120)


@pytest.mark.parametrize(("compiler", "dtype"), [("g++", "float32"), ("clang++", "float64")])
def test_the_host_computes_what_kernels_do(compiler: str, dtype: Any, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    for robot in (px.load("ur5"), px.chain(70, seed=2)):
        q, qd, x = (a.astype(dtype) for a in robot.random_state(9, rng=0))
        inputs = {"inverse_dynamics": [q, qd, x], "mass_matrix": [q], "forward_dynamics": [q, qd, x]}
        found = on_host(robot, tuple(inputs), tmp_path, dtype, compiler, inputs)
        for function, given in inputs.items():
            np.testing.assert_array_equal(found[function][0], getattr(robot, function)(*given))


def test_far_angles_are_turned_by_the_library(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    robot = px.load("two_link")
    q, qd, qdd = robot.random_state(3, rng=0)
    q[1] = [4e7, -3e15]
    found = on_host(robot, "inverse_dynamics", tmp_path, "float64", "g++", {"inverse_dynamics": [q, qd, qdd]})
    wanted = robot.inverse_dynamics(q, qd, qdd, backend="numpy")
    np.testing.assert_allclose(found["inverse_dynamics"][0], wanted, rtol=1e-11)


LAUNCH = """#include "arm.cuh"
void gravity(unsigned long long count, const double *q, double *tau) {
  arm_gravity_forces_kernel<<<(unsigned)((count + 63) / 64), ARM_GROUP>>>(count, q, tau);
}
"""


def compiled(folder: Path, source: str, architectures: tuple[int, ...]) -> str:
    """What nvcc reports of a file, without a warning."""
    if (compiler := nvcc()) is None:
        pytest.skip("nvcc is not installed; pip install nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm")
    (folder / "all.cu").write_text(source)
    kinds = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in architectures]
    command = [compiler, "-fmad=false", "-Xptxas=-v", "-Werror=all-warnings", *kinds, "-c", "all.cu"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_nvcc_compiles_kernels_for_every_architecture_without_spills(tmp_path: Path) -> None:
    px.load("panda").export(tmp_path / "arm.cu", ("inverse_dynamics", "mass_matrix"), dtype="float32")
    px.chain(70, seed=2).export(tmp_path / "chain.cu", "inverse_dynamics")
    report = compiled(tmp_path, '#include "arm.cu"\n#include "chain.cu"\n', ARCHITECTURES)
    for architecture in ARCHITECTURES:
        for kernel in ("arm_inverse_dynamics_kernel", "arm_mass_matrix_kernel"):
            told = report.partition(f"'{kernel}' for 'sm_{architecture}'")[2]
            assert re.search(r"(\d+) bytes spill stores", told)[1] == "0"  # type: ignore[index]
            assert int(re.search(r"Used (\d+) registers", told)[1]) <= 128  # type: ignore[index]


def test_kernels_of_a_header_are_launched_where_it_is_included(tmp_path: Path) -> None:
    px.load("two_link").export(tmp_path / "arm.cuh", ("gravity_forces", "mass_matrix"))
    assert "arm_gravity_forces_kernel" in compiled(tmp_path, LAUNCH, (80,))
