# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Dedicated processors: a step of the equations each, and how soon the next set of inputs may follow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from math import ceil
from typing import Any

from .grouping import alike
from .list_scheduler import Placed
from .placement import Schedule, at_hand, lengths_from
from .tasks import TaskGraph


@dataclass(frozen=True, eq=False, repr=False)
class SystolicSchedule(Schedule):
    """A schedule of one set of inputs that others follow at a steady interval."""

    @property
    def latency(self) -> float:
        """The time from the inputs of a set to its results."""
        return self.makespan

    @cached_property
    def reservations(self) -> tuple[tuple[tuple[float, float], ...], ...]:
        """The reservation table: when each processor is busy with one set."""
        table: list[list[tuple[float, float]]] = [[] for _ in self.processors]
        for t in self.timed:
            table[t.processor].append((t.start, t.end))
        return tuple(tuple(sorted(row)) for row in table)

    def conflicts(self, interval: float) -> list[int]:
        """The processors that sets at this interval would need twice at a time."""
        return [p for p, row in enumerate(self.reservations) if not _fits(row, interval)]

    @cached_property
    def interval(self) -> float:
        """The shortest interval between sets at which no processor is needed twice at a time."""
        return next(t for t in self._intervals() if not self.conflicts(t))

    @property
    def gain(self) -> float:
        """How many times faster than one processor with the least work, once sets follow at the interval."""
        return self.least.work / self.interval if self.interval else 1.0

    @property
    def steady_efficiency(self) -> float:
        """The parallel efficiency of the algorithm once sets follow at the interval."""
        return self.work / self.interval / max(len(self.processors), 1) if self.interval else 1.0

    def to_dict(self) -> dict[str, Any]:
        steady = {k: getattr(self, k) for k in ("latency", "interval", "gain")}
        return super().to_dict() | steady

    def _facts(self) -> str:
        steady = f"a set every {self.interval:g} {self.machine.unit}, gain {self.gain:.2f}"
        return f"{super()._facts()}, {steady}"

    def _intervals(self) -> Iterator[float]:
        """Intervals in ascending order that could be the shortest one: there one set just makes way."""
        least = max((sum(b - a for a, b in row) for row in self.reservations), default=0.0)
        edges = {b - a for row in self.reservations for a, _ in row for _, b in row if b > a}
        yield least
        yield from sorted(
            {e / k for e in edges for k in range(1, int(e // least) + 1) if e / k > least} if least else ()
        )


def _fits(row: tuple[tuple[float, float], ...], interval: float) -> bool:
    """Whether a processor can serve sets at an interval: no two reservations meet when it wraps round."""
    if not row:
        return True
    if interval <= 0.0:
        return False
    wrapped = sorted(((a % interval, b - a) for a, b in row))
    following = [*wrapped[1:], (wrapped[0][0] + interval, 0.0)]
    return all(
        a + length <= b + _TINY * interval for (a, length), (b, _) in zip(wrapped, following, strict=True)
    )


_TINY = 1e-12


def on_dedicated_processors(
    graph: TaskGraph, durations: list[float], nodes: str
) -> tuple[tuple[str, ...], Placed]:
    """Each task on a processor for its step, as soon as its inputs and the processor are there.

    A step is a vector operation of a quantity from certain others. With nodes per link each task has a
    processor of its own; one node has a processor for each step, which serves all links.
    """
    free = at_hand(graph, durations)
    of, names = _per_link(graph, free) if nodes == "per link" else _per_step(graph, free)
    return tuple(names), on_assigned_processors(graph, durations, of)


def on_assigned_processors(graph: TaskGraph, durations: list[float], of: Mapping[int, int]) -> Placed:
    """Each task on the processor it has been assigned, as soon as possible, the most urgent one first.

    Tasks without a processor are at hand from the beginning.
    """
    urgency = lengths_from(graph, durations)
    waiting = [sum(a in of for a in task.before) for task in graph.tasks]
    could = [0.0] * len(graph)
    idle_from = dict.fromkeys(of.values(), 0.0)
    ready = [(0.0, -urgency[k], k) for k in of if not waiting[k]]
    ready.sort()
    placed: Placed = []
    while ready:
        earliest, _, task = heappop(ready)
        where = of[task]
        if idle_from[where] > earliest:
            heappush(ready, (idle_from[where], -urgency[task], task))
            continue
        end = idle_from[where] = earliest + durations[task]
        placed.append((task, where, earliest))
        for k in graph.after[task]:
            could[k] = max(could[k], end)
            waiting[k] -= 1
            if not waiting[k]:
                heappush(ready, (could[k], -urgency[k], k))
    return placed


def _per_link(graph: TaskGraph, free: set[int]) -> tuple[dict[int, int], list[str]]:
    """A processor for each task, and their names."""
    tasks = [k for k in range(len(graph)) if k not in free]
    names = [f"{graph.tasks[k].name} {graph.tasks[k].kind} {k}" for k in tasks]
    return {k: p for p, k in enumerate(tasks)}, names


def _per_step(graph: TaskGraph, free: set[int]) -> tuple[dict[int, int], list[str]]:
    """A processor for each step, and their names.

    Operations of one kind on one quantity have as many steps as links need on average. Those that
    read what most links read tell the steps; the others, at the ends of the chain, join the most similar.
    """
    kinds: dict[tuple[str, str], list[int]] = {}
    for k, task in enumerate(graph.tasks):
        if k not in free:
            kinds.setdefault((task.quantity, task.kind), []).append(k)
    of: dict[int, int] = {}
    names: list[str] = []
    for (quantity, kind), members in kinds.items():
        reads = {k: frozenset(_what(graph, a) for a in graph.tasks[k].before) for k in members}
        links = Counter(reads.values())
        most = links.most_common(ceil(len(members) / max(len(graph.links), 1)))
        steps = {read: len(names) + number for number, (read, _) in enumerate(most)}
        for k in members:
            read = reads[k]
            of[k] = steps[max(steps, key=lambda step: (alike(step, read), -links[step]))]
        names += [f"{quantity} {kind} {number + 1}" for number in range(len(steps))]
    return of, names


def _what(graph: TaskGraph, task: int) -> tuple[str, str]:
    return graph.tasks[task].quantity, graph.tasks[task].kind
