# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sweeps over links, which joints of one or several bodies carry: rows of a chain, or heavy paths of a tree.

Heavy paths are chains that hang on chains, the heavy paths of a tree. This is what texts ask for; `limbs.py` has it
for arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..spatial import Array


@dataclass(frozen=True)
class Halving:
    """What is done to the links of a heavy path: every second one goes, then every second of the rest, and so on.

    From the tips, heavy paths on which nothing hangs first:
    `alone(load, own)`: a link as a part, from what it bears and what else is known of it.
    `join(A, B)`: what becomes of A when B, next to it, goes, and what lies between them.
    `stays(A, before, after)`: what then becomes of A, from what lies between it and both its neighbours (zero
    at the ends).
    `close(whole)`: what a heavy path adds to the load of the link on which it hangs, and what is kept of it.

    From the root, heavy paths on which all others hang first:
    `enter(kept, a)`: the value before a heavy path on a link in state a; without it, what was kept.
    `sides(part, x)`: what the value before a part does to this part and to the one before it.
    `inside(between, f, g)`: the value between two parts, from what is done to the first and to the second.
    `settle(part, f, g)`: the state of a link, from what the values before and after it do to it.
    """

    join: Callable[[Any, Any], tuple[Any, Any]]
    close: Callable[[Any], tuple[Any, Any]]
    inside: Callable[[Any, Array, Array], Array]
    sides: Callable[[Any, Array], tuple[Array, Array]] = lambda part, x: (x, x)
    stays: Callable[[Any, Any, Any], Any] | None = None
    alone: Callable[[Any, Any], Any] | None = None
    enter: Callable[[Any, Array], Array] | None = None
    settle: Callable[[Any, Array, Array], Array] | None = None


class LinkSweeps(ABC):
    """How links are swept: what `Order` is for bodies.

    `rank` is the number of component axes after the axis of bodies or links.
    """

    # ------------------------------------------------------------------ between bodies and links

    @abstractmethod
    def at_links(self, x: Any, rank: int = 1) -> Any:
        """Values of bodies, as links have them: those of the last bodies of their joints."""

    @abstractmethod
    def spread(self, x: Array) -> Array:
        """Values (…, m, k) of links, as all bodies of their joints have them."""

    @abstractmethod
    def joined(self, join: Callable[..., Any], x: Any, *along: Any) -> Any:
        """For each link, the values of its joint's bodies joined from the first to the last.

        `join(before, own, *along)` takes in one body more.
        """

    # ------------------------------------------------------------------ neighbours

    @abstractmethod
    def parent(self, x: Array, rank: int = 1, *, first: Array = None) -> Array:
        """The value at the link that carries each one; `first`, or zero, at the world."""

    @abstractmethod
    def children(self, x: Array, rank: int = 1) -> Array:
        """The sum of x over the links that hang on each link."""

    # ------------------------------------------------------------------ the rows of a chain

    @abstractmethod
    def backward(self, step: Callable[[Any, Any], tuple[Any, Any]], rows: Any, beyond: Any) -> Any:
        """(state of the first row, what each row keeps), one row after another from the last.

        `step(row, state of the row after)` returns the state and what is kept; `beyond` stands for the
        state after the last row.
        """

    @abstractmethod
    def forward(self, step: Callable[[Any, Any], Any], rows: Any, first: Any) -> Any:
        """The value of each row from the one before it: `step(row before, its value)`."""

    @abstractmethod
    def levels(self, step: Callable[[Level, Any], Any], rows: Any) -> Any:
        """The rows after `step(level, rows)` for each of the levels h = 1, 2, 4, …"""

    # ------------------------------------------------------------------ heavy paths

    @abstractmethod
    def halved(self, how: Halving, own: Any, *, load: Any = None, world: Array = None) -> Array:
        """The value (…, m, k) before each link: heavy paths joined to one part each, and taken apart again.

        Links with a `load` begin as the part how.alone(load, own), others as `own`. The state of the `world`
        is known.
        """


class Level(ABC):
    """Rows that meet those h before and h after them.

    Where there is no such row its values are zero, or, unless `zero` is asked for, anything finite.
    """

    @abstractmethod
    def before(self, x: Array, *, zero: bool = True) -> Array:
        """The value (…, n, k, k) of the row h before each one."""

    @abstractmethod
    def after(self, x: Array, *, zero: bool = True) -> Array:
        """The value (…, n, k, k) of the row h after each one; of arrays, for coupled rows only."""

    @abstractmethod
    def kept(self, x: Array) -> Array:
        """x itself, which other rows read: it is worked out for all rows beforehand."""

    def coupled(self, x: Array) -> Array:
        """x of the rows that have one h after them: arrays then compute nothing for the others."""
        return x

    def padded(self, x: Array) -> Array:
        """x of coupled rows, as all rows have it: zero where no row is h after."""
        return x
