# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The sparse factor of a matrix over bodies in rolled code, and its solutions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....ir.rolled import TOGETHER, Columns, Factor, InverseOut, Pairs, RolledProgram, Solve
from .bodies import BodyWriter
from .columns import one_column
from .coupled import gather_forces, hand_out, over_joints
from .loops import Counter
from .matrix import add_diagonal, depth_of, depth_of_all, keep_summed, row_of, value_of, walk, walk_up


def factor_text(w: BodyWriter, stage: Factor) -> None:
    """Keep the matrix of a walk and factor it in place: M = L^T D L, with 1/D on the diagonal."""
    if w.program.joints is not None:
        keep_summed(w, stage.pairs)
        with over_joints(w):
            return _factored(w)
    w.region("matrix", int((depth_of_all(w.program) + 1).sum()) + isinstance(stage.pairs, Columns))
    loop = w.open(w.program.n)
    if isinstance(stage.pairs, Columns):
        _keep_column(w, stage.pairs, loop.index)
    else:
        _keep_row(w, stage.pairs, loop.index)
    w.close(loop)
    return _factored(w)


def _factored(w: BodyWriter) -> None:
    """Factor the matrix in place."""
    loop = w.open(w.program.n, down=True)
    body = loop.index
    row = row_of(w, body)
    place = w.at("matrix", w.plus(row, depth_of(w, body)), 0)
    inverse = w.binary("fdiv", 1.0, w.fetch(place))
    w.save(inverse, place)
    _each_ancestor(w, body, lambda there: _eliminate(w, row, inverse, there))
    w.close(loop)


def _keep_row(w: BodyWriter, pairs: Pairs, body: str) -> None:
    """Keep the entries of a body with its ancestors."""
    row = row_of(w, body)

    def store(value: str, there: str) -> None:
        w.save(value, w.at("matrix", w.plus(row, depth_of(w, there)), 0))

    walk(w, pairs, body, store)
    add_diagonal(w, pairs, body, w.at("matrix", w.plus(row, depth_of(w, body)), 0))


def _keep_column(w: BodyWriter, columns: Columns, body: str) -> None:
    """Keep the entries of a body with all that it carries; others fall into a place of no use."""
    spare = str(int((depth_of_all(w.program) + 1).sum()))
    first, last = (w.integer(name, table, body) for name, table in _families(w.program).items())
    depth = depth_of(w, body)

    def store(value: str, there: str) -> None:
        place = w.integer("first", _families(w.program)["first"], there)
        after, before = w.put(f"icmp sge i64 {place}, {first}"), w.put(f"icmp sle i64 {place}, {last}")
        inside = w.put(f"and i1 {after}, {before}")
        kept = w.put(f"select i1 {inside}, i64 {w.plus(row_of(w, there), depth)}, i64 {spare}")
        w.save(value, w.at("matrix", kept, 0))

    one_column(w, columns, body, store)
    add_diagonal(w, columns, body, w.at("matrix", w.plus(row_of(w, body), depth_of(w, body)), 0))


def _families(program: RolledProgram) -> dict[str, np.ndarray]:
    """Numbers of the bodies with families together: a body's own, and the last one among all it carries."""
    n = program.n
    parents = np.arange(-1, n - 1) if program.parents is None else program.parents
    size = np.ones(n, dtype=np.int64)
    for i in range(n - 1, -1, -1):
        if parents[i] >= 0:
            size[parents[i]] += size[i]
    first, free = np.zeros(n, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    for i, p in enumerate(parents.tolist()):
        first[i] = free[p]  # the last entry of `free` is the world's
        free[p] += size[i]
        free[i] = first[i] + 1
    return {"first": first, "last": first + size - 1}


def _eliminate(w: BodyWriter, row: str, inverse: str, there: str) -> None:
    """Take a body's row, scaled, off the row of one of its ancestors."""
    own, depth = row_of(w, there), depth_of(w, there)
    place = w.at("matrix", w.plus(row, depth), 0)
    scaled = w.binary("fmul", w.fetch(place), inverse)
    minus = w.neg(scaled)
    loop = w.open(w.plus(depth, 1))
    target = w.at("matrix", w.plus(own, loop.index), 0)
    source = w.at("matrix", w.plus(row, loop.index), 0)
    w.save(w.multiply_add(minus, w.fetch(source), w.fetch(target)), target)
    w.close(loop)
    w.save(scaled, place)


def _each_ancestor(w: BodyWriter, body: str, visit: Callable[[str], None]) -> None:
    """Visit the ancestors of a body, nearest first; there may be none."""
    first = w.parent(body)
    with w.only_if(w.put(f"icmp sge i64 {first}, 0")):
        walk_up(w, first, lambda _, there: visit(there), [])


# ------------------------------------------------------------------- solutions


def solve_text(w: BodyWriter, stage: Solve) -> None:
    """Solve for one right-hand side."""
    if w.program.joints is not None:
        w.region("solution", w.program.joints.count + 1)
        gather_forces(w, lambda body: value_of(w, body, stage.source))
        with over_joints(w):
            _backward(w, w.program.n, 1)
            _forward(w, 1)
        return hand_out(w, stage.slot)
    w.region("solution", w.program.n)
    loop = w.open(w.program.n)
    w.save(value_of(w, loop.index, stage.source), w.at("solution", loop.index, 0))
    w.close(loop)
    _backward(w, w.program.n, 1)
    _forward(w, 1)
    loop = w.open(w.program.n)
    value = w.fetch(w.at("solution", loop.index, 0))
    w.save(value, w.at("slots", w.scaled(loop.index, w.program.slots), stage.slot))
    w.close(loop)
    return None


def _backward(w: BodyWriter, count: int | str, width: int) -> None:
    """x_j -= L_kj x_k for the ancestors j of body k, from body `count` - 1 to the root."""
    loop = w.open(count, down=True)
    body = loop.index
    minus = [w.neg(w.fetch(w.at("solution", w.scaled(body, width), k))) for k in range(width)]
    row = row_of(w, body)

    def visit(there: str) -> None:
        entry = w.fetch(w.at("matrix", w.plus(row, depth_of(w, there)), 0))
        for k in range(width):
            place = w.at("solution", w.scaled(there, width), k)
            w.save(w.multiply_add(entry, minus[k], w.fetch(place)), place)

    _each_ancestor(w, body, visit)
    w.close(loop)


def _forward(w: BodyWriter, width: int) -> None:
    """x_k = x_k / d_k - sum over ancestors j of L_kj x_j, from the root to the tips."""
    loop = w.open(w.program.n)
    body = loop.index
    row = row_of(w, body)
    diagonal = w.fetch(w.at("matrix", w.plus(row, depth_of(w, body)), 0))
    own = [
        w.binary("fmul", diagonal, w.fetch(w.at("solution", w.scaled(body, width), k))) for k in range(width)
    ]

    def visit(counter: Counter, there: str) -> None:
        # The walk begins at the body itself, whose place still holds what must not be taken off.
        other = w.put(f"icmp ne i64 {there}, {body}")
        entry = w.fetch(w.at("matrix", w.plus(row, depth_of(w, there)), 0))
        for k, name in enumerate(counter.phis):
            minus = w.neg(w.fetch(w.at("solution", w.scaled(there, width), k)))
            less = w.multiply_add(entry, minus, name)
            counter.fed[name] = w.put(f"select i1 {other}, {w.vector} {less}, {w.vector} {name}")

    walk = walk_up(w, body, visit, own)
    for k, value in enumerate(walk.fed.values()):
        w.save(value, w.at("solution", w.scaled(body, width), k))
    w.close(loop)


def inverse_text(w: BodyWriter, stage: InverseOut) -> None:
    """Write the inverse a few rows at a time: the solutions for unit vectors."""
    with over_joints(w):
        n = w.program.n
        w.region("solution", n * min(TOGETHER, n))
        w.in_blocks(n, TOGETHER, lambda first, width: _inverse_rows(w, first, width))


def _inverse_rows(w: BodyWriter, first: str, width: int) -> None:
    """Write `width` rows of the inverse from `first` on."""
    n = w.program.n
    w.clear("solution", n * width)
    for k in range(width):
        w.save(1.0, w.at("solution", w.scaled(w.plus(first, k), width), k))
    _backward(w, w.plus(first, width), width)
    _forward(w, width)
    for k in range(width):
        start = w.scaled(w.plus(first, k), n)
        w.rows_out(w.at("solution", "0", k), start, w.plus(str(n), 0), n % w.lanes, step=width)
