# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops over bodies, and the uniforms that are computed once between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...builder import Builder, OpenLoop, run
from ...ir import Index, Program, Real, plus, times
from ...ops import SELECT
from .. import leaves as L
from .bodies import CARRIER, LINKS, BodyBuilder, Stage, Where, settle

Read = Callable[[L.Leaf, Where], Real]
Write = Callable[[L.Leaf, Where, Real, str], None]


@dataclass(frozen=True)
class BodyLoop(Stage):
    """One loop over the bodies: the instructions of an iteration, with the targets of its results."""

    code: Program
    outward: bool = True
    roots: Mapping[int, Any] | None = None  # initial values of carries: a number or a uniform
    bodies: str | None = None  # the map that lists the bodies; all of them if None

    @property
    def targets(self) -> list[Any]:
        """The targets of the results."""
        return self.code.targets

    def build(self, b: BodyBuilder) -> None:
        end = b.n if self.bodies is None else len(b.layout.maps[self.bodies])
        self.over(
            b, 0, end, lambda k: {L.OWN: b.mapped(self.bodies or L.OWN, k)}, b.read, b.write, tree=b.tree
        )

    def over(
        self,
        b: Builder,
        first: Index,
        end: Index,
        at: Callable[[Index], Where],
        read: Read,
        write: Write,
        *,
        tree: BodyBuilder | None = None,
        begins: Callable[[Index], Real] | None = None,
    ) -> None:
        """Append the loop from `first` to `end`; `at` maps its index to the bodies of an iteration.

        In lanes that do not begin together, `begins` is one at the body with which a lane begins.
        """
        handed = _Handed(self, read) if tree is None else _HandedInTree(self, read, tree)
        if begins is not None:
            handed = _HandedInLanes(self, read, b, begins)
        angles: list[tuple[L.Angle, Real]] = []
        apart = not any(isinstance(t, L.CarriedLeaf | L.Total | L.End | L.Added) for t in self.targets)
        with (b.independent if apart else b.loop)(end, first=first, down=not self.outward) as loop:
            where = at(loop.index)
            handed.enter(loop, where[L.OWN])
            last = {t: loop.carry(0.0) for t in self.targets if isinstance(t, L.Total | L.End)}

            def leaf(what: L.Leaf) -> Real:
                return handed.read(what.number) if isinstance(what, L.CarriedLeaf) else read(what, where)

            def put(target: L.Leaf, value: Real, quantity: str) -> None:
                if isinstance(target, L.CarriedLeaf):
                    handed.write(target.number, value, quantity)
                elif isinstance(target, L.Total):
                    loop.feed(last[target], b.add(last[target], value, quantity))
                elif isinstance(target, L.End):
                    loop.feed(last[target], value)
                elif isinstance(target, L.Angle):
                    angles.append((target, value))
                else:
                    write(target, where, value, quantity)

            with b.attributed_to(where.get(L.OWNER, where[L.OWN])):
                settle(b, self.code, leaf, put)
                sincos = b.turn((value, target.quantity) for target, value in angles)
                for (angle, _), values in zip(angles, sincos, strict=True):
                    for slot, value in zip((angle.sine, angle.cosine), values, strict=True):
                        if slot is not None:
                            write(L.SpillSlot(slot), where, value, "")
        for target, value in last.items():
            write(target, where, value, "")


class _Handed:
    """Values passed from body to body in a chain: loop-carried."""

    loop: OpenLoop
    body: Index

    def __init__(self, loop: BodyLoop, read: Read) -> None:
        self.numbers = [t.number for t in loop.targets if isinstance(t, L.CarriedLeaf)]
        self.outward, self.linked = loop.outward, loop.bodies == LINKS
        given = {number: (loop.roots or {})[number] for number in self.numbers}
        self.roots = {k: read(x, {}) if isinstance(x, L.Leaf) else float(x) for k, x in given.items()}

    def enter(self, loop: OpenLoop, body: Index) -> None:
        """Begin the iteration of a body."""
        self.loop, self.body = loop, body
        self.carried = {number: loop.carry(root) for number, root in self.roots.items()}

    def read(self, number: int) -> Real:
        """Return the value that the body receives."""
        return self.carried[number]

    def write(self, number: int, value: Real, quantity: str) -> None:
        """Pass a value on to the next body."""
        self.loop.feed(self.carried[number], value)


class _HandedInLanes(_Handed):
    """Values passed from body to body; the one with which a lane begins receives the root."""

    def __init__(self, loop: BodyLoop, read: Read, b: Builder, begins: Callable[[Index], Real]) -> None:
        super().__init__(loop, read)
        self.b, self.begins = b, begins

    def read(self, number: int) -> Real:
        return self.b.value(SELECT, self.begins(self.body), self.roots[number], self.carried[number])


class _HandedInTree(_Handed):
    """Values passed from body to body in a tree: through a buffer, whose first row is the world's.

    Outward, a body reads the row of its parent and writes its own; inward, it adds to its parent's row.
    """

    def __init__(self, loop: BodyLoop, read: Read, b: BodyBuilder) -> None:
        super().__init__(loop, read)
        self.b, count = b, len(self.numbers)
        # No value outlives its loop: loops that pass on equally many values share a buffer.
        self.buffer = b.buffer(f"{count} handed on", (b.n + 1) * count)
        if not self.outward:
            b.clear(self.buffer, self.buffer.size)
        else:
            for k, root in enumerate(self.roots.values()):
                b.store(self.buffer, k, root)

    def enter(self, loop: OpenLoop, body: Index) -> None:
        self.body = body

    def read(self, number: int) -> Real:
        return self.b.load(self.buffer, self._at(number, own=not self.outward))

    def write(self, number: int, value: Real, quantity: str) -> None:
        if self.outward:
            self.b.store(self.buffer, self._at(number, own=True), value)
        else:
            self.b.add_to(self.buffer, self._at(number, own=False), value, quantity)

    def _at(self, number: int, *, own: bool) -> Index:
        """Return the index of a value in the body's own row, or in that of its parent (of links: carrier)."""
        b, body = self.b, self.body
        if not own:
            body = b.mapped(CARRIER, body) if self.linked else b.parent(body)
        return plus(times(plus(body, 1), len(self.numbers)), self.numbers.index(number))


@dataclass(frozen=True)
class Once(Stage):
    """Straight-line code that computes uniforms: values per state."""

    code: Program

    @property
    def targets(self) -> list[Any]:
        """The targets of the results."""
        return self.code.targets

    def build(self, b: BodyBuilder) -> None:
        for value, target in zip(run(b, self.code, lambda what: b.read(what, {})), self.targets, strict=True):
            b.write(target, {}, value)
