# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Tables of the heavy paths of a robot: its links in the order in which loops over these paths visit them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...robot.model import Model
from ...sweeps.heavy_paths import ArrayLinks


@dataclass(frozen=True, eq=False)
class HeavyPathRows:
    """The links of a robot as rows, sorted by heavy path; paths that carry no other path come first.

    A link is the body that carries its inertia. A path that starts at the world has the carrier `no_carrier`.
    """

    bodies: np.ndarray  # (rows,) that carry the links
    first: np.ndarray  # (heavy paths,) row of the first link of each path
    length: np.ndarray  # (heavy paths,)
    carrier: np.ndarray  # (heavy paths,) body to which each path is attached
    no_carrier: int

    @property
    def levels(self) -> np.ndarray:
        """Levels of pairwise joins that reduce each heavy path to one element: ceil(log2(length))."""
        return np.array([(int(k) - 1).bit_length() for k in self.length])

    @property
    def branches(self) -> bool:
        """Whether some heavy path is attached to a link, not to the world."""
        return bool((self.carrier != self.no_carrier).any())

    @cached_property
    def loaded(self) -> np.ndarray:
        """The rows of links that carry heavy paths, in order."""
        row = np.full(self.no_carrier + 1, -1)
        row[self.bodies] = np.arange(len(self.bodies))
        found: np.ndarray = np.unique(row[self.carrier[self.carrier != self.no_carrier]])
        return found

    @cached_property
    def loaded_first(self) -> np.ndarray:
        """The index in `loaded` at which the links of each heavy path (heavy paths,) begin."""
        return np.searchsorted(self.loaded, self.first)

    @cached_property
    def loaded_count(self) -> np.ndarray:
        """The number of links of each heavy path (heavy paths,) that carry other heavy paths."""
        return np.searchsorted(self.loaded, self.first + self.length) - self.loaded_first

    @cached_property
    def place(self) -> np.ndarray:
        """The position of each row within its heavy path."""
        return np.arange(len(self.bodies)) - np.repeat(self.first, self.length)


def heavy_path_rows(model: Model) -> HeavyPathRows:
    """Return the table of the heavy paths of a model."""
    links = ArrayLinks.of(model)
    heavy_paths = [heavy_path for rank in links.ranks for group in rank for heavy_path in group]
    length = np.array([len(heavy_path) for heavy_path in heavy_paths])
    carrier = np.append(links.last, model.n)[links.parents[[heavy_path[0] for heavy_path in heavy_paths]]]
    return HeavyPathRows(
        links.last[np.concatenate(heavy_paths)], np.cumsum(length) - length, length, carrier, model.n
    )
