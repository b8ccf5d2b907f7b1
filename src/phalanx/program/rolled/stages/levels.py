# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Eliminations: a loop over limbs, in each one over distances h = 1, 2, 4, …, in each loops over rows."""

from __future__ import annotations

from dataclasses import dataclass

from ...form.program import Index, Real, int_expr, less, plus, select, times
from ...rewrite import Code
from .. import leaves as L
from ..heavy_path_tables import HeavyPathRows
from .bodies import BodyBuilder, Stage, Where, settle

ODD, EVEN, ALL, FIRST = "odd", "even", "all", "first"
LOADED = "loaded"  # rows of links that carry limbs
WORLD = "world"  # the row that stands for the world


@dataclass(frozen=True)
class LevelStep:
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
            if isinstance(what, L.InBounds):
                return b.choice(inside[what.number], 1.0, 0.0)
            return b.read(what, where)

        with b.attributed_to(bodies[0]):
            settle(b, self.code, self.targets, leaf, lambda target, value, _: b.write(target, where, value))


@dataclass(frozen=True)
class EliminationLevels(Stage):
    """Levels h = 1, 2, 4, … below the number of rows of one limb after another, or all of it back.

    Limbs on which nothing hangs come first; a chain is one limb. Steps `before` all limbs, at the `start`
    of each, on its levels, and after the `last` one.
    """

    before: list[LevelStep]
    start: list[LevelStep]
    steps: list[LevelStep]
    last: list[LevelStep]
    down: bool

    def build(self, b: BodyBuilder) -> None:
        heavy_paths = b.layout.heavy_paths
        assert heavy_paths is not None
        for step in self.before:
            if step.rows == WORLD:
                step.at(b, [heavy_paths.nobody], [])
            else:
                with b.loop(len(heavy_paths.loaded)) as loop:
                    step.at(
                        b, [b.entry("loaded body", heavy_paths.bodies[heavy_paths.loaded], loop.index)], []
                    )
        if len(heavy_paths.first) == 1:
            return self._heavy_path(b, _HeavyPath(b, heavy_paths, 0))
        with b.loop(len(heavy_paths.first), down=self.down) as loop:
            self._heavy_path(b, _HeavyPath(b, heavy_paths, loop.index))
        return None

    def _heavy_path(self, b: BodyBuilder, heavy_path: _HeavyPath) -> None:
        for step in self.start:
            heavy_path.step(step, 1)
        count = heavy_path.of_heavy_path("levels")
        with b.only_if(int_expr("ne", count, 0)), b.loop(count, down=self.down) as level:
            for step in self.steps:
                heavy_path.step(step, int_expr("shl", 1, level.index))
        for step in self.last:
            heavy_path.step(step, 1)


class _HeavyPath:
    """A limb; its rows are counted from its first link."""

    def __init__(self, b: BodyBuilder, heavy_paths: HeavyPathRows, index: Index) -> None:
        self.b, self.heavy_paths, self.index = b, heavy_paths, index
        self.first, self.length = self.of_heavy_path("first"), self.of_heavy_path("length")

    def of_heavy_path(self, name: str) -> Index:
        """A number that each limb has."""
        return self.b.entry(f"limb {name}", getattr(self.heavy_paths, name), self.index)

    def step(self, step: LevelStep, h: Index) -> None:
        """One pass over the rows of a step."""
        b, heavy_paths = self.b, self.heavy_paths
        if step.rows == FIRST:
            self.row(step, 0, h)
        elif step.rows == ALL:
            with b.loop(self.length) as loop:
                self.row(step, loop.index, h)
        elif step.rows in (ODD, EVEN):
            double, first = int_expr("shl", h, 1), h if step.rows == ODD else 0
            rest = less(plus(self.length, -1), first)
            with b.loop(plus(int_expr("div", rest, double), 1)) as loop:
                self.row(step, plus(int_expr("mul", loop.index, double), first), h)
        elif step.rows == LOADED:
            count, first = self.of_heavy_path("loaded_count"), self.of_heavy_path("loaded_first")
            with b.only_if(int_expr("ne", count, 0)), b.loop(count) as loop:
                self.row(
                    step, b.entry("loaded", heavy_paths.place[heavy_paths.loaded], plus(loop.index, first)), h
                )
        else:
            raise TypeError(f"rolled program: an elimination has no rows {step.rows!r}.")

    def row(self, step: LevelStep, row: Index, h: Index) -> None:
        """The instructions for one row."""
        b, bodies, inside = self.b, list[Index](), list[Index]()
        for offset in step.offsets:
            at = plus(row, times(h, offset))
            held = at
            if offset > 0:
                held = select(int_expr("lt", at, self.length), at, plus(self.length, -1))
            elif offset < 0:
                held = select(int_expr("ge", at, 0), at, 0)
            bodies.append(b.entry("row body", self.heavy_paths.bodies, plus(self.first, held)))
            inside.append(1 if not offset else int_expr("eq", at, held))
        if step.carrier:
            bodies.append(self.of_heavy_path("carrier"))
        step.at(b, bodies, inside)
