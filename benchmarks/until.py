# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops that end on data: do refilled lanes cost more than a loop with the mean number of iterations?

    python benchmarks/until.py [--states 1000000] [--repeats 30] [--threads 1] [--eccentricity 0.95]

Kepler's equation E - e sin E = M by Newton's iteration to 1e-14, for a batch. The loop with a fixed number of
iterations has the mean of those that states take, as a weighted mean of its two neighbouring integers; it
gives no results of that accuracy. Forms run in turn, the best of many runs counts.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from machine import conditions

from phalanx.backends.native import refill
from phalanx.backends.native.compile import host
from phalanx.program.analyses.count import operation_range
from phalanx.program.builder import Builder
from phalanx.program.ir import Program

TOLERANCE, LIMIT = 1e-14, 50


def kepler(iterations: int = 0) -> Program:
    """Newton's iteration until it has converged, or so many iterations of it."""
    b = Builder({"M": (), "e": ()}, {"E": ()})
    mean, eccentricity = b.load(b.inputs["M"], 0), b.load(b.inputs["e"], 0)
    with b.loop(iterations) if iterations else b.until(LIMIT) as loop:
        anomaly = loop.carry(mean)
        sine, cosine = (b.value(op, anomaly) for op in ("sin", "cos"))
        residual = b.value("sub", b.value("fnma", eccentricity, sine, anomaly), mean)
        step = b.value("div", residual, b.value("fnma", eccentricity, cosine, 1.0))
        loop.feed(anomaly, b.value("sub", anomaly, step))
        if not iterations:
            loop.stop(b.value("less", b.value("abs", step), TOLERANCE))
    b.store(b.outputs["E"], 0, anomaly)
    return b.finished()


def iterations_of(mean: np.ndarray, eccentricity: np.ndarray) -> np.ndarray:
    """How many iterations each state takes."""
    anomaly, left = mean.copy(), np.arange(len(mean))
    count = np.zeros(len(mean), dtype=int)
    for _ in range(LIMIT):
        x, e = anomaly[left], eccentricity[left]
        step = (x - e * np.sin(x) - mean[left]) / (1 - e * np.cos(x))
        anomaly[left] = x - step
        count[left] += 1
        left = left[~(np.abs(step) < TOLERANCE)]
    return count


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--states", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--eccentricity", type=float, default=0.95)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    mean = rng.uniform(-np.pi, np.pi, args.states)
    eccentricity = rng.uniform(0, args.eccentricity, args.states)
    counts = iterations_of(mean, eccentricity)
    low = int(counts.mean())
    forms: dict[Any, refill.BatchProgram] = {
        "refilled lanes": refill.compiled(kepler(), "refilled"),
        "in lockstep": refill.compiled(kepler(), "lockstep", refill=False),
        low: refill.compiled(kepler(low), "fixed"),
        low + 1: refill.compiled(kepler(low + 1), "fixed"),
    }
    out = np.zeros(args.states)
    best = dict.fromkeys(forms, np.inf)
    for _ in range(args.repeats):
        for name, form in forms.items():
            start = time.perf_counter()
            form.code.fill([mean, eccentricity, out], [0, 0, 0], (), args.threads)
            best[name] = min(best[name], time.perf_counter() - start)
    share = counts.mean() - low
    fixed = (1 - share) * best[low] + share * best[low + 1]
    found = forms["refilled lanes"](mean, eccentricity)
    error = np.abs(found - eccentricity * np.sin(found) - mean).max()
    work = operation_range(kepler(), float(counts.mean()))
    print(conditions())
    print(f"registers of {host().bits} bits, {args.threads} threads")
    print(f"{args.states:,} states, {counts.mean():.3f} iterations on average, {counts.max()} at most")
    print(
        f"operations of a state: {work.least} to {work.most}, {work.mean:.1f} on average; residual {error:.1e}"
    )
    print(f"{'form':28}{'ms':>8}{'ns a state':>12}{'of fixed':>10}")
    rows = {f"fixed, {counts.mean():.3f} iterations": fixed, f"fixed, {low}": best[low]}
    rows |= {f"fixed, {low + 1}": best[low + 1]} | {k: best[k] for k in ("refilled lanes", "in lockstep")}
    for name, seconds in rows.items():
        print(f"{name:28}{1e3 * seconds:8.2f}{1e9 * seconds / args.states:12.2f}{fixed / seconds:10.2f}")


if __name__ == "__main__":
    main()
