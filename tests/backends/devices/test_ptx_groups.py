# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""PTX whose blocks have one state each: run by the machine of the tests, accepted by NVIDIA's assembler."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.devices.base import WorkGroup
from phalanx.backends.devices.cuda import CudaKernel
from phalanx.backends.devices.cuda_driver import Driver
from phalanx.backends.devices.ptx_groups import GroupLayout, assembled_group
from phalanx.dispatch import resolve
from phalanx.program.grouped import grouped
from reference.fake_cuda import FakeCuda
from reference.ptxas import assemble, ptxas

needs_ptxas = pytest.mark.skipif(ptxas() is None, reason="the package nvidia-cuda-nvcc is not installed")
COLUMNS = ("jsiia", {"inertia": "columns"})
ODD_EVEN = ("cfa", {"solver": "odd_even"})


def on_gpu(fake: FakeCuda, robot: px.Robot, function: str, algorithm: Any, group: WorkGroup) -> CudaKernel:
    return CudaKernel(resolve(robot, function, algorithm), np.dtype("float64"), Driver(fake), group)


@pytest.mark.parametrize(
    ("function", "algorithm", "memory"),
    [
        ("inverse_dynamics", "scan", "auto"),
        ("inverse_dynamics", "scan", "global"),
        pytest.param("forward_dynamics", "partition", "auto", marks=pytest.mark.exhaustive),
        pytest.param("forward_dynamics", ODD_EVEN, "global", marks=pytest.mark.exhaustive),
        pytest.param("forward_dynamics", COLUMNS, "auto", marks=pytest.mark.exhaustive),
        pytest.param("mass_matrix", "crba", "auto", marks=pytest.mark.exhaustive),
    ],
)
def test_a_block_of_threads_computes_one_state(function: str, algorithm: Any, memory: str) -> None:
    fake, robot = FakeCuda(), px.chain(5)
    kernel = on_gpu(fake, robot, function, algorithm, WorkGroup(4, memory))
    inputs = robot.random_state(3, rng=0)[: 1 if function == "mass_matrix" else 3]
    found, wanted = kernel(*inputs), robot.kernel(function, algorithm)(*inputs)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
    (launch,) = (call for call in fake.calls if call[0] == "launch")
    assert launch[1:3] == ((2, 4) if memory == "global" else (3, 4))  # blocks, of so many threads
    assert kernel.group == 4


@needs_ptxas
@pytest.mark.parametrize(
    ("function", "algorithm", "n"),
    [
        ("inverse_dynamics", "scan", 50),
        pytest.param("forward_dynamics", "partition", 1000, marks=pytest.mark.exhaustive),
        pytest.param("forward_dynamics", ODD_EVEN, 1000, marks=pytest.mark.exhaustive),
        pytest.param("forward_dynamics", COLUMNS, 200, marks=pytest.mark.exhaustive),
    ],
)
def test_nvidias_assembler_accepts_it(function: str, algorithm: Any, n: int) -> None:
    source = grouped(resolve(px.chain(n), function, algorithm), (), 128)
    for target in ("sm_75", "sm_90"):
        ptx, layout = assembled_group(source.program, "kernel", "double", target, 128)
        report = assemble(ptx, target)
        assert report.shared == layout.shared <= 48 << 10
        assert layout.scratch > 0  # what does not fit into shared memory
        assert "bar.sync" in ptx


def test_as_many_blocks_as_states() -> None:
    layout = GroupLayout(64, (), (), 0, 100, 8, 0)
    assert [layout.blocks(count, 50) for count in (0, 7, 80)] == [1, 7, 50]
    assert layout.workspace(3) == 2400


def test_gpus_that_have_too_little_are_named_with_a_remedy() -> None:
    with pytest.raises(px.PhalanxError, match=r"cuda: group=2048 work-items, device .* at most 1024; pass"):
        on_gpu(FakeCuda(), px.chain(3), "inverse_dynamics", "scan", WorkGroup(2048))
    with pytest.raises(
        px.PhalanxError, match=r"a state takes .* KB of scratch memory, .* has 48 KB of local"
    ):
        on_gpu(FakeCuda(), px.chain(100), "inverse_dynamics", "scan", WorkGroup(32, "local"))
