# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Functions f(t, q, qd, u, robot, *, …) of simulations on traced values: control laws, forces, records."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import PhalanxError, listing
from ..tracing.arrays import Traced, scalars_of
from ..tracing.calls import defined_at, name_of, traced_call

ARGUMENTS = ("t", "q", "qd", "u", "robot")
_FORM = f"f({', '.join(ARGUMENTS)})"


def run_law(
    law: Callable[..., Any], given: Sequence[Traced], robot: Any, own: Mapping[str, Traced]
) -> np.ndarray:
    """The joint forces (nv,) of a control law at t, q, qd and u, as scalars; `own` are parameters by name."""
    where = f"control law {name_of(law)}"
    found = scalars_of(run(law, given, robot, own, where), None, f"{where}: its result")
    expected = (int(robot.nv),)
    if found.shape != expected and not (found.shape == () and expected == (1,)):
        raise PhalanxError(
            f'{where} returns an array of shape {found.shape}, expected {expected} for robot "{robot.name}" '
            f"(nv = {robot.nv}): one force for each degree of freedom{defined_at(law)}."
        )
    return found.reshape(expected)


def run_function(
    function: Callable[..., Any], given: Sequence[Traced], robot: Any, own: Mapping[str, Traced], where: str
) -> np.ndarray:
    """The result of a function of the state, an array of any shape, as scalars."""
    return scalars_of(run(function, given, robot, own, where), None, f"{where}: its result")


def run(
    function: Callable[..., Any], given: Sequence[Traced], robot: Any, own: Mapping[str, Traced], where: str
) -> Any:
    """The result of f(t, q, qd, u, robot, *, …) on traced values; all is checked but its shape."""
    wanted = parameters_of(function, own, where)
    return traced_call(
        function,
        (*given, robot),
        {name: own[name] for name in wanted},
        where,
        out_of_bounds=f"There are {given[3].size} controls u, as robot.simulation(…, controls=k) says.",
    )


def parameters_of(function: Callable[..., Any], own: Mapping[str, Any], where: str) -> list[str]:
    """The parameters that a function takes beside its five arguments, or an error if it lacks those."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of code that is not Python's
        return []
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    kinds = {
        kind: [p for p in signature.parameters.values() if p.kind is kind] for kind in inspect._ParameterKind
    }
    first = [p for kind in plain for p in kinds[kind]]
    if len(first) < len(ARGUMENTS) and not kinds[inspect.Parameter.VAR_POSITIONAL]:
        raise PhalanxError(
            f"{where} has the arguments ({', '.join(p.name for p in first)}), expected {_FORM}"
            f"{defined_at(function)}."
        )
    named = [*first[len(ARGUMENTS) :], *kinds[inspect.Parameter.KEYWORD_ONLY]]
    missing = [p.name for p in named if p.name not in own and p.default is inspect.Parameter.empty]
    if missing:
        declared = f"declared are {listing(own)}" if own else "none is declared"
        raise PhalanxError(
            f"{where} takes {listing(missing)} beside {', '.join(ARGUMENTS)}, but {declared}; declare it "
            f"with its size: robot.simulation(…, parameters={{{missing[0]!r}: n}}){defined_at(function)}."
        )
    if kinds[inspect.Parameter.VAR_KEYWORD]:
        return list(own)
    return [p.name for p in named if p.name in own]


def read_by(function: Callable[..., Any]) -> set[str] | None:
    """The names that a function may take beside its five arguments; None if it takes any."""
    try:
        known = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of code that is not Python's
        return set()
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known):
        return None
    plain = [p.name for p in known if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    return {*plain[len(ARGUMENTS) :], *(p.name for p in known if p.kind is inspect.Parameter.KEYWORD_ONLY)}
