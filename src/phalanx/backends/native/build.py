# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The native backend: functions of one robot as machine code, built now or taken from memory or disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ...arrays import MOST_AXES, empty_result
from ...robot.frames import branch_of, branches, frames_kept, placement_of
from ..base import FRAMED, Backend, Call, available_threads, memo_key, never
from . import cache, compile, gufunc, objects
from .compile import host
from .extent import large_form, serves
from .locks import building
from .threads import SMALL, Pace, fill

_BRANCH = np.dtype(np.int64).itemsize  # bytes in front of the numbers that are told


@dataclass(frozen=True)
class Native:
    """Machine code for one call with some of its optional inputs, in one precision."""

    call: Call
    optional: tuple[str, ...]
    dtype: np.dtype
    shapes: tuple[tuple[int, ...], ...]  # inputs, then outputs
    loaded: compile.Loaded
    direct: Callable[..., bool]
    seconds: float
    cached: bool
    told: np.ndarray | None = None  # what a kernel for all frames is told of this one

    @cached_property
    def ufunc(self) -> Callable[..., Any]:
        """A NumPy generalized ufunc of it."""
        name = self.call.algorithm.function
        keep = (self.loaded, self.told)
        outputs, loop = len(self.outputs), self.loaded.loop
        return gufunc.around(name, self.shapes, outputs, self.dtype, loop, self.address, keep)

    @cached_property
    def pace(self) -> Pace:
        """How long a state takes, as far as known."""
        return Pace()

    @property
    def address(self) -> int:
        """Where what the kernel is told stands, 0 if it is told nothing."""
        return 0 if self.told is None else int(self.told.ctypes.data) + _BRANCH

    @cached_property
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the outputs of one state."""
        return self.shapes[len(self.shapes) - len(self.call.function.outputs) :]

    @cached_property
    def _has_one(self) -> bool:
        """Whether there is one output, which users get as it is."""
        return len(self.outputs) == 1 and not isinstance(self.call.function.packed([None]), tuple)

    @property
    def signature(self) -> str:
        return gufunc.signature(self.shapes, len(self.outputs))

    def batch(self, inputs: tuple[Any, ...], out: Any = None, threads: int | None = None) -> Any:
        """The result for arrays that machine code can take as they are, or None: then let them be checked.

        Machine code is called first; whatever it declines, the checks explain better. Without a number of
        `threads`, a large batch may have all that are available.
        """
        if out is not None:
            if self._has_one:
                return out if type(out) is np.ndarray and self.fill((*inputs, out), threads) else None
            return out if self._are_places(inputs, out) and self.fill((*inputs, *out), threads) else None
        first = inputs[0]
        is_row = type(first) is np.ndarray and first.shape[1:] == self.shapes[0]
        batch = (len(first),) if is_row else self._batch_of(inputs)
        while batch is not None:
            results = [empty_result((*batch, *shape), self.dtype) for shape in self.outputs]
            if self.fill((*inputs, *results), threads):
                shown = [result if result.ndim else result[()] for result in results]
                return shown[0] if self._has_one else self.call.function.packed(shown)
            guess, batch = batch, self._batch_of(inputs) if is_row else None
            if guess == batch:  # no other input made it longer
                return None
            is_row = False
        return None

    def fill(self, arrays: tuple[Any, ...], threads: int | None) -> bool:
        """Fill outputs, the last arrays, from the others; False, and nothing touched, unless they fit."""
        if threads == 1 or arrays[-1].size < SMALL:
            return self.direct(*arrays)
        count = available_threads() if threads is None else threads
        return fill(self.direct, arrays, prod(self.shapes[-1]), count, self.pace)

    def _are_places(self, inputs: tuple[Any, ...], outs: Any) -> bool:
        """Whether arrays may take the results: of several, what machine code does not look at itself.

        It sees to the last one, and that all are writeable and of its dtype.
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


def native(call: Call, optional: Sequence[str] = (), dtype: Any = np.float64) -> Native:
    """The machine code of a call, compiled now or taken from memory or disk."""
    dtype = np.dtype(dtype)
    names = tuple(name for name in call.function.optional if name in optional)
    key = memo_key(call, names, dtype)
    found: Native | None = call.robot._memo.get(key)
    if found is None:
        with building:
            if call.function.frame:
                _make_room(call.robot)
            found = call.robot.memo(key, lambda: _build(call, names, dtype))
    assert found is not None
    return found


def _make_room(robot: Any) -> None:
    """Forget all frames of a robot before there are too many; their code stays."""
    known = [key for key in robot._memo if isinstance(key, tuple) and key[0] == FRAMED]
    if len(known) >= frames_kept(robot):
        for key in known:
            robot._memo.pop(key, None)


def _build(call: Call, optional: tuple[str, ...], dtype: np.dtype) -> Native:
    start = time.perf_counter()
    loaded, cached = _code(call, optional, dtype)
    shapes = call.shapes(optional)
    name = call.algorithm.function
    told = _told(call, dtype) if call.function.frame else None
    address = 0 if told is None else told.ctypes.data + _BRANCH
    seconds = time.perf_counter() - start  # without the runtime, which all kernels share
    direct = never
    if objects.usable():
        outputs = len(call.function.outputs)
        direct = objects.array_function(loaded, name, dtype, shapes, outputs, address, told)
    return Native(call, optional, dtype, shapes, loaded, direct, seconds, cached, told)


def _code(call: Call, optional: tuple[str, ...], dtype: np.dtype) -> tuple[compile.Loaded, bool]:
    """The machine code of a call, one for all frames, and whether it was there already."""
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

    def text() -> str:
        from .loop import module  # the compiler half, which a cached kernel does not need

        return module(call, optional, dtype, host())

    parts = (call.robot.digest, call.function.name, a.name, call.options, optional, dtype.str)
    return compile.cached_or_made(parts, text)


def _told(call: Call, dtype: np.dtype) -> np.ndarray:
    """What a kernel for all frames is told of one: the number of its branch, then its placement."""
    frame, robot = placement_of(call.robot, call.frame), call.robot
    number = 0  # which loops do not read
    if large_form(call) is None:
        number = branch_of(robot.memo("branches", lambda: branches(robot.model)), frame)
    branch = np.array([number], np.int64)
    return np.frombuffer(branch.tobytes() + frame.numbers().astype(dtype).tobytes(), np.uint8)


class NativeBackend(Backend):
    """One compiled kernel per robot, function, algorithm and precision."""

    name = "native"

    def serves(self, call: Call) -> bool:
        return serves(call)

    def cost(self, call: Call) -> Any:
        from .costs import is_countable, kernel_cost  # these trace

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
        arrays = [_plain(a, kernel.dtype, apart=outs) for a in given]
        results = [_plain(out, kernel.dtype, apart=outs[:k]) for k, out in enumerate(outs)]
        if not kernel.fill((*arrays, *results), threads):
            kernel.ufunc(*arrays, out=tuple(results))
        for result, out in zip(results, outs, strict=True):
            if not np.may_share_memory(result, out):
                out[...] = result


def _plain(array: np.ndarray, dtype: np.dtype, apart: tuple[np.ndarray, ...]) -> np.ndarray:
    """An array as machine code takes it: aligned, of just that dtype, away from the memory of others."""
    if array.dtype != dtype:
        return array.astype(dtype, subok=False)
    if not array.flags.aligned or any(np.may_share_memory(array, other) for other in apart):
        return np.array(array, dtype, subok=False)
    return array if array.dtype is dtype and type(array) is np.ndarray else array.view(dtype, np.ndarray)


BACKEND = NativeBackend()
