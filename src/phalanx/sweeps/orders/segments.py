# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A chain cut into segments: their links side by side, and the segments one after another.

Algorithms that name segments sweep inside and along them. `CutChain` runs any other algorithm in segments:
each sweep runs inside every segment from the identity, then along the segments, then inside again from the
value that enters each segment.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import PhalanxError
from ...spatial import Array, Field, Identity, Tensor, Transform
from ..verbs import Order, Segments
from .sequential import Sequential
from .slots import Bodies, Slots, lift, size, take

_MOST = 8  # segments at once, by default: as many as lanes of the widest register
_LEAST = 16  # bodies in each of them: shorter ones cost more than they save, and digits
# From _SHARED bodies on there are twice as many segments, and again for each further _EACH bodies: cores
# can share them, and one core takes no longer. With fewer bodies it would: 4 % with 4096, 7 % with 2048, a
# quarter with 1000 (forward dynamics, AMD EPYC with AVX-512). Beyond 1500 bodies of a segment the effect of
# its tip at its base is a subnormal number, which is slow.
_SHARED, _EACH = 10_000, 10_240


def starts(ends: Bodies, count: int | None) -> Bodies:
    """The first body of each of `count` segments (at most one for each link), given the last of each link.

    Lengths differ by one, or by the bodies of a joint: where a joint both slides and rotates, segments
    that end between its massless bodies lose a digit or two.
    """
    n = int(ends[-1]) + 1 if len(ends) else 0
    if count is None:
        count = min(_MOST, n // _LEAST) if n < _SHARED else 2 * _MOST * -(-n // _EACH)
    count = max(1, min(count, len(ends)))
    heads = np.append(0, ends[:-1] + 1)
    even = np.arange(count) * n // count
    return np.unique(heads[np.searchsorted(heads, even, side="right") - 1])


def cut(order: Sequential, count: int | None, ends: Bodies) -> Segments:
    """The segments of a chain that is swept in an order on arrays."""
    if not order.is_chain:
        raise PhalanxError("segments: only an unbranched chain is cut into segments; a tree has branches.")
    return ArraySegments(order, starts(ends, count))


class ArraySegments(Segments):
    """Segments of fields that are arrays over all links."""

    def __init__(self, order: Sequential, heads: Bodies) -> None:
        n, self.count = order.n, len(heads)
        self.heads, self.ends = heads, np.append(heads[1:], n) - 1
        self.of = np.searchsorted(heads, np.arange(n), side="right") - 1
        parents = np.arange(-1, n - 1)
        parents[heads] = -1
        self.links = WithinSegments(order.among(parents, np.arange(n)), heads, self.ends)
        self.chain = order.among(np.arange(-1, len(heads) - 1), self.ends)

    def first(self, x: Any) -> Any:
        return take(x, self.heads)

    def last(self, x: Any) -> Any:
        return take(x, self.ends)

    def spread(self, x: Any) -> Any:
        return take(x, self.of)


class SegmentSweeps(Order):
    """The sweeps inside segments; root and tip are values for each segment."""

    @abstractmethod
    def accumulate_from(self, X: Any, c: Any, tips: Any) -> tuple[Any, Any]:
        """y_i = c_i + X_j^T y_j of the next link j, and X_i^T y_i; `tips` arrives at last links."""

    @abstractmethod
    def scan_from(
        self, join: Callable[[Any, Any], Any], elements: Any, root: Any, reverse: bool, *, all_rooted: bool
    ) -> Any:
        """A scan of each segment; unless `all_rooted`, the segment where the chain begins has no root."""


class WithinSegments(SegmentSweeps):
    """The sweeps that are defined inside segments, on a forest: first links of segments hang on the world."""

    def __init__(self, forest: Sequential, heads: Bodies, ends: Bodies) -> None:
        self.forest, self.heads, self.ends = forest, heads, ends

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        if root is not None and size(root) > 1:
            if c is None and isinstance(root, Field):
                return self.scan_from(
                    lambda before, own: own @ before, X, root, reverse=False, all_rooted=True
                )
            first = X[self.heads] @ root
            start = Slots(self.forest.n, None, start=c)
            if c is None:
                start = Slots(self.forest.n, None)
                start.set(self.heads, first)
            else:
                start.add(self.heads, first)
            c, root = start.all(), None
        elif root is not None:
            root = root[0] if isinstance(root, Field) else root[..., 0, :]
        return self.forest.propagate(X, c, root, through, plus)

    def accumulate(self, X: Any, c: Any) -> Any:
        return self.forest.accumulate(X, c)

    def accumulate_from(self, X: Any, c: Any, tips: Any) -> tuple[Any, Any]:
        if tips is not None:
            slots = Slots(self.forest.n, None, start=c)
            slots.add(self.ends, tips)
            c = slots.all()
        y = self.forest.accumulate(X, c)
        return y, X.T @ y

    def fold(self, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]) -> Any:
        return self.forest.fold(step, state, local)

    def fold_from(
        self, tips: Any, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]
    ) -> Any:
        started = []
        for own, tip in zip(state, tips, strict=True):
            slots = Slots(self.forest.n, None, start=own)
            slots.add(self.ends, tip)
            started.append(slots.all())
        return self.forest.fold(step, tuple(started), local)

    def scan_from(
        self, join: Callable[[Any, Any], Any], elements: Any, root: Any, reverse: bool, *, all_rooted: bool
    ) -> Any:
        values = Slots(self.forest.n, None, start=elements)
        step, begin, end = (-1, self.ends, self.heads) if reverse else (1, self.heads, self.ends)

        def joined(known: Any, bodies: Bodies) -> None:
            own = values.get(bodies)
            self.forest.visit(bodies)
            values.set(bodies, join(own, known) if reverse else join(known, own))

        if root is not None:
            rooted = np.arange(len(begin))
            if not all_rooted:
                rooted = rooted[:-1] if reverse else rooted[1:]
            if len(rooted):
                joined(take(root, rooted), begin[rooted])
        for k in range(1, int(np.abs(end - begin).max()) + 1):
            bodies = begin[np.abs(end - begin) >= k] + step * k
            joined(values.get(bodies - step), bodies)
        self.forest.leave()
        return values.all()

    def parent(self, x: Array, root: Any) -> Array:
        values = Slots(self.forest.n, None, start=self.forest.parent(x, None))
        if root is not None:
            values.set(self.heads, root)
        return values.all()

    def children(self, x: Any, tip: Any) -> Any:
        values = Slots(self.forest.n, None, start=self.forest.children(x, None))
        if tip is not None:
            values.set(self.ends, tip)
        return values.all()

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise PhalanxError("segments: inside, there are the sweeps propagate, accumulate, fold and parent.")

    pairs = scan = paths = relay = pick = total = eliminate = substitute = _refuse


# ------------------------------------------------------------------- any algorithm in segments


class CutPaths:
    """The operator from each link's ancestors, applied in segments."""

    def __init__(self, order: CutChain, X: Any, *, back: bool = False) -> None:
        self.order, self.X, self.back = order, X, back

    def __matmul__(self, c: Any) -> Any:
        if self.back:
            return self.order.accumulate(self.X, c)
        return self.order.propagate(self.X, c, None, None, None)

    @property
    def T(self) -> CutPaths:
        return CutPaths(self.order, self.X, back=not self.back)


class CutChain(Order):
    """The sweeps over a whole chain, each computed inside and along its segments.

    The first pass runs each segment from the identity, the second from the value before it (or beyond it).
    """

    parts: Segments

    def __init__(self, parts: Segments) -> None:
        self.parts = parts
        self._products: list[tuple[Any, Any]] = []  # operators, and their products over each segment

    @property
    def inside(self) -> SegmentSweeps:
        """The sweeps inside segments."""
        assert isinstance(self.parts.links, SegmentSweeps)
        return self.parts.links

    def product(self, step: Any) -> Any:
        """The product of operators over the links of each segment."""
        for known, product in self._products:
            if known is step or (type(known) is type(step) and self.is_same(known, step)):
                return product
        made = self.parts.last(self.inside.propagate(step, None, lift(_unit(step)), None, None))
        self._products.append((step, made))
        return made

    def is_same(self, a: Any, b: Any) -> bool:
        """Whether two operators are known to be equal."""
        return all(x is y for (x, _), (y, _) in zip(a.arrays(), b.arrays(), strict=True))

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        parts = self.parts
        product = self.product(_linear(X, through))
        own = None
        if c is not None or plus is not None:
            own = parts.last(self.inside.propagate(X, c, None, through, plus))
        ends = parts.chain.propagate(product, own, root, None, None)
        return self.inside.propagate(X, c, parts.chain.parent(ends, root), through, plus)

    def accumulate(self, X: Any, c: Any) -> Any:
        parts = self.parts
        _, up = self.inside.accumulate_from(X, c, None)
        beyond = parts.chain.fold(_passed_on, (_zero(parts.first(up)),), (self.product(X), parts.first(up)))
        y, _ = self.inside.accumulate_from(X, c, beyond[0])
        return y

    def scan(self, join: Callable[[Any, Any], Any], elements: Any, root: Any, reverse: bool) -> Any:
        parts, chain, inside = self.parts, self.parts.chain, self.inside
        unit = self.identity(join, elements, reverse)
        start = None if unit is None else lift(unit)
        runs = inside.scan_from(join, elements, start, reverse, all_rooted=True)
        root = unit if root is None else root
        ends = chain.scan(join, parts.first(runs) if reverse else parts.last(runs), root, reverse)
        known = chain.children(ends, root) if reverse else chain.parent(ends, root)
        return inside.scan_from(join, elements, known, reverse, all_rooted=root is not None)

    def identity(self, join: Callable[[Any, Any], Any], elements: Any, reverse: bool) -> Any:
        """The identity element of a join, None if it is not known."""
        return None

    def paths(self, X: Any) -> CutPaths:
        return CutPaths(self, X)

    def parent(self, x: Array, root: Any) -> Array:
        before = self.parts.chain.parent(self.parts.last(x), root)
        return self.inside.parent(x, before)

    def children(self, x: Any, tip: Any) -> Any:
        beyond = self.parts.chain.children(self.parts.first(x), tip)
        return self.inside.children(x, beyond)

    def pick(self, x: Any, body: int) -> Any:
        return x[body] if isinstance(x, Field) else x[..., body, :]

    def total(self, values: Array) -> Array:
        sums, _ = self.inside.accumulate_from(Identity(), values[..., None], None)
        return self.parts.chain.total(self.parts.first(sums)[..., 0])

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise PhalanxError(
            "segments: only linear and associative sweeps run in segments of one state; leave `batch` out."
        )

    fold = pairs = relay = eliminate = substitute = _refuse


def _passed_on(state: Any, product: Any, own: Any) -> Any:
    """A fold step: the value that arrives at the tip of a segment; it passes it on with its own."""
    (arrived,) = state
    return (product.T @ arrived + own,), (arrived,)


def _linear(X: Any, through: Any) -> Any:
    """The operator on the value before a link."""
    if through is None:
        return X
    if isinstance(X, Identity):
        return through
    raise PhalanxError("segments: no product of these two operators; leave `batch` out.")


def _unit(operator: Any) -> Any:
    """The identity operator of one link, of the same type."""
    if isinstance(operator, Transform):
        shape, dtype = operator.r.shape[:-2], operator.r.dtype
        E, r = np.eye(3).astype(dtype), np.zeros(3).astype(dtype)
        return Transform(np.broadcast_to(E, (*shape, 3, 3)), np.broadcast_to(r, (*shape, 3)))
    if isinstance(operator, Tensor):
        matrix = operator.matrix
        unit = np.eye(matrix.shape[-1]).astype(matrix.dtype)
        return Tensor(np.broadcast_to(unit, (*matrix.shape[:-3], *unit.shape)))
    raise PhalanxError(f"segments: no product of operators {type(operator).__name__}; leave `batch` out.")


def _zero(x: Any) -> Any:
    return x.map(lambda array, _: array * 0.0) if isinstance(x, Field) else x * 0.0
