# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A user's function called with traced values: a control law, a force, a record, a function of one's own.

Errors inside name the user's file and line. It runs twice on the same symbols: if the
results differ, it reads something that is not among its arguments.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import PhalanxError
from ..program.graph import Graph
from ..program.ir import Scalar
from ..program.trace import TooLongError
from .arrays import Traced
from .refusals import RAISED, RefusalError, location, users_line
from .result_structure import fields_of

_MOST = 10_000_000  # scalars of a result


def traced_call(
    function: Callable[..., Any],
    args: Sequence[Any],
    named: Mapping[str, Any],
    where: str,
    *,
    out_of_bounds: str = "Check the sizes of its arguments.",
) -> Any:
    """What a function returns on traced values, checked but for its shape.

    `args` and `named` are traced arrays, which it cannot change, the robot, or constants; `where` begins
    messages, `out_of_bounds` ends those on indices beyond an array.
    """
    frozen = [_read_only(x) for x in args]
    parameters = {name: _read_only(x) for name, x in named.items()}
    made, repeated = (_called(function, frozen, parameters, where, out_of_bounds) for _ in range(2))
    at = defined_at(function)
    if made is None:
        raise PhalanxError(f"{where} returns nothing, expected an array; is a return missing{at}?")
    if (size := _size(made)) > _MOST:
        raise PhalanxError(f"{where} returns {size:,} numbers{at}, expected at most {_MOST:,}.")
    arrays = [x for x in (*frozen, *parameters.values()) if isinstance(x, Traced)]
    graph = next((x.graph for array in arrays for x in array.scalars.ravel() if isinstance(x, Scalar)), None)
    seen: set[int] = set()
    for x in _leaves(made):
        _check(x, graph, seen, f"{where}{at}")
    if not _same(made, repeated):
        strange = next(
            (x for x in _leaves(made) if not isinstance(x, (Scalar, int, float, str, np.generic))), None
        )
        if strange is not None:
            kind = type(strange).__name__
            raise PhalanxError(f"{where} returns a value of type {kind}{at}, expected arrays.")
        raise PhalanxError(
            f"{where} gives another result each time it runs{at}: it reads a clock, random numbers or a "
            "state of its own, which a traced function cannot; pass what changes as an argument, in a "
            "simulation as controls or parameters, and use its t for the time."
        )
    return made


def _called(
    function: Callable[..., Any],
    args: Sequence[Any],
    named: Mapping[str, Any],
    where: str,
    out_of_bounds: str,
) -> Any:
    raised: list[RefusalError] = []
    token = RAISED.set(raised)
    try:
        made = function(*args, **named)
        if raised:  # and caught by the function
            raise raised[0]
        return made
    except (RefusalError, TooLongError):
        raise
    except Exception as error:
        if (refusal := _refusal_behind(error)) is not None:
            raise refusal from None
        line = users_line(error.__traceback__)
        at = f"{location(*line)}: " if line else ""
        if isinstance(error, PhalanxError):
            raise PhalanxError(f"{at}{where}: {error}") from error
        raise PhalanxError(
            f"{at}{where} raises {type(error).__name__}: {_full_stop(error)}{_hint(error, out_of_bounds)}"
        ) from error
    finally:
        RAISED.reset(token)


def _refusal_behind(error: BaseException | None) -> RefusalError | None:
    """The `RefusalError` in the chain of causes of an error that NumPy raised; None if there is none."""
    while error is not None:
        if isinstance(error, RefusalError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _full_stop(error: Exception) -> str:
    text = str(error).strip() or "no message"
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _hint(error: Exception, out_of_bounds: str) -> str:
    """What helps where NumPy meets traced values as plain objects."""
    text = str(error)
    if "callable" in text and "method" in text:
        return " np.array leaves plain numbers among traced ones: use np.stack or np.array([…], like=q)."
    if isinstance(error, IndexError):
        if "out of bounds" in text:
            return f" {out_of_bounds}"
        return " Traced values are no indices; np.where and np.interp choose by a value."
    if "Traced" in text:
        return (
            " A traced value is no number while the function runs once, on symbols: use NumPy's own "
            "functions on it, no keys, caches or other libraries."
        )
    if "dtype('O')" in text or "object arrays" in text or "type object" in text or "ufunc" in text:
        return (
            " Only NumPy's own functions act on traced values, not on arrays made of them by np.array or "
            "np.asarray: join values by np.stack or np.array([…], like=q), and leave other libraries out."
        )
    return ""


def _read_only(x: Any) -> Any:
    if not isinstance(x, Traced):
        return x
    scalars = x.scalars.copy()
    scalars.setflags(write=False)
    return Traced(scalars)


def name_of(function: Any) -> str:
    """The name of a function, quoted."""
    return f'"{getattr(function, "__name__", type(function).__name__)}"'


def defined_at(function: Any) -> str:
    """Where a function is defined, if it is known."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f" ({location(code.co_filename, code.co_firstlineno)})" if code is not None else ""


# ------------------------------------------------------------------- the result


def _size(value: Any) -> int:
    """How many scalars there are in what a function has returned; arrays may repeat few of them."""
    if (fields := fields_of(value)) is not None:
        return sum(map(_size, fields.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value))
    if isinstance(value, Traced):
        value = value.scalars
    return value.size if isinstance(value, np.ndarray) else 1


def _leaves(value: Any) -> Iterator[Any]:
    """The scalars in what a function has returned: arrays, lists, mappings, dataclasses."""
    if (fields := fields_of(value)) is not None:
        for x in fields.values():
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
        x is y or (not isinstance(x, Scalar) and not isinstance(y, Scalar) and _equal(x, y))
        for x, y in zip(ours, theirs, strict=True)
    )


def _equal(x: Any, y: Any) -> bool:
    try:
        return bool(x == y) or bool(x != x and y != y)
    except Exception:  # of objects that do not compare; they are refused later
        return True


def _check(result: Any, graph: Graph | None, seen: set[int], where: str) -> None:
    """Raise at NaN and infinity that are no matter of the state, and at values of another simulation."""
    if not isinstance(result, Scalar):
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
            if isinstance(a, Scalar):
                stack.append(a)
            elif type(a) is float and math.isnan(a):
                raise PhalanxError(f"{where} computes with NaN, expected numbers; check its constants.")
