# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The fast path of a call in front of its slow path: plain arrays go straight to compiled code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from inspect import Parameter, signature
from typing import Any

import numpy as np

from ..algorithms import Algorithm
from ..robot.configurations import quick_wrenches

_TEXT = """
def {name}({parameters}):
    {find}
    if {applies}(threads is None or type(threads) is int and threads > 0):
        {alone}
        result = {built}.batch(({inputs},), out, threads)
        if result is not None:
            return result
    {slow}
"""
# One result, of one state or in memory that is given.
_ALONE = """if out is None:
            result = empty({memory})
            if {direct}({inputs}, result):
                return result
        else:
            try:
                if len(out) <= {few} and {direct}({inputs}, out):
                    return out
            except Exception:
                pass  # no array: the slow path says so"""
_FEW = 64  # length of `out`, of one state or of a batch, up to which nobody asks whether threads pay


def with_fast_path(
    declared: Callable[..., Any],
    inputs: tuple[str, ...],
    *,
    find: str = "",
    applies: tuple[str, ...] = (),
    direct: str | None,
    memory: str,
    built: str,
    slow: str,
    scope: Mapping[str, Any],
) -> Any:
    """The function that `declared` describes by its parameters, annotations and docstring.

    The texts are expressions in its parameters and names of `scope`; `find` and `slow` are statements.
    Where all of `applies` holds, `direct` gets the arrays and takes them if they lie as compiled code wants
    them, with `memory` for one result; else, and where several results leave no `direct`, the batch of what
    is `built` gets them, and may return None.
    What is then left, and everything wrong, is for `slow`.

    Written out with real parameters because packing and unpacking arguments would take as long as
    the dynamics of an arm.
    """
    arrays = ", ".join(inputs)
    alone = _ALONE.format(inputs=arrays, few=_FEW, direct=direct, memory=memory) if direct else ""
    source = _TEXT.format(
        name=declared.__name__,
        parameters=_without_types(declared),
        inputs=arrays,
        find=find,
        applies="".join(f"{condition} and " for condition in applies),
        alone=alone,
        built=built,
        slow=slow.strip().replace("\n", "\n    "),
    )
    # Its own name, so that warnings know it as a module of the package and point at who called it.
    known: dict[str, Any] = {"__name__": __name__, "empty": np.empty, **scope}
    exec(source, known)
    return as_declared(known[declared.__name__], declared)


def as_declared(made: Callable[..., Any], declared: Callable[..., Any]) -> Callable[..., Any]:
    """A function that tells of itself what its declaration does."""
    for name in ("__module__", "__qualname__", "__doc__"):
        setattr(made, name, getattr(declared, name))
    made.__annotations__ = {**made.__annotations__, **declared.__annotations__}
    return made


def _without_types(declared: Callable[..., Any]) -> str:
    told = signature(declared)
    plain = [p.replace(annotation=Parameter.empty) for p in told.parameters.values()]
    return str(told.replace(parameters=plain, return_annotation=told.empty))[1:-1]


# ------------------------------------------------------------------- keywords

_MOST = 256  # combinations of keywords that a robot remembers for a function, at least


def again(
    robot: Any,
    place: str,
    words: tuple[Any, ...],
    inputs: tuple[Any, ...],
    optional: tuple[Any, ...],
    out: Any,
    threads: Any,
) -> Any:
    """The result by code that a call with the same keywords compiled before; None leaves it to the slow path.

    `words` are the keywords that select the code, the algorithm first, and of each of the `optional` inputs
    whether it is None. External wrenches come first among those, and may be given by the names of links.
    """
    known = robot._memo.get(place)
    if known is None or not (threads is None or (type(threads) is int and threads > 0)):
        return None
    try:
        built = known.get(words if type(words[0]) is str else _spelled(words))
    except TypeError:  # what has no hash is no word
        return None
    if built is None:
        return None
    for x in optional:
        if x is not None:
            if type(x) is dict and (x := quick_wrenches(robot, x)) is None:
                return None
            inputs = (*inputs, x)
    return built.batch(inputs, out, threads)


def knows(robot: Any, place: str, words: tuple[Any, ...]) -> bool:
    """Whether a call with these keywords is remembered."""
    try:
        return (words if type(words[0]) is str else _spelled(words)) in robot._memo.get(place, ())
    except TypeError:
        return False


def remember(robot: Any, place: str, words: tuple[Any, ...], built: Any, most: int = _MOST) -> None:
    """Let later calls with the same keywords find what was built; words without a hash are not remembered."""
    known = robot._memoized(place, dict)
    if len(known) >= max(most, _MOST):
        known.clear()
    with suppress(TypeError):
        known[words if type(words[0]) is str else _spelled(words)] = built


def _spelled(words: tuple[Any, ...]) -> tuple[Any, ...]:
    """Words in which the algorithm is a name, or a name with its options as they were given."""
    chosen: Any = words[0]
    options: tuple[Any, ...] = ()
    if type(chosen) is tuple and len(chosen) == 2 and type(chosen[1]) is dict:
        # With their types: one is no True.
        chosen, options = chosen[0], tuple((name, type(x), x) for name, x in chosen[1].items())
    name = chosen.name if isinstance(chosen, Algorithm) else chosen
    return (name, options, *words[1:]) if type(name) is str else (object(),)
