# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The interface of sweeps over links, whose joints have one or several bodies: rows of a chain, heavy paths.

Heavy paths partition a tree into chains that hang on chains. Algorithms call these functions;
`heavy_paths.py` implements them for arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..spatial import Array


@dataclass(frozen=True)
class Halving:
    """Odd-even elimination along a heavy path: every second link, then every second of the rest, and so on.

    From the tips, heavy paths on which nothing hangs first:
    `alone(load, own)`: a single link as a part, from its load and its own data.
    `join(A, B)`: (A after its neighbour B is eliminated, what lies between them).
    `precede(A, between)`, `follow(A, between)`: A once the part after it, or before it, is eliminated, from
    what lies between them (zero at the ends).
    `close(whole)`: (what a heavy path adds to the load of the link that carries it, what is stored of it).

    From the root, heavy paths on which all others hang first:
    `enter(stored, a)`: the value before a heavy path on a link in state a; without it, `stored` itself.
    `sides(part, x)`: (what the value before a part does to this part, what it does to the one before).
    `inside(between, f, g)`: the value between two parts, from what is done to the first and to the second.
    `settle(part, f, g)`: the state of a link, from what the values before and after it do to it.
    """

    join: Callable[[Any, Any], tuple[Any, Any]]
    close: Callable[[Any], tuple[Any, Any]]
    inside: Callable[[Any, Array, Array], Array]
    sides: Callable[[Any, Array], tuple[Array, Array]] = lambda part, x: (x, x)
    precede: Callable[[Any, Any], Any] | None = None
    follow: Callable[[Any, Any], Any] | None = None
    alone: Callable[[Any, Any], Any] | None = None
    enter: Callable[[Any, Array], Array] | None = None
    settle: Callable[[Any, Array, Array], Array] | None = None

    def stays(self, A: Any, before: Any, after: Any) -> Any:
        """The operator A after the elimination of both of its neighbours."""
        A = A if self.precede is None else self.precede(A, after)
        return A if self.follow is None else self.follow(A, before)

    @property
    def changes_neighbours(self) -> bool:
        """Whether a part changes with its eliminated neighbours, besides by `join`."""
        return self.precede is not None or self.follow is not None


class LinkSweeps(ABC):
    """The sweeps over links, as `Order` has those over bodies.

    `rank` is the number of component axes after the axis of bodies or links.
    """

    # ------------------------------------------------------------------ between bodies and links

    @abstractmethod
    def at_links(self, x: Any, rank: int = 1) -> Any:
        """The values of bodies at links: those of the last bodies of their joints."""

    @abstractmethod
    def spread(self, x: Array) -> Array:
        """The values (…, m, k) of links, repeated for all bodies of their joints."""

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
        """(state of the first row, result of each row), one row after another from the last.

        `step(row, state of the row after)` returns the state and the row's result; `beyond` is the state
        after the last row.
        """

    @abstractmethod
    def forward(self, step: Callable[[Any, Any], Any], rows: Any, first: Any) -> Any:
        """The values of all rows, one after another: `first`, then `step(row before, its value)`."""

    @abstractmethod
    def levels(self, step: Callable[[Level, Any], Any], rows: Any) -> Any:
        """The rows after `step(level, rows)` for each of the levels h = 1, 2, 4, …"""

    # ------------------------------------------------------------------ heavy paths

    @abstractmethod
    def halved(self, how: Halving, own: Any, *, load: Any = None, world: Array = None) -> Array:
        """The value (…, m, k) before each link: heavy paths joined to one part each, then back-substituted.

        Links with a `load` begin as the part how.alone(load, own), others as `own`. The state of the `world`
        is known.
        """


class Level(ABC):
    """One level of an elimination: rows k that combine with rows k - h and k + h.

    Where there is no such row, its values are zero or, without `zero`, any finite ones.
    """

    @abstractmethod
    def before(self, x: Array, *, zero: bool = True) -> Array:
        """The value (…, n, k, k) of the row h before each one."""

    @abstractmethod
    def after(self, x: Array, *, zero: bool = True) -> Array:
        """The value (…, n, k, k) of the row h after each one; of arrays, for coupled rows only."""

    @abstractmethod
    def kept(self, x: Array) -> Array:
        """x, stored for all rows before any row reads another's value."""

    def coupled(self, x: Array) -> Array:
        """x of the rows k for which row k + h exists; arrays then skip the other rows."""
        return x

    def padded(self, x: Array) -> Array:
        """x of coupled rows extended to all rows: zero where row k + h does not exist."""
        return x
