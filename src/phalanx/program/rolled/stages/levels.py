# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Eliminations: a loop over limbs, in each one over distances h = 1, 2, 4, …, in each loops over rows."""

from __future__ import annotations

from dataclasses import dataclass

from ...form.program import Index, Real, less, plus, select, times, whole
from ...rewrite import Code
from .. import leaves as L
from ..limbs import LimbRows
from .bodies import BodyBuilder, Stage, Where, settle

ODD, EVEN, ALL, FIRST = "odd", "even", "all", "first"
LADEN = "laden"  # rows of links that carry limbs
WORLD = "world"  # the row that stands for the world


@dataclass(frozen=True)
class Step:
    """Instructions for some rows of a level; operands beyond the ends read the nearest row."""

    rows: str  # ODD or EVEN multiples of h, ALL rows, the FIRST one; of limbs also LADEN and WORLD
    offsets: tuple[int, ...]  # where the operands stand, in units of h from the row
    code: Code
    targets: list[L.Leaf]
    carrier: bool = False  # whether the link that carries the limb is one more operand

    def at(self, b: BodyBuilder, bodies: list[Index], inside: list[Index]) -> None:
        """The instructions where operands stand with some bodies, `inside` the ends or not."""
        where: Where = dict(enumerate(bodies))

        def leaf(what: L.Leaf) -> Real:
            if isinstance(what, L.Inside):
                return b.choice(inside[what.number], 1.0, 0.0)
            return b.read(what, where)

        with b.owner(bodies[0]):
            settle(b, self.code, self.targets, leaf, lambda target, value, _: b.write(target, where, value))


@dataclass(frozen=True)
class Levels(Stage):
    """Levels h = 1, 2, 4, … below the number of rows of one limb after another, or all of it back.

    Limbs on which nothing hangs come first; a chain is one limb. Steps `before` all limbs, at the `start`
    of each, on its levels, and after the `last` one.
    """

    before: list[Step]
    start: list[Step]
    steps: list[Step]
    last: list[Step]
    down: bool

    def build(self, b: BodyBuilder) -> None:
        limbs = b.layout.limbs
        assert limbs is not None
        for step in self.before:
            if step.rows == WORLD:
                step.at(b, [limbs.nobody], [])
            else:
                with b.loop(len(limbs.laden)) as loop:
                    step.at(b, [b.entry("laden body", limbs.bodies[limbs.laden], loop.index)], [])
        if len(limbs.first) == 1:
            return self._limb(b, _Limb(b, limbs, 0))
        with b.loop(len(limbs.first), down=self.down) as loop:
            self._limb(b, _Limb(b, limbs, loop.index))
        return None

    def _limb(self, b: BodyBuilder, limb: _Limb) -> None:
        for step in self.start:
            limb.step(step, 1)
        count = limb.of_limb("levels")
        with b.only_if(whole("ne", count, 0)), b.loop(count, down=self.down) as level:
            for step in self.steps:
                limb.step(step, whole("shl", 1, level.index))
        for step in self.last:
            limb.step(step, 1)


class _Limb:
    """A limb; its rows are counted from its first link."""

    def __init__(self, b: BodyBuilder, limbs: LimbRows, index: Index) -> None:
        self.b, self.limbs, self.index = b, limbs, index
        self.first, self.length = self.of_limb("first"), self.of_limb("length")

    def of_limb(self, name: str) -> Index:
        """A number that each limb has."""
        return self.b.entry(f"limb {name}", getattr(self.limbs, name), self.index)

    def step(self, step: Step, h: Index) -> None:
        """One pass over the rows of a step."""
        b, limbs = self.b, self.limbs
        if step.rows == FIRST:
            self.row(step, 0, h)
        elif step.rows == ALL:
            with b.loop(self.length) as loop:
                self.row(step, loop.index, h)
        elif step.rows in (ODD, EVEN):
            double, first = whole("shl", h, 1), h if step.rows == ODD else 0
            rest = less(plus(self.length, -1), first)
            with b.loop(plus(whole("div", rest, double), 1)) as loop:
                self.row(step, plus(whole("mul", loop.index, double), first), h)
        elif step.rows == LADEN:
            count, first = self.of_limb("laden_count"), self.of_limb("laden_first")
            with b.only_if(whole("ne", count, 0)), b.loop(count) as loop:
                self.row(step, b.entry("laden", limbs.place[limbs.laden], plus(loop.index, first)), h)
        else:
            raise TypeError(f"rolled program: an elimination has no rows {step.rows!r}.")

    def row(self, step: Step, row: Index, h: Index) -> None:
        """The instructions for one row."""
        b, bodies, inside = self.b, list[Index](), list[Index]()
        for offset in step.offsets:
            at = plus(row, times(h, offset))
            held = at
            if offset > 0:
                held = select(whole("lt", at, self.length), at, plus(self.length, -1))
            elif offset < 0:
                held = select(whole("ge", at, 0), at, 0)
            bodies.append(b.entry("row body", self.limbs.bodies, plus(self.first, held)))
            inside.append(1 if not offset else whole("eq", at, held))
        if step.carrier:
            bodies.append(self.of_limb("carrier"))
        step.at(b, bodies, inside)
