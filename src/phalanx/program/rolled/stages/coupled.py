# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices over degrees of freedom of robots with mimic joints, summed from entries between bodies.

Coupling across branches causes fill-in, so the whole lower triangle is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ...ir import Index, Real, int_expr, plus, select, times
from .. import leaves as L
from ..bodies.body import CoupledJoints
from .bodies import DOF, JOINT, BodyBuilder

if TYPE_CHECKING:
    from .matrices import MatrixEntries


@contextmanager
def over_joints(b: BodyBuilder) -> Iterator[None]:
    """Build the statements inside for a chain of degrees of freedom instead of bodies, if joints mimic."""
    bodies = b.layout
    if bodies.joints is not None:
        b.layout = replace(bodies, n=bodies.joints.count, parents=None)
        b.n = b.layout.n
    yield
    b.layout, b.n = bodies, bodies.n


def owner_of(b: BodyBuilder, row: Index) -> Index:
    """Return the body to which operations on a row of a matrix are attributed."""
    joints = b.layout.joints
    return row if joints is None else b.entry("first body", joints.first_body, row)


def store_summed(b: BodyBuilder, entries: MatrixEntries) -> None:
    """Store the matrix over degrees of freedom, summed from entries between bodies."""
    joints = _joints(b)
    size = joints.count * (joints.count + 1) // 2
    matrix, ratios = b.buffer("matrix", size), b.table("ratio", joints.ratio)
    b.clear(matrix, size)
    with b.loop(b.n) as loop:
        body = loop.index

        def add(value: Real, other: Index) -> None:
            if entries.shape != "rows":
                value = b.choice(int_expr("ge", other, body), value, 0.0)
            k, j = b.mapped(DOF, body), b.mapped(DOF, other)
            amount = b.mul(b.mul(value, b.load(ratios, body)), b.load(ratios, other))
            # Two bodies of one degree of freedom add to its diagonal twice: as (i, j) and as (j, i).
            twice = int_expr("and", int_expr("eq", k, j), int_expr("ne", body, other))
            b.add_to(matrix, _packed(k, j), b.choice(twice, b.add(amount, amount), amount))

        with b.attributed_to(body):
            entries.of(b, body, add)
            if entries.adds:
                k = b.mapped(DOF, body)
                b.add_to(matrix, _packed(k, k), b.value_of(body, entries.diagonal))


def _joints(b: BodyBuilder) -> CoupledJoints:
    assert b.layout.joints is not None
    return b.layout.joints


def _packed(k: Index, j: Index) -> Index:
    """Return the index of an entry in the packed lower triangle."""
    below = int_expr("gt", k, j) if k is not j else 1
    row, column = select(below, k, j), select(below, j, k)
    return plus(int_expr("div", times(row, plus(row, 1)), 2), column)


def summed_matrix_out(b: BodyBuilder) -> None:
    """Write the summed matrix row by row."""
    count = _joints(b).count
    rows = b.buffer("rows", count)
    with b.loop(count) as row:
        with b.loop(count) as column:
            value = b.load(b.buffers["matrix"], _packed(row.index, column.index))
            b.store(rows, column.index, value)
        b.move(b.outputs[L.OUT], times(row.index, count), rows, 0, count)


def gather_forces(b: BodyBuilder, value: Callable[[Index], Real]) -> None:
    """Scatter-add the values of bodies to their degrees of freedom in the right-hand side."""
    solution = b.buffers["solution"]
    b.clear(solution, _joints(b).count + 1)
    with b.loop(b.n) as loop, b.attributed_to(loop.index):
        b.add_to(solution, b.mapped(DOF, loop.index), value(loop.index))


def hand_out(b: BodyBuilder, slot: int) -> None:
    """Store the solution in a slot of the first body of each degree of freedom, zero in that of others."""
    solution = b.buffers["solution"]
    b.store(solution, _joints(b).count, 0.0)
    with b.loop(b.n) as loop:
        b.store(b.slots, b.kept(loop.index, slot), b.load(solution, b.mapped(JOINT, loop.index)))
