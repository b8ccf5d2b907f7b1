# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The orders of a scan: which neighbouring runs of a chain are joined, level by level, as data.

A level is an array (k, 3) of slots (left, right, target): the run that ends in slot `left` and the
one in slot `right` become one, stored in slot `target`. All joins of a level read before any writes.
Slot i holds a run that ends at element i, after the last level the one that begins at the first
element; inward everything is mirrored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import PhalanxError, nearest, shown

Level = np.ndarray
Joining = Callable[[int], Iterator[Level]]


def fold(count: int) -> Iterator[Level]:
    """One element after another: count - 1 levels of one join each."""
    for i in range(1, count):
        yield _absorb([i - 1], [i])


def tree(count: int) -> Iterator[Level]:
    """Blocks of 1, 2, 4, …: every element of an odd block absorbs the last one of the block before.

    ceil(log2 count) levels, at most count / 2 joins in each; Lathrop 1985, Fig. 5.
    """
    index, size = np.arange(count), 1
    while size < count:
        right = index[index // size % 2 == 1]
        yield _absorb(right // size * size - 1, right)
        size *= 2


def shift(count: int) -> Iterator[Level]:
    """Every element absorbs the one 1, 2, 4, … before: as many levels as the tree, more joins."""
    size = 1
    while size < count:
        right = np.arange(size, count)
        yield _absorb(right - size, right)
        size *= 2


def segments(count: int, pieces: int = 8) -> Iterator[Level]:
    """Each piece folded beside the others, then their last elements, then all others at once."""
    edges = np.unique(np.linspace(0, count, min(pieces, count) + 1).astype(int))
    first, last = edges[:-1], edges[1:] - 1
    for step in range(1, int((last - first).max(initial=0)) + 1):
        right = first[first + step <= last] + step
        yield _absorb(right - 1, right)
    for left, right in pairwise(last.tolist()):
        yield _absorb([left], [right])
    rest = [
        (a - 1, i) for a, b in zip(first[1:].tolist(), last[1:].tolist(), strict=True) for i in range(a, b)
    ]
    if rest:
        yield _absorb(*zip(*rest, strict=True))


JOININGS: dict[str, Joining] = {"tree": tree, "fold": fold, "shift": shift, "segments": segments}


def joining_of(choice: str | Joining) -> Joining:
    """The order of a scan by its name, or the one given itself."""
    if callable(choice):
        return choice
    if choice not in JOININGS:
        raise PhalanxError(
            f"joining: unknown order {shown(choice)};{nearest(choice, JOININGS, what='orders')}"
        )
    return JOININGS[choice]


def levels(count: int, joining: str | Joining = "tree", *, reverse: bool = False) -> list[Level]:
    """The levels of a scan over `count` elements; inward (`reverse`) aligned at the last one."""
    made = list(joining_of(joining)(count))
    # Mirrored: left and right are exchanged.
    return [count - 1 - level[:, [1, 0, 2]] for level in made] if reverse else made


def runs(
    count: int, joining: str | Joining = "tree", *, reverse: bool = False
) -> list[list[tuple[int, int]]]:
    """The run (first, last) that every join of every level makes, as the papers' figures label them."""
    held = [(i, i) for i in range(count)]
    result = []
    for level in levels(count, joining, reverse=reverse):
        made = [((held[left][0], held[right][1]), target) for left, right, target in level.tolist()]
        for run, target in made:
            held[target] = run
        result.append([run for run, _ in made])
    return result


def _absorb(left: Any, right: Any) -> Level:
    """The level of a scan in which each element joins the run to its left."""
    level: np.ndarray = np.stack([left, right, right], axis=1).astype(np.intp)
    return level
