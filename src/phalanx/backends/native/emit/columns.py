# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices over bodies whose columns, or rows, are computed one at a time by loops over pairs of bodies."""

from __future__ import annotations

from typing import Any

from ....ir.rolled import Columns, Loop
from .bodies import BodyWriter, body_leaf
from .loops import Counter, Leaf, run
from .strips import Store


def one_column(w: BodyWriter, columns: Columns, outer: str, store: Store) -> None:
    """The loops of the column (or row) `outer`; `store(value, body)` gets each of its entries."""
    n = str(w.program.n)
    w.region("column", w.program.n * columns.slots)
    first, end = {"columns": (outer, n), "rows": ("0", w.plus(outer, 1)), "square": ("0", n)}[columns.shape]
    for loop in columns.loops:
        _inner(w, columns, loop, outer, (first, end), store)


def _inner(
    w: BodyWriter, columns: Columns, loop: Loop, outer: str, reach: tuple[str, str], store: Store
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

    def __init__(self, w: BodyWriter, loop: Loop, roots: dict[int, str]) -> None:
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
    w: BodyWriter,
    columns: Columns,
    outer: str,
    counter: Counter,
    carried: dict[int, str],
    carries: _Carries | None,
) -> Leaf:
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


def keep_pairs(w: BodyWriter, columns: Columns) -> None:
    """Save what sums need of other pairs."""
    if columns.kept is None:
        return
    n, count = w.program.n, sum(t[0] == "keep" for loop in columns.kept.loops for t in loop.targets)
    w.region("pairs", n * (n + 1) // 2 * count)
    loop = w.open(n)
    one_column(w, columns.kept, loop.index, lambda value, body: None)
    w.close(loop)


def _kept(w: BodyWriter, columns: Columns, row: str, column: str, number: int) -> str:
    """The place of a saved value of a pair of a chain."""
    count = sum(t[0] == "keep" for loop in columns.loops for t in loop.targets)
    above = w.put(f"mul i64 {row}, {w.plus(row, 1)}")
    place = w.plus(w.put(f"lshr i64 {above}, 1"), column)
    return w.at("pairs", w.scaled(place, count), number)


def _sum(
    w: BodyWriter,
    columns: Columns,
    number: int,
    pair: tuple[str, str],
    around: Leaf,
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
