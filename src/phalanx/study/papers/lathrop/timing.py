# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""When quantities of a recursion become available if every operation runs as soon as it can.

Times are (multiplications, additions) along the critical path of the traced program. Rotations, the
motion of the base and the vectors z q' and z q'' are available from the start, as Lathrop assumes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np

from ....program.graph import GeneralGraph, live
from ....program.ir import Scalar
from ....program.ops import ADD, INPUT, MUL, OPS, SUB
from ....spatial import cross, dot, matvec
from ..printed_formulas import Delay, Instant, latest, symbol
from ..quantities import quantity
from .vectors import RATES, coordinates, inverse_dynamics

_LINKS, _MIDDLE = 6, 3
_LINEAR = "luh_walker_paul"
# Table 4's variables: the algorithm's names, and the symbols of what they wait for (variable, link after i).
_VARIABLES = {
    "omega": ("w",),
    "omegadot": ("wJd", "wd"),
    "pddot": ("c", "pdd"),
    "rddot": ("rdd",),
    "F": ("F",),
    "N": ("N",),
    "f": ("f",),
    "n": ("n",),
}
_WAITS = {
    "omega": {"a": ("w", -1)},
    "omegadot": {"a": ("w", -1), "b": ("wd", -1)},
    "pddot": {"c": ("w", 0), "d": ("wd", 0), "e": ("pdd", -1)},
    "rddot": {"c": ("w", 0), "d": ("wd", 0), "f": ("pdd", 0)},
    "F": {"g": ("rdd", 0)},
    "N": {"c": ("w", 0), "d": ("wd", 0)},
    "f": {"h": ("f", 1)},
    "n": {"h": ("f", 1), "k": ("n", 1)},
}


@quantity
def operator_time(operator: str) -> Delay:
    """critical path through one vector operation of the library, all coordinates at once"""
    nodes, results = _operator(operator)
    times = _times(nodes)
    return max((times[x.number] for x in results), key=_length)


@quantity
def module_steps(operator: str) -> int:
    """one coordinate of a vector operation list-scheduled on two multipliers and one adder"""
    _, results = _operator(operator)
    own = live(results[:1])
    ready = {x.number: 0 for x in own if x.op not in (ADD, SUB, MUL)}
    waiting, step = [x for x in own if x.number not in ready], 0
    while waiting:
        step += 1
        free = {MUL: 2, ADD: 1}
        for x in list(waiting):
            kind = MUL if x.op == MUL else ADD
            there = all(ready.get(a.number, step) < step for a in x.args if isinstance(a, Scalar))
            if there and free[kind]:
                free[kind] -= 1
                ready[x.number] = step
                waiting.remove(x)
    return step


@quantity
def availability_offset(late: str, early: str) -> Delay:
    """availability of one quantity after another in the middle of traced luh_walker_paul"""
    a, b = (_available()[name, _MIDDLE] for name in (early, late))
    return b[0] - a[0], b[1] - a[1]


@quantity
def propagation_interval(name: str) -> Delay:
    """availability of a quantity from link to link in the middle of traced luh_walker_paul"""
    step = -1 if name in ("f", "n") else 1
    a, b = (_available()[name, _MIDDLE + k] for k in (0, step))
    return b[0] - a[0], b[1] - a[1]


@quantity
def ends_of_steps(variable: str) -> tuple[Instant, ...]:
    """ends of the vector operations of a variable, in the middle of traced luh_walker_paul"""
    nodes = inverse_dynamics(_LINEAR, _LINKS)
    whole = _whole_quantities(nodes)
    cut = {
        number: symbol(name)
        for name, (text, after) in _WAITS[variable].items()
        for number in whole[text, _MIDDLE + after]
    }
    own = _own_operations(nodes, variable, whole)
    ends = _instants(nodes, cut)
    return tuple(sorted({ends[x.number] for x in own if ends[x.number].events}, key=str))


def _own_operations(nodes: list[Scalar], variable: str, whole: Mapping[Any, frozenset[int]]) -> list[Scalar]:
    """Results of the vector operations that compute a variable of the middle link from other variables."""
    wanted: set[int] = set(whole[_VARIABLES[variable][-1], _MIDDLE])
    by_number = {x.number: x for x in nodes}
    stop = {n for text, after in _WAITS[variable].values() for n in whole[text, _MIDDLE + after]}
    stack = list(wanted)
    while stack:
        for a in by_number[stack.pop()].args:
            if isinstance(a, Scalar) and a.number not in wanted | stop and a.quantity in _VARIABLES[variable]:
                wanted.add(a.number)
                stack.append(a.number)
    return [x for x, _ in coordinates(nodes) if x.number in wanted]


@cache
def _available() -> dict[tuple[str, int], Delay]:
    """When each quantity of each link (from 0) is complete."""
    nodes = inverse_dynamics(_LINEAR, _LINKS)
    times = _times(nodes)
    return {
        key: max((times[k] for k in numbers), key=_length)
        for key, numbers in _whole_quantities(nodes).items()
    }


def _whole_quantities(nodes: list[Scalar]) -> dict[tuple[str, int], frozenset[int]]:
    """The three scalars of each quantity of each link: the last ones made for it."""
    made: dict[tuple[str, int], list[int]] = {}
    for x, _ in coordinates(nodes):
        # Sums over children are attributed to the child.
        link = x.body_index - 1 if x.quantity in ("f", "n") else x.body_index
        made.setdefault((x.quantity, link), []).append(x.number)
    return {key: frozenset(sorted(numbers)[-3:]) for key, numbers in made.items()}


def _delay(x: Scalar) -> Delay:
    """Multiplications and additions of one operation; inputs have none."""
    return (0, 0) if x.op == INPUT else (OPS[x.op].multiplications, OPS[x.op].additions)


def _times(nodes: Iterable[Scalar]) -> dict[int, Delay]:
    times: dict[int, Delay] = {}
    for x in nodes:
        before = (times[a.number] for a in x.args if isinstance(a, Scalar))
        start = max(before, key=_length, default=(0, 0))
        delay = _delay(x)
        charged = x.quantity not in RATES
        times[x.number] = (start[0] + delay[0], start[1] + delay[1]) if charged else (0, 0)
    return times


def _instants(nodes: Iterable[Scalar], cut: Mapping[int, Instant]) -> dict[int, Instant]:
    """When each scalar is complete, in terms of those that are cut; no event where it waits for none."""
    ends: dict[int, Instant] = {}
    for x in nodes:
        if x.number in cut:
            ends[x.number] = cut[x.number]
            continue
        before = latest(ends[a.number] for a in x.args if isinstance(a, Scalar))
        ends[x.number] = before.after(_delay(x))
    return ends


def _operator(name: str) -> tuple[list[Scalar], list[Scalar]]:
    """The scalars of a vector operation, and those of its result."""
    graph = GeneralGraph()
    counter = iter(range(1 << 20))

    def symbols(*shape: int) -> np.ndarray:
        return np.reshape([graph.leaf("symbol", next(counter)) for _ in range(int(np.prod(shape)))], shape)

    operators: dict[str, Any] = {
        "VA": lambda: symbols(3) + symbols(3),
        "SV": lambda: symbols(1) * symbols(3),
        "VC": lambda: cross(symbols(3), symbols(3)),
        "MV": lambda: matvec(symbols(3, 3), symbols(3)),
        "dot": lambda: dot(symbols(3), symbols(3)),
    }
    results = list(np.ravel(operators[name]()))
    return live(results), results


def _length(delay: Delay) -> tuple[int, int]:
    return sum(delay), delay[0]
