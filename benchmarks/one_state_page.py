# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What do 1, 2, 4 and 8 lanes and 1 and 2 cores gain for one state by the papers' algorithms, and what would 64 cores?

    python benchmarks/one_state_page.py                 # measures, fits, writes docs/one_state.md and .json
    python benchmarks/one_state_page.py --part papers   # measures one part only: papers, cores, model, matrix
    python benchmarks/one_state_page.py --page-only     # fits and writes from the times that there are

Kernels of fewer lanes are compiled for this processor with shorter registers: the same program, the same bits.
Jobs take turns in bursts; the least time of a call counts. A model of lanes, joins and barriers is fitted to the
times of chains of several lengths; what it says of more cores than two is a prediction.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from machine import conditions, load, processor
from one_state import aligned, independent, measured

import phalanx as px
from phalanx.backends.native import build, compile
from phalanx.backends.native.emit.phases import phases
from phalanx.program.lowering import readable
from phalanx.study.speedup import between_cores

DOCS = Path(__file__).parent.parent / "docs"
LANES = (1, 2, 4, 8)
N, LONG, MATRIX = 1000, 10_000, 2048  # links
_NUMBER = 64  # bits
_SHORTEST = 16  # links of a segment
_FREE = 1.12  # of independent work on two cores, above which one of them has other work

# The paper's algorithm by the name of its row, and the serial form beside it.
PAPERS: dict[str, tuple[str, Any, str]] = {
    "Lathrop: `lathrop`": ("inverse_dynamics", "lathrop", "luh_walker_paul"),
    "Zomaya, Morris: `zomaya_morris`": ("inverse_dynamics", "zomaya_morris", "luh_walker_paul"),
    "Recursive doubling: `recursive_doubling`": ("mass_matrix", "recursive_doubling", "composite_original"),
    "Fijany: `composite_variant`": ("mass_matrix", "composite_variant", "composite_original"),
    "Fijany: `processor_array`": ("mass_matrix", "processor_array", "composite_original"),
    "Yang, Wu, Pan: `abia`": ("forward_dynamics", "abia", "aba"),
    "Yang, Wu, Pan: `cfa`, odd-even, global bias": (
        "forward_dynamics",
        ("cfa", {"solver": "odd_even", "bias": "global"}),
        "aba",
    ),
    "Yang, Wu, Pan: `cfa`, cyclic reduction": ("forward_dynamics", "cfa", "aba"),
    "Divide and conquer: `dca`": ("forward_dynamics", "dca", "aba"),
    "Segments: `partition`": ("forward_dynamics", "partition", "aba"),
}
SHARED = [name for name, (f, a, _) in PAPERS.items() if f != "mass_matrix" and "odd-even" not in name]
# Chains to which the model is fitted.
FITTED = {"forward_dynamics": "partition", "inverse_dynamics": "lathrop"}
LENGTHS, SEGMENTS = (1000, 2000, 5000, LONG), (16, 32)
CORES = (1, 2, 4, 8, 16, 32, 64)
PREDICTED = (1000, LONG, 100_000, 1_000_000)
TWO = "|2"  # ends the names of jobs on two cores
Times = dict[str, float]


@contextmanager
def registers_of(lanes: int) -> Iterator[None]:
    """Kernels are compiled for registers of so many numbers; the key of the cache has the target."""
    before = compile.host
    target = replace(before(), bits=_NUMBER * lanes)
    compile.host = build.host = lambda: target  # type: ignore[assignment]
    try:
        yield
    finally:
        compile.host = build.host = before  # type: ignore[assignment]


def kernel_of(robot: px.Robot, function: str, algorithm: Any, lanes: int | None, **choice: Any) -> Any:
    """A kernel in registers of so many lanes; None takes those of the processor."""
    if lanes is None:
        return robot.kernel(function, algorithm, **choice)
    with registers_of(lanes):
        return robot.replace().kernel(function, algorithm, **choice)


def step_of(kernel: Any, threads: int = 1) -> Callable[[], Any]:
    """One state again and again on bound arrays."""
    state = kernel.robot.random_state(rng=1)[: kernel.ufunc.nin]
    step = kernel.bind(*state, out=aligned(kernel.ufunc(*state).shape), threads=threads)
    step()
    return step  # type: ignore[no-any-return]


def widest() -> list[int]:
    """The numbers of lanes that this processor has."""
    return [lanes for lanes in LANES if lanes <= compile.host().lanes(_NUMBER // 8)]


def is_shared(kernel: Any) -> bool:
    """Whether threads share a state of it."""
    return "threads share a state" in kernel.form


def least(jobs: dict[str, Callable[[], Any]], rounds: int) -> Times:
    """The least seconds of each job; those on two cores are left out where other programs have one of them."""
    free = has_two_cores()
    return measured({name: run for name, run in jobs.items() if free or not name.endswith(TWO)}, rounds)


def has_two_cores() -> bool:
    """Whether batches of their own on two cores take hardly longer than one on one core."""
    alone = independent(MATRIX, 2)
    ratio = alone[2] / alone[1]
    print(f"batches of their own on two cores at once, over one: {ratio:.2f}", flush=True)
    return ratio <= _FREE


# ------------------------------------------------------------------- measurements


def papers(rounds: int) -> Times:
    """Seconds of each paper's algorithm by lanes, and of the serial form."""
    robot, jobs = px.chain(N), {}
    for name, (function, algorithm, serial) in PAPERS.items():
        jobs[f"{name}|serial"] = step_of(robot.kernel(function, serial))
        for lanes in widest():
            jobs[f"{name}|{lanes}"] = step_of(kernel_of(robot, function, algorithm, lanes, batch=1))
    return measured(jobs, rounds)


def cores(rounds: int) -> Times:
    """Seconds of each shared algorithm by lanes and cores, long chains."""
    robot, jobs = px.chain(LONG), {}
    for name in SHARED:
        function, algorithm, serial = PAPERS[name]
        jobs[f"{name}|serial"] = step_of(robot.kernel(function, serial))
        for lanes in widest():
            kernel = kernel_of(robot, function, algorithm, lanes, batch=1)
            for p in (1, 2) if is_shared(kernel) else (1,):
                jobs[f"{name}|{lanes}|{p}"] = step_of(kernel, p)
    return least(jobs, rounds)


def matrix(rounds: int) -> Times:
    """Seconds of the mass matrix whose columns are shared, by lanes and cores."""
    robot, jobs = px.chain(MATRIX), {}
    for lanes in widest():
        kernel = kernel_of(robot, "mass_matrix", "partition", lanes, batch=1)
        for p in (1, 2) if is_shared(kernel) else (1,):
            jobs[f"{lanes}|{p}"] = step_of(kernel, p)
    return least(jobs, rounds)


def model(rounds: int) -> Times:
    """Seconds by function, links, segments, lanes and cores, and the number of barriers by function."""
    jobs = {}
    for function, n, segments in product(FITTED, LENGTHS, SEGMENTS):
        robot = px.chain(n)
        for lanes in widest():
            kernel = kernel_of(robot, function, (FITTED[function], {"segments": segments}), lanes, batch=1)
            for p in (1, 2) if is_shared(kernel) else (1,):
                jobs[f"{function}|{n}|{segments}|{lanes}|{p}"] = step_of(kernel, p)
    return least(jobs, rounds)


def barriers() -> dict[str, int]:
    """Barriers of a state by function: between any two phases, and one at either end."""
    found = {}
    for function, algorithm in FITTED.items():
        kernel = px.chain(N).kernel(function, (algorithm, {"segments": 16}), batch=1)
        found[function] = len(phases(readable(kernel._call, compile.host().lanes(_NUMBER // 8)))) + 1
    return found


def critical_paths() -> dict[str, dict[str, float]]:
    """Operations of each algorithm and of its serial form on N links, and on the critical path.

    Counted up to 64 links on the equations with their trees, and continued in the order that fits better.
    """
    found = {}
    for name, (function, algorithm, serial) in PAPERS.items():
        sizes: tuple[int, ...] = (8, 16, 32, 64)
        chosen = algorithm
        if algorithm == "partition":  # as many segments as on long chains
            sizes, chosen = (32, 48, 64), (algorithm, {"segments": 8})
        counted = [px.cost(px.chain(n), function, algorithm=chosen).written_out for n in sizes]
        spans = np.array([c.span.total for c in counted], dtype=float)
        n = np.array(sizes, dtype=float)
        fits = []
        for order, terms in (("log n", np.log2), ("n", lambda x: x)):
            columns = np.stack([np.ones(len(n)), terms(n)], axis=1)
            weights, rest, *_ = np.linalg.lstsq(columns, spans, rcond=None)
            fits.append((float(rest.sum()), order, float(weights @ [1.0, terms(float(N))])))
        _, order, span = min(fits)
        work = px.cost(px.chain(N), function, algorithm=serial).total
        found[name] = {"path": span, "serial": float(work), "order": order}  # type: ignore[dict-item]
    return found


PARTS: dict[str, Callable[[int], Times]] = {
    "papers": papers,
    "cores": cores,
    "matrix": matrix,
    "model": model,
}

# ------------------------------------------------------------------- the model


def terms(n: float, segments: int, lanes: int, p: int, count: int, *, tree: bool = False) -> list[float]:
    """What the time of a state is made of: a call, links in registers, registers' width, joins, barriers.

    A core has `rounds` registers of segments one after another, and visits n / segments links with each.
    Each of the `count` barriers passes from core to core, or up and down a tree.
    """
    groups = ceil(segments / lanes)
    rounds = ceil(groups / p)
    links = n / segments * rounds
    transfers = 0.0 if p == 1 else float(count * (np.log2(p) if tree else p - 1))
    return [1.0, links, links * lanes, float(segments), transfers]


def _of_long_chains(times: Times) -> Times:
    """The times of long chains under the keys of the model: they have 16 segments."""
    found = {}
    for function, algorithm in FITTED.items():
        name = next(x for x, (f, a, _) in PAPERS.items() if (f, a) == (function, algorithm))
        for key, t in times.items():
            who, *numbers = key.split("|")
            if who == name and len(numbers) == 2:
                found["|".join([function, str(LONG), "16", *numbers])] = t
    return found


NAMES = (
    "a call",
    "a link in a register",
    "and for each of its lanes",
    "a segment joined",
    "a barrier of two cores",
)


def fitted(times: Times, counts: dict[str, int], message: float) -> dict[str, dict[str, Any]]:
    """Costs in seconds for each function, fitted to relative errors, and these errors.

    Where nothing was measured on two cores, a barrier is a message from core to core and back.
    """
    from scipy.optimize import nnls

    found = {}
    for function in FITTED:
        rows, seconds = [], []
        for key, t in times.items():
            what, *numbers = key.split("|")
            if what == function:
                n, segments, lanes, p = map(int, numbers)
                rows.append(terms(n, segments, lanes, p, counts[function]))
                seconds.append(t)
        parts, y = np.array(rows), np.array(seconds)
        scale = np.maximum(np.abs(parts).max(axis=0), 1e-12)
        weights, _ = nnls(parts / scale / y[:, None], np.ones(len(y)))
        costs = weights / scale
        errors = np.abs(parts @ costs / y - 1.0)
        if not parts[:, -1].any():
            costs[-1] = 2.0 * message
        found[function] = {
            "costs": costs.tolist(),
            "is_barrier_fitted": bool(parts[:, -1].any()),
            "median": float(np.median(errors)),
            "worst": float(errors.max()),
            "points": len(y),
        }
    return found


def best(costs: Sequence[float], n: int, most: int, count: int, *, tree: bool) -> float:
    """The least seconds on up to `most` cores, with any number of segments of 16 links or more."""
    found = float("inf")
    for p in (p for p in CORES if p <= most):
        for k in (1, 2, 3, 4, 6, 8):
            segments = k * LANES[-1] * p
            if n / segments >= _SHORTEST or segments == LANES[-1]:
                found = min(found, float(np.dot(costs, terms(n, segments, LANES[-1], p, count, tree=tree))))
    return found


# ------------------------------------------------------------------- the page


def page(results: dict[str, Any]) -> str:
    """The part of docs/one_state.md that measurements fill."""
    known, lanes = results["times"], [str(k) for k in results["lanes"]]
    us = lambda t: f"{1e6 * t:.1f}" if t < 1e-4 else f"{1e6 * t:,.0f}"  # noqa: E731
    about = (
        f"Measured on {results['machine']}, {results['bits']} bits, {results['cores']} cores, "
        f"{results['date']}, load {results['load']:.1f}; microseconds of one state, float64, bound arrays, the least of many calls."
    )
    lines = [about, "", f"## {N} links on one core", ""]
    head = " | ".join(f"{k} lane{'s' * (k != '1')}" for k in lanes)
    lines.append(f"| algorithm | serial | {head} | gain of {lanes[-1]} | path | work / path |")
    lines.append("|---" * (len(lanes) + 5) + "|")
    for name in PAPERS:
        row = [known["papers"][f"{name}|{k}"] for k in lanes]
        path = results["paths"][name]
        serial = f"{PAPERS[name][2]} {us(known['papers'][f'{name}|serial'])}"
        cells = " | ".join(map(us, row))
        lines.append(
            f"| {name} | {serial} | {cells} | {row[0] / row[-1]:.1f} | {path['path']:,.0f} ({path['order']}) "
            f"| {path['serial'] / path['path']:,.0f} |"
        )
    lines += ["", f"## {LONG:,} links on one core and on two", ""]
    two = [k for k in lanes if any(f"{name}|{k}|2" in known["cores"] for name in SHARED)]
    heads = [f"{k} lane{'s' * (k != '1')}" for k in lanes] + [
        f"{k} lane{'s' * (k != '1')}, 2 cores" for k in two
    ]
    if not two:
        lines[-2] = f"## {LONG:,} links on one core"
        lines += ["Other programs had the second core, so that two cores were not measured in this run.", ""]
    lines.append(f"| algorithm | serial | {' | '.join([*heads, '2 cores / 1'] if two else heads)} |")
    lines.append("|---" * (len(heads) + 2 + bool(two)) + "|")
    for name in SHARED:
        cells = [known["cores"][f"{name}|{k}|1"] for k in lanes]
        more = [known["cores"].get(f"{name}|{k}|2") for k in two]
        row = [*map(us, cells), *("–" if t is None else us(t) for t in more)]
        if two:
            row.append(f"{more[-1] / cells[-1]:.2f}" if more[-1] else "–")
        serial = f"{PAPERS[name][2]} {us(known['cores'][f'{name}|serial'])}"
        lines.append(f"| {name} | {serial} | {' | '.join(row)} |")
    shared = known["matrix"]
    parts = [
        f"{k} lane{'s' * (k != '1')}: {us(shared[f'{k}|1'])}"
        + (f", on two cores {us(shared[f'{k}|2'])}" if f"{k}|2" in shared else "")
        for k in lanes
    ]
    lines += [
        "",
        f"The mass matrix of {MATRIX:,} links by `partition`, whose columns cores share: {'; '.join(parts)}.",
    ]
    return "\n".join([*lines, "", *_model(results)])


def _model(results: dict[str, Any]) -> list[str]:
    """The costs that were fitted, and what they predict."""
    ns = lambda t: f"{1e9 * t:.3g}"  # noqa: E731
    lines = ["## A model of lanes, joins and barriers", ""]
    lines += [
        f"| nanoseconds | {' | '.join(NAMES)} | median error | worst |",
        "|---" * (len(NAMES) + 3) + "|",
    ]
    for function, fit in results["model"].items():
        cells = " | ".join(map(ns, fit["costs"]))
        lines.append(
            f"| `{FITTED[function]}`, {function.replace('_', ' ')} ({fit['points']} times) | {cells} | "
            f"{fit['median']:.0%} | {fit['worst']:.0%} |"
        )
    if not all(fit["is_barrier_fitted"] for fit in results["model"].values()):
        lines += [
            "",
            "The cost of a barrier is not fitted here: it is a message from one core to the other and back, measured "
            "by `phalanx speedup`.",
        ]
    lines += [
        "",
        f"A state has {', '.join(f'{c} barriers in {f.replace(chr(95), chr(32))}' for f, c in results['barriers'].items())}.",
        "",
        "**Predicted, not measured**: microseconds on so many cores, or on fewer of them where that is faster, with the "
        "best number of segments and 8 lanes in each core. The first figure has barriers that pass from core to core, as "
        "ours do; the one in brackets has barriers in a tree, which we do not have.",
        "",
    ]
    for function, fit in results["model"].items():
        count = results["barriers"][function]
        lines += [
            f"| {function.replace('_', ' ')}, links | "
            + " | ".join(f"{p} core{'s' * (p > 1)}" for p in CORES)
            + " |",
            "|---" * (len(CORES) + 1) + "|",
        ]
        for n in PREDICTED:
            cells = []
            for p in CORES:
                flat, tree = (best(fit["costs"], n, p, count, tree=tree) for tree in (False, True))
                cells.append(f"{1e6 * flat:,.3g}" + (f" ({1e6 * tree:,.3g})" if p > 2 else ""))
            lines.append(f"| {n:,} | {' | '.join(cells)} |")
        lines.append("")
    return lines[:-1]


def write_page(results: dict[str, Any]) -> None:
    """Fill the page between its markers."""
    file = DOCS / "one_state.md"
    text = file.read_text(encoding="utf-8")
    begin, end = "<!-- measured -->", "<!-- end of measured -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    file.write_text(f"{before}{begin}\n\n{page(results)}\n\n{end}{after}", encoding="utf-8")


def main() -> None:
    """Measure, fit, print, and write the page with its numbers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=list(PARTS), action="append")
    parser.add_argument("--page-only", action="store_true")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    file = DOCS / "one_state.json"
    results = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"times": {}}
    print(conditions())
    for part in [] if options.page_only else options.part or PARTS:
        results["times"][part] = {k: float(f"{t:.4g}") for k, t in PARTS[part](options.rounds).items()}
        about = {"machine": processor(), "date": str(datetime.date.today()), "load": round(load(), 2)}
        results |= about | {"cores": os.cpu_count(), "bits": compile.host().bits, "lanes": widest()}
        print(part, "measured", flush=True)
        file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if set(PARTS) <= set(results["times"]):
        if "paths" not in results:
            results["paths"] = critical_paths()
        results["barriers"] = barriers()
        results.setdefault("message", between_cores() or 0.0)
        every = results["times"]["model"] | _of_long_chains(results["times"]["cores"])
        results["model"] = fitted(every, results["barriers"], results["message"])
        file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        write_page(results)
        print(page(results))


if __name__ == "__main__":
    main()
