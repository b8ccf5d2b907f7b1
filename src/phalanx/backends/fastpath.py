# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The fast path of a call in front of its slow path: plain arrays go straight to compiled code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any

import numpy as np

_TEXT = """
def {name}({parameters}):
    {find}
    if {applies}(threads is None or type(threads) is int and threads > 0):
        if out is None:
            result = empty({memory})
            if {direct}({inputs}, result):
                return result
        else:
            try:
                if len(out) <= {few} and {direct}({inputs}, out):
                    return out
            except Exception:
                pass  # no array: the slow path says so
        result = {built}.batch(({inputs},), out, threads)
        if result is not None:
            return result
    {slow}
"""
_FEW = 64  # length of `out`, of one state or of a batch, up to which nobody asks whether threads pay


def with_fast_path(
    declared: Callable[..., Any],
    inputs: tuple[str, ...],
    *,
    find: str = "",
    applies: tuple[str, ...] = (),
    direct: str,
    memory: str,
    built: str,
    slow: str,
    scope: Mapping[str, Any],
) -> Any:
    """The function that `declared` describes by its parameters, annotations and docstring.

    The texts are expressions in its parameters and names of `scope`; `find` and `slow` are statements.
    Where all of `applies` holds, `direct` gets the arrays and takes them if they lie as compiled code wants
    them, with `memory` for one result; else the batch of what is `built` gets them, and may return None.
    What is then left, and everything wrong, is for `slow`.

    Written out with real parameters because packing and unpacking arguments would take as long as
    the dynamics of an arm.
    """
    source = _TEXT.format(
        name=declared.__name__,
        parameters=_without_types(declared),
        inputs=", ".join(inputs),
        few=_FEW,
        find=find,
        applies="".join(f"{condition} and " for condition in applies),
        direct=direct,
        memory=memory,
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
