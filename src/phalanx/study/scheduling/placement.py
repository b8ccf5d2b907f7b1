# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A schedule: which processor does what and when, and the messages between processors."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ...errors import printable
from ...program.analyses.cost import Count
from ..machines import Machine, Many
from ..plotting import output_path
from .networks import Network
from .tasks import TaskGraph

if TYPE_CHECKING:
    from .schedule_run import ScheduleRun

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
        """The tasks with a duration: those that pictures and summaries count.

        By default sines and cosines have none, as in the papers. Such tasks are placed all the same.
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

    def run(
        self,
        *inputs: Any,
        transport: Literal["threads", "processes", "mpi"] = "threads",
        block: int = 64,
        in_flight: int = 4,
        repeats: int = 1,
    ) -> ScheduleRun:
        """Carry the schedule out on states (…, n): a compiled worker for each processor, and real messages.

        Workers are threads, processes with shared memory, or the ranks of an MPI job. A message carries the
        numbers of up to `block` states, and up to `in_flight` blocks are under way at a time; with
        `block=1, in_flight=1` there is one state at a time. Of several `repeats` the fastest is measured.
        """
        from .schedule_run import run_schedule

        return run_schedule(self, inputs, transport, block=block, in_flight=in_flight, repeats=repeats)

    def plot(self, path: Any) -> Path:
        """Draw a Gantt chart: `.html` (interactive, no network) or a picture (.png, .svg, .pdf)."""
        from ..charts.gantt import draw

        return draw(self, output_path(path, "plot"))

    def to_trace(self, path: Any) -> Path:
        """Write the schedule as trace events, for chrome://tracing and ui.perfetto.dev."""
        from ..charts.gantt import write_trace

        return write_trace(self, output_path(path, "to_trace"))

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


Event = PlacedTask | PlacedMessage


def critical_events(schedule: Schedule) -> tuple[Event, ...]:
    """A chain of tasks and messages from the beginning to the end of a schedule.

    A task waited for a result that it needs, else for its processor or for a message there; a message
    for its content, else for its sender, receiver or link; both for whoever ended last where all
    processors move in step. Of equal reasons the one with the most
    multiplications behind it is given.
    """
    multiplications = [t.path.multiplications for t in schedule.graph.tasks]
    chains: dict[int, tuple[int, int]] = {}  # per event: multiplications so far, the event before
    # Tasks in the order of the graph, so that those without duration follow each other.
    events: list[Event] = [*sorted(schedule.tasks, key=lambda t: t.task), *schedule.messages]
    order = sorted(range(len(events)), key=lambda k: (events[k].start, _end(events[k]), k))
    book = _Book(schedule)
    for k in order:
        event = events[k]
        reasons = next((r for r in book.reasons(event) if r), ())
        before = max(reasons, key=lambda r: chains[r][0], default=-1)
        own = multiplications[event.task] if isinstance(event, PlacedTask) else 0
        chains[k] = (own + (chains[before][0] if before >= 0 else 0), before)
        book.enter(k, event)
    last = max(map(_end, events), default=0.0)
    at = max((k for k in order if _end(events[k]) == last), key=lambda k: chains[k][0], default=-1)
    chain: list[Event] = []
    while at >= 0:
        chain.append(events[at])
        at = chains[at][1]
    return tuple(reversed(chain))


class _Book:
    """The events so far, by the results that they made and by the processors that they occupied."""

    def __init__(self, schedule: Schedule) -> None:
        self.graph = schedule.graph
        self.made: dict[tuple[int, int], tuple[float, int]] = {}  # task's result at a processor: when, event
        self.shared = schedule.network is None
        self.at: dict[int, dict[float, list[int]]] = {}  # processor: end of events there
        self.ends: list[tuple[float, int]] = []  # of all events, sorted

    def enter(self, number: int, event: Event) -> None:
        """Record an event."""
        where = [event.processor] if isinstance(event, PlacedTask) else [event.receiver, event.sender]
        self.made[event.task, -1 if self.shared else where[0]] = _end(event), number
        for p in where:
            self.at.setdefault(p, {}).setdefault(_end(event), []).append(number)
        insort(self.ends, (_end(event), number))

    def reasons(self, event: Event) -> Iterator[Sequence[int]]:
        """Events that ended just when this one started, the best explanations first."""
        if isinstance(event, PlacedTask):
            where = -1 if self.shared else event.processor
            needed = [self.made.get((a, where)) for a in self.graph.tasks[event.task].before]
            yield [number for x in needed if x for when, number in (x,) if when == event.start]
            yield self._there(event.processor, event.start)
        else:
            made: Mapping[tuple[int, int], tuple[float, int]] = self.made
            yield [
                number
                for when, number in (made.get((event.task, event.sender), (-1.0, -1)),)
                if when == event.start
            ]
            yield [*self._there(event.sender, event.start), *self._there(event.receiver, event.start)]
        # In lock-step all wait for the slowest of the step before.
        last = bisect_right(self.ends, (event.start, len(self.graph.tasks) + len(self.ends)))
        yield [self.ends[last - 1][1]] if last and event.start > 0.0 else []

    def _there(self, processor: int, when: float) -> list[int]:
        return self.at.get(processor, {}).get(when, [])


def _end(event: Event) -> float:
    return event.end if isinstance(event, PlacedTask) else event.arrival
