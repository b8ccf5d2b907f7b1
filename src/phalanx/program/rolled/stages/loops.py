# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops over bodies, and what is computed once between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...form.builder import Loop as Rounds
from ...form.builder import run
from ...form.program import Carried, Real
from ...form.wholes import Index, plus, times
from ...rewrite import Code
from .. import leaves as L
from .bodies import CARRIER, LINKS, BodyBuilder, Stage, Where

Read = Callable[[L.Leaf, Where], Real]
Write = Callable[[L.Target, Where, Real, str], None]


@dataclass(frozen=True)
class Loop(Stage):
    """One pass over the bodies: instructions for one, and where its results go."""

    code: Code
    targets: list[L.Target]
    outward: bool = True
    roots: Mapping[int, Any] | None = None  # of carries: a number or a common value
    bodies: str | None = None  # the map that lists the bodies; all of them if None

    def build(self, b: BodyBuilder) -> None:
        end = b.n if self.bodies is None else len(b.layout.maps[self.bodies])
        self.over(b, 0, end, lambda index: {L.OWN: b.mapped(self.bodies or L.OWN, index)}, b.read, b.write)

    def over(
        self, b: BodyBuilder, first: Index, end: Index, at: Callable[[Index], Where], read: Read, write: Write
    ) -> None:
        """Rounds from `first` to `end`; `at` tells the bodies of each, the one that it visits as its own."""
        handed = _Handed(b, self)
        with b.loop(end, first=first, down=not self.outward) as rounds:
            where = at(rounds.index)
            handed.enter(rounds, where[L.OWN])
            sums = {t: rounds.carry(0.0) for t in self.targets if isinstance(t, L.Total)}

            def leaf(what: L.Leaf) -> Real:
                return handed.read(what.number) if isinstance(what, L.Carry) else read(what, where)

            with b.owner(where.get(L.ROW, where[L.OWN])):
                results = run(b, self.code, leaf)
                angles = []
                for value, target, x in zip(results, self.targets, self.code.results, strict=True):
                    quantity = self.code.instructions[x].quantity if isinstance(x, int) else ""
                    if isinstance(target, L.Carry):
                        handed.write(target.number, value, quantity)
                    elif isinstance(target, L.Total):
                        rounds.feed(sums[target], b.add(sums[target], value, quantity))
                    elif isinstance(target, L.Angle):
                        angles.append((target, value))
                    else:
                        write(target, where, value, quantity)
                turns = b.turn((value, target.quantity) for target, value in angles)
                for (target, _), (sine, cosine) in zip(angles, turns, strict=True):
                    write(L.Turned(target.number, sine=True), where, sine, "")
                    write(L.Turned(target.number, sine=False), where, cosine, "")
        for target, total in sums.items():
            write(L.Common(target.number), where, total, "")


class _Handed:
    """Values that go from body to body: loop-carried ones in a chain.

    A tree keeps them in memory, the world's first: a body reads what its parent has left there, or adds to
    what its parent gets.
    """

    rounds: Rounds
    body: Index

    def __init__(self, b: BodyBuilder, loop: Loop) -> None:
        numbers = [t.number for t in loop.targets if isinstance(t, L.Carry)]
        self.b, self.outward, self.linked = b, loop.outward, loop.bodies == LINKS
        self.place = {number: k for k, number in enumerate(numbers)}
        self.chain = b.layout.parents is None
        self.roots: dict[int, Real] = {}
        self.carried: dict[int, Carried] = {}
        if self.chain or self.outward:
            self.roots = {number: b.root((loop.roots or {})[number]) for number in numbers}
        if self.chain or not numbers:
            return
        # Nothing outlives its loop: loops that hand on equally many values share their memory.
        self.region = b.region(f"{len(numbers)} handed on", (b.n + 1) * len(numbers))
        for number, root in self.roots.items():
            b.store(self.region, self.place[number], root)
        if not self.outward:
            b.clear(self.region, self.region.size)

    def enter(self, rounds: Rounds, body: Index) -> None:
        """Begin a round."""
        self.rounds, self.body = rounds, body
        if self.chain:
            self.carried = {number: rounds.carry(root) for number, root in self.roots.items()}

    def read(self, number: int) -> Real:
        """What the body finds."""
        return (
            self.carried[number]
            if self.chain
            else self.b.load(self.region, self._at(number, not self.outward))
        )

    def write(self, number: int, value: Real, quantity: str) -> None:
        """What the body hands on."""
        if self.chain:
            self.rounds.feed(self.carried[number], value)
        elif self.outward:
            self.b.store(self.region, self._at(number, own=True), value)
        else:
            self.b.add_to(self.region, self._at(number, own=False), value, quantity)

    def _at(self, number: int, own: bool) -> Index:
        """The place of a value in the body's own row, or in that of its parent or of the link before."""
        b, body = self.b, self.body
        if not own:
            body = b.mapped(CARRIER, body) if self.linked else b.parent(body)
        return plus(times(plus(body, 1), len(self.place)), self.place[number])


@dataclass(frozen=True)
class Once(Stage):
    """Instructions for values per state."""

    code: Code
    targets: list[L.Target]

    def build(self, b: BodyBuilder) -> None:
        for value, target in zip(run(b, self.code, lambda what: b.read(what, {})), self.targets, strict=True):
            b.write(target, {}, value)
