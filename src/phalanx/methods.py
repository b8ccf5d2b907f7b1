# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The code of the methods of `Robot` that compute, and of its entry points to kernels, JAX and PyTorch.

`robot/functions.py` and `robot/api.py` declare them: parameters, types and docstrings. Importing this
module attaches the code.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from .algorithms import FUNCTIONS, NOTHING, Function
from .backends.base import Call, memo_key, module_of
from .backends.fastpath import again, as_declared, knows, remember, with_fast_path
from .dispatch import evaluate, frame_poses, is_native, kernel, resolve, resolved
from .products import hvp, jvp, vjp
from .robot.api import EntryPoints
from .robot.frames import frames_cached
from .robot.functions import Functions
from .robot.robot import Robot

__all__ = ["Robot"]

_SLOW = """
words = ({words},)
result = again(self, {place!r}, words, ({inputs},), ({optional}), out, threads)
if result is not None:
    return result
result = evaluate(
    self, {name!r}, ({inputs},), {{{given}}}, frame={frame}, choices={{{chosen}}}, out=out,
    algorithm=algorithm, backend=backend, threads=threads, value={value},
)
remember(self, {name!r}, words, entry, {frame}, {{{chosen}}}, algorithm, backend, {value})
return result
"""


def _method(f: Function) -> Any:
    """The method of Robot for a registered function, as it is declared."""
    words = ["algorithm", "backend", *["value if type(value) is bool else nothing"] * bool(f.value)]
    words += [*["frame"] * f.frame, *f.choices, *(f"{name} is None" for name in f.optional)]
    slow = _SLOW.format(
        name=f.name,
        place=_with_words(f.name),
        words=", ".join(words),
        inputs=", ".join(f.inputs),
        optional="".join(f"{n}, " for n in f.optional),
        given=", ".join(f"{n!r}: {n}" for n in f.optional),
        chosen=", ".join(f"{n!r}: {n}" for n in f.choices),
        frame="frame" if f.frame else None,
        value="value" if f.value else False,
    )
    return with_fast_path(
        getattr(Functions, f.name),
        tuple(f.inputs),
        find=f"entry = {_lookup(f)}",
        applies=(
            "entry is not None",
            "algorithm is auto",
            "backend is auto",
            *(f"{name} is None" for name in f.optional),
            *(["value is False"] if f.value else []),
        ),
        direct="entry[0]" if _is_plain(f) else None,
        memory="entry[1]",
        built="entry[2]",
        slow=slow,
        scope=_SCOPE,
    )


def _is_plain(f: Function) -> bool:
    """Whether a function has one result, which is an array; a scalar would not be one."""
    return len(f.outputs) == 1 and all(f.outputs.values())


def _lookup(f: Function) -> str:
    """The entry of a compiled kernel; for a frame, if its name is a word that a mapping may know."""
    if not f.frame:
        return f"self._memo.get({_short_key(f.name)!r})"
    words = ("frame", *f.choices)
    known = f"self._memo.get({_short_key(f.name)!r}, nothing).get(({', '.join(words)},))"
    return f"{known} if {' and '.join(f'type({word}) is str' for word in words)} else None"


def _short_key(function: str) -> str:
    return f"fast path: {function}"


def _with_words(function: str) -> str:
    return f"fast path with keywords: {function}"


def _remember(
    robot: Robot,
    function: str,
    words: tuple[Any, ...],
    entry: Any,
    frame: Any,
    choices: Mapping[str, Any],
    algorithm: Any,
    backend: Any,
    value: Any,
) -> None:
    """Remember the float64 kernel that the slow path has compiled: for a plain call, or with its keywords."""
    f, place = FUNCTIONS[function], _with_words(function)
    given = words[len(words) - len(f.optional) :]
    optional = tuple(name for name, is_none in zip(f.optional, given, strict=True) if not is_none)
    is_plain = not optional and not value and algorithm == backend == "auto"
    if backend not in ("auto", "native") or (entry is not None if is_plain else knows(robot, place, words)):
        return
    call, alone = resolved(robot, function, frame, choices, algorithm, value)
    built = _compiled(call, alone, optional) if is_native(call) else None
    if built is None:
        return
    if not is_plain:
        remember(robot, place, words, built, frames_cached(robot))
        return
    entry = (built.direct, next(iter(call.output_sizes().values())), built)
    if not f.frame:
        robot._memo[_short_key(function)] = entry
        return
    known = robot._memo.setdefault(_short_key(function), {})
    if len(known) >= frames_cached(robot):
        known.clear()
    known[frame, *choices.values()] = entry


def _compiled(call: Call, alone: Call | None, optional: tuple[str, ...]) -> Any:
    """What has been compiled for a call with some optional inputs, and for one state if that is another."""
    if alone is None or "inertias" in optional:
        return call.robot._memo.get(_key(call, optional))
    return _ByBatch(call, alone, optional)


def _key(call: Call, optional: tuple[str, ...]) -> Any:
    return memo_key(call, optional, np.dtype(np.float64))


class _ByBatch:
    """What the slow path has compiled for one state, and for several, where these are not the same."""

    def __init__(self, many: Call, alone: Call, optional: tuple[str, ...]) -> None:
        self._known, self._keys = many.robot._memo, (_key(many, optional), _key(alone, optional))
        self._output = next(iter(many.output_sizes().values()))
        self._sizes = [math.prod(size) for size in many.input_sizes(optional).values()]

    def direct(self, *arrays: Any) -> bool:
        """One state, whose result has no batch."""
        built = self._known.get(self._keys[1])
        return built is not None and arrays[-1].shape == self._output and built.direct(*arrays)

    def batch(self, inputs: tuple[Any, ...], out: Any, threads: int | None) -> Any:
        """One state or several, the arrays told apart by their sizes."""
        one = all(type(x) is np.ndarray and x.size == n for x, n in zip(inputs, self._sizes, strict=True))
        built = self._known.get(self._keys[one])
        return None if built is None else built.batch(inputs, out, threads)


def simulation(
    self: Robot,
    dt: float = 1e-3,
    *,
    integrator: Any = "implicit",
    control: Any = None,
    controls: int | None = None,
    forces: Any = None,
    damping: bool = True,
    friction: bool = True,
    limits: bool = True,
    springs: bool = True,
    parameters: Any = None,
    dtype: Any = "float64",
    divergence: float = 1e10,
) -> Any:
    """`Robot.simulation`, as `robot/api.py` declares it; what it needs is imported now."""
    entry_point = import_module(".simulation.create", __package__)
    return entry_point.simulation(
        self,
        dt=dt,
        integrator=integrator,
        control=control,
        forces=forces,
        damping=damping,
        friction=friction,
        limits=limits,
        springs=springs,
        dtype=dtype,
        controls=controls,
        parameters=parameters,
        divergence=divergence,
    )


def export(
    self: Robot,
    path: Any,
    functions: Any = ("inverse_dynamics", "forward_dynamics"),
    *,
    dtype: Any = "float64",
    target: str | None = None,
    **options: Any,
) -> Any:
    """`Robot.export`, as `robot/api.py` declares it; what it needs is imported now."""
    entry_point = import_module(".export.api", __package__)
    return entry_point.export(self, path, functions, dtype, target, **options)


def formula(self: Robot, name: str, inputs: Any, outputs: Any, run: Any) -> Any:
    """`Robot._formula`, as it is declared there; what it needs is imported now."""
    return import_module(".backends.native.formulas", __package__).formula(name, inputs, outputs, run)


def _on_jax(robot: Robot) -> Any:
    return robot._memoized("jax", lambda: module_of("jax", "jax.functions").JaxFunctions(robot, resolve))


def _on_torch(robot: Robot) -> Any:
    return robot._memoized("torch", lambda: module_of("torch", "torch.functions").TorchFunctions(robot))


_SCOPE: Mapping[str, Any] = {
    "evaluate": evaluate,
    "again": again,
    "remember": _remember,
    "auto": "auto",
    "nothing": NOTHING,
}


def _attach() -> None:
    made = {getattr(Functions, f.name): _method(f) for f in FUNCTIONS.values()}
    for name in dir(Functions):
        declared = getattr(Functions, name)
        if inspect.isfunction(declared):  # under its own name or another
            setattr(Robot, name, made[declared])
    setattr(Robot, "_formula", as_declared(formula, Robot._formula))  # noqa: B010
    for entry_point in (frame_poses, simulation, export, jvp, vjp, hvp, kernel):
        setattr(
            Robot, entry_point.__name__, as_declared(entry_point, getattr(EntryPoints, entry_point.__name__))
        )
    setattr(Robot, "jax", property(_on_jax, doc=EntryPoints.jax.__doc__))  # noqa: B010
    setattr(Robot, "torch", property(_on_torch, doc=EntryPoints.torch.__doc__))  # noqa: B010


_attach()
