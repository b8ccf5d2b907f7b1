# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The native backend: functions of one robot as machine code, built now or taken from memory or disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...robot.checks import has_negative_mass
from ...robot.frames import branch_of, branches, frames_cached, placement_of
from ..base import FRAMED, Backend, Call, memo_key, never
from . import availability, cache, compile, gufunc, objects
from .compile import host
from .compiled import CompiledCode
from .locks import building
from .unroll_policy import large_form, serves

_BRANCH = np.dtype(np.int64).itemsize  # bytes in front of the numbers that are told


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
    told: np.ndarray | None = None  # what a kernel for all frames is told of this one

    @cached_property
    def ufunc(self) -> Callable[..., Any]:
        """A NumPy generalized ufunc of it."""
        name = self.call.algorithm.function
        keep = (self.loaded, self.told)
        outputs, loop = len(self.outputs), self.loaded.loop
        return gufunc.around(name, self.shapes, outputs, self.dtype, loop, self.address, keep)

    @property
    def address(self) -> int:
        """Where what the kernel is told stands, 0 if it is told nothing."""
        return 0 if self.told is None else int(self.told.ctypes.data) + _BRANCH

    @cached_property
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the outputs of one state."""
        return self.shapes[len(self.shapes) - len(self.call.function.outputs) :]

    @cached_property
    def packed(self) -> Callable[[Sequence[Any]], Any]:
        """What makes of the outputs what users get."""
        return self.call.function.packed

    @property
    def signature(self) -> str:
        return gufunc.signature(self.shapes, len(self.outputs))


class NativeOfInertias(Native):
    """The same with inertias among its inputs, which are checked first; others pay nothing for it."""

    @cached_property
    def _place(self) -> int:
        return len(self.call.function.inputs) + self.optional.index("inertias")

    def batch(self, inputs: tuple[Any, ...], out: Any = None, threads: int | None = None) -> Any:
        """As above, and None for a mass below zero, which the checks refuse."""
        given = inputs[self._place]
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
    """Forget all frames of a robot before there are too many; their code stays."""
    known = [key for key in robot._memo if isinstance(key, tuple) and key[0] == FRAMED]
    if len(known) >= frames_cached(robot):
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
    kind = NativeOfInertias if "inertias" in optional else Native
    return kind(call, optional, dtype, shapes, loaded, direct, seconds, cached, told)


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
