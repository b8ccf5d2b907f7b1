# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What every backend is given and gives back."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations
from typing import Any, ClassVar, Protocol

import numpy as np

from .. import arrays
from ..algorithms import Algorithm, algorithms
from ..arrays import MOST_AXES, is_masked_array, overlaps_itself, real_array
from ..errors import PhalanxError, installing, listing, nearest, shown
from ..program.task import Call
from ..robot.checks import require_masses

_MODULES = {"native": "native.build", "numpy": "numpy", "jax": "jax.backend"}
_EXTRAS = {
    "jax": "jax",
    "torch": "torch",
    "opencl": "pyopencl",
    "cuda": "cuda",
}  # what pip installs beyond Phalanx for a backend
FRAMED = "compiled for a frame"  # how keys of what was compiled begin, if it takes a frame


def memo_key(call: Call, optional: tuple[str, ...], dtype: np.dtype) -> tuple[Any, ...]:
    """Under which key a robot remembers what was compiled for a call."""
    a = call.algorithm
    return (
        FRAMED if call.frame is not None else "compiled",
        call.function.name,
        a.name,
        call.options,
        call.frame,
        optional,
        dtype.str,
    )


def never(*arrays: Any) -> bool:
    """A stub that always declines, where there is no direct entry to compiled code."""
    return False


def require_shape(call: Call, shape: tuple[int, ...], label: str, size: tuple[int, ...]) -> None:
    """Raise unless the shape of an input ends in its size."""
    if not arrays.ends_in(shape, size):
        whose = f' for robot "{call.robot.name}" ({_explain(call, label)})'
        arrays.require_shape(shape, size, f"{call.function.name}: {label}", whose)


def _explain(call: Call, label: str) -> str:
    f = call.function
    symbols = {**f.inputs, **f.optional}[label]
    names = {
        "q": f"nq = {call.robot.nq}",
        "v": f"nv = {call.robot.nv}",
        "l": f"n_links = {call.robot.n_links}",
    }
    return ", ".join(names.get(s, f"{s} components") for s in symbols)


def common_batch(call: Call, batches: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The batch shape to which those of all inputs broadcast."""
    require_few_axes(call.function.name, batches)
    return arrays.common_batch(batches, call.function.name, f' for robot "{call.robot.name}"')


def require_few_axes(where: str, batches: Mapping[str, tuple[int, ...]]) -> None:
    """Raise if a batch has more axes than can be broadcast."""
    for label, axes in batches.items():
        if len(axes) > MOST_AXES:
            raise PhalanxError(
                f"{where}: {label} has {len(axes)} batch axes, expected at most {MOST_AXES}; reshape it."
            )


def given_inputs(call: Call, inputs: Sequence[Any], optional: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs by name, then the optional ones that are given; the arrays themselves are not looked at."""
    f = call.function
    given = {k: v for k, v in optional.items() if v is not None}
    if unknown := set(given) - set(f.optional):
        known = nearest(min(unknown), f.optional, what="optional inputs")
        raise PhalanxError(f"{f.name}: unknown input {min(unknown)!r};{known}")
    if len(inputs) != len(f.inputs):
        raise PhalanxError(f"{f.name}: got {len(inputs)} inputs, expected {', '.join(f.inputs)}.")
    if "inertias" in given:
        _require_open_inertias(call)
    if isinstance(given.get("external"), Mapping):
        given["external"] = call.robot.wrenches(given["external"])
    return {**dict(zip(f.inputs, inputs, strict=True)), **given}


def _require_open_inertias(call: Call) -> None:
    """Raise if the algorithm of a call accepts no inertias but the robot's own."""
    a = call.algorithm
    if _is_open(a):
        return
    others = [o.name for o in algorithms(a.function) if _is_open(o)]
    raise PhalanxError(
        f'{call.function.name}: algorithm "{a.name}" uses what it has made of the robot\'s own inertias; '
        f"to give others, use {listing(others)}."
    )


def _is_open(a: Algorithm) -> bool:
    """Whether an algorithm accepts arbitrary inertias (`inertias=`)."""
    return a.frames == "bodies" and a.bodies == "any" and not a.splits


def checked_array(call: Call, value: Any, label: str, size: tuple[int, ...]) -> np.ndarray:
    """An input as real numbers of the right size."""
    array = real_array(value, f"{call.function.name}: {label}", call.robot.name)
    require_shape(call, array.shape, label, size)
    if label == "inertias":
        require_masses(f"{call.function.name}: inertias", array, call.robot.link_names, call.robot.name)
    return array


def checked_outs(
    call: Call, out: Any, shapes: Mapping[str, tuple[int, ...]], dtype: Any
) -> tuple[np.ndarray, ...]:
    """The arrays to fill: the one given, or a tuple of several that share no memory."""
    where = f"{call.function.name}: out"
    if len(shapes) == 1:
        return (checked_out(call, where, out, next(iter(shapes.values())), dtype),)
    if not isinstance(out, (tuple, list)) or len(out) != len(shapes):
        got = f"{len(out)} arrays" if isinstance(out, (tuple, list)) else type(out).__name__
        raise PhalanxError(f"{where} is {got}, expected a tuple of {len(shapes)}: {', '.join(shapes)}.")
    arrays = tuple(
        checked_out(call, f"{where}, {label}", each, shape, dtype)
        for each, (label, shape) in zip(out, shapes.items(), strict=True)
    )
    if any(np.may_share_memory(a, b) for a, b in combinations(arrays, 2)):
        raise PhalanxError(f"{where}: two of its arrays share memory; pass arrays of their own.")
    return arrays


def checked_out(call: OfRobot, where: str, out: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """The checked array (`out=`) for a result."""
    if not isinstance(out, np.ndarray) or is_masked_array(out):
        plain = " without a mask" if is_masked_array(out) else ""
        raise PhalanxError(
            f"{where} is {type(out).__name__}, expected a NumPy array of shape {shape}{plain}."
        )
    if out.shape != shape or out.dtype != dtype:
        raise PhalanxError(
            f"{where} has shape {out.shape} and dtype {out.dtype}, expected {shape} and {np.dtype(dtype)} "
            f'for robot "{call.robot.name}".'
        )
    if not out.flags.writeable:
        raise PhalanxError(f"{where} is read-only, expected a writeable array.")
    if not out.flags.c_contiguous and overlaps_itself(out):
        raise PhalanxError(
            f"{where} has several elements in one place of memory (strides {out.strides} for shape "
            f"{out.shape}), expected an array of its own; np.empty({out.shape}) makes one."
        )
    return out


class OfRobot(Protocol):
    """The interface of objects that belong to one robot."""

    @property
    def robot(self) -> Any: ...


class CompiledFunction:
    """The attributes that kernels of all processors and devices share: function, algorithm, cost, form."""

    _call: Call

    @property
    def robot(self) -> Any:
        """The robot it was compiled for."""
        return self._call.robot

    @property
    def function(self) -> str:
        """The function it computes."""
        return self._call.algorithm.function

    @property
    def algorithm(self) -> str:
        """The algorithm it uses."""
        return self._call.algorithm.name


class Backend(ABC):
    """Runs a call on arrays that have been checked."""

    name: ClassVar[str]

    def serves(self, call: Call) -> bool:
        """Whether `backend="auto"` may choose this backend for a call."""
        return True

    def cost(self, call: Call) -> Any:
        """Operations of one state where the backend has a program to count, else None."""
        return None

    def job(
        self, call: Call, inputs: tuple[np.ndarray, ...], outs: tuple[np.ndarray, ...]
    ) -> Callable[[], Any]:
        """A function that fills `outs` from plain arrays again and again, for timing."""
        return lambda: self.run(call, list(inputs), {}, outs, 1)

    @abstractmethod
    def run(
        self,
        call: Call,
        inputs: list[np.ndarray],
        optional: Mapping[str, np.ndarray],
        outs: tuple[np.ndarray, ...],
        threads: int,
    ) -> None:
        """Fill `outs` (batch and output sizes) from inputs whose batches broadcast to theirs."""


def backend(name: str) -> Backend:
    """The backend of that name, imported now."""
    if not isinstance(name, str) or name not in _MODULES:
        raise PhalanxError(
            f"unknown backend {shown(name)};{nearest(name, ['auto', *_MODULES], what='backends')}"
        )
    found: Backend = module_of(name, _MODULES[name]).BACKEND
    return found


def module_of(name: str, path: str) -> Any:
    """A module of a backend, imported now, or an error saying what to install."""
    try:
        return import_module(f".{path}", __package__)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != _EXTRAS.get(name):
            raise
        raise PhalanxError(
            f'"{name}" needs the package "{error.name}", which is not installed; {installing(name)}.'
        ) from None


def installed() -> list[str]:
    """Names of the backends whose packages are installed."""
    from .native.availability import refusal

    there = [name for name in _MODULES if name not in _EXTRAS or find_spec(_EXTRAS[name]) is not None]
    return [name for name in there if name != "native" or not refusal()]


# ------------------------------------------------------------------- threads

_threads: int | None = None


def set_threads(count: int | None) -> None:
    """Use at most `count` threads for large batches (None: all cores)."""
    global _threads
    _threads = None if count is None else positive(count, "set_threads")


def available_threads() -> int:
    """The default number of threads for a large batch."""
    if _threads is not None:
        return _threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def positive(count: object, where: str) -> int:
    """A number of threads, or an error that says where."""
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise PhalanxError(f"{where}: got {shown(count)}, expected a positive integer or None.")
    return int(count)
