# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How fast is exported C beside the bound kernel, CasADi's C and Pinocchio?

    python benchmarks/exported_c.py [--robot panda] [--compiler gcc] [--flags=-O2 -march=native] [--casadi]

One state: a loop in C around the function, so that no call from Python is timed but the bound kernel's own.
Batches: 1024 states through the header's batch function. Everything is interleaved; medians count.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import tempfile
import time
import timeit
from pathlib import Path
from typing import Any

import numpy as np
import peers
from machine import conditions

import phalanx as px
from phalanx.backends.native.compile import host

FUNCTIONS = ("inverse_dynamics", "forward_dynamics")
BATCH, ROUNDS = 1024, 21

DRIVER = """
#include "arm.h"
void one_{f}(long rounds, const double *a, const double *b, const double *c, double *d) {{
  for (long k = 0; k < rounds; ++k) {{
    arm_{f}(a, b, c, d);
    __asm__ volatile("" : : "r"(d) : "memory");
  }}
}}
void many_{f}(long count, const double *a, const double *b, const double *c, double *d) {{
  arm_{f}_batch((size_t)count, a, b, c, d);
}}
"""
CASADI = """
int {name}(const double **arg, double **res, long long *iw, double *w, int mem);
int {name}_work(long long *a, long long *b, long long *c, long long *d);
void casadi_{f}(long rounds, const double *a, const double *b, const double *c, double *d) {{
  const double *arg[64] = {{a, b, c}};
  double *res[64] = {{d}};
  static double w[100000];
  for (long k = 0; k < rounds; ++k) {{
    {name}(arg, res, 0, w, 0);
    __asm__ volatile("" : : "r"(d) : "memory");
  }}
}}
"""


def compiled(robot: px.Robot, folder: Path, options: argparse.Namespace) -> tuple[Any, float]:
    """The library with the loops that are timed, and the seconds that compiling the header took."""
    robot.export(folder / "arm.h", FUNCTIONS)
    flags = ["-std=gnu99", "-ffp-contract=off", *options.flags.split()]
    (folder / "plain.c").write_text('#include "arm.h"\nint (*unused)(void);\n' + keep())
    start = time.perf_counter()
    subprocess.run([options.compiler, *flags, "-c", "plain.c", "-o", "plain.o"], check=True, cwd=folder)
    seconds = time.perf_counter() - start
    sources = ["driver.c"]
    text = "".join(DRIVER.format(f=f) for f in FUNCTIONS)
    if options.casadi:
        for f in FUNCTIONS:
            peers.casadi_function(robot, f, str(folder))
            name = f"f{robot.nv}_{f}"
            text += CASADI.format(name=name, f=f)
            sources.append(f"{name}.c")
    (folder / "driver.c").write_text(text)
    command = [options.compiler, *flags, "-shared", "-fPIC", *sources, "-o", "driver.so", "-lm"]
    subprocess.run(command, check=True, cwd=folder)
    return ctypes.CDLL(str(folder / "driver.so")), seconds


def keep() -> str:
    """Functions that make a compiler translate the header's."""
    return "".join(
        f"void keep_{f}(size_t n, const double *a, double *b) "
        f"{{ arm_{f}(a, a + 7, a + 14, b); arm_{f}_batch(n, a, a + 7, a + 14, b); }}\n"
        for f in FUNCTIONS
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--compiler", default="gcc")
    parser.add_argument("--flags", default="-O2 -march=native -mprefer-vector-width=512")
    parser.add_argument("--casadi", action="store_true", help="compile CasADi's C too (half a minute)")
    options = parser.parse_args()
    print(conditions())
    pair = peers.ROBOTS[options.robot]()
    robot = pair.robot
    states, _ = pair.states(BATCH)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        library, seconds = compiled(robot, folder, options)
        size = os.path.getsize(folder / "arm.h")
    print(f"{host().cpu}, {options.compiler} {options.flags}")
    print(f"header of {' + '.join(FUNCTIONS)}: {size / 1000:.0f} kB, compiled in {seconds:.2f} s")
    pinocchio = peers.pinocchio_jobs(pair, BATCH, 1)
    for f in FUNCTIONS:
        report(f, robot, states, library, pinocchio[f])


def report(f: str, robot: px.Robot, states: list[np.ndarray], library: Any, pinocchio: Any) -> None:
    """Times of one function."""
    out, alone = np.zeros((BATCH, robot.nv)), np.zeros(robot.nv)
    kernel = robot.kernel(f)
    rows = [ctypes.c_void_p(x.ctypes.data) for x in (*states, out)]
    first = [np.ascontiguousarray(x[0]) for x in states]
    single = [ctypes.c_void_p(x.ctypes.data) for x in (*first, alone)]
    step = kernel.bind(*first, out=alone)
    n = 4000
    jobs = {
        "bound": lambda: timeit.timeit(step, number=n) / n,
        "one state": lambda: timed(getattr(library, f"one_{f}"), n, single) / n,
        "batch": lambda: timed(getattr(library, f"many_{f}"), BATCH, rows) / BATCH,
        "native batch": lambda: (
            timeit.timeit(lambda: kernel(*states, out=out, threads=1), number=20) / 20 / BATCH
        ),
        "pinocchio": lambda: timeit.timeit(pinocchio, number=3) / 3 / BATCH,
    }
    if hasattr(library, f"casadi_{f}"):
        jobs["casadi"] = lambda: timed(getattr(library, f"casadi_{f}"), n, single) / n
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            times[name].append(job() * 1e9)
    ns = {name: statistics.median(values) for name, values in times.items()}
    getattr(library, f"many_{f}")(ctypes.c_long(BATCH), *rows)
    same = np.array_equal(out, kernel(*states))
    print(f"{f}: " + ", ".join(f"{name} {value:.1f} ns" for name, value in ns.items()))
    summary = f"  one state / bound {ns['one state'] / ns['bound']:.2f}, batch {ns['pinocchio'] / ns['batch']:.1f} x"
    summary += f" Pinocchio, {ns['batch'] / ns['native batch']:.2f} of native; same bits: {same}"
    if "casadi" in ns:
        summary += f"; CasADi / ours {ns['casadi'] / ns['one state']:.2f}"
    print(summary)


def timed(function: Any, rounds: int, pointers: list[Any]) -> float:
    start = time.perf_counter()
    function(ctypes.c_long(rounds), *pointers)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
