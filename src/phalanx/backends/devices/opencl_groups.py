# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs of OpenCL devices whose work-groups have one state each: built now or read from disk, launched."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyopencl as cl

from ...errors import PhalanxError, printable
from ...languages.dialects import named
from ...languages.dialects import opencl as dialect
from ...languages.groups import GroupKernel, group_name, opencl_source
from ...languages.tiles import OPENCL
from ...program.grouped import grouped, require_shared
from ...program.task import Call
from ..native import cache
from .base import WorkGroup
from .opencl_programs import NAME, PREFIX, SCRATCH, binary_of, compiled, has_vectors, real_of, sizes_of

_MOST_GROUPS = 1 << 14


@dataclass(frozen=True)
class BuiltGroups:
    """The program of one function on one device; every work-group has one state."""

    device: Any
    program: Any
    group: int  # work-items
    dtype: np.dtype
    seconds: float
    cached: bool
    form: str
    workspace: int  # numbers of scratch memory of a group in global memory
    local: int  # bytes of local memory of a group
    tables: tuple[Any, ...]  # buffers of constants
    lock: Any = field(default_factory=threading.Lock)

    def launch(self, queue: Any, count: int, buffers: list[Any], wait_for: list[Any] | None) -> Any:
        """Launch on `count` states; returns the event."""
        groups = max(1, min(count, _MOST_GROUPS, self._fitting))
        arguments = [np.uint64(count), *buffers, *self.tables]
        if self.workspace:
            size = groups * self.workspace * self.dtype.itemsize
            arguments.append(cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size=size))
        with self.lock:  # arguments belong to the kernel until it is launched
            self._kernel.set_args(*arguments)
            shape = (groups * self.group,)
            return cl.enqueue_nd_range_kernel(queue, self._kernel, shape, (self.group,), wait_for=wait_for)

    def warm(self, context: Any, arrays: int) -> None:
        """Launch on zero states: some drivers compile at the first launch."""
        buffers = [cl.Buffer(context, cl.mem_flags.READ_WRITE, size=self.dtype.itemsize)] * arrays
        self.launch(cl.CommandQueue(context, self.device), 0, buffers, None).wait()

    @property
    def _fitting(self) -> int:
        """The number of groups whose scratch memory fits on the device."""
        if not self.workspace:
            return _MOST_GROUPS
        own = self.workspace * self.dtype.itemsize
        most = int(self.device.max_mem_alloc_size) // SCRATCH // own
        if most < 1:
            raise PhalanxError(
                f"opencl: a work-group needs {own / 1e6:.1f} MB of scratch memory, more than a quarter of "
                f'the {int(self.device.max_mem_alloc_size) / 1e6:.0f} MB that device "{_name(self.device)}" '
                'allocates at once; take another device or algorithm, or device="cpu".'
            )
        return most

    @cached_property
    def _kernel(self) -> Any:
        made = cl.Kernel(self.program, named(group_name(NAME), PREFIX))
        most = made.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, self.device)
        if self.group > most:
            raise PhalanxError(
                f'opencl: device "{_name(self.device)}" runs this kernel in groups of at most {most} '
                f"work-items, and group={self.group}; take group={most} or less."
            )
        return made


def _name(device: Any) -> str:
    return printable(device.name.strip())


def built_groups(
    call: Call, optional: tuple[str, ...], dtype: np.dtype, queue: Any, group: WorkGroup
) -> BuiltGroups:
    """The program of a call for groups on the device of a queue, compiled now or read from disk."""
    start = time.perf_counter()
    context, device = queue.context, queue.device
    require_shared(call)
    real = real_of(dtype, device)
    group.require_items("opencl", _name(device), int(device.max_work_group_size))
    has_local, fused = int(device.local_mem_size), has_vectors(device)
    cache.check_variables()
    key = cache.key_of(
        "opencl groups",
        call.robot.digest,
        call.function.name,
        call.algorithm.name,
        call.options,
        call.frame,
        optional,
        dtype.str,
        (group.items, group.memory, has_local, fused),
        [device.name, device.vendor, device.driver_version, device.version, device.platform.version],
    )

    def made(program: Any, facts: list[Any], tables: list[np.ndarray], *, cached: bool) -> BuiltGroups:
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        given = tuple(cl.Buffer(context, flags, hostbuf=table) for table in tables)
        seconds = time.perf_counter() - start
        form, workspace, local = facts
        return BuiltGroups(
            device, program, group.items, dtype, seconds, cached, form, workspace, local, given
        )

    if (stored := cache.read(key)) is not None:
        head, _, rest = stored.partition(b"\n")
        with suppress(cl.Error, ValueError):  # a binary that this driver does not take
            facts, lengths = json.loads(head)
            tables, at = [], 0
            for length, kind in zip(lengths, (dtype, np.dtype(np.int32)), strict=True):
                tables.append(np.frombuffer(rest, kind, length, at))
                at += length * kind.itemsize
            program = cl.Program(context, [device], [rest[at:]]).build(devices=[device])
            return made(program, facts, tables, cached=True)
    source = grouped(call, optional, group.items)
    sizes = sizes_of(call, optional)
    kernel = GroupKernel(NAME, *sizes, source.program, dialect(real), OPENCL, group.most_local(has_local))
    group.require_local("opencl", _name(device), kernel.scratch_bytes, has_local)
    tables = list(kernel.tables().values())
    text = opencl_source(kernel, PREFIX, group.items, fused=fused)
    program = compiled(context, device, text, call)
    facts = [source.form, kernel.workspace, kernel.local_bytes]
    made(program, facts, tables, cached=False).warm(context, sum(map(len, sizes)))
    head = json.dumps([facts, [len(table) for table in tables]]).encode()
    cache.write(key, b"\n".join([head, b"".join(t.tobytes() for t in tables) + binary_of(program, device)]))
    return made(program, facts, tables, cached=False)
