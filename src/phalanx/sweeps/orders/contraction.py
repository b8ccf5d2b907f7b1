# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Contraction of a tree: which runs of bodies are joined and which branches folded in, round by round.

A run is bodies in a row, known by its first (`top`) and its last (`bottom`). In a round every run on which
nothing hangs any more is folded into the body that carries it (rake), and of runs that hang on
each other alone every second one is joined to the one before (compress). Both leave at most three quarters
of the runs, so that the rounds of any tree are a logarithm of its bodies: Miller and Reif 1985.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Round:
    """What happens at once.

    joins  (k, 4): top, bottom of a run; top, bottom of the run that hangs on it alone and becomes part of it
    folds  (m, 3): top, bottom of a run on which nothing hangs; the body that carries it
    """

    joins: np.ndarray
    folds: np.ndarray


def trip_count_of(parents: np.ndarray) -> list[Round]:
    """The rounds that contract a tree (parents first, -1 the world) to one run for each body on the world."""
    above = parents.tolist()
    hanging: list[set[int]] = [set() for _ in above]  # tops of the runs that hang on each body
    for top, body in enumerate(above):
        if body >= 0:
            hanging[body].add(top)
    bottom = list(range(len(above)))
    alive = list(range(len(above)))  # tops, each after the one that carries it
    rounds = []
    while any(hanging):
        joins, folds, taken = [], [], set[int]()
        for top in alive:
            tips = hanging[bottom[top]]
            if not tips:
                folds.append((top, bottom[top], above[top]))
            elif len(tips) == 1 and top not in taken and hanging[bottom[next(iter(tips))]]:
                other = next(iter(tips))
                joins.append((top, bottom[top], other, bottom[other]))
                taken.add(other)
        for top, end, other, far in joins:
            hanging[end].discard(other)
            bottom[top] = far
        folds = [fold for fold in folds if fold[2] >= 0]  # what the world carries is done
        for top, _, carrier in folds:
            hanging[carrier].discard(top)
        gone = taken | {top for top, _, _ in folds}
        alive = [top for top in alive if top not in gone]
        rounds.append(Round(_table(joins, 4), _table(folds, 3)))
    return rounds


def _table(rows: Sequence[tuple[int, ...]], columns: int) -> np.ndarray:
    return np.array(rows, dtype=np.intp).reshape(-1, columns)
