# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices over bodies in rolled code: walks along ancestors, and matrices in the output.

A row of a matrix that is kept holds one entry per ancestor, by depth: the rows of a body and of
its ancestors then lie side by side entry by entry, and nothing is stored between branches.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....ir.rolled import Columns, MatrixOut, Pairs, RolledProgram
from .bodies import BodyWriter, body_leaf
from .columns import keep_pairs, one_column
from .coupled import Add, add_on_diagonal, summed_entries, summed_matrix_out
from .loops import Counter, run
from .strips import Store, strips_out


def depth_of_all(program: RolledProgram) -> np.ndarray:
    """Number of ancestors of each body."""
    if program.parents is None:
        return np.arange(program.n)
    depth = np.zeros(program.n, dtype=np.int64)
    for i, p in enumerate(program.parents.tolist()):
        depth[i] = 0 if p < 0 else depth[p] + 1
    return depth


def row_of(w: BodyWriter, body: str) -> str:
    """Where the row of a body starts among the packed entries."""
    starts = np.cumsum(depth_of_all(w.program) + 1) - (depth_of_all(w.program) + 1)
    return w.integer("row", starts, body)


def depth_of(w: BodyWriter, body: str) -> str:
    return w.integer("depth", depth_of_all(w.program), body)


def value_of(w: BodyWriter, body: str, kept: int | float) -> str:
    """A constant, or what a slot holds at a body."""
    if isinstance(kept, float):
        return w.operand(kept)
    return w.fetch(w.at("slots", w.scaled(body, w.program.slots), kept))


# ------------------------------------------------------------------- walks


def walk_up(w: BodyWriter, first: str, visit: Callable[[Counter, str], None], phis: list[str]) -> Counter:
    """Walk from a body to the root; `visit(counter, body)` feeds the vectors that go along."""
    counter = w.open_walk(first)
    for start in phis:
        w.phi(counter, start)
    visit(counter, counter.index)
    w.close_walk(counter, w.parent(counter.index))
    return counter


def walk(w: BodyWriter, pairs: Pairs, body: str, store: Store) -> None:
    """The entries of one row: `store(value, ancestor)` for the body itself and each ancestor."""

    def visit(counter: Counter, there: str) -> None:
        plain, names = body_leaf(w, there), list(counter.phis)
        results = run(w, pairs.code, lambda what: names[what[1]] if what[0] == "walk" else plain(what))
        counter.fed = {name: w.operand(x) for name, x in zip(names, results[:-1], strict=True)}
        store(w.operand(results[-1]), there)

    walk_up(w, body, visit, [value_of(w, body, x) for x in pairs.start])


def add_diagonal(w: BodyWriter, pairs: Pairs | Columns, body: str, place: str) -> None:
    """Complete an entry of the diagonal: what stands there instead, and what is added."""
    if pairs.instead is not None:
        w.save(value_of(w, body, pairs.instead), place)
    if pairs.diagonal != 0.0 or isinstance(pairs.diagonal, int):
        w.save(w.binary("fadd", w.fetch(place), value_of(w, body, pairs.diagonal)), place)


def keep_summed(w: BodyWriter, pairs: Pairs | Columns) -> None:
    """Keep the matrix over degrees of freedom."""

    def fill(add: Add) -> None:
        loop = w.open(w.program.n)
        body = loop.index
        if isinstance(pairs, Columns):

            def store(value: str, there: str) -> None:
                below, v = w.put(f"icmp sge i64 {there}, {body}"), w.vector
                add(w.put(f"select i1 {below}, {v} {value}, {v} zeroinitializer"), body, there)

            one_column(w, pairs, body, store)
        else:
            walk(w, pairs, body, lambda value, there: add(value, body, there))
        if pairs.diagonal != 0.0 or isinstance(pairs.diagonal, int):
            add_on_diagonal(w, body, value_of(w, body, pairs.diagonal))
        w.close(loop)

    summed_entries(w, fill)


# ------------------------------------------------------------------- a matrix in the output


def matrix_text(w: BodyWriter, stage: MatrixOut) -> None:
    """Write the matrix to the output."""
    pairs = stage.pairs
    if w.program.joints is not None:
        keep_summed(w, pairs)
        return summed_matrix_out(w)

    def entries(body: str, store: Store) -> None:
        if isinstance(pairs, Columns):
            one_column(w, pairs, body, store)
        else:
            walk(w, pairs, body, store)

    shape = "rows"
    if isinstance(pairs, Columns):
        shape = pairs.shape
        keep_pairs(w, pairs)
    return strips_out(w, shape, entries, lambda body, place: add_diagonal(w, pairs, body, place))
