# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs of OpenCL devices: which device, built now or read from disk, and how they are launched."""

from __future__ import annotations

import os
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
import pyopencl as cl

from ...errors import PhalanxError
from ...languages.dialects import named
from ...languages.dialects import opencl as dialect
from ...languages.opencl import LANES, text, vector_name, vector_workspace
from ...languages.routine import Routine
from ...languages.tiles import GROUP, kernel_name
from ..base import Call
from ..native import cache
from ..native.source import alone

PREFIX, NAME = "phalanx", "run"  # of what is compiled
_SHARES = 16  # work-items for each core: enough to even out, few enough to cost nothing
_MOST_GROUPS = 1 << 15
_SCRATCH = 4  # the part of the largest allocation that scratch memory may be
_HEAD = struct.Struct("<Q")  # in front of a program on disk: numbers of scratch memory of a work-item

_lock = threading.RLock()
_queues: dict[int, Any] = {}  # of this process; a fork has to open the device again


def default_queue() -> Any:
    """A queue on the first graphics processor there is, else on the first processor."""
    with _lock:
        if os.getpid() not in _queues:
            device = _first_device()
            _queues[os.getpid()] = cl.CommandQueue(cl.Context([device]))
        return _queues[os.getpid()]


def _first_device() -> Any:
    remedy = "install the driver of a device, or for this processor: pip install 'pyopencl[pocl]'"
    try:
        found = [device for platform in cl.get_platforms() for device in _devices(platform)]
    except cl.Error as error:
        raise PhalanxError(f'"opencl" finds no platform ({error}); {remedy}.') from None
    for kind in (cl.device_type.GPU, cl.device_type.CPU):
        for device in found:
            if device.type & kind:
                return device
    raise PhalanxError(f'"opencl" finds {len(found)} devices, none of them a processor; {remedy}.')


def _devices(platform: Any) -> list[Any]:
    try:
        return list(platform.get_devices())
    except cl.Error:  # a platform without a device
        return []


def has_vectors(device: Any) -> bool:
    """Whether work-items of a device take several states each, as those of ordinary processors do."""
    return bool(device.type & cl.device_type.CPU)


@dataclass(frozen=True)
class Built:
    """The program of one function on one device."""

    device: Any
    program: Any
    name: str
    lanes: int  # states of a work-item
    numbers: int  # of scratch memory of a work-item
    dtype: np.dtype
    seconds: float
    cached: bool
    lock: Any = field(default_factory=threading.Lock)

    def launch(self, queue: Any, count: int, buffers: list[Any], wait_for: list[Any] | None) -> Any:
        """The event of a launch on so many states."""
        items = self._items(count)
        arguments = [np.uint64(count), *buffers]
        if self.numbers:
            size = items * self.numbers * self.dtype.itemsize
            arguments.append(cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size=size))
        with self.lock:  # arguments belong to the kernel until it is launched
            kernel = cl.Kernel(self.program, self.name)
            kernel.set_args(*arguments)
            shape = (1,) if self.lanes > 1 else (GROUP,)
            return cl.enqueue_nd_range_kernel(queue, kernel, (items,), shape, wait_for=wait_for)

    def _items(self, count: int) -> int:
        """Work-items of a launch: no more than states, or than there is scratch memory for."""
        if self.lanes > 1:
            items, least = min(-(-count // self.lanes), _SHARES * self.device.max_compute_units), 1
        else:
            items, least = GROUP * min(-(-count // GROUP), _MOST_GROUPS), GROUP
        if self.numbers:
            most = self.device.max_mem_alloc_size // _SCRATCH // (self.numbers * self.dtype.itemsize)
            if most < least:
                raise PhalanxError(
                    f"opencl: a state takes {self.numbers} numbers of scratch memory, more than device "
                    f'"{self.device.name.strip()}" allows; take another device or device="cpu".'
                )
            items = min(items, most // least * least)
        return max(items, least)


def built(call: Call, optional: tuple[str, ...], dtype: np.dtype, queue: Any) -> Built:
    """The program of a call for the device of a queue, compiled now or read from disk."""
    with _lock:
        return _built(call, optional, dtype, queue)


def _built(call: Call, optional: tuple[str, ...], dtype: np.dtype, queue: Any) -> Built:
    start = time.perf_counter()
    context, device = queue.context, queue.device
    real = _real_of(dtype, device)
    lanes = LANES[real] if has_vectors(device) else 1
    cache.check_variables()
    key = cache.key_of(
        "opencl",
        call.robot.digest,
        call.function.name,
        call.algorithm.name,
        call.options,
        call.frame,
        optional,
        dtype.str,
        lanes,
        [device.name, device.vendor, device.driver_version, device.version, device.platform.version],
    )
    name = named(vector_name(NAME) if lanes > 1 else kernel_name(NAME), PREFIX)
    if (kept := cache.read(key)) is not None and len(kept) > _HEAD.size:
        (numbers,) = _HEAD.unpack_from(kept)
        with suppress(cl.Error, ValueError):  # a binary that this driver does not take
            program = cl.Program(context, [device], [kept[_HEAD.size :]]).build(devices=[device])
            return Built(device, program, name, lanes, numbers, dtype, time.perf_counter() - start, True)
    routine = routine_of(call, optional, real)
    numbers = vector_workspace(routine, lanes) if lanes > 1 else routine.workspace
    program = _compiled(context, device, source_of(routine, lanes), call)
    made = Built(device, program, name, lanes, numbers, dtype, 0.0, False)
    _warm(made, context, len(routine.sizes))
    cache.write(key, _HEAD.pack(numbers) + _binary(program, device))
    return replace(made, seconds=time.perf_counter() - start)


def _warm(made: Built, context: Any, arrays: int) -> None:
    """Launch a program on no state: some drivers compile when they are first asked to run."""
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, size=made.dtype.itemsize)
    made.launch(cl.CommandQueue(context, made.device), 0, [buffer] * arrays, None).wait()


def _real_of(dtype: np.dtype, device: Any) -> str:
    if dtype == np.float32:
        return "float"
    if not device.double_fp_config:
        raise PhalanxError(
            f'opencl: device "{device.name.strip()}" has no double precision; use dtype="float32".'
        )
    return "double"


def routine_of(call: Call, optional: tuple[str, ...], real: str) -> Routine:
    """The function of a call."""
    source = alone(call, optional)
    inputs = {f"in{k}": prod(shape) for k, shape in enumerate(call.input_sizes(optional).values())}
    outputs = {f"out{k}": prod(shape) for k, shape in enumerate(call.output_sizes().values())}
    return Routine(NAME, inputs, outputs, source.built(1), dialect(real), source.told)


def source_of(routine: Routine, lanes: int) -> str:
    """The text that is compiled for a device."""
    return text([routine], PREFIX, lanes=lanes if lanes > 1 else 0, tiles=lanes == 1)


def _compiled(context: Any, device: Any, source: str, call: Call) -> Any:
    options = ["-cl-std=CL1.2"]
    if device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT:
        options.append("-cl-fp32-correctly-rounded-divide-sqrt")
    try:
        return cl.Program(context, source).build(options=options, devices=[device])
    except cl.Error as error:
        told = str(error).strip().splitlines()
        raise PhalanxError(
            f'{call.function.name}: the OpenCL compiler of "{device.name.strip()}" refuses the kernel for '
            f'robot "{call.robot.name}": {told[-1] if told else "no reason given"}; update the driver.'
        ) from None


def _binary(program: Any, device: Any) -> bytes:
    binaries = dict(zip(program.devices, program.binaries, strict=True))
    return bytes(binaries[device])
