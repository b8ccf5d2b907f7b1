# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One link of a chain in Denavit-Hartenberg frames that stands for all: its constants in columns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ....robot.dh import DHChain
from ....spatial import Array, namespace
from ..graph import BodyGraph
from ..sweeps.indexing import Mask


@dataclass(frozen=True, eq=False)
class BodyChain(DHChain):
    """The chain of one link that stands for all; `n` is the number of all."""

    graph: Any = None
    whole: Any = None

    def before(self, name: str, first: float) -> Array:
        made: Array = self.graph.params(self.whole.before(name, first))
        return made

    @property
    def is_last(self) -> Any:
        return Mask.of(self.graph, self.whole.is_last)

    def divisor(self, M: Array) -> Array:
        """Runs of links reach from one link to the last: which have no mass is known beforehand."""
        beyond = np.cumsum(self.whole.m[::-1])[::-1]
        if beyond.all():
            return M
        empty = Mask.of(self.graph, beyond == 0.0)[:, None]
        made: Array = namespace(M).where(empty, 1.0, M)
        return made


def body_chain(graph: BodyGraph, chain: DHChain) -> BodyChain:
    """The chain as one link sees it."""
    whole = ("base", "tool", "gravity")  # the same for all links
    made: dict[str, Any] = {"n": chain.n, "graph": graph, "whole": chain}
    for f in fields(chain):
        value = getattr(chain, f.name)
        if f.name in whole:
            made[f.name] = _plain(value) if f.name == "gravity" else value.map(lambda a, _: _plain(a))
        elif f.name in ("turns", "slipped"):
            made[f.name] = Mask.of(graph, value)
        elif f.name == "links":
            made[f.name] = value.map(lambda a, _: graph.params(a))
        elif f.name != "n":
            made[f.name] = graph.params(value)
    return BodyChain(**made)


def _plain(array: np.ndarray) -> np.ndarray:
    return array.astype(object)
