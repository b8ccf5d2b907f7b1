# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The code of the methods of `Robot` that compute, and of its entry points to kernels, JAX and PyTorch.

`robot/functions.py` and `robot/api.py` declare them: parameters, types and docstrings. Importing this
module attaches the code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import Any

import numpy as np

from .algorithms import ALIASES, FUNCTIONS, NOTHING, Function
from .backends.base import memo_key, module_of
from .backends.fastpath import AUTO, VALUED, entry_of, knows, method_of, recall, remember
from .backends.signatures import ROBOT, Parameters, declare
from .dispatch import evaluate, frame_poses, is_native, kernel, resolve, resolved
from .errors import PhalanxError, closest
from .products import hvp, jvp, vjp
from .program.task import Call
from .robot.api import EntryPoints
from .robot.constrained import CONSTRAINED, ConstrainedFunctions
from .robot.frames import frames_cached
from .robot.robot import Robot

__all__ = ["Robot"]

_SEVERAL = 600  # bodies times frames up to which several frames are one kernel


def _method(parameters: Parameters) -> Any:
    """The method of Robot for a registered function."""
    f = parameters.function
    plain, with_keywords = f"fast path: {f.name}", f"fast path with keywords: {f.name}"

    def slow(
        robot: Robot,
        inputs: tuple[Any, ...],
        optional: tuple[Any, ...],
        out: Any,
        threads: Any,
        algorithm: Any,
        backend: Any,
        frame: Any = None,
        choices: tuple[Any, ...] = (),
        value: Any = False,
    ) -> Any:
        if isinstance(frame, (list, tuple)):
            chosen = dict(zip(f.choices, choices, strict=False))
            named = dict(zip(f.optional, optional, strict=False))
            how = {"algorithm": algorithm, "backend": backend, **named}
            return _of_frames(robot, f, inputs, frame, chosen, how, out, threads)
        words = (algorithm, backend, value if type(value) is bool else NOTHING, frame, *choices)
        result = recall(robot._memo.get(with_keywords), robot, words, inputs, optional, out, threads)
        if result is not None:
            return result
        named = dict(zip(f.optional, optional, strict=False))
        chosen = dict(zip(f.choices, choices, strict=False))
        result = evaluate(
            robot, f.name, inputs, named, frame=frame, choices=chosen, out=out,
            algorithm=algorithm, backend=backend, threads=threads, value=value,
        )  # fmt: skip
        _remember(robot, f, words, optional, plain, with_keywords)
        return result

    return method_of(parameters, plain, slow)


def _of_frames(
    robot: Robot,
    f: Function,
    inputs: tuple[Any, ...],
    frames: Sequence[str],
    choices: dict[str, Any],
    how: dict[str, Any],
    out: Any,
    threads: Any,
) -> Any:
    """The result of a function for several frames, by one kernel that computes shared values once."""
    if not frames:
        raise PhalanxError(
            f"{f.name}: frame is empty, expected a name, or several such as robot.frame_names."
        )
    for name in frames:
        robot.frame(name)
    given = {name: x for name, x in how.items() if x is not None and not (type(x) is str and x == AUTO)}
    if given or robot.model.n * len(frames) > _SEVERAL:
        method, (core,) = getattr(robot, f.name), f.outputs.values()
        made = np.stack(
            [method(*inputs, name, **choices, **given, threads=threads) for name in frames], -len(core) - 1
        )
        if out is None:
            return made
        out[...] = made
        return out
    key = ("function of frames", f.name, *frames, *choices.values())

    def traced(*arrays: Any, robot: Any) -> Any:
        return getattr(robot, f.name)(*arrays, list(frames), **choices)

    rows = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in f.inputs]
    rows.append(Parameter("robot", Parameter.KEYWORD_ONLY))
    setattr(traced, "__signature__", Signature(rows))  # noqa: B010
    traced.__name__ = f.name
    return robot._memoized(key, lambda: function(robot, traced))(*inputs, out=out, threads=threads)


def _remember(
    robot: Robot,
    f: Function,
    words: tuple[Any, ...],
    optional: tuple[Any, ...],
    plain: str,
    with_keywords: str,
) -> None:
    """Remember the float64 kernel that the slow path has compiled: for a plain call, or with its keywords."""
    algorithm, backend, value, frame, *choices = words
    names = tuple(name for name, x in zip(f.optional, optional, strict=False) if x is not None)
    if backend not in ("auto", "native"):
        return
    is_keyed = bool(f.frame or f.choices)
    is_plain = not names and algorithm == backend == "auto" and not (value and is_keyed)
    entries: dict[Any, Any] = robot._memoized(plain, dict) if is_keyed else robot._memo
    key: Any = (frame, *choices) if is_keyed else plain + VALUED * bool(value)
    known: dict[Any, Any] = robot._memoized(with_keywords, dict)
    if key in entries if is_plain else knows(known, words, optional):
        return
    call, alone = resolved(
        robot, f.name, frame, dict(zip(f.choices, choices, strict=False)), algorithm, value
    )
    built = _compiled(call, alone, names) if is_native(call) else None
    if built is None:
        return
    size = next(iter(call.output_sizes().values()))
    entry = entry_of(built, size, np.dtype(np.float64), call.function, names)
    if not is_plain or value:
        remember(known, words, optional, entry, frames_cached(robot))
    if is_plain:
        if is_keyed and len(entries) >= frames_cached(robot):
            entries.clear()
        entries[key] = entry


def _compiled(call: Call, alone: Call | None, optional: tuple[str, ...]) -> Any:
    """The compiled kernels of a call with some optional inputs: for batches, and one for a single state."""
    if alone is None or "inertias" in optional:
        return call.robot._memo.get(_key(call, optional))
    return _ByBatch(call, alone, optional)


def _key(call: Call, optional: tuple[str, ...]) -> Any:
    return memo_key(call, optional, np.dtype(np.float64))


class _ByBatch:
    """The kernels that the slow path compiled for one state and for several, where they differ."""

    def __init__(self, many: Call, alone: Call, optional: tuple[str, ...]) -> None:
        self._known, self._keys = many.robot._memo, (_key(many, optional), _key(alone, optional))
        self._output = next(iter(many.output_sizes().values()))
        self._sizes = [math.prod(size) for size in many.input_sizes(optional).values()]

    @property
    def groups(self) -> int:
        """The number of parts into which threads may split one state."""
        built = self._known.get(self._keys[1])
        return 0 if built is None else int(built.groups)

    def direct(self, *arrays: Any) -> bool:
        """One state, whose result has no batch."""
        built = self._known.get(self._keys[1])
        return built is not None and arrays[-1].shape == self._output and built.direct(*arrays)

    def batch(self, inputs: tuple[Any, ...], out: Any, threads: int | None) -> Any:
        """One state or several, which the sizes of the arrays show."""
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
    friction: bool | str = True,
    limits: bool | str = True,
    springs: bool = True,
    constraints: bool = True,
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
        constraints=constraints,
        dtype=dtype,
        controls=controls,
        parameters=parameters,
        divergence=divergence,
    )


def export(
    self: Robot,
    path: Any,
    functions: Any = None,
    *,
    dtype: Any = "float64",
    target: str | None = None,
    **options: Any,
) -> Any:
    """`Robot.export`, as `robot/api.py` declares it; what it needs is imported now."""
    entry_point = import_module(".export.api", __package__)
    return entry_point.export(self, path, functions, dtype, target, **options)


def function(self: Robot, f: Any, /, **sizes: Any) -> Any:
    """`Robot.function`, as `robot/api.py` declares it; what it needs is imported now."""
    if isinstance(f, str) and f in CONSTRAINED:
        return import_module(".constraints.api", __package__).function(self, f, sizes)
    if isinstance(f, str) and f == "distances":
        return import_module(".constraints.clearances", __package__).function(self, sizes)
    return import_module(".tracing.function", __package__).function(self, f, sizes)


def inverse_kinematics(
    self: Robot,
    targets: Any,
    q0: Any = None,
    *,
    tolerance: float = 1e-6,
    seeds: int = 32,
    rng: Any = 0,
    limits: bool = True,
    rest: Any = None,
    weights: Any = None,
    position_only: bool = False,
    iterations: int = 100,
    threads: int | None = None,
    cost: Any = None,
    all: bool = False,
    collisions: Any = None,
    clearance: float = 0.0,
) -> Any:
    """`Robot.inverse_kinematics`, as `robot/api.py` declares it; what it needs is imported now."""
    entry_point = import_module(".inverse_kinematics.solve", __package__)
    return entry_point.inverse_kinematics(
        self,
        targets,
        q0,
        tolerance=tolerance,
        seeds=seeds,
        rng=rng,
        limits=limits,
        rest=rest,
        weights=weights,
        position_only=position_only,
        iterations=iterations,
        threads=threads,
        cost=cost,
        all=all,
        collisions=collisions,
        clearance=clearance,
    )


def track(
    self: Robot,
    targets: Any,
    q0: Any,
    *,
    dt: float | None = None,
    tolerance: float = 1e-6,
    limits: bool = True,
    weights: Any = None,
    position_only: bool = False,
    iterations: int = 100,
    threads: int | None = None,
) -> Any:
    """`Robot.track`, as `robot/api.py` declares it; what it needs is imported now."""
    entry_point = import_module(".inverse_kinematics.track", __package__)
    return entry_point.track(
        self,
        targets,
        q0,
        dt=dt,
        tolerance=tolerance,
        limits=limits,
        weights=weights,
        position_only=position_only,
        iterations=iterations,
        threads=threads,
    )


def reachable(
    self: Robot, frame: str, grid: Any, *, seeds: int = 16, tolerance: float = 1e-6, **options: Any
) -> Any:
    """`Robot.reachable`, as `robot/api.py` declares it; what it needs is imported now."""
    entry_point = import_module(".inverse_kinematics.reach", __package__)
    return entry_point.reachable(self, frame, grid, seeds=seeds, tolerance=tolerance, **options)


def inverse_kinematics_derivatives(
    self: Robot,
    q: Any,
    targets: Any,
    *,
    limits: bool = True,
    position_only: bool = False,
    threads: int | None = None,
) -> Any:
    """`Robot.inverse_kinematics_derivatives`, as `robot/api.py` declares it."""
    entry_point = import_module(".inverse_kinematics.implicit_derivatives", __package__)
    return entry_point.inverse_kinematics_derivatives(
        self, q, targets, limits=limits, position_only=position_only, threads=threads
    )


def formula(self: Robot, name: str, inputs: Any, outputs: Any, run: Any) -> Any:
    """`Robot._formula`, as it is declared there; what it needs is imported now."""
    return import_module(".backends.native.formulas", __package__).formula(name, inputs, outputs, run)


def _on_jax(robot: Robot) -> Any:
    return robot._memoized("jax", lambda: module_of("jax", "jax.functions").JaxFunctions(robot, resolve))


def _on_torch(robot: Robot) -> Any:
    return robot._memoized("torch", lambda: module_of("torch", "torch.functions").TorchFunctions(robot))


def _constrained(name: str) -> Any:
    """The method of Robot for a function under constraints; what it needs is imported at its first call."""
    declared = getattr(ConstrainedFunctions, name)
    inputs = CONSTRAINED[name][0]
    known = signature(declared)
    made: list[Any] = []

    def method(self: Robot, *given: Any, **options: Any) -> Any:
        if len(given) != len(inputs) or not options.keys() <= known.parameters.keys():
            try:
                bound = known.bind(self, *given, **options).arguments
            except TypeError as error:
                near = [closest(o, list(known.parameters)) for o in options if o not in known.parameters]
                hint = f". Did you mean '{near[0]}'?" if near and near[0] else ""
                raise TypeError(f"Robot.{name}() {error}{hint}") from None
            given = tuple(bound[each] for each in inputs)
            options = {n: x for n, x in bound.items() if n not in ("self", *inputs)}
        if not made:
            made.append(import_module(".constraints.api", __package__).call)
        return made[0](self, name, given, options)

    method.__name__, method.__signature__ = name, known  # type: ignore[attr-defined]
    return as_declared(method, declared)


def constraint_rank(self: Robot, q: Any, *, contacts: Any = ()) -> Any:
    """`Robot.constraint_rank`, as `robot/constrained.py` declares it; what it needs is imported now."""
    return import_module(".constraints.api", __package__).rank(self, q, contacts)


def distances(self: Robot, q: Any, pairs: Any = None, *, out: Any = None, threads: int | None = None) -> Any:
    """`Robot.distances`, as `robot/constrained.py` declares it; what it needs is imported now."""
    return import_module(".constraints.clearances", __package__).call(self, q, pairs, out, threads)


def close_loops(
    self: Robot,
    q: Any,
    *,
    fixed: Any = (),
    tolerance: float = 1e-10,
    iterations: int = 100,
    strict: bool = False,
    threads: int | None = None,
) -> Any:
    """`Robot.close_loops`, as `robot/constrained.py` declares it; what it needs is imported now."""
    entry_point = import_module(".constraints.closing", __package__)
    found = entry_point.close_loops(self, q, fixed, tolerance, iterations, threads)
    if strict:
        entry_point.require_closed(self, found)
    return found


def _attach() -> None:
    for name in CONSTRAINED:
        setattr(Robot, name, _constrained(name))
    for made in (constraint_rank, close_loops, distances):
        setattr(Robot, made.__name__, as_declared(made, getattr(ConstrainedFunctions, made.__name__)))
    declare(Robot, ROBOT, FUNCTIONS.values(), _method)
    for alias, name in ALIASES.items():
        setattr(Robot, alias, getattr(Robot, name))
    setattr(Robot, "_formula", as_declared(formula, Robot._formula))  # noqa: B010
    for entry_point in (
        *(
            frame_poses,
            function,
            inverse_kinematics,
            inverse_kinematics_derivatives,
            track,
            reachable,
            simulation,
            export,
            jvp,
            vjp,
            hvp,
            kernel,
        ),
    ):
        setattr(
            Robot, entry_point.__name__, as_declared(entry_point, getattr(EntryPoints, entry_point.__name__))
        )
    setattr(Robot, "jax", property(_on_jax, doc=EntryPoints.jax.__doc__))  # noqa: B010
    setattr(Robot, "torch", property(_on_torch, doc=EntryPoints.torch.__doc__))  # noqa: B010


def as_declared(made: Callable[..., Any], declared: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the signature and docstring of its declaration."""
    for name in ("__module__", "__qualname__", "__doc__"):
        setattr(made, name, getattr(declared, name))
    made.__annotations__ = {**made.__annotations__, **declared.__annotations__}
    return made


_attach()
