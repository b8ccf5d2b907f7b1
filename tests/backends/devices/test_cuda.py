# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels on CUDA devices: the whole path on a driver that stands in for NVIDIA's and runs our PTX."""

from __future__ import annotations

import gc
import json
import re
import sys
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.devices import cuda, cuda_driver
from phalanx.backends.devices.cuda import CudaKernel
from phalanx.backends.devices.cuda_arrays import DeviceArray, handle_of
from phalanx.backends.devices.cuda_driver import Driver
from phalanx.dispatch import resolve
from reference.fake_cuda import FakeArray, FakeCuda

PANDA = px.load("panda")


def kernel_on(
    fake: FakeCuda, function: str = "inverse_dynamics", dtype: str = "float32", robot: px.Robot = PANDA
) -> CudaKernel:
    return CudaKernel(resolve(robot, function, "auto", None), np.dtype(dtype), Driver(fake))


def states(*batch: int, dtype: str = "float32", robot: px.Robot = PANDA) -> list[np.ndarray]:
    return [np.ascontiguousarray(x, dtype) for x in robot.random_state(batch, 0)]


def on(fake: FakeCuda, arrays: list[np.ndarray], **facts: Any) -> list[FakeArray]:
    return [FakeArray(fake, x, **facts) for x in arrays]


# ------------------------------------------------------------------- NumPy's arrays


@pytest.mark.parametrize("batch", [(), (1,), (3, 50)])
def test_numpy_arrays_are_copied_there_and_back(batch: tuple[int, ...]) -> None:
    fake = FakeCuda()
    inputs = states(*batch)
    found = kernel_on(fake)(*inputs)
    assert np.array_equal(found, PANDA.inverse_dynamics(*inputs))
    assert found.shape == inputs[0].shape
    assert fake.names() == ["in", "in", "in", "launch", "out", "wait"]


def test_nothing_stays_allocated() -> None:
    fake = FakeCuda()
    kernel = kernel_on(fake, "forward_dynamics", robot=px.chain(20))
    before = len(fake.memory.attributed)
    kernel(*states(2, robot=px.chain(20)))
    assert len(fake.memory.attributed) == before


def test_numpy_arrays_broadcast_and_convert() -> None:
    fake = FakeCuda()
    q, qd, qdd = states(4, dtype="float64")
    found = kernel_on(fake, dtype="float64")(q[:, None, :], qd[:2].tolist(), np.zeros(7, int))
    assert np.array_equal(found, PANDA.inverse_dynamics(q[:, None, :], qd[:2], np.zeros(7)))
    assert qdd.shape == (4, 7)


def test_an_empty_batch_launches_nothing() -> None:
    fake = FakeCuda()
    assert kernel_on(fake)(*states(0)).shape == (0, 7)
    assert "launch" not in fake.names()


def test_several_results_are_a_tuple_and_out_takes_them() -> None:
    fake, robot = FakeCuda(), px.load("ur5")
    kernel = kernel_on(fake, "inverse_dynamics_derivatives", "float64", robot)
    inputs = states(2, dtype="float64", robot=robot)
    found, wanted = kernel(*inputs), robot.inverse_dynamics_derivatives(*inputs)
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))
    out = tuple(np.empty_like(x) for x in wanted)
    assert kernel(*inputs, out=out) is out
    assert all(np.array_equal(a, b) for a, b in zip(out, wanted, strict=True))


def test_optional_inputs_have_code_of_their_own() -> None:
    fake = FakeCuda()
    inputs = states(2, dtype="float64")
    external = np.random.default_rng(0).normal(size=(2, PANDA.n_links, 6))
    found = kernel_on(fake, dtype="float64")(*inputs, external=external)
    assert np.array_equal(found, PANDA.inverse_dynamics(*inputs, external=external))


def test_loops_get_a_workspace_and_no_more_blocks_than_fit() -> None:
    fake, robot = FakeCuda(), px.chain(20)
    kernel = kernel_on(fake, "forward_dynamics", robot=robot)
    inputs = states(300, robot=robot)
    found = kernel(*inputs)
    assert np.array_equal(found, robot.forward_dynamics(*inputs))
    (launch,) = (call for call in fake.calls if call[0] == "launch")
    assert launch[1] == 2  # two multiprocessors, a block each, however many states
    fake.free_bytes = 1000
    with pytest.raises(px.PhalanxError, match="workspace"):
        kernel_on(fake, "forward_dynamics", robot=robot)


# ------------------------------------------------------------------- arrays on a GPU


def test_arrays_on_a_device_stay_there() -> None:
    fake = FakeCuda()
    inputs = states(200)
    found = kernel_on(fake)(*on(fake, inputs))
    assert fake.names() == ["launch"]
    assert isinstance(found, DeviceArray)
    assert found.__cuda_array_interface__["shape"] == (200, 7)
    assert np.array_equal(np.asarray(found), PANDA.inverse_dynamics(*inputs))
    assert found.__dlpack_device__() == (2, 0)
    held = len(fake.memory.attributed)
    del found
    gc.collect()
    assert len(fake.memory.attributed) == held - 1


def test_out_on_a_device_is_written_and_returned() -> None:
    fake = FakeCuda()
    inputs = states(5)
    out = FakeArray(fake, np.zeros((5, 7), np.float32))
    assert kernel_on(fake)(*on(fake, inputs), out=out) is out
    assert np.array_equal(out.get(), PANDA.inverse_dynamics(*inputs))


def test_work_follows_the_streams_of_the_inputs() -> None:
    fake = FakeCuda()
    q, qd, qdd = states(5)
    arrays = [FakeArray(fake, q, stream=7), FakeArray(fake, qd, stream=8), FakeArray(fake, qdd)]
    kernel_on(fake)(*arrays)
    assert fake.calls[:2] == [("record", 8), ("follow", 7)]
    assert fake.calls[2][:4] == ("launch", 1, 128, 7)
    fake.calls.clear()
    kernel_on(fake)(*arrays, stream=9)
    assert fake.calls[:4] == [("record", 7), ("follow", 9), ("record", 8), ("follow", 9)]
    assert fake.calls[4][3] == 9


def test_streams_of_several_libraries_are_known() -> None:
    class Cupy:
        ptr = 5

    class Torch:
        cuda_stream = 6

    class Nvidia:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 7

    assert [handle_of(x) for x in (None, 4, Cupy(), Torch(), Nvidia())] == [None, 4, 5, 6, 7]
    with pytest.raises(px.PhalanxError, match="stream is 'fast', expected a stream of CuPy"):
        handle_of("fast")


def test_another_device_runs_its_own_code() -> None:
    fake = FakeCuda(devices=2)
    inputs = states(5)
    kernel_on(fake)(*on(fake, inputs, device=1))
    assert fake.calls[-1][-1] == "context 1"
    assert fake.current == []


ERRORS: dict[str, tuple[Any, str]] = {
    "dtype": (
        lambda f: [FakeArray(f, x.astype("f8")) for x in states(3)],
        "q has dtype float64 on the device, expected float32",
    ),
    "integers": (
        lambda f: [FakeArray(f, x.astype("i4")) for x in states(3)],
        "q has dtype int32 on the device, expected float32",
    ),
    "shape": (lambda f: on(f, [x[:, :6] for x in states(3)]), r"q has shape \(3, 6\), expected \(…, 7\)"),
    "strides": (lambda f: on(f, states(3), strides=(56, 8)), "q has strides .*, expected rows"),
    "masks": (lambda f: on(f, states(3), mask=object()), "q is masked"),
    "batches": (
        lambda f: [*on(f, states(3)[:2]), FakeArray(f, states(4)[2])],
        r"qdd has batch shape \(4,\) on the device, expected \(3,\)",
    ),
    "devices": (
        lambda f: [*on(f, states(3)[:2]), FakeArray(f, states(3)[2], device=1)],
        "qdd is on device 1, the first input on device 0",
    ),
    "mixed": (lambda f: [*on(f, states(3)[:2]), states(3)[2]], "qdd is ndarray and q is on a device"),
    "few": (lambda f: on(f, states(3)[:2]), "got 2 inputs, expected q, qd, qdd"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_bad_inputs_are_refused_before_any_launch(case: str) -> None:
    fake = FakeCuda(devices=2)
    make, message = ERRORS[case]
    with pytest.raises(px.PhalanxError, match=message):
        kernel_on(fake)(*make(fake))
    assert fake.calls == []


def test_bad_out_is_refused_before_any_launch() -> None:
    fake = FakeCuda()
    kernel, inputs = kernel_on(fake), on(fake, states(3))
    for out, message in (
        (np.zeros((3, 7), np.float32), "out is ndarray, expected an array on the GPU"),
        (FakeArray(fake, np.zeros((3, 6), np.float32)), r"out has shape \(3, 6\), expected \(3, 7\)"),
        (FakeArray(fake, np.zeros((3, 7))), "out has dtype float64 on the device, expected float32"),
        (FakeArray(fake, np.zeros((3, 7), np.float32), data=(1 << 50, True)), "out is read-only"),
        (inputs[1], "out shares memory with another array"),
    ):
        with pytest.raises(px.PhalanxError, match=message):
            kernel(*inputs, out=out)
    with pytest.raises(px.PhalanxError, match=r"out has shape \(2, 7\) and dtype float64, expected \(3, 7\)"):
        kernel(*states(3), out=np.zeros((2, 7)))
    with pytest.raises(px.PhalanxError, match="unknown input"):
        kernel(*inputs, externl=inputs[0])
    assert fake.calls == []


def test_memory_that_ends_is_told_in_our_words() -> None:
    fake = FakeCuda()
    kernel = kernel_on(fake)
    fake.free_bytes = 100
    with pytest.raises(px.PhalanxError, match="cuMemAllocAsync failed: out of memory"):
        kernel(*states(50))
    assert fake.current == []


# ------------------------------------------------------------------- code and drivers


def test_code_is_made_for_the_device_and_kept_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeCuda(capability=(12, 1))
    first = kernel_on(fake, "coriolis_matrix")
    assert ".target sm_120" in first.ptx()
    assert ".target sm_80" in first.ptx("sm_80")
    monkeypatch.setattr(cuda, "assembled", lambda *a: pytest.fail("made again"))
    again = kernel_on(fake, "coriolis_matrix")
    assert again.ptx() == first.ptx()
    q, qd, _ = states(2)
    assert np.array_equal(again(q, qd), PANDA.coriolis_matrix(q, qd))
    assert json.dumps(again._loaded[0, ()].layout.sizes) == "[7, 7, 49]"


def test_a_kernel_takes_its_code_with_it() -> None:
    fake = FakeCuda()
    kernel = kernel_on(fake)
    del kernel
    gc.collect()
    assert fake.unloaded == 1
    assert fake.current == []


def test_old_devices_are_refused() -> None:
    with pytest.raises(px.PhalanxError, match=r"compute capability 7\.0, expected at least 7\.5"):
        kernel_on(FakeCuda(capability=(7, 0)))


def test_a_machine_without_a_device_is_told() -> None:
    with pytest.raises(px.PhalanxError, match="finds no GPU"):
        kernel_on(FakeCuda(devices=0))


def test_the_real_driver_is_there_or_its_absence_is_told() -> None:
    pytest.importorskip("cuda.bindings", reason="the package cuda-bindings is not installed")
    cuda_driver.driver.cache_clear()
    try:
        kernel = PANDA.kernel("inverse_dynamics", device="cuda", dtype="float32")
    except px.PhalanxError as error:
        assert re.search("install the display driver|finds no GPU", str(error))  # noqa: PT017
    else:  # never seen here: then it must be right
        inputs = states(1000)
        assert np.array_equal(kernel(*inputs), PANDA.inverse_dynamics(*inputs))


def test_without_the_package_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda_driver.driver.cache_clear()
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(px.PhalanxError, match=r'not installed; pip install "\.\[cuda\]" in a clone'):
        PANDA.kernel("inverse_dynamics", device="cuda")
