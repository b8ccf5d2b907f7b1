# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How fast are derivatives beside Pinocchio's, called in a loop from Python, on one thread?

    python benchmarks/derivatives.py [--robots ur5 panda …] [--batch 1024] [--seconds 1] [--json FILE]

The same states for both, runs interleaved, medians of bursts as in `peers.py`, but of processor time: the machine may be
busy. "stores" is what filling arrays of the results' size takes, and no kernel can beat it. Compile times are those of
an empty cache.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

os.environ["PHALANX_CACHE_DIR"] = tempfile.mkdtemp(prefix="phalanx-derivatives-")  # so that all compiles

import numpy as np
import pinocchio as pin
from machine import conditions, load, processor
from peers import ROBOTS, Pair

import phalanx as px

px.set_threads(1)
MATRICES = {
    "inverse_dynamics_derivatives": pin.computeRNEADerivatives,
    "forward_dynamics_derivatives": pin.computeABADerivatives,
}
LOOP = 64  # states of Pinocchio's loop: more of them leave its cache as ours do not
Jobs = dict[str, tuple[Callable[[], Any], int]]


def interleaved(jobs: Jobs, seconds: float) -> dict[str, float]:
    """Median nanoseconds of processor time per state of each job, in bursts of about ten milliseconds."""
    bursts = {}
    for label, (job, _) in jobs.items():
        job()
        start = time.perf_counter()
        job()
        bursts[label] = max(1, min(20_000, int(0.01 / (time.perf_counter() - start + 1e-9))))
    times: dict[str, list[float]] = {label: [] for label in jobs}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(next(iter(times.values()))) < 5:
        for label, (job, states) in jobs.items():
            start = time.thread_time()
            for _ in range(bursts[label]):
                job()
            times[label].append((time.thread_time() - start) / bursts[label] / states * 1e9)
    return {label: statistics.median(values) for label, values in times.items()}


def loop(pair: Pair, function: Any, states: list[np.ndarray]) -> Callable[[], None]:
    """Pinocchio's function on one state after another."""
    model, data = pair.model, pair.model.createData()
    rows = [
        tuple(np.ascontiguousarray(x[:, k]) for x in states) for k in range(min(LOOP, states[0].shape[1]))
    ]

    def run() -> None:
        for row in rows:
            function(model, data, *row)

    return run


def compiled(pair: Pair, name: str, product: str = "") -> Any:
    """The kernel of a function, or of its product; None, and a line that says so, where there is none."""
    try:
        kernel = pair.robot.kernel(name)
        return getattr(kernel, product) if product else kernel
    except px.PhalanxError as error:
        print(f"{pair.label:18} {error}", flush=True)
        return None


def kernel_job(kernel: Any, inputs: list[np.ndarray], **more: Any) -> Callable[[], Any]:
    """A kernel on a batch, with arrays for its results."""
    out = kernel(*inputs, threads=1, **more)
    return lambda: kernel(*inputs, out=out, threads=1, **more)


def matrices(pair: Pair, batch: int, seconds: float) -> list[dict[str, Any]]:
    """Nanoseconds per state of both functions, of Pinocchio's and of the stores; one state; compiling."""
    ours, theirs = pair.states(batch)
    rows = []
    for name, peer in MATRICES.items():
        if (kernel := compiled(pair, name)) is None:
            continue
        results = [np.zeros((batch, pair.robot.nv, pair.robot.nv)) for _ in range(3)]
        alone = [np.ascontiguousarray(x[0]) for x in ours]
        bound = kernel.bind(*alone, out=tuple(np.zeros_like(r[0]) for r in results))
        jobs: Jobs = {
            "phalanx": (kernel_job(kernel, ours), batch),
            "pinocchio": (loop(pair, peer, theirs), min(LOOP, batch)),
            "stores": (lambda results=results: [r.fill(0.0) for r in results], batch),
            "bound": (bound, 1),
        }
        facts = {"operations": kernel.cost.total, "bytes": sum(r[0].nbytes for r in results)}
        rows.append(
            {"function": name, "ns": interleaved(jobs, seconds), "compile": kernel.compile_seconds, **facts}
        )
    return rows


def products(pair: Pair, batch: int, seconds: float) -> list[dict[str, Any]]:
    """The product with a cotangent beside the function itself."""
    ours, _ = pair.states(batch)
    cotangent = np.random.default_rng(1).standard_normal(ours[1].shape)
    rows = []
    for name in ("inverse_dynamics", "forward_dynamics"):
        kernel = compiled(pair, name)
        if kernel is None or (product := compiled(pair, name, "vjp")) is None:
            continue
        jobs: Jobs = {
            "function": (kernel_job(kernel, ours), batch),
            "vjp": (kernel_job(product, [*ours, cotangent]), batch),
        }
        rows.append({"function": name, "ns": interleaved(jobs, seconds), "compile": product.compile_seconds})
    return rows


def parameters(pair: Pair, batch: int, seconds: float) -> list[dict[str, Any]]:
    """Inertial parameters that come with every state beside those that are built in."""
    ours, _ = pair.states(batch)
    own = pair.robot.inertial_parameters.reshape(-1, 10)
    scale = np.linspace(0.9, 1.1, batch)[:, None, None]
    rows = []
    for name in ("inverse_dynamics", "forward_dynamics"):
        kernel = pair.robot.kernel(name)
        jobs: Jobs = {
            "built in": (kernel_job(kernel, ours), batch),
            "given": (kernel_job(kernel, ours, inertias=own * scale), batch),
        }
        rows.append({"function": name, "ns": interleaved(jobs, seconds)})
    return rows


def long_chains(seconds: float) -> str:
    """Products of long chains: 1000 links in a batch, 10,000 in one state."""
    lines = []
    for n, batch in ((1000, 64), (10_000, 1)):
        robot = px.snake(n)
        q, qd, x = robot.random_state(batch, rng=0)
        cotangent = np.ones_like(qd)
        for name in ("inverse_dynamics", "forward_dynamics"):
            kernel = robot.kernel(name)
            product = kernel.vjp
            jobs: Jobs = {
                "function": (kernel_job(kernel, [q, qd, x]), batch),
                "vjp": (kernel_job(product, [q, qd, x, cotangent]), batch),
            }
            ns = interleaved(jobs, seconds)
            lines.append(
                f"{f'snake of {n:,}':18} {name + '.vjp':29} {ns['vjp'] / 1e3:7.0f} µs, {ns['vjp'] / ns['function']:.2f} times "
                f"the function's {ns['function'] / 1e3:.0f} µs; batch {batch}; compiled in {product.compile_seconds:.2f} s"
            )
    return "\n".join(lines)


def check(pair: Pair) -> None:
    """Raise unless both engines compute the same."""
    (q, *rest), theirs = pair.states(4)
    data = pair.model.createData()
    for name, peer in MATRICES.items():
        found = getattr(pair.robot, name)(q, *rest)
        for k in range(4):
            basis = px.convert.pinocchio_basis(pair.robot, pair.model, q[k])
            wanted = [np.array(m) for m in peer(pair.model, data, *(x[:, k] for x in theirs))]
            for mine, right in zip(found, wanted, strict=True):
                right = np.triu(right) + np.triu(right, 1).T if right is wanted[2] else right
                np.testing.assert_allclose(
                    basis @ mine[k] @ basis.T, right, rtol=1e-6, atol=1e-6 * np.abs(right).max()
                )


def report(label: str, found: dict[str, list[dict[str, Any]]]) -> str:
    """One robot's figures as lines of a table."""
    lines = []
    for row in found["matrices"]:
        ns = row["ns"]
        lines.append(
            f"{label:18} {row['function']:29} {ns['phalanx']:7.0f} {ns['pinocchio']:9.0f} "
            f"{ns['pinocchio'] / ns['phalanx']:6.1f} {ns['stores']:7.0f} {ns['bound'] / 1e3:7.2f} "
            f"{ns['bound'] / ns['pinocchio']:6.2f} {row['operations']:7,} {row['compile']:6.2f}"
        )
    for row in found["products"]:
        ns = row["ns"]
        lines.append(
            f"{label:18} {row['function'] + '.vjp':29} {ns['vjp']:7.0f}   {ns['vjp'] / ns['function']:.2f} times the "
            f"function's {ns['function']:.0f} ns; compiled in {row['compile']:.2f} s"
        )
    for row in found["parameters"]:
        ns = row["ns"]
        lines.append(
            f"{label:18} {row['function'] + '(inertias)':29} {ns['given']:7.0f}   "
            f"{ns['given'] / ns['built in']:.2f} times the {ns['built in']:.0f} ns with the robot's own"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = ("ur5", "panda", "iiwa", "talos", "anymal")
    parser.add_argument("--robots", nargs="*", default=["ur5", "panda", "talos", "anymal"], choices=known)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=1.0, help="per robot and function")
    parser.add_argument("--json")
    options = parser.parse_args()
    print(f"{conditions()}; batch {options.batch}, float64, one thread")
    print(f"Pinocchio {pin.__version__} in a loop from Python; ns a state, one state bound in µs")
    print(
        f"{'robot':18} {'function':29} {'phalanx':>7} {'pinocchio':>9} {'times':>6} {'stores':>7} {'bound':>7} "
        f"{'share':>6} {'ops':>7} {'s made':>6}"
    )
    results = {}
    for name in options.robots:
        pair = ROBOTS[name]()
        check(pair)
        results[name] = {
            "matrices": matrices(pair, options.batch, options.seconds),
            "products": products(pair, options.batch, options.seconds),
            "parameters": parameters(pair, options.batch, options.seconds) if pair.robot.nv < 10 else [],
        }
        print(report(pair.label, results[name]), flush=True)
    print(long_chains(options.seconds))
    if options.json:
        facts = {
            "date": date.today().isoformat(),
            "cpu": processor(),
            "pinocchio": pin.__version__,
            "load": load(),
        }
        Path(options.json).write_text(json.dumps({**facts, "robots": results}, indent=1))


if __name__ == "__main__":
    main()
