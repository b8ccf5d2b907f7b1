# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A tree of links as limbs: chains that hang on chains, in as few ranks as possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ...spatial import Array, Field
from .halving import halved, unfolded
from .rows import after, before, together, zeros


class Limb(NamedTuple):
    """Limbs of one length: their links, these as parts, what lies between, and what is kept of the whole."""

    at: np.ndarray  # (limbs, length)
    parts: Any
    levels: Any
    kept: Any


@dataclass(frozen=True, eq=False)
class Limbs:
    """Limbs by rank, those on which nothing hangs first, and those of one length side by side.

    The next link of a limb is the one that carries most links, so that a tree of n links has at most
    log2(n) + 1 ranks.
    """

    parents: np.ndarray  # (n,), -1 = world, parents first

    @cached_property
    def ranks(self) -> list[list[np.ndarray]]:
        """For each rank, for each length, the links (limbs, length) from base to tip."""
        n, parents = len(self.parents), self.parents.tolist()
        weight, heir = [1] * n, [-1] * n
        for i in range(n - 1, -1, -1):
            if (p := parents[i]) >= 0:
                weight[p] += weight[i]
                if heir[p] < 0 or weight[i] >= weight[heir[p]]:
                    heir[p] = i
        rank, found = [0] * n, dict[tuple[int, int], list[list[int]]]()
        for i in range(n - 1, -1, -1):  # links outside first, so that ranks are known
            if heir[i] >= 0:
                rank[i] = max(rank[i], rank[heir[i]])
            if (p := parents[i]) < 0 or heir[p] != i:
                limb = [i]
                while heir[limb[-1]] >= 0:
                    limb.append(heir[limb[-1]])
                found.setdefault((rank[i], len(limb)), []).append(limb)
                if p >= 0:
                    rank[p] = max(rank[p], rank[i] + 1)
        levels = sorted({r for r, _ in found})
        return [[np.array(found[key][::-1]) for key in sorted(found) if key[0] == r] for r in levels]

    @property
    def is_chain(self) -> bool:
        """Whether each link hangs on the one before."""
        return bool(np.array_equal(self.parents, np.arange(-1, len(self.parents) - 1)))

    def inward(
        self,
        load: Field,
        own: Field,
        *,
        alone: Callable[[Any, Any], Any],
        join: Callable[[Any, Any], tuple[Any, Any]],
        close: Callable[[Any], tuple[Any, Any]],
    ) -> list[Limb]:
        """All limbs, each joined to one part: those on which nothing hangs first.

        `alone(load, own)` is a link as a part, from what it bears and what else is known of it; `join(A, B)`
        the part of both and what lies between them; `close(whole)` what a limb adds to the load of the link
        on which it hangs, and what is kept of it.
        """
        done: list[Limb] = []
        for rank in self.ranks:
            hung = []
            for at in rank:
                parts = alone(load[at], own[at])
                whole, levels = halved(join, parts)
                more, kept = close(whole)
                done.append(Limb(at, parts, levels, kept))
                hung.append((more, at[:, 0]))
            for more, links in hung:
                load = load.zip(more, partial(self._laden, links))
        return done

    def _laden(self, links: np.ndarray, load: Array, more: Array, rank: int) -> Array:
        return load + self.hung(more, links, rank)

    def outward(
        self,
        done: list[Limb],
        world: Array,
        *,
        enter: Callable[[Any, Array], Array],
        sides: Callable[..., tuple[Array, Array]],
        inside: Callable[..., Array],
        settle: Callable[..., Array],
    ) -> Array:
        """The value (…, n, k) before each link, from those limbs on which all others hang.

        `enter(kept, a)` is the value before a limb on a link in state a, which for the `world` is known;
        `sides` and `inside` are those of `unfolded`; `settle(part, f, g)` is the state of a link, from what
        the values before and after it do to it.
        """
        state, found = Collected(len(self.parents), world), Collected(len(self.parents))
        for at, parts, levels, kept in reversed(done):
            x = unfolded(levels, enter(kept, state.at(self.parents[at[:, 0]])), sides, inside)
            f, g = sides(parts, x)
            state.add(at, settle(parts, f, after(g)))
            found.add(at, x)
        return found.all()

    def parent(self, x: Array, rank: int = 1, *, first: Array = 0.0) -> Array:
        """The value at the link that carries each one; `first` at the world."""
        if self.is_chain:
            return before(x, rank, first=first)
        at = (..., self.parents, *(slice(None),) * rank)
        return together(x, zeros(x, rank, 1) + first, rank)[at]

    def children(self, x: Array, rank: int = 1) -> Array:
        """The sum of x over the links that hang on each link."""
        if self.is_chain:
            return after(x, rank)
        return self.hung(x, np.arange(len(self.parents)), rank)

    def hung(self, x: Array, links: np.ndarray, rank: int = 1) -> Array:
        """The sum over some links, whose values x are, onto the links that carry them (…, n, …)."""
        padded = together(x, zeros(x, rank, 1), rank)
        total = None
        for places in self._rounds(links):
            part = padded[(..., places, *(slice(None),) * rank)]
            total = part if total is None else total + part
        return total

    def _rounds(self, links: np.ndarray) -> list[np.ndarray]:
        """For each link, which of `links` to add to it first, second, …; their number where none is left."""
        rounds = [np.full(len(self.parents), len(links))]
        seen: dict[int, int] = {}
        for k, p in enumerate(self.parents[links].tolist()):
            if p < 0:
                continue
            turn = seen[p] = seen.get(p, -1) + 1
            if turn == len(rounds):
                rounds.append(np.full(len(self.parents), len(links)))
            rounds[turn][p] = k
        return rounds


class Collected:
    """Values of n links that become known limb by limb; the world, link -1, may have one from the start."""

    def __init__(self, n: int, world: Array = None) -> None:
        self.n = n
        self.place = np.zeros(n + 1, dtype=np.intp)
        self.values: Any = None if world is None else world[..., None, :]

    def add(self, links: np.ndarray, values: Array) -> None:
        """Keep the values (…, limbs, length, k) of links (limbs, length)."""
        flat = values.reshape((*values.shape[:-3], links.size, values.shape[-1]))
        count = 0 if self.values is None else self.values.shape[-2]
        self.place[links.ravel()] = count + np.arange(links.size)
        self.values = flat if self.values is None else together(self.values, flat)

    def at(self, links: np.ndarray) -> Array:
        """The values of some links."""
        return self.values[..., self.place[links], :]

    def all(self) -> Array:
        """The values of all links but the world."""
        return self.at(np.arange(self.n))
