# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A schedule: which processor does what and when, and the messages between processors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import printable
from ...program.cost import Count
from ..machines import Machine
from ..machines.many import Many
from ..plotting import place_of
from .networks import Network
from .tasks import TaskGraph

_MOST_DRAWN = 256  # processors, beyond which those without work are left out of pictures


@dataclass(frozen=True)
class PlacedTask:
    """A task on a processor; `task` is its number in the graph."""

    task: int
    processor: int
    start: float
    end: float
    quantity: str
    link: int
    name: str


@dataclass(frozen=True)
class LinkMessage:
    """A message on one link between two processors."""

    sender: int
    receiver: int
    start: float
    end: float


@dataclass(frozen=True)
class PlacedMessage:
    """Real numbers on their way: the result of a task, or the inputs (task -1), link by link."""

    task: int
    sender: int
    receiver: int
    start: float
    arrival: float
    words: int
    name: str
    hops: tuple[LinkMessage, ...]


class Baseline(NamedTuple):
    """The algorithm of a function that takes one processor the least time, and that time."""

    algorithm: str
    work: float


@dataclass(frozen=True, eq=False)
class Schedule:
    """Tasks and messages in time; times in the unit of the machine.

    Tasks without duration that need inputs only are not placed: they are at hand from the beginning.
    `timed` are the tasks that take time.
    Without a `network`, results are at hand everywhere at once. `baseline` finds what speed-ups are counted
    from; without one that is the schedule's own algorithm, as in the papers whose assignments it follows.
    """

    graph: TaskGraph
    machine: Machine
    processors: Sequence[str]
    tasks: tuple[PlacedTask, ...]
    messages: tuple[PlacedMessage, ...] = ()
    at_once: bool = False
    network: Network | None = None
    baseline: Callable[[], Baseline] | None = field(default=None, repr=False)

    @cached_property
    def durations(self) -> list[float]:
        """The time of every task of the graph."""
        return self.graph.durations(self.machine.times, self.at_once)

    @cached_property
    def makespan(self) -> float:
        """When the last task is done and the last message has arrived."""
        return max(
            max((t.end for t in self.tasks), default=0.0),
            max((m.arrival for m in self.messages), default=0.0),
        )

    @cached_property
    def timed(self) -> tuple[PlacedTask, ...]:
        """The tasks that take time: what is counted where a schedule is told.

        By default sines and cosines take none, as papers count; those that wait for a sum are placed still.
        """
        return tuple(t for t in self.tasks if t.end > t.start)

    @cached_property
    def work(self) -> float:
        """The time that one processor would take for all tasks of this algorithm."""
        return sum(self.durations)

    @cached_property
    def least(self) -> Baseline:
        """The algorithm of the function with the least work on one processor, and that work."""
        own = Baseline("", self.work)
        return own if self.baseline is None else self.baseline()

    @cached_property
    def span(self) -> float:
        """The time along the critical path: what no number of processors can undercut."""
        return max(lengths_to(self.graph, self.durations), default=0.0)

    @property
    def speedup(self) -> float:
        """How many times faster than one processor that takes the algorithm with the least work (`least`)."""
        return self.least.work / self.makespan if self.makespan else 1.0

    @property
    def efficiency(self) -> float:
        """The parallel efficiency of the algorithm: the part of the processors' time spent on its tasks."""
        return self.work / self.makespan / max(len(self.processors), 1) if self.makespan else 1.0

    @property
    def rival(self) -> str:
        """What the speed-up is counted from, in words."""
        return f"{self.least.algorithm} on one" if self.least.algorithm else "the same tasks on one"

    @property
    def words(self) -> int:
        """Real numbers sent in all messages."""
        return sum(m.words for m in self.messages)

    @cached_property
    def critical(self) -> tuple[PlacedTask | PlacedMessage, ...]:
        """Tasks and messages from the beginning to the end, each waiting for the one before."""
        from .critical import critical_events

        return critical_events(self)

    @cached_property
    def path(self) -> Count:
        """Operations along the critical chain."""
        tasks = (self.graph.tasks[t.task] for t in self.critical if isinstance(t, PlacedTask))
        return sum((t.path if self.at_once else t.work for t in tasks), Count())

    @cached_property
    def loads(self) -> Sequence[float]:
        """The time that each processor is busy."""
        busy: dict[int, float] = {}
        for t in self.tasks:
            busy[t.processor] = busy.get(t.processor, 0.0) + t.end - t.start
        return Many(len(self.processors), partial(_load, busy))

    @property
    def drawn(self) -> Sequence[str]:
        """The processors for pictures and files: all, or of very many those up to the last one at work."""
        if len(self.processors) <= _MOST_DRAWN:
            return self.processors
        last = max((t.processor for t in self.tasks), default=0)
        return self.processors[: max(last + 1, _MOST_DRAWN)]

    def plot(self, path: Any) -> Path:
        """Draw a Gantt chart: `.html` (interactive, no network) or a picture (.png, .svg, .pdf)."""
        from ..charts.gantt import draw

        return draw(self, place_of(path, "plot"))

    def to_trace(self, path: Any) -> Path:
        """Write the schedule as trace events, for chrome://tracing and ui.perfetto.dev."""
        from ..charts.trace_events import write

        return write(self, place_of(path, "to_trace"))

    def to_dict(self) -> dict[str, Any]:
        """The schedule as plain data."""
        names = self.processors
        return {
            "title": self.graph.title,
            "machine": str(self.machine),
            "unit": self.machine.unit,
            "granularity": self.graph.granularity,
            **{k: getattr(self, k) for k in ("makespan", "speedup", "efficiency", "span", "work", "words")},
            "least": self.least._asdict(),
            "processors": list(self.drawn),
            "processor_count": len(names),
            "tasks": [asdict(t) | {"processor": names[t.processor]} for t in self.tasks],
            "messages": [
                {k: v for k, v in asdict(m).items() if k != "hops"}
                | {"sender": names[m.sender], "receiver": names[m.receiver]}
                for m in self.messages
            ],
        }

    def __repr__(self) -> str:
        return f"<Schedule of {printable(self.graph.title or 'tasks')} on {self.machine}: {self._facts()}>"

    def _facts(self) -> str:
        p = len(self.processors)
        return (
            f"{len(self.timed)} {self.graph.granularity} tasks on {p} processor{'s' * (p != 1)}, "
            f"makespan {self.makespan:g} {self.machine.unit}, speed-up {self.speedup:.2f} over {self.rival}, "
            f"parallel efficiency {self.efficiency:.0%}, span {self.span:g}, {len(self.messages)} messages"
        )


def _load(busy: dict[int, float], processor: int) -> float:
    return busy.get(processor, 0.0)


def lengths_to(graph: TaskGraph, durations: list[float]) -> list[float]:
    """The time of the critical path to each task, itself included."""
    length: list[float] = []
    for k, task in enumerate(graph.tasks):
        length.append(max((length[a] for a in task.before), default=0.0) + durations[k])
    return length


def lengths_from(graph: TaskGraph, durations: list[float]) -> list[float]:
    """The time of the critical path from each task on, itself included."""
    length = [0.0] * len(graph)
    for k in range(len(graph) - 1, -1, -1):
        length[k] += durations[k]
        for a in graph.tasks[k].before:
            length[a] = max(length[a], length[k])
    return length


def at_hand(graph: TaskGraph, durations: list[float]) -> set[int]:
    """Tasks that take no time and need inputs only."""
    free: set[int] = set()
    for k, task in enumerate(graph.tasks):
        if durations[k] == 0.0 and all(a in free for a in task.before):
            free.add(k)
    return free
