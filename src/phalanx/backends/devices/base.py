# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels on devices: from the name of a device to its kernel, and their common base class.

The packages of a device are imported when a kernel for it is first made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ...arrays import empty_result, memory_for
from ...errors import PhalanxError, nearest, shown
from ...program.task import Call
from ..base import (
    CompiledFunction,
    checked_array,
    checked_outs,
    common_batch,
    given_inputs,
    module_of,
    require_shape,
)

_MODULES = {"opencl": "devices.opencl", "cuda": "devices.cuda"}


MEMORIES = ("auto", "local", "global")


@dataclass(frozen=True)
class WorkGroup:
    """How work-groups compute one state each: their work-items, and where scratch memory is."""

    items: int
    memory: str = "auto"

    def most_local(self, there: int) -> int:
        """Bytes of local memory that a group may take, of those that a device has."""
        return 0 if self.memory == "global" else there

    def require_items(self, device: str, name: str, most: int) -> None:
        """Raise if a device has no groups of `items` work-items; `most` is its limit."""
        if self.items > most:
            raise PhalanxError(
                f'{device}: group={self.items} work-items, device "{name}" takes at most {most}; pass '
                f"group={most} or less."
            )

    def require_local(self, device: str, name: str, needed: int, there: int) -> None:
        """Raise if scratch memory must be local and a device has not enough of that."""
        if self.memory == "local" and needed > there:
            raise PhalanxError(
                f"{device}: a state takes {needed / 1024:.0f} KB of scratch memory, device "
                f'"{name}" has {there / 1024:.0f} KB of local memory; pass memory="auto", which has in '
                'local memory what fits, or memory="global", dtype="float32", or a shorter robot.'
            )


def group_of(group: Any, memory: Any) -> WorkGroup | None:
    """The work-groups of a kernel, checked; None for one state in each work-item."""
    if not isinstance(memory, str) or memory not in MEMORIES:
        raise PhalanxError(f"kernel: memory={shown(memory)};{nearest(memory, MEMORIES, what='choices')}")
    if group is None:
        if memory != "auto":
            raise PhalanxError(f"kernel: memory={shown(memory)} is for work-groups; pass group=, such as 64.")
        return None
    from ...program.grouped import items_of  # the compiler half

    return WorkGroup(items_of(group), memory)


def device_kernel(device: Any, call: Call, dtype: np.dtype, group: WorkGroup | None = None) -> Any:
    """The kernel of a call on a device, compiled now; with a `group`, one state in each work-group."""
    if not isinstance(device, str) or device not in _MODULES:
        raise PhalanxError(
            f"kernel: unknown device {shown(device)};{nearest(device, ['cpu', *_MODULES], what='devices')}"
        )
    if group is not None:
        # Items without a link only wait; PoCL 3.1 miscompiles loops of levels in which some items idle.
        group = replace(group, items=min(group.items, max(call.robot.model.n, 1)))
    return module_of(device, _MODULES[device]).kernel(call, dtype, group)


class DeviceKernel(CompiledFunction, ABC):
    """A function of one robot on a device; call it with arrays of the device, or of NumPy.

    A *view* is an array of the device as its library describes it: it has `shape`, `dtype` and `strides`. A
    *queue* is where a device runs work in order: a queue of OpenCL, a stream of CUDA.
    """

    device: str
    arrays: str  # which arrays are on the device, and how others get there: for messages
    remedy: str

    def __init__(self, call: Call, dtype: np.dtype, group: WorkGroup | None = None) -> None:
        self._call = call
        self.dtype = dtype
        self._group = group

    @property
    def group(self) -> int | None:
        """Work-items that compute one state; None if each has a state of its own."""
        return None if self._group is None else self._group.items

    @abstractmethod
    def __call__(self, *inputs: Any, out: Any = None, **more: Any) -> Any:
        """The function for a batch of inputs, (…, n) each; results are of the kind that inputs are."""

    def _evaluated(self, inputs: tuple[Any, ...], more: dict[str, Any], out: Any, queue: Any) -> Any:
        """The results for inputs and optional inputs; all arrays are on the device, or none is."""
        f = self._call.function
        by_name = {name: more.pop(name) for name in list(more) if name in f.inputs}
        inputs = (*inputs, *(by_name.pop(name) for name in list(f.inputs)[len(inputs) :] if name in by_name))
        if by_name:
            raise PhalanxError(f"{f.name}: got two values for {min(by_name)}, expected one.")
        given = given_inputs(self._call, inputs, more)
        optional = tuple(name for name in f.optional if name in given)
        sizes = self._call.input_sizes(optional)
        given = {name: given[name] for name in sizes}  # in the order of the kernel's parameters
        on_device = [name for name, x in given.items() if self._is_on_device(x)]
        if not on_device:
            with memory_for(f.name, "take the states in several batches"):
                return self._on_host(given, sizes, optional, out, queue)
        if len(on_device) < len(given):
            name = next(name for name in given if name not in on_device)
            raise PhalanxError(
                f"{f.name}: {name} is {type(given[name]).__name__} and {on_device[0]} is on a device; "
                f"pass all inputs alike, {self.remedy}."
            )
        return self._on_device(given, sizes, optional, out, queue)

    # ------------------------------------------------------------- arrays of NumPy

    def _on_host(
        self,
        given: Mapping[str, Any],
        sizes: Mapping[str, tuple[int, ...]],
        optional: tuple[str, ...],
        out: Any,
        queue: Any,
    ) -> Any:
        call = self._call
        arrays = {name: checked_array(call, given[name], name, size) for name, size in sizes.items()}
        batch = common_batch(call, {name: a.shape[: a.ndim - len(sizes[name])] for name, a in arrays.items()})
        shapes = {label: (*batch, *size) for label, size in call.output_sizes().items()}
        if out is None:
            results = tuple(empty_result(shape, self.dtype) for shape in shapes.values())
        else:
            results = checked_outs(call, out, shapes, self.dtype)
        if count := prod(batch):
            rows = [
                np.ascontiguousarray(np.broadcast_to(arrays[name], (*batch, *size)), self.dtype).reshape(
                    count, -1
                )
                for name, size in sizes.items()
            ]
            filled = [
                r
                if r.flags.c_contiguous and not any(np.may_share_memory(r, x) for x in rows)
                else np.empty(r.shape, self.dtype)
                for r in results
            ]
            self._fill(optional, rows, [x.reshape(count, -1) for x in filled], queue)
            for r, x in zip(results, filled, strict=True):
                if x is not r:
                    r[...] = x
        return call.function.packed([r[()] for r in results]) if out is None else out

    # ------------------------------------------------------------- arrays of the device

    def _on_device(
        self,
        given: Mapping[str, Any],
        sizes: Mapping[str, tuple[int, ...]],
        optional: tuple[str, ...],
        out: Any,
        queue: Any,
    ) -> Any:
        call = self._call
        views = {name: self._view(x, name, queue) for name, x in given.items()}
        queue = self._queue(list(views.values()), queue)
        batch: tuple[int, ...] | None = None
        for name, view in views.items():
            require_shape(call, view.shape, name, sizes[name])
            self._require_fit(name, view, queue)
            own = view.shape[: len(view.shape) - len(sizes[name])]
            if batch is not None and own != batch:
                raise PhalanxError(
                    f"{call.function.name}: {name} has batch shape {own} on the device, expected {batch} "
                    f'as the others for robot "{self.robot.name}"; arrays on a device do not broadcast.'
                )
            batch = own
        assert batch is not None
        shapes = [(*batch, *size) for size in call.output_sizes().values()]
        example = next(iter(given.values()))
        if out is None:
            results = [self._empty(shape, example, queue) for shape in shapes]
        else:
            results = list(out) if len(shapes) > 1 and isinstance(out, (tuple, list)) else [out]
        targets = self._targets(results, shapes, list(views.values()), queue)
        if count := prod(batch):
            self._launch(optional, count, list(views.values()), targets, queue)
        return call.function.packed([self._returned(r, example) for r in results]) if out is None else out

    def _targets(
        self, results: list[Any], shapes: list[tuple[int, ...]], views: list[Any], queue: Any
    ) -> list[Any]:
        """Views of the arrays to fill, checked."""
        where = f"{self._call.function.name}: out"
        if len(results) != len(shapes):
            raise PhalanxError(f"{where} is {len(results)} arrays, expected a tuple of {len(shapes)}.")
        made: list[Any] = []
        for result, shape in zip(results, shapes, strict=True):
            if not self._is_on_device(result):
                raise PhalanxError(f"{where} is {type(result).__name__}, expected an array {self.arrays}.")
            view = self._view(result, "out", None)
            if view.shape != shape:
                raise PhalanxError(
                    f'{where} has shape {view.shape}, expected {shape} for robot "{self.robot.name}".'
                )
            self._require_fit("out", view, queue)
            if any(self._overlap(view, other) for other in (*views, *made)):
                raise PhalanxError(f"{where} shares memory with another array; pass one of its own.")
            made.append(view)
        return made

    def _require_fit(self, name: str, view: Any, queue: Any) -> None:
        """Raise unless the kernel can take an array of the device as it is."""
        where = f"{self._call.function.name}: {name}"
        if view.dtype != self.dtype:
            raise PhalanxError(
                f"{where} has dtype {view.dtype} on the device, expected {self.dtype}; convert it, or make a "
                f'kernel with dtype="{view.dtype}".'
            )
        if not self._is_contiguous(view):
            raise PhalanxError(
                f"{where} has strides {view.strides}, expected rows one after another (C order); copy it."
            )

    @abstractmethod
    def _is_on_device(self, x: Any) -> bool:
        """Whether an argument is an array on the device."""

    @abstractmethod
    def _view(self, x: Any, name: str, queue: Any) -> Any:
        """The view of an array on the device."""

    @abstractmethod
    def _queue(self, views: list[Any], queue: Any) -> Any:
        """The queue of a launch: the one given, or that of the arrays."""

    @abstractmethod
    def _is_contiguous(self, view: Any) -> bool:
        """Whether an array is C-contiguous."""

    @abstractmethod
    def _overlap(self, a: Any, b: Any) -> bool:
        """Whether two arrays share memory."""

    @abstractmethod
    def _empty(self, shape: tuple[int, ...], example: Any, queue: Any) -> Any:
        """An array for a result, of the library of an input."""

    def _returned(self, result: Any, example: Any) -> Any:
        """The array that a caller gets for a result of `_empty`, of the same library as an input."""
        return result

    @abstractmethod
    def _launch(
        self, optional: tuple[str, ...], count: int, inputs: Sequence[Any], outputs: Sequence[Any], queue: Any
    ) -> None:
        """Start the kernel on views of inputs and outputs; nothing waits for it."""

    @abstractmethod
    def _fill(
        self, optional: tuple[str, ...], rows: Sequence[np.ndarray], results: Sequence[np.ndarray], queue: Any
    ) -> None:
        """Fill rows of results from rows of inputs, both in the host's memory."""
