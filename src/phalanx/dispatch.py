# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From a method of `Robot` to a backend: function, algorithm, backend, threads.

Attaches one method per registered function to `Robot`; inputs are checked here, once.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from textwrap import wrap
from typing import Any

import numpy as np

from .algorithms import (
    ALGORITHMS,
    FUNCTIONS,
    Algorithm,
    Function,
    find,
    functions_algorithms,
    require_covered,
)
from .arrays import float_type, is_masked_array, memory_for
from .backends.base import (
    Backend,
    Call,
    backend,
    common_batch,
    memo_key,
    module_of,
    require_shape,
)
from .backends.buffers import empty_result
from .configurations import real_array
from .errors import PhalanxError, is_one_of, nearest, shown
from .robot import Robot, require_robot
from .structure import factors_well, require_invertible

_threads: int | None = None
_DEEP = 14
_PREFERRED = ("native", "numpy")  # backends in the order in which "auto" asks them
_SMALL = 1 << 12  # numbers in the largest input up to which nobody asks whether threads pay


def set_threads(count: int | None) -> None:
    """Use at most `count` threads for large batches (None: all cores)."""
    global _threads
    _threads = _positive(count, "set_threads")


def available_threads() -> int:
    """How many threads a large batch may use when nobody says otherwise."""
    if _threads is not None:
        return _threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
    return compute(call, inputs, optional, out=out, threads=threads, runner=serving(call, backend))


def compute(
    call: Call,
    inputs: tuple[Any, ...],
    optional: Mapping[str, Any],
    *,
    out: Any = None,
    threads: int | None = None,
    runner: Backend | None = None,
    dtype: Any = None,
) -> Any:
    """The result of a call for inputs that have not been checked yet."""
    with memory_for(call.function.name, "take the states in several batches"):
        return _computed(call, inputs, optional, out, threads, runner, dtype)


def _computed(
    call: Call,
    inputs: tuple[Any, ...],
    optional: Mapping[str, Any],
    out: Any,
    threads: int | None,
    runner: Backend | None,
    dtype: Any,
) -> Any:
    f = call.function
    given = {k: v for k, v in optional.items() if v is not None}
    if unknown := set(given) - set(f.optional):
        known = nearest(min(unknown), f.optional, what="optional inputs")
        raise PhalanxError(f"{f.name}: unknown input {min(unknown)!r};{known}")
    if len(inputs) != len(f.inputs):
        raise PhalanxError(f"{f.name}: got {len(inputs)} inputs, expected {', '.join(f.inputs)}.")
    labels = [*f.inputs, *given]
    sizes = [call.sizes({**f.inputs, **f.optional}[label]) for label in labels]
    arrays = [
        _checked(call, x, n, s) for x, n, s in zip((*inputs, *given.values()), labels, sizes, strict=True)
    ]
    dtype = dtype or (np.float32 if all(a.dtype == np.float32 for a in arrays) else np.float64)
    rows = zip(labels, arrays, sizes, strict=True)
    batch = common_batch(call, {label: a.shape[: a.ndim - len(size)] for label, a, size in rows})
    shape = (*batch, *call.sizes(f.output))
    result = empty_result(shape, dtype) if out is None else _checked_out(call, out, shape, dtype)
    count = _thread_count(threads)
    if result.size:
        k = len(inputs)
        optional_arrays = dict(zip(given, arrays[k:], strict=True))
        (runner or serving(call)).run(call, arrays[:k], optional_arrays, result, count)
    return result[()] if out is None else out


def kernel(
    robot: Robot, function: str, algorithm: Any = "auto", dtype: Any = "float64", frame: str | None = None
) -> Any:
    """The function of a robot compiled now: a `Kernel`."""
    from .backends.native.kernel import kernel_class

    call = resolve(robot, function, algorithm, frame)
    kind = float_type(dtype, "kernel")
    if not _is_native(call):
        raise PhalanxError(f'kernel: robot "{robot.name}" has no degree of freedom; nothing to compile.')
    return kernel_class(function)(call, kind, compute)


def resolve(robot: Robot, function: str, algorithm: Any = "auto", frame: str | None = None) -> Call:
    """The call that serves a function of a robot, or an error that names one that does."""
    require_robot(robot, function)
    algorithm, options = _with_options(function, algorithm)
    auto = isinstance(algorithm, str) and algorithm == "auto"
    chosen = choose(robot, function) if auto else find(function, algorithm)
    require_covered(robot, chosen)
    for key, value in options.items():
        if not is_one_of(key, chosen.options) or not _is_value(value, chosen.options[key]):
            allowed = {k: list(v) for k, v in chosen.options.items()}
            raise PhalanxError(
                f'{function}: algorithm "{chosen.name}" has no option {key}={shown(value)}; '
                f"options: {allowed or 'none'}."
            )
    if FUNCTIONS[function].frame:
        robot.frame(frame)
    if function in ("forward_dynamics", "mass_matrix_inverse"):
        require_invertible(robot)
    return Call(robot, chosen, frame, tuple(sorted(options.items())))


def _is_value(value: Any, values: Any) -> bool:
    """Whether an option may have a value; arrays compare with nothing."""
    return isinstance(value, Hashable) and bool(value in values)


def _with_options(function: str, algorithm: Any) -> tuple[Any, Mapping[str, Any]]:
    if not isinstance(algorithm, tuple):
        return algorithm.name if isinstance(algorithm, Algorithm) else algorithm, {}
    if len(algorithm) != 2 or not isinstance(algorithm[1], Mapping):
        raise PhalanxError(
            f"{function}: algorithm={shown(algorithm)}; expected a name or a pair of a name and its options "
            'such as ("name", {"option": value}).'
        )
    return algorithm


def choose(robot: Robot, function: str) -> Algorithm:
    """The algorithm that "auto" stands for: of those that cover the robot, the least work.

    The choice depends on the robot alone, so that one state and a batch agree in bits.
    """
    require_robot(robot, function)
    functions_algorithms(function)
    if function == "inverse_dynamics":
        return find(function, "cartesian_tensor")
    if function == "forward_dynamics":
        return find(function, "jsiia" if robot.is_coupled or _may_factor(robot) else "aba")
    return next(iter(ALGORITHMS[function].values()))


def _may_factor(robot: Robot) -> bool:
    """Whether factoring the mass matrix takes less work than articulated inertias and keeps the digits.

    Elimination grows with the square of the depth; the paths agree in work up to about a dozen joints
    in a row. What badly scaled links do to the factor is looked up once.
    """
    return int(robot.model.depth.max(initial=0)) < _DEEP and factors_well(robot)


def serving(call: Call, name: str = "auto") -> Backend:
    """The backend that runs a call where one of that name is asked for."""
    if isinstance(name, str) and name in ("auto", "native") and not _is_native(call):
        name = "numpy"
    if isinstance(name, str) and name == "auto":
        return next(found for found in map(backend, _PREFERRED) if found.serves(call))
    return backend(name)


def _is_native(call: Call) -> bool:
    """Whether there is anything to compile: ufuncs know no axes of length zero."""
    f = call.function
    return call.robot.nv > 0 and 0 not in call.sizes(f.output)


def _thread_count(threads: int | None) -> int:
    return _positive(threads, "threads") or available_threads()


def _positive(count: int | None, where: str) -> int | None:
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise PhalanxError(f"{where}: got {shown(count)}, expected a positive whole number or None.")
    return int(count)


def _checked(call: Call, value: Any, label: str, size: tuple[int, ...]) -> np.ndarray:
    array = real_array(value, f"{call.function.name}: {label}", call.robot.name)
    require_shape(call, array.shape, label, size)
    return array


def _checked_out(call: Call, out: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    where = f"{call.function.name}: out"
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
    return out


# ------------------------------------------------------------------- methods of Robot


_METHOD = """
def {name}(self, {parameters}, *, out=None, algorithm="auto", backend="auto", threads=None):
    short = self._memo.get({key!r})
    if short is not None and algorithm is auto and backend is auto{absent}:
        direct, shape, built = short
        if out is None and threads is None:
            result = empty(shape)
            if direct({inputs}, result):
                return result
        if threads is None or type(threads) is int:
            result = batch(built, ({inputs},), out, threads)
            if result is not None:
                return result
    result = evaluate(
        self, {name!r}, ({inputs},), {{{given}}}, frame={frame}, out=out, algorithm=algorithm,
        backend=backend, threads=threads,
    )
    if short is None:
        prepare(self, {name!r})
    return result
"""


def _method(f: Function) -> Any:
    """A method of Robot for a registered function.

    One state in plain arrays goes straight to its compiled kernel; everything else, and
    everything wrong, takes the checked way. Written out with real parameters because packing and
    unpacking arguments would take as long as the dynamics of an arm.
    """
    inputs = ", ".join(f.inputs)
    source = _METHOD.format(
        name=f.name,
        parameters=inputs + (", frame" if f.frame else "") + "".join(f", {n}=None" for n in f.optional),
        key=_short_key(f.name),
        absent="".join(f" and {n} is None" for n in f.optional),
        inputs=inputs,
        given=", ".join(f"{n!r}: {n}" for n in f.optional),
        frame="frame" if f.frame else None,
    )
    scope: dict[str, Any] = {"evaluate": evaluate, "prepare": _prepare_short_way, "empty": np.empty}
    scope |= {"batch": _plain_batch, "auto": "auto"}
    exec(source, scope)
    method = scope[f.name]
    method.__doc__ = _explained(f)
    method.__qualname__, method.__module__ = f"Robot.{f.name}", __name__
    return method


_OPTIONAL = {
    "external": "wrenches [N m, N] on the links, each in its own link frame at its origin",
    "base_velocity": "twist of the base [rad/s, m/s], in its own coordinates",
    "base_acceleration": "the component-wise derivative of that twist",
}
_KEYWORDS = """Any batch shape, by NumPy's rules of broadcasting. `out` takes the result; `backend` is
    "auto", "native", "numpy" or "jax"; `threads` bounds those that share a large batch."""


def _explained(f: Function) -> str:
    """The docstring of a method: what it computes, from what, and by which algorithms."""
    choices = ALGORITHMS[f.name].values()
    lines = [(next(iter(choices)).run.__doc__ or "").split("\n")[0], ""]
    lines += [f"    `{n}` (…, {_sizes(f.optional[n])}): {_OPTIONAL[n]}." for n in f.optional]
    lines += [""] if f.optional else []
    lines.append("    " + _KEYWORDS)
    if len(choices) > 1:
        names = ", ".join(a.name for a in choices)
        lines += ["", *wrap(f"Algorithms: {names}.", 100, initial_indent="    ", subsequent_indent="    ")]
    return "\n".join(lines) + "\n    "


def _sizes(shape: tuple[str, ...]) -> str:
    return ", ".join({"q": "nq", "v": "nv", "l": "n_links"}.get(s, s) for s in shape)


def _plain_batch(built: Any, inputs: tuple[Any, ...], out: Any, threads: int | None) -> Any:
    """The result of a batch without anything to convert, else None."""
    if threads is None:
        large = any(type(x) is np.ndarray and x.size > _SMALL for x in inputs)
        threads = available_threads() if large else 1
    return built.batch(inputs, out, threads) if threads > 0 else None


def _short_key(function: str) -> str:
    return f"short way: {function}"


def _prepare_short_way(robot: Robot, function: str) -> None:
    """Remember the entry of a float64 kernel that the checked way has compiled."""
    f = FUNCTIONS[function]
    call = resolve(robot, function) if not f.frame else None
    if call is None or not call.sizes(f.output) or not _is_native(call):
        return
    built = robot._memo.get(memo_key(call, (), np.dtype(np.float64)))
    if built is not None:
        robot._memo[_short_key(function)] = (built.direct, call.sizes(f.output), built)


def _on_jax(robot: Robot) -> Any:
    """Pure functions of JAX arrays, safe under `jit`, `vmap`, `grad` and `jvp`."""
    return robot.memo("jax", lambda: module_of("jax", "jax.functions").JaxFunctions(robot, resolve))


for _f in FUNCTIONS.values():
    setattr(Robot, _f.name, _method(_f))
for _alias, _name in (("rnea", "inverse_dynamics"), ("crba", "mass_matrix"), ("aba", "forward_dynamics")):
    setattr(Robot, _alias, getattr(Robot, _name))
Robot.kernel = kernel
Robot.jax = property(_on_jax)
