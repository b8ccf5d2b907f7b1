# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx.speedup`: how many processors are worth it for one state of one robot.

Predicted by list schedules of every algorithm, twice: with values at hand everywhere at once, and with every
message charged what it takes between two cores of this machine. Single operations are placed where they are
few; where they are many, the first curve has what every greedy schedule of them keeps, span + (work - span)
over p (Graham 1969, "Bounds on multiprocessing timing anomalies"). Measured on the lanes and cores that there
are. The knee of a curve is the number of processors with the largest product of speed-up and parallel
efficiency (Eager, Zahorjan, Lazowska 1989, "Speedup versus efficiency in parallel systems").
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..algorithms import algorithms
from ..dispatch import choose, resolve
from ..errors import PhalanxError, shown
from ..progress import steps
from ..robot.robot import Robot, require_robot
from .calibration import job, sample, shared_state, wall_times
from .machines import cores, pram, whole
from .recommend import duration, in_more_segments, label
from .schedule import place, task_graph
from .scheduling.placement import lengths_from
from .scheduling.tasks import TaskGraph

PROCESSORS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_FINE = 6_000  # operations up to which single operations are scheduled, beside whole equations
_DEAR = 50.0  # operations of a message beyond which single operations are no tasks of their own
_MANY = 200_000  # operations beyond which an algorithm is not scheduled
_ROUNDING = 1e-9  # of sums of durations
_LONG = 400  # degrees of freedom beyond which nothing is scheduled, which would take minutes


@dataclass(frozen=True)
class Curve:
    """The best speed-up of any algorithm for each number of processors, and which algorithm has it."""

    processors: tuple[int, ...]
    speedups: tuple[float, ...]
    algorithms: tuple[str, ...]

    @property
    def efficiencies(self) -> tuple[float, ...]:
        """Speed-up over the number of processors."""
        return tuple(s / p for s, p in zip(self.speedups, self.processors, strict=True))

    @property
    def knee(self) -> int:
        """Where speed-up times efficiency is largest; index into the tuples."""
        power = [s * e for s, e in zip(self.speedups, self.efficiencies, strict=True)]
        return max(range(len(power)), key=lambda k: (round(power[k], 9), -k))

    def at_knee(self) -> str:
        """The knee in words."""
        k = self.knee
        p, s = self.processors[k], self.speedups[k]
        if p == 1:
            return "1 processor"
        return f"{p} processors ({s:.1f} times one, efficiency {s / p:.0%}, by {self.algorithms[k]})"


def best_curve(processors: Sequence[int], curves: Mapping[str, Sequence[float]]) -> Curve:
    """The best of several algorithms' speed-ups for each number of processors."""
    best = [max((c[k], name) for name, c in curves.items()) for k in range(len(processors))]
    return Curve(tuple(processors), tuple(s for s, _ in best), tuple(name for _, name in best))


@dataclass(frozen=True)
class OneState:
    """The measured seconds of one state in one way of running it."""

    lanes: int
    cores: int
    algorithm: str
    seconds: float


@dataclass(frozen=True)
class Speedup:
    """How many processors are worth it for one state: `str` of it is the answer.

    `free` is the predicted curve where messages take no time, `charged` that where each takes the time of
    `message` operations. `message_seconds` and `measured` are of this machine; None and empty where
    nothing was measured.
    """

    robot: str
    function: str
    free: Curve
    charged: Curve
    message: float
    message_seconds: float | None
    measured: tuple[OneState, ...]

    @property
    def answer(self) -> str:
        """How many processors are worth it, in one sentence."""
        source = f"{duration(self.message_seconds)}, " if self.message_seconds else ""
        charge = f"a message takes {source}{self.message:.3g} operations"
        start = f"{self.function} of {self.robot}, one state: "
        if len(self.free.processors) == 1:
            return start + "too many operations to be scheduled one by one; see what was measured."
        if self.message == 0.0:
            return start + f"{self.free.at_knee()} are worth it, if messages take no time."
        verb = "is" if self.charged.processors[self.charged.knee] == 1 else "are"
        return (
            start + f"{self.charged.at_knee()} {verb} worth it where {charge}; "
            f"{self.free.at_knee()} where values are at hand everywhere at once."
        )

    @property
    def measurements(self) -> str:
        """What was measured on this machine, in one sentence."""
        if not self.measured:
            return "Nothing was measured."
        first = self.measured[0].seconds
        parts = [
            f"{_where(m)} {duration(m.seconds)}" + ("" if k == 0 else f" ({first / m.seconds:.2f} times)")
            for k, m in enumerate(self.measured)
        ]
        return "Measured here: " + ", ".join(parts) + "."

    def __str__(self) -> str:
        return f"{self.answer} {self.measurements}"

    def plot(self, path: Any = None) -> Any:
        """Both curves over the number of processors with their knees, and what was measured."""
        from .figures.speedup_figure import speedup_figure

        return speedup_figure(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        curves = {
            name: {
                "processors": list(c.processors),
                "speedups": list(c.speedups),
                "efficiencies": list(c.efficiencies),
                "algorithms": list(c.algorithms),
                "knee": c.processors[c.knee],
            }
            for name, c in (("free", self.free), ("charged", self.charged))
        }
        return {
            "robot": self.robot,
            "function": self.function,
            **curves,
            "message_operations": self.message,
            "message_seconds": self.message_seconds,
            "measured": [vars(m) for m in self.measured],
            "answer": self.answer,
        }


def _where(m: OneState) -> str:
    """A way of running one state, in words."""
    core = "one core" if m.cores == 1 else f"{m.cores} cores"
    chosen = f" by {m.algorithm}" if "(" in m.algorithm else ""  # other than the default number of segments
    return core if m.lanes == 1 else f"{core} with segments in {m.lanes} lanes{chosen}"


def speedup(
    robot: Robot,
    function: str = "inverse_dynamics",
    *,
    processors: Sequence[int] = PROCESSORS,
    message: float | None = None,
    measure: bool = True,
    frame: str | None = None,
) -> Speedup:
    """How many processors are worth it for one state, and what this machine's lanes and cores gain.

    `message` charges each message between two processors, in operations; None is what two cores of this
    machine take, measured. Speed-ups are over one processor that takes the algorithm with the least work.
    With `measure=False` nothing runs, and messages are free unless `message` says what they take.
    """
    require_robot(robot, "speedup")
    counts = _counts(processors)
    charge = _charge(message)
    graphs, bounds = _graphs(robot, function, frame)
    if not graphs and (not measure or robot.nv == 0):
        raise PhalanxError(
            f'speedup: {function} of robot "{robot.name}" has more than {_LONG} degrees of freedom, more '
            f"than {_MANY:,} operations by every algorithm, or none at all; "
            "phalanx.schedule takes one algorithm at a time, without that limit."
        )
    if not graphs:
        alone = Curve((1,), (1.0,), (choose(robot, function).name,))
        return Speedup(robot.name, function, alone, alone, 0.0, None, _measured(robot, function, frame))
    least = min([*(sum(g.durations(pram().times)) for _, g in graphs), *(b.work for b in bounds)])
    measured: tuple[OneState, ...] = ()
    between: float | None = None
    if measure:
        measured = _measured(robot, function, frame)
        if charge is None and (between := between_cores()) is not None and measured:
            charge = between * least / measured[0].seconds
    charge = charge or 0.0
    free, charged = _curves(graphs, bounds, least, counts, charge)
    return Speedup(robot.name, function, free, charged, charge, between, measured)


def _counts(processors: Any) -> tuple[int, ...]:
    if not isinstance(processors, list | tuple | range) or not processors:
        raise PhalanxError(f"speedup: processors is {shown(processors)}, expected a list of integers.")
    return tuple(sorted({1} | {whole(p, "speedup: processors") for p in processors}))


def _charge(message: Any) -> float | None:
    if message is None:
        return None
    if isinstance(message, bool) or not isinstance(message, int | float) or not 0.0 <= message < 1e12:
        raise PhalanxError(f"speedup: message is {shown(message)}, expected operations, at least 0.")
    return float(message)


class _Greedy(NamedTuple):
    """Bounds on greedy schedules of an algorithm's operations, from its work and its critical path."""

    name: str
    work: float
    span: float

    def makespan(self, p: int) -> float:
        """At most so long on p processors, with values at hand everywhere at once."""
        return self.span + (self.work - self.span) / p


def _graphs(
    robot: Robot, function: str, frame: str | None
) -> tuple[list[tuple[str, TaskGraph]], list[_Greedy]]:
    """Task graphs of all algorithms that are placed within seconds: equations, and operations of few.

    The others, and all whose operations are too many to be placed one by one, have the bound of greedy
    schedules.
    """
    from .cost import cost

    found: list[tuple[str, TaskGraph]] = []
    bounds: list[_Greedy] = []
    names = [a.name for a in algorithms(function) if not a.refusal(robot) and robot.nv <= _LONG]
    for name in steps(names, "scheduling"):
        counted = cost(robot, function, name, frame=frame)
        total, span = counted.total, counted.span.total
        if total > _FINE and span:  # some loops have no count of their critical path
            bounds.append(_Greedy(name, float(total), float(span)))
        if not 0 < total <= _MANY:
            continue
        for granularity in ("scalar", "equation") if total <= _FINE else ("equation",):
            graph = task_graph(
                robot, function, name, granularity=granularity, convention="program", frame=frame
            )
            found.append((name, graph))
    return found, bounds


def _curves(
    graphs: Sequence[tuple[str, TaskGraph]],
    bounds: Sequence[_Greedy],
    least: float,
    counts: tuple[int, ...],
    charge: float,
) -> tuple[Curve, Curve]:
    """The best speed-ups without and with a charge for messages."""
    coarse = [(name, graph) for name, graph in graphs if graph.granularity == "equation"]

    def charged(p: int) -> Any:
        return cores(p, start_up=charge) if charge and p > 1 else pram(p)

    made = []
    for machine in (pram, charged):
        best: list[tuple[float, str]] = []
        for p in counts:
            tasks = coarse if machine is charged and charge > _DEAR else graphs
            found = best[-1:]  # a processor more may stay idle
            if machine is pram or not charge:
                found += [(bound.makespan(p), bound.name) for bound in bounds]
            floors = [_floor(graph, machine(p)) for _, graph in tasks]
            for k in sorted(range(len(tasks)), key=floors.__getitem__):
                name, graph = tasks[k]
                if not found or floors[k] <= min(found)[0] * (1.0 + _ROUNDING):
                    found.append((place(graph, machine(p)).makespan, name))
            best.append(min(found))
        made.append(Curve(counts, tuple(least / t for t, _ in best), tuple(name for _, name in best)))
    return made[0], made[1]


def _floor(graph: TaskGraph, machine: Any) -> float:
    """A lower bound on the makespan: the critical path, or the work divided among all processors."""
    durations = graph.durations(machine.times)
    return max(*lengths_from(graph, durations), sum(durations) / machine.count, 0.0)


def _measured(robot: Robot, function: str, frame: str | None) -> tuple[OneState, ...]:
    """Seconds of one state link by link, with segments in lanes where that is the choice, and on cores."""
    from ..backends.native.compile import host

    def ready(name: str) -> Callable[[], Any]:
        call = resolve(robot, function, name, frame)
        return job(call, sample(call, 1))

    serial, alone = choose(robot, function).name, choose(robot, function, 1).name
    ways: dict[tuple[int, int, str], Callable[[], Any]] = {(1, 1, serial): ready(serial)}
    if alone != serial:
        ways[host().lanes(8), 1, alone] = ready(alone)
        ways |= {(host().lanes(8), p, name): run for p, name, run in _on_cores(robot, function, frame)}
    times = wall_times(ways)
    return tuple(OneState(lanes, count, name, t) for (lanes, count, name), t in times.items())


def _on_cores(robot: Robot, function: str, frame: str | None) -> Iterator[tuple[int, str, Callable[[], Any]]]:
    """One state on two cores and on all of them, where threads can share it or more segments of it."""
    if frame is not None:
        return
    usual = resolve(robot, function, choose(robot, function, 1).name)
    for p in sorted({min(2, core_count()), core_count()} - {1}):
        for call in (usual, in_more_segments(usual, p)):
            if call is not None and (run := shared_state(call, p)):
                yield p, label(call), run
                break


def core_count() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def between_cores() -> float | None:
    """Seconds that a message takes from one core of this machine to another; None where there is one core."""
    from ..backends.native.mailboxes import round_trip

    return round_trip() / 2.0 if core_count() > 1 else None


__all__ = ["Curve", "OneState", "Speedup", "best_curve", "between_cores", "speedup"]
