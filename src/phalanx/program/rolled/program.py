# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A rolled program: a list of stages, each of them loops over bodies, and the program that they build."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..ir import Program
from ..task import RUN
from . import leaves as L
from .group_builder import GroupBuilder
from .segments.column_loops import ColumnLoopsSideBySide, columns_in_lanes
from .segments.columns import ColumnsSideBySide, walked_pairs
from .stages.bodies import BodyBuilder, Stage, StageLayout
from .stages.loops import BodyLoop, Once
from .stages.matrices import AncestorPairs


@dataclass(frozen=True)
class RolledProgram:
    """The stages in the order in which they run, and the layout of the data that they read."""

    layout: StageLayout
    stages: list[Stage]
    reordered: bool = False  # whether loops are serial where the algorithm joins runs of bodies

    @property
    def _walked(self) -> AncestorPairs | None:
        return walked_pairs(self.layout, self.stages[-1]) if self.stages else None

    @property
    def one_state(self) -> bool:
        """Whether SIMD lanes hold bodies of one state, never several states."""
        return self._walked is not None and self._walked.runs and self.layout.n >= RUN

    def alone(self, lanes: int = 8) -> Program | None:
        """Return the program for one state with bodies in SIMD lanes; None if no loop can use them."""
        walked, looped = self._walked, columns_in_lanes(self.layout, self.stages[-1]) if self.stages else None
        if (walked is None and looped is None) or lanes == 1 or self.layout.n < lanes:
            return None
        b = BodyBuilder(self.layout, lanes, alone=True)
        with b.part(1):
            for stage in self.stages[:-1]:
                stage.build(b)
        if walked is not None:
            ColumnsSideBySide(b, walked, linear=self.one_state).build()
        elif looped is not None:
            ColumnLoopsSideBySide(b, looped).build()
        return b.finished(self.layout.n, self.layout.table.size)

    def built(self, lanes: int = 8) -> Program:
        """Return the program for registers of `lanes` SIMD lanes."""
        if self.one_state and (made := self.alone(lanes)) is not None:
            return made
        return self._on(BodyBuilder(self.layout, lanes))

    def grouped(self, items: int) -> Program:
        """Return the program of one state for a work-group of `items` work-items."""
        return self._on(GroupBuilder(self.layout, items))

    def _on(self, b: BodyBuilder) -> Program:
        """Build all stages."""
        p = self.layout
        staged = self._staged()
        for name, is_added in staged.items():
            size = prod(p.outputs[name])
            out = b.buffer(name, size + 16)  # bodies without a link write past its end
            if is_added:
                b.clear(out, size)
        for stage in self.stages:
            stage.build(b)
        for name in staged:
            b.move(b.outputs[name], 0, b.buffers[name], 0, prod(p.outputs[name]))
        return b.finished(p.n, p.table.size)

    def _staged(self) -> dict[str, bool]:
        """Return the outputs to stage in a buffer, and whether to clear it: if bodies add or none writes."""
        targets = [t for stage in self.stages if isinstance(stage, BodyLoop | Once) for t in stage.targets]
        written = {name for stage in self.stages for name in stage.written}
        kinds = {
            name: {type(t) for t in targets if isinstance(t, L.State | L.Global) and t.name == name}
            for name in self.layout.outputs
            if name not in written
        }
        return {name: L.Added in found or not found for name, found in kinds.items()}
