# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The programs of Zomaya and Morris in time: a master and three workers that wait for messages."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...algorithms import find, require_covered
from ...errors import PhalanxError
from ...program.analyses.cost import Count
from ...program.graph import Graph
from ...robot.dh.chain import axes, first_axis, offsets, rotations
from ...robot.robot import Robot
from ...spatial import unpack
from ..machines import Transputers
from .list_scheduler import first_gap
from .networks import transputer_network
from .placement import LinkMessage, PlacedMessage, PlacedTask, Schedule
from .tasks import Task, TaskCode, TaskGraph, TaskTrace, operations_of
from .worker_programs import (
    JOINTS,
    PROCESSORS,
    PROGRAMS,
    Compute,
    Line,
    Par,
    Receive,
    Send,
    Value,
    computations,
    inputs_of,
    message,
)

_FREE = ("(13)",)  # the projection on the axis, which the paper does not charge


def paper_schedule(robot: Robot, machine: Transputers) -> Schedule:
    """The paper's own assignment and messages for a robot, its equations semi-customised."""
    require_covered(robot, find("inverse_dynamics", "zomaya_morris"))
    graph, number = paper_tasks(robot, machine.program)
    run = _MachineRun(graph, number, machine, robot.nv)
    run.to_the_end()
    network = run.network
    order = sorted(run.tasks, key=lambda t: (t.start, t.end, t.processor))
    return Schedule(graph, machine, PROCESSORS, tuple(order), tuple(run.messages), network=network)


def paper_tasks(robot: Robot, program: str = "repaired") -> tuple[TaskGraph, dict[Value, int]]:
    """The computations of all workers as tasks, and the task that makes each value."""
    n = robot.nv
    diagonal = not robot.model.dh.J[:, [1, 2, 4]].any()
    lines = _lines(n, program)
    number: dict[Value, int] = {(line.output, i): k for k, (i, line) in enumerate(lines)}
    counts = {line: _operations(line, diagonal) for _, line in lines}
    tasks = tuple(
        Task(
            line.output,
            i - 1,
            line.equation,
            counts[line],
            counts[line],
            tuple(sorted(number[x] for x in inputs_of(line, i) if x in number)),
            1 if line.output == "tau" else 3,
            True,
            line.output == "tau",
        )
        for i, line in lines
    )
    title = f"inverse_dynamics of {robot.name} by zomaya_morris"
    code = partial(_code, robot, program)
    return TaskGraph(tasks, title, "equation", robot.link_names, 3 * n, "zomaya_morris", code), number


def _code(robot: Robot, program: str) -> TaskCode:
    """The tasks of the program's lines as traced scalars, with the robot's numbers as constants."""
    trace, model, n = TaskTrace(), robot.model, robot.nv
    q, qd, qdd = (trace.inputs(name, n) for name in ("q", "qd", "qdd"))
    chain, z0, origin = model.dh, first_axis(model.dh), np.zeros(3)
    fields = {
        "A": rotations(chain, q),
        "p": offsets(chain, q),
        "Az": axes(chain),
        "zqd": z0 * qd[:, None],
        "zqdd": z0 * qdd[:, None],
        "s": chain.s,
        "m": chain.m[:, None],
        "J": unpack(chain.J),
    }
    known: dict[Value, Any] = {(name, i + 1): x[i] for name, x in fields.items() for i in range(n)}
    known |= {("w", 0): origin, ("wd", 0): origin, ("vd", 0): -chain.gravity}
    known |= {("A", n + 1): np.eye(3), ("f", n + 1): origin, ("n", n + 1): origin}
    for i, line in _lines(n, program):
        known[line.output, i] = trace.task(line.run(*(known[x] for x in inputs_of(line, i))))
    tau = [trace.result(known["tau", i + 1][0] + robot.armature[i] * qdd[i]) for i in range(n)]
    sizes = {"q": n, "qd": n, "qdd": n}
    results = {("tau", i): x for i, x in enumerate(tau)}
    return TaskCode(sizes, {"tau": n}, trace.values, results, dict.fromkeys((*sizes, "tau"), (n,)))


def _lines(n: int, program: str) -> list[tuple[int, Compute]]:
    """The computations of all workers for n joints."""
    return _sorted([line for name in PROCESSORS for line in computations(name, n, program)])


def _sorted(lines: list[tuple[int, Compute]]) -> list[tuple[int, Compute]]:
    """Lines in an order in which each comes after those whose values it reads."""
    known = {(line.output, i) for i, line in lines}
    made: set[Value] = set()
    result: list[tuple[int, Compute]] = []
    rest = lines
    while rest:
        later = []
        for i, line in rest:
            if all(x in made or x not in known for x in inputs_of(line, i)):
                made.add((line.output, i))
                result.append((i, line))
            else:
                later.append((i, line))
        rest = later
    return result


def _operations(line: Compute, diagonal: bool) -> Count:
    """The operations of a line, semi-customised as in the paper: by z0, the zero of A, diagonal inertias."""
    if line.equation in _FREE:
        return Count()
    graph = Graph()

    def symbols(name: str) -> np.ndarray:
        kind = name.rstrip("-+")
        shape = {"A": (3, 3), "J": (3, 3), "m": (1,)}.get(kind, (3,))
        size = int(np.prod(shape))
        x = np.array([graph.leaf(name, k) for k in range(size)], dtype=object).reshape(shape)
        if kind == "A":
            x[2, 0] = 0.0
        elif kind == "J" and diagonal:
            x[~np.eye(3, dtype=bool)] = 0.0
        elif kind in ("zqd", "zqdd"):
            x[:2] = 0.0
        return x

    return operations_of(line.run(*(symbols(name) for name in line.inputs)))


_Exchange = tuple[str, str, str, int]  # sender, receiver, content and link


@dataclass
class _Worker:
    """The state of a processor inside its program."""

    lines: Iterator[tuple[int, int, Line]]
    now: float = 0.0
    waits_for: dict[_Exchange, float] | None = None  # and when it came to them
    done: bool = False


class _MachineRun:
    """A run of all processors until the last one ends.

    Both sides of a message wait for each other; if channels are buffered, only who receives it waits.
    """

    def __init__(self, graph: TaskGraph, number: dict[Value, int], machine: Transputers, n: int) -> None:
        self.graph, self.number, self.machine, self.n = graph, number, machine, n
        self.network = transputer_network(machine, PROCESSORS)
        programs = PROGRAMS[machine.program]
        self.workers = {name: _Worker(programs.of[name].lines(n)) for name in PROCESSORS}
        self.buffered = programs.buffered
        self.arrived: dict[_Exchange, float] = {}  # in buffers
        self.busy: dict[tuple[int, int], list[tuple[float, float]]] = {}  # of each link, in order of time
        self.tasks: list[PlacedTask] = []
        self.messages: list[PlacedMessage] = []

    def to_the_end(self) -> None:
        """Let every processor go on as far as it can until all are done."""
        while not all(w.done for w in self.workers.values()):
            moved = [self._go_on(name) for name in PROCESSORS]
            if not any(moved) and not self._exchange():
                stuck = [name for name, w in self.workers.items() if not w.done]
                raise PhalanxError(f"transputers: {', '.join(stuck)} wait for each other's messages.")

    def _go_on(self, name: str) -> bool:
        worker = self.workers[name]
        if worker.done or worker.waits_for:
            return False
        try:
            _, i, line = next(worker.lines)
        except StopIteration:
            worker.done = True
            return True
        if isinstance(line, Compute):
            self._compute(name, i, line)
        else:
            exchanges = line.exchanges if isinstance(line, Par) else (line,)
            if self.buffered:
                for x in exchanges:
                    if isinstance(x, Send):
                        self._send(*_exchange(name, x, i))
                exchanges = tuple(x for x in exchanges if isinstance(x, Receive))
            worker.waits_for = {_exchange(name, x, i): worker.now for x in exchanges}
        return True

    def _compute(self, name: str, i: int, line: Compute) -> None:
        worker, task = self.workers[name], self.number[line.output, i]
        t = self.graph.tasks[task]
        start, worker.now = worker.now, worker.now + self.machine.times.of(t.work)
        processor = PROCESSORS.index(name)
        self.tasks.append(PlacedTask(task, processor, start, worker.now, t.quantity, t.link, t.name))

    def _exchange(self) -> bool:
        """Carry out all messages whose two sides have come to them."""
        any_done = False
        if self.buffered:
            for worker in self.workers.values():
                for key in [k for k in worker.waits_for or () if k in self.arrived]:
                    worker.now = max(worker.now, self.arrived.pop(key))
                    assert worker.waits_for is not None
                    del worker.waits_for[key]
                    any_done = True
            return any_done
        for sender in PROCESSORS:
            for key in list(self.workers[sender].waits_for or ()):
                a, b, content, i = key
                there = self.workers[b].waits_for
                if a == sender and there and key in there:
                    self._carry(a, b, content, i)
                    any_done = True
        return any_done

    def _carry(self, a: str, b: str, content: str, i: int) -> None:
        """Carry a message for which both sides wait; they go on when it has left and arrived."""
        key = (a, b, content, i)
        start = max(self.workers[x].waits_for.pop(key) for x in (a, b))  # type: ignore[union-attr]
        hops = self._message(key, start)
        # Who sends goes on when the first link has taken the message.
        for x, end in ((a, hops[0].end), (b, hops[-1].end)):
            self.workers[x].now = max(self.workers[x].now, end)

    def _send(self, a: str, b: str, content: str, i: int) -> None:
        """A message into a buffer, as soon as the link is free."""
        key = (a, b, content, i)
        self.arrived[key] = self._message(key, self.workers[a].now)[-1].end

    def _message(self, key: _Exchange, start: float) -> tuple[LinkMessage, ...]:
        """Note a message, over one link after another as soon as each is free."""
        a, b, content, i = key
        words = message(a, Send(content, b), self.n).reals
        sender, receiver = PROCESSORS.index(a), PROCESSORS.index(b)
        task = -1 if content == JOINTS else self.number[content, i]
        name = "inputs" if content == JOINTS else self.graph.tasks[task].name
        hops, now = [], start
        for link in self.network.route(sender, receiver):
            busy, length = self.busy.setdefault(link, []), self.machine.links.of(words)
            begin = first_gap(busy, now, length)
            now = begin + length
            if length:
                insort(busy, (begin, now))
            hops.append(LinkMessage(*link, begin, now))
        self.messages.append(
            PlacedMessage(task, sender, receiver, hops[0].start, now, words, name, tuple(hops))
        )
        return tuple(hops)


def _exchange(name: str, x: Send | Receive, i: int) -> _Exchange:
    """Sender, receiver, content and link."""
    return (name, x.receiver, x.content, i) if isinstance(x, Send) else (x.sender, name, x.content, i)
