# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Eliminations: a loop over heavy paths, in it one over distances h = 1, 2, 4, …, in that loops over rows."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir import Index, Program, Real, int_expr, less, plus, select, times
from .. import leaves as L
from ..heavy_path_tables import HeavyPathRows
from .bodies import BodyBuilder, Stage, Where, settle

ODD, EVEN, ALL, FIRST = "odd", "even", "all", "first"
LOADED = "loaded"  # rows of links that carry heavy paths
WORLD = "world"  # the row of the world


@dataclass(frozen=True)
class LevelStep:
    """Instructions for some rows of a level; operands beyond the ends of the heavy path are clamped."""

    rows: str  # ODD or EVEN multiples of h, ALL rows, the FIRST one; of heavy paths also LOADED and WORLD
    offsets: tuple[int, ...]  # from the row to those of the operands, in units of h
    code: Program
    carrier: bool = False  # whether the link that carries the heavy path is one more operand

    def at(self, b: BodyBuilder, bodies: list[Index], inside: list[Index]) -> None:
        """Append a join of the operands at `bodies`; `inside` is false where an index was clamped."""
        where: Where = dict(enumerate(bodies))

        def leaf(what: L.Leaf) -> Real:
            if isinstance(what, L.InBounds):
                return b.choice(inside[what.number], 1.0, 0.0)
            return b.read(what, where)

        with b.attributed_to(bodies[0]):
            settle(b, self.code, leaf, lambda target, value, _: b.write(target, where, value))


@dataclass(frozen=True)
class EliminationLevels(Stage):
    """The levels h = 1, 2, 4, … of one heavy path after another; in reverse order if `down`.

    Heavy paths that carry no others come first; a chain is one path. Steps run `before` all paths, at the
    `start` of each, on each of its levels, and those of `last` after these.
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
                step.at(b, [heavy_paths.no_carrier], [])
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
        count = heavy_path.of_heavy_path("levels") if self.steps else 0
        with b.only_if(int_expr("ne", count, 0)), b.loop(count, down=self.down) as level:
            for step in self.steps:
                heavy_path.step(step, int_expr("shl", 1, level.index))
        for step in self.last:
            heavy_path.step(step, 1)


class _HeavyPath:
    """A heavy path; its rows are counted from its first link."""

    def __init__(self, b: BodyBuilder, heavy_paths: HeavyPathRows, index: Index) -> None:
        self.b, self.heavy_paths, self.index = b, heavy_paths, index
        self.first, self.length = self.of_heavy_path("first"), self.of_heavy_path("length")

    def of_heavy_path(self, name: str) -> Index:
        """Return the entry of this heavy path in a table over all of them."""
        return self.b.entry(f"heavy path {name}", getattr(self.heavy_paths, name), self.index)

    def step(self, step: LevelStep, h: Index) -> None:
        """Append the loop over the rows of a step at distance h."""
        b, heavy_paths = self.b, self.heavy_paths
        if step.rows == FIRST:
            self.row(step, 0, h)
        elif step.rows == ALL:
            with b.independent(self.length) as loop:
                self.row(step, loop.index, h)
        elif step.rows in (ODD, EVEN):
            double, first = int_expr("shl", h, 1), h if step.rows == ODD else 0
            rest = less(plus(self.length, -1), first)
            with b.independent(plus(int_expr("div", rest, double), 1)) as loop:
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
        """Append the instructions for one row; its operands are clamped to the ends of the path."""
        b, bodies, inside = self.b, list[Index](), list[Index]()
        for offset in step.offsets:
            at = plus(row, times(h, offset))
            clamped = at
            if offset > 0:
                clamped = select(int_expr("lt", at, self.length), at, plus(self.length, -1))
            elif offset < 0:
                clamped = select(int_expr("ge", at, 0), at, 0)
            bodies.append(b.entry("row body", self.heavy_paths.bodies, plus(self.first, clamped)))
            inside.append(1 if not offset else int_expr("eq", at, clamped))
        if step.carrier:
            bodies.append(self.of_heavy_path("carrier"))
        step.at(b, bodies, inside)
