# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A schedule carried out: a compiled worker for each processor, and what it took measured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...backends.native import mailboxes
from ...backends.native.mailboxes import SharedLayout, Worker, WorkerSteps
from ...errors import PhalanxError, is_one_of, nearest, shown
from ..plotting import output_path
from .execution import ExecutionPlan, execution_plan, task_code
from .placement import PlacedTask, Schedule
from .tasks import TaskCode

BLOCK = 64  # states in a message, unless a call says otherwise
RING = 4  # blocks in flight
TRANSPORTS = ("threads", "processes", "mpi")
_MICRO = 1e6
_known: WeakKeyDictionary[Schedule, dict[Any, Any]] = WeakKeyDictionary()  # what was compiled before


@dataclass(frozen=True, eq=False)
class ScheduleRun:
    """The result of a schedule on real workers, and measured times.

    `result` is what the function returns. `seconds` is the time from the moment when all workers are ready
    until the last one is done, the least of all repeats; `timeline` are the tasks of the last block of states
    in that repeat, in microseconds from the beginning of the block. Tasks between two messages are measured
    together and shown in proportion to their predicted times.
    """

    schedule: Schedule
    result: Any
    seconds: float
    states: int
    transport: str
    block: int
    timeline: tuple[PlacedTask, ...] = field(repr=False)

    @property
    def seconds_per_state(self) -> float:
        """The time of all states over their number."""
        return self.seconds / self.states

    @cached_property
    def measured(self) -> Schedule:
        """The measured times as a schedule, for charts and trace files."""
        machine = replace(self.schedule.machine, unit="microseconds")
        return replace(self.schedule, machine=machine, tasks=self.timeline, messages=(), network=None)

    def plot(self, path: Any) -> Path:
        """Draw the predicted and the measured Gantt chart, one above the other (.html, .png, .svg, .pdf)."""
        from ..charts.gantt import draw_pair

        return draw_pair(self.schedule, self.measured, output_path(path, "plot"))

    def __repr__(self) -> str:
        return (
            f"<Run of {self.schedule.graph.title} on {self.schedule.machine} by {self.transport}: "
            f"{self.states} states in {self.seconds * _MICRO:,.1f} us, "
            f"{self.seconds_per_state * _MICRO:,.2f} us a state, {self.block} in a message>"
        )


@dataclass(frozen=True, eq=False)
class CompiledSchedule:
    """A schedule compiled to workers in machine code; each value is a vector of states."""

    plan: ExecutionPlan
    lanes: int
    ir: str

    @cached_property
    def segments(self) -> tuple[int, ...]:
        """How many segments each worker has."""
        return tuple(len(w.segments) for w in self.plan.workers)

    def layout(self, states: int, block: int, ring: int) -> SharedLayout:
        """The memory of a run with `states` states; a message carries a block of them."""
        code = self.plan.code
        steps = tuple(
            WorkerSteps(tuple((s.kind, s.number) for s in w.steps), w.locals) for w in self.plan.workers
        )
        vectors = -(-min(block, states) // self.lanes)
        blocks = -(-states // (vectors * self.lanes))
        rows = (*code.inputs.values(), *code.outputs.values())
        count = len(code.inputs)
        return SharedLayout(
            rows,
            count,
            steps,
            len(self.plan.messages),
            self.plan.words,
            self.lanes,
            vectors,
            blocks,
            min(ring, blocks),
        )


@dataclass(frozen=True, eq=False)
class RunJob:
    """A run to be carried out by a transport: the memory is filled with inputs and takes the outputs."""

    compiled: CompiledSchedule
    layout: SharedLayout
    fill: Callable[[Any], None]
    repeats: int
    names: Sequence[str]  # of the processors, for errors


# What a transport returns: the memory after the run and the times of every worker in the fastest repeat.
Measured = tuple[list[np.ndarray], list[np.ndarray]]


def run_schedule(
    schedule: Schedule,
    inputs: Sequence[Any],
    transport: str = "threads",
    *,
    block: int = BLOCK,
    in_flight: int = RING,
    repeats: int = 1,
) -> ScheduleRun:
    """`Schedule.run`."""
    carry = _transport(transport)
    for name, value in (("block", block), ("in_flight", in_flight), ("repeats", repeats)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise PhalanxError(f"run: {name} is {shown(value)}, expected an integer of at least 1.")
    known = _known.setdefault(schedule, {})
    code = known["code"] = known.get("code") or task_code(schedule)
    arrays, batch = _checked(code, inputs)
    states = prod(batch)
    widest = mailboxes.widest()
    lanes = widest if min(block, states) >= widest else 1
    compiled = known[lanes] = known.get(lanes) or _compiled(schedule, lanes, code)
    layout = compiled.layout(states, block, in_flight)

    def fill(memory: Any) -> None:
        for k, array in enumerate(arrays):
            row = layout.row(memory, k)
            row[:states] = array
            row[states:] = array[-1]

    names = [schedule.processors[w.processor] for w in compiled.plan.workers]
    outputs, times = carry(RunJob(compiled, layout, fill, repeats, names))
    shapes = [code.shapes[name] for name in code.outputs]
    results = [x[:states].reshape(*batch, *shape) for x, shape in zip(outputs, shapes, strict=True)]
    return ScheduleRun(
        schedule,
        results[0] if len(results) == 1 else tuple(results),
        seconds_of(times),
        states,
        transport,
        layout.vectors * lanes,
        tuple(_timeline(schedule, compiled.plan, times)),
    )


def _transport(name: Any) -> Callable[[RunJob], Measured]:
    if not is_one_of(name, TRANSPORTS):
        raise PhalanxError(f"run: transport={shown(name)};{nearest(name, TRANSPORTS, what='transports')}")
    if name == "threads":
        return on_threads
    from .transports import on_mpi, on_processes  # threads do without

    return on_processes if name == "processes" else on_mpi


def _checked(code: TaskCode, inputs: Sequence[Any]) -> tuple[list[np.ndarray], tuple[int, ...]]:
    """Inputs as rows of states, and the batch shape that they broadcast to."""
    names = list(code.inputs)
    if len(inputs) != len(names):
        raise PhalanxError(f"run: {len(inputs)} inputs, expected {len(names)}: {', '.join(names)}.")
    arrays, batches = [], []
    for name, x in zip(names, inputs, strict=True):
        shape = code.shapes[name]
        try:
            array = np.asarray(x, dtype=float)
        except (TypeError, ValueError):
            raise PhalanxError(f"run: {name} is {shown(x)}, expected numbers.") from None
        if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
            wanted = ", ".join(["…", *map(str, shape)])
            raise PhalanxError(f"run: {name} has shape {array.shape}, expected ({wanted}).")
        batches.append(array.shape[: array.ndim - len(shape)])
        arrays.append(array)
    try:
        batch = np.broadcast_shapes(*batches)
    except ValueError:
        shapes = ", ".join(f"{n} {b}" for n, b in zip(names, batches, strict=True))
        raise PhalanxError(f"run: the batches of the inputs do not broadcast: {shapes}.") from None
    if 0 in batch:
        raise PhalanxError(f"run: the batch has shape {batch}, expected at least one state.")
    rows = [
        np.ascontiguousarray(np.broadcast_to(a, (*batch, *code.shapes[n]))).reshape(prod(batch), -1)
        for n, a in zip(names, arrays, strict=True)
    ]
    return rows, batch


def _compiled(schedule: Schedule, lanes: int, code: TaskCode) -> CompiledSchedule:
    """The workers of a schedule for a number of states in a vector."""
    plan = execution_plan(schedule, lanes, code)
    ir = mailboxes.workers_ir([w.segments for w in plan.workers], lanes)
    return CompiledSchedule(plan, lanes, ir)


def seconds_of(times: Sequence[np.ndarray]) -> float:
    """From when the first worker begins until the last one ends."""
    return float(max(t[1] for t in times) - min(t[0] for t in times)) * 1e-9


def _timeline(schedule: Schedule, plan: ExecutionPlan, times: Sequence[np.ndarray]) -> Sequence[PlacedTask]:
    """The tasks of the last block, in microseconds; a segment is divided by predicted times."""
    known: Mapping[int, PlacedTask] = {t.task: t for t in schedule.tasks}
    found = []
    for w, t in zip(plan.workers, times, strict=True):
        for step, (start, end) in zip(w.steps, t[2:].reshape(-1, 2).tolist(), strict=True):
            if step.kind != "compute" or not step.tasks:
                continue
            weights = [max(known[k].end - known[k].start, 1e-12) for k in step.tasks]
            scale, at = (end - start) / sum(weights), float(start)
            for k, weight in zip(step.tasks, weights, strict=True):
                found.append(replace(known[k], start=at, end=at + scale * weight))
                at += scale * weight
    first = min((t.start for t in found), default=0.0)
    moved = [replace(t, start=(t.start - first) / 1e3, end=(t.end - first) / 1e3) for t in found]
    return sorted(moved, key=lambda t: (t.start, t.processor))


# ------------------------------------------------------------------- threads


def on_threads(job: RunJob) -> Measured:
    """A thread of this process for each worker; machine code runs without the GIL."""
    layout = job.layout
    memory = mailboxes.aligned_memory(layout.offsets["end"])
    job.fill(memory)
    loaded = mailboxes.load_workers(job.compiled.ir, job.compiled.segments)
    count = len(layout.workers)
    workers = [Worker(loaded, layout, p, memory) for p in range(count)]
    times: list[list[np.ndarray]] = [[] for _ in range(count)]
    failures: list[tuple[int, BaseException]] = []
    barrier = threading.Barrier(count)

    def serve(p: int) -> None:
        try:
            for repeat in range(job.repeats):
                barrier.wait()
                if not workers[p].run(repeat):
                    return
                times[p].append(layout.times(memory, p).copy())
        except threading.BrokenBarrierError:
            pass
        except BaseException as error:  # whatever it is, nobody may go on waiting for this worker
            failures.append((p, error))
            layout.give_up(memory)
            barrier.abort()

    threads = [threading.Thread(target=serve, args=(p,), name=f"run-{job.names[p]}") for p in range(count)]
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    except BaseException:  # an interrupt, or no more threads to be had
        layout.give_up(memory)
        barrier.abort()
        raise
    if failures:
        p, error = failures[0]
        raise PhalanxError(f"run: worker {job.names[p]} died: {shown(error)}.") from error
    return outputs_of(layout, memory), fastest(times)


def outputs_of(layout: SharedLayout, memory: Any) -> list[np.ndarray]:
    """Copies of the outputs of all states, and of the padding of the last block."""
    return [layout.row(memory, k).copy() for k in range(layout.inputs, len(layout.rows))]


def fastest(times: Sequence[Sequence[np.ndarray]]) -> list[np.ndarray]:
    """The times of all workers in the repeat that took the least time."""
    return min((list(each) for each in zip(*times, strict=True)), key=seconds_of)
