# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices over degrees of freedom of robots with mimic joints, summed from entries between bodies.

Coupling across branches fills a matrix, so that its lower triangle is kept whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from ....ir.rolled import DOF, JOINT, Joints
from .bodies import BodyWriter

Add = Callable[[str, str, str], None]


@contextmanager
def over_joints(w: BodyWriter) -> Iterator[None]:
    """Write what follows for a chain of all degrees of freedom, if these are not the bodies."""
    bodies = w.program
    if bodies.joints is not None:
        w.program = replace(bodies, n=bodies.joints.count, parents=None)
    yield
    w.program = bodies


def summed_entries(w: BodyWriter, fill: Callable[[Add], None]) -> None:
    """Clear the matrix and let `fill(add)` add entries: `add(value, body, other body)`."""
    count = _joints(w).count
    w.region("matrix", count * (count + 1) // 2)
    w.clear("matrix", count * (count + 1) // 2)

    def add(value: str, body: str, other: str) -> None:
        k, j = w.mapped(DOF, body), w.mapped(DOF, other)
        place = w.at("matrix", _place(w, k, j), 0)
        amount = w.binary("fmul", w.binary("fmul", value, _ratio(w, body)), _ratio(w, other))
        # Two bodies of one degree of freedom meet on the diagonal, either way round.
        same, apart = w.put(f"icmp eq i64 {k}, {j}"), w.put(f"icmp ne i64 {body}, {other}")
        twice, v = w.put(f"and i1 {same}, {apart}"), w.vector
        amount = w.put(f"select i1 {twice}, {v} {w.binary('fadd', amount, amount)}, {v} {amount}")
        w.save(w.binary("fadd", w.fetch(place), amount), place)

    fill(add)


def add_on_diagonal(w: BodyWriter, body: str, value: str) -> None:
    """Add what the first body of a degree of freedom has for it."""
    k = w.mapped(DOF, body)
    place = w.at("matrix", _place(w, k, k), 0)
    w.save(w.binary("fadd", w.fetch(place), value), place)


def _joints(w: BodyWriter) -> Joints:
    assert w.program.joints is not None
    return w.program.joints


def _place(w: BodyWriter, k: str, j: str) -> str:
    """Where an entry of the lower triangle stands."""
    below = w.put(f"icmp sgt i64 {k}, {j}")
    row, column = (w.put(f"select i1 {below}, i64 {a}, i64 {b}") for a, b in ((k, j), (j, k)))
    above = w.put(f"mul i64 {row}, {w.plus(row, 1)}")
    return w.plus(w.put(f"lshr i64 {above}, 1"), column)


def _ratio(w: BodyWriter, body: str) -> str:
    return w.number("@ratio", _joints(w).ratio, body)


def summed_matrix_out(w: BodyWriter) -> None:
    """Write the summed matrix row by row."""
    count = _joints(w).count
    w.region("rows", count)
    rows = w.open(count)
    entries = w.open(count)
    value = w.fetch(w.at("matrix", _place(w, rows.index, entries.index), 0))
    w.save(value, w.at("rows", entries.index, 0))
    w.close(entries)
    start = w.scaled(rows.index, count)
    w.rows_out(w.at("rows", "0", 0), start, w.plus(str(count), 0), count % w.lanes)
    w.close(rows)


def gather_forces(w: BodyWriter, value: Callable[[str], str]) -> None:
    """Sum what bodies have for their degrees of freedom into the right-hand side."""
    count = _joints(w).count
    w.clear("solution", count + 1)
    loop = w.open(w.program.n)
    place = w.at("solution", w.mapped(DOF, loop.index), 0)
    w.save(w.binary("fadd", w.fetch(place), value(loop.index)), place)
    w.close(loop)


def hand_out(w: BodyWriter, slot: int) -> None:
    """Give the solution to the first body of each degree of freedom, and zero to others."""
    w.save(0.0, w.at("solution", str(_joints(w).count), 0))
    loop = w.open(w.program.n)
    value = w.fetch(w.at("solution", w.mapped(JOINT, loop.index), 0))
    w.save(value, w.at("slots", w.scaled(loop.index, w.program.slots), slot))
    w.close(loop)
