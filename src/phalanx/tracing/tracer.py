# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From a user's Python function and the sizes of its arguments to its trace."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from ..errors import PhalanxError, listing, nearest, shown
from ..program.graph import Graph, live, symbols
from ..program.trace import TooLongError
from ..robot.robot import Robot
from .arrays import Traced, scalars_of
from .calls import defined_at, name_of, traced_call
from .equations import MOST, OF_ROBOT, Equations, TracedRobot
from .result_structure import Structure
from .traces import Shape, Trace, buffer_name, unique

ROBOT = "robot"  # the argument that is the robot
_RESERVED = ("out", "threads")  # keywords of every call


# ------------------------------------------------------------------- from Python


def traced(robot: Robot, function: Callable[..., Any], sizes: Mapping[str, Any]) -> Trace:
    """A user's function on recording scalars, or an error that names the user's line and a remedy."""
    if not callable(function):
        raise PhalanxError(
            f"function: got {shown(function)}, expected a Python function such as f(q, robot)."
        )
    where = f"function {name_of(function)}"
    sizes = {**_declared(robot, function), **sizes}
    shapes, positional, by_name = _arguments(robot, function, sizes, where)
    if not any(map(prod, shapes.values())):
        raise PhalanxError(
            f"{where} takes no arrays, expected q or others with their sizes{defined_at(function)}; what "
            "depends on nothing needs no compiling."
        )
    graph = Graph()
    inputs = {name: symbols(graph, buffer_name(name), shape) for name, shape in shapes.items()}
    arrays: dict[str, Any] = {name: Traced(array) for name, array in inputs.items()}
    try:
        own = {name: inputs[name] for name in OF_ROBOT if name in inputs}
        arrays[ROBOT] = TracedRobot(Equations(robot, graph, own))
        found = traced_call(function, [arrays[n] for n in positional], {n: arrays[n] for n in by_name}, where)
        structure, results = _results(found, where, function)
        if len(live([x for array in results.values() for x in array.ravel().tolist()])) > MOST:
            raise TooLongError
    except TooLongError:
        raise PhalanxError(
            f'{where} of robot "{robot.name}" ({robot.model.n} bodies) has more than {MOST:,} operations'
            f"{defined_at(function)}, too long for one kernel; compute less in it, or weld joints with "
            "robot.fix."
        ) from None
    name = getattr(function, "__name__", type(function).__name__)
    name = name if name.isidentifier() else "function"
    configurations = frozenset(n for n in shapes if n == "q" or _like(sizes.get(n)) == "q")
    keywords = frozenset(by_name) - {ROBOT}
    return Trace(robot, name, inputs, configurations, results, structure, keywords)


def _declared(robot: Robot, function: Any) -> dict[str, Any]:
    """The sizes that a law of `px.control` states itself: of its controls and of its parameters."""
    own = [getattr(function, name, None) for name in ("controls", "parameters")]
    if not all(callable(x) for x in own) or isinstance(function, type):
        return {}
    controls, parameters = own
    return {"u": controls(robot), **parameters(robot)}  # type: ignore[misc]


def _like(size: Any) -> str:
    return size if isinstance(size, str) else ""


def _results(found: Any, where: str, function: Any) -> tuple[Structure, dict[str, np.ndarray]]:
    at = defined_at(function)
    structure = Structure.of(found, f"{where}{at}: its result")
    leaves = structure.leaves(found, where, partly=True)  # None is refused with its name below
    if any(isinstance(leaf, TracedRobot) for leaf in leaves):
        raise PhalanxError(f"{where} returns the robot{at}, expected arrays.")
    names = unique(structure.paths())
    if not leaves:
        raise PhalanxError(f"{where} returns {shown(found)}, expected arrays{at}.")
    label = f"{where}{at}: its result"
    results = {
        name: scalars_of(leaf, None, label if structure.is_array else f'{label} "{name}"')
        for name, leaf in zip(names, leaves, strict=True)
    }
    return structure, results


def _arguments(
    robot: Robot, function: Callable[..., Any], sizes: Mapping[str, Any], where: str
) -> tuple[dict[str, Shape], list[str], list[str]]:
    """The shapes of the inputs of a function, and the names of what it gets by position and by name."""
    at = defined_at(function)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise PhalanxError(
            f"{where} does not say what its arguments are; write it as def f(q, …, robot)."
        ) from None
    known = known_shapes(robot)
    taken = {p.name for p in parameters}
    is_open = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    for name in sizes:
        if name == ROBOT or name in _RESERVED:
            raise PhalanxError(f"{where}: {name} is no array that could have a size; leave it out{at}.")
        if name not in taken and not is_open:
            names = [p.name for p in parameters if p.name != ROBOT]
            raise PhalanxError(
                f"{where}: got a size for {name!r}, which it does not take{at};"
                f"{nearest(name, names, what='arguments')}"
            )
    shapes: dict[str, Shape] = {}
    positional: list[str] = []
    by_name: list[str] = []
    for p in parameters:
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            raise PhalanxError(f"{where} takes *{p.name}{at}, expected arguments with names, each an array.")
        if p.kind is inspect.Parameter.VAR_KEYWORD:
            if all(name in taken for name in sizes) and not hasattr(function, "parameters"):
                raise PhalanxError(
                    f"{where} takes **{p.name}{at}, of which no size is given; pass sizes by name, or "
                    "leave it out."
                )
            continue
        if p.name in _RESERVED:
            raise PhalanxError(f"{where} has an argument {p.name!r}{at}, a keyword of every call; rename it.")
        to = by_name if p.kind is inspect.Parameter.KEYWORD_ONLY else positional
        if p.name == ROBOT:
            to.append(ROBOT)
        elif p.name in sizes:
            shapes[p.name] = _shape(sizes[p.name], known, f"{where}: the size of {p.name}")
            to.append(p.name)
        elif p.default is not inspect.Parameter.empty:
            continue
        elif p.name in known:
            shapes[p.name] = known[p.name]
            to.append(p.name)
        else:
            raise PhalanxError(
                f"{where} takes {p.name!r}{at}, whose size is not known; pass it: "
                f"robot.function({getattr(function, '__name__', 'f')}, {p.name}=n), n numbers or a shape. "
                f"Known by name are {listing(known, most=12)}."
            )
    for name in sizes:
        if name not in shapes:
            shapes[name] = _shape(sizes[name], known, f"{where}: the size of {name}")
            by_name.append(name)
    return shapes, *_after_defaults(parameters, positional, by_name)


def _after_defaults(
    parameters: list[inspect.Parameter], positional: list[str], by_name: list[str]
) -> tuple[list[str], list[str]]:
    """Arguments behind one that keeps its default are given by name."""
    order = [p.name for p in parameters]
    first = next((k for k, name in enumerate(order) if name not in positional), len(order))
    return [n for n in positional if order.index(n) < first], [
        *(n for n in positional if order.index(n) > first),
        *by_name,
    ]


def known_shapes(robot: Robot) -> dict[str, Shape]:
    """The shapes of arguments that are known by their names."""
    nv = (robot.nv,)
    return {
        "t": (),
        "q": (robot.nq,),
        "qd": nv,
        "qdd": nv,
        "tau": nv,
        "u": nv,
        "gravity": (3,),
        "inertias": (robot.n_links, 10),
        "armature": nv,
    }


def _shape(size: Any, known: Mapping[str, Shape], where: str) -> Shape:
    """A size as a shape: an integer, a shape, or the name of what it is like."""
    if isinstance(size, str):
        if size not in known:
            raise PhalanxError(f"{where} is {size!r};{nearest(size, known, what='names')}")
        return known[size]
    axes = size if isinstance(size, (tuple, list)) else (size,)
    for n in axes:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            raise PhalanxError(
                f"{where} is {shown(size)}, expected a number of entries, a shape such as (4, 4), or the "
                'name of what it is like, as in goal="q".'
            )
    return tuple(int(n) for n in axes)
