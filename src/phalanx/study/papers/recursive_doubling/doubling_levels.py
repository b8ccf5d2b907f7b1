# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The levels of the inertia matrix by recursive doubling, as the library lists them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....algorithms.inertia.recursive_doubling import Computation, stage_a_levels, stage_b_levels
from ...machines import cores
from ...schedule import schedule
from ..operations import choice, cost_at, general
from ..quantities import at_sizes, fitted, quantity
from ..verdicts import Claim

_SIZES = range(1, 34)
_POWERS = (2, 4, 8, 16, 32)
_SETS: dict[str, Callable[[list[Computation]], int]] = {
    "sets": lambda level: len({c.u for c in level}),
    "links": lambda level: level[0].k - level[0].i,
    "computations": lambda level: max(c.v for c in level),
}


@quantity
def levels_of_stage(stage: str) -> Any:
    """levels that the library's recursive_doubling lists, fitted"""
    listed = stage_a_levels if stage == "A" else stage_b_levels
    return fitted({n: len(listed(n)) for n in _SIZES})


@quantity
def sets_of_levels(n: int, what: str) -> tuple[int, ...]:
    """counted in the levels that the library's recursive_doubling lists"""
    return tuple(_SETS[what](level) for level in stage_a_levels(n))


@quantity
def computations_of_level() -> Any:
    """computations on the levels of the library's Stage A, fitted"""
    widths = {n: set(widths_of_stage(n)) for n in _POWERS}
    if any(len(found) != 1 for found in widths.values()):
        return "different from level to level"
    return fitted({n: found.pop() for n, found in widths.items()})


@quantity
def widths_of_stage(n: int) -> tuple[int, ...]:
    """computations on each level of the library's Stage A"""
    return tuple(map(len, stage_a_levels(n)))


@quantity
def joined_sets(n: int, level: int) -> str:
    """sets that a level of the library's Stage A joins"""
    return " ".join(f"{c.i + 1}{c.k}" for c in stage_a_levels(n)[level - 1] if c.v == 1)


@quantity
def runs_to_the_tip(n: int, computations: int | None = None) -> str:
    """runs up to the last link that the library's Stage A has formed"""
    formed = {
        (c.s, c.k) for level in stage_a_levels(n) for c in level if not computations or c.v <= computations
    }
    starts = sorted({s for s, k in formed if k == n} | {n})
    return " ".join(f"{s}{n}" for s in starts)


@quantity
def rows_of_column(n: int, column: int) -> tuple[str, ...]:
    """rows of a column on each level of the library's Stage B"""
    rows = ([c.s for c in level if c.x == column] for level in stage_b_levels(n))
    return tuple(" ".join(map(str, found)) or "none" for found in rows)


@quantity
def elements_of_stage_b() -> Any:
    """different elements that the library's Stage B forms, fitted; none is formed twice"""
    formed = {n: [(c.s, c.x) for level in stage_b_levels(n) for c in level] for n in _SIZES}
    if any(len(found) != len(set(found)) for found in formed.values()):
        return "some formed twice"
    return fitted({n: len(found) for n, found in formed.items()})


@quantity
def transforms_reused() -> Claim:
    """transforms that the library's Stage B reads and Stage A has not formed before"""
    missing = sum(_missing(n) for n in _SIZES)
    return Claim(missing == 0, f"{missing} missing for n = {_SIZES[0]} … {_SIZES[-1]}")


@quantity
def separate_columns(sizes: Sequence[int]) -> Claim:
    """transforms that the library's Stage A composes, and those of every column doubled by itself"""
    figures, more = [], True
    for n in sizes:
        shared, apart = composed_transforms(n)
        more &= apart > shared
        figures.append(f"{shared} composed once and {apart} column by column at n = {n}")
    return Claim(more, ", ".join(figures))


def composed_transforms(n: int) -> tuple[int, int]:
    """How many composed transforms Stage B needs: in all, and the sum of what every column needs."""
    made = {(c.s, c.k + 1): (_transform(c), (c.j + 1, c.k + 1)) for level in stage_a_levels(n) for c in level}

    def closed(wanted: set[tuple[int, int]]) -> set[tuple[int, int]]:
        found, rest = set(), list(wanted)
        while rest:
            if (x := rest.pop()) in made and x not in found:
                found.add(x)
                rest += made[x]
        return found

    columns: dict[int, set[tuple[int, int]]] = {}
    for level in stage_b_levels(n):
        for c in level:
            columns.setdefault(c.x, set()).add(_transform(c))
    apart = [closed(wanted) for wanted in columns.values()]
    return len(set().union(*apart)), sum(map(len, apart))


@quantity
def mixture_of_both() -> Claim:
    """critical paths of phalanx.cost: Stage A with columns from link to link, and Table 1"""
    sizes = (8, 16, 32)
    forms = {"mixture": choice("recursive_doubling", {"columns": "linear"}), "Table 1": "composite_original"}
    paths = {
        name: {n: cost_at("mass_matrix", form, n, "semi").span.total for n in sizes}
        for name, form in forms.items()
    }
    slopes = [(path[32] - path[16]) / 16 for path in paths.values()]
    figures = [f"{name} {at_sizes(path)}" for name, path in paths.items()]
    return Claim(slopes[0] < slopes[1], f"{'; '.join(figures)}; {slopes[0]:g} and {slopes[1]:g} a link")


@quantity
def mapped_with_messages(n: int, start_up: int, first: str) -> Claim:
    """makespans of px.schedule on px.machines.cores(n / 2), a time of one operation for each number"""
    names = {"Table 1": "composite_original", "Table 2": "recursive_doubling"}
    machine = cores(n // 2, start_up=start_up, per_word=1)
    times = {
        table: schedule(general(n), "mass_matrix", name, machine, customise="semi").makespan
        for table, name in names.items()
    }
    figures = ", ".join(f"{table} {time:.0f}" for table, time in times.items())
    return Claim(min(times, key=times.__getitem__) == first, f"{figures} on {n // 2} processors")


def _missing(n: int) -> int:
    """How many transforms (s, j+1) a level of Stage B needs that the levels before did not leave."""
    known = {(s, s + 1) for s in range(1, n)}
    missing = 0
    for a, b in zip(stage_a_levels(n), stage_b_levels(n), strict=True):
        missing += len({_transform(c) for c in b} - known)
        known |= {(c.s, c.k + 1) for c in a}
    return missing


def _transform(c: Computation) -> tuple[int, int]:
    return c.s, c.j + 1
