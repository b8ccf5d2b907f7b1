# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One table of robots, functions and precisions in every language: by how many ulp they differ.

`pytest -s tests/export/test_same_numbers.py` prints it. A unit is that of the largest number of a result.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native.compile import host
from phalanx.export.api import entries
from reference import opencl_device
from reference.c_library import Library
from reference.cuda_library import on_host
from reference.node import called
from reference.unfused import unfused

ROBOTS: dict[str, Callable[[], px.Robot]] = {
    "panda": lambda: px.load("panda"),
    "puma560": lambda: px.load("puma560"),
    "tree": lambda: px.tree(6, joints=("revolute", "spherical", "prismatic", "floating"), seed=5),
    "chain of 70": lambda: px.chain(70, seed=2),
}
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
COUNT = 19  # a tail for every width
Results = dict[str, np.ndarray]


def _native(robot: px.Robot, inputs: dict[str, list[np.ndarray]], folder: Path) -> Results:
    return {f: getattr(robot, f)(*x) for f, x in inputs.items()}


def _numpy(robot: px.Robot, inputs: dict[str, list[np.ndarray]], folder: Path) -> Results:
    return {f: getattr(robot, f)(*x, backend="numpy") for f, x in inputs.items()}


def _c(compiler: str) -> Any:
    def run(robot: px.Robot, inputs: dict[str, list[np.ndarray]], folder: Path) -> Results:
        dtype = inputs["inverse_dynamics"][0].dtype.name
        library = Library(robot, FUNCTIONS, folder, dtype, compiler, ("-O1", "-march=native"))
        return {f: library(f, *x)[0] for f, x in inputs.items()}

    return run


def _wasm(robot: px.Robot, inputs: dict[str, list[np.ndarray]], folder: Path) -> Results:
    dtype: Any = inputs["inverse_dynamics"][0].dtype.name
    robot.export(folder / "arm.wasm", FUNCTIONS, dtype=dtype)
    found = {}
    for entry in entries(robot, FUNCTIONS):
        given = dict(zip(entry.inputs, inputs[entry.name], strict=True))
        _, many = called(folder, entry.name, given, entry.outputs)
        (found[entry.name],) = many.values()
    return found


def _cuda(robot: px.Robot, inputs: dict[str, list[np.ndarray]], folder: Path) -> Results:
    dtype = inputs["inverse_dynamics"][0].dtype.name
    return {f: x[0] for f, x in on_host(robot, FUNCTIONS, folder, dtype, "g++", inputs).items()}


def _opencl(robot: px.Robot, inputs: dict[str, list[np.ndarray]], folder: Path) -> Results:
    dtype: Any = inputs["inverse_dynamics"][0].dtype.name
    return {f: robot.kernel(f, dtype=dtype, device="opencl")(*x) for f, x in inputs.items()}


def _unfused(robot: px.Robot, inputs: dict[str, list[np.ndarray]], folder: Path) -> Results:
    return {f: unfused(robot, f, x) for f, x in inputs.items()}


# A language, what it needs on this machine, and with whom it must agree in every bit.
LANGUAGES: dict[str, tuple[Any, str, str]] = {
    "NumPy": (_numpy, "", ""),
    "C, gcc": (_c("gcc"), "gcc", "native"),
    "C, clang": (_c("clang"), "clang", "native"),
    "CUDA on the host": (_cuda, "g++", "native"),
    **({"OpenCL": (_opencl, "", "native")} if not opencl_device.missing() else {}),
    "native without fused multiply-adds": (_unfused, "", ""),
    "WebAssembly": (_wasm, "node", "native without fused multiply-adds"),
}
# Units that algorithms with other orders of operations may differ: mass matrices are inverted by some.
BOUND = {"inverse_dynamics": 64, "mass_matrix": 64, "forward_dynamics": 1e5}


def units(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference in units in the last place of the largest number of a state's result."""
    rows = wanted.reshape(COUNT, -1).astype(float)
    unit = np.finfo(wanted.dtype).eps * np.abs(rows).max(axis=1, keepdims=True)
    return float((np.abs(found.reshape(COUNT, -1) - rows) / unit).max())


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("panda", "float64"),
        ("panda", "float32"),
        ("puma560", "float32"),
        ("tree", "float64"),
        ("chain of 70", "float64"),
    ],
)
def test_every_language_gives_the_same_numbers(name: str, dtype: str, tmp_path: Path) -> None:
    robot = ROBOTS[name]()
    q, qd, x = (a.astype(dtype) for a in robot.random_state(COUNT, rng=0))
    inputs = {"inverse_dynamics": [q, qd, x], "forward_dynamics": [q, qd, x], "mass_matrix": [q]}
    made = {"native": _native(robot, inputs, tmp_path)}
    print(f"\n{robot.name}, {dtype}: units in the last place, or = where all bits are equal")
    for language, (run, program, exactly) in LANGUAGES.items():
        if program and shutil.which(program) is None:
            print(f"  {language}: {program} is not installed")
            continue
        made[language] = run(robot, inputs, tmp_path)
        told = []
        for f in FUNCTIONS:
            found, wanted = made[language][f], made["native"][f]
            told.append(f"{f} {'=' if np.array_equal(found, wanted) else f'{units(found, wanted):.1f}'}")
            assert units(found, wanted) < BOUND[f], (language, f)
            if exactly == "native" and host().fma:
                np.testing.assert_array_equal(found, wanted, err_msg=f"{language}, {f}")
            elif exactly and exactly != "native":
                np.testing.assert_array_equal(found, made[exactly][f], err_msg=f"{language}, {f}")
        print(f"  {language}: {', '.join(told)}")


@pytest.mark.parametrize("frame", ["panda_hand", "panda_link3"])
def test_functions_of_a_frame_differ_from_kernels_by_rounding_only(frame: str, tmp_path: Path) -> None:
    """The frame is folded into exported code; kernels are told theirs."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    robot = px.load("panda")
    q, qd, x = robot.random_state(COUNT, rng=0)
    inputs = {"frame_pose": [q], "jacobian": [q], "frame_acceleration": [q, qd, x]}
    library = Library(robot, {f: f"{f}:{frame}" for f in inputs}, tmp_path)
    for function, arrays in inputs.items():
        wanted = getattr(robot, function)(*arrays, frame)
        for batch in (True, False):
            assert units(library(function, *arrays, batch=batch)[0], wanted) < 16
