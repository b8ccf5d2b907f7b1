# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels on OpenCL devices, on arrays of pyopencl or of NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from ...errors import PhalanxError, printable
from ...program.task import Call
from .base import DeviceKernel, WorkGroup
from .opencl_groups import BuiltGroups, built_groups
from .opencl_programs import Built, built, default_queue


def kernel(call: Call, dtype: np.dtype, group: WorkGroup | None = None) -> OpenCLKernel:
    """The kernel of a call on the default device, compiled now."""
    return OpenCLKernel(call, dtype, group)


class OpenCLKernel(DeviceKernel):
    """A function of one robot on OpenCL devices, compiled for the default one.

    Arrays of pyopencl stay where they are: the launch goes to their queue, and the call does not wait for it.
    NumPy's are copied to the device and back. Another queue, on whatever device, compiles once more.
    """

    device = "opencl"
    arrays = "of pyopencl"
    remedy = "as with pyopencl.array.to_device(queue, x)"

    def __init__(self, call: Call, dtype: np.dtype, group: WorkGroup | None = None) -> None:
        super().__init__(call, dtype, group)
        self._programs: dict[Any, Built | BuiltGroups] = {}
        self._first = self._built((), default_queue())

    @property
    def compile_seconds(self) -> float:
        """Time that building took, tracing included."""
        return self._first.seconds

    @property
    def cached(self) -> bool:
        """Whether the program came from the cache on disk."""
        return self._first.cached

    def __call__(self, *inputs: Any, out: Any = None, queue: Any = None, **optional: Any) -> Any:
        """The function for a batch of inputs (…, n), by name or in order; then keywords: optional inputs.

        Arrays of pyopencl: the result is one on the same queue, not waited for. Else NumPy arrays, whose
        batches broadcast. `out` takes the result; `queue` is where to compute.
        """
        if queue is not None and not isinstance(queue, cl.CommandQueue):
            raise PhalanxError(
                f"{self._call.function.name}: queue is {type(queue).__name__}, expected a "
                "pyopencl.CommandQueue."
            )
        return self._evaluated(inputs, optional, out, queue)

    @property
    def form(self) -> str:
        """What a work-item computes, in words."""
        return self._first.form

    def _built(self, optional: tuple[str, ...], queue: Any) -> Built | BuiltGroups:
        key = optional, queue.context, queue.device
        if key not in self._programs:
            if self._group is None:
                self._programs[key] = built(self._call, optional, self.dtype, queue)
            else:
                self._programs[key] = built_groups(self._call, optional, self.dtype, queue, self._group)
        return self._programs[key]

    def _fill(
        self, optional: tuple[str, ...], rows: Sequence[np.ndarray], results: Sequence[np.ndarray], queue: Any
    ) -> None:
        """Fill rows of results, as many at a time as the device has memory for."""
        queue = queue or default_queue()
        program, context = self._built(optional, queue), queue.context
        count = len(rows[0])
        sizes = [x[0].nbytes for x in (*rows, *results)]
        one, together = _memory_limits(queue.device)
        most = max(1, min(one // max(sizes), together // sum(sizes)))
        flags = cl.mem_flags
        try:
            for first in range(0, count, most):
                part = slice(first, min(first + most, count))
                buffers = [
                    cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=x[part]) for x in rows
                ]
                outs = [cl.Buffer(context, flags.WRITE_ONLY, size=x[part].nbytes) for x in results]
                done = program.launch(queue, part.stop - first, [*buffers, *outs], None)
                copies = [
                    cl.enqueue_copy(queue, x[part], b, wait_for=[done], is_blocking=False)
                    for x, b in zip(results, outs, strict=True)
                ]
                cl.wait_for_events(copies)
        except cl.MemoryError as error:
            raise MemoryError(str(error)) from None

    # ------------------------------------------------------------- arrays of the device

    def _is_on_device(self, x: Any) -> bool:
        return isinstance(x, cl_array.Array)

    def _view(self, x: Any, name: str, queue: Any) -> Any:
        return x

    def _queue(self, views: list[Any], queue: Any) -> Any:
        queue = queue or views[0].queue
        if queue is None:
            raise PhalanxError(f"{self._call.function.name}: the arrays have no queue; pass one as queue=.")
        return queue

    def _is_contiguous(self, view: Any) -> bool:
        return bool(view.flags.c_contiguous)

    def _overlap(self, a: Any, b: Any) -> bool:
        if a.base_data is None or b.base_data is None or a.base_data.int_ptr != b.base_data.int_ptr:
            return False
        return bool(a.offset < b.offset + b.nbytes and b.offset < a.offset + a.nbytes)

    def _empty(self, shape: tuple[int, ...], example: Any, queue: Any) -> Any:
        return cl_array.empty(queue, shape, self.dtype, allocator=example.allocator)

    def _require_fit(self, name: str, view: Any, queue: Any) -> None:
        super()._require_fit(name, view, queue)
        where = f"{self._call.function.name}: {name}"
        if view.context != queue.context:
            raise PhalanxError(
                f"{where} belongs to another context than the queue; move it, as with "
                "pyopencl.array.to_device(queue, x.get())."
            )
        if view.queue is not None and view.queue != queue:
            raise PhalanxError(
                f"{where} is on another queue, where it may not be ready; pass x.with_queue(queue) "
                "once it is."
            )

    def _launch(
        self, optional: tuple[str, ...], count: int, inputs: Sequence[Any], outputs: Sequence[Any], queue: Any
    ) -> None:
        arrays = [*inputs, *outputs]
        before = [event for x in arrays for event in x.events]
        buffers = [_memory(x, self._call.function.name) for x in arrays]
        done = self._built(optional, queue).launch(queue, count, buffers, before or None)
        for x in outputs:
            x.events[:] = [done]  # which waits for all earlier ones
        if queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE:
            for x in inputs:
                x.add_event(done)

    def __repr__(self) -> str:
        what = f'{self.function} of "{printable(self.robot.name)}" by {self.algorithm}'
        return f'<OpenCLKernel {what}, {self.dtype}, on "{self._first.device.name.strip()}">'

    def __reduce__(self) -> Any:
        call = self._call
        algorithm = (call.algorithm.name, dict(call.options))
        more = {} if self._group is None else {"group": self._group.items, "memory": self._group.memory}
        named = {"algorithm": algorithm, "dtype": self.dtype.name, "frame": call.frame, **more}
        return _again, (call.robot, call.algorithm.function, named)


def _again(robot: Any, function: str, named: dict[str, Any]) -> Any:
    return robot.kernel(function, **named, device="opencl")


def _memory_limits(device: Any) -> tuple[int, int]:
    """Bytes that one array, and all arrays of a piece of a batch, may take on a device."""
    return int(device.max_mem_alloc_size), int(device.global_mem_size) // 2


def _memory(x: Any, where: str) -> Any:
    """The buffer of an array, or the part of it that begins at the array's offset."""
    if not x.offset:
        return x.base_data
    try:
        return x.base_data.get_sub_region(x.offset, x.nbytes)
    except cl.Error:
        raise PhalanxError(
            f"{where}: an array begins {x.offset} bytes inside its buffer, which the device does not take; "
            "copy it."
        ) from None
