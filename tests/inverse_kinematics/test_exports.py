# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse kinematics as C, and as WebAssembly: the bits of the method, a bound, no allocation."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native.compile import host
from phalanx.inverse_kinematics.iteration import BOUND
from reference.c_library import Library

COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]
NAME = "inverse_kinematics_panda_hand"


def tracking(count: int) -> tuple[px.Robot, np.ndarray, np.ndarray]:
    """A Panda, starts at most 0.3 rad away from a solution, and targets."""
    robot, rng = px.load("panda"), np.random.default_rng(0)
    q = robot.random_state((count,), rng)[0]
    start = np.clip(q + rng.uniform(-0.3, 0.3, q.shape), robot.limits.lower, robot.limits.upper)
    return robot, start, robot.frame_pose(q, "panda_hand")


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize("compiler", COMPILERS)
def test_c_has_the_bits_of_the_method_and_a_bound(compiler: str, tmp_path: Path) -> None:
    robot, start, poses = tracking(200)
    flags = ("-O1", "-march=native") if host().fma else ("-O1",)
    library = Library(robot, "inverse_kinematics:panda_hand", tmp_path, "float64", compiler, flags)
    source = (tmp_path / "arm.c").read_text()
    assert "malloc" not in source
    assert f"at most {BOUND}" in " ".join(source.replace("*", " ").split())
    settings = np.tile([1e-6, 1.0, 20.0, 0.0], (200, 1))
    found = robot.inverse_kinematics({"panda_hand": poses}, start, seeds=1, iterations=20)
    q, error, facts = library(NAME, start, poses, settings)
    assert np.array_equal(q, found.q)
    assert np.array_equal(facts[:, 0] > 0.5, found.converged)
    assert np.array_equal(facts[:, 1], found.iterations)
    assert facts[:, 1].max() <= 20
    assert np.allclose(error, found.error, atol=1e-12)
    endless = np.tile([1e-6, 1e9, 1e9, 0.0], (2, 1))
    far = np.stack([np.eye(4)] * 2)
    far[:, :3, 3] = 9.0
    assert (library(NAME, start[:2], far, endless)[2][:, 1] == BOUND).all()


def test_webassembly(tmp_path: Path) -> None:
    from reference.node import called

    robot, start, poses = tracking(20)
    robot.export(tmp_path / "arm.wasm", "inverse_kinematics:panda_hand")
    settings = np.tile([1e-6, 1.0, 20.0, 0.0], (20, 1))
    inputs = {"start": start, "targets": poses.reshape(20, 16), "settings": settings}
    outputs: dict[str, Any] = {"q": (7,), "error": (6,), "facts": (3,)}
    wanted = robot.inverse_kinematics({"panda_hand": poses}, start, seeds=1, iterations=20)
    for found in called(tmp_path, NAME, inputs, outputs):
        assert np.allclose(found["q"], wanted.q, atol=1e-9)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-6), ("float32", 1e-4)])
def test_opencl_solves_what_the_method_solves(dtype: str, tolerance: float, tmp_path: Path) -> None:
    from reference import opencl_device

    if opencl_device.missing():
        pytest.skip(opencl_device.missing())
    import pyopencl as cl

    from phalanx.backends.devices.opencl_programs import default_queue

    robot, start, poses = tracking(100)
    robot.export(tmp_path / "arm.cl", "inverse_kinematics:panda_hand", dtype=dtype)
    queue, flags = default_queue(), cl.mem_flags
    kernel = getattr(
        cl.Program(queue.context, (tmp_path / "arm.cl").read_text()).build(), f"arm_{NAME}_kernel"
    )
    settings = np.tile([tolerance, 8.0, 50.0, 0.0], (100, 1))
    given = [np.ascontiguousarray(x, dtype) for x in (start, poses.reshape(100, 16), settings)]
    outs = [np.full((100, n), np.nan, dtype) for n in (7, 6, 3)]
    buffers = [
        cl.Buffer(queue.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=x) for x in (*given, *outs)
    ]
    kernel(queue, (64,), (64,), np.uint64(100), *buffers)
    for out, buffer in zip(outs, buffers[3:], strict=True):
        cl.enqueue_copy(queue, out, buffer)
    q, _, facts = outs
    assert (facts[:, 0] > 0.5).all()
    assert ((q.astype(float) >= robot.limits.lower) & (q.astype(float) <= robot.limits.upper)).all()
    assert np.abs(robot.frame_pose(q.astype(float), "panda_hand") - poses).max() < 3.0 * tolerance
    wanted = robot.inverse_kinematics(
        {"panda_hand": poses.astype(dtype)}, start.astype(dtype), tolerance=tolerance, seeds=8, iterations=50
    )
    assert (np.abs(q - wanted.q).max(axis=-1) < 100.0 * tolerance).mean() >= 0.98


def test_wrong_names_are_refused(tmp_path: Path) -> None:
    robot = px.load("panda")
    with pytest.raises(px.PhalanxError, match="of the pose of a frame"):
        robot.export(tmp_path / "a.h", "inverse_kinematics")
    with pytest.raises(px.PhalanxError, match='did you mean "panda_hand"'):
        robot.export(tmp_path / "a.h", "inverse_kinematics:panda_hnd")
