# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""List scheduling: of the tasks that could start, the one with the longest path to the end goes first."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from math import ceil, inf
from typing import TYPE_CHECKING, Any

from .networks import Network
from .placement import LinkMessage, PlacedMessage, Schedule, at_hand, lengths_from
from .tasks import TaskGraph, alike

if TYPE_CHECKING:
    from .systolic_run import SystolicRun

Placed = list[tuple[int, int, float]]  # task, processor, start


def on_shared_memory(graph: TaskGraph, durations: list[float], processors: int) -> Placed:
    """Tasks on processors around one memory; none idles while a task could start.

    Hence the makespan is at most work / p + (1 - 1 / p) span (Graham 1969).
    """
    ready = _Ready(graph, durations)
    idle = list(range(min(processors, len(graph))))  # more would never have anything to do
    running: list[tuple[float, int, int]] = []  # end, task, processor
    placed: Placed = []
    now = 0.0
    while ready or running:
        while ready and idle:
            task, processor = ready.next(), heappop(idle)
            placed.append((task, processor, now))
            heappush(running, (now + durations[task], task, processor))
        now = running[0][0]
        while running and running[0][0] == now:
            _, task, processor = heappop(running)
            heappush(idle, processor)
            ready.done(task)
    return placed


class _Ready:
    """The tasks that could start: what they need is done, or at hand from the beginning."""

    def __init__(self, graph: TaskGraph, durations: list[float]) -> None:
        self.graph, self.urgency = graph, lengths_from(graph, durations)
        free = at_hand(graph, durations)
        self.waiting = [sum(a not in free for a in task.before) for task in graph.tasks]
        self.heap = [(-x, k) for k, x in enumerate(self.urgency) if not self.waiting[k] and k not in free]
        self.heap.sort()

    def __bool__(self) -> bool:
        return bool(self.heap)

    def next(self) -> int:
        """Removes and returns the most urgent task."""
        return heappop(self.heap)[1]

    def done(self, task: int) -> None:
        """Queue the tasks that waited for this task only."""
        for k in self.graph.after[task]:
            self.waiting[k] -= 1
            if not self.waiting[k]:
                heappush(self.heap, (-self.urgency[k], k))


def on_network(
    graph: TaskGraph, durations: list[float], network: Network
) -> tuple[Placed, list[PlacedMessage]]:
    """Tasks on processors that exchange messages; the best of using all processors and fewer.

    Each task goes where it can end first. A result travels once to every processor that needs it, over
    links that carry one message at a time.
    """
    counts, most = {1}, len(network.workers)
    while max(counts) < most:
        counts.add(min(2 * max(counts), most))
    if most <= _FEW:
        counts = set(range(1, most + 1))
    best = _Networked(graph, durations, network, network.workers[:1]).run()
    for count in sorted(counts - {1}):
        tried = _Networked(
            graph, durations, network, network.workers[:count], shorter_than=best.makespan
        ).run()
        best = min(best, tried, key=lambda t: t.makespan)
    return best.result()


def on_assigned_network(
    graph: TaskGraph, durations: list[float], network: Network, of: Mapping[int, int]
) -> tuple[Placed, list[PlacedMessage]]:
    """Each task on the processor it has been assigned, the most urgent first, with messages between them."""
    return _Networked(graph, durations, network, network.workers, of).run().result()


_FEW = 8  # processors up to which every smaller number is tried
_ROUNDING = 1e-9  # of sums along a path


class _Networked:
    """One list schedule with messages; `of` says where tasks have to run, if anything does.

    It is given up, with an infinite makespan, once it cannot become shorter than `shorter_than`.
    """

    def __init__(
        self,
        graph: TaskGraph,
        durations: list[float],
        network: Network,
        workers: tuple[int, ...],
        of: Mapping[int, int] | None = None,
        shorter_than: float = inf,
    ) -> None:
        self.of, self.limit = of, shorter_than * (1.0 + _ROUNDING)
        self.graph, self.durations, self.network, self.workers = graph, durations, network, workers
        self.free = at_hand(graph, durations)
        self.idle_from = dict.fromkeys(workers, 0.0)
        self.busy: dict[tuple[int, int], list[tuple[float, float]]] = {}  # of each link, in order of time
        self.placed: dict[int, tuple[int, float]] = {}  # processor and end
        self.there: dict[tuple[int, int], float] = {}  # when a task's result is at a processor
        self.starts: Placed = []
        self.messages: list[PlacedMessage] = []
        self.makespan = 0.0

    def run(self) -> _Networked:
        """Place all tasks, the most urgent of those that could start first."""
        ready = _Ready(self.graph, self.durations)
        while ready:
            task = ready.next()
            start = self._place(task)
            if start + ready.urgency[task] > self.limit:  # what waits for it takes at least so long
                self.makespan = inf
                return self
            ready.done(task)
        if self.network.master is not None:
            for k, t in enumerate(self.graph.tasks):
                if t.is_result and k in self.placed:
                    self._at(k, self.network.master, keep=True)
        self.makespan = max(
            [*(end for _, end in self.placed.values()), *(m.arrival for m in self.messages), 0.0]
        )
        return self

    def result(self) -> tuple[Placed, list[PlacedMessage]]:
        """The start of each task, and the messages."""
        return self.starts, self.messages

    def _place(self, task: int) -> float:
        """Place a task where it can start first, or where it must run; returns its start."""
        if self.of is None:
            where = min(self.workers, key=lambda p: (self._start(task, p, keep=False), p))
        else:
            where = self.of[task]
        start = self._start(task, where, keep=True)
        end = start + self.durations[task]
        self.placed[task] = where, end
        self.idle_from[where] = end
        self.starts.append((task, where, start))
        return start

    def _start(self, task: int, processor: int, *, keep: bool) -> float:
        """When a task could start on a processor; `keep` sends the messages that this takes."""
        needs = self.graph.tasks[task]
        start = self.idle_from[processor]
        if needs.reads_input or any(a in self.free for a in needs.before):
            start = max(start, self._at(_INPUTS, processor, keep=keep))
        for a in needs.before:
            if a not in self.free:
                start = max(start, self._at(a, processor, keep=keep))
        return start

    def _at(self, task: int, processor: int, *, keep: bool) -> float:
        """When a result is, or would be, at a processor."""
        if task == _INPUTS:
            if self.network.master is None:
                return 0.0
            source, ready, words, name = self.network.master, 0.0, self.graph.input_words, "inputs"
        else:
            (source, ready), t = self.placed[task], self.graph.tasks[task]
            words, name = t.words, t.name
        if source == processor:
            return ready
        if (task, processor) in self.there:
            return self.there[task, processor]
        hops, now = [], ready
        for link in self.network.route(source, processor):
            begin = first_gap(self.busy.get(link, []), now, self.network.times.of(words))
            now = begin + self.network.times.of(words)
            hops.append(LinkMessage(*link, begin, now))
        if keep:
            for hop in hops:
                if hop.end > hop.start:
                    insort(self.busy.setdefault((hop.sender, hop.receiver), []), (hop.start, hop.end))
            self.there[task, processor] = now
            self.messages.append(
                PlacedMessage(task, source, processor, hops[0].start, now, words, name, tuple(hops))
            )
        return now


_INPUTS = -1


def first_gap(busy: list[tuple[float, float]], earliest: float, length: float) -> float:
    """The first time from `earliest` on when a link is free for so long."""
    for k in range(max(bisect_right(busy, (earliest, inf)) - 1, 0), len(busy)):  # the others are over
        start, end = busy[k]
        if earliest + length <= start:
            break
        earliest = max(earliest, end)
    return earliest


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

    def simulate(self, *inputs: Any, interval: float | None = None) -> SystolicRun:
        """Pass states through the machine, one after another at an interval (default: the shortest).

        The arrays are those of the function, with batch axes: q, qd and qdd for inverse dynamics. Numbers
        move from processor to processor through buffers; the run holds the results, when they left and what
        the buffers had to hold.
        """
        from .systolic_run import simulate

        return simulate(self, inputs, interval)

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
        """Candidates for the shortest interval, ascending: at each, reservations of two sets just touch."""
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


def by_joint(graph: TaskGraph, durations: list[float]) -> dict[int, int]:
    """The processor of each task where each has a joint; what belongs to no joint is the first one's."""
    free = at_hand(graph, durations)
    return {k: max(task.link, 0) for k, task in enumerate(graph.tasks) if k not in free}


def by_segment(graph: TaskGraph, durations: list[float], processors: int) -> dict[int, int]:
    """The processor of each task where each has a run of links with about the same work."""
    free = at_hand(graph, durations)
    work: dict[int, float] = {}
    for k, task in enumerate(graph.tasks):
        work[task.link] = work.get(task.link, 0.0) + durations[k]
    total, before, of = sum(work.values()), 0.0, {}
    for link in sorted(work):
        middle = before + work[link] / 2
        of[link] = min(int(middle / total * processors), processors - 1) if total else 0
        before += work[link]
    return {k: of[task.link] for k, task in enumerate(graph.tasks) if k not in free}


def _per_link(graph: TaskGraph, free: set[int]) -> tuple[dict[int, int], list[str]]:
    """A processor for each task, and their names."""
    tasks = [k for k in range(len(graph)) if k not in free]
    names = [f"{graph.tasks[k].name} {graph.tasks[k].kind} {k}" for k in tasks]
    return {k: p for p, k in enumerate(tasks)}, names


def _per_step(graph: TaskGraph, free: set[int]) -> tuple[dict[int, int], list[str]]:
    """A processor for each step, and their names.

    Operations of one kind on one quantity have as many steps as links need on average. Those that
    read what most links read define the steps; the others, at the ends of the chain, join the most similar.
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
