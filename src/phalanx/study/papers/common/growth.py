# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How work and time grow with the number of joints, and how algorithms compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ...machines import pram
from ...schedule import schedule
from ..formulas import PrintedFormula
from ..quantities import quantity
from ..records import Claim
from .forms import at_sizes, fitted
from .operations import SIZES, choice, cost_at, general

_POWERS = (2, 4, 8, 16)
_GROWTH = ("L", "K", "n", "nL", "n^2", "n^3")  # slow to fast


@quantity
def span_total(function: str, algorithm: str, sizes: Sequence[int] = SIZES) -> Any:
    """operations on the critical path that phalanx.cost finds with structure used, fitted"""
    return fitted({n: cost_at(function, algorithm, n, "semi").span.total for n in sizes})


@quantity
def span_total_at(function: str, algorithm: str, n: int) -> int:
    """operations on the critical path that phalanx.cost finds with structure used"""
    return cost_at(function, algorithm, n, "semi").span.total


@quantity
def work_order(
    function: str,
    algorithm: str,
    order: str,
    options: Mapping[str, Any] | None = None,
    sizes: Sequence[int] = range(3, 10),
) -> Claim:
    """growth of phalanx.cost's operations with the joints"""
    chosen = choice(algorithm, options)
    values = {n: cost_at(function, chosen, n, _level(function)).total for n in sizes}
    return _order(values, order)


@quantity
def span_order(function: str, algorithm: str, order: str, options: Mapping[str, Any] | None = None) -> Claim:
    """growth of phalanx.cost's critical path with the joints"""
    sizes = SIZES if order.startswith("n") else _POWERS
    return _order(_spans(function, algorithm, options, sizes), order)


@quantity
def span_faster_than_log(function: str, algorithm: str, options: Mapping[str, Any]) -> Claim:
    """growth of phalanx.cost's critical path with the links: more with every doubling"""
    values = _spans(function, algorithm, options, _POWERS)
    return Claim(not grows_as(values, "L"), at_sizes(values))


@quantity
def time_order_on_processors(
    function: str, algorithm: str, order: str, power: int, options: Mapping[str, Any] | None = None
) -> Claim:
    """growth of px.schedule's makespan with the joints, on pram(n^power), up to 32 joints"""
    chosen = (algorithm, options or {})
    times = {
        n: round(schedule(general(n), function, chosen, pram(n**power), customise="semi").makespan)
        for n in (4, 8, 16, 32)
    }
    return _order(times, order)


@quantity
def linear_time_on_n_processors(function: str, algorithm: str) -> Claim:
    """growth of px.schedule's makespan on pram(n) with the joints"""
    sizes = (4, 8, 16)
    times = {n: schedule(general(n), function, algorithm, pram(n), customise="semi").makespan for n in sizes}
    # Linear growth at most doubles from one size to the next.
    grows = max(times[b] / times[a] for a, b in pairwise(sizes))
    return Claim(grows <= 2.2, at_sizes(times, "{:g}"))


@quantity
def about_as_much_work(function: str, algorithm: str, other_function: str, other: str, n: int) -> Claim:
    """ratio of the operations that phalanx.cost counts; up to a quarter more or less is about equal"""
    a, b = cost_at(function, algorithm, n).total, cost_at(other_function, other, n).total
    return Claim(0.8 <= a / b <= 1.25, f"{a} by {algorithm}, {b} by {other}")


@quantity
def more_work(function: str, algorithm: str, other: str, sizes: Sequence[int] = (4, 6, 8, 13, 16)) -> Claim:
    """operations that phalanx.cost counts for both algorithms"""
    ratios = {n: cost_at(function, algorithm, n).total / cost_at(function, other, n).total for n in sizes}
    return Claim(all(r > 1.0 for r in ratios.values()), at_sizes(ratios, "{:.2f} times"))


def _level(function: str) -> str:
    return "semi" if function == "forward_dynamics" else "none"


def _spans(
    function: str, algorithm: str, options: Mapping[str, Any] | None, sizes: Sequence[int]
) -> dict[int, int]:
    chosen = choice(algorithm, options)
    return {n: cost_at(function, chosen, n, _level(function)).span.total for n in sizes}


def _order(values: Mapping[int, int], order: str) -> Claim:
    """Whether counts grow as claimed: by their closed form, else by what a doubling of n does to them."""
    form = fitted(values)
    if isinstance(form, PrintedFormula):
        leading = next((t for t in reversed(_GROWTH) if form[t]), "1")
        return Claim(leading == order, f"{form}")
    return Claim(grows_as(values, order), at_sizes(values))


def grows_as(values: Mapping[int, int], order: str) -> bool:
    """From one doubling of n to the next: equal steps for a logarithm, twice the steps for a line."""
    sizes = [n for n in values if 2 * n in values]
    steps = [values[2 * n] - values[n] for n in sizes]
    if len(steps) < 2:
        return False
    ratios = [b / a for a, b in pairwise(steps)]
    factor = {"L": 1.0, "n": 2.0, "nL": 2.3, "n^2": 4.0, "n^3": 8.0}[order]
    return all(abs(r / factor - 1.0) < 0.35 for r in ratios)
