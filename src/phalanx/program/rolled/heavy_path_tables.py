# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Where the limbs of a robot stand: its links in the order in which loops over limbs visit them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...robot.model import Model
from ...sweeps.heavy_paths import ArrayLinks


@dataclass(frozen=True, eq=False)
class HeavyPathRows:
    """The links of a robot as rows, limb by limb, those on which nothing hangs first.

    A link is the body that carries its inertia. What would hang on the world hangs on the row `nobody`.
    """

    bodies: np.ndarray  # (rows,) that carry the links
    first: np.ndarray  # (limbs,) row of each limb's first link
    length: np.ndarray  # (limbs,)
    carrier: np.ndarray  # (limbs,) body on which each hangs
    nobody: int

    @property
    def levels(self) -> np.ndarray:
        """How often the links of each limb (limbs,) can be joined by pairs."""
        return np.array([(int(k) - 1).bit_length() for k in self.length])

    @property
    def branches(self) -> bool:
        """Whether a limb hangs on a link."""
        return bool((self.carrier != self.nobody).any())

    @cached_property
    def loaded(self) -> np.ndarray:
        """The rows of links that carry limbs, in order."""
        row = np.full(self.nobody + 1, -1)
        row[self.bodies] = np.arange(len(self.bodies))
        found: np.ndarray = np.unique(row[self.carrier[self.carrier != self.nobody]])
        return found

    @cached_property
    def loaded_first(self) -> np.ndarray:
        """Where among `loaded` the links of each limb (limbs,) begin."""
        return np.searchsorted(self.loaded, self.first)

    @cached_property
    def loaded_count(self) -> np.ndarray:
        """How many links of each limb (limbs,) carry limbs."""
        return np.searchsorted(self.loaded, self.first + self.length) - self.loaded_first

    @cached_property
    def place(self) -> np.ndarray:
        """The place of each row in its limb."""
        return np.arange(len(self.bodies)) - np.repeat(self.first, self.length)


def heavy_path_rows(model: Model) -> HeavyPathRows:
    """The limbs of a model."""
    links = ArrayLinks.of(model)
    heavy_paths = [heavy_path for rank in links.ranks for group in rank for heavy_path in group]
    length = np.array([len(heavy_path) for heavy_path in heavy_paths])
    carrier = np.append(links.last, model.n)[links.parents[[heavy_path[0] for heavy_path in heavy_paths]]]
    return HeavyPathRows(
        links.last[np.concatenate(heavy_paths)], np.cumsum(length) - length, length, carrier, model.n
    )
