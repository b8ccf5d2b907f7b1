# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The arm of Zomaya and Morris: geometry of Table 1, and their program on transputers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ....io.loading import load
from ....robot.dh.chain import axes, offsets
from ....robot.robot import Robot
from ...machines import T800, transputers
from ...schedule import schedule
from ...scheduling.placement import Schedule
from ...scheduling.transputer_program import paper_tasks
from ...scheduling.worker_programs import PROCESSORS, computations, messages
from ..catalogue import paper
from ..operations import SIZES, cost_at, diagonal
from ..quantities import fitted, quantity

_ROBOT = "puma560"
_LENGTHS = {"a2": 2.0, "a3": 3.0, "d2": 5.0, "d4": 7.0, "d6": 11.0}  # a number for each symbol of Table 1


@quantity
def twists(robot: str) -> tuple[int, ...]:
    """twists of the built-in robot"""
    return tuple(round(float(x)) for x in np.degrees(load(robot).model.dh.alpha))


@quantity
def joints_with(robot: str, parameter: str) -> str:
    """joints of the built-in robot whose parameter is not zero"""
    values = getattr(load(robot).model.dh, parameter)
    return " ".join(str(i) for i, x in enumerate(values, start=1) if abs(x) > 1e-12)


@quantity
def position_vector(joint: int) -> str:
    """offset of the frames of Table 1's arm, as the library forms it"""
    model = _arm().model
    p = offsets(model.dh, np.zeros(model.nv))[joint - 1]
    return f"({', '.join(map(_named, p))})"


@quantity
def torque_component(joint: int) -> str:
    """component of the moment along the axis of Table 1's arm, as the library projects it"""
    axis = axes(_arm().model.dh)[joint - 1]
    k = int(np.argmax(np.abs(axis)))
    return f"{'-' if axis[k] < 0 else ''}n{k + 1}"


@quantity
def equations_of(processor: str) -> str:
    """equations in the library's program of a processor"""
    found = {line.equation for _, line in computations(processor, 1)}
    return " ".join(sorted(found, key=lambda text: int(text.strip("()"))))


@quantity
def load_form(processor: str) -> tuple[Any, Any]:
    """operations of the tasks of a processor, fitted over the number of joints"""
    counts = {n: _load(diagonal(n), n, processor) for n in SIZES}
    multiplications, additions = (fitted({n: c[k] for n, c in counts.items()}) for k in (0, 1))
    return multiplications, additions


@quantity
def busiest_load() -> int:
    """operations of the processor that has most of them in px.schedule"""
    return round(max(_scheduled().loads))


@quantity
def makespan(program: str = "repaired") -> int:
    """px.schedule of the library's program on px.machines.transputers(4)"""
    return round(_scheduled(program=program).makespan)


@quantity
def makespan_path(program: str = "repaired") -> tuple[int, int]:
    """operations along the critical chain of px.schedule on px.machines.transputers(4)"""
    path = _scheduled(program=program).path
    return path.multiplications, path.additions


@quantity
def messages_and_reals() -> tuple[int, int]:
    """messages of px.schedule on px.machines.transputers(4)"""
    return len(_scheduled().messages), _scheduled().words


@quantity
def processors_of_program() -> int:
    """processors of the library's program"""
    return len(PROCESSORS)


@quantity
def links_of_program() -> int:
    """pairs of processors between which messages of the library's program pass"""
    return len({frozenset((m.sender, m.receiver)) for m, _ in messages(6)})


@quantity
def reduction(**between: str) -> int:
    """one less the ratio of operations, counted by px.cost or px.schedule"""
    return _percent(_operations(between["from"]), _operations(between["to"]))


@quantity
def milliseconds(network: str = "all pairs") -> float:
    """px.schedule on px.machines.transputers(4, unit="microseconds")"""
    return _scheduled("microseconds", network=network).makespan / 1000.0


@quantity
def messages_over_links(network: str) -> tuple[int, int]:
    """messages and links that they pass in px.schedule on px.machines.transputers(4)"""
    sent = _scheduled(network=network).messages
    return len(sent), sum(len(m.hops) for m in sent)


@quantity
def reduction_of_milliseconds(**between: str) -> int:
    """time of px.schedule against px.cost's operations on one transputer"""
    alone = _operations(between["from"]) * T800().microseconds_per_operation
    return _percent(alone, _scheduled("microseconds").makespan)


def _operations(form: str) -> float:
    """Operations of a form for six joints."""
    if form == "load":
        return max(_scheduled().loads)
    if form == "makespan":
        return _scheduled().makespan
    customise, _, inertia = form.partition(" ")
    level = {"general": "none", "semi": "semi"}[customise]
    return cost_at("inverse_dynamics", "zomaya_morris", 6, level, None, inertia or "general").total


def _percent(before: float, after: float) -> int:
    return round(100.0 * (1.0 - after / before))


def _load(robot: Robot, n: int, processor: str) -> tuple[int, int]:
    graph, number = paper_tasks(robot)
    own = {line.output for _, line in computations(processor, n)}
    work = [graph.tasks[k].work for (name, _), k in number.items() if name in own]
    return sum(w.multiplications for w in work), sum(w.additions for w in work)


@cache
def _scheduled(unit: str = "operations", program: str = "repaired", network: str = "all pairs") -> Schedule:
    machine = transputers(len(PROCESSORS), unit=unit, program=program, network=network)
    return schedule(load(_ROBOT), "inverse_dynamics", "zomaya_morris", machine)


@cache
def _arm() -> Robot:
    """The arm of Table 1."""
    rows = [
        {
            "a": _LENGTHS.get(a, 0.0),
            "d": _LENGTHS.get(d, 0.0),
            "alpha": float(np.radians(twist)),
            "mass": 1.0,
            "inertia": [0.1, 0.1, 0.1],
        }
        for a, d, twist in paper("zomaya_morris").facts["arm"]
    ]
    return Robot.from_dh(rows)


def _named(value: float) -> str:
    """The symbol of a length, or 0."""
    for name, length in _LENGTHS.items():
        if abs(abs(value) - length) < 1e-9:
            return f"{'-' if value < 0 else ''}{name}"
    return f"{abs(round(value, 9)):g}"
