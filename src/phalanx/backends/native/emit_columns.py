# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices over bodies whose columns, or rows, are computed one at a time by loops over pairs of bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.rolled import Columns, Loop
from .emit_loops import Counter, LoopWriter, body_leaf, run

Store = Callable[[str, str], None]


def one_column(w: LoopWriter, columns: Columns, outer: str, store: Store) -> None:
    """The loops of the column (or row) `outer`; `store(value, body)` gets each of its entries."""
    n = str(w.program.n)
    w.region("column", w.program.n * columns.slots)
    first, end = {"columns": (outer, n), "rows": ("0", w.plus(outer, 1)), "square": ("0", n)}[columns.shape]
    for loop in columns.loops:
        _inner(w, columns, loop, outer, (first, end), store)


def _inner(
    w: LoopWriter, columns: Columns, loop: Loop, outer: str, reach: tuple[str, str], store: Store
) -> None:
    """One pass over the pairs of a column."""
    roots = {k: w.root(r) for k, r in (loop.roots or {}).items()}
    carries = _Carries(w, loop, roots) if w.program.parents is not None else None
    counter = w.open_between(*reach, down=not loop.outward)
    carried: dict[int, str] = {}
    if carries is None:
        carried = {t[1]: w.phi(counter, roots[t[1]]) for t in loop.targets if t[0] == "carry"}
    results = run(w, loop.code, _leaf(w, columns, outer, counter, carried, carries))
    for value, (kind, *more) in zip(results, loop.targets, strict=True):
        if kind == "carry" and carries is None:
            counter.fed[carried[more[0]]] = w.operand(value)
        elif kind == "carry" and carries is not None:
            carries.pass_on(counter.index, more[0], value)
        elif kind == "save":
            w.save(value, w.at("column", w.scaled(counter.index, columns.slots), more[0]))
        elif kind == "keep":
            w.save(value, _kept(w, columns, counter.index, outer, more[0]))
        else:
            store(w.operand(value), counter.index)
    w.close(counter)


class _Carries:
    """What pairs of a tree hand to the pairs of their parent or children, in scratch memory."""

    def __init__(self, w: LoopWriter, loop: Loop, roots: dict[int, str]) -> None:
        self.w, self.outward = w, loop.outward
        numbers = [t[1] for t in loop.targets if t[0] == "carry"]
        self.places = {number: k for k, number in enumerate(numbers)}
        # As large as any loop may need.
        w.region("column carried", (w.program.n + 1) * max(len(roots), 32))
        assert len(numbers) <= 32
        if not loop.outward and numbers:
            w.clear("column carried", (w.program.n + 1) * len(numbers))
        elif loop.outward:
            for number, place in self.places.items():
                w.save(roots[number], w.at("column carried", "0", place))

    def _at(self, body: str, number: int, *, own: bool) -> str:
        w = self.w
        row = w.put(f"add i64 {body}, 1") if own else w.slot_of_parent(body)
        return w.at("column carried", w.scaled(row, len(self.places)), self.places[number])

    def read(self, body: str, number: int) -> str:
        return self.w.fetch(self._at(body, number, own=not self.outward))

    def pass_on(self, body: str, number: int, value: str | float) -> None:
        place = self._at(body, number, own=self.outward)
        self.w.save(value if self.outward else self.w.binary("fadd", self.w.fetch(place), value), place)


def _leaf(
    w: LoopWriter,
    columns: Columns,
    outer: str,
    counter: Counter,
    carried: dict[int, str],
    carries: _Carries | None,
) -> Callable[[tuple[Any, ...]], str | float]:
    """What a pair finds: of its row, of its column, and of its own."""
    inner = counter.index
    row, column = (outer, inner) if columns.shape == "rows" else (inner, outer)
    of = {"row": body_leaf(w, row), "column": body_leaf(w, column)}

    def leaf(what: tuple[Any, ...]) -> str | float:
        kind, *more = what
        if kind == "carry":
            return carried[more[0]] if carries is None else carries.read(inner, more[0])
        if kind == "delta":
            return w.where_equal(inner, outer)
        if kind in ("load", "load diagonal"):
            at = inner if kind == "load" else outer
            return w.fetch(w.at("column", w.scaled(at, columns.slots), more[0]))
        if kind == "common":
            return of["row"](what)
        if kind == "sum":
            return _sum(w, columns, more[0], (row, column), leaf)
        name, side = kind.split()
        return of[side]((name, *more))

    return leaf


# ------------------------------------------------------------------- sums over further bodies


def keep_pairs(w: LoopWriter, columns: Columns) -> None:
    """Save what sums need of other pairs."""
    if columns.kept is None:
        return
    n, count = w.program.n, sum(t[0] == "keep" for loop in columns.kept.loops for t in loop.targets)
    w.region("pairs", n * (n + 1) // 2 * count)
    loop = w.open(n)
    one_column(w, columns.kept, loop.index, lambda value, body: None)
    w.close(loop)


def _kept(w: LoopWriter, columns: Columns, row: str, column: str, number: int) -> str:
    """The place of a saved value of a pair of a chain."""
    count = sum(t[0] == "keep" for loop in columns.loops for t in loop.targets)
    above = w.put(f"mul i64 {row}, {w.plus(row, 1)}")
    place = w.plus(w.put(f"lshr i64 {above}, 1"), column)
    return w.at("pairs", w.scaled(place, count), number)


def _sum(
    w: LoopWriter,
    columns: Columns,
    number: int,
    pair: tuple[str, str],
    around: Callable[[tuple[Any, ...]], str | float],
) -> str:
    """A sum over the bodies from the row of a pair on."""
    row, column = pair
    counter = w.open_between(row, str(w.program.n))
    so_far = w.phi(counter, w.operand(0.0))
    there = body_leaf(w, counter.index)

    def leaf(what: tuple[Any, ...]) -> str | float:
        kind, *more = what
        if kind == "so far":
            return so_far
        if kind == "kept":
            assert columns.kept is not None
            side = row if more[0] == "row" else column
            return w.fetch(_kept(w, columns.kept, counter.index, side, more[1]))
        if kind.endswith("third"):
            return there((kind.split()[0], *more))
        return around(what)

    counter.fed[so_far] = w.operand(run(w, columns.sums[number], leaf)[0])
    w.close(counter)
    return counter.fed[so_far]


# ------------------------------------------------------------------- into the output

_STRIP = 4  # registers in a strip of the mirror image


def columns_out(w: LoopWriter, columns: Columns, add_diagonal: Callable[[str, str], None]) -> None:
    """Write the matrix some columns at a time, with their mirror images; scratch grows with the bodies."""
    n, many = w.program.n, _STRIP * w.lanes
    keep_pairs(w, columns)
    w.region("rows", min(many, n) * n)
    if n // many:
        loop = w.open(n // many)
        _strip(w, columns, w.scaled(loop.index, many), many, add_diagonal)
        w.close(loop)
    if n % many:
        _strip(w, columns, str(n - n % many), n % many, add_diagonal)


def _strip(
    w: LoopWriter, columns: Columns, first: str, width: int, add_diagonal: Callable[[str, str], None]
) -> None:
    """The columns of `width` bodies from `first` on."""
    n = w.program.n
    loop = w.open(width)
    outer = w.plus(loop.index, first)
    row = w.scaled(loop.index, n)

    def store(value: str, inner: str) -> None:
        w.save(value, w.at("rows", w.plus(row, inner), 0))
        if columns.shape == "square":
            return
        # Within the strip the mirror image is part of the rows, too.
        low, high = (
            (inner, w.plus(first, width)) if columns.shape == "columns" else (w.plus(first, -1), inner)
        )
        inside = w.put(f"icmp slt i64 {low}, {high}")
        mirror = w.plus(w.scaled(w.put(f"sub i64 {inner}, {first}"), n), outer)
        place = w.put(f"select i1 {inside}, i64 {mirror}, i64 {w.plus(row, inner)}")
        w.save(value, w.at("rows", place, 0))

    one_column(w, columns, outer, store)
    add_diagonal(outer, w.at("rows", w.plus(w.scaled(loop.index, n), outer), 0))
    w.close(loop)
    if columns.shape == "columns":
        begin, end, others = first, str(n), (w.plus(first, width), str(n))
    else:
        begin, end, others = "0", str(n) if columns.shape == "square" else w.plus(first, width), ("0", first)
    loop = w.open(width)
    start = w.plus(w.scaled(w.plus(loop.index, first), n), begin)
    source = w.at("rows", w.plus(w.scaled(loop.index, n), begin), 0)
    w.rows_out(source, start, w.put(f"sub i64 {end}, {begin}"), _tail(columns.shape, n, width, w.lanes))
    w.close(loop)
    if columns.shape != "square":
        _mirrored(w, first, width, others)


def _tail(shape: str, n: int, width: int, lanes: int) -> int:
    """How many entries of a row of a strip are no whole block: strips begin at whole blocks."""
    return (width if shape == "rows" else n) % lanes


def _mirrored(w: LoopWriter, first: str, width: int, others: tuple[str, str]) -> None:
    """The entries beyond the strip, as columns of other rows."""
    n, number = w.program.n, len(w.program.inputs)
    some = w.put(f"icmp slt i64 {others[0]}, {others[1]}")
    upper, done = w.new_label("upper"), w.new_label("done")
    w.do(f"br i1 {some}, label %{upper}, label %{done}")
    w.label(upper)
    loop = w.open_between(*others)
    places = [w.at("rows", loop.index, k * n) for k in range(width)]
    position = w.plus(w.scaled(loop.index, n), first)
    for k in range(0, width, w.lanes):
        base = w.put(f"getelementptr {w.element}, ptr %p{number}, i64 {w.plus(position, k)}")
        w.store_rows(base, f"%s{number}", [w.fetch(c) for c in places[k : k + w.lanes]])
    w.close(loop)
    w.do(f"br label %{done}")
    w.label(done)
