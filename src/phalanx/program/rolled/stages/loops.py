# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops over bodies, and what is computed once between them.

A chain carries its recursions as loop-carried values; a tree reads the slot of the parent and adds into it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from ...form.builder import Loop as Rounds
from ...form.builder import run
from ...form.program import Carried, Real
from ...form.wholes import Index, plus, times
from ...rewrite import Code
from .. import leaves as L
from .bodies import LINKS, BodyBuilder, Stage


@dataclass(frozen=True)
class Loop(Stage):
    """One pass over the bodies: instructions for one, and where its results go."""

    code: Code
    targets: list[L.Target]
    outward: bool = True
    roots: Mapping[int, Any] | None = None  # of outward carries: a number or a common value
    bodies: str | None = None  # the map that lists the bodies; all of them if None

    def build(self, b: BodyBuilder) -> None:
        p = b.layout
        chain = p.parents is None
        numbers = [t.number for t in self.targets if isinstance(t, L.Carry)]
        roots = {k: b.root((self.roots or {})[k]) for k in numbers} if chain or self.outward else {}
        if not chain and numbers:
            self._open_tree(b, roots)
        end = p.n if self.bodies is None else len(p.maps[self.bodies])
        sums: dict[L.Total, Carried] = {}
        with b.loop(end, down=not self.outward) as rounds:
            body = rounds.index if self.bodies is None else b.mapped(self.bodies, rounds.index)
            carried = {L.Carry(k): rounds.carry(roots[k]) for k in numbers} if chain else {}
            sums = {t: rounds.carry(0.0) for t in self.targets if isinstance(t, L.Total)}
            with b.owner(body):
                self._body(b, rounds, body, carried, sums)
        for target, total in sums.items():
            b.store(b.commons, target.number, total)

    def quantity(self, result: Any) -> str:
        """What a result of the instructions belongs to."""
        return self.code.instructions[result].quantity if isinstance(result, int) else ""

    def _open_tree(self, b: BodyBuilder, roots: Mapping[int, Real]) -> None:
        """Give the world's slot its values, or start all sums at zero."""
        p = b.layout
        if self.outward:
            for number, root in roots.items():
                b.store(_carried(b), p.carries[number], root)
        else:
            b.clear(_arrived(b), (p.n + 1) * len(p.arrivals))

    def _body(
        self,
        b: BodyBuilder,
        rounds: Rounds,
        body: Index,
        carried: Mapping[L.Carry, Carried],
        sums: Mapping[L.Total, Carried],
    ) -> None:
        """The instructions for one body and what becomes of their results."""
        plain = b.reader({L.OWN: body}, carried)

        def leaf(what: L.Leaf) -> Real:
            if isinstance(what, L.Carry) and what not in carried:
                return b.load(*self._waiting(b, body, what.number))
            return plain(what)

        results = run(b, self.code, leaf)
        angles = []
        for value, target, x in zip(results, self.targets, self.code.results, strict=True):
            quantity = self.quantity(x)
            if isinstance(target, L.Carry) and target in carried:
                rounds.feed(carried[target], value)
            elif isinstance(target, L.Carry):
                self._pass_on(b, body, target.number, value, quantity)
            elif isinstance(target, L.Total):
                rounds.feed(sums[target], b.add(sums[target], value, quantity))
            elif isinstance(target, L.Save):
                b.store(b.slots, b.kept(body, target.slot), value)
            elif isinstance(target, L.Angle):
                angles.append((target, value))
            elif isinstance(target, L.Rest):
                b.store(b.region("rest", 12 * b.n, given=True), plus(times(body, 12), target.number), value)
            elif isinstance(target, L.Out):
                self._out(b, body, target, value, quantity)
            else:
                raise TypeError(f"rolled program: a loop over bodies has no place for {target}.")
        for (target, _), both in zip(angles, b.turn((x, t.quantity) for t, x in angles), strict=True):
            for k, turned in enumerate(both):
                b.store(b.angles, plus(b.angle(body, target.number), k), turned)

    def _out(self, b: BodyBuilder, body: Index, target: L.Out, value: Real, quantity: str) -> None:
        place = plus(times(b.mapped(target.map, body), target.width), target.offset)
        if target.add:
            b.add_to(output(b), place, value, quantity)
        else:
            b.store(output(b), place, value)

    def _waiting(self, b: BodyBuilder, body: Index, number: int) -> tuple[Any, Index]:
        """Where a body of a tree finds what its parent, or its children, have handed on."""
        p = b.layout
        if self.outward:
            row = b.slot_of_parent(body, linked=self.bodies == LINKS)
            return _carried(b), plus(times(row, len(p.carries)), p.carries[number])
        return _arrived(b), plus(times(plus(body, 1), len(p.arrivals)), p.arrivals[number])

    def _pass_on(self, b: BodyBuilder, body: Index, number: int, value: Real, quantity: str) -> None:
        """Hand a value to the children, or add it to what the parent gets."""
        p = b.layout
        if self.outward:
            b.store(_carried(b), plus(times(plus(body, 1), len(p.carries)), p.carries[number]), value)
        else:
            row = b.slot_of_parent(body, linked=self.bodies == LINKS)
            place = plus(times(row, len(p.arrivals)), p.arrivals[number])
            b.add_to(_arrived(b), place, value, quantity)


def _carried(b: BodyBuilder) -> Any:
    return b.region("carried", (b.n + 1) * len(b.layout.carries))


def _arrived(b: BodyBuilder) -> Any:
    return b.region("arrived", (b.n + 1) * len(b.layout.arrivals))


def output(b: BodyBuilder) -> Any:
    """The output while it is made; bodies without a link write past its end, some bodies add to it."""
    known = "out" in b.regions
    region = b.region("out", prod(b.layout.output) + 16)
    assert known, "an output is prepared before all stages"
    return region


@dataclass(frozen=True)
class Once(Stage):
    """Instructions for one value per state."""

    code: Code
    targets: list[L.Target]

    def build(self, b: BodyBuilder) -> None:
        for value, target in zip(run(b, self.code, b.reader({})), self.targets, strict=True):
            if isinstance(target, L.Common):
                b.store(b.commons, target.number, value)
            elif isinstance(target, L.OutAt):
                b.store(output(b), target.position, value)
            else:
                raise TypeError(f"rolled program: a value per state has no place at {target}.")
