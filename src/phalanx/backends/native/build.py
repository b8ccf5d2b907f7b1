# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A function of one robot as machine code: built, cached, and handed out as a gufunc."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache as once
from typing import Any

import numpy as np

from ...arrays import MOST_AXES
from ...errors import PhalanxError, warn
from ...robot.frames import branch_of, branches, frames_kept, placement_of
from ..base import FRAMED, Call, memo_key
from ..buffers import empty_result
from . import cache, compile, gufunc, objects
from .extent import unrolls
from .locks import building
from .target import host
from .threads import Pace, share

_BRANCH = np.dtype(np.int64).itemsize  # bytes in front of the numbers that are told


@dataclass(frozen=True)
class Native:
    """Machine code for one call with some of its optional inputs, in one precision."""

    call: Call
    optional: tuple[str, ...]
    dtype: np.dtype
    shapes: tuple[tuple[int, ...], ...]  # inputs, then the output
    loaded: compile.Loaded
    ufunc: Callable[..., Any]
    direct: Callable[..., bool]
    shared: Callable[..., bool]
    seconds: float
    cached: bool
    told: np.ndarray | None = None  # what a kernel for all frames is told of this one
    pace: Pace = field(default_factory=Pace, compare=False)

    @property
    def address(self) -> int:
        """Where what the kernel is told stands, 0 if it is told nothing."""
        return 0 if self.told is None else int(self.told.ctypes.data) + _BRANCH

    @property
    def signature(self) -> str:
        return _signature(self.shapes)

    def batch(self, inputs: tuple[Any, ...], out: Any = None, threads: int = 1) -> Any:
        """The result for arrays that NumPy can take as they are, or None: then let them be checked.

        The kernel is called first; whatever NumPy complains about, the checks explain better. Several
        threads share only rows of states that lie in one piece.
        """
        for x in inputs if out is None else (*inputs, out):
            if type(x) is not np.ndarray or x.dtype is not self.dtype:
                return None
        result = out
        if out is None and inputs[0].shape[1:] == self.shapes[0]:
            result = empty_result((len(inputs[0]), *self.shapes[-1]), self.dtype)
        if threads > 1 and not self._is_brief(inputs):
            fits = result is not None and share(self.shared, (*inputs, result), threads, self.pace)
            return result if fits else None
        if result is not None and self.direct(*inputs, result):
            return result
        if out is not None:
            # NumPy would repeat results along axes that only `out` has.
            batch = out.shape[: out.ndim - len(self.shapes[-1])]
            if len(batch) > MOST_AXES or not any(batch == x.shape[: x.ndim - 1] for x in inputs):
                return None
        result = None  # memory for plain rows goes back before NumPy takes its own
        try:
            result = self.ufunc(*inputs) if out is None else self.ufunc(*inputs, out=out)
        except (ValueError, TypeError, MemoryError):
            return None
        return result if result.ndim <= MOST_AXES + len(self.shapes[-1]) else None

    def _is_brief(self, inputs: tuple[np.ndarray, ...]) -> bool:
        """Whether a state, or rows of states, are known to be done before another thread would be awake."""
        first = inputs[0]
        return self.pace.is_brief(first) and all(x.shape[:-1] == first.shape[:-1] for x in inputs)


def never(*arrays: Any) -> bool:
    """An entry that takes nothing, where objects are laid out so that there is no other: on to the ufunc."""
    return False


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
    ufunc = _ufunc(name, shapes, dtype, loaded, address, told)
    direct = shared = never
    if objects.usable():
        direct, shared = (
            objects.array_function(entry, name, dtype, address, (loaded, told))
            for entry in (loaded.direct, loaded.shared)
        )
    seconds = time.perf_counter() - start
    return Native(call, optional, dtype, shapes, loaded, ufunc, direct, shared, seconds, cached, told)


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
    target = host()
    cache.check_variables()
    key = cache.key_of(
        call.robot.digest,
        call.algorithm.function,
        call.algorithm.name,
        call.options,
        optional,
        dtype.str,
        target,
        compile.VERSION,
        objects.LAYOUT,
    )
    if (code := cache.read(key)) is not None:
        with contextlib.suppress(PhalanxError):  # no object code, for all its right digest
            return compile.load(code), True
    from .source import module  # the compiler half, which a cached kernel does not need

    code = compile.object_code(module(call, optional, dtype, target), target)
    cache.write(key, code)
    return compile.load(code), False


def _told(call: Call, dtype: np.dtype) -> np.ndarray:
    """What a kernel for all frames is told of one: the number of its branch, then its placement."""
    frame, robot = placement_of(call.robot, call.frame), call.robot
    number = 0
    if unrolls(call):
        number = branch_of(robot.memo("branches", lambda: branches(robot.model)), frame)
    branch = np.array([number], np.int64)
    return np.frombuffer(branch.tobytes() + frame.numbers().astype(dtype).tobytes(), np.uint8)


_alive: list[Any] = []  # what gufuncs of NumPy before 2.2 point to; they take no attributes


def _ufunc(
    name: str,
    shapes: tuple[tuple[int, ...], ...],
    dtype: np.dtype,
    loaded: compile.Loaded,
    address: int,
    told: Any,
) -> Any:
    """The gufunc around a loop, which keeps its machine code alive, and what it is told at an address."""
    try:
        made, needs = gufunc.make_gufunc(
            name, "", _signature(shapes), len(shapes), [(dtype, loaded.loop)], address
        )
    except (RuntimeError, ImportError, AttributeError):
        _warn_of_slow_path()
        return gufunc.SlowUfunc(name, shapes, dtype, loaded.loop, address, (loaded, told))
    try:
        setattr(made, "needs", (loaded, told, needs))  # noqa: B010
    except AttributeError:
        _alive.append((made, loaded, told, needs))
    return made


@once
def _warn_of_slow_path() -> None:
    """Say so once in a process."""
    text = f"NumPy {np.__version__} keeps its ufuncs differently; kernels run through a slower path."
    warn(text)


def _signature(shapes: Sequence[tuple[int, ...]]) -> str:
    *inputs, output = ("(" + ",".join(map(str, s)) + ")" for s in shapes)
    return ",".join(inputs) + "->" + output
