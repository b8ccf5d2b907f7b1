# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What do SIMD lanes gain for one state of one long chain on one core, and what do more cores gain?

    python benchmarks/one_state.py [--links 1000] [--rounds 60] [--doubling] [--json FILE]
    python benchmarks/one_state.py --threads 2 [--rounds 30] [--json FILE]
    python benchmarks/one_state.py --rollouts [--links 1000 20000] [--rounds 10] [--json FILE]

With `--threads`: the time of so many threads over that of one by the length of the chain, when the workers are
awake and when they have to be woken; beside it, states of their own on every core at once.

Inverse dynamics, forward dynamics and the mass matrix by what "auto" takes for one state and link by link,
scans and eliminations in segments, and filling an array as large as the matrix, in bursts of calls by turns
in one run; the least time of a call counts. "full registers" is the serial form with copies of the state in all lanes. `PHALANX_CPU=avx2` lowers
the processor. `--doubling` prints from how many links on recursive doubling overtakes composite bodies instead,
`--rollouts` what a step of a simulation takes: of one and of eight, which go link by link, and on two threads.
"""

from __future__ import annotations

import argparse
import datetime
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import conditions, load, processor

import phalanx as px
from phalanx.backends.native import build
from phalanx.backends.native.compile import host
from phalanx.backends.native.emit import widths

_CALLS = 10  # in a burst, at least
SERIAL = {"inverse_dynamics": "cartesian_tensor", "forward_dynamics": "aba", "mass_matrix": "crba"}

# Algorithms whose sweeps run in segments, or columns in lanes, and the form that they are measured against.
CUT = {
    ("inverse_dynamics", "lathrop"): ("inverse_dynamics", "luh_walker_paul"),
    ("inverse_dynamics", "scan"): ("inverse_dynamics", "luh_walker_paul"),
    ("inverse_dynamics", "luh_walker_paul"): ("inverse_dynamics", "luh_walker_paul"),
    ("forward_dynamics", "abia"): ("forward_dynamics", "aba"),
    ("forward_dynamics", "cfa"): ("forward_dynamics", "aba"),
    ("forward_dynamics", "cfa, published"): ("forward_dynamics", "aba"),
    ("forward_dynamics", "dca"): ("forward_dynamics", "aba"),
    ("mass_matrix", "recursive_doubling"): ("mass_matrix", "composite_original"),
    ("mass_matrix", "newton_euler_variant"): ("mass_matrix", "composite_original"),
    ("mass_matrix", "processor_array"): ("mass_matrix", "composite_original"),
}
# Algorithms with options, by the name that the rows have.
OPTIONS = {"cfa, published": ("cfa", {"solver": "odd_even", "bias": "global"})}
# Eliminations, which are also measured from link to link.
LOOPED = ("cfa", "cfa, published", "dca", "recursive_doubling")
LENGTHS = (65, 100, 128, 200, 256, 400, 512, 700, 1000)  # of the table of recursive doubling


def job(robot: px.Robot, function: str, **choice: Any) -> Callable[[], Any]:
    """A function that computes one state again and again."""
    kernel = robot.kernel(function, **choice)
    state = robot.random_state(rng=1)[: kernel.ufunc.nin]
    step = kernel.bind(*state, out=aligned(kernel.ufunc(*state).shape))
    step()
    return step


def doubling(rounds: int) -> dict[int, float]:
    """By length of the chain, the time of recursive doubling over that of composite bodies."""
    found = {}
    for n in LENGTHS:
        robot = px.chain(n)
        both = {
            name: job(robot, "mass_matrix", algorithm=name, batch=1)
            for name in ("recursive_doubling", "composite_original")
        }
        times = measured(both, rounds)
        found[n] = times["recursive_doubling"] / times["composite_original"]
    return found


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


SHARED = ("forward_dynamics", "inverse_dynamics", "forward_kinematics", "mass_matrix")
# Chains below 10,000 links have 8 segments by default, which one thread computes.
_SHARING: dict[str, Any] = {
    "forward_dynamics": ("partition", {"segments": 16}),
    "inverse_dynamics": ("partition", {"segments": 16}),
    "forward_kinematics": ("recursive", {"segments": 16}),
}
_MATRIX = 2500  # links up to which the mass matrix is measured
_ASLEEP = 4e-3  # seconds after which workers sleep
_ROWS = 512  # states of a batch of its own: with so many, a bound step releases the GIL


def with_threads(links: list[int], threads: int, rounds: int) -> dict[str, dict[str, float]]:
    """Seconds of one state by function, links and number of threads, workers awake and asleep."""
    jobs: dict[str, Callable[[], Any]] = {}
    for n in links:
        robot = px.chain(n)
        for function in SHARED:
            if function == "mass_matrix" and n > _MATRIX:
                continue
            algorithm = {"algorithm": _SHARING[function]} if function in _SHARING else {}
            kernel = robot.kernel(function, batch=1, **algorithm)
            state = robot.random_state(rng=1)[: kernel.ufunc.nin]
            out = aligned(kernel.ufunc(*state).shape)
            for p in (1, threads):
                jobs[f"{function}, {n}, {p}"] = kernel.bind(*state, out=out, threads=p)
    awake = measured(jobs, rounds)
    woken: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, run in jobs.items():
            alone = jobs[f"{name.rpartition(', ')[0]}, 1"]
            time.sleep(_ASLEEP)
            for _ in range(_CALLS):  # caches and clock are then alike for both, and workers still asleep
                alone()
            start = time.perf_counter()
            run()
            woken[name].append(time.perf_counter() - start)
    return {"awake": awake, "asleep": {name: float(np.median(x)) for name, x in woken.items()}}


def independent(n: int, threads: int) -> dict[int, float]:
    """Seconds of a state on one thread, and on as many threads as there are batches of their own."""
    robot = px.chain(n)
    kernel = robot.kernel("forward_dynamics", batch=1)
    state = [np.stack([x] * _ROWS) for x in robot.random_state(rng=1)]
    outs = [np.empty((_ROWS, n)) for _ in range(threads)]
    found = {}
    for count in (1, threads):
        steps = [kernel.bind(*state, out=out) for out in outs[:count]]
        best = np.inf
        for _ in range(10):
            workers = [threading.Thread(target=step) for step in steps]
            start = time.perf_counter()
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            best = min(best, (time.perf_counter() - start) / _ROWS)
        found[count] = best
    return found


def print_threads(options: argparse.Namespace) -> None:
    """Print times on one and on several threads."""
    links, p = options.links or [1000, 2048, 3000, 5000, 10_000], options.threads
    times, alone = with_threads(links, p, options.rounds), independent(2048, p)
    print(f"{conditions()}; {host().cpu}, {host().bits} bits\none state, {p} threads over one\n")
    print(f"{'function, links':32}{'one, us':>10}{'awake':>10}{'asleep':>10}")
    for name, seconds in times["awake"].items():
        what, _, count = name.rpartition(", ")
        if count == "1":
            ratios = [t[f"{what}, {p}"] / t[name] for t in times.values()]
            print(f"{what:32}{seconds * 1e6:10.1f}" + "".join(f"{ratio:10.2f}" for ratio in ratios))
    print(f"\nbatches of their own on {p} threads at once, over one: {alone[p] / alone[1]:.2f}")
    if options.json:
        about = {"processor": processor(), "date": str(datetime.date.today()), "load": load(), "threads": p}
        options.json.write_text(json.dumps({**about, **times, "independent": alone}, indent=1))


_STEPS = 50  # of a rollout


def steps_of(robot: px.Robot, count: int, threads: int) -> tuple[Callable[[], Any], list[float]]:
    """A rollout of so many simulations, and the moments at which its steps began."""
    moments: list[float] = []

    def law(t: float, q: np.ndarray, qd: np.ndarray, u: np.ndarray, robot: Any) -> np.ndarray:
        moments.append(time.perf_counter())
        return u

    sim = robot.simulation(1e-5, integrator="euler", control=law, controls=robot.nv)
    batch = (count,) if count > 1 else ()
    q, qd, u = np.full((*batch, robot.nq), 0.01), np.zeros((*batch, robot.nv)), np.zeros(robot.nv)
    return lambda: sim.rollout(q, qd, u, steps=_STEPS, every=_STEPS, threads=threads), moments


def print_rollouts(options: argparse.Namespace) -> None:
    """Print times of a step of Euler's."""
    print(f"{conditions()}; {host().cpu}, {host().bits} bits\na step of rollouts, least, us\n")
    rolled = {"one, 1 thread": (1, 1), "one, 2 threads": (1, 2), "eight, 1 thread": (8, 1)}
    names = (*rolled, "forward dynamics, bound", "aba, bound")
    print(f"{'links':>7}" + "".join(f"{name:>25}" for name in names))
    found = {}
    for n in options.links or [300, 1000, 10_000, 20_000]:
        robot = px.snake(n)
        rollouts = {name: steps_of(robot, *which) for name, which in rolled.items()}
        least = dict.fromkeys(names, np.inf)
        jobs = {
            names[-2]: job(robot, "forward_dynamics", batch=1),
            names[-1]: job(robot, "forward_dynamics", algorithm="aba"),
        }
        for _ in range(min(options.rounds, 20)):
            for name, (run, moments) in rollouts.items():
                moments.clear()
                run()
                least[name] = min(least[name], float(np.diff(moments[-_STEPS:]).min()))
            for name, seconds in measured(jobs, 1).items():
                least[name] = min(least[name], seconds)
        found[n] = least
        print(f"{n:7}" + "".join(f"{least[name] * 1e6:25.1f}" for name in names))
    if options.json:
        about = {"processor": processor(), "date": str(datetime.date.today()), "load": load()}
        options.json.write_text(json.dumps({**about, "steps": found}, indent=1))


def main() -> None:
    """Print times and ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", type=int, nargs="+")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--doubling", action="store_true")
    parser.add_argument("--rollouts", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.rollouts:
        return print_rollouts(options)
    if options.threads:
        return print_threads(options)
    if options.doubling:
        print(f"{conditions()}; {host().cpu}, {host().bits} bits\nrecursive doubling / composite bodies\n")
        for length, ratio in doubling(options.rounds).items():
            print(f"{length:6} links{ratio:10.2f}")
        return None
    (n,) = options.links or [1000]
    robot = px.chain(n)
    jobs: dict[str, Callable[[], Any]] = {}
    for function, serial in SERIAL.items():
        jobs[f"{function}, one state"] = job(robot, function, batch=1)
        jobs[f"{function}, {serial}"] = job(robot, function, algorithm=serial)
        if function != "mass_matrix":
            jobs[f"{function}, {serial}, full registers"] = in_full_registers(robot, function)
    for function, algorithm in CUT:
        chosen = OPTIONS.get(algorithm, algorithm)
        jobs[f"{function}, {algorithm}, segments"] = job(robot, function, algorithm=chosen, batch=1)
        if algorithm in LOOPED:
            jobs[f"{function}, {algorithm}, link by link"] = job(robot, function, algorithm=chosen)
    for function, serial in CUT.values():
        if f"{function}, {serial}" not in jobs:
            jobs[f"{function}, {serial}"] = job(robot, function, algorithm=serial)
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
    busy = load()
    print(f"{conditions()}; {host().cpu}, {host().bits} bits\n{n} links, one state, one core\n")
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
    for (function, algorithm), (_, serial) in CUT.items():
        cut = times[f"{function}, {algorithm}, segments"]
        ratios[f"{function}: {algorithm} in segments / {serial}"] = cut / times[f"{function}, {serial}"]
        if algorithm in LOOPED:
            looped = times[f"{function}, {algorithm}, link by link"]
            ratios[f"{function}: {algorithm} link by link / in segments"] = looped / cut
    ratios["mass_matrix: one state / fill"] = times["mass_matrix, one state"] / times["fill"]
    ratios["mass_matrix: one state / fill, fresh memory"] = (
        times["mass_matrix, fresh memory"] / times["fill, fresh memory"]
    )
    for name, ratio in ratios.items():
        print(f"{name:52}{ratio:10.2f}")
    if options.json:
        about = {"processor": processor(), "date": str(datetime.date.today()), "load": busy, "links": n}
        options.json.write_text(json.dumps({**about, "seconds": times, "ratios": ratios}, indent=1))
    return None


if __name__ == "__main__":
    main()
