# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a report says of a robot's functions: costs, times and errors of their algorithms."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from platform import python_version
from typing import Any, Literal

import numpy as np

from ...algorithms import FUNCTIONS, algorithms
from ...dispatch import choose, resolve
from ...errors import PhalanxError
from ...export.api import entries
from ...export.comments import package_version
from ...export.verilog import designed
from ...program.analyses.cost import Cost, is_countable
from ...program.lowering import operations_in_loops
from ...program.task import Call
from ...robot.robot import Robot
from ...study.accuracy import accuracies
from ...study.charts.chart import Chart
from ...study.compare import Comparison, compare
from ...study.cost import cost
from ...study.machines import Machine, pram, processor_array, systolic, transputers
from ...study.recommend import label, with_options
from ...study.schedule import schedule, speedups
from ...typing import Backend

DEFAULT = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
BATCH = 1024
INTERVALS = (1, 4, 16)  # clocks between states of pipelines
_WORK = 2_000_000_000  # operations of a batch that take some seconds
_THOROUGH = 100_000  # operations of the best algorithm up to which its critical path is computed
_LONG = 64  # links beyond which extended precision takes long


@dataclass(frozen=True)
class AlgorithmRow:
    """One algorithm of a function on a robot; times in seconds, None where something is not known."""

    algorithm: str
    options: dict[str, Any]
    source: str
    work: str
    depth: str  # the order of its critical path, as its source has it
    refused: str = ""
    cost: Cost | None = None
    operations: int | None = None  # of the kernel, where its critical path would take too long to find
    measured: Comparison | None = None
    errors: dict[str, tuple[float, float]] = field(default_factory=dict)  # largest and typical, by precision

    @property
    def name(self) -> str:
        """The algorithm with its options, as recommendations write it."""
        return with_options(self.algorithm, self.options)

    @property
    def choice(self) -> Any:
        """The value for `algorithm=`."""
        return (self.algorithm, self.options) if self.options else self.algorithm


@dataclass(frozen=True)
class Study:
    """A function of a robot: which algorithm "auto" takes, why another may be better, and all of them."""

    function: str
    frame: str | None
    auto: str
    recommended: str
    reason: str
    batch: int
    rows: list[AlgorithmRow]

    @property
    def served(self) -> list[AlgorithmRow]:
        """The algorithms that cover the robot."""
        return [row for row in self.rows if not row.refused]


def frame_for(robot: Robot, function: str) -> str | None:
    """The frame that a function is studied for: that of the last link; None if it takes none."""
    if not FUNCTIONS[function].frame:
        return None
    return robot.link_names[-1] if robot.link_names else robot.frame_names[0]


def studied(robot: Robot, function: str, *, quick: bool, batch: int | None = None) -> Study:
    """The study of a function; without times and recommendation if it is `quick`."""
    frame = frame_for(robot, function)
    calls, refused = _calls(robot, function, frame)
    states = _batch(calls.values()) if batch is None else batch
    measured = {} if quick else {_name(r): r for r in compare(robot, function, batch=states, frame=frame)}
    for row in measured.values():
        if not row.refused and row.options:
            call = resolve(robot, function, (row.algorithm, row.options), frame)
            calls[label(call)] = call
    auto = choose(robot, function, states).name
    best = next((r for r in measured.values() if r.recommended), None)
    reason = best.reason if best else ""
    recommended = _name(best) if best else auto
    errors = _errors(robot, function, frame, calls, recommended, "numpy" if quick else "auto")
    rows = [
        _row(call, measured.get(name), errors.get(name, {}), thorough=name == recommended)
        for name, call in calls.items()
    ]
    rows.sort(key=lambda r: (_total(r), r.name))
    return Study(function, frame, auto, recommended, reason, states, rows + refused)


def costs_of_others(robot: Robot, studied_names: Iterable[str]) -> dict[str, tuple[str, Cost]]:
    """The functions that are not studied, with the algorithm that "auto" takes and its cost."""
    found = {}
    for function in FUNCTIONS:
        if function in studied_names:
            continue
        try:
            call = resolve(robot, function, "auto", frame_for(robot, function))
            if is_countable(call):
                found[function] = call.algorithm.name, cost(robot, function, frame=call.frame)
        except PhalanxError:  # a function that this robot has no result for
            continue
    return found


def pipelines_of(robot: Robot) -> dict[int, dict[str, Any]] | str:
    """Facts about pipelines of the inverse dynamics by interval, or why there is none."""
    try:
        (entry,) = entries(robot, "inverse_dynamics")
        return {k: designed(entry, "arm_inverse_dynamics", interval=k).facts() for k in INTERVALS}
    except PhalanxError as error:
        return str(error)


def machine_facts() -> dict[str, str]:
    """The processor, the software and the date of the measured times."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count() or "unknown"),
        "load": f"{load:.1f}" if math.isfinite(load) else "unknown",
        "system": f"{platform.system()} {platform.machine()}",
        "software": f"Phalanx {package_version()}, NumPy {np.__version__}, Python {python_version()}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _calls(robot: Robot, function: str, frame: str | None) -> tuple[dict[str, Call], list[AlgorithmRow]]:
    calls, refused = {}, []
    for a in algorithms(function):
        try:
            call = resolve(robot, function, a.name, frame)
        except PhalanxError as error:
            why = a.refusal(robot).strip() or str(error)
            refused.append(AlgorithmRow(a.name, {}, a.source, a.work, a.span, refused=why))
            continue
        calls[label(call)] = call
    return calls, refused


def _row(
    call: Call, measured: Comparison | None, errors: dict[str, tuple[float, float]], *, thorough: bool
) -> AlgorithmRow:
    a, f = call.algorithm, call.algorithm.function
    found, operations = None, None
    if measured is not None and measured.cost is not None:
        found = measured.cost  # that of the kernel too
    elif is_countable(call) or (thorough and operations_in_loops(call) <= _THOROUGH):
        found = cost(call.robot, f, _choice(call), frame=call.frame)
    else:
        operations = operations_in_loops(call)
    return AlgorithmRow(
        a.name, dict(call.options), a.source, a.work, a.span, "", found, operations, measured, errors
    )


def _errors(
    robot: Robot, function: str, frame: str | None, calls: dict[str, Call], best: str, backend: Backend
) -> dict[str, dict[str, tuple[float, float]]]:
    """The largest and the typical error of each algorithm, by precision; single for the best one only.

    Nothing without mpmath, and for matrices of long robots, whose many digits take minutes.
    """
    long = robot.n_links > _LONG
    if long and _has_matrix(function):
        return {}
    found: dict[str, dict[str, tuple[float, float]]] = {name: {} for name in calls}
    precisions: tuple[Literal["float64", "float32"], ...] = ("float64",) if long else ("float64", "float32")
    for dtype in precisions:
        names = [name for name in calls if dtype == "float64" or name == best]
        choices = [_choice(calls[name]) for name in names]
        try:
            made = accuracies(robot, function, choices, dtype=dtype, frame=frame, backend=backend)
        except PhalanxError:  # mpmath is not installed
            return {}
        for name, one in zip(names, made, strict=True):
            found[name][dtype] = one.error, one.typical
    return found


def _choice(call: Call) -> Any:
    return (call.algorithm.name, dict(call.options)) if call.options else call.algorithm.name


def _has_matrix(function: str) -> bool:
    return any(len(shape) > 1 for shape in FUNCTIONS[function].outputs.values())


def _batch(calls: Iterable[Call]) -> int:
    """States to be timed together: fewer of long robots, of which one may take long."""
    calls = [call for call in calls if call.robot.n_links > _LONG]
    most = max((operations_in_loops(call) for call in calls), default=1)
    return max(16, min(BATCH, _WORK // max(most, 1)))


def _name(row: Comparison) -> str:
    return with_options(row.algorithm, row.options)


def _total(row: AlgorithmRow) -> float:
    if row.cost is not None:
        return row.cost.total
    return math.inf if row.operations is None else row.operations


def _processor() -> str:
    """The name of the processor as its maker writes it, or else its architecture."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "unknown"


PROCESSORS = (1, 2, 4, 8, 16, 32, 64, 128)
_DRAWN = (4, 2, 8)  # processors of charts
_MOST_TASKS = 2500  # of a chart that is still readable
_MOST_LINKS = 24  # of a robot on a paper's machine, which has processors for each
_MOST_OPERATIONS = 20_000  # of a program whose speed-up is found in a second
_MOST_DRAWN = 60_000  # of one that is cut into equations in some seconds: the best one gets a chart

# Machines of the papers, and the function and algorithm whose assignment they print.
_PAPERS: tuple[tuple[str, str, Machine, str], ...] = (
    ("inverse_dynamics", "zomaya_morris", transputers(), "4 transputers (Zomaya & Morris)"),
    ("inverse_dynamics", "luh_walker_paul", systolic(), "systolic pipeline (Lathrop)"),
    ("mass_matrix", "processor_array", processor_array(), "processor array (Fijany & Bejczy)"),
)


def charts(robot: Robot, study: Study) -> list[StudyChart]:
    """Gantt charts of a function: its algorithms on a common memory, and the papers' own machines."""
    made = []
    for algorithm, machine, title, function in _wanted(study, robot.n_links <= _MOST_LINKS):
        try:
            found = schedule(
                robot,
                function,
                algorithm,
                machine,
                granularity=None if title else "equation",
                frame=study.frame,
            )
        except PhalanxError:  # a paper's machine is for chains of revolute joints
            continue
        if 0 < len(found.timed) <= _MOST_TASKS:
            name = title or f"{len(found.processors)} processors, one memory"
            fine = None if title else _fine(robot, study, algorithm, machine)
            made.append(StudyChart(found, _label(algorithm), name, fine))
    return made


def _label(algorithm: Any) -> str:
    """The label of an algorithm: its name, with its options if it has some."""
    return algorithm if isinstance(algorithm, str) else with_options(*algorithm)


def _fine(robot: Robot, study: Study, algorithm: Any, machine: Machine) -> float | None:
    """The speed-up with scalar operations as tasks, which the curves show; None if there are too many."""
    row = next(r for r in study.served if r.choice == algorithm)
    if row.cost is None or row.cost.total > _MOST_OPERATIONS:
        return None
    return schedule(robot, study.function, algorithm, machine, frame=study.frame).speedup


def _wanted(study: Study, short: bool) -> Iterator[tuple[Any, Machine, str, str]]:
    first = [row for row in study.served if row.name == study.recommended]
    rest = [row for row in study.served if row.name != study.recommended]
    for row in first + rest:
        if row.cost is None or row.cost.total > (_MOST_DRAWN if row in first else _MOST_OPERATIONS):
            continue
        several = row in first and row.cost.total <= _MOST_OPERATIONS
        for p in _DRAWN if several else _DRAWN[:1]:
            yield row.choice, pram(p), "", study.function
    for function, algorithm, machine, title in _PAPERS:
        if short and function == study.function and any(row.algorithm == algorithm for row in study.served):
            yield algorithm, machine, title, function


@dataclass(frozen=True, eq=False)
class StudyChart(Chart):
    """A schedule of a study: by which algorithm, on which machine.

    `fine` is its speed-up with scalar operations as tasks, if it is known.
    """

    algorithm: str
    machine: str
    fine: float | None = None

    def data(self) -> dict[str, Any]:
        names = {"algorithm": self.algorithm, "machine": self.machine, "facts": self.facts()}
        return super().data() | names | {"speedup": self.schedule.speedup}

    def facts(self) -> str:
        """The figures of the schedule in one sentence."""
        s = self.schedule
        finer = (
            f" ({self.fine:.2f} if single operations are the tasks, as in the curves below)"
            if self.fine
            else ""
        )
        messages = f", {len(s.messages)} messages with {s.words} numbers" if s.messages else ""
        return (
            f"{len(s.timed)} tasks ({s.graph.granularity}s) in {s.makespan:.4g} {s.machine.unit}: speed-up "
            f"{s.speedup:.2f} on {len(s.processors)} processors over {s.rival}{finer}; "
            f"parallel efficiency of the algorithm {s.efficiency:.0%}; critical path {s.span:.4g}, "
            f"work {s.work:.5g}{messages}."
        )


def speedups_of(robot: Robot, study: Study) -> dict[str, list[float]]:
    """Speed-ups on `PROCESSORS` of all algorithms that are scheduled within a second, the best first.

    `phalanx.figures.speedup_over_processors` draws the same.
    """
    names = [
        row.algorithm
        for row in study.served
        if not row.options and row.cost is not None and 0 < row.cost.total <= _MOST_OPERATIONS
    ]
    found = speedups(robot, study.function, names, PROCESSORS, frame=study.frame)
    return dict(sorted(found.items(), key=lambda item: -item[1][-1]))
