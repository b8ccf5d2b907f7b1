# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Operations and critical paths of the library's algorithms, counted by `phalanx.cost`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

from ...algorithms import find
from ...io.generators import chain
from ...program.analyses.cost import Cost, Count, cost_of
from ...program.task import TraceTask
from ...program.trace import trace
from ...robot.robot import Robot
from ...typing import Customise
from ..closed_form import general_chain
from ..conventions import CONVENTIONS
from ..cost import cost
from ..machines import pram
from ..schedule import schedule
from .printed_formulas import PrintedFormula
from .quantities import at_sizes, fitted, quantity, whole
from .verdicts import Claim

Pair = tuple[Any, Any]

SIZES = (3, 4, 5, 6, 7, 8)


@quantity
def work(
    function: str,
    algorithm: str,
    customise: Customise = "none",
    convention: str | None = None,
    robot: str = "general",
    n: int | None = None,
    sizes: Sequence[int] = SIZES,
    options: dict[str, Any] | None = None,
) -> Pair:
    """multiplications and additions that phalanx.cost counts, at n or as a formula verified on more sizes"""

    def counted(n: int) -> Count:
        return cost_at(function, choice(algorithm, options), n, customise, convention, robot)

    return pair(counted, n, sizes)


@quantity
def work_in_full(function: str, algorithm: str, n: int) -> tuple[int, int, int]:
    """multiplications, additions and divisions that phalanx.cost counts"""
    found = cost_at(function, algorithm, n)
    return found.multiplications, found.additions, found.divisions


@quantity
def total_work(function: str, algorithm: str, n: int, customise: str = "none") -> int:
    """all operations that phalanx.cost counts"""
    return cost_at(function, algorithm, n, customise).total


@quantity
def span(
    function: str,
    algorithm: str,
    convention: str | None = None,
    n: int | None = None,
    sizes: Sequence[int] = SIZES,
) -> Pair:
    """operations on the critical path that phalanx.cost finds, at n or as a formula verified on more sizes"""

    def counted(n: int) -> Count:
        return cost_at(function, algorithm, n, "none", convention).span

    rules = CONVENTIONS.get(convention or algorithm)
    return pair(counted, n, sizes, rules.levels if rules else "n")


@quantity
def work_of(parts: Sequence[str], customise: str = "none", robot: str = "general", tip: bool = False) -> Pair:
    """operations of one quantity of zomaya_morris per joint, by phalanx.cost"""
    found = cost_at("inverse_dynamics", "zomaya_morris", 6, customise, None, robot).by_quantity
    counts = [found.get(name, Count()) for name in parts]
    # The wrench at the tip is rotated into the last frame: half of that is its force, half its moment.
    share = [(c, Fraction(1, 6)) for c in counts] + [(found["external"], Fraction(1, 12))] * tip
    return (
        whole(sum((c.multiplications * s for c, s in share), Fraction(0))),
        whole(sum((c.additions * s for c, s in share), Fraction(0))),
    )


@quantity
def luh_walker_paul_operations(n: int | None = None) -> Pair:
    """operations of luh_walker_paul on a fixed base with a free tip, z q' and projection charged"""
    book = CONVENTIONS["lathrop_online"].bookkeeping("none")

    def counted(n: int) -> Count:
        shapes = {"q": (n,), "qd": (n,), "qdd": (n,)}
        entry = find("inverse_dynamics", "luh_walker_paul")
        program = trace(TraceTask(entry, general(n).model, shapes, {"tau": (n,)}), "none", book)
        return cost_of(program, free=("s",))

    return pair(counted, n)


@cache
def cost_at(
    function: str,
    algorithm: Any,
    n: int,
    customise: Customise = "none",
    convention: str | None = None,
    robot: str = "general",
) -> Cost:
    """The cost of an algorithm for a chain of n joints; options of the algorithm as a tuple of pairs."""
    chosen = (algorithm[0], dict(algorithm[1])) if isinstance(algorithm, tuple) else algorithm
    found = cost(ROBOTS[robot](n), function, chosen, customise=customise, convention=convention)
    return replace(found)  # a copy without the program, which would fill the memory


def general(n: int) -> Robot:
    """A chain of revolute joints in general position with dense inertias."""
    return chain(n)


def diagonal(n: int) -> Robot:
    """A chain of revolute joints whose links have diagonal inertias in their own frames."""
    return general_chain(n, "diagonal")


ROBOTS: dict[str, Callable[[int], Robot]] = {"general": general, "diagonal": diagonal}


def choice(algorithm: str, options: Mapping[str, Any] | None) -> Any:
    """An algorithm with its options, as `cost_at` takes it."""
    return (algorithm, tuple(options.items())) if options else algorithm


def pair(
    counted: Callable[[int], Count], n: int | None, sizes: Sequence[int] = SIZES, levels: str = "n"
) -> Pair:
    """Multiplications and additions at n joints, else as formulas that all sizes follow."""
    if n is not None:
        one = counted(n)
        return one.multiplications, one.additions
    counts = {size: counted(size) for size in sizes}
    return (
        fitted({size: c.multiplications for size, c in counts.items()}, levels),
        fitted({size: c.additions for size, c in counts.items()}, levels),
    )


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
    """Whether values by n grow in an order such as "L" (log n) or "n^2", by their steps from n to 2n."""
    sizes = [n for n in values if 2 * n in values]
    steps = [values[2 * n] - values[n] for n in sizes]
    if len(steps) < 2:
        return False
    ratios = [b / a for a, b in pairwise(steps)]
    factor = {"L": 1.0, "n": 2.0, "nL": 2.3, "n^2": 4.0, "n^3": 8.0}[order]
    return all(abs(r / factor - 1.0) < 0.35 for r in ratios)
