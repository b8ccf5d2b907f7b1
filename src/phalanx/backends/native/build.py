# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A function of one robot as machine code: built, cached, and handed out as a gufunc."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache as once
from math import prod
from typing import Any

import numpy as np

from ...algorithms import algorithms
from ...arrays import MOST_AXES
from ...errors import PhalanxError, warn
from ...ir.rewrite import instructions
from ...ir.rolled import RolledProgram, refusal, roll
from ...ir.rolled.segments.roll import SegmentProgram, cuts, roll_segments
from ...ir.trace import Program, trace
from ...model import Model
from ..base import Call, memo_key
from ..buffers import empty_result
from . import cache, compile, gufunc, loop, objects
from .emit import straight
from .emit.segments import segment_block_function
from .emit.widths import in_widths
from .locks import building
from .target import Target, host
from .threads import Pace, share

# Instructions up to which code is unrolled: about a second of compiling.
_UNROLLED = 8_000
# Functions of the dynamics alone, to which regrouped inertias make no difference.
_REGROUPED = {
    "inverse_dynamics",
    "mass_matrix",
    "forward_dynamics",
    "bias_forces",
    "gravity_forces",
    "mass_matrix_inverse",
}
_ELEMENTS = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}


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
    pace: Pace = field(default_factory=Pace, compare=False)

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
            found = call.robot.memo(key, lambda: _build(call, names, dtype))
    assert found is not None
    return found


def traced(call: Call, optional: tuple[str, ...]) -> Program:
    """The scalar program of a call, as its kernel runs it."""
    return trace(call.task(optional, _model(call)))


def looped(call: Call, optional: tuple[str, ...]) -> RolledProgram | SegmentProgram | None:
    """The loops that the kernel of a call runs, None if it is straight-line code."""
    if _segments(call):
        return roll_segments(call.task(optional, _model(call)))
    if unrolls(call) or not _rolls(call):
        return None
    return roll(call.task(optional, _model(call)))


def _model(call: Call) -> Model:
    """The robot's model; for functions of the dynamics alone with its inertias regrouped.

    Neither mass centres, as in DH frames, nor inverses are to be had from regrouped inertias. Along a
    thousand links regrouping hands masses down the whole chain, which costs a digit and more; loops
    gain little.
    """
    model = call.robot.model
    a = call.algorithm
    as_given = a.frames == "dh" or a.bodies != "any"
    if a.function not in _REGROUPED or as_given or not unrolls(call):
        return model
    regrouped: Model = call.robot.memo("regrouped", model.regrouped)
    return regrouped


def module(call: Call, optional: tuple[str, ...], dtype: np.dtype, target: Target) -> str:
    """The LLVM text of a call."""
    element = _ELEMENTS[dtype]
    scratch, rows, alone = 0, 0, "@block"
    loops = looped(call, optional)
    if isinstance(loops, SegmentProgram):
        block, declarations, scratch = segment_block_function(loops, target, element)
        rows = 1
    elif loops is None:
        _require_short(call)
        program = traced(call, optional)
        sizes = {name: prod(shape) for name, shape in program.inputs.items()}
        block, declarations = straight.block_function(instructions(program), sizes, target, element)
    else:
        block, declarations, scratch, target, alone = in_widths(loops, target, element)
        _require_memory(call, scratch)
    shapes = _shapes(call, optional)
    return loop.module_text(block, declarations, shapes, element, target, scratch, rows, alone)


def serves(call: Call) -> bool:
    """Whether a call can be compiled in reasonable time: unrolled, or as loops over bodies."""
    return unrolls(call) or _segments(call) or _rolls(call)


def _segments(call: Call) -> bool:
    """Whether lanes are segments of a chain in one state, not states."""
    return call.algorithm.lanes == "segments" and cuts(call.robot.model)


def _rolls(call: Call) -> bool:
    """Whether there are loops over bodies for a call."""
    return not refusal(call.algorithm, call.robot.model)


def _require_short(call: Call) -> None:
    """Raise if unrolling, the only way, would compile for minutes."""
    if predicted_instructions(call) > 16 * _UNROLLED:
        raise PhalanxError(
            f'{call.function.name}: the code of algorithm "{call.algorithm.name}" for robot '
            f'"{call.robot.name}" ({call.robot.model.n} bodies) is too long to compile; '
            f'use backend="numpy" or "jax".'
        )


def _require_memory(call: Call, scratch: int) -> None:
    """Raise if a matrix that loops keep would not fit the memory of this machine."""
    if hasattr(os, "sysconf") and scratch > 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        others = [a for a in algorithms(call.function.name) if a.name != call.algorithm.name]
        remedy = 'use algorithm "auto"'
        if all(a.refusal(call.robot) for a in others):
            remedy = "no other algorithm covers it; take a shorter robot"
        raise PhalanxError(
            f'{call.function.name}: algorithm "{call.algorithm.name}" keeps a matrix over the bodies of '
            f'robot "{call.robot.name}" ({call.robot.model.n} bodies): {scratch / 1e9:.1f} GB for each '
            f"thread, more than half of the memory of this machine; {remedy}."
        )


def unrolls(call: Call) -> bool:
    """Whether a call becomes straight-line code."""
    return predicted_instructions(call) <= _UNROLLED and not _segments(call)


def is_countable(call: Call) -> bool:
    """Whether the scalar program of a call is short enough to be traced for its operations."""
    return predicted_instructions(call) <= 2 * _UNROLLED


def predicted_instructions(call: Call) -> int:
    """A guess, from the robot's shape alone, of what unrolling would give (within a factor of two)."""
    depth = call.robot.model.depth + 1.0
    n, work = len(depth), call.algorithm.work
    if "depth" in work:  # entries for pairs of bodies, perhaps their elimination
        return int(70 * n + 8 * depth.sum() + 0.5 * (depth**2).sum())
    if "n^3" in work:
        return 8 * n**3
    if "n^2" in work:
        return 30 * n**2
    # Axes at right angles leave three entries of a rotation, general ones all nine.
    dense = max(1.0, np.count_nonzero(call.robot.model.rest.E) / (4.5 * max(n, 1)))
    forward, joined = call.algorithm.function == "forward_dynamics", "log" in work
    each = int(dense * ((450 if joined else 200) if forward else 75))
    # With a logarithm: a join for every body whenever the depth doubles.
    return each * n * (int(depth.max(initial=1)).bit_length() if joined else 1)


def _build(call: Call, optional: tuple[str, ...], dtype: np.dtype) -> Native:
    start = time.perf_counter()
    target = host()
    key = cache.key_of(
        call.robot.digest,
        call.algorithm.function,
        call.algorithm.name,
        call.options,
        call.arguments() if call.frame is not None else None,
        optional,
        dtype.str,
        target,
        compile.VERSION,
        objects.LAYOUT,
    )
    code = cache.read(key)
    cached = code is not None
    if code is None:
        code = compile.object_code(module(call, optional, dtype, target), target)
        cache.write(key, code)
    loaded = compile.load(code)
    shapes = _shapes(call, optional)
    name = call.algorithm.function
    ufunc = _ufunc(name, shapes, dtype, loaded)
    direct = shared = never
    if objects.usable():
        direct, shared = (
            objects.array_function(address, name, dtype, loaded) for address in (loaded.direct, loaded.shared)
        )
    seconds = time.perf_counter() - start
    return Native(call, optional, dtype, shapes, loaded, ufunc, direct, shared, seconds, cached)


_alive: list[Any] = []  # what gufuncs of NumPy before 2.2 point to; they take no attributes


def _ufunc(name: str, shapes: tuple[tuple[int, ...], ...], dtype: np.dtype, loaded: compile.Loaded) -> Any:
    """The gufunc around a loop, which keeps its machine code alive."""
    try:
        made, needs = gufunc.make_gufunc(name, "", _signature(shapes), len(shapes), [(dtype, loaded.loop)])
    except (RuntimeError, ImportError, AttributeError):
        _warn_of_slow_path()
        return gufunc.SlowUfunc(name, shapes, dtype, loaded)
    try:
        setattr(made, "needs", (loaded, needs))  # noqa: B010
    except AttributeError:
        _alive.append((made, loaded, needs))
    return made


@once
def _warn_of_slow_path() -> None:
    """Say so once in a process."""
    text = f"NumPy {np.__version__} keeps its ufuncs differently; kernels run through a slower path."
    warn(text)


def _shapes(call: Call, optional: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """The shapes of all inputs, then of the output."""
    task = call.task(optional)
    return (*task.shapes.values(), task.output)


def _signature(shapes: Sequence[tuple[int, ...]]) -> str:
    *inputs, output = ("(" + ",".join(map(str, s)) + ")" for s in shapes)
    return ",".join(inputs) + "->" + output
