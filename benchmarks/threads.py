# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How much faster are several threads than one, by size of the batch, and what does the machine allow?

    python benchmarks/threads.py [--robot panda] [--function forward_dynamics] [--threads N] [--json FILE]

Calls on one thread and on all alternate in bursts within one run, each burst a loop of calls; medians. Columns:
into `out`, new results, and inputs that lie backwards in memory. The bound is what independent threads reach
that compute a batch each, again and again, without ever waiting: cores that share a clock, a cache or the
units of one physical core show there, not in how a batch is split. At the end, the processor time that
waiting workers take from ten milliseconds after the last call on.
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
from machine import conditions

import phalanx as px
from phalanx.backends.base import available_threads

BURST = 0.02  # seconds of calls in a row, at least three


def seconds_of(jobs: dict[str, Callable[[], Any]], bursts: int) -> dict[str, float]:
    """The median time of each job, in alternating bursts."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(bursts):
        for name, job in jobs.items():
            first = last = time.perf_counter()
            count = 0
            while last - first < BURST or count < 3:
                job()
                times[name].append(time.perf_counter() - last)
                last += times[name][-1]
                count += 1
    return {name: median(found) for name, found in times.items()}


def idle_share(job: Callable[[], Any], seconds: float = 1.0) -> float:
    """Processor time of this process, per second, from ten milliseconds after some calls on."""
    for _ in range(20):
        job()
    time.sleep(0.01)
    begun, spent = time.perf_counter(), time.process_time()
    time.sleep(seconds)
    return (time.process_time() - spent) / (time.perf_counter() - begun)


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
    parser.add_argument("--threads", type=int, default=available_threads())
    parser.add_argument("--batches", type=int, nargs="*", default=[1024, 4096, 8192, 16384, 65536, 262144])
    parser.add_argument("--bursts", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(conditions())
    robot = px.load(options.robot)
    kernel = robot.kernel(options.function)
    rows = []
    print(f"{robot.name}, {options.function}: {options.threads} threads against one, milliseconds\n")
    print("  batch    one   all  ratio     one   all  ratio     one   all  ratio   bound")
    print("          into `out`           new results          backwards")
    for batch in options.batches:
        inputs = robot.random_state((batch,), rng=0)[: len(kernel.signature.split("->")[0].split("),"))]
        inputs = tuple(np.ascontiguousarray(x) for x in inputs)
        turned = tuple(x[::-1] for x in inputs)
        out = kernel(*inputs, threads=1)
        jobs = {}
        for name, threads in (("one", 1), ("all", options.threads)):
            jobs[name] = lambda x=inputs, out=out, n=threads: kernel(*x, out=out, threads=n)
            jobs["new " + name] = lambda x=inputs, n=threads: kernel(*x, threads=n)
            jobs["turned " + name] = lambda x=turned, out=out, n=threads: kernel(*x, out=out, threads=n)
        took = seconds_of(jobs, options.bursts)
        most = bound(kernel, inputs, options.threads, turns=max(4, 1_000_000 // batch))
        ratios = [took[kind + "one"] / took[kind + "all"] for kind in ("", "new ", "turned ")]
        rows.append({"batch": batch, "seconds": took, "ratio": ratios, "bound": most})
        cells = [
            f"{1e3 * took[kind + 'one']:6.2f}{1e3 * took[kind + 'all']:6.2f}{ratio:7.2f}"
            for kind, ratio in zip(("", "new ", "turned "), ratios, strict=True)
        ]
        print(f"{batch:7} {'  '.join(cells)} {most:7.2f}")
    idle = idle_share(jobs["all"])
    print(f"\nworkers at rest: {1e3 * idle:.2f} ms of processor time per second")
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "idle": idle}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
