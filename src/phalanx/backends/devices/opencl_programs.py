# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs of OpenCL devices: which device, built now or read from disk, and how they are launched."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import pyopencl as cl

from ...errors import PhalanxError, printable
from ...languages.codegen import Routine
from ...languages.dialects import named
from ...languages.dialects import opencl as dialect
from ...languages.opencl import LANES, Pieces, piece_name, program_source, vector_name, vector_workspace
from ...languages.tiles import GROUP, kernel_name
from ...program.lowering import looped, specialised
from ...program.passes.nonfinite import spread
from ...program.task import Call
from ...sweeps.orders.segments import starts
from ..native import cache

PREFIX, NAME = "phalanx", "run"  # of what is compiled
_SHARES = 16  # work-items for each core, to balance the load; no script measures it
_MOST_GROUPS = 1 << 15
SCRATCH = 4  # scratch memory takes at most this fraction of the largest allocation
_GAIN = 4  # cores for each state from which on processors take segments: an estimate
_FEWEST = 4  # segments that are worth launches of their own; no script measures it
_SEGMENTS = 64  # of a chain, at most, unless the call names another number; no script measures it
_LEAST = 16  # bodies in each segment; no script measures it

_lock = threading.RLock()
_queues: dict[int, Any] = {}  # of this process; a forked child opens the device again


def default_queue() -> Any:
    """A queue on the first graphics processor whose compiler works, else on the first such processor."""
    with _lock:
        if os.getpid() not in _queues:
            _queues[os.getpid()] = _first_queue()
        return _queues[os.getpid()]


def _first_queue() -> Any:
    remedy = "install the driver of a device, or for this processor: pip install 'pyopencl[pocl]'"
    try:
        found = [device for platform in cl.get_platforms() for device in _devices(platform)]
    except cl.Error as error:
        raise PhalanxError(f'"opencl" finds no platform ({error}); {remedy}.') from None
    refusals: list[str] = []
    for kind in (cl.device_type.GPU, cl.device_type.CPU):
        for device in found:
            if device.type & kind:
                context = cl.Context([device])
                refusal = _refusal(context)
                if refusal is None:
                    return cl.CommandQueue(context)
                refusals.append(f'"{printable(device.name.strip())}" ({refusal})')
    if refusals:
        raise PhalanxError(
            f'"opencl" finds no device whose compiler works: {", ".join(refusals)}. A driver older than the '
            "processor does not know it: install a newer one, such as the package pocl-opencl-icd of Debian "
            "and Ubuntu."
        )
    raise PhalanxError(f'"opencl" finds {len(found)} devices, none of them a processor; {remedy}.')


def _refusal(context: Any) -> str | None:
    """What the compiler of a device says to an empty kernel; None if it builds it.

    PoCL 3.0 builds nothing on processors that its LLVM does not know.
    """
    try:
        cl.Program(context, "__kernel void phalanx_probe(void) {}").build()
    except cl.Error as error:
        return _complaint(error)
    return None


def _devices(platform: Any) -> list[Any]:
    try:
        return list(platform.get_devices())
    except cl.Error:  # a platform without a device
        return []


def has_vectors(device: Any) -> bool:
    """Whether work-items of a device take several states each, as those of ordinary processors do."""
    return bool(device.type & cl.device_type.CPU)


def most_states(device: Any) -> int:
    """The batch size up to which work-items compute segments of a chain: more states fill the device.

    A processor computes one state as fast as the several that its registers hold, and more launches cost
    more: segments have to gain that first.
    """
    units = int(device.max_compute_units)
    return units // _GAIN if has_vectors(device) else units * GROUP


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
    pieces: tuple[int, ...] = ()  # work-items of launches that take segments of a state
    between: int = 0  # numbers of scratch memory of a state in these
    lock: Any = field(default_factory=threading.Lock)

    @property
    def form(self) -> str:
        """The share of each work-item, as text: how many states, or segments of one."""
        own = f"{self.lanes} states" if self.lanes > 1 else "one state"
        return f"{own} in each work-item" + (", segments of few states" if self.pieces else "")

    def launch(self, queue: Any, count: int, buffers: list[Any], wait_for: list[Any] | None) -> Any:
        """Launch on `count` states; returns the event."""
        if self.takes_segments(count):
            return self._launch_pieces(queue, count, buffers, wait_for)
        return self._launch_states(queue, count, buffers, wait_for)

    def takes_segments(self, count: int) -> bool:
        """Whether work-items compute segments: few states, and scratch memory for all of them."""
        if not self.pieces or count > most_states(self.device):
            return False
        return count * self.between * self.dtype.itemsize <= self.device.max_mem_alloc_size // SCRATCH

    def warm(self, context: Any, arrays: int) -> None:
        """Launch all kernels on zero states: some drivers compile at the first launch."""
        buffers = [cl.Buffer(context, cl.mem_flags.READ_WRITE, size=self.dtype.itemsize)] * arrays
        queue = cl.CommandQueue(context, self.device)
        self._launch_states(queue, 0, buffers, None).wait()
        if self.pieces:
            self._launch_pieces(queue, 0, buffers, None).wait()

    def _launch_pieces(self, queue: Any, count: int, buffers: list[Any], wait_for: list[Any] | None) -> Any:
        size = max(count, 1) * self.between * self.dtype.itemsize
        arguments = [np.uint64(count), *buffers, cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size=size)]
        group = 1 if self.lanes > 1 else GROUP
        with self.lock:
            for kernel, width in zip(self._piece_kernels, self.pieces, strict=True):
                kernel.set_args(*arguments)
                items = max(-(-count * width // group), 1) * group
                done = cl.enqueue_nd_range_kernel(queue, kernel, (items,), (group,), wait_for=wait_for)
                wait_for = [done]  # queues may be out of order
        return done

    @cached_property
    def _piece_kernels(self) -> list[Any]:
        names = [named(piece_name(NAME, k), PREFIX) for k in range(len(self.pieces))]
        return [cl.Kernel(self.program, name) for name in names]

    def _launch_states(self, queue: Any, count: int, buffers: list[Any], wait_for: list[Any] | None) -> Any:
        items = self._items(count)
        arguments = [np.uint64(count), *buffers]
        if self.numbers:
            size = items * self.numbers * self.dtype.itemsize
            arguments.append(cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size=size))
        with self.lock:  # arguments belong to the kernel until it is launched
            self._kernel.set_args(*arguments)
            shape = (1,) if self.lanes > 1 else (GROUP,)
            return cl.enqueue_nd_range_kernel(queue, self._kernel, (items,), shape, wait_for=wait_for)

    @cached_property
    def _kernel(self) -> Any:
        return cl.Kernel(self.program, self.name)

    def _items(self, count: int) -> int:
        """Work-items of a launch: no more than states, or than there is scratch memory for."""
        if self.lanes > 1:
            items, least = min(-(-count // self.lanes), _SHARES * self.device.max_compute_units), 1
        else:
            items, least = GROUP * min(-(-count // GROUP), _MOST_GROUPS), GROUP
        if self.numbers:
            most = self.device.max_mem_alloc_size // SCRATCH // (self.numbers * self.dtype.itemsize)
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
    real = real_of(dtype, device)
    lanes = LANES[real] if has_vectors(device) else 1
    segments = call.algorithm.splits == "segments" and most_states(device) > 0
    call = divided(call, device.max_compute_units) if segments else call
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
        segments,
        [device.name, device.vendor, device.driver_version, device.version, device.platform.version],
    )
    name = named(vector_name(NAME) if lanes > 1 else kernel_name(NAME), PREFIX)

    def made(program: Any, facts: list[Any], *, cached: bool) -> Built:
        numbers, widths, between = facts
        seconds = time.perf_counter() - start
        return Built(device, program, name, lanes, numbers, dtype, seconds, cached, tuple(widths), between)

    if (stored := cache.read(key)) is not None:
        head, _, binary = stored.partition(b"\n")
        with suppress(cl.Error, ValueError):  # a binary that this driver does not take
            facts = json.loads(head)
            program = cl.Program(context, [device], [binary]).build(devices=[device])
            return made(program, facts, cached=True)
    routine = routine_of(call, optional, real)
    pieces = pieces_of(call, optional, real) if segments else None
    numbers = vector_workspace(routine, lanes) if lanes > 1 else routine.workspace
    facts = [numbers, pieces.widths, pieces.workspace] if pieces else [numbers, [], 0]
    program = compiled(context, device, source_of(routine, lanes, pieces), call)
    made(program, facts, cached=False).warm(context, len(routine.sizes))
    cache.write(key, json.dumps(facts).encode() + b"\n" + binary_of(program, device))
    return made(program, facts, cached=False)


def divided(call: Call, units: int) -> Call:
    """A call with a segment of a chain for each compute unit, if that is more than its default number."""
    if dict(call.options).get("segments") is not None:
        return call
    model = call.robot.model
    count = min(_SEGMENTS, units, model.n // _LEAST)
    if count <= len(starts(model.links, None)):
        return call
    return replace(call, options=(*(o for o in call.options if o[0] != "segments"), ("segments", count)))


def real_of(dtype: np.dtype, device: Any) -> str:
    """The type of numbers of a kernel in OpenCL C, if the device has it."""
    if dtype == np.float32:
        return "float"
    if not device.double_fp_config:
        raise PhalanxError(
            f'opencl: device "{device.name.strip()}" has no double precision; use dtype="float32".'
        )
    return "double"


def routine_of(call: Call, optional: tuple[str, ...], real: str) -> Routine:
    """The function of a call."""
    program = spread(specialised(call, optional)(1))
    return Routine(NAME, *sizes_of(call, optional), program, dialect(real))


def pieces_of(call: Call, optional: tuple[str, ...], real: str) -> Pieces | None:
    """The function of a call for work-items that have one segment each, if there are several."""
    from ...program.rolled.segments.roll import SegmentProgram

    loops = looped(call, optional)
    if not isinstance(loops, SegmentProgram) or (count := len(loops.bodies)) < _FEWEST:
        return None
    program = spread(loops.built(min(count, _SEGMENTS), lockstep=False), lockstep=False)
    return Pieces(NAME, *sizes_of(call, optional), program, dialect(real))


def sizes_of(call: Call, optional: tuple[str, ...]) -> tuple[dict[str, int], dict[str, int]]:
    """Numbers of inputs and outputs, by their names in the source."""
    inputs = {f"in{k}": prod(shape) for k, shape in enumerate(call.input_sizes(optional).values())}
    outputs = {f"out{k}": prod(shape) for k, shape in enumerate(call.output_sizes().values())}
    return inputs, outputs


def source_of(routine: Routine, lanes: int, pieces: Pieces | None = None) -> str:
    """The source that is compiled for a device."""
    vectors = lanes if lanes > 1 else 0
    return program_source([routine], PREFIX, lanes=vectors, tiles=not vectors, pieces=pieces)


def compiled(context: Any, device: Any, source: str, call: Call) -> Any:
    """The program of a source for a device."""
    options = ["-cl-std=CL1.2"]
    if device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT:
        options.append("-cl-fp32-correctly-rounded-divide-sqrt")
    try:
        return cl.Program(context, source).build(options=options, devices=[device])
    except cl.Error as error:
        raise PhalanxError(
            f'{call.function.name}: the OpenCL compiler of "{device.name.strip()}" refuses the kernel for '
            f'robot "{call.robot.name}" ({_complaint(error)}); update the driver.'
        ) from None


def _complaint(error: Any) -> str:
    """The last error that a compiler names."""
    lines = str(error).splitlines()
    errors = [line for line in lines if "error:" in line.lower()] or [
        line for line in lines if "error" in line.lower()
    ]
    return printable((errors or [str(error)])[-1])


def binary_of(program: Any, device: Any) -> bytes:
    """The machine code of a program for a device."""
    binaries = dict(zip(program.devices, program.binaries, strict=True))
    return bytes(binaries[device])
