# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The levels of the inertia matrix by recursive doubling, as the library lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....algorithms.inertia.recursive_doubling import Computation, stage_a_levels, stage_b_levels
from ..common.forms import fitted
from ..quantities import quantity
from ..records import Claim

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
