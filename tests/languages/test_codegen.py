# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops that end on data, and parallel ones, in C, OpenCL C and CUDA: the bits of the native kernels."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from phalanx.backends.native import refill
from phalanx.languages.dialects import opencl as dialect
from phalanx.languages.groups import GroupKernel
from phalanx.languages.tiles import OPENCL
from phalanx.program.builder import Builder
from phalanx.program.ir import Program, plus, times
from reference import opencl_device, sources
from reference.loops import collatz_like, kepler, smoothing

NEEDS_GCC = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
NEEDS_OPENCL = pytest.mark.skipif(bool(opencl_device.missing()), reason=opencl_device.missing() or "there")
NEEDS_GXX = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHALANX_VERIFY", "1")


def mixed(large: bool = False) -> Program:
    """Uniform code and loops around parallel loops, which meet in scratch memory."""
    count = 5000 if large else 21
    b = Builder({"x": (count,)}, {"y": (count,), "total": ()})
    memory, sums = b.buffer("memory", count), b.buffer("sums", 4)
    with b.parallel(count) as i:
        b.store(memory, i, b.load(b.inputs["x"], i))
    b.store(sums, 0, 0.0)
    with b.loop(3) as loop:
        b.store(
            sums, plus(loop.index, 1), b.add(b.load(sums, loop.index), b.load(memory, times(loop.index, 3)))
        )
        scale = b.multiply_add(b.load(sums, plus(loop.index, 1)), 0.25, 1.0)
        with b.parallel(count) as i:
            b.store(memory, i, b.value("sin", b.mul(b.load(memory, i), scale)))
        b.store(sums, 0, b.load(memory, 4))
        b.store(memory, 4, b.add(b.load(sums, 0), b.load(memory, 5)))
    with b.parallel(count) as i:
        b.store(b.outputs["y"], i, b.load(memory, i))
    b.store(b.outputs["total"], 0, b.load(sums, 3))
    return b.finished()


def states(made: Program, count: int = 11) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    if made.inputs[0].name == "M":
        return [rng.uniform(-5, 5, count), rng.uniform(0, 0.95, count)]
    if len(made.inputs) == 2:
        return [rng.uniform(1, 9, (count, 3)), rng.uniform(1.6, 9, count)]
    return [rng.standard_normal((count, made.inputs[0].size))]


def same(found: list[np.ndarray], made: Program, given: list[np.ndarray]) -> None:
    # In lockstep, without what makes results NaN: fused multiply-adds everywhere.
    wanted = refill.compiled(made, "same", refill=False)(*given)
    for a, b in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        np.testing.assert_array_equal(a, b)


PROGRAMS = {"kepler": kepler, "collatz_like": collatz_like, "smoothing": smoothing, "mixed": mixed}


@NEEDS_GCC
@pytest.mark.parametrize("name", PROGRAMS)
def test_c(name: str, tmp_path: Path) -> None:
    made = PROGRAMS[name]()
    same(sources.in_c(made, given := states(made), tmp_path), made, given)


@NEEDS_OPENCL
@pytest.mark.parametrize("form", ["tiles", "vectors", "groups"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_opencl(name: str, form: str) -> None:
    if name == "collatz_like" and form == "tiles":
        pytest.skip("PoCL 3.1 takes conditions on numbers from global memory for the same in all work-items")
    made = PROGRAMS[name]()
    same(sources.in_opencl(made, given := states(made), form), made, given)


@NEEDS_OPENCL
def test_groups_whose_memory_is_global() -> None:
    made = mixed(large=True)
    assert GroupKernel("f", {}, {}, made, dialect("double"), OPENCL).workspace
    same(sources.in_opencl(made, given := states(made, 5), "groups"), made, given)


@NEEDS_GXX
@pytest.mark.parametrize("name", PROGRAMS)
def test_cuda_with_a_block_for_each_state(name: str, tmp_path: Path) -> None:
    made = PROGRAMS[name]()
    same(sources.in_cuda_groups(made, given := states(made), tmp_path), made, given)
