# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How long jobs take, measured side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ...arrays import empty_result
from ...backends.base import Call, backend

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Sample:
    """Random states of a robot and places for the results; algorithms to be compared share them."""

    inputs: tuple[np.ndarray, ...]
    outs: tuple[np.ndarray, ...]


def sample(call: Call, batch: int, dtype: Any = np.float64) -> Sample:
    """States for a call; a batch of one is one state without a batch axis."""
    states = call.robot.random_state(batch, rng=0)[: len(call.function.inputs)]
    inputs = tuple(np.ascontiguousarray(x[0] if batch == 1 else x, dtype) for x in states)
    shape = () if batch == 1 else (batch,)
    sizes = call.output_sizes().values()
    return Sample(inputs, tuple(empty_result((*shape, *size), np.dtype(dtype)) for size in sizes))


def job(call: Call, states: Sample, name: str = "native") -> Callable[[], Any]:
    """A call on a backend, ready to be timed."""
    return backend(name).job(call, states.inputs, states.outs)


def timed(
    jobs: Mapping[Key, Callable[[], Any]], *, rounds: int = 11, burst: float = 0.002
) -> dict[Key, list[float]]:
    """Seconds of each job, once per round; in a round every job has its turn.

    So whatever else the machine does strikes all alike; where its clock is fine enough, only the
    processor's time for this thread counts. Jobs run in bursts, because wide vector units need a moment to
    wake up.
    """
    fine = time.get_clock_info("thread_time").resolution <= 1e-6
    clock = time.thread_time if fine else time.perf_counter
    counts = {key: _count(job, burst) for key, job in jobs.items()}
    seconds: dict[Key, list[float]] = {key: [] for key in jobs}
    for _ in range(rounds):
        for key, job in jobs.items():
            count = counts[key]
            start = clock()
            for _ in range(count):
                job()
            seconds[key].append((clock() - start) / count)
    return seconds


def _count(job: Callable[[], Any], burst: float) -> int:
    """How many runs make a burst."""
    job()
    start = time.perf_counter()
    job()
    return max(1, int(burst / (time.perf_counter() - start + 1e-9)))
