# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Do the figures of the band-sparsity paper hold on this machine, and what would p processors change?

    python benchmarks/band_sparsity.py [--folder docs] [--quick] [--predict-only | --page-only]
    python benchmarks/band_sparsity.py --device opencl|cuda [--group 16] [--quick]

Yang, Wu, Pan 2017, Figs. 2, 3a and 3b: one chain of n links, many chains of 10, many of 200. Times are worth
something on an idle machine only; the load is noted beside them. Where two algorithms change places from one
size to the next, the sizes between are bisected. Measured are the
paper's three algorithms as published and the serial recursion that the paper leaves out, on NumPy (which, like a
GPU, does all links or states of a step at once and pays for every step), on JAX, and compiled (native). Predicted
are times on p processors from work and span of the traced programs: work / p + span, Brent's bound, without any
cost of communication. With `--device`, the published forms run on an OpenCL device or a GPU, one state in each
work-group, and figures are printed with the name of the device.
"""

from __future__ import annotations

import argparse
import datetime
import json
import time
from collections.abc import Callable, Collection
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from band_sparsity_page import write_page
from machine import conditions, load, processor

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
# Okabe and Ito's colours, which are colour-blind safe; shapes repeat the distinction.
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
LARGE = 1 << 21  # numbers of a batch of matrices above which it goes in blocks
PROCESSORS = [1 << k for k in range(17)]
SIZES = {
    "2": (10, 20, 50, 100, 200, 500, 1000),
    "3a": (1, 3, 10, 30, 100, 300, 1000, 3000, 10000),
    "3b": (1, 3, 10, 30, 100, 300, 1000),
}
QUICK = {"2": (10, 40), "3a": (1, 100), "3b": (1, 4)}
LINKS = {"3a": 10, "3b": 200}
LONG = 20.0  # seconds of a call that is not repeated
Job = Callable[[], Any]


def best_of(jobs: dict[str, Job], budget: float) -> dict[str, float]:
    """The best time of each job; they take turns, so that a disturbance meets all of them."""
    best, spent, runs = (dict.fromkeys(jobs, start) for start in (float("inf"), 0.0, 0))
    while waiting := [x for x in jobs if spent[x] < budget or (runs[x] < 2 and spent[x] < LONG)]:
        for name in waiting:
            start = time.perf_counter()
            jobs[name]()
            took = time.perf_counter() - start
            best[name], spent[name], runs[name] = min(best[name], took), spent[name] + took, runs[name] + 1
    return best


def shape(figure: str, size: int) -> tuple[int, int]:
    """Links and chains of a point of a figure."""
    return (size, 1) if figure == "2" else (LINKS[figure], size)


def jobs_of(n: int, batch: int, names: Collection[str]) -> dict[str, Job]:
    """One call of each algorithm on the NumPy backend."""
    robot = px.chain(n)
    state = robot.random_state((batch,), rng=0)
    chosen = {name: a for name, a in {**PUBLISHED, "ABA": "aba"}.items() if name in names}
    return {name: _job(robot, state, name, algorithm) for name, algorithm in chosen.items()}


def _job(robot: px.Robot, state: tuple[np.ndarray, ...], name: str, algorithm: Any) -> Job:
    batch, n = state[1].shape
    block = batch if name != "JSIIA" else max(LARGE // (n * n), 1)  # its n problems a chain fill the memory

    def run() -> None:
        for k in range(0, batch, block):
            part = (x[k : k + block] for x in state)
            robot.forward_dynamics(*part, algorithm=algorithm, backend="numpy")

    return run


def measured(n: int, batch: int, budget: float, *, jax: bool) -> dict[str, float]:
    """Seconds of one call for all algorithms."""
    robot = px.chain(n)
    state = robot.random_state((batch,), rng=0)
    jobs = jobs_of(n, batch, [*PUBLISHED, "ABA"])
    for name, algorithm in (("ABA, native", "aba"), ("partition, native", "partition")):
        if algorithm == "aba" or (batch == 1 and n > 24):
            kernel = robot.kernel("forward_dynamics", algorithm=algorithm)
            jobs[name] = kernel.bind(*state, out=np.empty_like(state[1]))
    if jax:
        jobs["ABIA, scanned, JAX"] = _on_jax(robot, [x[0] for x in state])
    return best_of(jobs, budget)


def _on_jax(robot: px.Robot, state: list[np.ndarray]) -> Job:
    import jax

    f = jax.jit(lambda *x: robot.jax.forward_dynamics(*x, algorithm="abia", schedule="doubling"))
    f(*state).block_until_ready()
    return lambda: f(*state).block_until_ready()


def crossovers(figure: str, rows: dict[str, dict[str, float]], budget: float) -> list[dict[str, Any]]:
    """Where one published algorithm overtakes another: the sizes before and after, found by bisection."""
    found = []
    sizes = sorted(map(int, rows))
    for a, b in combinations(PUBLISHED, 2):
        for low, high in pairwise(sizes):
            first = rows[str(low)][a] < rows[str(low)][b]
            if first == (rows[str(high)][a] < rows[str(high)][b]):
                continue
            while high > 1.1 * low and high > low + 1:
                middle = min(max(round((low * high) ** 0.5), low + 1), high - 1)
                times = best_of(jobs_of(*shape(figure, middle), (a, b)), budget)
                low, high = (middle, high) if (times[a] < times[b]) == first else (low, middle)
            before, after = (a, b) if first else (b, a)
            found.append({"before": before, "after": after, "between": [low, high]})
            print(f"Fig. {figure}: {before} is faster up to {low}, {after} from {high} on", flush=True)
    return found


def traced(sizes: list[int]) -> dict[str, dict[int, tuple[float, float]]]:
    """(work, span) of each algorithm on chains of a few lengths, in operations."""
    found: dict[str, dict[int, tuple[float, float]]] = {}
    for name, algorithm in {**PUBLISHED, **OURS}.items():
        for n in sizes:
            # The equations with their trees, of which loops make recursions.
            cost = px.cost(px.chain(n), "forward_dynamics", algorithm=algorithm).written_out
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=Path("docs"))
    parser.add_argument("--quick", action="store_true", help="few points, for trying out")
    parser.add_argument("--predict-only", action="store_true", help="keep the times measured before")
    parser.add_argument(
        "--page-only", action="store_true", help="write the page from the numbers that there are"
    )
    parser.add_argument(
        "--device", choices=("opencl", "cuda"), help="run the published forms there, and print"
    )
    parser.add_argument("--group", type=int, default=16, help="work-items that share a state on the device")
    parser.add_argument("--most", type=int, default=1000, help="links, and chains, at most on the device")
    options = parser.parse_args()
    if options.device:
        from band_sparsity_device import measure

        print(conditions())
        sizes = QUICK if options.quick else SIZES
        points = [
            (f, *shape(f, size)) for f, every in sizes.items() for size in every if size <= options.most
        ]
        measure(options.device, options.group, points, PUBLISHED, 0.05 if options.quick else 0.4, best_of)
        return
    import jax

    jax.config.update("jax_enable_x64", True)
    file = options.folder / "band_sparsity.json"
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if options.page_only:
        write_page(before, options.folder / "band_sparsity.md")
        return
    budget = 0.05 if options.quick else 0.4
    if options.predict_only:
        about = {
            key: before[key] for key in ("machine", "date", "load", "times", "crossovers") if key in before
        }
    else:
        about = measurements(QUICK if options.quick else SIZES, budget)
    forecast = predicted(traced([4, 8, 10, 16] if options.quick else [8, 10, 16, 32, 64]), [10, 200, 1000])
    for n, table in forecast.items():
        entries = ", ".join(f"{name} {p or 'never'}" for name, p in table["wins_from"].items())
        print(f"{n} links, processors from which each beats serial ABA: {entries}", flush=True)
    unit = {"unit": "seconds per call, best of several; operations for predictions", "processors": PROCESSORS}
    rounded = json.loads(json.dumps({**about, **unit, "predicted": forecast}), parse_float=_short)
    file.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
    write_page(rounded, options.folder / "band_sparsity.md")
    plot_times(about["times"], options.folder / "band_sparsity_times.png")
    plot_processors(forecast, options.folder / "band_sparsity_processors.png")


def measurements(sizes: dict[str, tuple[int, ...]], budget: float) -> dict[str, Any]:
    """The times of all figures and where algorithms change places, with machine, date and load."""
    busy = load()
    print(conditions())
    if busy > 0.3:
        print(f"The machine is not idle: its load is {busy:.2f}.", flush=True)
    times: dict[str, Any] = {}
    for figure, points in sizes.items():
        for size in points:
            n, batch = shape(figure, size)
            row = measured(n, batch, budget, jax=figure == "2")
            times.setdefault(figure, {})[str(size)] = row
            entries = ", ".join(f"{name} {t * 1e3:.3g}" for name, t in row.items())
            print(f"Fig. {figure}: {n} links, {batch} chains [ms]: {entries}", flush=True)
    found = {figure: crossovers(figure, rows, budget) for figure, rows in times.items()}
    return {
        "machine": processor(),
        "date": str(datetime.date.today()),
        "load": round(busy, 2),
        "times": times,
        "crossovers": found,
    }


def _short(text: str) -> float:
    return float(f"{float(text):.4g}")


if __name__ == "__main__":
    main()
