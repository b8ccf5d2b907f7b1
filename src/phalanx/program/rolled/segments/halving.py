# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sweeps over the links of a chain that is cut into segments: neighbours, and halving.

Halving joins neighbouring parts in any order. In segments, each lane joins the links of its segment one after
another, then the runs of all segments are joined along the chain; back-substitution goes the other way. Each
link is eliminated once, as where every second link is, and all lanes are busy all the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....errors import PhalanxError
from ....spatial import Array
from ....sweeps.links import Halving, Level, LinkSweeps
from ..sweeps.elimination import Keys, classes, settled, split
from ..sweeps.indexing import chosen, each, rebuilt, scalars
from ..sweeps.links import OneLink
from ..sweeps.order import Rolled

if TYPE_CHECKING:
    from .roll import WholeChain


class CutLinks(LinkSweeps):
    """The links of a chain in segments; each joint has one body."""

    def __init__(self, order: WholeChain) -> None:
        self.order = order

    def at_links(self, x: Any, rank: int = 1) -> Any:
        return x

    def spread(self, x: Array) -> Array:
        return x

    def joined(self, join: Callable[..., Any], x: Any, *along: Any) -> Any:
        return x

    def parent(self, x: Array, rank: int = 1, *, first: Array = None) -> Array:
        return self.order.link_before(_as_vectors(x, rank), first).reshape(x.shape)

    def children(self, x: Array, rank: int = 1) -> Array:
        return self.order.link_behind(_as_vectors(x, rank)).reshape(x.shape)

    def _refuse(self, *_: Any) -> Any:
        raise PhalanxError("segments: rows one after another are not cut; leave `batch` out.")

    def backward(self, step: Callable[[Any, Any], tuple[Any, Any]], rows: Any, beyond: Any) -> Any:
        return self._refuse()

    def forward(self, step: Callable[[Any, Any], Any], rows: Any, first: Any) -> Any:
        return self._refuse()

    def levels(self, step: Callable[[Level, Any], Any], rows: Any) -> Any:
        return OneLink(self.order.parts.links).levels(step, rows)

    # ------------------------------------------------------------------ halving

    def halved(self, how: Halving, own: Any, *, load: Any = None, world: Array = None) -> Array:
        parts, inner, chain = self.order.parts, self.order.parts.links, self.order.parts.chain
        links = own if how.alone is None else how.alone(load, own)
        # Inside segments: the run from the first link of a segment to each of its links.
        runs = _Runs(inner, how, links, self.order.heads, self.order.fills)
        first = parts.first(links)
        ends = rebuilt(links, runs.ends(scalars(first), scalars(parts.last(runs.run))))
        if how.follow is not None:
            ends = how.follow(ends, chain.parent(parts.last(runs.gone), None))
        # Along segments: the run from the first segment to each one.
        head = chain.graph.at_body(0)
        along = _Runs(chain, how, ends, head)
        last = parts.count - 1
        closed = along.ends((chain.pick_of(x, 0) for x in scalars(first)), _picked(chain, along.run, last))
        _, stored = how.close(rebuilt(ends, closed)[0])
        base = (stored if how.enter is None else how.enter(stored, world))[None]
        f, _ = how.sides(rebuilt(first, _picked(chain, first, 0)), base)
        x, beyond = _unfolded(chain, how, first, along.between, f, None, (head, base))
        # And back.
        f, _ = how.sides(first, x)
        known = (self.order.heads, parts.spread(x))
        f, beyond = parts.spread(f), parts.spread(beyond)
        found, _ = _unfolded(inner, how, links, runs.between, f, beyond, known, self.order.fills)
        return found


def _as_vectors(x: Array, rank: int) -> Array:
    return x.reshape((*x.shape[: x.ndim - rank], -1))


def _picked(order: Rolled, x: Any, body: int) -> list[Any]:
    return [order.pick_of(value, body) for value in scalars(x)]


class _Runs:
    """Parts joined one after another.

    `run` is what all parts up to each one are joined to, `between` what lies between the run before and the
    part, and `gone` the same once more, zero for the first part. Parts of `fills` leave everything as it is.
    """

    def __init__(self, order: Rolled, how: Halving, parts: Any, heads: Any, fills: Any = 0.0) -> None:
        self.order, self.how, self.parts, self.heads, self.fills = order, how, parts, heads, fills
        self.phase, self.first = order._opened(parts, outward=True), len(order.carries)
        self.kept: list[bool] = []  # whether a scalar of the run is that of its first part
        like = None if how.follow is None else how.join(parts, parts)[1]
        keys = classes(parts) if like is None else classes(parts) + _apart(classes(like))
        self.run, self.gone, self.between = settled(keys, lambda keys: self._joined(like, keys))

    def _joined(self, like: Any, keys: Keys) -> tuple[Keys, Any]:
        order, how, graph = self.order, self.how, self.order.graph
        del order.carries[self.first :]
        carries = {key: order.carry(self.phase) for key in dict.fromkeys(keys)}
        leaves = [order.leaf_of(carries[key]) for key in keys]
        size = len(self.kept) or sum(1 for _ in scalars(self.parts))
        before = rebuilt(self.parts, leaves[:size])
        row, gone = self.parts, None
        if how.follow is not None:
            gone = rebuilt(like, leaves[size:])
            row = how.follow(row, gone)
        whole, between = how.join(before, row)
        whole = whole if how.precede is None else how.precede(whole, between)
        self.kept = [a is b for a, b in zip(scalars(whole), scalars(before), strict=True)]
        run = chosen(graph, self.fills, before, chosen(graph, self.heads, self.parts, whole))
        made = list(scalars(run))
        if gone is not None:
            left = chosen(graph, self.heads, each(between, lambda _: 0.0), between)
            gone = chosen(graph, self.fills, gone, left)
            made += scalars(gone)
        results = [*scalars(whole), *(scalars(between) if gone is not None else ())]
        again = split(split(keys, results), [*scalars(self.parts), *([0.0] * (len(keys) - size))])
        for key, value in zip(keys, made, strict=True):
            carries[key].source = value
        return again, (run, gone, between)

    def ends(self, first: Any, last: Any) -> list[Any]:
        """The scalars of whole runs, from those of their first and of their last parts."""
        return [a if kept else b for kept, a, b in zip(self.kept, first, last, strict=True)]


def _apart(keys: Keys) -> Keys:
    """Keys of their own, equal to no other key."""
    return [("gone", key) for key in keys]


def _unfolded(
    order: Rolled,
    how: Halving,
    parts: Any,
    between: Any,
    f: Any,
    beyond: Any,
    known: tuple[Any, Any],
    fills: Any = 0.0,
) -> tuple[Any, Any]:
    """The value before each part, and what that beyond it does to it; from the last part to the first.

    `f` is what the value before the first part does to it, `beyond` what arrives at the last part, and
    `known` a mask with the value where it is one.
    """
    graph, (heads, base) = order.graph, known
    like = how.sides(parts, base)[1] if beyond is None else beyond
    phase = order._opened(parts, between, f, base, beyond, outward=False)
    arrived, carries = order._carried(like, phase, beyond)
    x = chosen(graph, heads, base, how.inside(between, f, arrived))
    _, g = how.sides(parts, x)
    order.close(carries, chosen(graph, fills, arrived, g))
    return x, arrived
