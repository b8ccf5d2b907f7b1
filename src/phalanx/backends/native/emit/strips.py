# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices in the output of rolled code: some rows at a time, with their mirror images.

Only those rows are kept, so that scratch memory grows with the bodies, not with their square.
"""

from __future__ import annotations

from collections.abc import Callable

from .bodies import BodyWriter

Store = Callable[[str, str], None]  # of a value, with another body

_STRIP = 4  # registers in a strip of the mirror image: narrow strips touch too many lines of cache


def strips_out(
    w: BodyWriter, shape: str, entries: Callable[[str, Store], None], add_diagonal: Callable[[str, str], None]
) -> None:
    """Write a matrix. `entries(body, store)` makes those of a body with others: "columns" with bodies from
    itself on, "rows" up to itself, "square" all; `add_diagonal(body, place)` completes the one with itself.
    """
    n, many = w.program.n, _STRIP * w.lanes
    w.region("rows", min(many, n) * n)

    def strip(first: str, width: int) -> None:
        _keep(w, shape, first, width, entries, add_diagonal)
        _rows_out(w, shape, first, width)
        if shape != "square":
            _mirrored(w, shape, first, width)

    w.in_blocks(n, many, strip)


def _keep(
    w: BodyWriter,
    shape: str,
    first: str,
    width: int,
    entries: Callable[[str, Store], None],
    add_diagonal: Callable[[str, str], None],
) -> None:
    """Keep the entries of `width` bodies from `first` on."""
    n = w.program.n
    if shape == "rows" and w.program.parents is not None:
        w.clear("rows", width * n)  # no entries with bodies of other branches
    loop = w.open(width)
    body = w.plus(loop.index, first)
    row = w.scaled(loop.index, n)

    def store(value: str, other: str) -> None:
        w.save(value, w.at("rows", w.plus(row, other), 0))
        if shape == "square":
            return
        # Within the strip the mirror image is part of the rows, too.
        inside = w.put(
            f"icmp sge i64 {other}, {first}"
            if shape == "rows"
            else f"icmp slt i64 {other}, {w.plus(first, width)}"
        )
        mirror = w.plus(w.scaled(w.put(f"sub i64 {other}, {first}"), n), body)
        place = w.put(f"select i1 {inside}, i64 {mirror}, i64 {w.plus(row, other)}")
        w.save(value, w.at("rows", place, 0))

    entries(body, store)
    add_diagonal(body, w.at("rows", w.plus(row, body), 0))
    w.close(loop)


def _rows_out(w: BodyWriter, shape: str, first: str, width: int) -> None:
    """Write the rows of a strip, as far as they are known."""
    n = w.program.n
    loop = w.open(width)
    start, source = w.scaled(w.plus(loop.index, first), n), w.scaled(loop.index, n)
    if shape == "columns":
        start, source = w.plus(start, first), w.plus(source, first)
    source = w.at("rows", source, 0)
    if shape == "rows":
        count, tail = w.plus(first, width), width % w.lanes
    else:
        count = w.put(f"sub i64 {n}, {first if shape == 'columns' else 0}")
        tail = n % w.lanes  # strips begin at whole blocks
    w.rows_out(source, start, count, tail)
    w.close(loop)


def _mirrored(w: BodyWriter, shape: str, first: str, width: int) -> None:
    """Write the entries beyond the strip as columns of other rows."""
    n, number = w.program.n, len(w.program.inputs)
    begin, end = ("0", first) if shape == "rows" else (w.plus(first, width), str(n))
    if begin == end:
        return
    with w.only_if(w.put(f"icmp sgt i64 {end}, {begin}")):
        loop = w.open_between(begin, end)
        columns = [w.at("rows", loop.index, k * n) for k in range(width)]
        position = w.plus(w.scaled(loop.index, n), first)
        for k in range(0, width, w.lanes):
            base = w.put(f"getelementptr {w.element}, ptr %p{number}, i64 {w.plus(position, k)}")
            w.store_rows(base, f"%s{number}", [w.fetch(c) for c in columns[k : k + w.lanes]])
        w.close(loop)
