# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Straight-line programs in an order that keeps few values alive, for machines without memory near at hand.

Equations are recorded pass by pass: outwards over all bodies, then back. What the first pass has left for the
second then stays alive together, of all limbs at once. Here limbs follow one another instead. Finding the
best order is hard; a few greedy ones are tried, and the one with the least peak is taken. All compute the
same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Any

from ..ops import COS, SIN
from .program import Load, Program, Store, Value

_PLAIN = (Load, Value, Store)
_LONG = 12_000  # statements from which only the quickest order is tried


def peak(program: Program) -> int:
    """The most values that are alive at once."""
    last: dict[Any, int] = {}
    for place, s in enumerate(program.body):
        for a in _operands(s):
            last[a] = place
    ends: dict[int, int] = {}
    for place in last.values():
        ends[place] = ends.get(place, 0) + 1
    alive = most = 0
    for place, s in enumerate(program.body):
        alive += s in last
        most = max(most, alive)
        alive -= ends.get(place, 0)
    return most


def for_registers(program: Program) -> Program:
    """The same program with its statements in another order, or as it is if it has loops."""
    if not all(isinstance(s, _PLAIN) for s in program.body):
        return program
    graph = _Graph(_needed(program.body))
    orders = _orders(graph, long=len(program.body) > _LONG)
    tried = [program]
    tried += [
        replace(program, body=tuple(graph.with_sincos_first(graph.with_loads(order)))) for order in orders
    ]
    return min(tried, key=peak)


def _orders(graph: _Graph, *, long: bool) -> Iterable[list[int]]:
    back = graph.down(graph.from_results(backwards=True))
    yield back
    if not long:
        yield graph.down(graph.from_results(backwards=False))
        yield (up := graph.up(list(range(len(graph.nodes)))))
        yield graph.down(up)
        yield graph.down(graph.up(back))


def _needed(body: tuple[Any, ...]) -> tuple[Any, ...]:
    """The statements that some result needs: of a sine and a cosine, one may have no use."""
    used: set[Any] = set()
    for s in reversed(body):
        if isinstance(s, Store) or s in used:
            used.update(_operands(s))
    return tuple(s for s in body if isinstance(s, Store) or s in used)


def _operands(s: Any) -> list[Any]:
    """What a statement needs, each once."""
    if isinstance(s, Value):
        return [a for a in dict.fromkeys(s.args) if not isinstance(a, float)]
    return [s.value] if isinstance(s, Store) and not isinstance(s.value, float) else []


class _Graph:
    """Statements by number, loads apart: they are read again where they are needed."""

    def __init__(self, body: tuple[Any, ...]) -> None:
        self.nodes = [s for s in body if not isinstance(s, Load)]
        numbers = {s: k for k, s in enumerate(self.nodes)}
        self.loads = {s: len(self.nodes) + k for k, s in enumerate(s for s in body if isinstance(s, Load))}
        numbers.update(self.loads)
        self.operands = [[numbers[a] for a in _operands(s)] for s in self.nodes]
        self.users: list[list[int]] = [[] for _ in numbers]
        for k, operands in enumerate(self.operands):
            for a in operands:
                self.users[a].append(k)
        self.results = [k for k, s in enumerate(self.nodes) if isinstance(s, Store)]

    # ------------------------------------------------------------- statements again

    def with_loads(self, order: list[int]) -> list[Any]:
        """Statements in an order, each number loaded where it is first used."""
        places = {number: s for s, number in self.loads.items()}
        body: list[Any] = []
        for k in order:
            body += [places.pop(a) for a in self.operands[k] if a in places]
            body.append(self.nodes[k])
        return body

    def with_sincos_first(self, body: list[Any]) -> list[Any]:
        """All angles turned together, and early: one branch then serves those that are large.

        Angles that depend on others' sines, as in the later stages of a step, follow in turn, stage by stage.
        """
        stages: dict[Any, int] = {}  # how many sines lie one behind another up to a value
        turns: dict[int, list[Any]] = {}
        for s in self.nodes:
            stages[s] = max((stages.get(a, 0) for a in _operands(s)), default=0)
            if isinstance(s, Value) and s.op in (SIN, COS):
                stages[s] += 1
                turns.setdefault(stages[s], []).append(s)
        made: list[Any] = []
        known: set[Any] = set()
        for stage in sorted(turns):
            needed: set[Any] = set()
            stack = [a for s in turns[stage] for a in _operands(s)]
            while stack:
                a = stack.pop()
                if a not in needed and a not in known:
                    needed.add(a)
                    stack += _operands(a)
            made += [s for s in body if s in needed] + turns[stage]
            known.update(made)
        return made + [s for s in body if s not in known]

    # ------------------------------------------------------------- orders

    def from_results(self, *, backwards: bool) -> list[int]:
        """Depth first from one result after another; of two operands the one that needs more comes first."""
        needs = [1] * len(self.users)
        for k, operands in enumerate(self.operands):
            ranked = sorted((needs[a] for a in operands), reverse=True)
            needs[k] = max((n + i for i, n in enumerate(ranked)), default=1)
        order: list[int] = []
        seen: set[int] = set()
        for result in reversed(self.results) if backwards else self.results:
            stack = [(result, False)]
            while stack:
                k, done = stack.pop()
                if done:
                    order.append(k)
                elif k not in seen and k < len(self.nodes):
                    seen.add(k)
                    stack.append((k, True))
                    stack += [(a, False) for a in sorted(self.operands[k], key=needs.__getitem__)]
        return order

    def down(self, ranking: list[int]) -> list[int]:
        """From inputs to results: next comes what ends most values, then what has become possible last."""
        count = len(self.nodes)
        rank = {k: place for place, k in enumerate(ranking)}
        uses = [len(users) for users in self.users]
        waiting = [sum(a < count for a in operands) for operands in self.operands]
        loaded = [False] * len(self.users)

        def cost(k: int) -> int:
            made = int(not isinstance(self.nodes[k], Store))
            for a in self.operands[k]:
                if a >= count and not loaded[a]:
                    made += uses[a] > 1
                else:
                    made -= uses[a] == 1
            return made

        queue = _Queue(cost, rank, (k for k in ranking if waiting[k] == 0))
        order = []
        while (k := queue.next()) is not None:
            order.append(k)
            for a in self.operands[k]:
                uses[a] -= 1
                changed = a >= count and not loaded[a]
                loaded[a] = True
                if changed or uses[a] == 1:
                    queue.renew(self.users[a])
            for user in self.users[k]:
                waiting[user] -= 1
                if waiting[user] == 0:
                    queue.add(user)
        return order

    def up(self, ranking: list[int]) -> list[int]:
        """From results to inputs: before comes what needs fewest values that are not needed anyway."""
        count = len(self.nodes)
        rank = {k: len(ranking) - place for place, k in enumerate(ranking)}
        left = [len(users) for users in self.users]
        alive = [False] * len(self.users)

        def cost(k: int) -> int:
            needed = sum(not alive[a] for a in self.operands[k] if a < count)
            return needed - (not isinstance(self.nodes[k], Store))

        queue = _Queue(cost, rank, (k for k in reversed(ranking) if left[k] == 0))
        order = []
        while (k := queue.next()) is not None:
            order.append(k)
            for a in self.operands[k]:
                left[a] -= 1
                if a < count and not alive[a]:
                    alive[a] = True
                    queue.renew(self.users[a])
                if a < count and left[a] == 0:
                    queue.add(a)
        return order[::-1]


class _Queue:
    """What may come next: the cheapest first, then the latest, then by rank."""

    def __init__(self, cost: Callable[[int], int], rank: dict[int, int], first: Iterable[int]) -> None:
        self._cost, self._rank = cost, rank
        self._known: dict[int, tuple[int, int]] = {k: (cost(k), 0) for k in first}
        self._heap = [(c, 0, rank[k], k) for k, (c, _) in self._known.items()]
        heapify(self._heap)
        self._clock = 0

    def next(self) -> int | None:
        while self._heap:
            cost, when, _, k = heappop(self._heap)
            if self._known.get(k) == (cost, -when):
                del self._known[k]
                self._clock += 1
                return k
        return None

    def add(self, k: int) -> None:
        self._put(k, self._clock)

    def renew(self, several: Iterable[int]) -> None:
        """Look again at what some cost, if they wait here."""
        for k in several:
            if k in self._known:
                self._put(k, self._known[k][1])

    def _put(self, k: int, when: int) -> None:
        cost = self._cost(k)
        if self._known.get(k) != (cost, when):
            self._known[k] = (cost, when)
            heappush(self._heap, (cost, -when, self._rank[k], k))
