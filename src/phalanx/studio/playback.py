# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Schedules for the page: bars of a chart, the links at work at a moment, speed-ups."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..algorithms import FUNCTIONS, algorithms
from ..dispatch import resolve
from ..errors import PhalanxError
from ..program.analyses.cost import Cost
from ..robot.robot import Robot
from ..study import machines
from ..study.charts.chart import Bar, Chart
from ..study.cost import cost
from ..study.machines import Machine
from ..study.schedule import schedule
from ..study.schedule import speedups as gains_of
from ..study.scheduling.placement import PlacedTask

SHOWN = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_forces", "gravity_forces")
_TITLES = {
    "pram": "p processors",
    "array": "processor array",
    "joints": "one processor a joint",
}  # of others, their names
MACHINES = tuple(_TITLES.get(name, name) for name in machines.MACHINES)
PROCESSORS = (1, 2, 4, 8, 16, 32, 64)
_MANY = 40  # links beyond which tasks are equations, not scalar operations
_MOST_BEGUN = 400  # links up to which schedules are drawn without a request
_MOST_ROWS = 64


def functions() -> list[str]:
    """The functions to choose from."""
    return [name for name in SHOWN if name in FUNCTIONS]


def choices(robot: Robot, function: str) -> list[str]:
    """The algorithms that cover the robot; the choice of "auto" first."""
    auto = resolve(robot, function).algorithm.name
    names = [a.name for a in algorithms(function) if not a.refusal(robot)]
    return [auto, *(name for name in names if name != auto)]


def rivals(robot: Robot, function: str) -> tuple[str, str]:
    """Two algorithms to compare first; for a long robot two with little work, drawn in seconds."""
    first, *others = choices(robot, function)
    if robot.n_links > _MANY:
        light = {a.name for a in algorithms(function) if "log" not in a.span}
        others.sort(key=lambda name: name not in light)
    return first, others[0] if others else first


def begins_drawn(robot: Robot) -> bool:
    """Whether the schedules of a robot take only seconds, so that they are drawn without a request."""
    return robot.n_links <= _MOST_BEGUN


def machine_of(name: str, processors: int, algorithm: str, function: str) -> Machine:
    """The machine of that name; with a paper's own program where the algorithm is that of the paper."""
    if name == "transputers":
        own = processors == 4 and (function, algorithm) == ("inverse_dynamics", "zomaya_morris")
        return machines.transputers(max(processors, 2), assignment="paper" if own else "list")
    if name == "processor array":
        own = (function, algorithm) == ("mass_matrix", "processor_array")
        return machines.processor_array(assignment="paper" if own else "list")
    if name == _TITLES["pram"]:
        return machines.pram(processors)
    own_names = {title: known for known, title in _TITLES.items()}
    return machines.MACHINES[own_names.get(name, name)]()


@dataclass(frozen=True, eq=False)
class Playback(Chart):
    """A schedule, drawn and played, and the cost of its algorithm, if it can be counted."""

    cost: Cost | None

    @property
    def rows(self) -> list[str]:
        """The processors that are drawn."""
        return list(self.schedule.drawn)[:_MOST_ROWS]

    def spans(self) -> list[Bar]:
        """The bars of these processors."""
        return self.bars(_MOST_ROWS)

    @cached_property
    def _starts(self) -> list[float]:
        return [t.start for t in self.schedule.timed]

    @cached_property
    def _longest(self) -> float:
        return max((t.end - t.start for t in self.schedule.timed), default=0.0)

    def at(self, part: float) -> dict[str, str]:
        """The links at work at the fraction `part` of the time, each with the colour of its quantity."""
        time = min(max(part, 0.0), 1.0) * self.schedule.makespan
        tasks = self.schedule.timed
        found: dict[str, str] = {}
        last = bisect_right(self._starts, time)
        first = bisect_right(self._starts, time - self._longest - 1e-9)
        for t in tasks[first:last]:
            if t.start <= time < t.end and (name := self.link_name(t.link)):
                found[name] = self.colours[t.quantity]
        return found

    def critical(self) -> list[str]:
        """The names of the tasks on the critical chain."""
        return [e.name for e in self.schedule.critical if isinstance(e, PlacedTask) and e.end > e.start]

    def facts(self) -> list[tuple[str, str]]:
        """The figures of the schedule, as pairs of name and value."""
        s = self.schedule
        unit = s.machine.unit
        found = [
            ("tasks", f"{len(s.timed):,} ({s.graph.granularity})"),
            ("makespan", f"{s.makespan:,g} {unit}"),
            ("work on one processor", f"{s.work:,g} {unit}"),
            ("critical path", f"{s.span:,g} {unit}"),
            ("speed-up", f"{s.speedup:.2f} on {len(s.processors):,}"),
            ("over one processor by", f"{s.least.algorithm or 'the same tasks'}, {s.least.work:,g} {unit}"),
            ("parallel efficiency", f"{s.efficiency:.0%}"),
        ]
        if s.messages:
            found.append(("messages", f"{len(s.messages):,} with {s.words:,} numbers"))
        return found

    def by_link(self) -> dict[str, int]:
        """The number of operations of each link, by its name."""
        return {} if self.cost is None else {name: count.total for name, count in self.cost.by_link.items()}


def playback(robot: Robot, function: str, algorithm: str, machine: str, processors: int) -> Playback:
    """The schedule of a choice; raises if machine and algorithm are incompatible."""
    chosen = machine_of(machine, processors, algorithm, function)
    coarse: Any = "equation" if robot.n_links > _MANY and machine == "p processors" else None
    made = schedule(robot, function, algorithm, chosen, granularity=coarse)
    try:
        costs: Cost | None = cost(robot, function, algorithm)
    except PhalanxError:
        costs = None
    return Playback(made, costs)


def speedups(robot: Robot, function: str, names: Sequence[str]) -> dict[str, list[float]]:
    """Speed-ups of each algorithm on `PROCESSORS` over one processor with the least work."""
    cut = "equation" if robot.n_links > _MANY else "scalar"
    return gains_of(robot, function, names, PROCESSORS, granularity=cut)
