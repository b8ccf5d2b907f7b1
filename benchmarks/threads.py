# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Threads against one thread, by size of the batch, and what the machine itself allows.

    python benchmarks/threads.py [--robot panda] [--function forward_dynamics] [--threads N] [--json FILE]

Calls alternate in bursts within one run; medians. The bound is what independent threads reach that
compute a batch each, again and again, without ever waiting: cores that share a clock, a cache or the
units of one physical core show there, not in how a batch is split.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import phalanx as px

BURST = 6  # calls in a row


def seconds_of(jobs: dict[str, Callable[[], Any]], bursts: int) -> dict[str, float]:
    """The median time of each job, in alternating bursts."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(bursts):
        for name, job in jobs.items():
            for _ in range(BURST):
                begun = time.perf_counter()
                job()
                times[name].append(time.perf_counter() - begun)
    return {name: median(found) for name, found in times.items()}


def bound(kernel: Any, inputs: tuple[np.ndarray, ...], threads: int, turns: int) -> float:
    """How much more `threads` independent threads compute than one does."""

    def rate(count: int) -> float:
        start = threading.Barrier(count + 1)
        spent: list[float] = []

        def run() -> None:
            out = np.empty((len(inputs[0]), *kernel(*(x[:1] for x in inputs)).shape[1:]))
            kernel(*inputs, out=out, threads=1)
            start.wait()
            begun = time.perf_counter()
            for _ in range(turns):
                kernel(*inputs, out=out, threads=1)
            spent.append(time.perf_counter() - begun)

        workers = [threading.Thread(target=run) for _ in range(count)]
        for worker in workers:
            worker.start()
        start.wait()
        for worker in workers:
            worker.join()
        return sum(turns / t for t in spent)

    found = [(rate(threads), rate(1)) for _ in range(5)]
    return median(many / one for many, one in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--function", default="forward_dynamics")
    parser.add_argument("--threads", type=int, default=px.dispatch.available_threads())
    parser.add_argument("--batches", type=int, nargs="*", default=[1024, 4096, 16384, 65536, 262144])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    robot = px.load(options.robot)
    kernel = robot.kernel(options.function)
    rows = []
    print(f"{robot.name}, {options.function}: {options.threads} threads against one, milliseconds\n")
    print("  batch    one   all  ratio     one   all  ratio   bound")
    print("          into `out`           new results")
    for batch in options.batches:
        inputs = robot.random_state((batch,), rng=0)[: len(kernel.signature.split("->")[0].split("),"))]
        inputs = tuple(np.ascontiguousarray(x) for x in inputs)
        out = kernel(*inputs, threads=1)
        jobs = {
            "one": lambda x=inputs, out=out: kernel(*x, out=out, threads=1),
            "all": lambda x=inputs, out=out: kernel(*x, out=out, threads=options.threads),
            "new one": lambda x=inputs: kernel(*x, threads=1),
            "new all": lambda x=inputs: kernel(*x, threads=options.threads),
        }
        took = seconds_of(jobs, bursts=max(8, min(40, 2_000_000 // batch)))
        most = bound(kernel, inputs, options.threads, turns=max(4, 1_000_000 // batch))
        ratios = took["one"] / took["all"], took["new one"] / took["new all"]
        rows.append({"batch": batch, "seconds": took, "ratio": ratios, "bound": most})
        ms = {name: 1e3 * t for name, t in took.items()}
        print(
            f"{batch:7} {ms['one']:6.2f}{ms['all']:6.2f}{ratios[0]:7.2f}"
            f"  {ms['new one']:6.2f}{ms['new all']:6.2f}{ratios[1]:7.2f} {most:7.2f}"
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
