# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The algorithms of a function side by side on one robot: counted, timed and checked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..algorithms import Algorithm, algorithms, functions_algorithms
from ..backends.base import backend, positive
from ..dispatch import ANY, choose, compute, resolve
from ..errors import PhalanxError
from ..program.analyses.cost import Cost
from ..program.task import Call
from ..progress import steps
from ..robot.robot import Robot, require_robot
from .accuracy import largest_error, longdouble_result
from .calibration import Sample, batch_on_threads, job, sample, shared_state, timed, wall_times
from .machines import pram
from .recommend import IN_TURNS, best_of, duration, label, reason, recommend, served
from .schedule import place, task_graph

_CHECKED = 16  # states whose results are compared with extended precision
_REFERENCE = 64  # states on which NumPy is timed: its throughput hardly changes beyond


@dataclass(frozen=True)
class Comparison:
    """One algorithm on one robot; times in seconds, `refused` says why it has none.

    `one_state` and `per_state` are measured, alone and in the batch; `predicted` is per state of the
    batch. `speedup` is what `processors` would gain over one that takes the algorithm with the least
    operations. With several `threads`, the times on all of them are beside those on one; not a number where
    threads share no state. `chosen` marks the choice of "auto" for this batch. `recommended` marks the
    shortest measured time per state among errors like those of "auto", which is left for a tenth or more
    only; with its reason. Where an algorithm refuses the robot, the reason is the short form of `refused`.
    """

    algorithm: str
    source: str
    span: str
    options: dict[str, Any] = field(default_factory=dict)
    backend: str = ""
    cost: Cost | None = None
    processors: int = 1
    speedup: float = float("nan")
    predicted: float = float("nan")
    prepare: float = float("nan")
    one_state: float = float("nan")
    per_state: float = float("nan")
    threads: int = 1
    one_state_on_threads: float = float("nan")
    per_state_on_threads: float = float("nan")
    error: float = float("nan")
    chosen: bool = False
    recommended: bool = False
    reason: str = ""
    refused: str = ""


def compare(
    robot: Robot,
    function: str,
    *,
    batch: int = 4096,
    processors: int = 8,
    frame: str | None = None,
    threads: int | None = None,
) -> list[Comparison]:
    """All algorithms of a function on a robot, the fastest on a batch first, refusals last.

    Errors are relative to the largest entry of a state, against the reference in extended precision.
    Times are of one thread, with interleaved runs of all algorithms; with `threads`, one state and the batch
    are measured on so many as well. `frame` is that of functions which take one.
    """
    functions_algorithms(function)
    count = 1 if threads is None else positive(threads, "compare: threads")
    require_robot(robot, "compare")
    if not robot.nv:
        raise PhalanxError(f'compare: robot "{robot.name}" has no degree of freedom; nothing to compare.')
    advice = recommend(robot, function, batch, frame=frame)
    candidates = algorithms(function)
    rows, calls = [], {}
    for algorithm in candidates:
        try:
            call = resolve(robot, function, algorithm.name, frame)
        except PhalanxError as error:
            rows.append(Comparison(**_facts(algorithm), refused=str(error), reason=algorithm.refusal(robot)))
            continue
        calls[label(call)] = call
    if advice.options:
        call = resolve(robot, function, advice.choice, frame)
        calls[label(call)] = call
    measured = _measured(calls, batch, processors)
    if count > 1:
        _add_times_on_threads(measured, calls, batch, count)
    auto = calls[advice.auto]
    best, why = _best(calls, measured, auto, batch)
    rows += [
        replace(
            Comparison(**_facts(call.algorithm), **measured[name]),
            options=dict(call.options),
            predicted=advice.predicted.get(name, float("nan")),
            chosen=call is auto,
            recommended=call is best,
            reason=why if call is best else "",
        )
        for name, call in calls.items()
    ]
    return sorted(rows, key=lambda r: (bool(r.refused), r.per_state))


def _facts(algorithm: Algorithm) -> dict[str, Any]:
    return {"algorithm": algorithm.name, "source": algorithm.source, "span": algorithm.span}


def _best(
    calls: dict[str, Call], measured: dict[str, dict[str, Any]], auto: Call, batch: int
) -> tuple[Call, str]:
    """The call to recommend by measured times and errors, and why."""
    best, why = _fastest(calls, measured, auto, batch, "per_state")
    robot, function = auto.robot, auto.algorithm.function
    if batch > 1 and robot.nv > ANY:  # "auto" may select another algorithm for one state
        there = calls[choose(robot, function, 1).name]
        alone, _ = _fastest(calls, measured, there, 1, "one_state")
        if alone is not best:
            seconds = duration(measured[label(alone)]["one_state"])
            taken = "takes it there" if alone is there else f"takes {label(there)} there, too"
            why += f' One state alone is fastest by {label(alone)}, {seconds}; "auto" {taken}.'
    return best, why


def _fastest(
    calls: dict[str, Call], measured: dict[str, dict[str, Any]], auto: Call, batch: int, time: str
) -> tuple[Call, str]:
    """The fastest call by the measured times under the key `time`, and why it is taken."""
    times = {name: found[time] for name, found in measured.items()}

    def errors(call: Call) -> tuple[float, float]:
        return measured[label(call)]["error"], measured[label(auto)]["error"]

    found = [(calls[name], seconds) for name, seconds in times.items()]
    best, remark = best_of(found, auto, IN_TURNS, float(np.finfo(float).eps), errors)
    return best, reason(best, auto, times, batch, remark, "measured", IN_TURNS)


def _measured(calls: dict[str, Call], batch: int, processors: int) -> dict[str, dict[str, Any]]:
    """Backend, cost, times and error of each call."""
    found: dict[str, dict[str, Any]] = {}
    jobs: dict[tuple[str, int], Any] = {}
    first = next(iter(calls.values()))
    inputs = first.robot.random_state(min(batch, _CHECKED), rng=0)[: len(first.function.inputs)]
    right = longdouble_result(first.robot, first.algorithm.function, inputs, first.frame)
    samples: dict[int, Sample] = {}
    on_processors: dict[str, tuple[float, float]] = {}
    for name, call in steps(calls.items(), "comparing", lambda item: item[0]):
        where = served(call)
        start = time.perf_counter()
        result = compute(call, inputs, {}, runner=backend(where), threads=1)
        found[name] = {
            "backend": where,
            "prepare": _build_seconds(call) if where == "native" else time.perf_counter() - start,
            "error": largest_error(result, right),
            "cost": backend(where).cost(call),
            "processors": processors,
        }
        if found[name]["cost"] is not None:
            on_processors[name] = _scheduled(call, processors)
        size = batch if where == "native" else min(batch, _REFERENCE)
        for count in {1, size}:
            if count not in samples:
                samples[count] = sample(call, count)
            jobs[name, count] = job(call, samples[count], where)
    _add_times(found, jobs)
    least = min((work for work, _ in on_processors.values()), default=0.0)
    for name, (_, length) in on_processors.items():
        found[name]["speedup"] = least / length if length else 1.0
    return found


def _add_times(found: dict[str, dict[str, Any]], jobs: dict[tuple[str, int], Any]) -> None:
    """Time all jobs; compiled code is repeated more often, since NumPy takes a thousand times as long."""
    quick = {key: job for key, job in jobs.items() if found[key[0]]["backend"] == "native"}
    slow = {key: job for key, job in jobs.items() if key not in quick}
    times = timed(quick) | timed(slow, rounds=2, burst=0.0)
    for (name, count), seconds in times.items():
        best = float(np.min(seconds))
        if count == 1:
            found[name]["one_state"] = best
        if count == max(c for n, c in jobs if n == name):
            found[name]["per_state"] = best / count


def _add_times_on_threads(
    found: dict[str, dict[str, Any]], calls: dict[str, Call], batch: int, threads: int
) -> None:
    """Time one state and the batch on several threads, by the clock on the wall."""
    jobs: dict[tuple[str, str], Callable[[], Any]] = {}
    for name, call in calls.items():
        found[name]["threads"] = threads
        if found[name]["backend"] != "native":
            continue
        if run := shared_state(call, threads):
            jobs[name, "one_state_on_threads"] = run
        if batch > 1:
            jobs[name, "per_state_on_threads"] = batch_on_threads(call, batch, threads)
    for (name, what), seconds in wall_times(jobs).items():
        found[name][what] = seconds / (batch if what == "per_state_on_threads" else 1)


def _build_seconds(call: Call) -> float:
    """Seconds that tracing and compiling took, or reading from the cache."""
    from ..backends.native.build import native

    return native(call).seconds


def _scheduled(call: Call, processors: int) -> tuple[float, float]:
    """The time of all operations on one processor, and their makespan on p with a common memory."""
    choice = (call.algorithm.name, dict(call.options))
    graph = task_graph(call.robot, call.algorithm.function, choice, convention="program", frame=call.frame)
    machine = pram(processors)
    return sum(graph.durations(machine.times)), place(graph, machine).makespan
