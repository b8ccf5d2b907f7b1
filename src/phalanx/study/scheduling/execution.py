# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What each processor of a schedule executes: straight-line programs between receives and sends.

A processor computes its tasks in the order of the schedule. Values of tasks on other processors arrive as
messages in a mailbox buffer; what a schedule does not charge (sines, signs, constants) is computed wherever
it is needed. With one memory and no network, every value that another processor needs is a message, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Any

from ...errors import PhalanxError, listing
from ...program.ir import Buffer, Load, Program, Scalar, Store, Value
from ...program.ops import INPUT
from ...program.passes.fuse import fuse
from ...program.passes.order import with_sincos_first
from .placement import Schedule
from .tasks import TaskCode

MAIL, LOCALS = "mail", "locals"
_LINE = 8  # numbers in a cache line: messages share none
_MOST_WORKERS = 256
_INPUTS = -1  # the task of messages that carry the inputs


@dataclass(eq=False)
class MailboxMessage:
    """Values that one processor sends to another; `number` is its index among all messages."""

    task: int
    sender: int
    receiver: int
    start: float  # predicted
    number: int = -1
    offset: int = -1  # in the mailbox, in vectors of states
    content: dict[Scalar, int] = field(default_factory=dict)  # the index of each value

    def add(self, value: Scalar) -> None:
        self.content.setdefault(value, len(self.content))


@dataclass(frozen=True)
class WorkerStep:
    """A step of a worker: receive or send the message `number`, or compute its segment `number`."""

    kind: str  # "receive", "compute", "send"
    number: int
    tasks: tuple[int, ...] = ()  # of a segment


@dataclass(frozen=True, eq=False)
class WorkerPlan:
    """The steps of a processor and the programs of its segments; `locals` values pass between segments."""

    processor: int
    steps: tuple[WorkerStep, ...]
    segments: tuple[Program, ...]
    locals: int


@dataclass(frozen=True, eq=False)
class ExecutionPlan:
    """The workers of a schedule and their messages; a mailbox holds `words` vectors of states."""

    code: TaskCode
    workers: tuple[WorkerPlan, ...]
    messages: tuple[MailboxMessage, ...]
    words: int


@dataclass(eq=False)
class _Item:
    """Work of a processor between two exchanges: values to compute, then results and messages."""

    key: tuple[float, ...]
    task: int = -1
    values: list[Any] = field(default_factory=list)
    uses: dict[MailboxMessage, None] = field(default_factory=dict)  # messages that must be here
    outputs: list[tuple[str, int, Any]] = field(default_factory=list)
    sends: list[MailboxMessage] = field(default_factory=list)


def task_code(schedule: Schedule) -> TaskCode:
    """The computations of a schedule's tasks; raises for tasks that are only counted."""
    code = schedule.graph.code() if schedule.graph.code is not None else None
    if code is None or code.meanings:
        raise PhalanxError(
            f"run: the tasks of {schedule.graph.title or 'this schedule'} are counted, not computed; make "
            'the schedule with customise="full" and convention="program", of a function that is not of a '
            "frame, or by a paper's assignment."
        )
    return code


def execution_plan(schedule: Schedule, lanes: int = 1, code: TaskCode | None = None) -> ExecutionPlan:
    """The programs and messages of all processors, for vectors of `lanes` states.

    Raises for schedules whose receives can never be met, before anything is compiled.
    """
    planner = _Planner(schedule, code or task_code(schedule))
    planner.collect()
    plan = planner.finished(lanes)
    _require_progress(schedule, plan)
    return plan


class _Planner:
    """Plans the items of all processors, and the messages that they need."""

    def __init__(self, schedule: Schedule, code: TaskCode) -> None:
        self.schedule, self.code = schedule, code
        self.names = schedule.processors
        self.master = schedule.network.master if schedule.network else None
        self.at = {t.task: t.processor for t in schedule.tasks}
        self.owners: dict[Scalar, list[int]] = {}  # the placed tasks that compute a value
        for task, values in enumerate(code.values):
            for value in values if task in self.at else ():
                self.owners.setdefault(value, []).append(task)
        self.items: dict[int, list[_Item]] = {}
        self.made: dict[int, set[Any]] = {}
        self.relays: dict[MailboxMessage, _Item] = {}
        self.incoming: dict[tuple[int, int], MailboxMessage] = {}
        self.ends = {t.task: t.end for t in schedule.tasks}
        self.arrivals: dict[tuple[int, int], float] = {}
        for m in schedule.messages:
            for hop in m.hops:
                key = (m.task, hop.receiver)
                if hop.end < self.arrivals.get(key, inf):
                    self.arrivals[key] = hop.end
                    self.incoming[key] = MailboxMessage(m.task, hop.sender, hop.receiver, hop.start)
        used = set(self.at.values()) | ({self.master} if self.master is not None else set())
        for p in sorted(used) or [0]:
            self.items[p], self.made[p] = [], set()
        if len(self.items) > _MOST_WORKERS:
            raise PhalanxError(
                f"run: {schedule.machine} has {len(self.items)} processors at work, and a run has at most "
                f"{_MOST_WORKERS} workers; use a machine with fewer."
            )

    def collect(self) -> None:
        """Collect the items of all processors."""
        for t in sorted(self.schedule.tasks, key=lambda t: (t.start, t.end, t.task)):
            item = self._item(t.processor, (t.start, 1.0, t.end, float(t.task)), t.task)
            for value in self.code.values[t.task]:
                self._need(t.processor, value, item)
        end = self.schedule.makespan
        last: dict[int, _Item] = {}
        for (name, k), value in self.code.results.items():
            p = self._holder(value)
            item = last.setdefault(p, _Item((end, 2.0)))
            self._need(p, value, item)
            item.outputs.append((name, k, value))
        for p, item in last.items():
            self.items[p].append(item)
        if self.master is not None:
            self.items[self.master].insert(0, _Item((-1.0, 0.0), task=_INPUTS))

    def _item(self, processor: int, key: tuple[float, ...], task: int) -> _Item:
        item = _Item(key, task)
        self.items.setdefault(processor, []).append(item)
        self.made.setdefault(processor, set())
        return item

    def _holder(self, value: Any) -> int:
        """The processor that stores a result: the master, else the one that computes it or what it needs."""
        if self.master is not None:
            return self.master
        stack = [value]
        while stack:
            x = stack.pop()
            if isinstance(x, Scalar):
                if x in self.owners:
                    return self.at[self.owners[x][0]]
                stack.extend(x.args)
        return min(self.items)

    def _need(self, p: int, value: Any, item: _Item) -> None:
        """Provide a value in an item of a processor: computed there, or from a message."""
        if not isinstance(value, Scalar) or value in self.made[p]:
            return
        if value.op is INPUT:
            if self.master not in (None, p):
                self._arrive(p, _INPUTS, value, item)
            return
        if tasks := self.owners.get(value):
            task = min(tasks, key=lambda task: self._arrival(task, p))
            if self.at[task] != p:
                self._arrive(p, task, value, item)
                return
        for a in value.args:
            self._need(p, a, item)
        self.made[p].add(value)
        item.values.append(value)

    def _arrival(self, task: int, p: int) -> float:
        """When the results of a task are predicted to be at a processor; never if nothing brings them."""
        if self.schedule.network is None or self.at[task] == p:
            return self.ends[task]
        return self.arrivals.get((task, p), inf)

    def _arrive(self, p: int, task: int, value: Scalar, item: _Item) -> None:
        """Send a value of a task to a processor, by relays where no link is direct."""
        source = self.master if task == _INPUTS else self.at[task]
        seen: set[int] = set()
        while p != source:
            message = self._message(task, p)
            message.add(value)
            item.uses.setdefault(message)
            if p in seen:
                raise PhalanxError(f"run: the messages of {self._task(task)} go round and never start.")
            seen.add(p)
            p = message.sender
            if p != source:
                if message not in self.relays:
                    relay = self._item(p, (message.start, 0.0, float(len(self.relays))), _INPUTS - 1)
                    relay.sends.append(message)
                    self.relays[message] = relay
                item = self.relays[message]

    def _message(self, task: int, receiver: int) -> MailboxMessage:
        found = self.incoming.get((task, receiver))
        if found is None and self.schedule.network is None:
            found = MailboxMessage(task, self.at[task], receiver, 0.0)
            self.incoming[task, receiver] = found
        if found is None:
            raise PhalanxError(
                f"run: {self.names[receiver]} waits for {self._task(task)}, and no message brings it; "
                "the receive can never be met."
            )
        return found

    def _task(self, task: int) -> str:
        return "the inputs" if task == _INPUTS else f"task {task} ({self.schedule.graph.tasks[task].name})"

    def finished(self, lanes: int) -> ExecutionPlan:
        """The plan, with a number and an offset for each message that is not empty."""
        messages = [m for m in self.incoming.values() if m.content]
        align, words = max(1, _LINE // lanes), 0
        sent: dict[tuple[int, int], list[MailboxMessage]] = {}
        for number, m in enumerate(messages):
            m.number, m.offset = number, words
            words += -(-len(m.content) // align) * align
            if m not in self.relays:
                sent.setdefault((m.sender, m.task), []).append(m)
        workers = []
        for p in sorted(self.items):
            ordered = sorted(self.items[p], key=lambda item: item.key)
            for item in ordered:
                if item.task >= _INPUTS:
                    item.sends += sent.get((p, item.task), []) if item.key[1] < 2.0 else []
            workers.append(_worker(p, ordered, self.code, words, p == self.master or self.master is None))
        return ExecutionPlan(self.code, tuple(workers), tuple(messages), words)


@dataclass(eq=False)
class _Segment:
    items: list[_Item] = field(default_factory=list)

    @property
    def values(self) -> Iterator[Any]:
        return (x for item in self.items for x in item.values)


def _worker(p: int, items: list[_Item], code: TaskCode, words: int, has_inputs: bool) -> WorkerPlan:
    """The steps of a processor: its items, cut where messages come and go."""
    steps: list[WorkerStep] = []
    segments: list[_Segment] = []
    received: dict[Scalar, tuple[MailboxMessage, int]] = {}
    here: set[MailboxMessage] = set()
    current = _Segment()

    def close() -> None:
        nonlocal current
        if any(item.values or item.sends or item.outputs for item in current.items):
            tasks = tuple(item.task for item in current.items if item.task >= 0)
            steps.append(WorkerStep("compute", len(segments), tasks))
            segments.append(current)
            current = _Segment()

    for item in items:
        if new := [m for m in item.uses if m not in here and m.receiver == p]:
            close()
            for m in new:
                here.add(m)
                steps.append(WorkerStep("receive", m.number))
                received |= {value: (m, k) for value, k in m.content.items()}
        current.items.append(item)
        if item.sends:
            close()
            steps += [WorkerStep("send", m.number) for m in item.sends]
    close()
    compiler = _SegmentPrograms(segments, received, code, words, has_inputs)
    return WorkerPlan(p, tuple(steps), tuple(compiler.programs()), len(compiler.slots))


class _SegmentPrograms:
    """The programs of the segments of one processor."""

    def __init__(
        self,
        segments: list[_Segment],
        received: dict[Scalar, tuple[MailboxMessage, int]],
        code: TaskCode,
        words: int,
        has_inputs: bool,
    ) -> None:
        self.segments, self.received, self.code, self.has_inputs = segments, received, code, has_inputs
        self.inputs = {name: Buffer(name, size, "input", given=True) for name, size in code.inputs.items()}
        self.outputs = {name: Buffer(name, size, "output") for name, size in code.outputs.items()}
        self.mail, self.locals = Buffer(MAIL, words, given=True), Buffer(LOCALS, 0, given=True)
        self.home = {x: k for k, segment in enumerate(segments) for x in segment.values}
        self.slots: dict[Scalar, int] = {}
        for k, segment in enumerate(segments):
            for x in _read(segment):
                if self.home.get(x, k) != k:
                    self.slots.setdefault(x, len(self.slots))
        self.locals.size = len(self.slots)

    def programs(self) -> Iterator[Program]:
        return map(self._program, range(len(self.segments)))

    def _program(self, k: int) -> Program:
        """A segment in depth-first order with multiply-adds, sines first."""
        segment = self.segments[k]
        body: list[Any] = []
        known: dict[Any, Any] = {}

        def put(x: Any) -> Any:
            x.number = len(body)
            body.append(x)
            return x

        def real(x: Any) -> Any:
            if not isinstance(x, Scalar):
                return float(x)
            if x not in known:
                known[x] = put(self._load(x, k))
            return known[x]

        for x in segment.values:
            known[x] = put(Value(x.op, tuple(map(real, x.args)), x.quantity, "", x.body_index))
        stores = [Store(self.locals, self.slots[x], known[x]) for x in segment.values if x in self.slots]
        for item in segment.items:
            for m in item.sends:
                stores += [Store(self.mail, m.offset + j, real(x)) for x, j in m.content.items()]
            stores += [Store(self.outputs[name], j, real(x)) for name, j, x in item.outputs]
        scratch, inputs, outputs = (self.locals, self.mail), self.inputs.values(), self.outputs.values()
        fused = fuse(Program(tuple(inputs), tuple(outputs), (*body, *stores), scratch))
        values = with_sincos_first([s for s in fused.body if type(s) is not Store])
        final = (*values, *(s for s in fused.body if type(s) is Store))
        return Program(fused.inputs, fused.outputs, final, scratch)

    def _load(self, x: Scalar, segment: int) -> Load:
        if isinstance(x, Load) and self.has_inputs:
            return Load(self.inputs[x.buffer.name], x.index)
        if x in self.received:
            message, k = self.received[x]
            return Load(self.mail, message.offset + k)
        assert self.home[x] < segment, x
        return Load(self.locals, self.slots[x])


def _read(segment: _Segment) -> Iterator[Any]:
    """The scalars that a segment reads: operands, contents of messages, results."""
    for item in segment.items:
        for x in item.values:
            yield from x.args
        for m in item.sends:
            yield from m.content
        yield from (x for _, _, x in item.outputs)


def _require_progress(schedule: Schedule, plan: ExecutionPlan) -> None:
    """Raise if workers could deadlock: if their orders of messages form a cycle."""
    sends = {s.number for w in plan.workers for s in w.steps if s.kind == "send"}
    position = dict.fromkeys(range(len(plan.workers)), 0)
    arrived: set[int] = set()
    moving = True
    while moving:
        moving = False
        for k, w in enumerate(plan.workers):
            while position[k] < len(w.steps):
                step = w.steps[position[k]]
                if step.kind == "receive" and step.number not in arrived:
                    break
                if step.kind == "send":
                    arrived.add(step.number)
                position[k] += 1
                moving = True
    stuck = [k for k, w in enumerate(plan.workers) if position[k] < len(w.steps)]
    if stuck:
        names = [schedule.processors[plan.workers[k].processor] for k in stuck]
        first = plan.messages[plan.workers[stuck[0]].steps[position[stuck[0]]].number]
        what = "the inputs" if first.task < 0 else schedule.graph.tasks[first.task].name
        why = "wait for each other's messages" if first.number in sends else "wait for what nobody sends"
        raise PhalanxError(
            f"run: {listing(names)} {why}, {names[0]} for {what} from "
            f"{schedule.processors[first.sender]}; the receives can never be met."
        )
