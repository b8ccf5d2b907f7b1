# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A rolled program: stages over bodies, all of them small, and the program that they build."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..form.program import Program
from .segments.columns import columns_side_by_side, walked_pairs
from .stages.bodies import BodyBuilder, Layout, Stage
from .stages.factor import InverseOut
from .stages.matrices import MatrixOut

_STRIP = 4  # registers in a strip of a matrix: narrow strips touch too many lines of cache


@dataclass(frozen=True)
class RolledProgram:
    """The stages in the order in which they run, and what they find."""

    layout: Layout
    stages: list[Stage]

    def alone(self, lanes: int = 8) -> Program | None:
        """The program for one state with bodies in so many lanes; None where nothing is gained."""
        *before, last = self.stages
        entries = walked_pairs(self.layout, last)
        if entries is None or lanes == 1 or self.layout.n < lanes:
            return None
        b = BodyBuilder(self.layout, 0, lanes)
        with b.part(1):
            for stage in before:
                stage.build(b)
        columns_side_by_side(b, entries)
        return b.finished(self.layout.n, self.layout.table.size)

    def built(self, lanes: int = 8) -> Program:
        """The program, for registers of so many lanes."""
        p = self.layout
        b = BodyBuilder(p, _STRIP * lanes)
        size = prod(p.output)
        staged = not any(isinstance(stage, MatrixOut | InverseOut) for stage in self.stages)
        if staged:
            out = b.region("out", size + 16)
            if p.joints is not None:
                b.clear(out, size)  # several bodies add to one number
        for stage in self.stages:
            stage.build(b)
        if staged:
            b.move(b.outputs["out"], 0, out, 0, size)
        return b.finished(p.n, p.table.size)
