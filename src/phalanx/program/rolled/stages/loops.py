# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops over bodies, and what is computed once between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...form.builder import Builder, run
from ...form.builder import OpenLoop as Rounds
from ...form.program import Index, Real, plus, times
from ...rewrite import Code
from .. import leaves as L
from .bodies import CARRIER, LINKS, BodyBuilder, Stage, Where, settle

Read = Callable[[L.Leaf, Where], Real]
Write = Callable[[L.Leaf, Where, Real, str], None]


@dataclass(frozen=True)
class BodyLoop(Stage):
    """One pass over the bodies: instructions for one, and where its results go."""

    code: Code
    targets: list[L.Leaf]
    outward: bool = True
    roots: Mapping[int, Any] | None = None  # of carries: a number or a common value
    bodies: str | None = None  # the map that lists the bodies; all of them if None

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
    ) -> None:
        """Rounds from `first` to `end`; `at` tells the bodies of each, the one that it visits as its own."""
        handed = _Handed(self, read) if tree is None else _HandedInTree(self, read, tree)
        angles: list[tuple[L.Angle, Real]] = []
        with b.loop(end, first=first, down=not self.outward) as rounds:
            where = at(rounds.index)
            handed.enter(rounds, where[L.OWN])
            last = {t: rounds.carry(0.0) for t in self.targets if isinstance(t, L.Total | L.End)}

            def leaf(what: L.Leaf) -> Real:
                return handed.read(what.number) if isinstance(what, L.CarriedLeaf) else read(what, where)

            def put(target: L.Leaf, value: Real, quantity: str) -> None:
                if isinstance(target, L.CarriedLeaf):
                    handed.write(target.number, value, quantity)
                elif isinstance(target, L.Total):
                    rounds.feed(last[target], b.add(last[target], value, quantity))
                elif isinstance(target, L.End):
                    rounds.feed(last[target], value)
                elif isinstance(target, L.Angle):
                    angles.append((target, value))
                else:
                    write(target, where, value, quantity)

            with b.attributed_to(where.get(L.OWNER, where[L.OWN])):
                settle(b, self.code, self.targets, leaf, put)
                turns = b.turn((value, target.quantity) for target, value in angles)
                for (angle, _), turned in zip(angles, turns, strict=True):
                    for slot, value in zip((angle.sine, angle.cosine), turned, strict=True):
                        if slot is not None:
                            write(L.SpillSlot(slot), where, value, "")
        for target, value in last.items():
            write(target, where, value, "")


class _Handed:
    """Values that go from body to body in a chain: loop-carried."""

    rounds: Rounds
    body: Index

    def __init__(self, loop: BodyLoop, read: Read) -> None:
        self.numbers = [t.number for t in loop.targets if isinstance(t, L.CarriedLeaf)]
        self.outward, self.linked = loop.outward, loop.bodies == LINKS
        given = {number: (loop.roots or {})[number] for number in self.numbers}
        self.roots = {k: read(x, {}) if isinstance(x, L.Leaf) else float(x) for k, x in given.items()}

    def enter(self, rounds: Rounds, body: Index) -> None:
        """Begin a round."""
        self.rounds, self.body = rounds, body
        self.carried = {number: rounds.carry(root) for number, root in self.roots.items()}

    def read(self, number: int) -> Real:
        """What the body finds."""
        return self.carried[number]

    def write(self, number: int, value: Real, quantity: str) -> None:
        """What the body hands on."""
        self.rounds.feed(self.carried[number], value)


class _HandedInTree(_Handed):
    """Values that go from body to body in a tree: through memory, the world's first.

    A body reads what its parent has left there, or adds to what its parent gets.
    """

    def __init__(self, loop: BodyLoop, read: Read, b: BodyBuilder) -> None:
        super().__init__(loop, read)
        self.b, count = b, len(self.numbers)
        # Nothing outlives its loop: loops that hand on equally many values share their memory.
        self.region = b.region(f"{count} handed on", (b.n + 1) * count)
        if not self.outward:
            b.clear(self.region, self.region.size)
        else:
            for k, root in enumerate(self.roots.values()):
                b.store(self.region, k, root)

    def enter(self, rounds: Rounds, body: Index) -> None:
        self.body = body

    def read(self, number: int) -> Real:
        return self.b.load(self.region, self._at(number, own=not self.outward))

    def write(self, number: int, value: Real, quantity: str) -> None:
        if self.outward:
            self.b.store(self.region, self._at(number, own=True), value)
        else:
            self.b.add_to(self.region, self._at(number, own=False), value, quantity)

    def _at(self, number: int, *, own: bool) -> Index:
        """The place of a value in the body's own row, or in that of its parent or of the link before."""
        b, body = self.b, self.body
        if not own:
            body = b.mapped(CARRIER, body) if self.linked else b.parent(body)
        return plus(times(plus(body, 1), len(self.numbers)), self.numbers.index(number))


@dataclass(frozen=True)
class Once(Stage):
    """Instructions for values per state."""

    code: Code
    targets: list[L.Leaf]

    def build(self, b: BodyBuilder) -> None:
        for value, target in zip(run(b, self.code, lambda what: b.read(what, {})), self.targets, strict=True):
            b.write(target, {}, value)
