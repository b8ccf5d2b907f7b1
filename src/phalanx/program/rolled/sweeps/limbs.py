# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Limbs of a tree, one of which stands for all: links joined by pairs, pairs of pairs and so on, and back.

A run of links stands in the row of its first one and changes there in place. What a limb adds to the link
on which it hangs is summed in variables of that link. Most links bear nothing: what starts from them is
known beforehand, and started anew only on those that do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....spatial import Array, Field
from ...scalar import Node
from .. import leaves as L
from ..graph import BodyGraph, copied
from ..limbs import limb_rows
from ..stages.levels import FIRST, LADEN, ODD, WORLD
from .elimination import Change, Elimination
from .places import rebuilt, scalars

Changes = list[tuple[Any, Node, int]]


@dataclass
class LimbElimination(Elimination):
    """An elimination on one limb after another: `before` all of them, and at the `start` of each."""

    before: list[Change] = field(default_factory=list)
    start: list[Change] = field(default_factory=list)

    def at(self, operand: int, f: Any) -> Any:
        if isinstance(f, tuple):
            return type(f)(*(self.at(operand, x) for x in f))
        return super().at(operand, f)

    def becomes(self, variables: Any, values: Any, operand: int = 0) -> Changes:
        seen = dict[int, tuple[Any, Node, int]]()
        for variable, value in zip(scalars(variables), scalars(values), strict=True):
            if self.owns(variable):
                seen.setdefault(variable.number, (value, variable, operand))
        return list(seen.values())

    def owns(self, x: Any) -> bool:
        """Whether x is a variable of this elimination."""
        return type(x) is Node and isinstance(x.leaf, L.Variable) and x.leaf.elimination == self.number

    def kept(self, values: Any, spare: Any) -> tuple[Any, Changes]:
        """Variables that keep values of a row, and how they become these.

        Equal values share one, numbers need none. Variables of `spare` are taken first.
        """
        fields = values if isinstance(values, tuple) else (values,)
        free = list({x.number: x for x in scalars(spare) if self.owns(x)}.values())[::-1]
        made = dict[int, Node]()
        changes: Changes = []
        for x in (x for f in fields for x in scalars(f)):
            if type(x) is Node and x.number not in made:
                made[x.number] = free.pop() if free else self.variables(np.array([x], dtype=object))[0]
                changes.append((x, made[x.number], 0))
        found = [rebuilt(f, [made[x.number] if type(x) is Node else x for x in scalars(f)]) for f in fields]
        return type(values)(*found) if isinstance(values, tuple) else found[0], changes


@dataclass(frozen=True)
class Joined:
    """What is left of a limb: its links as parts, what lies between them, and what is kept of the whole."""

    parts: Any
    between: Any
    kept: Any


class OneLimb:
    """The limbs of a robot, one link of one limb standing for all: `banded.limbs.Limbs` of a loop."""

    def __init__(self, order: Any) -> None:
        self.order = order
        self.graph: BodyGraph = order.graph
        if order.limb_rows is None:
            order.limb_rows = limb_rows(order.model)
        self.branches: bool = order.limb_rows.branches

    def parent(self, x: Array, rank: int = 1, *, first: Any = None) -> Array:
        return self.order.row_before(x, first)

    def children(self, x: Array, rank: int = 1) -> Array:
        return self.order.row_after(x)

    # ------------------------------------------------------------------ from the tips

    def inward(
        self,
        load: Field,
        own: Field,
        *,
        alone: Callable[[Any, Any], Any],
        join: Callable[[Any, Any], tuple[Any, Any]],
        close: Callable[[Any], tuple[Any, Any]],
    ) -> Joined:
        E = self._begun(load, own)
        # What hangs on a link: no variable for what no limb adds to, one for what stays equal.
        keys = _classes(load) if self.branches else [None for _ in scalars(load)]
        while True:
            E.count = 0
            hung = _held(E, load, keys, [0.0] * len(keys))
            parts = alone(load + hung, own)
            held, between, changes = self._joined(E, join, parts)
            more, kept = close(E.at(0, held)[0])
            added = list(scalars(more))
            again = _split([None if _is_zero(x) else k for k, x in zip(keys, added, strict=True)], added)
            if again == keys:
                break
            keys = again
        # A row that was joined to another, and the first one at last, have room for what comes of it.
        between, seams = E.kept(between, held)
        E.steps.append(Change(ODD, (0, -1), [*seams, *changes]))
        kept, closing = E.kept(kept, held)
        if self.branches:
            nothing = E.becomes(hung, rebuilt(hung, [0.0] * len(keys)))
            E.before += [Change(rows, (0,), nothing) for rows in (LADEN, WORLD)]
            closing += E.becomes(hung, E.at(1, hung) + more, 1)
        E.last.append(Change(FIRST, (0,), closing, carrier=self.branches))
        return Joined(self._started(E, parts, held, hung), between, kept)

    def _joined(self, E: LimbElimination, join: Callable[..., Any], parts: Any) -> tuple[Any, Any, Changes]:
        """(held, between, changes): parts with variables for what joins change, and how they change it."""
        own, first = list(scalars(parts)), E.count
        laden = [self.graph.phase(x) >= E.phase for x in own]
        keys = _classes(parts)
        while True:
            E.count = first
            held = _held(E, parts, keys, own)
            whole, between = join(E.at(1, held), E.at(0, held))
            before, after = list(scalars(E.at(1, held))), list(scalars(whole))
            # No variable for what no join changes, unless it depends on what hangs on the link.
            same = [
                not more and (a is b or (type(x) is not Node and x == b))
                for x, a, b, more in zip(own, before, after, laden, strict=True)
            ]
            again = _split([None if s else key for s, key in zip(same, keys, strict=True)], after)
            if again == keys:
                return held, between, E.becomes(held, whole, 1)
            keys = again

    def _started(self, E: LimbElimination, parts: Any, held: Any, hung: Any) -> Any:
        """The parts as they are before any join, to be read ever after; tells how variables start."""
        graph, none = self.graph, {x.number for x in scalars(hung) if type(x) is Node}
        own = list(scalars(parts))

        def bare(x: Node) -> Any:
            return 0.0 if x.number in none else x if graph.phase(x) < E.phase else None

        def here(x: Node) -> Any:
            known = x.number in none or graph.phase(x) < E.phase
            return E.at(0, np.array([x], dtype=object))[0] if known else None

        plain = rebuilt(parts, _replaced(graph, own, bare))
        E.initial += [(variable, value) for value, variable, _ in E.becomes(held, plain)]
        laden = [graph.phase(x) >= E.phase for x in own]
        if not any(laden):
            return parts
        # Where something hangs on a link, all that depends on it is computed there, and kept for later.
        both = zip(own, _replaced(graph, own, here), scalars(held), laden, strict=True)
        there = [(x, value, variable) for x, value, variable, more in both if more]
        whose, values, variables = (np.array(column, dtype=object) for column in zip(*there, strict=True))
        lasting, changes = E.kept(values, hung)
        E.start.append(Change(LADEN, (0,), [*changes, *E.becomes(variables, values)]))
        known = {x.number: kept for x, kept in zip(whose, lasting, strict=True)}
        return rebuilt(parts, [known.get(x.number, x) if type(x) is Node else x for x in own])

    # ------------------------------------------------------------------ from the root

    def outward(
        self,
        limb: Joined,
        world: Array,
        *,
        enter: Callable[[Any, Array], Array],
        sides: Callable[..., tuple[Array, Array]],
        inside: Callable[..., Array],
        settle: Callable[..., Array],
    ) -> Array:
        parts, between, kept = limb.parts, limb.between, limb.kept
        E = self._begun(parts, *between, *kept, world)
        E.outward = True
        state = E.variables(world) if self.branches else world
        x = enter(E.at(0, kept), E.at(1, state) if self.branches else world)[None]
        y = E.variables(x)
        E.start.append(Change(FIRST, (0,), E.becomes(y, x), carrier=self.branches))
        f, _ = sides(E.at(1, parts), E.at(1, y))
        _, g = sides(E.at(2, parts), E.inside(2, y))
        E.steps.append(Change(ODD, (0, -1, 1), E.becomes(y, inside(E.at(0, between), f, E.where(2, g)))))
        if self.branches:
            E.before.append(Change(WORLD, (0,), E.becomes(state, world)))
            # A link that carries limbs is never the last one of its own.
            f, _ = sides(E.at(0, parts), E.at(0, y))
            _, g = sides(E.at(1, parts), E.at(1, y))
            E.last.append(Change(LADEN, (0, 1), E.becomes(state, settle(E.at(0, parts), f, g))))
        return self.order.finished(E, y)

    def _begun(self, *fields: Any) -> LimbElimination:
        """An elimination on limbs that begins when all fields are known."""
        return self.order.elimination(*fields, kind=LimbElimination)


def _classes(f: Any) -> list[Any]:
    """A key for each scalar: equal for equal scalars of the same array, such as those of a symmetric one."""
    arrays = [np.asarray(array, dtype=object).ravel().tolist() for array, _ in f.arrays()]
    numbers = [k for k, array in enumerate(arrays) for _ in array]
    return _split(numbers, [x for array in arrays for x in array])


def _split(keys: list[Any], values: list[Any]) -> list[Any]:
    """A key for each scalar that has one: equal for those whose keys and values are equal."""
    first = dict[Any, int]()
    told = [x.number if type(x) is Node else ("constant", float(x)) for x in values]
    pairs = enumerate(zip(keys, told, strict=True))
    return [None if key is None else first.setdefault((key, name), k) for k, (key, name) in pairs]


def _held(E: Elimination, f: Any, keys: list[Any], otherwise: list[Any]) -> Any:
    """The field with a variable for each key, and with other values where there is none."""
    made = dict[Any, Any]()
    for x, key in zip(scalars(f), keys, strict=True):
        if key is not None and key not in made:
            made[key] = E.variables(np.array([x], dtype=object))[0]
    return rebuilt(f, [made.get(key, x) for key, x in zip(keys, otherwise, strict=True)])


def _is_zero(x: Any) -> bool:
    return type(x) is not Node and x == 0.0


def _replaced(graph: BodyGraph, values: list[Any], find: Callable[[Node], Any]) -> list[Any]:
    """Values computed anew from what `find` gives in place of some operands."""
    known = dict[int, Any]()
    stack = [x for x in values if type(x) is Node]
    quantity = graph.quantity
    while stack:
        x = stack[-1]
        if x.number not in known:
            known[x.number] = find(x)
        missing = [a for a in x.args if type(a) is Node and known.get(a.number) is None]
        if known[x.number] is None and not missing:
            graph.quantity = x.quantity
            known[x.number] = copied(graph, x, [known[a.number] if type(a) is Node else a for a in x.args])
        if known[x.number] is not None:
            stack.pop()
        else:
            stack += missing
    graph.quantity = quantity
    return [known[x.number] if type(x) is Node else x for x in values]
