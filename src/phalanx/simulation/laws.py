# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A user's function run once on traced values: a control law, a force, a record.

Whatever goes wrong inside is told with the user's file and line. It runs twice on the same symbols: if the
results differ, it reads something that is not in a simulation.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import PhalanxError, listing
from ..program.scalar import Graph, Node
from .refusals import RefusalError, place, users_line
from .traced import Traced, scalars_of

ARGUMENTS = ("t", "q", "qd", "u", "robot")
_FORM = f"f({', '.join(ARGUMENTS)})"
_MOST = 10_000_000  # scalars of a result


def run_law(
    law: Callable[..., Any], given: Sequence[Traced], robot: Any, own: Mapping[str, Traced]
) -> np.ndarray:
    """The joint forces (nv,) of a control law at t, q, qd and u, as scalars; `own` are parameters by name."""
    where = f"control law {_name(law)}"
    found = scalars_of(run(law, given, robot, own, where), None, f"{where}: its result")
    expected = (int(robot.nv),)
    if found.shape != expected and not (found.shape == () and expected == (1,)):
        raise PhalanxError(
            f'{where} returns an array of shape {found.shape}, expected {expected} for robot "{robot.name}" '
            f"(nv = {robot.nv}): one force for each degree of freedom{_at(law)}."
        )
    return found.reshape(expected)


def run_function(
    function: Callable[..., Any], given: Sequence[Traced], robot: Any, own: Mapping[str, Traced], where: str
) -> np.ndarray:
    """What a function of the state returns, an array of any shape, as scalars."""
    return scalars_of(run(function, given, robot, own, where), None, f"{where}: its result")


def run(
    function: Callable[..., Any], given: Sequence[Traced], robot: Any, own: Mapping[str, Traced], where: str
) -> Any:
    """What a function f(t, q, qd, u, robot, *, …) returns on traced values, checked but for its shape."""
    asked = asked_by(function, own, where)
    kept = [_read_only(x) for x in given]
    parameters = {name: _read_only(own[name]) for name in asked}
    made, again = (_called(function, kept, robot, parameters, where) for _ in range(2))
    if made is None:
        raise PhalanxError(f"{where} returns nothing, expected an array; is a return missing{_at(function)}?")
    if (size := _size(made)) > _MOST:
        raise PhalanxError(f"{where} returns {size:,} numbers{_at(function)}, expected at most {_MOST:,}.")
    graph = next((x.graph for array in kept for x in array.scalars.ravel() if type(x) is Node), None)
    seen: set[int] = set()
    for x in _leaves(made):
        _check(x, graph, seen, f"{where}{_at(function)}")
    if not _same(made, again):
        raise PhalanxError(
            f"{where} gives another result each time it runs{_at(function)}: it reads a clock, random "
            "numbers or a state of its own, which a recorded function cannot; use t for the time, and pass "
            "what changes as controls or parameters."
        )
    return made


# ------------------------------------------------------------------- the call


def asked_by(function: Callable[..., Any], own: Mapping[str, Any], where: str) -> list[str]:
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
            f"{_at(function)}."
        )
    named = [*first[len(ARGUMENTS) :], *kinds[inspect.Parameter.KEYWORD_ONLY]]
    missing = [p.name for p in named if p.name not in own and p.default is inspect.Parameter.empty]
    if missing:
        declared = f"declared are {listing(own)}" if own else "none is declared"
        raise PhalanxError(
            f"{where} takes {listing(missing)} beside {', '.join(ARGUMENTS)}, but {declared}; declare it "
            f"with its size: robot.simulation(…, parameters={{{missing[0]!r}: n}}){_at(function)}."
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


def _called(
    function: Callable[..., Any],
    given: Sequence[Traced],
    robot: Any,
    own: Mapping[str, Traced],
    where: str,
) -> Any:
    try:
        return function(*given, robot, **own)
    except RefusalError:
        raise
    except Exception as error:
        if (refusal := _refusal_behind(error)) is not None:
            raise refusal from None
        told = users_line(error.__traceback__)
        at = f"{place(*told)}: " if told else ""
        if isinstance(error, PhalanxError):
            raise PhalanxError(f"{at}{where}: {error}") from error
        raise PhalanxError(
            f"{at}{where} raises {type(error).__name__}: {_full_stop(error)}{_hint(error, given[3].size)}"
        ) from error


def _refusal_behind(error: BaseException | None) -> RefusalError | None:
    """The refusal that NumPy has answered by an error of its own, if there is one."""
    while error is not None:
        if isinstance(error, RefusalError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _full_stop(error: Exception) -> str:
    text = str(error).strip() or "no message"
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _hint(error: Exception, controls: int) -> str:
    """What helps where NumPy meets traced values as plain objects."""
    text = str(error)
    if "callable" in text and "method" in text:
        return (
            " np.array leaves plain numbers among traced ones; join values by np.stack or np.hstack instead."
        )
    if isinstance(error, IndexError):
        if "out of bounds" in text:
            return f" There are {controls} controls u; robot.simulation(…, controls=k) tells how many."
        return " Traced values are no indices; np.where and np.interp choose by a value."
    if "dtype('O')" in text or "object arrays" in text or "type object" in text or "ufunc" in text:
        return (
            " Only NumPy's own functions act on traced values, not on arrays made of them by np.array or "
            "np.asarray: join values by np.stack or np.hstack, and leave other libraries out."
        )
    return ""


def _read_only(x: Traced) -> Traced:
    scalars = x.scalars.copy()
    scalars.setflags(write=False)
    return Traced(scalars)


def _name(function: Any) -> str:
    told = getattr(function, "__name__", type(function).__name__)
    return f'"{told}"'


def _at(function: Any) -> str:
    """Where a function is defined, if it is known."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f" ({place(code.co_filename, code.co_firstlineno)})" if code is not None else ""


# ------------------------------------------------------------------- the result


def _size(value: Any) -> int:
    """How many scalars there are in what a function has returned; arrays may repeat few of them."""
    if isinstance(value, Mapping):
        return sum(map(_size, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value))
    if isinstance(value, Traced):
        value = value.scalars
    return value.size if isinstance(value, np.ndarray) else 1


def _leaves(value: Any) -> Iterator[Any]:
    """The scalars in what a function has returned: arrays, lists, mappings."""
    if isinstance(value, Mapping):
        for x in value.values():
            yield from _leaves(x)
    elif isinstance(value, (list, tuple)):
        for x in value:
            yield from _leaves(x)
    elif isinstance(value, Traced):
        yield from value.scalars.ravel()
    elif isinstance(value, np.ndarray):
        for x in value.ravel():
            yield from _leaves(x) if isinstance(x, Traced) else (x,)
    else:
        yield value


def _same(a: Any, b: Any) -> bool:
    """Whether two runs have recorded the same: equal operations are the same node."""
    ours, theirs = list(_leaves(a)), list(_leaves(b))
    if len(ours) != len(theirs):
        return False
    return all(
        x is y or (type(x) is not Node and type(y) is not Node and _equal(x, y))
        for x, y in zip(ours, theirs, strict=True)
    )


def _equal(x: Any, y: Any) -> bool:
    try:
        return bool(x == y) or bool(x != x and y != y)
    except Exception:  # of objects that do not compare; they are refused later
        return True


def _check(result: Any, graph: Graph | None, seen: set[int], where: str) -> None:
    """Raise at NaN and infinity that are no matter of the state, and at values of another simulation."""
    if type(result) is not Node:
        if isinstance(result, (float, int, np.number)) and not math.isfinite(result):
            raise PhalanxError(f"{where} returns {result} whatever the state is, expected finite numbers.")
        return
    stack = [result]
    while stack:
        node = stack.pop()
        if node.graph is not graph:
            raise PhalanxError(
                f"{where} uses a traced value of another run; keep none in a global variable or an attribute."
            )
        if node.number in seen:
            continue
        seen.add(node.number)
        for a in node.args:
            if type(a) is Node:
                stack.append(a)
            elif type(a) is float and math.isnan(a):
                raise PhalanxError(f"{where} computes with NaN, expected numbers; check its constants.")
