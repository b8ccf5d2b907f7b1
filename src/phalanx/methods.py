# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The code of the methods of `Robot` that compute, and of its doors to kernels, JAX and PyTorch.

`robot/functions.py` and `robot/doors.py` declare them: parameters, types and docstrings. Importing this
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
from .backends.base import Call, memo_key, module_of, never
from .backends.fastpath import as_declared, with_fast_path
from .dispatch import evaluate, frame_poses, is_native, kernel, resolve, single
from .products import hvp, jvp, vjp
from .robot.doors import Doors
from .robot.frames import frames_kept
from .robot.functions import Functions
from .robot.robot import Robot

__all__ = ["Robot"]

_SLOW = """
if {applies}:
    result = quickly(entry[2], self, ({inputs},), {{{given}}}, out, threads)
    if result is not None:
        return result
result = evaluate(
    self, {name!r}, ({inputs},), {{{given}}}, frame={frame}, choices={{{chosen}}}, out=out,
    algorithm=algorithm, backend=backend, threads=threads, value={value},
)
if entry is None and not {value}:
    prepare(self, {name!r}, {frame}, {{{chosen}}})
return result
"""


_WITH_MORE = "entry is not None and algorithm is auto and backend is auto"


def _method(f: Function) -> Any:
    """The method of Robot for a registered function, as it is declared."""
    slow = _SLOW.format(
        name=f.name,
        inputs=", ".join(f.inputs),
        given=", ".join(f"{n!r}: {n}" for n in f.optional),
        chosen=", ".join(f"{n!r}: {n}" for n in f.choices),
        frame="frame" if f.frame else None,
        value="value" if f.value else False,
        applies=_WITH_MORE + " and value is False" * bool(f.value) if f.optional else "False",
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
        direct="entry[0]",
        memory="entry[1]",
        built="entry[2]",
        slow=slow,
        scope=_SCOPE,
    )


def _lookup(f: Function) -> str:
    """The entry of a compiled kernel; for a frame, if its name is a word that a mapping may know."""
    if not f.frame:
        return f"self._memo.get({_short_key(f.name)!r})"
    words = ("frame", *f.choices)
    known = f"self._memo.get({_short_key(f.name)!r}, nothing).get(({', '.join(words)},))"
    return f"{known} if {' and '.join(f'type({word}) is str' for word in words)} else None"


def _short_key(function: str) -> str:
    return f"fast path: {function}"


def _prepare_fast_path(robot: Robot, function: str, frame: Any, choices: Mapping[str, Any]) -> None:
    """Remember the entry of a float64 kernel that the slow path has compiled."""
    f = FUNCTIONS[function]
    call = resolve(robot, function, "auto", frame, choices)
    sizes = next(iter(call.output_sizes().values()))
    if not sizes or not is_native(call):
        return
    built = _ByBatch(call, alone) if (alone := single(call)) else robot._memo.get(_key(call))
    if built is None:
        return
    entry = (built.direct if len(f.outputs) == 1 else never, sizes, built)
    if not f.frame:
        robot._memo[_short_key(function)] = entry
        return
    known = robot._memo.setdefault(_short_key(function), {})
    if len(known) >= frames_kept(robot):
        known.clear()
    known[frame, *choices.values()] = entry


def _quickly(
    built: Any,
    robot: Robot,
    inputs: tuple[Any, ...],
    optional: Mapping[str, Any],
    out: Any,
    threads: int | None,
) -> Any:
    """The result with optional inputs by code compiled for them before; None if there is none."""
    if isinstance(built, _ByBatch) or not (threads is None or (type(threads) is int and threads > 0)):
        return None
    names = tuple(name for name, x in optional.items() if x is not None)
    found = robot._memo.get(memo_key(built.call, names, np.dtype(np.float64))) if names else None
    return (
        None if found is None else found.batch((*inputs, *(optional[name] for name in names)), out, threads)
    )


def _key(call: Call) -> Any:
    return memo_key(call, (), np.dtype(np.float64))


class _ByBatch:
    """What the slow path has compiled for one state, and for several, where these are not the same."""

    def __init__(self, many: Call, alone: Call) -> None:
        self._known, self._keys = many.robot._memo, (_key(many), _key(alone))
        self._output = next(iter(many.output_sizes().values()))
        self._sizes = [math.prod(many.sizes(size)) for size in many.function.inputs.values()]

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
    integrator: Any = "euler",
    control: Any = None,
    forces: Any = None,
    damping: bool = True,
    friction: bool = True,
    limits: bool = True,
    dtype: Any = "float64",
    *,
    springs: bool = True,
    inputs: int | None = None,
    parameters: Any = None,
) -> Any:
    """`Robot.simulation`, as `robot/doors.py` declares it; what it needs is imported now."""
    door = import_module(".simulation.door", __package__)
    return door.simulation(
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
        inputs=inputs,
        parameters=parameters,
    )


def export(
    self: Robot,
    path: Any,
    functions: Any = ("inverse_dynamics", "forward_dynamics"),
    dtype: Any = "float64",
    target: str | None = None,
    **options: Any,
) -> Any:
    """`Robot.export`, as `robot/doors.py` declares it; what it needs is imported now."""
    door = import_module(".export.door", __package__)
    return door.export(self, path, functions, dtype, target, **options)


def _on_jax(robot: Robot) -> Any:
    return robot.memo("jax", lambda: module_of("jax", "jax.functions").JaxFunctions(robot, resolve))


def _on_torch(robot: Robot) -> Any:
    return robot.memo("torch", lambda: module_of("torch", "torch.functions").TorchFunctions(robot))


_SCOPE: Mapping[str, Any] = {
    "evaluate": evaluate,
    "quickly": _quickly,
    "prepare": _prepare_fast_path,
    "auto": "auto",
    "nothing": NOTHING,
}


def _attach() -> None:
    made = {getattr(Functions, f.name): _method(f) for f in FUNCTIONS.values()}
    for name in dir(Functions):
        declared = getattr(Functions, name)
        if inspect.isfunction(declared):  # under its own name or another
            setattr(Robot, name, made[declared])
    for door in (frame_poses, simulation, export, jvp, vjp, hvp, kernel):
        setattr(Robot, door.__name__, as_declared(door, getattr(Doors, door.__name__)))
    setattr(Robot, "jax", property(_on_jax, doc=Doors.jax.__doc__))  # noqa: B010
    setattr(Robot, "torch", property(_on_torch, doc=Doors.torch.__doc__))  # noqa: B010


_attach()
