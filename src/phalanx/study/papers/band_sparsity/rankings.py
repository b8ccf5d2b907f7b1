# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forward dynamics by band sparsity: steps of solvers, growth, times and errors on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from ....algorithms.banded.solvers import SOLVERS
from ....algorithms.forward.abia import LinkRun, joined
from ....io.generators import chain
from ....program.analyses.cost import Count, flow_of
from ....program.graph import Graph, live
from ....robot.robot import Robot
from ....sweeps.heavy_paths import ArrayLinks
from ....sweeps.orders.joining import levels
from ....sweeps.orders.sequential import Sequential
from ...accuracy import exact_result, relative_error
from ..operations import cost_at
from ..printed_formulas import PrintedFormula
from ..quantities import at_sizes, fitted, quantity
from ..verdicts import Claim

_FUNCTION = "forward_dynamics"
# As published; the library's defaults are others.
ALGORITHMS: dict[str, Any] = {
    "jsiia": ("jsiia", {"inertia": "columns"}),
    "abia": ("abia", {"form": "hybrid"}),
    "cfa": ("cfa", {"solver": "odd_even", "bias": "global"}),
    "cfa cyclic": ("cfa", {"solver": "cyclic_reduction", "bias": "global"}),
    "cfa local": ("cfa", {"solver": "cyclic_reduction", "bias": "local"}),
    "abia scanned": ("abia", {"form": "scanned"}),
    "aba": "aba",
    "dca": "dca",
}
LEVEL = 1.25  # times within this ratio are called about equal, here and by benchmarks/band_sparsity.py


@quantity
def solver_steps(solver: str, n: int | None = None) -> Any:
    """divisions that depend on each other in the library's solver of n scalar rows, less the last one"""
    if n is not None:
        return _steps(solver, n)
    return fitted({size: _steps(solver, size) for size in range(1, 34)})


@quantity
def levels_of_prefix_sums() -> Any:
    """levels of the library's scans over n elements, fitted"""
    found = {n: {len(levels(n, joining)) for joining in ("tree", "shift")} for n in range(1, 34)}
    if any(len(counts) > 1 for counts in found.values()):
        return "different for tree and shift"
    return fitted({n: counts.pop() for n, counts in found.items()})


@quantity
def constant_gain(links: Sequence[int]) -> Claim:
    """path of aba a link, by phalanx.cost, against that of the library's join of runs of links a level"""
    one_by_one = fitted({n: cost_at(_FUNCTION, "aba", n, "semi").span.total for n in range(5, 10)})
    paths = [_path_of_joins(n) for n in (2, 4, 8)]
    steps = [b - a for a, b in pairwise(paths)]
    if not isinstance(one_by_one, PrintedFormula) or len(set(steps)) > 1:
        return Claim(True, f"paths {one_by_one} and {paths}")
    slope, level = one_by_one["n"], steps[0]
    gains = {n: float(slope * n) / (level * (n - 1).bit_length()) for n in links}
    figures = at_sizes(gains, "{:.3g} times")
    return Claim(False, f"{slope} operations a link or {level} a level: {figures}")


@quantity
def order_of_paths(order: Sequence[str], n: int) -> Claim:
    """critical paths that phalanx.cost finds: time on unlimited processors without overhead"""
    return _ranked({name: float(_span(name, n)) for name in _names(order)}, order, "{:.0f} operations")


@quantity
def order_of_times(order: Sequence[str], links: int, robots: int = 1) -> Claim:
    """measured here: NumPy on whole arrays, in which operations of a level cost about as much as one"""
    return _ranked(_times(links, robots, _names(order)), order, "{:.3g} ms")


@quantity
def fastest(algorithm: str, others: Sequence[str], links: int, robots: int = 1) -> Claim:
    """measured here: NumPy on whole arrays"""
    times = _times(links, robots, (algorithm, *others))
    figures = " < ".join(f"{name} {times[name]:.3g} ms" for name in sorted(times, key=times.__getitem__))
    return Claim(min(times, key=times.__getitem__) == algorithm, figures)


@quantity
def never_fastest(algorithm: str, others: Sequence[str], cases: Sequence[Sequence[int]]) -> Claim:
    """measured here: NumPy on whole arrays"""
    first = {}
    for links, robots in cases:
        times = _times(links, robots, (algorithm, *others))
        first[links, robots] = min(times, key=times.__getitem__)
    figures = ", ".join(
        f"{name} with {links} links and {robots} robots" for (links, robots), name in first.items()
    )
    return Claim(algorithm not in first.values(), f"fastest: {figures}")


@quantity
def order_of_errors(order: Sequence[str], case: str, links: int) -> Claim:
    """largest error of two chains against 50 digits, as px.accuracy measures it"""
    worst = dict.fromkeys(_names(order), 0.0)
    for seed in (0, 1):
        robot = _case(case, links, seed)
        state = list(robot.random_state((1,), rng=seed))
        if case == "straight":
            state[0] = state[0] * 0.0
        exact = exact_result(robot, _FUNCTION, state)
        for name in worst:
            found = robot.forward_dynamics(*state, algorithm=ALGORITHMS[name], backend="numpy")
            worst[name] = max(worst[name], relative_error(found, exact))
    return _ranked(worst, order, "{:.0e}", alike=None)


@quantity
def work_ratio_to_aba(algorithm: str, n: int) -> float:
    """ratio of the operations that phalanx.cost counts with structure used"""
    return cost_at(_FUNCTION, _key(algorithm), n, "semi").total / cost_at(_FUNCTION, "aba", n, "semi").total


def _times(links: int, robots: int, names: Sequence[str]) -> dict[str, float]:
    """Milliseconds of algorithms, measured with interleaved runs."""
    return dict(_measured(links, robots, tuple(sorted(names))))


@cache
def _measured(links: int, robots: int, names: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    robot = chain(links)
    state = robot.random_state((robots,), rng=0)

    def job(name: str) -> Callable[[], Any]:
        return lambda: robot.forward_dynamics(*state, algorithm=ALGORITHMS[name], backend="numpy")

    best = _interleaved({name: job(name) for name in names})
    return tuple((name, 1e3 * seconds) for name, seconds in best.items())


def _span(name: str, n: int) -> int:
    return cost_at(_FUNCTION, _key(name), n, "semi").span.total


def _key(name: str) -> Any:
    choice = ALGORITHMS[name]
    return choice if isinstance(choice, str) else (choice[0], tuple(choice[1].items()))


@cache
def _steps(solver: str, n: int) -> int:
    graph = Graph()

    def symbols(name: str, *shape: int) -> np.ndarray:
        size = int(np.prod(shape))
        return np.array([graph.leaf(name, k) for k in range(size)], dtype=object).reshape(shape)

    right = np.concatenate([symbols("U", n - 1, 1, 1), np.zeros((1, 1, 1))])
    rows = ArrayLinks(np.arange(-1, n - 1))
    solved = SOLVERS[solver](rows, symbols("D", n, 1, 1), right, symbols("R", n, 1))
    _, _, divisions, _ = flow_of(live(np.ravel(solved))).chains((0.0, 0.0, 1.0, 0.0)).longest
    return divisions - 1


def _path_of_joins(n: int) -> int:
    """Operations on the critical path to the articulated inertias of n general links, joined in a tree."""
    graph = Graph()

    def symbols(k: int, rank: int) -> np.ndarray:
        flat = [graph.leaf(k, j) for j in range(n * 6**rank)]
        return np.array(flat, dtype=object).reshape((n, *(6,) * rank))

    runs = LinkRun(*(symbols(k, rank) for k, rank in enumerate(LinkRun.ranks)))
    whole = Sequential(np.arange(-1, n - 1)).scan(joined, runs, None, True)
    return Count(*flow_of(live(np.ravel(whole.P))).chains().longest).total


def _names(order: Sequence[str]) -> list[str]:
    """All names of an order whose ranks may be shared, as in `a = b`."""
    return [name.strip() for rank in order for name in rank.split("=")]


def _ranked(
    values: Mapping[str, float], order: Sequence[str], text: str, alike: float | None = LEVEL
) -> Claim:
    """Whether values ascend from rank to rank; those that share one are about equal, if that is asked."""
    ranks = [[values[name] for name in _names([rank])] for rank in order]
    ascending = all(max(a) < min(b) for a, b in pairwise(ranks))
    equal = alike is None or all(max(p) <= alike * min(p) for p in ranks)
    figures = " < ".join(
        f"{name} {text.format(values[name])}" for name in sorted(values, key=values.__getitem__)
    )
    return Claim(ascending and equal, figures)


def _interleaved(
    jobs: Mapping[str, Callable[[], Any]], seconds: float = 1.0, most: int = 15
) -> dict[str, float]:
    """The shortest time of each job; runs are interleaved so that other load affects all alike."""
    for job in jobs.values():
        job()
    best = dict.fromkeys(jobs, float("inf"))
    end = time.perf_counter() + seconds
    for rounds in range(most):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - start)
        if rounds and time.perf_counter() > end:
            break
    return best


def _case(case: str, links: int, seed: int) -> Robot:
    if case != "heavy tip":
        return chain(links, seed=seed)
    robot = chain(links, seed=seed)
    *others, tip = robot.description.links
    heavy = replace(tip, mass=1e6 * tip.mass, inertia=tuple(1e6 * x for x in tip.inertia))
    return Robot(replace(robot.description, links=(*others, heavy)))
