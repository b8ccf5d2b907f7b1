# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels on NVIDIA's GPUs: our PTX, launched through the driver on arrays of any library."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from math import prod
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np

from ...errors import PhalanxError
from ...program.grouped import grouped
from ...program.lowering import specialised
from ...program.task import Call
from ..native import cache
from ..native.availability import version
from ..native.freestanding import ExportedFunction
from ..native.loop import ELEMENTS
from .base import DeviceKernel, WorkGroup
from .cuda_arrays import View, empty_like, handed_over, handle_of, is_on_device, view_of
from .cuda_driver import Driver, driver
from .ptx import ARCHITECTURES, LaunchLayout, architecture, assembled, reordered
from .ptx_groups import SHARED, GroupLayout, assembled_group

_NAME = "kernel"
_MOST_BLOCKS = 2**31 - 1
_SHARE = 4  # a workspace takes at most this fraction of the free memory; no script measures it


class Stream(NamedTuple):
    """A stream of a device."""

    device: int
    handle: int


def kernel(call: Call, dtype: np.dtype, group: WorkGroup | None = None) -> CudaKernel:
    """The kernel of a call, compiled for the first device."""
    return CudaKernel(call, dtype, driver(), group)


@dataclass(frozen=True)
class _Loaded:
    """A kernel on one device."""

    function: Any
    layout: LaunchLayout
    blocks: int  # at most, where each needs a workspace


class CudaKernel(DeviceKernel):
    """A function of one robot on NVIDIA's GPUs.

    Call it with arrays on a GPU (CuPy, PyTorch, JAX: anything with `__cuda_array_interface__` or DLPack),
    C-contiguous and of the kernel's precision: results are arrays of the same library, and the call returns
    before they are computed, as is usual there. NumPy's arrays are copied there and back.
    """

    device = "cuda"
    arrays = "on the GPU"
    remedy = "all on the GPU or none"

    def __init__(self, call: Call, dtype: np.dtype, driver: Driver, group: WorkGroup | None = None) -> None:
        super().__init__(call, dtype, group)
        self._driver = driver
        self._loaded: dict[tuple[int, tuple[str, ...]], _Loaded] = {}
        self._on(0, ())

    def ptx(self, target: str | None = None) -> str:
        """The PTX of the kernel, by default for the first device."""
        target = self._architecture(0) if target is None else architecture(target, "ptx")
        return _ptx(self._call, (), self.dtype, target, self._group)[0]

    def __call__(self, *inputs: Any, out: Any = None, stream: Any = None, **optional: Any) -> Any:
        """The function for a batch of inputs, (…, n) each; results are of the kind that inputs are.

        Optional inputs are keywords. `out` takes the result, or a tuple of several. Work goes to `stream`, by
        default that of the inputs.
        """
        return self._evaluated(inputs, optional, out, handle_of(stream))

    def _fill(
        self, optional: tuple[str, ...], rows: Sequence[np.ndarray], results: Sequence[np.ndarray], queue: Any
    ) -> None:
        """Copy rows to the first device, compute there, and copy the results back."""
        driver, stream = self._driver, queue or 0
        with driver.on(0), ExitStack() as stack:
            pointers = [stack.enter_context(driver.passing(x.nbytes, stream)) for x in (*rows, *results)]
            for array, pointer in zip(rows, pointers, strict=False):
                driver.copy_in(pointer, array.ctypes.data, array.nbytes, stream)
            self._start(0, optional, len(rows[0]), pointers, stream)
            for result, pointer in zip(results, pointers[len(rows) :], strict=True):
                driver.copy_out(result.ctypes.data, pointer, result.nbytes, stream)
            driver.wait(stream)

    # ------------------------------------------------------------- arrays on a GPU

    def _is_on_device(self, x: Any) -> bool:
        return is_on_device(x)

    def _view(self, x: Any, name: str, queue: Any) -> View:
        return view_of(x, f"{self._call.function.name}: {name}", self._driver, queue)

    def _queue(self, views: list[View], queue: Any) -> Stream:
        own = [view.stream for view in views if view.stream]
        return Stream(views[0].device, queue if queue is not None else (own or [0])[0])

    def _is_contiguous(self, view: View) -> bool:
        return view.is_contiguous

    def _overlap(self, a: View, b: View) -> bool:
        ends = [view.pointer + prod(view.shape) * view.dtype.itemsize for view in (a, b)]
        return a.pointer < ends[1] and b.pointer < ends[0]

    def _empty(self, shape: tuple[int, ...], example: Any, queue: Stream) -> Any:
        return empty_like(example, self.dtype, shape, self._driver, *queue)

    def _returned(self, result: Any, example: Any) -> Any:
        return handed_over(result, example)

    def _require_fit(self, name: str, view: View, queue: Stream) -> None:
        super()._require_fit(name, view, queue)
        where = f"{self._call.function.name}: {name}"
        if view.device != queue.device and view.pointer:
            raise PhalanxError(
                f"{where} is on device {view.device}, the first input on device {queue.device}."
            )
        if name == "out" and not view.writeable:
            raise PhalanxError(f"{where} is read-only, expected a writeable array.")

    def _launch(
        self, optional: tuple[str, ...], count: int, inputs: Sequence[Any], outputs: Sequence[Any], queue: Any
    ) -> None:
        with self._driver.on(queue.device):
            for other in dict.fromkeys(view.stream for view in inputs if view.stream):
                if other != queue.handle:
                    self._driver.follow(queue.handle, other)
            pointers = [view.pointer for view in (*inputs, *outputs)]
            self._start(queue.device, optional, count, pointers, queue.handle)

    # ------------------------------------------------------------- launches

    def _start(
        self, device: int, optional: tuple[str, ...], count: int, pointers: list[int], stream: int
    ) -> None:
        """Start the kernel on the device that is current."""
        loaded = self._on(device, optional)
        layout = loaded.layout
        blocks = layout.blocks(count, loaded.blocks)
        with ExitStack() as stack:
            if layout.scratch:
                workspace = self._driver.passing(layout.workspace(blocks), stream)
                pointers = [*pointers, stack.enter_context(workspace)]
            self._driver.launch(loaded.function, blocks, layout.block, stream, count, pointers)

    def _on(self, device: int, optional: tuple[str, ...]) -> _Loaded:
        """The kernel with some optional inputs on a device, loaded there when it is first needed."""
        key = (device, optional)
        if key not in self._loaded:
            if self._group is not None:
                most = self._driver.attribute(device, "MAX_THREADS_PER_BLOCK")
                self._group.require_items("cuda", f"device {device}", most)
            ptx, layout = _ptx(self._call, optional, self.dtype, self._architecture(device), self._group)
            driver = self._driver
            with driver.on(device):
                module, function = driver.function(ptx, _NAME)
                finalize(self, driver.unload, device, module)
                most = _MOST_BLOCKS
                if layout.scratch:
                    processors = driver.attribute(device, "MULTIPROCESSOR_COUNT")
                    most = driver.resident(function, layout.block) * processors
                    most = min(most, driver.free_memory() // (_SHARE * layout.workspace(1)))
                    if most < 1:
                        raise PhalanxError(
                            f"{self._call.function.name}: a block of threads needs a workspace of "
                            f"{layout.workspace(1) / 1e6:.0f} MB, more than device {device} has left."
                        )
            self._loaded[key] = _Loaded(function, layout, most)
        return self._loaded[key]

    def _architecture(self, device: int) -> str:
        """The latest architecture that a device runs."""
        major, minor = self._driver.capability(device)
        able = [name for name in ARCHITECTURES if int(name[3:]) <= 10 * major + minor]
        if not able:
            raise PhalanxError(
                f"cuda: device {device} has compute capability {major}.{minor}, expected at least 7.5."
            )
        return able[-1]


def _ptx(
    call: Call, optional: tuple[str, ...], dtype: np.dtype, target: str, group: WorkGroup | None = None
) -> tuple[str, LaunchLayout]:
    """The PTX of a call and its launch layout, compiled now or read from disk."""
    a = call.algorithm
    parts = (call.robot.digest, call.function.name, a.name, a.valued, call.options, optional, dtype.str)
    shared = () if group is None else (group.items, group.memory)
    key = cache.key_of("ptx", *parts, call.frame, target, version(), *shared)
    if (found := cache.read(key)) is not None:
        facts, _, ptx = found.decode().partition("\n")
        known = json.loads(facts)
        known |= {name: tuple(known[name]) for name in ("staged", "sizes")}
        return ptx, (LaunchLayout if group is None else GroupLayout)(**known)
    if group is not None:
        ptx, layout = _group_ptx(call, optional, dtype, target, group)
        cache.write(key, f"{json.dumps(asdict(layout))}\n{ptx}".encode())
        return ptx, layout
    function = ExportedFunction(_NAME, reordered(specialised(call, optional)(1)))
    ptx, (layout,) = assembled([function], ELEMENTS[dtype], target)
    cache.write(key, f"{json.dumps(asdict(layout))}\n{ptx}".encode())
    return ptx, layout


def _group_ptx(
    call: Call, optional: tuple[str, ...], dtype: np.dtype, target: str, group: WorkGroup
) -> tuple[str, LaunchLayout]:
    """The PTX of a call whose blocks have one state each, compiled now."""
    source = grouped(call, optional, group.items)
    needed = sum(buffer.size for buffer in source.program.scratch) * dtype.itemsize
    group.require_local("cuda", target, needed, SHARED)
    most = group.most_local(SHARED)
    return assembled_group(source.program, _NAME, ELEMENTS[dtype], target, group.items, most)
