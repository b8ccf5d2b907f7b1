# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The native backend: functions of one robot as machine code, built now or taken from memory or disk."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ...arrays import MOST_AXES, empty_result
from ...program.task import Call
from ...program.unroll_policy import branch_of, branches, is_segmented, large_form, serves
from ...robot.checks import has_negative_mass
from ...robot.frames import frames_cached, placement_of
from ..base import FRAMED, Backend, available_threads, memo_key, never
from . import availability, cache, compile, gufunc, objects
from .compile import host
from .locks import building
from .threads import SMALL, Throughput, fill, share

_BRANCH = np.dtype(np.int64).itemsize  # bytes of the branch, in front of the other uniforms


class CompiledCode(ABC):
    """Machine code with inputs and outputs of some shapes for one state."""

    dtype: np.dtype
    shapes: tuple[tuple[int, ...], ...]  # inputs, then outputs
    direct: Callable[..., bool]
    loaded: compile.Loaded

    @property
    def address(self) -> int:
        """The address of the uniforms, 0 if there are none."""
        return 0

    @property
    @abstractmethod
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the outputs of one state."""

    @property
    @abstractmethod
    def packed(self) -> Callable[[Sequence[Any]], Any]:
        """A function from the sequence of outputs to the result that users get."""

    @cached_property
    @abstractmethod
    def ufunc(self) -> Callable[..., Any]:
        """A NumPy generalized ufunc of it."""

    @cached_property
    def throughput(self) -> Throughput:
        """The measured time per state, updated by large batches."""
        return Throughput()

    @property
    def groups(self) -> int:
        """The number of parts into which threads may split one state; 0 if it cannot be split."""
        return 0

    def _one(self, arrays: tuple[Any, ...], threads: int | None) -> bool:
        """Fill the outputs, the last arrays, for arrays with the sizes of one state."""
        if threads == 1 or self.groups < 2:
            return self.direct(*arrays)
        return share(self.direct, arrays, self.groups, threads, available_threads(), self.throughput)

    @cached_property
    def _has_one(self) -> bool:
        """Whether there is one output, which is returned without a tuple."""
        return len(self.outputs) == 1 and not isinstance(self.packed([None]), tuple)

    def batch(self, inputs: tuple[Any, ...], out: Any = None, threads: int | None = None) -> Any:
        """The result for arrays that machine code takes as they are; None if the slow path must check them.

        The fast path: machine code is called first, and the checks explain what it declines. Without a number
        of `threads`, a large batch may use all that are available.
        """
        if out is not None:
            if self._has_one:
                return out if type(out) is np.ndarray and self.fill((*inputs, out), threads) else None
            return out if self._can_take(inputs, out) and self.fill((*inputs, *out), threads) else None
        first = inputs[0]
        if type(first) is np.ndarray and first.shape == self.shapes[0]:  # one state, as far as seen
            alone = [np.empty(shape, self.dtype) for shape in self.outputs]
            if self._one((*inputs, *alone), threads):
                return self.packed(alone if self.outputs[-1] else [result[()] for result in alone])
        is_row = type(first) is np.ndarray and first.shape[1:] == self.shapes[0]
        batch = (len(first),) if is_row else self._batch_of(inputs)
        while batch is not None:
            results = [empty_result((*batch, *shape), self.dtype) for shape in self.outputs]
            if self.fill((*inputs, *results), threads):
                shown = [result if result.ndim else result[()] for result in results]
                return self.packed(shown)
            guess, batch = batch, self._batch_of(inputs) if is_row else None
            if guess == batch:  # no other input made it longer
                return None
            is_row = False
        return None

    def fill(self, arrays: tuple[Any, ...], threads: int | None) -> bool:
        """Fill outputs, the last arrays, from the others; False, with nothing written, if they do not fit."""
        if arrays[-1].shape == self.shapes[-1]:
            return self._one(arrays, threads)
        if threads == 1 or arrays[-1].size < SMALL:
            return self.direct(*arrays)
        count = available_threads() if threads is None else threads
        return fill(self.direct, arrays, prod(self.shapes[-1]), count, self.throughput)

    def fill_any(self, inputs: Sequence[np.ndarray], outs: Sequence[np.ndarray], threads: int | None) -> None:
        """Fill outputs from checked inputs of any strides, types and memory."""
        arrays = [_plain(a, self.dtype, apart=outs) for a in inputs]
        results = [_plain(out, self.dtype, apart=outs[:k]) for k, out in enumerate(outs)]
        if not self.fill((*arrays, *results), threads):
            self.ufunc(*arrays, out=tuple(results))
        for result, out in zip(results, outs, strict=True):
            if not np.may_share_memory(result, out):
                out[...] = result

    def _can_take(self, inputs: tuple[Any, ...], outs: Any) -> bool:
        """Whether machine code may write several results into `outs`: the checks that it does not do itself.

        Machine code checks the last one itself, and that all are writeable and of its dtype.
        """
        count = len(self.outputs)
        if not isinstance(outs, (tuple, list)) or len(outs) != count:
            return False
        arrays = (*inputs, *outs)
        for x in arrays:
            if type(x) is not np.ndarray:
                return False
        batch = outs[-1].shape[: outs[-1].ndim - len(self.outputs[-1])]
        for k, core in enumerate(self.outputs):
            out = outs[k]
            if out.shape != batch + core:
                return False
            for other in arrays[: len(inputs) + k] if k < count - 1 else outs[:k]:
                apart = out.base is None and other.base is None and out is not other
                if not apart and np.may_share_memory(out, other):
                    return False
        return True

    def _batch_of(self, inputs: tuple[Any, ...]) -> tuple[int, ...] | None:
        """The batch to which those of all inputs broadcast, None if one is no array of states."""
        batch: tuple[int, ...] = ()
        for k, x in enumerate(inputs):
            if type(x) is not np.ndarray:
                return None
            axes = x.ndim - len(self.shapes[k])
            if x.shape[axes:] != self.shapes[k]:
                return None
            own = x.shape[:axes]
            if own != batch:
                batch = _broadcast(batch, own)
        return batch if len(batch) <= MOST_AXES else None


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The batch shape of two; where they do not broadcast, one that fits neither."""
    if len(a) < len(b):
        a, b = b, a
    head = len(a) - len(b)
    return (*a[:head], *(n if m == 1 else m for m, n in zip(a[head:], b, strict=True)))


@dataclass(frozen=True)
class Native(CompiledCode):
    """Machine code for one call with some of its optional inputs, in one precision."""

    call: Call
    optional: tuple[str, ...]
    dtype: np.dtype
    shapes: tuple[tuple[int, ...], ...]  # inputs, then outputs
    loaded: compile.Loaded
    direct: Callable[..., bool]
    seconds: float
    cached: bool
    uniforms: np.ndarray | None = None  # of one frame, for a kernel of all frames

    @cached_property
    def ufunc(self) -> Callable[..., Any]:
        """A NumPy generalized ufunc of it."""
        name = self.call.algorithm.function
        keep = (self.loaded, self.uniforms)
        outputs, loop = len(self.outputs), self.loaded.loop
        return gufunc.around(name, self.shapes, outputs, self.dtype, loop, self.address, keep)

    @cached_property
    def groups(self) -> int:
        """The number of parts into which threads may split one state; 0 if it cannot be split."""
        return self.loaded.groups

    @property
    def address(self) -> int:
        """The address of the uniforms, 0 if there are none."""
        return 0 if self.uniforms is None else int(self.uniforms.ctypes.data) + _BRANCH

    @cached_property
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the outputs of one state."""
        return self.shapes[len(self.shapes) - len(self.call.function.outputs) :]

    @cached_property
    def packed(self) -> Callable[[Sequence[Any]], Any]:
        """A function from the sequence of outputs to the result that users get."""
        return self.call.function.packed

    @property
    def signature(self) -> str:
        return gufunc.signature(self.shapes, len(self.outputs))


class NativeOfInertias(Native):
    """Machine code with inertias among its inputs, whose masses are checked before each call."""

    @cached_property
    def _index(self) -> int:
        return len(self.call.function.inputs) + self.optional.index("inertias")

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        return self.shapes[self._index]

    def checked_direct(self, *arrays: Any) -> bool:
        """As `direct`, but False if a mass is negative."""
        given = arrays[self._index]
        if type(given) is not np.ndarray or given.dtype != self.dtype or given.shape != self._shape:
            return False
        return not has_negative_mass(given) and self.direct(*arrays)

    def batch(self, inputs: tuple[Any, ...], out: Any = None, threads: int | None = None) -> Any:
        """As above, but None if a mass is negative: the slow path refuses it."""
        given = inputs[self._index]
        if type(given) is not np.ndarray or given.dtype != self.dtype or given.shape[-1:] != (10,):
            return None
        if has_negative_mass(given):
            return None
        return super().batch(inputs, out, threads)


def native(call: Call, optional: Sequence[str] = (), dtype: Any = np.float64) -> Native:
    """The machine code of a call, compiled now or taken from memory or disk."""
    dtype = np.dtype(dtype)
    names = tuple(name for name in call.function.optional if name in optional)
    key = memo_key(call, names, dtype)
    found: Native | None = call.robot._memo.get(key)
    if found is None:
        if availability.refusal():
            availability.require()
        with building:
            if call.function.frame:
                _make_room(call.robot)
            found = call.robot._memoized(key, lambda: _build(call, names, dtype))
    assert found is not None
    return found


def _make_room(robot: Any) -> None:
    """Evict all frames of a robot from memory before there are too many; their machine code stays."""
    known = [key for key in robot._memo if isinstance(key, tuple) and key[0] == FRAMED]
    if len(known) >= frames_cached(robot):
        for key in known:
            robot._memo.pop(key, None)


def _build(call: Call, optional: tuple[str, ...], dtype: np.dtype) -> Native:
    start = time.perf_counter()
    loaded, cached = _code(call, optional, dtype)
    shapes = call.shapes(optional)
    name = call.algorithm.function
    uniforms = _uniforms(call, dtype) if call.function.frame else None
    address = 0 if uniforms is None else uniforms.ctypes.data + _BRANCH
    seconds = time.perf_counter() - start  # without the runtime, which all kernels share
    direct = never
    if objects.usable():
        outputs = len(call.function.outputs)
        direct = objects.array_function(loaded, name, dtype, shapes, outputs, address, uniforms)
    kind = NativeOfInertias if "inertias" in optional else Native
    return kind(call, optional, dtype, shapes, loaded, direct, seconds, cached, uniforms)


def _code(call: Call, optional: tuple[str, ...], dtype: np.dtype) -> tuple[compile.Loaded, bool]:
    """The machine code of a call, shared by all frames, and whether it was in memory or on disk."""
    if not call.function.frame:
        return _read_or_made(call, optional, dtype)
    memo, key = call.robot._memo, ("code", *memo_key(replace(call, frame=None), optional, dtype))
    if key in memo:
        return memo[key], True
    loaded, cached = _read_or_made(call, optional, dtype)
    return memo.setdefault(key, loaded), cached


def _read_or_made(call: Call, optional: tuple[str, ...], dtype: np.dtype) -> tuple[compile.Loaded, bool]:
    cache.check_variables()
    a = call.algorithm

    def made() -> tuple[str, compile.CodegenOptions]:
        from .loop import codegen_options, module  # the compiler half, which a cached kernel does not need

        ir = module(call, optional, dtype, host())
        return ir, codegen_options(call, optional, ir)

    parts = (call.robot.digest, call.function.name, a.name, call.options, optional, dtype.str)
    names = (*compile.KERNEL, *compile.PHASED) if is_segmented(call) else compile.KERNEL
    return compile.cached_or_made(parts, made, names)


def _uniforms(call: Call, dtype: np.dtype) -> np.ndarray:
    """The uniforms of one frame for a kernel of all frames: the number of its branch, then its placement."""
    frame, robot = placement_of(call.robot, call.frame), call.robot
    number = 0  # which loops do not read
    if large_form(call) is None:
        number = branch_of(robot._memoized("branches", lambda: branches(robot.model)), frame)
    branch = np.array([number], np.int64)
    return np.frombuffer(branch.tobytes() + frame.numbers().astype(dtype).tobytes(), np.uint8)


class NativeBackend(Backend):
    """One compiled kernel per robot, function, algorithm and precision."""

    name = "native"

    def serves(self, call: Call) -> bool:
        if availability.refusal():
            availability.warn_of_numpy()
            return False
        return serves(call)

    def cost(self, call: Call) -> Any:
        from ...program.analyses.cost import is_countable, kernel_cost  # these trace

        return kernel_cost(call) if is_countable(call) else None

    def job(
        self, call: Call, inputs: tuple[np.ndarray, ...], outs: tuple[np.ndarray, ...]
    ) -> Callable[[], Any]:
        built = native(call, (), outs[0].dtype)
        direct = built.direct
        if direct(*inputs, *outs):
            return lambda: direct(*inputs, *outs)
        return lambda: built.ufunc(*inputs, out=outs)

    def run(
        self,
        call: Call,
        inputs: list[np.ndarray],
        optional: Mapping[str, np.ndarray],
        outs: tuple[np.ndarray, ...],
        threads: int,
    ) -> None:
        kernel = native(call, tuple(optional), outs[0].dtype)
        given = [*inputs, *(optional[name] for name in kernel.optional)]
        kernel.fill_any(given, outs, threads)


def _plain(array: np.ndarray, dtype: np.dtype, apart: Sequence[np.ndarray]) -> np.ndarray:
    """An array that machine code can read: aligned, of just that dtype, sharing no memory with others."""
    if array.dtype != dtype:
        return array.astype(dtype, subok=False)
    if not array.flags.aligned or any(np.may_share_memory(array, other) for other in apart):
        return np.array(array, dtype, subok=False)
    return array if array.dtype is dtype and type(array) is np.ndarray else array.view(dtype, np.ndarray)


BACKEND = NativeBackend()
