# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels on OpenCL devices, on arrays of pyopencl or of NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from ...arrays import empty_result, memory_for
from ...errors import PhalanxError, printable
from ..base import Call, checked_array, checked_outs, common_batch, given_inputs, require_shape
from .kernel import DeviceKernel
from .opencl_programs import Built, built, default_queue


def kernel(call: Call, dtype: np.dtype) -> OpenCLKernel:
    """The kernel of a call on the default device, compiled now."""
    return OpenCLKernel(call, dtype)


class OpenCLKernel(DeviceKernel):
    """A function of one robot on OpenCL devices, compiled for the default one.

    Arrays of pyopencl stay where they are: the launch goes to their queue and nobody waits for it. NumPy's
    are copied to the device and back. Another queue, on whatever device, compiles once more.
    """

    device = "opencl"

    def __init__(self, call: Call, dtype: np.dtype) -> None:
        super().__init__(call, dtype)
        self._programs: dict[Any, Built] = {}
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
        f = self._call.function
        by_name = {name: optional.pop(name) for name in list(optional) if name in f.inputs}
        inputs = (*inputs, *(by_name.pop(name) for name in list(f.inputs)[len(inputs) :] if name in by_name))
        if by_name:
            raise PhalanxError(f"{f.name}: got two values for {min(by_name)}, expected one.")
        given = given_inputs(self._call, inputs, optional)
        if queue is not None and not isinstance(queue, cl.CommandQueue):
            raise PhalanxError(
                f"{f.name}: queue is {type(queue).__name__}, expected a pyopencl.CommandQueue."
            )
        on_device = [name for name, x in given.items() if isinstance(x, cl_array.Array)]
        if not on_device:
            with memory_for(f.name, "take the states in several batches"):
                return self._on_host(given, out, queue or default_queue())
        if len(on_device) < len(given):
            name = next(name for name in given if name not in on_device)
            raise PhalanxError(
                f"{f.name}: {name} is {type(given[name]).__name__} and {on_device[0]} is on a device; "
                "pass all as arrays of pyopencl, as with pyopencl.array.to_device(queue, x), or none."
            )
        return self._on_device(given, out, queue)

    def _built(self, optional: tuple[str, ...], queue: Any) -> Built:
        key = optional, queue.context, queue.device
        if key not in self._programs:
            self._programs[key] = built(self._call, optional, self.dtype, queue)
        return self._programs[key]

    def _optional(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(name for name in self._call.function.optional if name in given)

    # ------------------------------------------------------------- arrays of NumPy

    def _on_host(self, given: Mapping[str, Any], out: Any, queue: Any) -> Any:
        call = self._call
        f, names = call.function, self._optional(given)
        sizes = call.input_sizes(names)
        arrays = {name: checked_array(call, given[name], name, size) for name, size in sizes.items()}
        batch = common_batch(call, {name: a.shape[: a.ndim - len(sizes[name])] for name, a in arrays.items()})
        shapes = {label: (*batch, *size) for label, size in call.output_sizes().items()}
        if out is None:
            results = tuple(empty_result(shape, self.dtype) for shape in shapes.values())
        else:
            results = checked_outs(call, out, shapes, self.dtype)
        count = prod(batch)
        if count:
            rows = [
                np.ascontiguousarray(
                    np.broadcast_to(arrays[name], (*batch, *sizes[name])), self.dtype
                ).reshape(count, -1)
                for name in sizes
            ]
            places = [
                r if r.flags.c_contiguous and not any(np.may_share_memory(r, x) for x in rows) else None
                for r in results
            ]
            filled = [
                np.empty(r.shape, self.dtype) if place is None else place
                for r, place in zip(results, places, strict=True)
            ]
            self._filled(names, rows, [x.reshape(count, -1) for x in filled], queue)
            for r, x in zip(results, filled, strict=True):
                if x is not r:
                    r[...] = x
        return f.packed([r[()] for r in results]) if out is None else out

    def _filled(
        self, names: tuple[str, ...], rows: list[np.ndarray], results: list[np.ndarray], queue: Any
    ) -> None:
        """Fill rows of results, as many at a time as the device has memory for."""
        program, context = self._built(names, queue), queue.context
        count = len(rows[0])
        one, all_together = _room(queue.device)
        sizes = [x[0].nbytes for x in (*rows, *results)]
        most = max(1, min(one // max(sizes), all_together // sum(sizes)))
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

    def _on_device(self, given: Mapping[str, Any], out: Any, queue: Any) -> Any:
        call = self._call
        f, names = call.function, self._optional(given)
        sizes = call.input_sizes(names)
        first = next(iter(given.values()))
        queue = queue or first.queue
        if queue is None:
            raise PhalanxError(f"{f.name}: the arrays have no queue; pass one as queue=.")
        batch: tuple[int, ...] | None = None
        for name, size in sizes.items():
            x = given[name]
            require_shape(call, x.shape, name, size)
            self._require_fit(name, x, queue)
            own = x.shape[: x.ndim - len(size)]
            if batch is not None and own != batch:
                raise PhalanxError(
                    f"{f.name}: {name} has batch shape {own} on the device, expected {batch} as the others "
                    f'for robot "{call.robot.name}"; arrays on a device do not broadcast.'
                )
            batch = own
        assert batch is not None
        shapes = [(*batch, *size) for size in call.output_sizes().values()]
        if out is None:
            results = [
                cl_array.empty(queue, shape, self.dtype, allocator=first.allocator) for shape in shapes
            ]
        else:
            results = self._places(out, shapes, queue, [given[name] for name in sizes])
        count = prod(batch)
        if count:
            program = self._built(names, queue)
            arrays = [*(given[name] for name in sizes), *results]
            before = [event for x in arrays for event in x.events]
            done = program.launch(queue, count, [_memory(x, f.name) for x in arrays], before or None)
            for x in results:
                x.events[:] = [done]  # which waits for all that was there before
            if queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE:
                for name in sizes:
                    given[name].add_event(done)
        return f.packed(results) if out is None else out

    def _require_fit(self, name: str, x: Any, queue: Any) -> None:
        """Raise unless the kernel can take an array of the device as it is."""
        f = self._call.function.name
        if x.dtype != self.dtype:
            raise PhalanxError(
                f"{f}: {name} has dtype {x.dtype} on the device, expected {self.dtype}; use x.astype(…), "
                f'or a kernel with dtype="{x.dtype}".'
            )
        if not x.flags.c_contiguous:
            raise PhalanxError(
                f"{f}: {name} has strides {x.strides}, expected rows one after another (C order); copy it."
            )
        if x.context != queue.context:
            raise PhalanxError(
                f"{f}: {name} belongs to another context than the queue; move it, as with "
                "pyopencl.array.to_device(queue, x.get())."
            )
        if x.queue is not None and x.queue != queue:
            raise PhalanxError(
                f"{f}: {name} is on another queue, where it may not be ready; pass x.with_queue(queue) "
                "once it is."
            )

    def _places(self, out: Any, shapes: list[tuple[int, ...]], queue: Any, inputs: list[Any]) -> list[Any]:
        """The arrays to fill, checked."""
        f = self._call.function
        several = len(shapes) > 1
        outs = list(out) if several and isinstance(out, (tuple, list)) else [out]
        if len(outs) != len(shapes) or not all(isinstance(x, cl_array.Array) for x in outs):
            wanted = f"{len(shapes)} arrays" if several else "an array"
            raise PhalanxError(f"{f.name}: out is {type(out).__name__}, expected {wanted} of pyopencl.")
        for k, (x, shape) in enumerate(zip(outs, shapes, strict=True)):
            if x.shape != shape:
                raise PhalanxError(
                    f'{f.name}: out has shape {x.shape}, expected {shape} for robot "{self.robot.name}".'
                )
            self._require_fit("out", x, queue)
            if any(_overlap(x, other) for other in (*inputs, *outs[:k])):
                raise PhalanxError(f"{f.name}: out shares memory with another array; pass one of its own.")
        return outs

    def __repr__(self) -> str:
        what = f'{self.function} of "{printable(self.robot.name)}" by {self.algorithm}'
        return f'<OpenCLKernel {what}, {self.dtype}, on "{self._first.device.name.strip()}">'

    def __reduce__(self) -> Any:
        call = self._call
        algorithm = (call.algorithm.name, dict(call.options))
        return _again, (call.robot, call.algorithm.function, algorithm, self.dtype.name, call.frame)


def _again(robot: Any, function: str, algorithm: Any, dtype: str, frame: str | None) -> Any:
    return robot.kernel(function, algorithm=algorithm, dtype=dtype, frame=frame, device="opencl")


def _room(device: Any) -> tuple[int, int]:
    """Bytes that one array, and all arrays of a piece of a batch, may take on a device."""
    return int(device.max_mem_alloc_size), int(device.global_mem_size) // 2


def _memory(x: Any, where: str) -> Any:
    """The buffer of an array; one that begins inside a buffer is a part of it."""
    if not x.offset:
        return x.base_data
    try:
        return x.base_data.get_sub_region(x.offset, x.nbytes)
    except cl.Error:
        raise PhalanxError(
            f"{where}: an array begins {x.offset} bytes inside its buffer, which the device does not take; "
            "copy it."
        ) from None


def _overlap(a: Any, b: Any) -> bool:
    """Whether two arrays of the device share memory."""
    if a.base_data is None or b.base_data is None or a.base_data.int_ptr != b.base_data.int_ptr:
        return False
    return a.offset < b.offset + b.nbytes and b.offset < a.offset + a.nbytes
