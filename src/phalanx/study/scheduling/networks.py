# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Networks of processors: links, and the routes of messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Integral
from typing import Any

from ...errors import PhalanxError, shown
from ...sweeps.triangle import triangle
from ..machines import LinkTimes, Machine, ProcessorArray, Transputers
from .tasks import require_networkx

Link = tuple[int, int]  # from one processor to another


@dataclass(frozen=True, eq=False)
class Network:
    """Processors, the links between them in each direction, and what a message takes on a link.

    `master` holds the inputs and wants the results; it computes nothing. Without one, inputs are at
    hand everywhere and results stay where they are.
    """

    names: tuple[str, ...]
    links: Set[Link]
    times: LinkTimes
    master: int | None = None
    _routes: dict[Link, tuple[Link, ...]] = field(default_factory=dict, repr=False)

    def route(self, sender: int, receiver: int) -> tuple[Link, ...]:
        """The links of the shortest route between two processors."""
        if (sender, receiver) in self.links:
            return ((sender, receiver),)
        if not self._routes:
            self._routes.update(_shortest(len(self.names), self.links))
        return self._routes[sender, receiver]

    @property
    def workers(self) -> tuple[int, ...]:
        """The processors that compute."""
        return tuple(k for k in range(len(self.names)) if k != self.master)


def all_pairs(names: tuple[str, ...], times: LinkTimes, master: int | None = None) -> Network:
    """Processors of which each is linked with all others."""
    return Network(names, _AllPairs(len(names)), times, master)


def transputer_network(machine: Transputers, names: tuple[str, ...]) -> Network:
    """The links of transputers, the first of which is the master."""
    if machine.network == "tree":
        links = both_ways((0, k) for k in range(1, len(names)))
        return Network(names, links, machine.links, master=0)
    return all_pairs(names, machine.links, master=0)


class _AllPairs(Set[Link]):
    """A link from each processor to each other one, none of them stored."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __contains__(self, link: object) -> bool:
        if not isinstance(link, tuple) or len(link) != 2:
            return False
        a, b = link
        return a != b and 0 <= a < self.count and 0 <= b < self.count

    def __iter__(self) -> Iterator[Link]:
        return ((a, b) for a in range(self.count) for b in range(self.count) if a != b)

    def __len__(self) -> int:
        return self.count * (self.count - 1)


def array_network(machine: ProcessorArray, n: int) -> Network:
    """The links of a processor array for a chain of n links."""
    if machine.processors == "n":
        names = tuple(f"column {i + 1}" for i in range(n))
        column = list(range(n))
        return Network(names, both_ways(column_links(column, machine.network)), machine.links)
    pair = triangle(n)
    names = tuple(f"({r + 1},{c + 1})" for r, c in zip(pair.row.tolist(), pair.column.tolist(), strict=True))
    links: set[Link] = set()
    for i in range(n):
        links |= column_links(pair.index[i:, i].tolist(), machine.network)
        links |= column_links(pair.index[i, : i + 1].tolist(), "nearest")
    return Network(names, both_ways(links), machine.links)


def own_network(machine: Machine) -> Network:
    """The processors of a machine whose `pairs` say which of them are linked."""
    pairs: list[Any] = list(machine.pairs())
    for pair in pairs:
        if not (isinstance(pair, tuple) and len(pair) == 2 and pair[0] != pair[1]) or not all(
            isinstance(k, Integral) and int(k) >= 0 for k in pair
        ):
            raise PhalanxError(
                f"schedule: {machine}.pairs() has {shown(pair)}, expected two different numbers from 0 on."
            )
    if not pairs:
        raise PhalanxError(f"schedule: {machine}.pairs() is empty, expected pairs of processors.")
    links, count = both_ways(pairs), 1 + max(map(max, pairs))
    reached, found = {0}, [0]
    for k in found:  # grows while it is read
        found += (near := {b for a, b in links if a == k} - reached)
        reached |= near
    if len(reached) < count:
        apart = next(k for k in range(count) if k not in reached)
        raise PhalanxError(f"schedule: no links lead from processor 0 to processor {apart} of {machine}.")
    names = tuple(f"P{k}" for k in range(count))
    return Network(names, links, getattr(machine, "links", LinkTimes()), getattr(machine, "master", None))


def column_links(column: list[int], network: str) -> set[Link]:
    """Neighbours, and where there is a shuffle also those whom it joins."""
    links = set(pairwise(column))
    if network == "shuffle-exchange":
        to = shuffle(len(column))
        links |= {(column[k], column[to[k]]) for k in range(len(column)) if to[k] != k}
    return links


def shuffle(count: int) -> list[int]:
    """The position to which a perfect shuffle moves each position: from k to 2 k, cyclically.

    After k shuffles backwards two positions that were 2^k apart are neighbours, whatever the count: so
    a doubling within a column brings partners together.
    """
    last = count - 1
    ring = count if count % 2 else max(last, 1)
    return [k if k == last and count % 2 == 0 else 2 * k % ring for k in range(count)]


def both_ways(links: Iterable[Link]) -> frozenset[Link]:
    """The links in both directions."""
    return frozenset(x for a, b in links for x in ((a, b), (b, a)))


def _shortest(count: int, links: Set[Link]) -> Mapping[Link, tuple[Link, ...]]:
    networkx = require_networkx()
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(sorted(links))
    return {
        (a, b): tuple(pairwise(path))
        for a, paths in networkx.all_pairs_shortest_path(graph)
        for b, path in paths.items()
    }
