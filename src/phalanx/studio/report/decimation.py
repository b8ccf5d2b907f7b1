# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Meshes with fewer triangles: vertices of a cell of a grid become one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...io.visuals.shapes import Surface

_FINE = 1 / 1500  # of the largest mesh: the cell to begin with
_GROWTH = 1.5
_ROUNDS = 40


def simplified(surfaces: Sequence[Surface], faces: int) -> list[Surface]:
    """The surfaces with at most so many triangles in all; as they are, if they have no more.

    One size of cell serves all, so that large and small parts keep the same detail.
    """
    found = list(surfaces)
    if not found:
        return found
    excess = sum(len(s.faces) for s in found) / max(faces, 1)
    cell = _FINE * max(1.0, excess) ** 0.5 * max(float(np.ptp(s.vertices, axis=0).max()) for s in found)
    for _ in range(_ROUNDS):
        if sum(len(s.faces) for s in found) <= faces or cell <= 0.0:
            return found
        found = [clustered(s, cell) for s in surfaces]
        cell *= _GROWTH
    return found


def clustered(surface: Surface, cell: float) -> Surface:
    """A surface whose vertices of each cell are one at their mean; triangles without area are gone."""
    vertices = np.asarray(surface.vertices, dtype=float)
    keys = np.floor((vertices - vertices.min(axis=0)) / cell).astype(np.int64)
    _, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.ravel()
    count = np.bincount(group)
    means = np.column_stack([np.bincount(group, weights=vertices[:, k]) / count for k in range(3)])
    faces = group[np.asarray(surface.faces, dtype=np.int64)]
    kept = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])
    faces = faces[kept]
    if len(faces):
        # The same triangle twice, whichever corner it begins with, is one; its order tells the outside.
        turned = np.take_along_axis(faces, (faces.argmin(axis=1)[:, None] + np.arange(3)) % 3, axis=1)
        faces = np.unique(turned, axis=0)
    return Surface(means.astype(np.float32), faces.astype(np.uint32), surface.colour)
