# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices over bodies in rolled code: walks along ancestors, and matrices in the output.

A row of a matrix that is kept holds one entry per ancestor, by depth: the rows of a body and of
its ancestors then lie side by side entry by entry, and nothing is stored between branches.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir.rolled import Columns, MatrixOut, Pairs, RolledProgram
from .emit_columns import columns_out, one_column
from .emit_coupled import Add, add_on_diagonal, summed_entries, summed_matrix_out
from .emit_loops import Counter, LoopWriter, body_leaf, run


def depth_of_all(program: RolledProgram) -> np.ndarray:
    """Number of ancestors of each body."""
    if program.parents is None:
        return np.arange(program.n)
    depth = np.zeros(program.n, dtype=np.int64)
    for i, p in enumerate(program.parents.tolist()):
        depth[i] = 0 if p < 0 else depth[p] + 1
    return depth


def row_of(w: LoopWriter, body: str) -> str:
    """Where the row of a body starts among the packed entries."""
    starts = np.cumsum(depth_of_all(w.program) + 1) - (depth_of_all(w.program) + 1)
    return w.integer("row", starts, body)


def depth_of(w: LoopWriter, body: str) -> str:
    return w.integer("depth", depth_of_all(w.program), body)


def value_of(w: LoopWriter, body: str, kept: int | float) -> str:
    """A constant, or what a slot holds at a body."""
    if isinstance(kept, float):
        return w.operand(kept)
    return w.fetch(w.at("slots", w.scaled(body, w.program.slots), kept))


# ------------------------------------------------------------------- walks


def walk_up(w: LoopWriter, first: str, visit: Callable[[Counter, str], None], phis: list[str]) -> Counter:
    """Walk from a body to the root; `visit(counter, body)` feeds the vectors that go along."""
    counter = w.open_walk(first)
    for start in phis:
        w.phi(counter, start)
    visit(counter, counter.index)
    w.close_walk(counter, w.parent(counter.index))
    return counter


def walk(w: LoopWriter, pairs: Pairs, body: str, store: Callable[[str, str], None]) -> None:
    """The entries of one row: `store(value, ancestor)` for the body itself and each ancestor."""

    def visit(counter: Counter, there: str) -> None:
        plain, names = body_leaf(w, there), list(counter.phis)
        results = run(w, pairs.code, lambda what: names[what[1]] if what[0] == "walk" else plain(what))
        counter.fed = {name: w.operand(x) for name, x in zip(names, results[:-1], strict=True)}
        store(w.operand(results[-1]), there)

    walk_up(w, body, visit, [value_of(w, body, x) for x in pairs.start])


def add_diagonal(w: LoopWriter, pairs: Pairs | Columns, body: str, place: str) -> None:
    if pairs.instead is not None:
        w.save(value_of(w, body, pairs.instead), place)
    if pairs.diagonal != 0.0 or isinstance(pairs.diagonal, int):
        w.save(w.binary("fadd", w.fetch(place), value_of(w, body, pairs.diagonal)), place)


def keep_summed(w: LoopWriter, pairs: Pairs | Columns) -> None:
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


_STRIP = 4  # registers in a strip of the mirror image: narrow strips touch too many lines of cache


def matrix_text(w: LoopWriter, stage: MatrixOut) -> None:
    """Write the matrix some rows at a time, with their mirror images.

    Only those rows are kept, so that scratch memory grows with the bodies, not their square.
    """
    if w.program.joints is not None:
        keep_summed(w, stage.pairs)
        return summed_matrix_out(w)
    if isinstance(stage.pairs, Columns):
        columns = stage.pairs
        return columns_out(w, columns, lambda body, place: add_diagonal(w, columns, body, place))
    n, many = w.program.n, _STRIP * w.lanes
    w.region("rows", min(many, n) * n)
    if n // many:
        loop = w.open(n // many)
        _group(w, stage.pairs, w.scaled(loop.index, many), many)
        w.close(loop)
    if n % many:
        _group(w, stage.pairs, str(n - n % many), n % many)


def _group(w: LoopWriter, pairs: Pairs, first: str, width: int) -> None:
    """The rows of `width` bodies from `first` on, and the columns above them."""
    n = w.program.n
    number = len(w.program.inputs)
    if w.program.parents is not None:
        w.clear("rows", width * n)
    loop = w.open(width)
    body = w.plus(loop.index, first)
    row = w.scaled(loop.index, n)

    def store(value: str, there: str) -> None:
        w.save(value, w.at("rows", w.plus(row, there), 0))
        # Within the group the mirror image is part of the rows, too.
        inside = w.put(f"icmp sge i64 {there}, {first}")
        mirror = w.plus(w.scaled(w.put(f"sub i64 {there}, {first}"), n), body)
        place = w.put(f"select i1 {inside}, i64 {mirror}, i64 {w.plus(row, there)}")
        w.save(value, w.at("rows", place, 0))

    walk(w, pairs, body, store)
    add_diagonal(w, pairs, body, w.at("rows", w.plus(row, body), 0))
    w.close(loop)
    loop = w.open(width)
    start = w.scaled(w.plus(loop.index, first), n)
    w.rows_out(w.at("rows", w.scaled(loop.index, n), 0), start, w.plus(first, width), width % w.lanes)
    w.close(loop)
    if first == "0":
        return
    some = w.put(f"icmp sgt i64 {first}, 0")
    upper, done = w.new_label("upper"), w.new_label("done")
    w.do(f"br i1 {some}, label %{upper}, label %{done}")
    w.label(upper)
    loop = w.open(first)
    columns = [w.at("rows", loop.index, k * n) for k in range(width)]
    position = w.plus(w.scaled(loop.index, n), first)
    for k in range(0, width, w.lanes):
        base = w.put(f"getelementptr {w.element}, ptr %p{number}, i64 {w.plus(position, k)}")
        w.store_rows(base, f"%s{number}", [w.fetch(c) for c in columns[k : k + w.lanes]])
    w.close(loop)
    w.do(f"br label %{done}")
    w.label(done)
