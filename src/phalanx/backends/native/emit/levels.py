# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Eliminations in rolled code: a loop over distances h = 1, 2, 4, …, in each loops over rows."""

from __future__ import annotations

from typing import Any

from ....ir.rolled import Levels, Step
from .bodies import BodyWriter, body_leaf
from .loops import run


def levels_text(w: BodyWriter, stage: Levels) -> None:
    """All levels, then the last steps."""
    count = (w.program.n - 1).bit_length()
    if count:
        level = w.open(count, down=stage.down)
        h = w.put(f"shl i64 1, {level.index}")
        for step in stage.steps:
            _step(w, step, h)
        w.close(level)
    for step in stage.last:
        _step(w, step, "1")


def _step(w: BodyWriter, step: Step, h: str) -> None:
    """One pass over the rows of a step."""
    n = w.program.n
    if step.rows == "first":
        return _row(w, step, "0", h)
    if step.rows == "all":
        loop = w.open(n)
        _row(w, step, loop.index, h)
    else:
        apart = w.put(f"shl i64 {h}, 1")
        first = h if step.rows == "odd" else "0"
        rest = w.put(f"sub i64 {n - 1}, {first}")
        count = w.plus(w.put(f"udiv i64 {rest}, {apart}"), 1)
        loop = w.open(count)
        _row(w, step, w.plus(w.put(f"mul i64 {loop.index}, {apart}"), first), h)
    w.close(loop)
    return None


def _row(w: BodyWriter, step: Step, row: str, h: str) -> None:
    """The instructions for one row; operands beyond the ends read the nearest row."""
    n, slots = w.program.n, w.program.slots
    places, inside = [], []
    for offset in step.offsets:
        at = row if not offset else w.plus(row, h if offset == 1 else w.put(f"mul i64 {h}, {offset}"))
        held = at
        if offset > 0:
            within = w.put(f"icmp slt i64 {at}, {n}")
            held = w.put(f"select i1 {within}, i64 {at}, i64 {n - 1}")
        elif offset < 0:
            within = w.put(f"icmp sge i64 {at}, 0")
            held = w.put(f"select i1 {within}, i64 {at}, i64 0")
        places.append(held)
        inside.append((at, held))
    readers = [body_leaf(w, place) for place in places]

    def leaf(what: tuple[Any, ...]) -> str | float:
        if what[0] == "inside":
            return w.where_equal(*inside[what[1]])
        if what[0] == "common":
            return readers[0](what)
        return readers[what[2]](what[:2])

    for value, (slot, operand) in zip(run(w, step.code, leaf), step.targets, strict=True):
        w.save(value, w.at("slots", w.scaled(places[operand], slots), slot))
