# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The algorithms of a function side by side on one robot: counted, timed and checked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms import FUNCTIONS, algorithms
from ..analysis.cost import Cost
from ..backends.base import Call, backend
from ..dispatch import choose, compute, resolve
from ..errors import PhalanxError
from ..robot import Robot


@dataclass(frozen=True)
class Comparison:
    """One algorithm on one robot; times in seconds, `refused` tells why it has none."""

    algorithm: str
    source: str
    span: str
    backend: str = ""
    cost: Cost | None = None
    prepare: float = float("nan")
    one_state: float = float("nan")
    per_state: float = float("nan")
    error: float = float("nan")
    chosen: bool = False
    refused: str = ""


def compare(
    robot: Robot, function: str, *, batch: int = 1024, progress: Callable[[str], None] | None = None
) -> list[Comparison]:
    """All algorithms of a function on a robot, the fastest on a batch first, refusals last.

    Errors are relative to the largest entry, against the NumPy reference of the choice of "auto".
    Times are of one thread.
    """
    if function in FUNCTIONS and FUNCTIONS[function].frame:
        raise PhalanxError(f"compare: {function} has one algorithm; nothing to compare.")
    chosen = choose(robot, function)
    inputs = _inputs(resolve(robot, function, chosen.name), batch)
    reference = compute(resolve(robot, function), inputs, {}, runner=backend("numpy"), threads=1)
    rows = []
    for algorithm in algorithms(function):
        if progress is not None:
            progress(algorithm.name)
        facts: dict[str, Any] = {"source": algorithm.source, "span": algorithm.span}
        try:
            call = resolve(robot, function, algorithm.name)
            rows.append(
                Comparison(
                    algorithm.name, **facts, **_measured(call, inputs, reference), chosen=algorithm is chosen
                )
            )
        except PhalanxError as error:
            rows.append(Comparison(algorithm.name, **facts, refused=str(error)))
    return sorted(rows, key=lambda r: (bool(r.refused), r.per_state))


def _inputs(call: Call, batch: int) -> tuple[np.ndarray, ...]:
    states = call.robot.random_state(batch, rng=0)
    return states[: len(call.function.inputs)]


def _measured(call: Call, inputs: tuple[np.ndarray, ...], reference: np.ndarray) -> dict[str, Any]:
    """Cost, times and error of a call, on the backend that "auto" would take."""
    native = backend("native")
    runner = native if call.robot.nv and native.serves(call) else backend("numpy")
    start = time.perf_counter()
    one = tuple(x[0].copy() for x in inputs)
    single = np.array(compute(call, one, {}, runner=runner, threads=1))
    prepared = time.perf_counter() - start
    result = compute(call, inputs, {}, runner=runner, threads=1)
    size = np.abs(reference).max() or 1.0
    return {
        "backend": runner.name,
        "cost": runner.cost(call),
        "prepare": prepared,
        "error": float(np.abs(result - reference).max() / size),
        "one_state": _best(runner.job(call, one, single)),
        "per_state": _best(runner.job(call, inputs, result)) / len(inputs[0]),
    }


def _best(job: Callable[[], Any], seconds: float = 0.05) -> float:
    """The shortest of some runs; bursts, because wide vector units need a moment to wake up."""
    job()
    start = time.perf_counter()
    job()
    burst = max(1, int(0.002 / (time.perf_counter() - start + 1e-9)))
    best = float("inf")
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(burst):
            job()
        best = min(best, (time.perf_counter() - start) / burst)
    return best
