# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From a method of `Robot` to a backend: function, algorithm, backend, threads.

Attaches one method per registered function to `Robot`; inputs are checked here, once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .algorithms import ALGORITHMS, FUNCTIONS, Algorithm, Function, find
from .backends.base import Backend, Call, backend
from .errors import PhalanxError, listing
from .robot import Robot, real_array
from .structure import require_invertible

_threads: int | None = None


def set_threads(count: int | None) -> None:
    """Use at most `count` threads for large batches (None: all cores)."""
    global _threads
    _threads = _positive(count, "set_threads")


def evaluate(
    robot: Robot,
    function: str,
    inputs: tuple[Any, ...],
    optional: Mapping[str, Any],
    *,
    frame: str | None = None,
    out: Any = None,
    algorithm: Any = "auto",
    backend: str = "auto",
    threads: int | None = None,
) -> Any:
    """The function of the robot for a batch of inputs."""
    call = resolve(robot, function, algorithm, frame)
    runner = _backend(backend)
    given = {k: v for k, v in optional.items() if v is not None}
    f = call.function
    sizes = [*(call.sizes(s) for s in f.inputs.values()), *(call.sizes(f.optional[k]) for k in given)]
    labels = [*f.inputs, *given]
    arrays = [
        _checked(call, x, n, s) for x, n, s in zip((*inputs, *given.values()), labels, sizes, strict=True)
    ]
    dtype = np.float32 if all(a.dtype == np.float32 for a in arrays) else np.float64
    batch = _batch(call, arrays, labels, sizes)
    shape = (*batch, *call.sizes(f.output))
    result = np.empty(shape, dtype) if out is None else _checked_out(call, out, shape, dtype)
    count = math.prod(batch)
    flat = [
        np.broadcast_to(a, (*batch, *s)).reshape((count, *s)).astype(dtype, copy=False)
        for a, s in zip(arrays, sizes, strict=True)
    ]
    if out is not None:  # results must not be read as inputs of later states
        flat = [x.copy() if np.may_share_memory(x, out) else x for x in flat]
    k = len(inputs)
    if count and result.size:
        target = (
            result.reshape((count, *shape[len(batch) :]))
            if result.flags.c_contiguous
            else np.empty((count, *shape[len(batch) :]), dtype)
        )
        runner.run(call, flat[:k], dict(zip(given, flat[k:], strict=True)), target, _thread_count(threads))
        if not result.flags.c_contiguous:
            result[...] = target.reshape(shape)
    return result[()] if out is None else out


def resolve(robot: Robot, function: str, algorithm: Any = "auto", frame: str | None = None) -> Call:
    """The call that serves a function of a robot, or an error that names one that does."""
    algorithm, options = _with_options(function, algorithm)
    chosen = choose(robot, function) if algorithm == "auto" else find(function, algorithm)
    if robot.is_coupled and not chosen.coupled:
        others = [a.name for a in ALGORITHMS[function].values() if a.coupled]
        raise PhalanxError(
            f'{function}: algorithm "{chosen.name}" does not cover robot "{robot.name}" with its mimic joints; '
            f'use {listing(others)}, or load the robot with mimic="independent".'
        )
    for key, value in options.items():
        if key not in chosen.options or value not in chosen.options[key]:
            allowed = {k: list(v) for k, v in chosen.options.items()}
            raise PhalanxError(
                f'{function}: algorithm "{chosen.name}" has no option {key}={value!r}; options: {allowed or "none"}.'
            )
    if FUNCTIONS[function].frame:
        robot.frame(frame)
    if function in ("forward_dynamics", "mass_matrix_inverse"):
        require_invertible(robot)
    return Call(robot, chosen, frame, tuple(sorted(options.items())))


def _with_options(function: str, algorithm: Any) -> tuple[Any, Mapping[str, Any]]:
    if not isinstance(algorithm, tuple):
        return algorithm, {}
    if len(algorithm) != 2 or not isinstance(algorithm[1], Mapping):
        raise PhalanxError(
            f"{function}: algorithm={algorithm!r}; expected a name or a pair of a name and its options "
            'such as ("name", {"option": value}).'
        )
    return algorithm


def choose(robot: Robot, function: str) -> Algorithm:
    """The algorithm that "auto" stands for."""
    candidates = list(ALGORITHMS[function].values()) if function in ALGORITHMS else [find(function, "")]
    return next(a for a in candidates if a.coupled or not robot.is_coupled)


def _backend(name: str) -> Backend:
    return backend("numpy" if name == "auto" else name)


def _thread_count(threads: int | None) -> int:
    return _positive(threads, "threads") or _threads or 1


def _positive(count: int | None, where: str) -> int | None:
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise PhalanxError(f"{where}: got {count!r}, expected a positive whole number or None.")
    return int(count)


def _checked(call: Call, value: Any, label: str, size: tuple[int, ...]) -> np.ndarray:
    array = real_array(value, f"{call.function.name}: {label}", call.robot)
    k = len(size)
    if array.ndim < k or array.shape[array.ndim - k :] != size:
        wanted = ", ".join(["…", *map(str, size)])
        raise PhalanxError(
            f"{call.function.name}: {label} has shape {array.shape}, expected ({wanted}) "
            f'for robot "{call.robot.name}" ({_explain(call, label)}).'
        )
    return array


def _explain(call: Call, label: str) -> str:
    f = call.function
    symbols = {**f.inputs, **f.optional}[label]
    names = {
        "q": f"nq = {call.robot.nq}",
        "v": f"nv = {call.robot.nv}",
        "l": f"n_links = {call.robot.n_links}",
    }
    return ", ".join(names.get(s, f"{s} components") for s in symbols)


def _batch(
    call: Call, arrays: list[np.ndarray], labels: list[str], sizes: list[tuple[int, ...]]
) -> tuple[int, ...]:
    batches = [a.shape[: a.ndim - len(s)] for a, s in zip(arrays, sizes, strict=True)]
    try:
        return np.broadcast_shapes(*batches)
    except ValueError:
        told = ", ".join(f"{n} {b}" for n, b in zip(labels, batches, strict=True))
        raise PhalanxError(
            f'{call.function.name}: the batch shapes for robot "{call.robot.name}" do not broadcast: {told}.'
        ) from None


def _checked_out(call: Call, out: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    where = f"{call.function.name}: out"
    if not isinstance(out, np.ndarray):
        raise PhalanxError(f"{where} is {type(out).__name__}, expected a NumPy array of shape {shape}.")
    if out.shape != shape or out.dtype != dtype:
        raise PhalanxError(
            f"{where} has shape {out.shape} and dtype {out.dtype}, expected {shape} and {np.dtype(dtype)} "
            f'for robot "{call.robot.name}".'
        )
    if not out.flags.writeable:
        raise PhalanxError(f"{where} is read-only, expected a writeable array.")
    return out


# ------------------------------------------------------------------- methods of Robot


def _method(f: Function) -> Any:
    """A method of Robot for a registered function, with real parameter names."""
    inputs = ", ".join((*f.inputs, *(["frame"] if f.frame else [])))
    optional = "".join(f", {name}=None" for name in f.optional)
    source = (
        f"def {f.name}(self, {inputs}{optional}, *, out=None, algorithm='auto', backend='auto', threads=None):\n"
        f"    return evaluate(self, {f.name!r}, ({', '.join(f.inputs)},), "
        f"{{{', '.join(f'{n!r}: {n}' for n in f.optional)}}}, frame={'frame' if f.frame else None}, out=out, "
        f"algorithm=algorithm, backend=backend, threads=threads)\n"
    )
    scope: dict[str, Any] = {"evaluate": evaluate}
    exec(source, scope)
    method = scope[f.name]
    method.__doc__ = next(iter(ALGORITHMS[f.name].values())).run.__doc__
    method.__qualname__ = f"Robot.{f.name}"
    method.__module__ = __name__
    return method


for _f in FUNCTIONS.values():
    setattr(Robot, _f.name, _method(_f))
for _alias, _name in (("rnea", "inverse_dynamics"), ("crba", "mass_matrix"), ("aba", "forward_dynamics")):
    setattr(Robot, _alias, getattr(Robot, _name))
