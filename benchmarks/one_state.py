# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One state of one long chain on one core: what lanes give where there is no batch, as ratios.

    python benchmarks/one_state.py [--links 1000] [--rounds 60] [--json FILE]

Inverse dynamics, forward dynamics and the mass matrix by what "auto" takes for one state and link by link,
and filling an array as large as the matrix, in bursts of calls by turns in one run; the least time of a call
counts. "full registers" is the serial form with copies of the state in all lanes. `PHALANX_CPU=avx2` lowers
the processor.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import phalanx as px
from phalanx.backends.native import build
from phalanx.backends.native.compile import host
from phalanx.backends.native.emit import widths

_CALLS = 10  # in a burst, at least
SERIAL = {"inverse_dynamics": "cartesian_tensor", "forward_dynamics": "aba", "mass_matrix": "crba"}


def job(robot: px.Robot, function: str, **choice: Any) -> Callable[[], Any]:
    """A function that computes one state again and again."""
    kernel = robot.kernel(function, **choice)
    state = robot.random_state(rng=1)[: kernel.ufunc.nin]
    step = kernel.bind(*state, out=aligned(kernel.ufunc(*state).shape))
    step()
    return step


def aligned(shape: tuple[int, ...]) -> np.ndarray:
    """Memory that begins where a line of cache does, as results that Phalanx allocates."""
    raw = np.empty(int(np.prod(shape)) + 8)
    return raw[(-raw.ctypes.data) % 64 // 8 :][: int(np.prod(shape))].reshape(shape)


def in_full_registers(robot: px.Robot, function: str) -> Callable[[], Any]:
    """The serial form as it would be without narrow registers, compiled for this run only."""
    before = widths.WIDE, widths._LITTLE, build.cache.read, build.cache.write
    widths.WIDE, widths._LITTLE = 1 << 30, 1 << 60
    build.cache.read, build.cache.write = (lambda key: None), (lambda key, code: None)
    try:
        return job(robot.replace(), function, algorithm=SERIAL[function])
    finally:
        widths.WIDE, widths._LITTLE, build.cache.read, build.cache.write = before


def measured(jobs: dict[str, Callable[[], Any]], rounds: int, burst: float = 1e-3) -> dict[str, float]:
    """The least seconds of each job: bursts of calls, one job after another, so that caches are its own."""
    least = dict.fromkeys(jobs, np.inf)
    for _ in range(rounds):
        for name, run in jobs.items():
            end, calls = time.perf_counter() + burst, 0
            while (start := time.perf_counter()) < end or calls < _CALLS:
                run()
                calls += 1
                least[name] = min(least[name], time.perf_counter() - start)
    return least


def fresh(fills: dict[str, Callable[[np.ndarray], Any]], n: int, rounds: int = 12) -> dict[str, float]:
    """The least seconds to fill arrays that nobody has touched before, by turns."""
    kept, least = [], dict.fromkeys(fills, np.inf)
    for _ in range(rounds):
        for name, fill in fills.items():
            array = np.empty((n, n))
            start = time.perf_counter()
            fill(array)
            least[name] = min(least[name], time.perf_counter() - start)
            kept.append(array)
    return least


def processor() -> str:
    """The name of the processor, and of what is used of it."""
    names = [line for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    name = names[0].partition(":")[2].strip() if names else host().cpu
    return f"{name} ({host().cpu}, {host().bits} bits)"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def main() -> None:
    """Print times and ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    robot, n = px.chain(options.links), options.links
    jobs: dict[str, Callable[[], Any]] = {}
    for function, serial in SERIAL.items():
        jobs[f"{function}, one state"] = job(robot, function, batch=1)
        jobs[f"{function}, {serial}"] = job(robot, function, algorithm=serial)
        if function != "mass_matrix":
            jobs[f"{function}, {serial}, full registers"] = in_full_registers(robot, function)
    matrix = aligned((n, n))
    jobs["fill"] = lambda: matrix.fill(1.0)
    times = measured(jobs, options.rounds)
    q = robot.random_state(rng=1)[0]
    kernel = robot.kernel("mass_matrix", batch=1)
    untouched: dict[str, Callable[[np.ndarray], Any]] = {
        "mass_matrix, fresh memory": lambda out: kernel(q, out=out),
        "fill, fresh memory": lambda out: out.fill(1.0),
    }
    times |= fresh(untouched, n)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"{n} links, one state, one core; {processor()}, {datetime.date.today()}, load {load:.1f}\n")
    for name, seconds in times.items():
        print(f"{name:52}{seconds * 1e6:10.1f} us")
    print()
    ratios = {}
    for function, serial in SERIAL.items():
        ratios[f"{function}: {serial} / one state"] = (
            times[f"{function}, {serial}"] / times[f"{function}, one state"]
        )
        if function != "mass_matrix":
            ratios[f"{function}: full registers / one state"] = (
                times[f"{function}, {serial}, full registers"] / times[f"{function}, one state"]
            )
    ratios["mass_matrix: one state / fill"] = times["mass_matrix, one state"] / times["fill"]
    ratios["mass_matrix: one state / fill, fresh memory"] = (
        times["mass_matrix, fresh memory"] / times["fill, fresh memory"]
    )
    for name, ratio in ratios.items():
        print(f"{name:52}{ratio:10.2f}")
    if options.json:
        about = {"processor": processor(), "date": str(datetime.date.today()), "load": load, "links": n}
        options.json.write_text(json.dumps({**about, "seconds": times, "ratios": ratios}, indent=1))


if __name__ == "__main__":
    main()
