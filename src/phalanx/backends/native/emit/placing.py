# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Text of the loops that place links whose motion is no helix: one after another, whichever lane has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ir.rolled import Loop
from .loops import LoopWriter, run
from .staging import PLACED, Layout


class PlaceWriter(LoopWriter):
    """The loop over the links of one motion."""

    def __init__(self, element: str, fma: bool, layout: Layout) -> None:
        super().__init__(element, 1, fma)
        self.layout, self.p = layout, layout.program
        self.regions = layout.regions

    def stage(self, loop: Any) -> None:
        """Write the loop; it reads inputs where the caller has them."""
        assert isinstance(loop, Loop)
        assert loop.bodies is not None
        name, rows = loop.bodies, self.p.maps[loop.bodies]
        vector, lane = self.layout.place_of(rows)
        counter = self.open(len(rows))
        at = self._listed(name, "vector", vector, counter.index)
        at_lane = self._listed(name, "lane", lane, counter.index)

        def place(width: int, k: int) -> str:
            """Number k of so many that each link has."""
            return self.plus(self.scaled(self.plus(self.scaled(at, width), k), self.layout.lanes), at_lane)

        def leaf(what: tuple[Any, ...]) -> str:
            if what[0] == "param":
                index = place(self.p.tables[0].shape[1], self.p.columns[0][what[1]])
                return self._number("@link_table", index)
            _, given, map, width, offset = what
            first = self._listed(name, map, self.p.maps[map][rows], counter.index)
            number = list(self.p.inputs).index(given)
            return self._number(f"%p{number}", self.plus(self.scaled(first, width), offset))

        start = self.put(f"getelementptr i8, ptr %scratch, i64 {self.regions[PLACED]}")
        for value, (_, k) in zip(run(self, loop.code, leaf), loop.targets, strict=True):
            self.save(value, self.put(f"getelementptr {self.element}, ptr {start}, i64 {place(12, k)}"))
        self.close(counter)

    def _number(self, base: str, index: str) -> str:
        place = self.put(f"getelementptr {self.element}, ptr {base}, i64 {index}")
        return self.put(f"load {self.vector}, ptr {place}, align {self.size}")

    def _listed(self, loop: str, what: str, array: np.ndarray, index: str) -> str:
        """An entry of a constant array of whole numbers that belongs to a loop."""
        name = f"@{loop}_{what}"
        if name not in self._names:
            self._names[name] = name
            self.table(name, array.astype(np.int64))
        return self.integer(name, array, index)

    def function(self, name: str) -> str:
        body = "\n  ".join(self.lines)
        inputs = "".join(f", ptr noalias %p{k}" for k in range(len(self.p.inputs)))
        head = f"define internal void {name}(ptr noalias %scratch{inputs}) noinline #0 {{"
        return f"{head}\nentry:\n  {body}\n  ret void\n}}\n"
