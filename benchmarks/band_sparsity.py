# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The figures of the band-sparsity paper on this machine, and what p processors would change.

    python benchmarks/band_sparsity.py [--folder docs] [--quick]

Yang, Wu, Pan 2017, Figs. 2, 3a and 3b: one chain of n links, many chains of 10, many of 200. Measured are the
paper's three algorithms as published and the serial recursion that the paper leaves out, on NumPy (which, like a
GPU, does all links or states of a step at once and pays for every step), on JAX, and compiled (native). Predicted
are times on p processors from work and span of the traced programs: work / p + span, Brent's bound, without any
cost of communication.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import phalanx as px

PUBLISHED: dict[str, Any] = {
    "JSIIA": ("jsiia", {"inertia": "columns"}),
    "hybrid ABIA": ("abia", {"form": "hybrid"}),
    "CFA, odd-even": ("cfa", {"solver": "odd_even", "bias": "global"}),
}
OURS: dict[str, Any] = {
    "ABA": "aba",
    "ABIA, scanned": "abia",
    "CFA, cyclic": "cfa",
    "DCA": "dca",
    "contraction": "contraction",
}
# Okabe and Ito's colours, told apart by any eye; shapes repeat the distinction.
LOOKS = {
    "JSIIA": ("#0072B2", "o"),
    "hybrid ABIA": ("#E69F00", "s"),
    "CFA, odd-even": ("#D55E00", "^"),
    "ABA": ("#000000", "x"),
    "ABIA, scanned": ("#009E73", "D"),
    "CFA, cyclic": ("#CC79A7", "v"),
    "DCA": ("#56B4E9", "P"),
    "contraction": ("#8A8A00", "*"),
    "ABA, native": ("#000000", "x"),
    "partition, native": ("#8A8A00", "*"),
    "ABIA, scanned, JAX": ("#009E73", "D"),
}
LARGE = 1 << 21  # numbers of a batch of matrices above which a point is left out
PROCESSORS = [1 << k for k in range(17)]


def seconds(job: Callable[[], Any], budget: float) -> float:
    """The best time of a job that may be repeated within a budget."""
    best, end = float("inf"), time.perf_counter() + budget
    while True:
        start = time.perf_counter()
        job()
        now = time.perf_counter()
        best = min(best, now - start)
        if now > end:
            return best


def measured(n: int, batch: int, budget: float, *, jax: bool) -> dict[str, float]:
    """Seconds of one call for all algorithms."""
    robot = px.chain(n)
    state = robot.random_state((batch,), rng=0)
    found, f = {}, robot.forward_dynamics
    for name, algorithm in {**PUBLISHED, "ABA": "aba"}.items():
        if name == "JSIIA" and batch * n * n > LARGE:
            continue
        found[name] = seconds(lambda a=algorithm: f(*state, algorithm=a, backend="numpy"), budget)
    for name, algorithm in (("ABA, native", "aba"), ("partition, native", "partition")):
        if algorithm == "aba" or (batch == 1 and n > 24):
            kernel = robot.kernel("forward_dynamics", algorithm=algorithm)
            found[name] = seconds(kernel.bind(*state, out=np.empty_like(state[1])), budget)
    if jax:
        found["ABIA, scanned, JAX"] = _on_jax(robot, [x[0] for x in state], budget)
    return found


def _on_jax(robot: px.Robot, state: list[np.ndarray], budget: float) -> float:
    import jax

    f = jax.jit(lambda *x: robot.jax.forward_dynamics(*x, algorithm="abia", schedule="doubling"))
    f(*state).block_until_ready()
    return seconds(lambda: f(*state).block_until_ready(), budget)


def traced(sizes: list[int]) -> dict[str, dict[int, tuple[float, float]]]:
    """(work, span) of each algorithm on chains of a few lengths, in operations."""
    found: dict[str, dict[int, tuple[float, float]]] = {}
    for name, algorithm in {**PUBLISHED, **OURS}.items():
        for n in sizes:
            cost = px.cost(px.chain(n), "forward_dynamics", algorithm=algorithm)
            found.setdefault(name, {})[n] = cost.total, cost.span.total
    return found


def extrapolated(name: str, points: dict[int, tuple[float, float]], n: int) -> tuple[float, float]:
    """(work, span) for n links: traced where it was, else by least squares in the terms of the known orders."""
    from scipy.optimize import nnls

    if n in points:
        return points[n]
    x = np.array(sorted(points), dtype=float)
    result = []
    for y, terms in zip(np.array([points[int(k)] for k in x]).T, orders(name), strict=True):
        columns = np.stack([f(x) for f in terms], axis=1)
        weights, _ = nnls(columns / y[:, None], np.ones(len(x)))
        result.append(float(sum(w * f(float(n)) for w, f in zip(weights, terms, strict=True))))
    return result[0], result[1]


Terms = tuple[Callable[[Any], Any], ...]


def orders(name: str) -> tuple[Terms, Terms]:
    """The terms of which work and span of an algorithm on a chain are sums."""
    one, n = (lambda n: n * 0.0 + 1.0), (lambda n: n)
    log, n_log = (lambda n: np.log2(n)), (lambda n: n * np.log2(n))
    square, cube = (lambda n: n**2), (lambda n: n**3)
    if name == "JSIIA":
        return (n, square, cube), (one, n)
    if name == "ABA":
        return (one, n), (one, n)
    return (one, n, n_log), (one, n) if name == "hybrid ABIA" else (one, log)


def predicted(points: dict[str, dict[int, tuple[float, float]]], sizes: list[int]) -> dict[str, Any]:
    """For each length: operations one after another on p processors, and from which p each beats the serial ABA."""
    result: dict[str, Any] = {}
    for n in sizes:
        rows, first = {}, {}
        serial = extrapolated("ABA", points["ABA"], n)[0]
        for name in points:
            work, span = extrapolated(name, points[name], n)
            steps = [work / p + span if p > 1 else work for p in PROCESSORS]
            rows[name] = steps
            first[name] = next(
                (p for p, t in zip(PROCESSORS, steps, strict=True) if t < 0.999 * serial), None
            )
        result[str(n)] = {"serial": serial, "steps": rows, "wins_from": first}
    return result


def plot_times(results: dict[str, Any], file: Path) -> None:
    """Figs. 2, 3a and 3b with our own timings."""
    import matplotlib.pyplot as plt

    titles = {
        "2": ("Fig. 2: one chain", "links"),
        "3a": ("Fig. 3a: chains of 10 links", "chains"),
        "3b": ("Fig. 3b: chains of 200 links", "chains"),
    }
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), sharey=True)
    for axis, (key, (title, label)) in zip(axes, titles.items(), strict=True):
        names = {name for row in results[key].values() for name in row}
        for name in (n for n in LOOKS if n in names):
            colour, marker = LOOKS[name]
            x = [int(k) for k, row in results[key].items() if name in row]
            style = "--" if "native" in name or "JAX" in name else "-"
            y = [results[key][str(k)][name] * 1e3 for k in x]
            axis.loglog(x, y, style, color=colour, marker=marker, markersize=5, linewidth=1.4, label=name)
        axis.set_title(title, fontsize=11)
        axis.set_xlabel(label)
        axis.grid(True, which="major", alpha=0.3)
    axes[0].set_ylabel("milliseconds per call")
    handles = {h.get_label(): h for axis in axes for h in axis.get_legend_handles_labels()[0]}
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncol=4, fontsize=9, frameon=False)
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    figure.savefig(file, dpi=90)
    plt.close(figure)


def plot_processors(results: dict[str, Any], file: Path) -> None:
    """Speed-up over the serial recursion for p processors."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(results), figsize=(12, 4.2))
    for axis, (n, table) in zip(axes, results.items(), strict=True):
        for name, steps in table["steps"].items():
            colour, marker = LOOKS[name]
            gain = [table["serial"] / t for t in steps]
            axis.loglog(
                PROCESSORS, gain, color=colour, marker=marker, markersize=4, linewidth=1.4, label=name
            )
        axis.axhline(1.0, color="grey", linewidth=0.8)
        axis.set_ylim(bottom=1e-2)
        axis.set_title(f"one chain of {n} links", fontsize=11)
        axis.set_xlabel("processors")
        axis.grid(True, which="major", alpha=0.3)
    axes[0].set_ylabel("predicted speed-up over serial ABA")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncol=4, fontsize=9, frameon=False)
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    figure.savefig(file, dpi=90)
    plt.close(figure)


def main() -> None:
    """Measure, predict, print, and write the plots and their numbers."""
    import jax

    jax.config.update("jax_enable_x64", True)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=Path("docs"))
    parser.add_argument("--quick", action="store_true", help="few points, for trying out")
    parser.add_argument("--predict-only", action="store_true", help="keep the times measured before")
    options = parser.parse_args()
    file = options.folder / "band_sparsity.json"
    budget = 0.05 if options.quick else 0.4
    plans = {
        "2": [(n, 1, True) for n in ((10, 50) if options.quick else (10, 20, 50, 100, 200, 500, 1000))],
        "3a": [(10, b, False) for b in ((1, 100) if options.quick else (1, 10, 100, 1000, 10000))],
        "3b": [(200, b, False) for b in ((1,) if options.quick else (1, 3, 10, 30, 100))],
    }
    times: dict[str, Any] = {}
    if options.predict_only:
        times, plans = json.loads(file.read_text(encoding="utf-8"))["times"], {}
    for figure, points in plans.items():
        for n, batch, on_jax in points:
            row = measured(n, batch, budget, jax=on_jax)
            for name, again in measured(n, batch, budget, jax=False).items():
                row[name] = min(row[name], again)  # others use the machine too
            times.setdefault(figure, {})[str(n if figure == "2" else batch)] = row
            told = ", ".join(f"{name} {t * 1e3:.3g}" for name, t in row.items())
            print(f"Fig. {figure}: {n} links, {batch} chains [ms]: {told}", flush=True)
    forecast = predicted(traced([4, 8, 10, 16] if options.quick else [8, 10, 16, 32, 64]), [10, 200, 1000])
    for n, table in forecast.items():
        told = ", ".join(f"{name} {p or 'never'}" for name, p in table["wins_from"].items())
        print(f"{n} links, processors from which each beats serial ABA: {told}", flush=True)
    about = {
        "machine": f"{platform.machine()}, {platform.processor() or 'CPU'}",
        "date": str(datetime.date.today()),
        "unit": "seconds per call, best of several; operations for predictions",
        "processors": PROCESSORS,
    }
    rounded = json.loads(json.dumps({**about, "times": times, "predicted": forecast}), parse_float=_short)
    file.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
    plot_times(times, options.folder / "band_sparsity_times.png")
    plot_processors(forecast, options.folder / "band_sparsity_processors.png")


def _short(text: str) -> float:
    return float(f"{float(text):.4g}")


if __name__ == "__main__":
    main()
