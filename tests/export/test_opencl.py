# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Exported OpenCL C, built and run on PoCL: its kernels, and its functions in a kernel of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference import opencl_device

cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")

from phalanx.backends.devices.opencl_programs import default_queue  # noqa: E402

OWN = """
__kernel void own(__global const float *q, __global float *M) {
  float x[ARM_NV], result[ARM_NV * ARM_NV];
  const size_t i = get_global_id(0);
  for (int k = 0; k < ARM_NV; ++k) x[k] = q[i * ARM_NV + k];
  arm_mass_matrix(x, result);
  for (int k = 0; k < ARM_NV * ARM_NV; ++k) M[i * ARM_NV * ARM_NV + k] = result[k];
}
"""


@pytest.fixture(scope="module")
def queue() -> Any:
    if opencl_device.missing():
        pytest.skip(opencl_device.missing())
    return default_queue()


def run(
    queue: Any, kernel: Any, arrays: list[np.ndarray], out: np.ndarray, sizes: Any, count: bool = True
) -> np.ndarray:
    """`out` as a kernel fills it."""
    flags = cl.mem_flags
    buffers = [
        cl.Buffer(queue.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=x) for x in (*arrays, out)
    ]
    kernel(queue, *sizes, *([np.uint64(len(out))] if count else []), *buffers)
    cl.enqueue_copy(queue, out, buffers[-1])
    return out


def test_kernels_and_functions_of_a_file(queue: Any, tmp_path: Path) -> None:
    robot = px.load("two_link")
    robot.export(tmp_path / "arm.cl", ("mass_matrix", "gravity_forces"), dtype="float32", vectors=True)
    text = (tmp_path / "arm.cl").read_text()
    assert "float8" in text
    q = robot.random_state(70, rng=0)[0].astype(np.float32)
    program = cl.Program(queue.context, text + OWN).build()
    M = robot.kernel("mass_matrix", dtype="float32")(q)
    made = [
        run(queue, program.arm_mass_matrix_kernel, [q], np.zeros_like(M), ((64,), (64,))),
        run(queue, program.arm_mass_matrix_vectors, [q], np.zeros_like(M), ((2,), (1,))),
        run(queue, program.own, [q], np.zeros_like(M), ((70,), None), count=False),
    ]
    for found in made:
        np.testing.assert_array_equal(found, M)


def test_steps_of_simulations_have_all_elementary_functions(queue: Any, tmp_path: Path) -> None:
    """Vectors and single states go the same way through exponentials, limits and choices."""
    robot = px.load("two_link")

    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        soft = np.tanh(u - q) + np.exp(-qd * qd) + np.arctan2(q, 2.0) + np.log(3.0 + qd * qd)
        return np.clip(soft, -2.0, 1.5)

    sim = robot.simulation(dt=1e-3, control=law)
    robot.export(tmp_path / "arm.cl", {"ahead": sim}, vectors=True)
    text = (tmp_path / "arm.cl").read_text()
    program = cl.Program(queue.context, text).build()
    from phalanx.export.api import entries

    (entry,) = entries(robot, {"ahead": sim})
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(-3, 3, (11, *shape)) for shape in entry.inputs.values()]
    outs = [np.zeros((11, *shape)) for shape in entry.outputs.values()]
    flags = cl.mem_flags
    results = []
    for kernel, sizes in (("kernel", ((64,), (64,))), ("vectors", ((1,), (1,)))):
        buffers = [
            cl.Buffer(queue.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=x)
            for x in (*arrays, *outs)
        ]
        getattr(program, f"arm_ahead_{kernel}")(queue, *sizes, np.uint64(11), *buffers)
        found = [np.empty_like(x) for x in outs]
        for x, buffer in zip(found, buffers[len(arrays) :], strict=True):
            cl.enqueue_copy(queue, x, buffer)
        results.append(found)
    for one, many in zip(*results, strict=True):
        np.testing.assert_array_equal(one, many)


def test_options_are_checked(tmp_path: Path) -> None:
    robot = px.load("two_link")
    with pytest.raises(px.PhalanxError, match="vectors is 3, expected True or False"):
        robot.export(tmp_path / "arm.cl", vectors=3)
    with pytest.raises(px.PhalanxError, match="have no option 'casadi'"):
        robot.export(tmp_path / "arm.cu", casadi=True)
    assert not list(tmp_path.iterdir())
