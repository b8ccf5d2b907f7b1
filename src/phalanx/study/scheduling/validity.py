# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Whether a schedule can be carried out, checked from its tasks and messages alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from ...errors import PhalanxError
from .placement import PlacedMessage, PlacedTask, Schedule, at_hand

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)

_TOLERANCE = 1e-9  # of the makespan: sums of times in floating point


def require_valid(schedule: Schedule) -> Schedule:
    """The schedule, or an error that names what is wrong with it."""
    if found := violations(schedule):
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise PhalanxError(f"schedule on {schedule.machine}: {found[0]}{more}.")
    return schedule


def violations(schedule: Schedule) -> list[str]:
    """The rules that a schedule breaks, in words; an empty list for a valid one.

    Every task that takes time or waits for others is there once and takes its time; no processor runs two
    tasks at once; no task starts before its inputs and messages have arrived; messages go over links
    that exist, one at a time in each direction, and take their time; the makespan is at least the span
    and at least the work over the number of processors.
    """
    check = _Check(schedule)
    return [
        *check.tasks(),
        *check.processors(),
        *check.messages(),
        *check.links(),
        *check.inputs(),
        *check.results(),
        *check.bounds(),
    ]


class _Check:
    """The rules, each a method that yields its violations."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.graph = schedule.graph
        self.durations = schedule.graph.durations(schedule.machine.times, schedule.at_once)
        self.free = at_hand(self.graph, self.durations)
        self.slack = _TOLERANCE * max([1.0, *(abs(t.end) for t in schedule.tasks)])
        self.of = {t.task: t for t in schedule.tasks}
        self.come: dict[tuple[int, int], list[PlacedMessage]] = {}
        for m in schedule.messages:
            self.come.setdefault((m.task, m.receiver), []).append(m)

    def before(self, a: float, b: float) -> bool:
        """Whether a time is certainly before another."""
        return a < b - self.slack

    def tasks(self) -> Iterator[str]:
        """Each task once, for as long as it takes, by a processor that exists, not before time 0."""
        count = Counter(t.task for t in self.schedule.tasks)
        for k, task in enumerate(self.graph.tasks):
            if count[k] > 1 or (count[k] == 0 and k not in self.free):
                yield f"task {k} ({task.name}) is placed {count[k]} times"
        for t in self.schedule.tasks:
            if not 0 <= t.task < len(self.graph):
                yield f"task {t.task} does not exist"
                continue
            if not 0 <= t.processor < len(self.schedule.processors):
                yield f"task {t.task} ({t.name}) is on processor {t.processor}, which does not exist"
            if self.before(t.start, 0.0):
                yield f"task {t.task} ({t.name}) starts at {t.start:g}, before time 0"
            took, takes = t.end - t.start, self.durations[t.task]
            if abs(took - takes) > self.slack:
                yield f"task {t.task} ({t.name}) takes {took:g} instead of {takes:g}"

    def processors(self) -> Iterator[str]:
        """No processor runs two tasks at once."""
        for p, tasks in _by(self.schedule.tasks, lambda t: t.processor):
            for a, b in self.overlaps(sorted((t.start, t.end, t.task) for t in tasks)):
                yield f"processor {self.name(p)} does tasks {a} and {b} at once"

    def messages(self) -> Iterator[str]:
        """Yield what is wrong with messages: they leave too early, use missing links, or are too fast."""
        network = self.schedule.network
        for m in self.schedule.messages:
            label = f"message {m.name} from {self.name(m.sender)} to {self.name(m.receiver)}"
            if network is None:
                yield f"{label} needs a network, and the machine has none"
                continue
            yield from (f"{label} {reason}" for reason in self._content(m))
            at, now = m.sender, m.start
            for hop in m.hops:
                if hop.sender != at or (hop.sender, hop.receiver) not in network.links:
                    yield f"{label} takes a link that does not exist"
                if self.before(hop.start, now):
                    yield f"{label} goes on before it has arrived"
                if self.before(hop.end - hop.start, network.times.of(m.words)):
                    yield f"{label} takes {hop.end - hop.start:g} instead of {network.times.of(m.words):g}"
                at, now = hop.receiver, hop.end
            if at != m.receiver or self.before(m.arrival, now):
                yield f"{label} arrives before its last link has carried it there"

    def _content(self, m: PlacedMessage) -> Iterator[str]:
        assert self.schedule.network is not None
        if m.task < 0:
            if m.sender != self.schedule.network.master or m.words != self.graph.input_words:
                yield "is not the inputs as their holder has them"
            return
        made = self.of.get(m.task)
        there = [x.arrival for x in self.come.get((m.task, m.sender), []) if x is not m]
        if made is not None and made.processor == m.sender:
            there.append(made.end)
        if not there:
            yield "is sent by a processor that does not have it"
        elif self.before(m.start, min(there)):
            yield f"leaves at {m.start:g}, before its content is there at {min(there):g}"
        if m.words < self.graph.tasks[m.task].words:
            yield f"carries {m.words} numbers of {self.graph.tasks[m.task].words}"

    def links(self) -> Iterator[str]:
        """A link carries one message at a time in each direction."""
        hops = [(h, k) for k, m in enumerate(self.schedule.messages) for h in m.hops]
        for (sender, receiver), group in _by(hops, lambda x: (x[0].sender, x[0].receiver)):
            for a, b in self.overlaps(sorted((h.start, h.end, k) for h, k in group)):
                names = [self.schedule.messages[k].name for k in (a, b)]
                yield (
                    f"the link from {self.name(sender)} to {self.name(receiver)} carries messages {names[0]} "
                    f"and {names[1]} at once"
                )

    def inputs(self) -> Iterator[str]:
        """No task starts before everything it needs is at its processor."""
        network = self.schedule.network
        for t in self.schedule.tasks:
            if not 0 <= t.task < len(self.graph):
                continue
            task = self.graph.tasks[t.task]
            for a in task.before:
                if a not in self.free and (reason := self._too_early(t, a)):
                    yield f"task {t.task} ({t.name}) starts at {t.start:g}, {reason}"
            reads = task.reads_input or any(a in self.free for a in task.before)
            if network is not None and reads and network.master not in (None, t.processor):
                arrivals = [m.arrival for m in self.come.get((-1, t.processor), [])]
                if not arrivals or self.before(t.start, min(arrivals)):
                    yield f"task {t.task} ({t.name}) starts at {t.start:g}, before the inputs are there"

    def _too_early(self, t: PlacedTask, a: int) -> str:
        made = self.of.get(a)
        if made is None:
            return f"but task {a}, which it needs, is nowhere"
        if self.schedule.network is None or made.processor == t.processor:
            late = self.before(t.start, made.end)
            return f"before task {a} ({made.name}), which it needs, ends at {made.end:g}" if late else ""
        arrivals = [m.arrival for m in self.come.get((a, t.processor), [])]
        if not arrivals:
            return f"but no message brings task {a} ({made.name}), which it needs"
        late = self.before(t.start, min(arrivals))
        return f"before task {a} ({made.name}) arrives at {min(arrivals):g}" if late else ""

    def results(self) -> Iterator[str]:
        """Yield what is wrong with results: they do not return to the processor that holds the inputs."""
        network = self.schedule.network
        if network is None or network.master is None:
            return
        for k, task in enumerate(self.graph.tasks):
            made = self.of.get(k)
            elsewhere = made is not None and made.processor != network.master
            if task.is_result and elsewhere and (k, network.master) not in self.come:
                yield f"result {task.name} is not sent to {self.name(network.master)}"

    def bounds(self) -> Iterator[str]:
        """Yield lower bounds of the makespan that it violates: critical path, work per processor."""
        makespan = self.schedule.makespan
        ends: list[float] = []
        for k, task in enumerate(self.graph.tasks):
            ends.append(max((ends[a] for a in task.before), default=0.0) + self.durations[k])
        for what, least in (
            ("the span", max(ends, default=0.0)),
            ("work over processors", sum(self.durations) / max(len(self.schedule.processors), 1)),
        ):
            if self.before(makespan, least):
                yield f"the makespan {makespan:g} is less than {what}, {least:g}"

    def overlaps(self, intervals: list[tuple[float, float, int]]) -> Iterator[tuple[int, int]]:
        """Pairs of which the second starts before one that started earlier has ended."""
        until, last = float("-inf"), -1
        for start, end, k in intervals:
            if end - start > 0.0 and self.before(start, until):
                yield last, k
            if end > until:
                until, last = end, k

    def name(self, processor: int) -> str:
        """The name of a processor, if it exists."""
        names = self.schedule.processors
        return names[processor] if 0 <= processor < len(names) else str(processor)


def _by(items: Iterable[Item], key: Callable[[Item], Key]) -> Iterable[tuple[Key, list[Item]]]:
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups.items()
