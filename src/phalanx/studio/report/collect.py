# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a report tells of a robot's functions: costs, times and errors of their algorithms."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from platform import python_version
from typing import Any, Literal

import numpy as np

from ...algorithms import FUNCTIONS, algorithms
from ...backends.base import Call
from ...backends.native.costs import is_countable
from ...backends.native.lowering import operations_in_loops
from ...dispatch import choose, resolve
from ...errors import PhalanxError
from ...export.request import package_version
from ...program.cost import Cost
from ...robot.robot import Robot
from ...study.accuracy import accuracies
from ...study.compare import Comparison, compare
from ...study.cost import cost
from ...study.recommend import label
from ...typing import Backend

DEFAULT = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
BATCH = 1024
_WORK = 2_000_000_000  # operations of a batch for which one waits some seconds
_THOROUGH = 100_000  # operations of the best algorithm up to which its critical path is waited for
_LONG = 64  # links beyond which many digits take long


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
        options = ", ".join(f"{k}={v}" for k, v in self.options.items())
        return self.algorithm + (f"({options})" if options else "")

    @property
    def choice(self) -> Any:
        """What to pass as `algorithm=`."""
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
    """The frame that a function is asked for: that of the last link; None if it takes none."""
    if not FUNCTIONS[function].frame:
        return None
    return robot.link_names[-1] if robot.link_names else robot.frame_names[0]


def studied(robot: Robot, function: str, *, quick: bool, batch: int | None = None) -> Study:
    """All that is to be told of a function; without times and recommendation if it shall be `quick`."""
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


def costs_of_others(robot: Robot, told: Iterable[str]) -> dict[str, tuple[str, Cost]]:
    """The functions that are not studied, with the algorithm that "auto" takes and its cost."""
    found = {}
    for function in FUNCTIONS:
        if function in told:
            continue
        try:
            call = resolve(robot, function, "auto", frame_for(robot, function))
            if is_countable(call):
                found[function] = call.algorithm.name, cost(robot, function, frame=call.frame)
        except PhalanxError:  # a function that this robot has no result for
            continue
    return found


def machine_facts() -> dict[str, str]:
    """The processor, the software and the date, without which a time says nothing."""
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
        asked = [_choice(calls[name]) for name in names]
        try:
            made = accuracies(robot, function, asked, dtype=dtype, frame=frame, backend=backend)
        except PhalanxError:  # mpmath is not there
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
    options = ", ".join(f"{k}={v}" for k, v in row.options.items())
    return row.algorithm + (f"({options})" if options else "")


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
