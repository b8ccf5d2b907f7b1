# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""List scheduling: of the tasks that could start, the one with the longest path to the end goes first."""

from __future__ import annotations

from bisect import insort
from heapq import heappop, heappush

from .networks import Network
from .placement import LinkMessage, PlacedMessage, at_hand, lengths_from
from .tasks import TaskGraph

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
        """The most urgent one, which is taken."""
        return heappop(self.heap)[1]

    def done(self, task: int) -> None:
        """Let those go that waited for a task alone."""
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
    tries = [_Networked(graph, durations, network, network.workers[:count]).run() for count in sorted(counts)]
    return min(tries, key=lambda t: t.makespan).result()


_FEW = 8  # processors up to which every smaller number is tried


class _Networked:
    """One list schedule with messages."""

    def __init__(
        self, graph: TaskGraph, durations: list[float], network: Network, workers: tuple[int, ...]
    ) -> None:
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
            self._place(task)
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
        """What was placed."""
        return self.starts, self.messages

    def _place(self, task: int) -> None:
        where = min(self.workers, key=lambda p: (self._start(task, p, keep=False), p))
        start = self._start(task, where, keep=True)
        end = start + self.durations[task]
        self.placed[task] = where, end
        self.idle_from[where] = end
        self.starts.append((task, where, start))

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
            begin = _gap(self.busy.get(link, []), now, self.network.times.of(words))
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


def _gap(busy: list[tuple[float, float]], earliest: float, length: float) -> float:
    """The first time from `earliest` on when a link is free for so long."""
    for start, end in busy:
        if earliest + length <= start:
            break
        earliest = max(earliest, end)
    return earliest
