# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix on a triangular array of processors, everything seen from the end effector."""

from functools import cache
from typing import Any, NamedTuple

from ...dh import offsets, rotations
from ...model import Model, diagonal
from ...spatial import Array, Tensor, cross, matvec, namespace, transpose, unpack
from ...sweeps import relay
from ...triangle import Level, at_places, strides, triangle
from ..registry import algorithm
from .frames import by_joint, moments, project, z0


class Steps(NamedTuple):
    """Who works when: levels of (receiver, sender) among the holders of rotations and among the pairs.

    `rows` is the row of each holder of a rotation, `holder` the holder that serves each pair.
    """

    rows: Any
    holder: Any
    rotations: list[Level]
    outward: list[Level]
    inward: list[Level]


@cache
def steps(n: int, processors: str) -> Steps:
    """The steps of n (n + 1) / 2 processors, one for each pair, or of n processors, one for each column.

    A column of the array meets rows 1, 2, 4, … away; a single processor takes its column row by row.
    """
    pair = triangle(n)
    if processors == "n":
        chain = [[(j, j + h) for j in range(n - h)] for h in strides(n)]
        return Steps(pair.row[:n], pair.row, chain, pair.outward(), pair.inward())
    jumps = strides(n)
    everyone = pair.place[pair.row, pair.column]
    return Steps(pair.row, everyone, pair.inward(jumps), pair.outward(jumps), pair.inward(jumps))
