# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Text of loops over the bodies of a rolled program: what bodies find in tables and scratch."""

from __future__ import annotations

from typing import Any

from ....ir.rolled import CARRIER, OWN, RolledProgram
from .loops import Leaf, LoopWriter


class BodyWriter(LoopWriter):
    """Text of a function of loops over bodies."""

    def __init__(self, element: str, lanes: int, fma: bool, program: RolledProgram) -> None:
        super().__init__(element, lanes, fma)
        self.program = program

    def parameter(self, body: str, column: int) -> str:
        """An entry of the table of parameters, in all lanes."""
        index = self.scaled(body, self.program.table.shape[1])
        row = self._once(
            ("row", index), lambda: self.put(f"getelementptr {self.element}, ptr @table, i64 {index}")
        )
        place = self.put(f"getelementptr {self.element}, ptr {row}, i64 {self.program.columns[column]}")
        return self.in_all_lanes(place)

    def mapped(self, map: str, body: str) -> str:
        """Where a map of the program sends a body."""
        return body if map == OWN else self.integer(map, self.program.maps[map], body)

    def slot_of_parent(self, body: str, *, linked: bool = False) -> str:
        """The number of the parent, or of the link before, plus one, since the world comes first."""
        if linked:
            return self.integer("carrier slot", self.program.maps[CARRIER] + 1, body)
        assert self.program.parents is not None
        return self.integer("parent slot", self.program.parents + 1, body)

    def parent(self, body: str) -> str:
        if self.program.parents is None:
            return self.plus(body, -1)
        return self.integer("parent", self.program.parents, body)

    def root(self, value: Any) -> str:
        """The value at the world: a constant or a common one."""
        if isinstance(value, tuple):
            return self.fetch(self.at("commons", "0", value[1]))
        return self.operand(float(value))

    def rows_out(self, row: str, position: str, count: str, tail: int, step: int = 1) -> None:
        """Write `count` vectors, `step` apart from address `row`, out; `tail` are no whole block."""
        number, lanes = len(self.program.inputs), self.lanes

        def block(start: str, width: int) -> None:
            base = self.put(f"getelementptr {self.element}, ptr %p{number}, i64 {self.plus(position, start)}")
            first = self.put(f"getelementptr {self.vector}, ptr {row}, i64 {self.scaled(start, step)}")
            places = [
                self.put(f"getelementptr {self.vector}, ptr {first}, i64 {k * step}") for k in range(width)
            ]
            self.store_rows(base, f"%s{number}", [self.fetch(place) for place in places])

        whole = self.put(f"udiv i64 {count}, {lanes}")
        with self.only_if(self.put(f"icmp ne i64 {whole}, 0")):
            loop = self.open(whole)
            block(self.scaled(loop.index, lanes), lanes)
            self.close(loop)
        if tail:
            block(self.put(f"mul i64 {whole}, {lanes}"), tail)


def body_leaf(w: BodyWriter, body: str) -> Leaf:
    """What a body finds in tables and scratch."""

    def leaf(what: tuple[Any, ...]) -> str | float:
        kind, *more = what
        if kind == "param":
            return w.parameter(body, more[0])
        if kind == "told":
            return w.told(w.plus(body, more[0]))
        if kind == "state":
            name, map, width, offset = more
            return w.fetch(w.at(name, w.scaled(w.mapped(map, body), width), offset))
        if kind in ("sine", "cosine"):
            row = w.scaled(body, 3 * w.program.angles)
            return w.fetch(w.at("angles", row, 3 * more[0] + (1 if kind == "sine" else 2)))
        if kind == "load":
            return w.fetch(w.at("slots", w.scaled(body, w.program.slots), more[0]))
        if kind == "load at":
            return w.fetch(w.at("slots", w.scaled(w.mapped(more[1], body), w.program.slots), more[0]))
        if kind == "common":
            return w.fetch(w.at("commons", "0", more[0]))
        raise KeyError(kind)

    return leaf
