# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels on NVIDIA's GPUs: our PTX, launched through the driver on arrays of any library."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from math import prod
from typing import Any
from weakref import finalize

import numpy as np

from ...arrays import empty_result, real_numbers
from ...errors import PhalanxError, nearest, shown
from ..base import Call, common_batch, require_shape
from ..native import cache
from ..native.availability import version
from ..native.loop import ELEMENTS
from ..native.lowering import alone
from .cuda_arrays import View, empty_like, handed_over, handle_of, is_on_device, view_of
from .cuda_driver import Driver, driver
from .grid import LaunchLayout
from .kernel import DeviceKernel
from .ptx import ARCHITECTURES, PtxSource, architecture, assembled

_NAME = "kernel"
_MOST_BLOCKS = 2**31 - 1
_SHARE = 4  # a workspace takes at most this part of the memory that is free


def kernel(call: Call, dtype: np.dtype) -> CudaKernel:
    """The kernel of a call, its code made for the first device."""
    return CudaKernel(call, dtype, driver())


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

    def __init__(self, call: Call, dtype: np.dtype, driver: Driver) -> None:
        super().__init__(call, dtype)
        self._driver = driver
        self._loaded: dict[tuple[int, tuple[str, ...]], _Loaded] = {}
        self._on(0, ())

    def ptx(self, target: str | None = None) -> str:
        """The PTX of the kernel, by default for the first device."""
        target = self._architecture(0) if target is None else architecture(target, "ptx")
        return _ptx(self._call, (), self.dtype, target)[0]

    def __call__(self, *inputs: Any, out: Any = None, stream: Any = None, **optional: Any) -> Any:
        """The function for a batch of inputs, (…, n) each; results are of the kind that inputs are.

        Optional inputs are keywords. `out` takes the result, or a tuple of several. Work goes to `stream`, by
        default the one that the inputs tell.
        """
        given = self._given(inputs, optional)
        handle = handle_of(stream)
        there = [is_on_device(x) for x in given.values()]
        if all(there):
            return self._on_arrays(given, out, handle)
        if any(there):
            on, off = (next(n for n, t in zip(given, there, strict=True) if t is x) for x in (True, False))
            raise PhalanxError(f"{self._where}: {on} is on the GPU and {off} is not; pass all inputs alike.")
        return self._on_numpy(given, out, handle or 0)

    @property
    def _where(self) -> str:
        return self._call.function.name

    def _given(self, inputs: tuple[Any, ...], optional: dict[str, Any]) -> dict[str, Any]:
        """All inputs by name, in the order of the kernel's parameters."""
        f = self._call.function
        if len(inputs) != len(f.inputs):
            raise PhalanxError(f"{f.name}: got {len(inputs)} inputs, expected {', '.join(f.inputs)}.")
        for name in optional:
            if name not in f.optional:
                raise PhalanxError(f"{f.name}: unknown input {shown(name)};{nearest(name, f.optional)}")
        more = {name: optional[name] for name in f.optional if optional.get(name) is not None}
        return {**dict(zip(f.inputs, inputs, strict=True)), **more}

    # ------------------------------------------------------------- arrays on a GPU

    def _on_arrays(self, given: dict[str, Any], out: Any, stream: int | None) -> Any:
        call, example = self._call, next(iter(given.values()))
        views = {n: view_of(x, f"{self._where}: {n}", self._driver, stream) for n, x in given.items()}
        first = next(iter(views.values()))
        cores = call.input_sizes(tuple(n for n in given if n in call.function.optional))
        batches = {}
        for name, view in views.items():
            require_shape(call, view.shape, name, cores[name])
            self._require(name, view, first.device)
            batches[name] = view.shape[: len(view.shape) - len(cores[name])]
        batch = next(iter(batches.values()))
        if any(b != batch for b in batches.values()):
            told = ", ".join(f"{n} {b}" for n, b in batches.items())
            raise PhalanxError(
                f"{self._where}: the batch shapes differ: {told}; arrays on a GPU are not broadcast, expand "
                "them."
            )
        told_streams = [v.stream for v in views.values() if v.stream]
        chosen = stream if stream is not None else (told_streams or [0])[0]
        shapes = {name: (*batch, *core) for name, core in call.output_sizes().items()}
        if out is None:
            results = [empty_like(example, first, shape, self._driver, chosen) for shape in shapes.values()]
        else:
            results = self._outs(out)
        targets = []
        for (name, shape), result in zip(shapes.items(), results, strict=True):
            targets.append(self._target(name, shape, result, first.device, list(views.values())))
        with self._driver.on(first.device):
            for other in dict.fromkeys(told_streams):
                if other != chosen:
                    self._driver.follow(chosen, other)
            pointers = [v.pointer for v in (*views.values(), *targets)]
            optional = tuple(n for n in given if n in call.function.optional)
            self._launch(first.device, optional, prod(batch), pointers, chosen)
        made = [handed_over(result, example) if out is None else result for result in results]
        return made[0] if len(made) == 1 else tuple(made)

    def _require(self, name: str, view: View, device: int) -> None:
        """Raise unless an array is as the kernel reads it."""
        where = f'{self._where}: {name} for robot "{self.robot.name}"'
        if view.dtype != self.dtype:
            other = f", or make the kernel with dtype={view.dtype.name!r}" if view.dtype in ELEMENTS else ""
            raise PhalanxError(f"{where} is {view.dtype}, expected {self.dtype}; convert it{other}.")
        if not view.is_contiguous:
            raise PhalanxError(f"{where} is not C-contiguous; pass a contiguous copy.")
        if view.device != device and view.pointer:
            raise PhalanxError(f"{where} is on device {view.device}, the first input on device {device}.")

    def _outs(self, out: Any) -> list[Any]:
        labels = list(self._call.function.outputs)
        outs = list(out) if isinstance(out, (tuple, list)) and len(labels) > 1 else [out]
        if len(outs) != len(labels):
            told = ", ".join(labels)
            raise PhalanxError(
                f"{self._where}: out is {len(outs)} arrays, expected a tuple of {len(labels)}: {told}."
            )
        return outs

    def _target(self, name: str, shape: tuple[int, ...], result: Any, device: int, views: list[View]) -> View:
        """Where a result goes, after all checks."""
        if not is_on_device(result):
            kind = type(result).__name__
            raise PhalanxError(
                f"{self._where}: out for {name} is {kind}, expected an array on the GPU, as inputs are."
            )
        view = view_of(result, f"{self._where}: out", self._driver, None)
        if view.shape != shape:
            raise PhalanxError(f"{self._where}: out for {name} has shape {view.shape}, expected {shape}.")
        self._require("out", view, device)
        if not view.writeable:
            raise PhalanxError(f"{self._where}: out for {name} is read-only.")
        size = prod(shape) * self.dtype.itemsize
        for other in views:
            end = other.pointer + prod(other.shape) * other.dtype.itemsize
            if size and other.pointer < view.pointer + size and view.pointer < end:
                raise PhalanxError(
                    f"{self._where}: out for {name} shares memory with an input; pass an array of its own."
                )
        return view

    # ------------------------------------------------------------- NumPy's arrays

    def _on_numpy(self, given: dict[str, Any], out: Any, stream: int) -> Any:
        call = self._call
        optional = tuple(n for n in given if n in call.function.optional)
        cores = call.input_sizes(optional)
        arrays, batches = {}, {}
        for name, x in given.items():
            array = np.asarray(
                real_numbers(x, f"{self._where}: {name}", "real numbers")
                if not isinstance(x, np.ndarray) or x.dtype != self.dtype
                else x,
                self.dtype,
            )
            require_shape(call, array.shape, name, cores[name])
            arrays[name], batches[name] = array, array.shape[: array.ndim - len(cores[name])]
        batch = common_batch(call, batches)
        shapes = {name: (*batch, *core) for name, core in call.output_sizes().items()}
        outs = None if out is None else self._outs(out)
        for (name, shape), target in zip(shapes.items(), outs or (), strict=outs is not None):
            if not isinstance(target, np.ndarray) or target.shape != shape or not target.flags.writeable:
                told = f"of shape {target.shape}" if isinstance(target, np.ndarray) else type(target).__name__
                raise PhalanxError(
                    f"{self._where}: out for {name} is {told}, expected a writeable array of shape {shape}."
                )
        results = [empty_result(shape, self.dtype) for shape in shapes.values()]
        steps = self._driver
        with steps.on(0), ExitStack() as stack:
            pointers, kept = [], []  # host memory must live until it is copied
            for name, array in arrays.items():
                rows = np.ascontiguousarray(np.broadcast_to(array, (*batch, *cores[name])))
                pointers.append(stack.enter_context(steps.passing(max(1, rows.nbytes), stream)))
                if rows.nbytes:
                    steps.copy_in(pointers[-1], rows.ctypes.data, rows.nbytes, stream)
                kept.append(rows)
            for result in results:
                pointers.append(stack.enter_context(steps.passing(max(1, result.nbytes), stream)))
            self._launch(0, optional, prod(batch), pointers, stream)
            for result, pointer in zip(results, pointers[len(arrays) :], strict=True):
                if result.nbytes:
                    steps.copy_out(result.ctypes.data, pointer, result.nbytes, stream)
            steps.wait(stream)
        if outs is None:
            return results[0] if len(results) == 1 else tuple(results)
        for target, result in zip(outs, results, strict=True):
            target[...] = result
        return out

    # ------------------------------------------------------------- launches

    def _launch(
        self, device: int, optional: tuple[str, ...], count: int, pointers: list[int], stream: int
    ) -> None:
        """Start the kernel on the device that is current."""
        if not count:
            return
        loaded = self._on(device, optional)
        layout = loaded.layout
        blocks = layout.blocks(count, loaded.blocks)
        if not layout.scratch:
            return self._driver.launch(loaded.function, blocks, layout.block, stream, count, pointers)
        with self._driver.passing(layout.workspace(blocks), stream) as workspace:
            pointers = [*pointers, workspace]
            self._driver.launch(loaded.function, blocks, layout.block, stream, count, pointers)
        return None

    def _on(self, device: int, optional: tuple[str, ...]) -> _Loaded:
        """The kernel with some optional inputs on a device, loaded there when it is first needed."""
        key = (device, optional)
        if key not in self._loaded:
            text, layout = _ptx(self._call, optional, self.dtype, self._architecture(device))
            steps = self._driver
            with steps.on(device):
                module, function = steps.function(text, _NAME)
                finalize(self, steps.unload, device, module)
                most = _MOST_BLOCKS
                if layout.scratch:
                    most = steps.resident(function, layout.block) * steps.attribute(
                        device, "MULTIPROCESSOR_COUNT"
                    )
                    most = min(most, steps.free_memory() // (_SHARE * layout.workspace(1)))
                    if most < 1:
                        raise PhalanxError(
                            f"{self._where}: a block of threads needs a workspace of "
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


def _ptx(call: Call, optional: tuple[str, ...], dtype: np.dtype, target: str) -> tuple[str, LaunchLayout]:
    """The PTX of a call and how it is launched, from disk or made now."""
    a = call.algorithm
    parts = (call.robot.digest, call.function.name, a.name, a.valued, call.options, optional, dtype.str)
    key = cache.key_of("ptx", *parts, call.frame, target, version())
    if (found := cache.read(key)) is not None:
        facts, _, text = found.decode().partition("\n")
        known = json.loads(facts)
        known |= {name: tuple(known[name]) for name in ("staged", "sizes")}
        return text, LaunchLayout(**known)
    source = alone(call, optional)
    made = assembled([PtxSource(_NAME, source.built(1), source.told)], ELEMENTS[dtype], target)
    cache.write(key, f"{json.dumps(asdict(made.layouts[0]))}\n{made.text}".encode())
    return made.text, made.layouts[0]
