# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What does one state cost from Python, and how do Python threads scale, on any build of Python?

    python benchmarks/python_threads.py [--robot panda] [--threads N] [--through-ufunc]

Nanoseconds of a call on one thread (the least of many rounds), and how many more calls several threads
make together, each on arrays of its own (the best of many rounds: the machine may be busy). A loop in
Python alone tells what the interpreter and the machine allow.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from machine import conditions

import phalanx as px
from phalanx.backends.base import available_threads
from phalanx.backends.native import objects

ROUNDS = 12
SECONDS = 0.04  # of a round


def ways(robot: px.Robot, seed: int) -> dict[str, Callable[[], Any]]:
    """Calls for one state, and for a thousand, on arrays of their own."""
    kernel = robot.kernel("inverse_dynamics")
    state = robot.random_state(rng=seed)
    rows = robot.random_state(1000, rng=seed)
    out, many = np.empty(robot.nv), np.empty((1000, robot.nv))
    robot.inverse_dynamics(*state)

    def alone() -> int:
        total = 0
        for k in range(100):
            total += k
        return total

    return {
        "Python alone": alone,
        "np.add": lambda: np.add(state[0], state[0], out=out),
        "method": lambda: robot.inverse_dynamics(*state),
        "kernel": lambda: kernel(*state),
        "kernel, out": lambda: kernel(*state, out=out),
        "bound": kernel.bind(*state, out=out),
        "1000 states": lambda: kernel(*rows, out=many, threads=1),
    }


def rates(jobs: list[Callable[[], Any]], calls: int) -> list[float]:
    """Calls a second of all jobs together, a thread for each, in every round."""
    start = threading.Barrier(len(jobs))
    spans: list[list[tuple[float, float]]] = [[] for _ in jobs]

    def run(job: Callable[[], Any], mine: list[tuple[float, float]]) -> None:
        stay(next(k for k, each in enumerate(spans) if each is mine))
        for _ in range(ROUNDS):
            start.wait()
            begun = time.perf_counter()
            for _ in range(calls):
                job()
            mine.append((begun, time.perf_counter()))

    threads = [threading.Thread(target=run, args=pair) for pair in zip(jobs, spans, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rounds = zip(*spans, strict=True)
    return [len(jobs) * calls / (max(b for _, b in r) - min(a for a, _ in r)) for r in rounds]


def stay(number: int) -> None:
    """Keep this thread on a core of its own: a busy system may put two that wake each other on one."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})


def calls_of(job: Callable[[], Any]) -> int:
    """Calls that take about as long as a round."""
    begun, count = time.perf_counter(), 0
    while time.perf_counter() - begun < SECONDS:
        job()
        count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--threads", type=int, default=available_threads())
    parser.add_argument(
        "--through-ufunc", action="store_true", help="as where objects are laid out differently"
    )
    options = parser.parse_args()
    print(conditions())
    if options.through_ufunc:
        objects.usable = lambda: False  # type: ignore[assignment]
    robot = px.load(options.robot)
    each = [ways(robot, seed) for seed in range(options.threads)]
    print(f"\n{'':14}     ns  {options.threads} threads")
    for name, job in each[0].items():
        calls = calls_of(job)
        one = max(rates([job], calls))
        many = max(rates([way[name] for way in each], calls))
        print(f"{name:14} {1e9 / one:6.0f} {many / one:7.2f} times")


if __name__ == "__main__":
    main()
