# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of a function along directions, and of weighted sums of its results: from inputs to a call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .algorithms import FUNCTIONS, algorithms
from .backends.base import Call, backend
from .dispatch import compute, resolve, serving
from .errors import PhalanxError
from .robot.robot import Robot


def jvp(
    robot: Robot,
    function: str,
    inputs: Any,
    tangents: Any,
    *,
    frame: str | None = None,
    axes: str | None = None,
    external: Any = None,
    inertias: Any = None,
    out: Any = None,
    algorithm: Any = "auto",
    backend: Any = "auto",
    threads: int | None = None,
) -> Any:
    """`Robot.jvp`, as `robot/doors.py` declares it."""
    call = derivative_of(robot, "jvp", function, algorithm, frame, axes)
    arrays = _given(call, inputs=inputs, tangents=tangents)
    optional = {"external": external, "inertias": inertias}
    return compute(call, arrays, optional, out=out, threads=threads, runner=serving(call, backend))


def vjp(
    robot: Robot,
    function: str,
    inputs: Any,
    cotangent: Any,
    *,
    frame: str | None = None,
    axes: str | None = None,
    external: Any = None,
    inertias: Any = None,
    out: Any = None,
    algorithm: Any = "auto",
    backend: Any = "auto",
    threads: int | None = None,
) -> Any:
    """`Robot.vjp`, as `robot/doors.py` declares it."""
    call = derivative_of(robot, "vjp", function, algorithm, frame, axes)
    arrays = (*_given(call, inputs=inputs), cotangent)
    optional = {"external": external, "inertias": inertias}
    return compute(call, arrays, optional, out=out, threads=threads, runner=serving(call, backend))


def hvp(
    robot: Robot,
    function: str,
    inputs: Any,
    cotangent: Any,
    tangents: Any,
    *,
    frame: str | None = None,
    axes: str | None = None,
    external: Any = None,
    inertias: Any = None,
    out: Any = None,
    algorithm: Any = "auto",
    backend: Any = "auto",
    threads: int | None = None,
) -> Any:
    """`Robot.hvp`, as `robot/doors.py` declares it."""
    call = derivative_of(robot, "hvp", function, algorithm, frame, axes)
    first, second = _given(call, inputs=inputs), _given(call, tangents=tangents)
    arrays = (*first, cotangent, *second)
    optional = {"external": external, "inertias": inertias}
    return compute(call, arrays, optional, out=out, threads=threads, runner=serving(call, backend))


def derivative_of(
    robot: Robot, mode: str, function: str, algorithm: Any, frame: str | None, axes: str | None = None
) -> Call:
    """The call that differentiates a function; "auto" takes an algorithm whose derivative compiles."""
    call = resolve(robot, function, algorithm, frame, {} if axes is None else {"axes": axes})
    if len(call.function.outputs) > 1:
        raise PhalanxError(
            f"{mode}: {function} has several results, expected a function with one; differentiate what it "
            "is the derivative of."
        )
    derived = replace(call, algorithm=replace(call.algorithm, derivative=mode))
    if not isinstance(algorithm, str) or algorithm != "auto" or _has_code(derived):
        return derived
    others = (replace(derived, algorithm=replace(a, derivative=mode)) for a in algorithms(function))
    covering = (other for other in others if not other.algorithm.refusal(robot))
    return next((other for other in covering if _has_code(other)), derived)


def _has_code(call: Call) -> bool:
    """Whether a call is compiled in reasonable time."""
    return backend("native").serves(call)


def _given(call: Call, **groups: Any) -> tuple[Any, ...]:
    """Inputs, then tangents, each as many as the function has inputs."""
    f = FUNCTIONS[call.algorithm.function]
    for what, group in groups.items():
        if not isinstance(group, (tuple, list)) or len(group) != len(f.inputs):
            told = f"{len(group)} arrays" if isinstance(group, (tuple, list)) else type(group).__name__
            raise PhalanxError(
                f"{call.function.name}: {what} are {told}, expected a tuple of {len(f.inputs)}: "
                f"{', '.join(f.inputs)}."
            )
    return tuple(x for group in groups.values() for x in group)
