# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Eliminations on limbs in rolled code: a loop over limbs, in each one over distances, in each one over rows.

Rows are counted from the first link of a limb; a table tells which body a row is.
"""

from __future__ import annotations

import numpy as np

from ....ir.rolled import LimbLevels, Step
from .bodies import BodyWriter
from .levels import write_step


def limbs_text(w: BodyWriter, stage: LimbLevels) -> None:
    """The steps before all limbs, then limb after limb."""
    rows = w.program.limbs
    assert rows is not None
    for step in stage.before:
        if step.rows == "world":
            write_step(w, step, [str(rows.nobody)], [])
        else:
            loop = w.open(len(rows.laden))
            write_step(w, step, [_entry(w, "laden body", rows.bodies[rows.laden], loop.index)], [])
            w.close(loop)
    loop = w.open(len(rows.first), down=stage.down)
    limb = _Limb(w, loop.index)
    for step in stage.start:
        limb.step(step, "1")
    if rows.levels.any():
        count = limb.of("limb levels", rows.levels)
        with w.only_if(w.put(f"icmp ne i64 {count}, 0")):
            level = w.open(count, down=stage.down)
            h = w.put(f"shl i64 1, {level.index}")
            for step in stage.steps:
                limb.step(step, h)
            w.close(level)
    for step in stage.last:
        limb.step(step, "1")
    w.close(loop)


class _Limb:
    """The limb that a loop has reached."""

    def __init__(self, w: BodyWriter, index: str) -> None:
        assert w.program.limbs is not None
        self.w, self.index, self.rows = w, index, w.program.limbs
        self.first = self.of("limb first", self.rows.first)
        self.length = self.of("limb length", self.rows.length)

    def of(self, name: str, column: np.ndarray) -> str:
        """What a table tells of the limb."""
        return _entry(self.w, name, column, self.index)

    def step(self, step: Step, h: str) -> None:
        """One pass over the rows of a step."""
        w = self.w
        if step.rows == "first":
            self._row(step, "0", h)
        elif step.rows == "laden":
            count = self.of("limb laden", self.rows.laden_count)
            with w.only_if(w.put(f"icmp ne i64 {count}, 0")):
                first = self.of("limb laden first", self.rows.laden_first)
                loop = w.open(count)
                place = w.plus(loop.index, first)
                self._row(step, _entry(w, "laden", self.rows.place[self.rows.laden], place), h)
                w.close(loop)
        else:  # the odd multiples of h, of which there is at least one
            apart = w.put(f"shl i64 {h}, 1")
            rest = w.plus(w.put(f"sub i64 {self.length}, {h}"), -1)
            loop = w.open(w.plus(w.put(f"udiv i64 {rest}, {apart}"), 1))
            self._row(step, w.plus(w.put(f"mul i64 {loop.index}, {apart}"), h), h)
            w.close(loop)

    def _row(self, step: Step, row: str, h: str) -> None:
        """The instructions for one row; operands beyond the end read the last one."""
        w = self.w
        places, inside = [], []
        for offset in step.offsets:
            at = held = row if not offset else w.plus(row, w.put(f"mul i64 {h}, {offset}"))
            if offset > 0:
                within = w.put(f"icmp slt i64 {at}, {self.length}")
                held = w.put(f"select i1 {within}, i64 {at}, i64 {w.plus(self.length, -1)}")
            places.append(_entry(w, "row body", self.rows.bodies, w.plus(self.first, held)))
            inside.append((at, held))
        if step.carrier:
            places.append(self.of("limb carrier", self.rows.carrier))
        write_step(w, step, places, inside)


def _entry(w: BodyWriter, name: str, column: np.ndarray, index: str) -> str:
    """An entry of a column of integers, without a table if all are equal or count the index."""
    if (column == column[0]).all():
        return str(column[0])
    return index if np.array_equal(column, np.arange(len(column))) else w.integer(name, column, index)
