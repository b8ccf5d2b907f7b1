# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Eliminations in rolled code: a loop over distances h = 1, 2, 4, …, in each loops over rows."""

from __future__ import annotations

from typing import Any

from ....ir.rolled import OWN, Levels, RolledProgram, Step
from .bodies import BodyWriter, body_leaf
from .loops import run


def levels_text(w: BodyWriter, stage: Levels) -> None:
    """All levels, then the last steps."""
    rows = Rows(w.program, stage.bodies)
    count = (rows.count - 1).bit_length()
    if count:
        level = w.open(count, down=stage.down)
        h = w.put(f"shl i64 1, {level.index}")
        for step in stage.steps:
            _step(w, rows, step, h)
        w.close(level)
    for step in stage.last:
        _step(w, rows, step, "1")


class Rows:
    """The rows of levels: bodies that a map lists, or all of them."""

    def __init__(self, program: RolledProgram, bodies: str | None) -> None:
        self.bodies = bodies or OWN
        self.count = program.n if bodies is None else len(program.maps[bodies])


def _step(w: BodyWriter, rows: Rows, step: Step, h: str) -> None:
    """One pass over the rows of a step."""
    if step.rows == "first":
        return _row(w, rows, step, "0", h)
    if step.rows == "all":
        loop = w.open(rows.count)
        _row(w, rows, step, loop.index, h)
    else:
        apart = w.put(f"shl i64 {h}, 1")
        first = h if step.rows == "odd" else "0"
        rest = w.put(f"sub i64 {rows.count - 1}, {first}")
        count = w.plus(w.put(f"udiv i64 {rest}, {apart}"), 1)
        loop = w.open(count)
        _row(w, rows, step, w.plus(w.put(f"mul i64 {loop.index}, {apart}"), first), h)
    w.close(loop)
    return None


def _row(w: BodyWriter, rows: Rows, step: Step, row: str, h: str) -> None:
    """The instructions for one row; operands beyond the ends read the nearest row."""
    n = rows.count
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
        places.append(w.mapped(rows.bodies, held))
        inside.append((at, held))
    write_step(w, step, places, inside)


def write_step(w: BodyWriter, step: Step, places: list[str], inside: list[tuple[str, str]]) -> None:
    """The instructions of a step whose operands stand with some bodies.

    `inside` holds the row of each operand and the nearest one that there is.
    """
    readers = [body_leaf(w, place) for place in places]

    def leaf(what: tuple[Any, ...]) -> str | float:
        if what[0] == "inside":
            return w.where_equal(*inside[what[1]])
        if what[0] == "common":
            return readers[0](what)
        return readers[what[2]](what[:2])

    for value, (slot, operand) in zip(run(w, step.code, leaf), step.targets, strict=True):
        w.save(value, w.at("slots", w.scaled(places[operand], w.program.slots), slot))
