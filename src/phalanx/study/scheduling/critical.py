# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Why a schedule takes as long as it does: tasks and messages, each waiting for the one before."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence

from .placement import PlacedMessage, PlacedTask, Schedule

Event = PlacedTask | PlacedMessage


def critical_events(schedule: Schedule) -> tuple[Event, ...]:
    """A chain of tasks and messages from the beginning to the end of a schedule.

    A task waited for a result that it needs, else for its processor or for a message there; a message
    for its content, else for its sender, receiver or link; both for whoever ended last where all
    processors move in step. Of equal reasons the one with the most
    multiplications behind it is told.
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
    """Events so far, by what they produced and whom they occupied."""

    def __init__(self, schedule: Schedule) -> None:
        self.graph = schedule.graph
        self.made: dict[tuple[int, int], tuple[float, int]] = {}  # task's result at a processor: when, event
        self.shared = schedule.network is None
        self.at: dict[int, dict[float, list[int]]] = {}  # processor: end of events there
        self.ends: list[tuple[float, int]] = []  # of all events, sorted

    def enter(self, number: int, event: Event) -> None:
        """Note an event."""
        where = [event.processor] if isinstance(event, PlacedTask) else [event.receiver, event.sender]
        self.made[event.task, -1 if self.shared else where[0]] = _end(event), number
        for p in where:
            self.at.setdefault(p, {}).setdefault(_end(event), []).append(number)
        insort(self.ends, (_end(event), number))

    def reasons(self, event: Event) -> Iterator[Sequence[int]]:
        """Events that ended just when this one started, the best explanations first."""
        if isinstance(event, PlacedTask):
            place = -1 if self.shared else event.processor
            needed = [self.made.get((a, place)) for a in self.graph.tasks[event.task].before]
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
        place = bisect_right(self.ends, (event.start, len(self.graph.tasks) + len(self.ends)))
        yield [self.ends[place - 1][1]] if place and event.start > 0.0 else []

    def _there(self, processor: int, when: float) -> list[int]:
        return self.at.get(processor, {}).get(when, [])


def _end(event: Event) -> float:
    return event.end if isinstance(event, PlacedTask) else event.arrival
