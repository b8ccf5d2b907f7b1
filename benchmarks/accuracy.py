# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How many digits does each algorithm of forward dynamics lose along a chain, against 50-digit arithmetic?

    python benchmarks/accuracy.py [--links 10 100 1000] [--seeds 2] [--json FILE]

Worst relative error of the accelerations (max norm) over random chains and over chains that are hard:
straight, links of very different masses, nearly massless links, one heavy tip.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from machine import conditions

import phalanx as px
from phalanx.study.accuracy import exact_result, relative_error

FUNCTION = "forward_dynamics"
ALGORITHMS = {
    "ABA, symmetric": "aba",
    "partition, 8 segments": ("partition", {"segments": 8}),
    "ABIA, scanned": "abia",
    "ABIA, hybrid": ("abia", {"form": "hybrid"}),
    "JSIIA, composite": "jsiia",
    "JSIIA, columns": ("jsiia", {"inertia": "columns"}),
    "CFA, odd-even, global": ("cfa", {"solver": "odd_even", "bias": "global"}),
    "CFA, cyclic, global": ("cfa", {"bias": "global"}),
    "CFA, cyclic, local": "cfa",
    "CFA, serial, local": ("cfa", {"solver": "serial"}),
    "DCA": "dca",
    "contraction": "contraction",
}


def scaled(robot: px.Robot, scale: Callable[[int], float]) -> px.Robot:
    """The robot with the inertia of its moving link i times scale(i)."""
    base, *links = robot.description.links
    changed = [
        replace(link, mass=link.mass * s, inertia=tuple(v * s for v in link.inertia))
        for link, s in ((link, scale(i)) for i, link in enumerate(links))
    ]
    return px.Robot(replace(robot.description, links=(base, *changed)))


def cases(n: int, seed: int) -> Iterator[tuple[str, px.Robot]]:
    """Chains of n links by name."""
    rng = np.random.default_rng(seed)
    chain = px.chain(n, seed=seed)
    ratio, light = 10.0 ** rng.uniform(-6.0, 0.0, n), rng.random(n) < 0.3
    yield "random", chain
    yield "straight", px.snake(n)
    yield "mass ratio 1e6", scaled(chain, lambda i: ratio[i])
    yield "light 1e-9", scaled(chain, lambda i: 1e-9 if light[i] else 1.0)
    yield "light tail", scaled(chain, lambda i: 1e-9 if i > 0.7 * n else 1.0)
    yield "heavy tip 1e6", scaled(chain, lambda i: 1e6 if i == n - 1 else 1.0)


def measure(n: int, seeds: int) -> dict[str, dict[str, float]]:
    """The worst error of every algorithm for every case."""
    worst: dict[str, dict[str, float]] = {}
    for seed in range(seeds):
        for case, robot in cases(n, seed):
            q, qd, tau = robot.random_state(1, rng=seed)
            if case == "straight":
                q = q * 0.0
            exact = exact_result(robot, FUNCTION, [q, qd, tau])
            for name, algorithm in ALGORITHMS.items():
                found = robot.forward_dynamics(q, qd, tau, algorithm=algorithm, backend="numpy")
                row = worst.setdefault(name, {})
                row[case] = max(row.get(case, 0.0), relative_error(found, exact))
    return worst


def main() -> None:
    """Print a table for each number of links."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(conditions())
    results = {}
    for n in options.links:
        results[n] = table = measure(n, options.seeds)
        columns = list(next(iter(table.values())))
        print(f"\n{n} links".ljust(25) + "".join(c.rjust(16) for c in columns))
        for name, row in table.items():
            print(name.ljust(24) + "".join(f"{row[c]:.0e}".rjust(16) for c in columns), flush=True)
    if options.json:
        about = {"machine": platform.machine(), "date": str(datetime.date.today()), "errors": results}
        options.json.write_text(json.dumps(about, indent=1))


if __name__ == "__main__":
    main()
