# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Columns of processors in lock-step: all compute, or all send a value, then the next step begins.

Values are carried along, so that what is placed in time has also been computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...program.analyses.cost import Count
from ...program.graph import Graph
from ..machines import LinkTimes, Times
from .networks import shuffle
from .placement import LinkMessage, PlacedMessage, PlacedTask
from .tasks import Task, TaskTrace, operations_of

Transfer = tuple[int, int, "LockstepValue"]  # from a processor, to a processor, what


@dataclass(frozen=True)
class LockstepValue:
    """Numbers and the task that made them; -1 where they are known beforehand."""

    data: Any
    task: int = -1


Along = Callable[[int, int], list[LockstepValue]]  # of a level and a slot


@dataclass
class Lockstep:
    """Columns of processors and what they have done so far; `rows` are the links they stand for."""

    columns: list[list[int]]
    rows: list[int]
    times: Times
    links: LinkTimes
    shuffled: bool
    now: float = 0.0
    steps: int = 0  # of communication
    tasks: list[Task] = field(default_factory=list)
    placed: list[PlacedTask] = field(default_factory=list)
    messages: list[PlacedMessage] = field(default_factory=list)
    values: dict[tuple[str, int], LockstepValue] = field(default_factory=dict)
    phases: list[Count] = field(default_factory=list)  # operations of the busiest processor in each
    trace: TaskTrace | None = None  # records what tasks compute from symbols
    _counts: dict[Any, Count] = field(default_factory=dict)

    def know(self, name: str, data: Iterable[Any]) -> None:
        """Known data of each processor, in the order of the processors (slots)."""
        for slot, x in enumerate(data):
            self.values[name, slot] = LockstepValue(x)

    def compute(
        self,
        output: str,
        inputs: tuple[str, ...],
        run: Callable[..., Any],
        *,
        where: Sequence[bool] | None = None,
        otherwise: Callable[..., Any] | None = None,
    ) -> None:
        """Every processor runs a function of its own values; where `where` is false, `otherwise` instead."""
        work = [
            (
                slot,
                slot,
                [self.values[name, slot] for name in inputs],
                run if otherwise is None or where is None or where[slot] else otherwise,
            )
            for slot in range(len(self.rows))
        ]
        for slot, value in self._work(output, work):
            self.values[output, slot] = value

    def copy(self, output: str, content: str) -> None:
        """The values get a second name, under which they may change."""
        for slot in range(len(self.rows)):
            self.values[output, slot] = self.values[content, slot]

    def apart(self, program: Callable[[int], None]) -> None:
        """Every processor runs a program of its own from now on; all wait until the last one is done."""
        start, ends, busiest = self.now, [self.now], Count()
        for processor in range(len(self.rows)):
            self.now, before = start, len(self.tasks)
            program(processor)
            ends.append(self.now)
            busiest = max(busiest, sum((t.work for t in self.tasks[before:]), Count()), key=lambda c: c.total)
        self.now = max(ends)
        self.phases.append(busiest)

    def alone(
        self, output: str, processor: int, link: int, inputs: list[LockstepValue], run: Callable[..., Any]
    ) -> LockstepValue:
        """One processor computes a value while the others do other work; its clock advances."""
        return self._task(output, processor, link, inputs, run)

    def from_neighbour(self, output: str, content: str, step: int, end: Any) -> None:
        """Every processor gets the value of the one `step` rows further; beyond the ends there is `end`."""
        moved: list[Transfer] = []
        for column in self.columns:
            for k, slot in enumerate(column):
                if 0 <= k + step < len(column):
                    value = self.values[content, column[k + step]]
                    self.values[output, slot] = value
                    moved.append((column[k + step], slot, value))
                else:
                    self.values[output, slot] = LockstepValue(end)
        self._pass_on(moved)

    def relayed(
        self, values: Sequence[tuple[LockstepValue, list[int], float]], *, clocked: bool
    ) -> list[list[float]]:
        """When values (value, route of processors, start) arrive at each processor of their routes.

        If `clocked`, all move by one link in a step, and the clock advances; else each by itself, and clock
        and steps stay.
        """
        arrivals = [[start] for _, _, start in values]
        for hop in range(1, max((len(route) for _, route, _ in values), default=1)):
            moving = [k for k, (_, route, _) in enumerate(values) if hop < len(route)]
            self.steps += clocked
            before = self.now
            for k in moving:
                value, route, _ = values[k]
                start = before if clocked else arrivals[k][-1]
                arrival = self._sent(value, route[hop - 1], route[hop], start)
                arrivals[k].append(arrival)
                if clocked:
                    self.now = max(self.now, arrival)
        return arrivals

    def started(
        self, name: str, work: Sequence[tuple[float, int, int, list[LockstepValue], Callable[..., Any]]]
    ) -> list[LockstepValue]:
        """The values of work (start, processor, link, inputs, function), each begun at its own time."""
        made, ends = [], [self.now]
        for start, processor, link, inputs, run in work:
            self.now = start
            made.append(self._task(name, processor, link, inputs, run))
            ends.append(self.now)
        self.now = max(ends)
        self.phases.append(max((self.tasks[x.task].work for x in made), key=lambda c: c.total))
        return made

    def double(
        self, content: str, step: int, join: Callable[..., Any], *, along: Along | None = None
    ) -> list[dict[int, LockstepValue]]:
        """The values before each level in which processors join those 1, 2, 4, … rows apart.

        Every processor joins its value with that of one further on (step 1) or before (step -1);
        `along(level, slot)` is what it has besides. With a shuffle, values move so that partners are
        neighbours, and home again in the end, unless going from neighbour to neighbour takes fewer steps.
        """
        levels = max(map(_levels, self.columns), default=0)
        shuffled = self.shuffled and _steps_with_shuffle(levels) <= _steps_by_neighbours(levels)
        at = [list(range(len(c))) for c in self.columns]  # where the value of each row is
        history = []
        for level in range(levels):
            history.append({slot: self.values[content, slot] for slot in range(len(self.rows))})
            if shuffled and level:
                self._shuffle(content, at, level, forwards=False)
            pairs = [
                (column, where, k, k + step * (1 << level))
                for column, where in zip(self.columns, at, strict=True)
                for k in range(len(column))
                if 0 <= k + step * (1 << level) < len(column)
            ]
            self._meet(content, pairs, level, step, shuffled)
            work = []
            for c, where, k, other in pairs:
                own, partner = self.values[content, c[k]], self.values[content, c[other]]
                more = along(level, c[k]) if along else []
                work.append((c[k], c[where[k]], [own, partner, *more], join))
            for slot, value in self._work(content, work):
                self.values[content, slot] = value
        while shuffled and any(where != sorted(where) for where in at):
            self._shuffle(content, at, None, forwards=True)
        return history

    def _meet(self, content: str, pairs: list[Any], level: int, step: int, shuffled: bool) -> None:
        """Exchange values of partners: in one step with a shuffle, else from row to row."""
        for distance in range(1 if shuffled else 1 << level):
            moved = []
            for column, where, k, other in pairs:
                sender, receiver = where[other] - step * distance, where[other] - step * (distance + 1)
                if shuffled:
                    sender, receiver = where[other], where[k]
                moved.append((column[sender], column[receiver], self.values[content, column[other]]))
            self._pass_on(moved)

    def _shuffle(self, content: str, at: list[list[int]], level: int | None, *, forwards: bool) -> None:
        """Move values along the shuffle: backwards before a level that needs it, forwards to return them."""
        moved: list[Transfer] = []
        for column, where in zip(self.columns, at, strict=True):
            if level is None and where == sorted(where):
                continue
            if level is not None and level >= _levels(column):
                continue
            to = shuffle(len(column))
            if not forwards:
                to = [to.index(k) for k in range(len(column))]
            for k, slot in enumerate(where):
                if to[slot] != slot:
                    moved.append((column[slot], column[to[slot]], self.values[content, column[k]]))
                where[k] = to[slot]
        self._pass_on(moved)

    def _pass_on(self, moved: list[Transfer]) -> None:
        """One step of communication."""
        if not moved:
            return
        self.steps += 1
        end = self.now
        for sender, receiver, value in moved:
            if value.task >= 0:
                end = max(end, self._sent(value, sender, receiver, self.now))
        self.now = end

    def _sent(self, value: LockstepValue, sender: int, receiver: int, start: float) -> float:
        """When a value that is sent to a neighbour arrives there."""
        task = self.tasks[value.task]
        arrival = start + self.links.of(task.words)
        hop = LinkMessage(sender, receiver, start, arrival)
        self.messages.append(
            PlacedMessage(value.task, sender, receiver, start, arrival, task.words, task.name, (hop,))
        )
        return arrival

    def _work(
        self, name: str, work: list[tuple[int, int, list[LockstepValue], Callable[..., Any]]]
    ) -> list[tuple[int, LockstepValue]]:
        """The values of one computation on several processors at the same time; each may serve any row."""
        start, end, made = self.now, self.now, []
        for slot, processor, inputs, run in work:
            made.append((slot, self._task(name, processor, self.rows[slot], inputs, run)))
            end, self.now = max(end, self.now), start
        self.now = end
        if made:
            self.phases.append(max((self.tasks[x.task].work for _, x in made), key=lambda c: c.total))
        return made

    def _task(
        self, name: str, processor: int, link: int, inputs: list[LockstepValue], run: Callable[..., Any]
    ) -> LockstepValue:
        """The task of a computation on one processor; the processor's clock advances."""
        shapes = tuple(np.shape(x.data) for x in inputs)
        if (run, shapes) not in self._counts:
            self._counts[run, shapes] = operations(run, shapes)
        count = self._counts[run, shapes]
        data = run(*(x.data for x in inputs))
        if self.trace is not None:
            data = self.trace.task(data)
        before = tuple(sorted({x.task for x in inputs if x.task >= 0}))
        task = Task(name, link, "equation", count, count, before, int(np.size(data)))
        number, start = len(self.tasks), self.now
        self.tasks.append(task)
        self.now += self.times.of(count)
        self.placed.append(PlacedTask(number, processor, start, self.now, name, link, task.name))
        return LockstepValue(data, number)


def operations(run: Callable[..., Any], shapes: tuple[tuple[int, ...], ...]) -> Count:
    """The operations of a computation on unknown operands."""
    graph = Graph()

    def symbols(k: int, shape: tuple[int, ...]) -> np.ndarray:
        size = int(np.prod(shape))
        return np.array([graph.leaf(k, j) for j in range(size)], dtype=object).reshape(shape)

    return operations_of(run(*(symbols(k, shape) for k, shape in enumerate(shapes))))


def _levels(column: list[int]) -> int:
    return (len(column) - 1).bit_length()


def _steps_with_shuffle(levels: int) -> int:
    """Steps of communication of a doubling: an exchange a level, shuffles between levels, and home again."""
    return levels + 2 * max(levels - 1, 0)


def _steps_by_neighbours(levels: int) -> int:
    """Steps of communication of a doubling: 1, 2, 4, … from neighbour to neighbour."""
    return (1 << levels) - 1
