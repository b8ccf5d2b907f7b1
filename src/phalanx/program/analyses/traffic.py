# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Memory traffic: bytes that a program loads and stores for one state, by buffer and table.

Loads and stores count as the program states them; compilers and caches may save some of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ir import Buffer, Containers, Load, Program, SimdRegion, Store, Table
from .count import BlockCounter, Points


@dataclass(frozen=True)
class BufferTraffic:
    """Bytes loaded from and stored to one buffer or table, for one state."""

    buffer: Buffer | Table
    loaded: int
    stored: int

    @property
    def name(self) -> str:
        """Its kind and its name."""
        return f"{'table' if self.buffer.kind == 'constant' else self.buffer.kind} {self.buffer.name}"


def traffic(program: Program, itemsize: int = 8) -> list[BufferTraffic]:
    """The traffic of each buffer and table that is used; loops that end on data run to their limits."""
    counter = _TrafficCounter(program)
    counter.visit(program.body, Points({}, np.ones(1, dtype=np.int64)))
    used = dict.fromkeys((*counter.loaded, *counter.stored))
    return [BufferTraffic(b, itemsize * counter.loaded[b], itemsize * counter.stored[b]) for b in used]


class _TrafficCounter(BlockCounter):
    """Numbers loaded from and stored to each buffer."""

    def __init__(self, program: Program) -> None:
        super().__init__(program, lambda s: None)
        self.loaded: Counter[Any] = Counter()
        self.stored: Counter[Any] = Counter()
        self.width: dict[int, int] = {}
        self._note(program.body, program.lanes)

    def _note(self, body: tuple[Any, ...], width: int) -> None:
        """Record how many numbers a load or store reaches, for each block."""
        self.width[id(body)] = width
        for s in body:
            if isinstance(s, Containers):
                self._note(s.body, s.width if isinstance(s, SimdRegion) else width)

    def record(self, body: Any, points: Points) -> None:
        times, width = int(points.weight.sum()), self.width[id(body)]
        for s in body:
            if isinstance(s, Load):
                shared = s.buffer.kind == "uniform" or (isinstance(s.buffer, Table) and not s.buffer.wide)
                self.loaded[s.buffer] += times * (1 if shared else width)
            elif isinstance(s, Store):
                self.stored[s.buffer] += times * width
