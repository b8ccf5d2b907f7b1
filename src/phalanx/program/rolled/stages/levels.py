# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Eliminations: a loop over limbs, in each one over distances h = 1, 2, 4, …, in each loops over rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...form.builder import run
from ...form.program import Real
from ...form.wholes import Index, less, plus, select, times, whole
from ...rewrite import Code
from .. import leaves as L
from .bodies import BodyBuilder, Stage

ODD, EVEN, ALL, FIRST = "odd", "even", "all", "first"
LADEN = "laden"  # rows of links that carry limbs
WORLD = "world"  # the row that stands for the world


@dataclass(frozen=True)
class Step:
    """Instructions for some rows of a level; operands beyond the ends read the nearest row."""

    rows: str  # ODD or EVEN multiples of h, ALL rows, the FIRST one; of limbs also LADEN and WORLD
    offsets: tuple[int, ...]  # where the operands stand, in units of h from the row
    code: Code
    targets: list[L.Target]
    carrier: bool = False  # whether the link that carries the limb is one more operand

    def at(self, b: BodyBuilder, bodies: list[Index], inside: list[Index]) -> None:
        """The instructions where operands stand with some bodies, `inside` the ends or not."""
        where: dict[L.Whose, Index] = dict(enumerate(bodies))

        def leaf(what: L.Leaf) -> Real:
            return b.flag(inside[what.operand]) if isinstance(what, L.Inside) else b.read(what, where)

        with b.owner(bodies[0]):
            for value, target in zip(run(b, self.code, leaf), self.targets, strict=True):
                if not isinstance(target, L.Row):
                    raise TypeError(f"rolled program: a step of an elimination has no place for {target}.")
                b.store(b.slots, b.kept(bodies[target.operand], target.slot), value)


class Rows:
    """Rows of an elimination, from the body of the row `first` on."""

    def __init__(self, b: BodyBuilder, name: str, bodies: np.ndarray, first: Index, count: Index) -> None:
        self.b, self.name, self.bodies, self.first, self.count = b, name, bodies, first, count

    def step(self, step: Step, h: Index) -> None:
        """One pass over the rows of a step."""
        b = self.b
        if step.rows == FIRST:
            self.row(step, 0, h)
        elif step.rows == ALL:
            with b.loop(self.count) as loop:
                self.row(step, loop.index, h)
        elif step.rows in (ODD, EVEN):
            double, first = whole("shl", h, 1), h if step.rows == ODD else 0
            rest = less(plus(self.count, -1), first)
            with b.loop(plus(whole("div", rest, double), 1)) as loop:
                self.row(step, plus(whole("mul", loop.index, double), first), h)
        else:
            raise TypeError(f"rolled program: an elimination has no rows {step.rows!r}.")

    def row(self, step: Step, row: Index, h: Index, *carrier: Index) -> None:
        """The instructions for one row."""
        b, bodies, inside = self.b, list[Index](), list[Index]()
        for offset in step.offsets:
            at = plus(row, times(h, offset))
            held = at
            if offset > 0:
                held = select(whole("lt", at, self.count), at, plus(self.count, -1))
            elif offset < 0:
                held = select(whole("ge", at, 0), at, 0)
            bodies.append(b.entry(self.name, self.bodies, plus(self.first, held)))
            inside.append(1 if not offset else whole("eq", at, held))
        step.at(b, [*bodies, *carrier], inside)


@dataclass(frozen=True)
class LimbLevels(Stage):
    """Levels of one limb after another, from those on which nothing hangs, or back.

    Steps `before` all limbs, at the `start` of each, on its levels, and after the last.
    """

    before: list[Step]
    start: list[Step]
    steps: list[Step]
    last: list[Step]
    down: bool

    def build(self, b: BodyBuilder) -> None:
        rows = b.layout.limbs
        assert rows is not None
        for step in self.before:
            if step.rows == WORLD:
                step.at(b, [rows.nobody], [])
            else:
                with b.loop(len(rows.laden)) as loop:
                    step.at(b, [b.entry("laden body", rows.bodies[rows.laden], loop.index)], [])
        with b.loop(len(rows.first), down=self.down) as loop:
            limb = _Limb(b, loop.index)
            for step in self.start:
                limb.step(step, 1)
            if rows.levels.any():
                count = b.entry("limb levels", rows.levels, loop.index)
                with b.only_if(whole("ne", count, 0)), b.loop(count, down=self.down) as level:
                    for step in self.steps:
                        limb.step(step, whole("shl", 1, level.index))
            for step in self.last:
                limb.step(step, 1)


class _Limb(Rows):
    """The limb that a loop has reached; its rows are counted from its first link."""

    def __init__(self, b: BodyBuilder, index: Index) -> None:
        assert b.layout.limbs is not None
        self.index, self.limbs = index, b.layout.limbs
        first, length = (
            b.entry(f"limb {name}", getattr(self.limbs, name), index) for name in ("first", "length")
        )
        super().__init__(b, "row body", self.limbs.bodies, first, length)

    def step(self, step: Step, h: Index) -> None:
        if step.rows != LADEN:
            return super().step(step, h)
        b, limbs = self.b, self.limbs
        count = b.entry("limb laden", limbs.laden_count, self.index)
        first = b.entry("limb laden first", limbs.laden_first, self.index)
        with b.only_if(whole("ne", count, 0)), b.loop(count) as loop:
            self.row(step, b.entry("laden", limbs.place[limbs.laden], plus(loop.index, first)), h)
        return None

    def row(self, step: Step, row: Index, h: Index, *carrier: Index) -> None:
        if step.carrier:
            carrier = (self.b.entry("limb carrier", self.limbs.carrier, self.index),)
        super().row(step, row, h, *carrier)
