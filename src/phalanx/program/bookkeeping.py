# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The assumptions of an operation count, applied while an algorithm is traced.

The functions that algorithms call are wrapped by name; algorithm files do not mention it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any

import numpy as np

from ..robot.model import Model
from .graph import Graph
from .ir import Scalar

# Functions whose results have zeros and ones by structure, which general equations do not use.
_STRUCTURED = ("rotations", "proximal_rotations", "axes", "first_axis")

Wrapped = Callable[..., Any]
Which = Callable[[Any], bool]


@dataclass(frozen=True)
class Bookkeeping:
    """How an algorithm is traced for counting.

    `given`: functions whose results are known beforehand: symbols, at no cost.
    `passes`: functions whose inputs are general even where the caller passes zeros.
    `absent`: parameters that are zero.
    `shared`: equal operations are recorded once even if nothing is customised.
    `turned_tool`: the wrench on a tip is given in a rotated frame with the origin of the tip's DH frame.
    `results`: variables of the algorithm whose values replace the program's results.
    """

    given: frozenset[str] = frozenset()
    passes: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    shared: bool = False
    turned_tool: bool = False
    results: frozenset[str] = frozenset()


def wrappers(
    graph: Graph, book: Bookkeeping, customise: str, model: Model
) -> Mapping[str, Callable[[Wrapped], Wrapped]]:
    """The decorators of functions that an algorithm calls, by name."""
    made: dict[str, Callable[[Wrapped], Wrapped]] = {}
    general = customise == "none"
    if general:
        made |= {name: lambda f: _symbolic_result(f, graph, _is_number) for name in _STRUCTURED}
        made |= {name: lambda f: _symbolic_inputs(f, graph) for name in book.passes}
    if customise != "full":
        made["links_of"] = lambda f: _chosen_bases(f, graph, model, general)
    for name in book.given:
        which = _always if general and name in _STRUCTURED else _is_node
        made[name] = partial(_symbolic_result, graph=graph, which=which)
    return made


def _is_node(x: Any) -> bool:
    return isinstance(x, Scalar)


def _is_number(x: Any) -> bool:
    return not isinstance(x, Scalar)


def _always(x: Any) -> bool:
    return True


def _symbolic_result(function: Wrapped, graph: Graph, which: Which) -> Wrapped:
    """The function with some entries of its result replaced by symbols."""

    @wraps(function)
    def run(*args: Any, **keywords: Any) -> Any:
        result = function(*args, **keywords)
        name = function.__name__
        if isinstance(result, tuple):
            return tuple(_symbolic(graph, x, which, f"{name} {k}") for k, x in enumerate(result))
        return _symbolic(graph, result, which, name)

    return run


def _symbolic_inputs(function: Wrapped, graph: Graph) -> Wrapped:
    """The function with the numbers among its inputs replaced by symbols."""

    @wraps(function)
    def run(model: Any, *args: Any, **keywords: Any) -> Any:
        name = f"{function.__name__} {len(graph.nodes)}"
        general = (_symbolic(graph, x, _is_number, f"{name} {k}") for k, x in enumerate(args))
        return function(model, *general, **keywords)

    return run


def _chosen_bases(function: Wrapped, graph: Graph, numbers: Model, general: bool) -> Wrapped:
    """The function that chooses bases W and T of joint wrenches, called with the numbers of the robot.

    In general equations W and T are matrices like any others.
    """

    @wraps(function)
    def run(model: Model, transforms: Any) -> Any:
        known = {k: getattr(numbers, k).astype(object) for k in ("axis", "armature")}
        rest = numbers.rest.map(lambda array, _: array.astype(object))
        links = function(replace(model, rest=rest, **known), transforms)
        if not general:
            return links
        return replace(links, **{k: _symbolic(graph, getattr(links, k), _is_number, k) for k in ("W", "T")})

    return run


def _symbolic(graph: Graph, array: Any, which: Which, name: str) -> Any:
    if not isinstance(array, np.ndarray):
        return array
    flat = np.empty(array.size, dtype=object)
    entries = array.ravel().tolist()
    for k, x in enumerate(entries):
        flat[k] = x
        if which(x):
            flat[k] = graph.input(f"given {name}", k)
            graph.meanings[flat[k]] = x
    return flat.reshape(array.shape)
