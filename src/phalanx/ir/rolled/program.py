# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A rolled program: loops over bodies and what stands between them, all of it small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rewrite import Code


@dataclass(frozen=True)
class Loop:
    """One pass over the bodies: instructions for one, and where its results go.

    Inputs of the code are told by their first argument: "param" (column), "state" (input,
    map, width, offset), "sine" and "cosine" (angle), "load" (slot), "common" (number),
    "carry" (number). Targets: ("carry", number), ("save", slot), ("total", common),
    ("out", map, width, offset), ("angle", number), ("rest", k).
    """

    code: Code
    targets: list[tuple[Any, ...]]
    outward: bool = True
    roots: Mapping[int, Any] | None = None  # of outward carries: a number or ("common", k)
    bodies: str | None = None  # the map that lists the bodies; all of them if None


@dataclass(frozen=True)
class Once:
    """Instructions for one value per state. Inputs: "global", "common", "at" (slot, body)."""

    code: Code
    targets: list[tuple[Any, ...]]  # ("common", number) or ("out", position)


@dataclass(frozen=True)
class Pairs:
    """A walk along ancestors: inputs "walk" (number), "load" and "param" at the ancestor, "common".

    Results: what is carried on, then the entry. Numbers are slots (int) or constants (float).
    """

    start: list[int | float]
    code: Code
    diagonal: int | float  # what is added on the diagonal


@dataclass(frozen=True)
class MatrixOut:
    """The matrix of a walk, written to the output as it is made."""

    pairs: Pairs


@dataclass(frozen=True)
class Factor:
    """The packed factor of the matrix of a walk, kept for later."""

    pairs: Pairs


@dataclass(frozen=True)
class Solve:
    """The solution for the right-hand side in one slot, stored to another."""

    source: int | float
    slot: int


@dataclass(frozen=True)
class InverseOut:
    """The inverse of the factored matrix, written to the output."""


@dataclass(frozen=True)
class RolledProgram:
    """What an emitter needs: sizes, tables and the stages in order."""

    inputs: Mapping[str, tuple[int, ...]]
    output: tuple[int, ...]
    n: int
    parents: np.ndarray | None  # None: a chain
    table: np.ndarray  # (n, columns)
    columns: Mapping[int, int]  # number of a parameter to its column in the table
    maps: Mapping[str, np.ndarray]
    stages: list[Any]
    slots: int
    commons: int
    angles: int
    carries: Mapping[int, int]  # outward ones: place among the values that a tree keeps
    arrivals: Mapping[int, int]  # inward ones
    rest: bool  # whether some bodies' transforms are computed first
