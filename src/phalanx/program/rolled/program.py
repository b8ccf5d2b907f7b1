# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A rolled program: stages over bodies, all of them small, and the program that they build."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..form.program import Program
from .stages.bodies import OUT, BodyBuilder, Layout, Stage
from .stages.factor import InverseOut
from .stages.matrices import MatrixOut


@dataclass(frozen=True)
class RolledProgram:
    """The stages in the order in which they run, and what they find."""

    layout: Layout
    stages: list[Stage]

    def built(self, lanes: int = 8) -> Program:
        """The program, for registers of so many lanes."""
        p = self.layout
        b = BodyBuilder(p, lanes)
        size = prod(p.output)
        staged = not any(isinstance(stage, MatrixOut | InverseOut) for stage in self.stages)
        if staged:
            out = b.region(OUT, size + 16)  # bodies without a link write past its end
            if p.joints is not None:
                b.clear(out, size)  # several bodies add to one number
        for stage in self.stages:
            stage.build(b)
        if staged:
            b.move(b.outputs[OUT], 0, out, 0, size)
        return b.finished(p.n, p.table.size)
