# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Schedules to look at: bars of a chart, which links are at work at a moment, what processors gain."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..algorithms import FUNCTIONS, algorithms
from ..dispatch import resolve
from ..errors import PhalanxError
from ..program.cost import Cost
from ..robot.robot import Robot
from ..study import machines
from ..study.charts.colours import OTHERS, OTHERS_NAME, colours_of
from ..study.charts.meanings import explained, explained_kinds, meaning
from ..study.cost import cost
from ..study.machines import Machine
from ..study.schedule import place, schedule, task_graph
from ..study.scheduling.placement import PlacedTask, Schedule

SHOWN = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_forces", "gravity_forces")
_TITLES = {"pram": "p processors", "array": "processor array"}  # of others, their names
MACHINES = tuple(_TITLES.get(name, name) for name in machines.MACHINES)
PROCESSORS = (1, 2, 4, 8, 16, 32, 64)
_MANY = 40  # links from which on tasks are whole equations
_MOST_BEGUN = 400  # links whose schedules are drawn before anybody asks
_MOST_SPANS = 1200  # bars of a chart
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
    """Two algorithms to begin a comparison with; of a long robot two with little work, drawn in seconds."""
    first, *others = choices(robot, function)
    if robot.n_links > _MANY:
        light = {a.name for a in algorithms(function) if "log" not in a.span}
        others.sort(key=lambda name: name not in light)
    return first, others[0] if others else first


def begins_drawn(robot: Robot) -> bool:
    """Whether the schedules of a robot are made in seconds, before anybody asks for them."""
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
    return machines.MACHINES[name]()


@dataclass(frozen=True, eq=False)
class Playback:
    """A schedule, drawn and played."""

    schedule: Schedule
    cost: Cost | None

    @cached_property
    def colours(self) -> dict[str, str]:
        """The colour of each quantity."""
        tasks = self.schedule.timed
        return colours_of((t.quantity for t in tasks), (t.end - t.start for t in tasks))

    @property
    def rows(self) -> list[str]:
        """The processors that are drawn."""
        return list(self.schedule.drawn)[:_MOST_ROWS]

    def spans(self) -> list[tuple[int, float, float, str, str]]:
        """Bars of the chart: row, start, end, colour and label; neighbours of one quantity joined if many."""
        tasks = [t for t in self.schedule.timed if t.processor < _MOST_ROWS]
        if len(tasks) <= _MOST_SPANS:
            return [self._bar(t, t.end) for t in tasks]
        found = []
        last: dict[int, tuple[PlacedTask, float]] = {}
        for t in sorted(tasks, key=lambda t: (t.processor, t.start)):
            before = last.get(t.processor)
            if (
                before
                and before[0].quantity == t.quantity
                and before[0].link == t.link
                and t.start <= before[1]
            ):
                last[t.processor] = before[0], t.end
                continue
            if before:
                found.append(self._bar(*before))
            last[t.processor] = t, t.end
        found += [self._bar(*pair) for pair in last.values()]
        return found[: 4 * _MOST_SPANS]

    def _bar(self, t: PlacedTask, end: float) -> tuple[int, float, float, str, str]:
        link = self.link_name(t.link)
        label = f"{t.name}, {link}" if link and link not in t.name else t.name
        told = meaning(t.quantity, self.schedule.graph.algorithm)
        label = f"{label}: {told}" if told else label
        return t.processor, t.start, end, self.colours[t.quantity], label

    def link_name(self, link: int) -> str:
        """The name of a link of a task."""
        names = self.schedule.graph.links
        return names[link] if 0 <= link < len(names) else ""

    @cached_property
    def _starts(self) -> list[float]:
        return [t.start for t in self.schedule.timed]

    @cached_property
    def _longest(self) -> float:
        return max((t.end - t.start for t in self.schedule.timed), default=0.0)

    def at(self, part: float) -> dict[str, str]:
        """The links at work when a part of the time has passed, each with the colour of its quantity."""
        time = min(max(part, 0.0), 1.0) * self.schedule.makespan
        tasks = self.schedule.timed
        found: dict[str, str] = {}
        last = bisect_right(self._starts, time)
        first = bisect_right(self._starts, time - self._longest - 1e-9)
        for t in tasks[first:last]:
            if t.start <= time < t.end and (name := self.link_name(t.link)):
                found[name] = self.colours[t.quantity]
        return found

    def legend(self) -> dict[str, str]:
        """Quantities with their plain names and their colours, the rest as one."""
        algorithm = self.schedule.graph.algorithm
        return {
            OTHERS_NAME if colour == OTHERS else explained(name, algorithm): colour
            for name, colour in self.colours.items()
        }

    def kinds(self) -> str:
        """What the letters in the names of the processors stand for."""
        return explained_kinds(self.rows)

    def critical(self) -> list[str]:
        """The names of the tasks on the critical chain."""
        return [e.name for e in self.schedule.critical if isinstance(e, PlacedTask) and e.end > e.start]

    def facts(self) -> list[tuple[str, str]]:
        """What the schedule comes to."""
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
        """Operations in the name of each link."""
        return {} if self.cost is None else {name: count.total for name, count in self.cost.by_link.items()}


def playback(robot: Robot, function: str, algorithm: str, machine: str, processors: int) -> Playback:
    """The schedule of a choice; raises where machine and algorithm do not go together."""
    chosen = machine_of(machine, processors, algorithm, function)
    coarse: Any = "equation" if robot.n_links > _MANY and machine == "p processors" else None
    made = schedule(robot, function, algorithm, chosen, granularity=coarse)
    try:
        costs: Cost | None = cost(robot, function, algorithm)
    except PhalanxError:
        costs = None
    return Playback(made, costs)


def speedups(robot: Robot, function: str, names: Sequence[str]) -> dict[str, list[float]]:
    """Speed-up on each number of processors over the one that does the least work, algorithm by algorithm."""
    spans = {}
    for name in names:
        cut = "equation" if robot.n_links > _MANY else "scalar"
        graph = task_graph(robot, function, name, granularity=cut, convention="program")
        spans[name] = [place(graph, machines.pram(p)).makespan for p in PROCESSORS]
    least = min((times[0] for times in spans.values()), default=0.0)
    return {name: [least / t if t else 1.0 for t in times] for name, times in spans.items()}
