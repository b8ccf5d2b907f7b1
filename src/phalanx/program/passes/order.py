# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Orders of straight-line code: for compilers, and with low register pressure for GPUs.

Equations run quantity by quantity over all bodies; register pressure is lower body by body. Compilers get
each value right before its first use, with sines and cosines first. Machines without fast memory to spill to
get the order of least pressure. No order changes any bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Any

from ..ir import Load, Program, Scalar, Store, Value, checked, operands_of
from ..ops import COS, SIN

_PLAIN = (Load, Value, Store)
_LONG = 12_000  # statements from which only the quickest order is tried


def depth_first(program: Program) -> Program:
    """The live statements in depth-first order: each right before its first use, operands in their order."""
    done: set[Any] = set()
    order: list[Any] = []
    for root in program.results:
        if not isinstance(root, Scalar) or root in done:
            continue
        stack: list[tuple[Any, int]] = [(root, 0)]
        while stack:
            node, k = stack.pop()
            if node in done:
                continue
            args = node.args
            while k < len(args):
                a = args[k]
                k += 1
                if isinstance(a, Scalar) and a not in done:
                    stack.append((node, k))
                    stack.append((a, 0))
                    break
            else:
                done.add(node)
                order.append(node)
    return checked(replace(program, body=(*order, *_stores(program))))


def nearest_first(program: Program) -> Program:
    """The live statements, ordered by result: next the result that needs the fewest further ones."""
    position = {s: k for k, s in enumerate(program.body)}
    wanted = list(dict.fromkeys(x for x in program.results if isinstance(x, Scalar)))
    needs = {x: behind([x]) for x in wanted}
    order: list[Any] = []
    while wanted:
        best = min(wanted, key=lambda x: len(needs[x]))
        wanted.remove(best)
        fresh = needs.pop(best)
        order += sorted(fresh, key=position.__getitem__)
        for x in wanted:
            needs[x] -= fresh
    return checked(replace(program, body=(*order, *_stores(program))))


def sincos_first(program: Program) -> Program:
    """The program with all loads of inputs first, then all sines and cosines together and early."""
    body = [s for s in program.body if type(s) is not Store]
    order = with_sincos_first(body)
    known = {(s.buffer, s.index): s for s in body if type(s) is Load}
    loads = [known.get((r, k)) or Load(r, k) for r in program.inputs for k in range(r.size)]
    first = dict.fromkeys(loads)
    body = [*first, *(s for s in order if s not in first)]
    return checked(replace(program, body=(*body, *_stores(program))))


def with_sincos_first(values: list[Any]) -> list[Any]:
    """Loads and operations in order, but sines and cosines and their operands first."""
    by_angle: dict[Any, list[Any]] = {}
    for s in values:
        if s.op in (SIN, COS):
            by_angle.setdefault(s.args[0], []).append(s)
    needed = behind(by_angle)
    both = [s for each in by_angle.values() for s in each]
    return list(dict.fromkeys([*(s for s in values if s in needed), *both, *values]))


def behind(values: Iterable[Any]) -> set[Any]:
    """The given values and all their transitive operands."""
    seen: set[Any] = set()
    stack = list(values)
    while stack:
        s = stack.pop()
        if isinstance(s, Scalar) and s not in seen:
            seen.add(s)
            stack += s.args
    return seen


def _stores(program: Program) -> list[Store]:
    return [s for s in program.body if type(s) is Store]


# ------------------------------------------------------------------- register pressure

# Outwards sweeps leave values for the sweeps back, live at the same time on all heavy paths at once; here
# heavy paths follow one another. The best order is hard to find: a few greedy list schedules are tried.


def peak(program: Program) -> int:
    """The register pressure of straight-line code: the most values that are live at once."""
    last: dict[Any, int] = {}
    for position, s in enumerate(program.body):
        for a in _used(s):
            last[a] = position
    ends: dict[int, int] = {}
    for position in last.values():
        ends[position] = ends.get(position, 0) + 1
    alive = most = 0
    for position, s in enumerate(program.body):
        alive += s in last
        most = max(most, alive)
        alive -= ends.get(position, 0)
    return most


def for_registers(program: Program) -> Program:
    """The same program in the order with the least register pressure; unchanged if it has loops."""
    if not all(isinstance(s, _PLAIN) for s in program.body):
        return program
    graph = _Graph(_needed(program.body))
    orders = _orders(graph, long=len(program.body) > _LONG)
    tried = [program]
    tried += [
        replace(program, body=tuple(graph.with_sincos_first(graph.with_loads(order)))) for order in orders
    ]
    return checked(min(tried, key=peak))


def _orders(graph: _Graph, *, long: bool) -> Iterable[list[int]]:
    back = graph.down(graph.from_results(backwards=True))
    yield back
    if not long:
        yield graph.down(graph.from_results(backwards=False))
        yield (up := graph.up(list(range(len(graph.nodes)))))
        yield graph.down(up)
        yield graph.down(graph.up(back))


def _needed(body: tuple[Any, ...]) -> tuple[Any, ...]:
    """The statements that some store needs: of a sine and a cosine, one may have no use."""
    used: set[Any] = set()
    for s in reversed(body):
        if isinstance(s, Store) or s in used:
            used.update(_used(s))
    return tuple(s for s in body if isinstance(s, Store) or s in used)


def _used(s: Any) -> list[Any]:
    """The values that a statement uses, each once."""
    return [a for a in dict.fromkeys(operands_of(s)) if not isinstance(a, float)]


class _Graph:
    """The dependence graph of statements by number; loads are apart, each is placed at its first use."""

    def __init__(self, body: tuple[Any, ...]) -> None:
        self.nodes = [s for s in body if not isinstance(s, Load)]
        numbers = {s: k for k, s in enumerate(self.nodes)}
        self.loads = {s: len(self.nodes) + k for k, s in enumerate(s for s in body if isinstance(s, Load))}
        numbers.update(self.loads)
        self.operands = [[numbers[a] for a in _used(s)] for s in self.nodes]
        self.users: list[list[int]] = [[] for _ in numbers]
        for k, operands in enumerate(self.operands):
            for a in operands:
                self.users[a].append(k)
        self.results = [k for k, s in enumerate(self.nodes) if isinstance(s, Store)]

    # ----------------------------------------------------------------- from numbers to statements

    def with_loads(self, order: list[int]) -> list[Any]:
        """The statements in an order, each load right before its first use."""
        loads = {number: s for s, number in self.loads.items()}
        body: list[Any] = []
        for k in order:
            body += [loads.pop(a) for a in self.operands[k] if a in loads]
            body.append(self.nodes[k])
        return body

    def with_sincos_first(self, body: list[Any]) -> list[Any]:
        """The statements with all sines and cosines together and early: one branch then serves large angles.

        Angles that depend on others' sines, as in the later stages of an integrator, follow stage by stage.
        """
        stages: dict[Any, int] = {}  # the longest chain of sines that leads to a value
        sincos: dict[int, list[Any]] = {}
        for s in self.nodes:
            stages[s] = max((stages.get(a, 0) for a in _used(s)), default=0)
            if isinstance(s, Value) and s.op in (SIN, COS):
                stages[s] += 1
                sincos.setdefault(stages[s], []).append(s)
        made: list[Any] = []
        known: set[Any] = set()
        for stage in sorted(sincos):
            needed: set[Any] = set()
            stack = [a for s in sincos[stage] for a in _used(s)]
            while stack:
                a = stack.pop()
                if a not in needed and a not in known:
                    needed.add(a)
                    stack += _used(a)
            made += [s for s in body if s in needed] + sincos[stage]
            known.update(made)
        return made + [s for s in body if s not in known]

    # ----------------------------------------------------------------- list schedules

    def from_results(self, *, backwards: bool) -> list[int]:
        """Depth first from one result after another; the operand that needs more registers comes first."""
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
        """List schedule from inputs to results: first what frees most values, then what became ready last."""
        count = len(self.nodes)
        rank = {k: position for position, k in enumerate(ranking)}
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
        """List schedule from results to inputs: first what makes the fewest further values live."""
        count = len(self.nodes)
        rank = {k: len(ranking) - position for position, k in enumerate(ranking)}
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
    """The ready statements: the cheapest first, then the one that became ready last, then by rank."""

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
        """Update the costs of the queued values among `several`."""
        for k in several:
            if k in self._known:
                self._put(k, self._known[k][1])

    def _put(self, k: int, when: int) -> None:
        cost = self._cost(k)
        if self._known.get(k) != (cost, when):
            self._known[k] = (cost, when)
            heappush(self._heap, (cost, -when, self._rank[k], k))
