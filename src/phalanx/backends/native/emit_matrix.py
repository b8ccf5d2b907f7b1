# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices over bodies in rolled code: walks along ancestors, the sparse factor and its solutions.

A row of a matrix that is kept holds one entry per ancestor, by depth: the rows of a body and of
its ancestors then lie side by side entry by entry, and nothing is stored between branches.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir.rolled import Factor, InverseOut, MatrixOut, Pairs, RolledProgram, Solve
from .emit_loops import Counter, LoopWriter, body_leaf, run


def _depth(program: RolledProgram) -> np.ndarray:
    """Number of ancestors of each body."""
    if program.parents is None:
        return np.arange(program.n)
    depth = np.zeros(program.n, dtype=np.int64)
    for i, p in enumerate(program.parents.tolist()):
        depth[i] = 0 if p < 0 else depth[p] + 1
    return depth


def _row(w: LoopWriter, body: str) -> str:
    """Where the row of a body starts among the packed entries."""
    starts = np.cumsum(_depth(w.program) + 1) - (_depth(w.program) + 1)
    return w.integer("row", starts, body)


def _depth_of(w: LoopWriter, body: str) -> str:
    return w.integer("depth", _depth(w.program), body)


def _value(w: LoopWriter, body: str, kept: int | float) -> str:
    """A constant, or what a slot holds at a body."""
    if isinstance(kept, float):
        return w.operand(kept)
    return w.fetch(w.at("slots", w.scaled(body, w.program.slots), kept))


# ------------------------------------------------------------------- walks


def _up(w: LoopWriter, first: str, visit: Callable[[Counter, str], None], phis: list[str]) -> Counter:
    """Walk from a body to the root; `visit(counter, body)` feeds the vectors that go along."""
    counter = w.open_walk(first)
    for start in phis:
        w.phi(counter, start)
    visit(counter, counter.index)
    w.close_walk(counter, w.parent(counter.index))
    return counter


def _walk(w: LoopWriter, pairs: Pairs, body: str, store: Callable[[str, str], None]) -> None:
    """The entries of one row: `store(value, ancestor)` for the body itself and each ancestor."""

    def visit(counter: Counter, there: str) -> None:
        plain, names = body_leaf(w, there), list(counter.phis)
        results = run(w, pairs.code, lambda what: names[what[1]] if what[0] == "walk" else plain(what))
        counter.fed = {name: w.operand(x) for name, x in zip(names, results[:-1], strict=True)}
        store(w.operand(results[-1]), there)

    _up(w, body, visit, [_value(w, body, x) for x in pairs.start])


def _add_diagonal(w: LoopWriter, pairs: Pairs, body: str, place: str) -> None:
    if pairs.diagonal != 0.0 or isinstance(pairs.diagonal, int):
        w.save(w.binary("fadd", w.fetch(place), _value(w, body, pairs.diagonal)), place)


# ------------------------------------------------------------------- a matrix in the output


_STRIP = 4  # registers in a strip of the mirror image: narrow strips touch too many lines of cache


def matrix_text(w: LoopWriter, stage: MatrixOut) -> None:
    """Write the matrix some rows at a time, with their mirror images.

    Only those rows are kept, so that scratch memory grows with the bodies, not their square.
    """
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

    _walk(w, pairs, body, store)
    _add_diagonal(w, pairs, body, w.at("rows", w.plus(row, body), 0))
    w.close(loop)
    loop = w.open(width)
    start = w.scaled(w.plus(loop.index, first), n)
    _rows_out(w, w.at("rows", w.scaled(loop.index, n), 0), start, w.plus(first, width), width % w.lanes)
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


def _rows_out(w: LoopWriter, row: str, position: str, count: str, tail: int, step: int = 1) -> None:
    """Write `count` vectors, `step` apart from address `row`, to the output; `tail` are no whole block."""
    number, lanes = len(w.program.inputs), w.lanes

    def block(start: str, width: int) -> None:
        base = w.put(f"getelementptr {w.element}, ptr %p{number}, i64 {w.plus(position, start)}")
        first = w.put(f"getelementptr {w.vector}, ptr {row}, i64 {w.scaled(start, step)}")
        places = [w.put(f"getelementptr {w.vector}, ptr {first}, i64 {k * step}") for k in range(width)]
        w.store_rows(base, f"%s{number}", [w.fetch(place) for place in places])

    whole = w.put(f"udiv i64 {count}, {lanes}")
    some = w.put(f"icmp ne i64 {whole}, 0")
    blocks, rest = w.new_label("blocks"), w.new_label("rest")
    w.do(f"br i1 {some}, label %{blocks}, label %{rest}")
    w.label(blocks)
    loop = w.open(whole)
    block(w.scaled(loop.index, lanes), lanes)
    w.close(loop)
    w.do(f"br label %{rest}")
    w.label(rest)
    if tail:
        block(w.put(f"mul i64 {whole}, {lanes}"), tail)


# ------------------------------------------------------------------- the factor


def factor_text(w: LoopWriter, stage: Factor) -> None:
    """Keep the matrix of a walk and factor it in place: M = L^T D L, with 1/D on the diagonal."""
    w.region("matrix", int((_depth(w.program) + 1).sum()))
    loop = w.open(w.program.n)
    body = loop.index
    row = _row(w, body)

    def store(value: str, there: str) -> None:
        w.save(value, w.at("matrix", w.plus(row, _depth_of(w, there)), 0))

    _walk(w, stage.pairs, body, store)
    _add_diagonal(w, stage.pairs, body, w.at("matrix", w.plus(row, _depth_of(w, body)), 0))
    w.close(loop)
    loop = w.open(w.program.n, down=True)
    body = loop.index
    row = _row(w, body)
    place = w.at("matrix", w.plus(row, _depth_of(w, body)), 0)
    inverse = w.binary("fdiv", 1.0, w.fetch(place))
    w.save(inverse, place)
    _each_ancestor(w, body, lambda there: _eliminate(w, row, inverse, there))
    w.close(loop)


def _eliminate(w: LoopWriter, row: str, inverse: str, there: str) -> None:
    """Take a body's row, scaled, off the row of one of its ancestors."""
    own, depth = _row(w, there), _depth_of(w, there)
    place = w.at("matrix", w.plus(row, depth), 0)
    scaled = w.binary("fmul", w.fetch(place), inverse)
    minus = w.neg(scaled)
    loop = w.open(w.plus(depth, 1))
    target = w.at("matrix", w.plus(own, loop.index), 0)
    source = w.at("matrix", w.plus(row, loop.index), 0)
    w.save(w.multiply_add(minus, w.fetch(source), w.fetch(target)), target)
    w.close(loop)
    w.save(scaled, place)


def _each_ancestor(w: LoopWriter, body: str, visit: Callable[[str], None]) -> None:
    """Visit the ancestors of a body, nearest first; there may be none."""
    first = w.parent(body)
    some = w.put(f"icmp sge i64 {first}, 0")
    above, done = w.new_label("above"), w.new_label("done")
    w.do(f"br i1 {some}, label %{above}, label %{done}")
    w.label(above)
    _up(w, first, lambda _, there: visit(there), [])
    w.do(f"br label %{done}")
    w.label(done)


# ------------------------------------------------------------------- solutions

_TOGETHER = 4  # right-hand sides that share one pass over the factor


def solve_text(w: LoopWriter, stage: Solve) -> None:
    """Solve for one right-hand side."""
    w.region("solution", w.program.n)
    loop = w.open(w.program.n)
    w.save(_value(w, loop.index, stage.source), w.at("solution", loop.index, 0))
    w.close(loop)
    _backward(w, w.program.n, 1)
    _forward(w, 1)
    loop = w.open(w.program.n)
    value = w.fetch(w.at("solution", loop.index, 0))
    w.save(value, w.at("slots", w.scaled(loop.index, w.program.slots), stage.slot))
    w.close(loop)


def _backward(w: LoopWriter, count: int | str, width: int) -> None:
    """x_j -= L_kj x_k for the ancestors j of body k, from body `count` - 1 to the root."""
    loop = w.open(count, down=True)
    body = loop.index
    minus = [w.neg(w.fetch(w.at("solution", w.scaled(body, width), k))) for k in range(width)]
    row = _row(w, body)

    def visit(there: str) -> None:
        entry = w.fetch(w.at("matrix", w.plus(row, _depth_of(w, there)), 0))
        for k in range(width):
            place = w.at("solution", w.scaled(there, width), k)
            w.save(w.multiply_add(entry, minus[k], w.fetch(place)), place)

    _each_ancestor(w, body, visit)
    w.close(loop)


def _forward(w: LoopWriter, width: int) -> None:
    """x_k = x_k / d_k - sum over ancestors j of L_kj x_j, from the root to the tips."""
    loop = w.open(w.program.n)
    body = loop.index
    row = _row(w, body)
    diagonal = w.fetch(w.at("matrix", w.plus(row, _depth_of(w, body)), 0))
    own = [
        w.binary("fmul", diagonal, w.fetch(w.at("solution", w.scaled(body, width), k))) for k in range(width)
    ]

    def visit(counter: Counter, there: str) -> None:
        # The walk begins at the body itself, whose place still holds what must not be taken off.
        other = w.put(f"icmp ne i64 {there}, {body}")
        entry = w.fetch(w.at("matrix", w.plus(row, _depth_of(w, there)), 0))
        for k, name in enumerate(counter.phis):
            minus = w.neg(w.fetch(w.at("solution", w.scaled(there, width), k)))
            less = w.multiply_add(entry, minus, name)
            counter.fed[name] = w.put(f"select i1 {other}, {w.vector} {less}, {w.vector} {name}")

    walk = _up(w, body, visit, own)
    for k, value in enumerate(walk.fed.values()):
        w.save(value, w.at("solution", w.scaled(body, width), k))
    w.close(loop)


def inverse_text(w: LoopWriter, stage: InverseOut) -> None:
    """Write the inverse a few rows at a time: the solutions for unit vectors."""
    n = w.program.n
    w.region("solution", n * min(_TOGETHER, n))
    if n // _TOGETHER:
        loop = w.open(n // _TOGETHER)
        _inverse_rows(w, w.scaled(loop.index, _TOGETHER), _TOGETHER)
        w.close(loop)
    if n % _TOGETHER:
        _inverse_rows(w, str(n - n % _TOGETHER), n % _TOGETHER)


def _inverse_rows(w: LoopWriter, first: str, width: int) -> None:
    """Write `width` rows of the inverse from `first` on."""
    n = w.program.n
    w.clear("solution", n * width)
    for k in range(width):
        w.save(1.0, w.at("solution", w.scaled(w.plus(first, k), width), k))
    _backward(w, w.plus(first, width), width)
    _forward(w, width)
    for k in range(width):
        start = w.scaled(w.plus(first, k), n)
        _rows_out(w, w.at("solution", "0", k), start, w.plus(str(n), 0), n % w.lanes, step=width)
