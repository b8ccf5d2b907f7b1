# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Operations and critical paths of the library's algorithms, counted by `phalanx.cost`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

from ....algorithms import find
from ....io.generators import chain
from ....program.cost import Cost, Count, cost_of
from ....program.task import TraceTask
from ....program.trace import trace
from ....robot.robot import Robot
from ....typing import Customise
from ...closed_form import general_chain
from ...conventions import CONVENTIONS
from ...cost import cost
from ..quantities import quantity
from .forms import fitted, whole

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
    # The wrench at the tip is turned into the last frame: half of that is its force, half its moment.
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
    """A chain of turning joints in general position with dense inertias."""
    return chain(n)


def diagonal(n: int) -> Robot:
    """A chain of turning joints whose links have diagonal inertias in their own frames."""
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
