# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of a function along directions, and of weighted sums of its results: from inputs to a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .algorithms import FUNCTIONS, algorithms
from .backends.base import backend, memo_key
from .backends.fastpath import entry_of, recall, remember
from .dispatch import compute, resolve, serving
from .errors import PhalanxError, listing
from .program.task import Call
from .robot.formulas import STEPS
from .robot.frames import frames_cached
from .robot.robot import Robot

_JVP, _VJP, _HVP = (f"fast path of products: {mode}" for mode in ("jvp", "vjp", "hvp"))


def jvp(
    robot: Robot,
    function: str,
    primals: Any,
    tangents: Any,
    *,
    frame: str | None = None,
    reference: str | None = None,
    external: Any = None,
    inertias: Any = None,
    out: Any = None,
    algorithm: Any = "auto",
    backend: Any = "auto",
    threads: int | None = None,
) -> Any:
    """`Robot.jvp`, as `robot/api.py` declares it."""
    if function in STEPS:
        return _step(
            robot, function, _given_words(frame, reference, external, inertias, algorithm, backend)
        ).jvp(primals, tangents, out=out, threads=threads)
    words = (algorithm, backend, function, frame, reference)
    optional = (external, inertias)
    if _are_groups(primals, tangents):
        made = recall(robot._memo.get(_JVP), robot, words, (*primals, *tangents), optional, out, threads)
        if made is not None:
            return made
    call = derivative_of(robot, "jvp", function, algorithm, frame, reference)
    arrays = _given(call, primals=primals, tangents=tangents)
    return _computed(call, _JVP, words, arrays, optional, out, threads)


def vjp(
    robot: Robot,
    function: str,
    primals: Any,
    cotangent: Any,
    *,
    frame: str | None = None,
    reference: str | None = None,
    external: Any = None,
    inertias: Any = None,
    out: Any = None,
    algorithm: Any = "auto",
    backend: Any = "auto",
    threads: int | None = None,
) -> Any:
    """`Robot.vjp`, as `robot/api.py` declares it."""
    if function in STEPS:
        return _step(
            robot, function, _given_words(frame, reference, external, inertias, algorithm, backend)
        ).vjp(primals, cotangent, out=out, threads=threads)
    words = (algorithm, backend, function, frame, reference)
    optional = (external, inertias)
    if _are_groups(primals):
        made = recall(robot._memo.get(_VJP), robot, words, (*primals, cotangent), optional, out, threads)
        if made is not None:
            return made
    call = derivative_of(robot, "vjp", function, algorithm, frame, reference)
    arrays = (*_given(call, primals=primals), cotangent)
    return _computed(call, _VJP, words, arrays, optional, out, threads)


def hvp(
    robot: Robot,
    function: str,
    primals: Any,
    cotangent: Any,
    tangents: Any,
    *,
    frame: str | None = None,
    reference: str | None = None,
    external: Any = None,
    inertias: Any = None,
    out: Any = None,
    algorithm: Any = "auto",
    backend: Any = "auto",
    threads: int | None = None,
) -> Any:
    """`Robot.hvp`, as `robot/api.py` declares it."""
    if function in STEPS:
        return _step(
            robot, function, _given_words(frame, reference, external, inertias, algorithm, backend)
        ).hvp(primals, cotangent, tangents, out=out, threads=threads)
    words = (algorithm, backend, function, frame, reference)
    optional = (external, inertias)
    if _are_groups(primals, tangents):
        made = recall(
            robot._memo.get(_HVP), robot, words, (*primals, cotangent, *tangents), optional, out, threads
        )
        if made is not None:
            return made
    call = derivative_of(robot, "hvp", function, algorithm, frame, reference)
    first, second = _given(call, primals=primals), _given(call, tangents=tangents)
    return _computed(call, _HVP, words, (*first, cotangent, *second), optional, out, threads)


def _step(robot: Robot, function: str, given: Mapping[str, Any]) -> Any:
    """ "integrate", "difference" or "normalize" as a function for products; it takes no keywords."""
    if given:
        raise PhalanxError(f"{function}: takes no {listing(given)}; leave it out.")
    return robot.function(function)


def _given_words(
    frame: Any, reference: Any, external: Any, inertias: Any, algorithm: Any, backend: Any
) -> dict[str, Any]:
    """Keywords that a call has given."""
    given = {"frame": frame, "reference": reference, "external": external, "inertias": inertias}
    given |= {
        name: None if x == "auto" else x for name, x in (("algorithm", algorithm), ("backend", backend))
    }
    return {name: x for name, x in given.items() if x is not None}


def _are_groups(primals: Any, *tangents: Any) -> bool:
    """Whether arrays come in tuples or lists; with tangents, in two of one length."""
    if type(primals) is not tuple and type(primals) is not list:
        return False
    for x in tangents:  # a generator would take longer
        if (type(x) is not tuple and type(x) is not list) or len(x) != len(primals):
            break
    else:
        return True
    return False


def _computed(
    call: Call,
    key: str,
    words: tuple[Any, ...],
    arrays: tuple[Any, ...],
    optional: tuple[Any, Any],
    out: Any,
    threads: int | None,
) -> Any:
    """The slow path; what it compiles for float64 is remembered for calls with the same keywords."""
    named = dict(zip(("external", "inertias"), optional, strict=True))
    name = words[1]
    result = compute(call, arrays, named, out=out, threads=threads, runner=serving(call, name))
    given = tuple(option for option in call.function.optional if named.get(option) is not None)
    built = call.robot._memo.get(memo_key(call, given, np.dtype(np.float64)))
    if built is not None and name in ("auto", "native"):
        size = next(iter(call.output_sizes().values()))
        entry = entry_of(built, size, built.dtype, call.function, given)
        if call.algorithm.derivative != "jvp":  # whose results are a tuple, of one array, too
            entry = (None, *entry[1:])
        known: dict[Any, Any] = call.robot._memoized(key, dict)
        remember(known, words, optional, entry, frames_cached(call.robot))
    return result


def derivative_of(
    robot: Robot, mode: str, function: str, algorithm: Any, frame: str | None, reference: str | None = None
) -> Call:
    """The call that differentiates a function; "auto" takes an algorithm whose derivative compiles."""
    call = resolve(robot, function, algorithm, frame, {} if reference is None else {"reference": reference})
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
    """Primals, then tangents, each as many as the function has inputs."""
    f = FUNCTIONS[call.algorithm.function]
    for what, group in groups.items():
        if not isinstance(group, (tuple, list)) or len(group) != len(f.inputs):
            got = f"{len(group)} arrays" if isinstance(group, (tuple, list)) else type(group).__name__
            raise PhalanxError(
                f"{call.function.name}: {what} are {got}, expected a tuple of {len(f.inputs)}: "
                f"{', '.join(f.inputs)}."
            )
    return tuple(x for group in groups.values() for x in group)
