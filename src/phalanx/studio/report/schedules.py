# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Algorithms on the processors of machines: Gantt charts as plain data, and speed-ups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...errors import PhalanxError
from ...robot.robot import Robot
from ...study.charts.colours import colours_of, ink_on
from ...study.charts.meanings import explained_kinds, meaning
from ...study.machines import Machine, pram, processor_array, systolic, transputers
from ...study.schedule import place, schedule, task_graph
from ...study.scheduling.placement import Schedule
from .collect import Study

PROCESSORS = (1, 2, 4, 8, 16, 32, 64, 128)
_DRAWN = (4, 2, 8)  # processors of charts
_MOST_TASKS = 2500  # of a chart that one can still look at
_MOST_LINKS = 24  # of a robot on a paper's machine, which has processors for each
_MOST_OPERATIONS = 20_000  # of a program whose speed-up is found in a second
_MOST_DRAWN = 60_000  # of one that is cut into equations in some seconds: the best one gets a chart

# Machines of the papers, and the function and algorithm whose assignment they print.
_PAPERS: tuple[tuple[str, str, Machine, str], ...] = (
    ("inverse_dynamics", "zomaya_morris", transputers(), "4 transputers (Zomaya & Morris)"),
    ("inverse_dynamics", "luh_walker_paul", systolic(), "systolic pipeline (Lathrop)"),
    ("mass_matrix", "processor_array", processor_array(), "processor array (Fijany & Bejczy)"),
)


def charts(robot: Robot, study: Study) -> list[dict[str, Any]]:
    """Gantt charts of a function: its algorithms on a common memory, and the papers' own machines."""
    made = []
    for algorithm, machine, title, function in _wanted(study, robot.n_links <= _MOST_LINKS):
        try:
            found = schedule(
                robot,
                function,
                algorithm,
                machine,
                granularity=None if title else "equation",
                frame=study.frame,
            )
        except PhalanxError:  # a paper's machine is for chains of turning joints
            continue
        if 0 < len(found.timed) <= _MOST_TASKS:
            name = title or f"{machine_count(machine)} processors, one memory"
            fine = None if title else _fine(robot, study, algorithm, machine)
            made.append(chart(found, _told(algorithm), name, fine))
    return made


def _fine(robot: Robot, study: Study, algorithm: Any, machine: Machine) -> float | None:
    """The speed-up with single operations for tasks, which the curves show; None where there are too many."""
    row = next(r for r in study.served if r.choice == algorithm)
    if row.cost is None or row.cost.total > _MOST_OPERATIONS:
        return None
    return schedule(robot, study.function, algorithm, machine, frame=study.frame).speedup


def _wanted(study: Study, short: bool) -> Iterator[tuple[Any, Machine, str, str]]:
    first = [row for row in study.served if row.name == study.recommended]
    rest = [row for row in study.served if row.name != study.recommended]
    for row in first + rest:
        if row.cost is None or row.cost.total > (_MOST_DRAWN if row in first else _MOST_OPERATIONS):
            continue
        several = row in first and row.cost.total <= _MOST_OPERATIONS
        for p in _DRAWN if several else _DRAWN[:1]:
            yield row.choice, pram(p), "", study.function
    for function, algorithm, machine, title in _PAPERS:
        if short and function == study.function and any(row.algorithm == algorithm for row in study.served):
            yield algorithm, machine, title, function


def machine_count(machine: Machine) -> int:
    """Processors of a machine that has a number of them."""
    return int(getattr(machine, "count", 1))


def chart(found: Schedule, algorithm: str, title: str, fine: float | None = None) -> dict[str, Any]:
    """A schedule as the page draws it; a task is [processor, start, duration, quantity, link, critical].

    `fine` is the speed-up of the same with single operations for tasks, where it is known.
    """
    tasks = found.timed
    colours = colours_of((t.quantity for t in tasks), (t.end - t.start for t in tasks))
    number = {quantity: k for k, quantity in enumerate(colours)}
    critical = {id(event) for event in found.critical}
    return {
        "algorithm": algorithm,
        "machine": title,
        "unit": found.machine.unit,
        "makespan": _short(found.makespan),
        "work": _short(found.work),
        "span": _short(found.span),
        "speedup": found.speedup,
        "efficiency": found.efficiency,
        "facts": _facts(found, fine),
        "granularity": found.graph.granularity,
        "processors": list(found.drawn),
        "quantities": [
            [q, colours[q], ink_on(colours[q]), meaning(q, found.graph.algorithm)] for q in colours
        ],
        "kinds": explained_kinds(found.drawn),
        "tasks": [
            [
                t.processor,
                _short(t.start),
                _short(t.end - t.start),
                number[t.quantity],
                t.link,
                int(id(t) in critical),
            ]
            for t in tasks
        ],
    }


def _facts(found: Schedule, fine: float | None) -> str:
    """What a schedule comes to, in one sentence."""
    granularity, count = found.graph.granularity, len(found.processors)
    finer = f" ({fine:.2f} if single operations are the tasks, as in the curves below)" if fine else ""
    messages = f", {len(found.messages)} messages with {found.words} numbers" if found.messages else ""
    return (
        f"{len(found.timed)} tasks ({granularity}s) in {found.makespan:.4g} {found.machine.unit}: speed-up "
        f"{found.speedup:.2f} on {count} processors over {found.rival}{finer}; parallel efficiency of the "
        f"algorithm {found.efficiency:.0%}; critical path {found.span:.4g}, work {found.work:.5g}{messages}."
    )


def speedups(robot: Robot, study: Study) -> dict[str, list[float]]:
    """What p processors with one memory gain over one with the least work, p in `PROCESSORS`, all algorithms.

    Scalar operations by list scheduling, as `phalanx.figures.speedup_over_processors` draws them.
    """
    times: dict[str, list[float]] = {}
    for row in study.served:
        if row.options or row.cost is None or row.cost.total > _MOST_OPERATIONS:
            continue
        graph = task_graph(robot, study.function, row.algorithm, convention="program", frame=study.frame)
        times[row.algorithm] = [place(graph, pram(p)).makespan for p in PROCESSORS]
    least = min((t[0] for t in times.values()), default=0.0)
    if not least:
        return {}
    ranked = sorted(times.items(), key=lambda item: item[1][-1])
    return {name: [least / t for t in taken] for name, taken in ranked}


def _told(algorithm: Any) -> str:
    if isinstance(algorithm, str):
        return algorithm
    name, options = algorithm
    return f"{name}({', '.join(f'{k}={v}' for k, v in options.items())})"


def _short(value: float) -> float | int:
    """A number without digits that nobody sees."""
    return int(value) if value == int(value) else float(f"{value:.6g}")
