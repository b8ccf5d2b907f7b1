# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The sparse factor of a matrix over bodies, and its solutions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...ir import Buffer, Index, Real, int_expr, plus, select, times
from .. import leaves as L
from .bodies import BodyBuilder, Stage, StageLayout
from .coupled import gather_forces, hand_out, over_joints, owner_of, store_summed
from .matrices import MatrixEntries

TOGETHER = 4  # right-hand sides that share one pass over the factor when all are unit vectors


@dataclass(frozen=True)
class Factor(Stage):
    """Stores a matrix and factors it in place: M = L^T D L, with 1/D on the diagonal."""

    entries: MatrixEntries

    def build(self, b: BodyBuilder) -> None:
        if b.layout.joints is not None:
            store_summed(b, self.entries)
        else:
            b.buffer("matrix", _size(b) + (self.entries.shape != "rows") * b.privates)
            b.over_columns(lambda body: self._keep(b, body))
        with over_joints(b):
            _factored(b)

    def _keep(self, b: BodyBuilder, body: Index) -> None:
        """Store the matrix entries of a body, attributed to it."""
        with b.attributed_to(body):
            self._entries(b, body)

    def _entries(self, b: BodyBuilder, body: Index) -> None:
        """Store the entries of a body."""
        row, matrix = row_of(b, body), b.buffers["matrix"]
        depth = depth_of(b, body)
        if self.entries.shape == "rows":
            self.entries.of(b, body, lambda x, there: b.store(matrix, plus(row, depth_of(b, there)), x))
        else:
            # Only those with bodies of its subtree; others go to dummy entries at the end.
            first, last = (b.entry(name, table, body) for name, table in _families(b.layout).items())

            def store(value: Real, there: Index) -> None:
                number = b.entry("first", _families(b.layout)["first"], there)
                inside = int_expr("and", int_expr("ge", number, first), int_expr("le", number, last))
                dummy = plus(b.private, _size(b))
                b.store(matrix, select(inside, plus(row_of(b, there), depth), dummy), value)

            self.entries.of(b, body, store)
        self.entries.add_diagonal(b, body, matrix, plus(row, depth))


def depth_of(b: BodyBuilder, body: Index) -> Index:
    return b.entry(f"depth of {b.n}", b.layout.depth, body)


def row_of(b: BodyBuilder, body: Index) -> Index:
    """Return the index at which the row of a body starts among the packed entries."""
    length = b.layout.depth + 1
    return b.entry(f"row of {b.n}", np.cumsum(length) - length, body)


def _size(b: BodyBuilder) -> int:
    return int((b.layout.depth + 1).sum())


def _families(p: StageLayout) -> dict[str, np.ndarray]:
    """Return the number of each body in depth-first preorder, and the last number in its subtree."""
    parents = np.arange(-1, p.n - 1) if p.parents is None else p.parents
    size = np.ones(p.n, dtype=np.int64)
    for i in range(p.n - 1, -1, -1):
        if parents[i] >= 0:
            size[parents[i]] += size[i]
    first, free = np.zeros(p.n, dtype=np.int64), np.zeros(p.n + 1, dtype=np.int64)
    for i, parent in enumerate(parents.tolist()):
        first[i] = free[parent]  # the last entry of `free` is the world's
        free[parent] += size[i]
        free[i] = first[i] + 1
    return {"first": first, "last": first + size - 1}


def _factored(b: BodyBuilder) -> None:
    """Factor the matrix in place."""
    matrix = b.buffers["matrix"]
    if b.privates > 1:
        return _factored_together(b, matrix)
    with b.loop(b.n, down=True) as loop, b.attributed_to(owner_of(b, loop.index)):
        body = loop.index
        row, first = row_of(b, body), b.parent(body)
        pivot = plus(row, depth_of(b, body))
        inverse = b.div(1.0, b.load(matrix, pivot))
        b.store(matrix, pivot, inverse)
        with b.only_if(int_expr("ge", first, 0)), b.walk(first, b.parent) as ancestors:
            _eliminate(b, row, inverse, ancestors.index)
    return None


def _factored_together(b: BodyBuilder, matrix: Buffer) -> None:
    """Factor the matrix of a chain in place, the rows of all ancestors of a body in parallel."""
    pivots = b.buffer("pivots", b.n)
    with b.loop(b.n, down=True) as loop, b.attributed_to(loop.index):
        body = loop.index
        row = row_of(b, body)
        b.store(pivots, body, b.div(1.0, b.load(matrix, plus(row, body))))
        with b.only_if(int_expr("gt", body, 0)), b.independent(body) as ancestors:
            there = ancestors.index
            minus = b.neg(b.mul(b.load(matrix, plus(row, there)), b.load(pivots, body)))
            with b.loop(plus(there, 1)) as entries:
                target = plus(row_of(b, there), entries.index)
                source = b.load(matrix, plus(row, entries.index))
                b.store(matrix, target, b.multiply_add(minus, source, b.load(matrix, target)))
        with b.independent(plus(body, 1)) as ancestors:  # after all have read the row
            inverse, index = b.load(pivots, body), plus(row, ancestors.index)
            scaled = b.mul(b.load(matrix, index), inverse)
            b.store(matrix, index, b.choice(int_expr("eq", ancestors.index, body), inverse, scaled))


def _eliminate(b: BodyBuilder, row: Index, inverse: Real, there: Index) -> None:
    """Subtract a body's row, scaled, from the row of one of its ancestors."""
    matrix, own, depth = b.buffers["matrix"], row_of(b, there), depth_of(b, there)
    index = plus(row, depth)
    scaled = b.mul(b.load(matrix, index), inverse)
    minus = b.neg(scaled)
    with b.loop(plus(depth, 1)) as loop:
        target = plus(own, loop.index)
        source = b.load(matrix, plus(row, loop.index))
        b.store(matrix, target, b.multiply_add(minus, source, b.load(matrix, target)))
    b.store(matrix, index, scaled)


# ------------------------------------------------------------------- solutions


@dataclass(frozen=True)
class Solve(Stage):
    """Solves for the right-hand side in one spill slot (or a constant) and stores the solution in another."""

    source: int | float
    slot: int

    def build(self, b: BodyBuilder) -> None:
        joints = b.layout.joints
        solution = b.buffer("solution", b.n if joints is None else joints.count + 1)
        if joints is not None:
            gather_forces(b, lambda body: b.value_of(body, self.source))
        else:
            with b.independent(b.n) as loop:
                b.store(solution, loop.index, b.value_of(loop.index, self.source))
        with over_joints(b):
            solve(b, solution, b.n, 1)
        if joints is not None:
            return hand_out(b, self.slot)
        with b.independent(b.n) as loop:
            b.store(b.slots, b.kept(loop.index, self.slot), b.load(solution, loop.index))
        return None


def solve(b: BodyBuilder, solution: Buffer, end: Index, width: int) -> None:
    """Solve in place for `width` interleaved right-hand sides, which are zero from body `end` on."""
    if b.privates > 1 and width == 1:
        return _solve_together(b, solution, end)
    _backward(b, solution, end, width)
    _forward(b, solution, width)
    return None


def _solve_together(b: BodyBuilder, solution: Buffer, end: Index) -> None:
    """Solve in place for a chain: each unknown, once known, is subtracted from all others in parallel."""
    matrix = b.buffers["matrix"]
    with b.loop(end, down=True) as loop, b.attributed_to(loop.index):
        body = loop.index
        with b.only_if(int_expr("gt", body, 0)), b.independent(body) as others:
            entry = b.load(matrix, plus(row_of(b, body), others.index))
            minus = b.neg(b.load(solution, body))
            b.store(solution, others.index, b.multiply_add(entry, minus, b.load(solution, others.index)))
    with b.independent(b.n) as loop:
        diagonal = b.load(matrix, plus(row_of(b, loop.index), loop.index))
        b.store(solution, loop.index, b.mul(diagonal, b.load(solution, loop.index)))
    if b.n == 1:
        return
    with (
        b.loop(b.n - 1) as loop,
        b.attributed_to(loop.index),
        b.independent(b.n, first=plus(loop.index, 1)) as others,
    ):
        entry = b.load(matrix, plus(row_of(b, others.index), loop.index))
        minus = b.neg(b.load(solution, loop.index))
        b.store(solution, others.index, b.multiply_add(entry, minus, b.load(solution, others.index)))


def _backward(b: BodyBuilder, solution: Buffer, end: Index, width: int) -> None:
    """x_j -= L_kj x_k for the ancestors j of body k, from body `end` - 1 to the root."""
    with b.loop(end, down=True) as loop, b.attributed_to(owner_of(b, loop.index)):
        body = loop.index
        row, first = row_of(b, body), b.parent(body)
        minus = [b.neg(b.load(solution, plus(times(body, width), k))) for k in range(width)]
        with b.only_if(int_expr("ge", first, 0)), b.walk(first, b.parent) as ancestors:
            entry = b.load(b.buffers["matrix"], plus(row, depth_of(b, ancestors.index)))
            for k in range(width):
                index = plus(times(ancestors.index, width), k)
                b.store(solution, index, b.multiply_add(entry, minus[k], b.load(solution, index)))


def _forward(b: BodyBuilder, solution: Buffer, width: int) -> None:
    """x_k = x_k / d_k - sum over ancestors j of L_kj x_j, from the root to the tips."""
    matrix = b.buffers["matrix"]
    with b.loop(b.n) as loop, b.attributed_to(owner_of(b, loop.index)):
        body = loop.index
        row = row_of(b, body)
        diagonal = b.load(matrix, plus(row, depth_of(b, body)))
        own = [b.mul(diagonal, b.load(solution, plus(times(body, width), k))) for k in range(width)]
        with b.walk(body, b.parent) as ancestors:
            # The first iteration is the body itself, whose right-hand side must not be subtracted.
            there = ancestors.index
            other = int_expr("ne", there, body)
            entry = b.load(matrix, plus(row, depth_of(b, there)))
            sums = [ancestors.carry(x) for x in own]
            for k, x in enumerate(sums):
                minus = b.neg(b.load(solution, plus(times(there, width), k)))
                ancestors.feed(x, b.choice(other, b.multiply_add(entry, minus, x), x))
        for k, x in enumerate(sums):
            b.store(solution, plus(times(body, width), k), x)


@dataclass(frozen=True)
class InverseOut(Stage):
    """Writes the inverse of the factored matrix to an output, a few rows at a time."""

    name: str = L.OUT

    @property
    def written(self) -> tuple[str, ...]:
        return (self.name,)

    def build(self, b: BodyBuilder) -> None:
        out = b.outputs[self.name]
        with over_joints(b):
            solution = b.buffer("solutions", b.n * min(TOGETHER, b.n))
            b.in_blocks(b.n, TOGETHER, lambda first, width: _inverse_rows(b, out, solution, first, width))


def _inverse_rows(b: BodyBuilder, out: Buffer, solution: Buffer, first: Index, width: int) -> None:
    """Write `width` rows of the inverse from `first` on: the solutions for unit vectors."""
    b.clear(solution, b.n * width)
    for k in range(width):
        b.store(solution, plus(times(plus(first, k), width), k), 1.0)
    solve(b, solution, plus(first, width), width)
    for k in range(width):
        b.move(out, times(plus(first, k), b.n), solution, k, b.n, step=width)
