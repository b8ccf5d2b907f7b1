# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sweeps over arrays of links: rows of a chain, and the heavy paths of a tree.

Heavy paths partition a tree into chains that hang on chains, in at most log2(n) + 1 ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ..robot.model import Model
from ..spatial import Array, Field, namespace
from ..spatial import at as taken
from .links import Halving, Level, LinkSweeps

# ------------------------------------------------------------------- rows of arrays
# `rank` is the number of component axes after the axis of rows.


def before(x: Array, rank: int = 1, *, first: Array = None, step: int = 1) -> Array:
    """The value `step` rows before each one; `first`, or zero, where there is none."""
    step = min(step, x.shape[-1 - rank])
    rows = _rows(x, rank, slice(0, -step))
    if first is None:
        return among_zeros(rows, rank, before=step)
    return together(zeros(x, rank, step) + first, rows, rank)


def after(x: Array, rank: int = 1, *, step: int = 1) -> Array:
    """The value `step` rows after each one, zero where there is none."""
    step = min(step, x.shape[-1 - rank])
    return among_zeros(_rows(x, rank, slice(step, None)), rank, after=step)


def among_zeros(x: Array, rank: int, *, before: int = 0, after: int = 0) -> Array:
    """The rows of x with `before` rows of zeros before them and `after` behind."""
    if isinstance(x, np.ndarray) and not x.dtype.hasobject:
        # Four times as fast as concatenation, and the most frequent operation of block solvers.
        axis = x.ndim - rank - 1
        count = x.shape[axis]
        found = np.zeros((*x.shape[:axis], before + count + after, *x.shape[axis + 1 :]), x.dtype)
        _rows(found, rank, slice(before, before + count))[...] = x
        return found
    x = together(zeros(x, rank, before), x, rank) if before else x
    return together(x, zeros(x, rank, after), rank) if after else x


def together(a: Any, b: Any, rank: int = 1) -> Any:
    """The rows of a, then those of b, in the batch of both."""
    if isinstance(a, Field):
        return a.zip(b, together)
    xp = namespace(a, b)
    split = [x.ndim - rank - 1 for x in (a, b)]
    if a.shape[: split[0]] == b.shape[: split[1]]:
        return xp.concatenate([a, b], axis=-1 - rank)
    batch = np.broadcast_shapes(a.shape[: split[0]], b.shape[: split[1]])
    a, b = (xp.broadcast_to(x, (*batch, *x.shape[k:])) for x, k in zip((a, b), split, strict=True))
    return xp.concatenate([a, b], axis=-1 - rank)


def beside(a: Array, b: Array) -> Array:
    """The columns of a, then those of b, in the batch of both."""
    return together(a.swapaxes(-1, -2), b.swapaxes(-1, -2)).swapaxes(-1, -2)


def woven(even: Array, odd: Array, rank: int = 1) -> Array:
    """The rows of both interleaved, beginning with `even`."""
    count = even.shape[-1 - rank] + odd.shape[-1 - rank]
    index = np.arange(count)
    source = np.where(index % 2 == 0, index // 2, (count + 1) // 2 + index // 2)
    return _rows(together(even, odd, rank), rank, source)


def _rows(x: Array, rank: int, which: Any) -> Array:
    return x[(..., which, *(slice(None),) * rank)]


def count(field: Field) -> int:
    """How many rows a field has."""
    array, rank = next(field.arrays())
    return int(array.shape[array.ndim - rank - 1])


def zeros(x: Array, rank: int, count: int) -> Array:
    """`count` rows of zeros for the rows of x; not 0 * x, which is NaN where x is not finite."""
    none = np.zeros((count, *x.shape[x.ndim - rank :])).astype(x.dtype)
    return namespace(x).broadcast_to(none, (*x.shape[: x.ndim - rank - 1], *none.shape))


# ------------------------------------------------------------------- odd-even elimination


def joined(how: Halving, parts: Any) -> tuple[Any, Any]:
    """(whole, levels): all parts joined to one, and what each level stores for back-substitution."""
    levels = []
    while (rows := count(parts)) > 1:
        even, odd = parts[::2], parts[1::2]
        whole, between = how.join(even[: rows // 2], odd)
        levels.append((even, between))
        parts = whole if rows % 2 == 0 else together(whole, even[rows // 2 :])
        if how.changes_neighbours:
            padded = between.map(_padded)
            left = (rows + 1) // 2
            parts = how.stays(parts, padded[:left], padded[1 : left + 1])
    return parts[0], levels


def _padded(x: Array, rank: int) -> Array:
    """The rows of x between two of zeros."""
    return among_zeros(x, rank, before=1, after=1)


def unfolded(how: Halving, levels: Any, x: Array) -> Array:
    """The value (…, n, k) before each part, by back-substitution from the one (…, k) before the whole."""
    x = x[..., None, :]
    for even, between in reversed(levels):
        half = count(between)
        f, g = how.sides(even, x)
        x = woven(x, how.inside(between, f[..., :half, :], after(g)[..., :half, :]))
    return x


# ------------------------------------------------------------------- heavy paths


class RowsApart(Level):
    """Rows of arrays, n in all, of which the first n - h have one h after them."""

    def __init__(self, h: int, n: int) -> None:
        self.h, self.n = h, n

    def before(self, x: Array, *, zero: bool = True) -> Array:
        return among_zeros(self.coupled(x), 2, before=self.h)

    def after(self, x: Array, *, zero: bool = True) -> Array:
        return x[..., self.h :, :, :]

    def kept(self, x: Array) -> Array:
        return x

    def coupled(self, x: Array) -> Array:
        return x[..., : self.n - self.h, :, :]

    def padded(self, x: Array) -> Array:
        return among_zeros(x, 2, after=self.h)


class HeavyPath(NamedTuple):
    """Heavy paths of one length: their links, what lies between them, and what is stored of the whole."""

    at: np.ndarray  # (heavy paths, length)
    parts: Any
    levels: Any
    stored: Any


class ArrayLinks(LinkSweeps):
    """Sweeps over arrays of all links.

    Heavy paths are visited by rank, and those of one length side by side. The next link of a heavy path is
    the one that carries most links, so that a tree of n links has at most log2(n) + 1 ranks.
    """

    def __init__(self, parents: np.ndarray, last: np.ndarray | None = None) -> None:
        self.parents = parents  # (m,) of links, -1 = world, parents first
        self.last = np.arange(len(parents)) if last is None else last  # (m,) bodies of their joints
        self.size = np.diff(self.last, prepend=-1)  # how many bodies their joints have

    @classmethod
    def of(cls, model: Model) -> ArrayLinks:
        """The links of a model."""
        last = model.links
        carrier = model.parents[np.append(0, last[:-1] + 1)[: len(last)]]
        return cls(np.where(carrier < 0, -1, np.searchsorted(last, carrier)), last)

    def at_links(self, x: Any, rank: int = 1) -> Any:
        if (self.size == 1).all():
            return x
        return x[self.last] if isinstance(x, Field) else taken(x, self.last, rank)

    def spread(self, x: Array) -> Array:
        return x[..., np.repeat(np.arange(len(self.last)), self.size), :]

    def joined(self, join: Callable[..., Any], x: Any, *along: Any) -> Any:
        def some(field: Any, indices: np.ndarray) -> Any:
            return field[indices] if isinstance(field, Field) else field[..., indices, :]

        if (self.size == 1).all():
            return x
        first = self.last - self.size + 1
        found = some(x, first)
        for k in range(1, self.size.max()):
            more = np.flatnonzero(self.size > k)
            bodies, source = first[more] + k, np.arange(len(first))
            source[more] = len(first) + np.arange(len(more))
            one_more = join(some(found, more), some(x, bodies), *(some(f, bodies) for f in along))
            found = some(together(found, one_more), source)
        return found

    def backward(self, step: Callable[[Any, Any], tuple[Any, Any]], rows: Any, beyond: Any) -> Any:
        state, results = beyond, []
        for i in range(count(rows) - 1, -1, -1):
            state, own = step(rows[i], state)
            results.append(own)
        return state, _stacked(results[::-1])

    def forward(self, step: Callable[[Any, Any], Any], rows: Any, first: Any) -> Any:
        found = [first]
        for i in range(count(rows) - 1):
            found.append(step(rows[i], found[-1]))
        return _stacked(found)

    def levels(self, step: Callable[[Level, Any], Any], rows: Any) -> Any:
        h, n = 1, count(rows)
        while h < n:
            rows = step(RowsApart(h, n), rows)
            h *= 2
        return rows

    @cached_property
    def ranks(self) -> list[list[np.ndarray]]:
        """For each rank, for each length, the links (heavy paths, length) from base to tip."""
        n, parents = len(self.parents), self.parents.tolist()
        weight, heavy_child = [1] * n, [-1] * n
        for i in range(n - 1, -1, -1):
            if (p := parents[i]) >= 0:
                weight[p] += weight[i]
                if heavy_child[p] < 0 or weight[i] >= weight[heavy_child[p]]:
                    heavy_child[p] = i
        rank, found = [0] * n, dict[tuple[int, int], list[list[int]]]()
        for i in range(n - 1, -1, -1):  # links outside first, so that ranks are known
            if heavy_child[i] >= 0:
                rank[i] = max(rank[i], rank[heavy_child[i]])
            if (p := parents[i]) < 0 or heavy_child[p] != i:
                heavy_path = [i]
                while heavy_child[heavy_path[-1]] >= 0:
                    heavy_path.append(heavy_child[heavy_path[-1]])
                found.setdefault((rank[i], len(heavy_path)), []).append(heavy_path)
                if p >= 0:
                    rank[p] = max(rank[p], rank[i] + 1)
        levels = sorted({r for r, _ in found})
        return [[np.array(found[key][::-1]) for key in sorted(found) if key[0] == r] for r in levels]

    @property
    def is_chain(self) -> bool:
        """Whether the parent of each link is the one before."""
        return bool(np.array_equal(self.parents, np.arange(-1, len(self.parents) - 1)))

    def halved(self, how: Halving, own: Any, *, load: Any = None, world: Array = None) -> Array:
        heavy_paths: list[HeavyPath] = []
        for rank in self.ranks:
            hung = []
            for at in rank:
                parts = own[at] if how.alone is None else how.alone(load[at], own[at])
                whole, levels = joined(how, parts)
                more, stored = how.close(whole)
                heavy_paths.append(HeavyPath(at, parts, levels, stored))
                hung.append((more, at[:, 0]))
            for more, links in hung:
                load = load if more is None else load.zip(more, partial(self._loaded, links))
        state, found = Collected(len(self.parents), world), Collected(len(self.parents))
        for at, parts, levels, stored in reversed(heavy_paths):
            base = stored if how.enter is None else how.enter(stored, state.at(self.parents[at[:, 0]]))
            x = unfolded(how, levels, base)
            if how.settle is not None:
                f, g = how.sides(parts, x)
                state.add(at, how.settle(parts, f, after(g)))
            found.add(at, x)
        return found.all()

    def _loaded(self, links: np.ndarray, load: Array, more: Array, rank: int) -> Array:
        return load + self.hung(more, links, rank)

    def parent(self, x: Array, rank: int = 1, *, first: Array = None) -> Array:
        if self.is_chain:
            return before(x, rank, first=first)
        world = zeros(x, rank, 1)
        return taken(together(x, world if first is None else world + first, rank), self.parents, rank)

    def children(self, x: Array, rank: int = 1) -> Array:
        if self.is_chain:
            return after(x, rank)
        return self.hung(x, np.arange(len(self.parents)), rank)

    def hung(self, x: Array, links: np.ndarray, rank: int = 1) -> Array:
        """For each link, the sum (…, n, …) of the values x of those of `links` that hang on it."""
        padded = together(x, zeros(x, rank, 1), rank)
        total = None
        for sources in self._summands(links):
            part = padded[(..., sources, *(slice(None),) * rank)]
            total = part if total is None else total + part
        return total

    def _summands(self, links: np.ndarray) -> list[np.ndarray]:
        """For each link, the index in `links` to add to it first, second, …; len(links) if none is left."""
        summands = [np.full(len(self.parents), len(links))]
        seen: dict[int, int] = {}
        for k, p in enumerate(self.parents[links].tolist()):
            if p < 0:
                continue
            position = seen[p] = seen.get(p, -1) + 1
            if position == len(summands):
                summands.append(np.full(len(self.parents), len(links)))
            summands[position][p] = k
        return summands


class Collected:
    """Values of n links, added one heavy path after another; link -1, the world, may have one at first."""

    def __init__(self, n: int, world: Array = None) -> None:
        self.n = n
        self._index = np.zeros(n + 1, dtype=np.intp)
        self.values: Any = None if world is None else world[..., None, :]

    def add(self, links: np.ndarray, values: Array) -> None:
        """Store the values (…, heavy paths, length, k) of links (heavy paths, length)."""
        flat = values.reshape((*values.shape[:-3], links.size, values.shape[-1]))
        count = 0 if self.values is None else self.values.shape[-2]
        self._index[links.ravel()] = count + np.arange(links.size)
        self.values = flat if self.values is None else together(self.values, flat)

    def at(self, links: np.ndarray) -> Array:
        """The values of some links."""
        return self.values[..., self._index[links], :]

    def all(self) -> Array:
        """The values of all links but the world."""
        return self.at(np.arange(self.n))


def _stacked(rows: list[Any]) -> Any:
    """Rows, each a field without an axis of rows, as one field."""
    arrays = zip(*((array for array, _ in row.arrays()) for row in rows), strict=True)
    made = []
    for several, rank in zip(arrays, rows[0].ranks, strict=True):
        xp = namespace(*several)
        batch = np.broadcast_shapes(*(x.shape[: x.ndim - rank] for x in several))
        wide = [xp.broadcast_to(x, (*batch, *x.shape[x.ndim - rank :])) for x in several]
        made.append(xp.stack(wide, axis=-1 - rank))
    return type(rows[0])(*made)
