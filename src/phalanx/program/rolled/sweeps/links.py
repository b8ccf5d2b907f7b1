# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sweeps over links on one symbolic link.

Where joints have several bodies, values of links are computed for the last bodies of joints only, in loops of
their own: links gather the values of bodies along the joint, bodies gather those of their link.

A run of joined links is stored in the row of its first link and changes there in place. Variables of a link
sum the loads of the heavy paths that it carries. Most links carry none: their initial values do not depend on
loads and are computed beforehand; only for links with loads they are computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ....spatial import Array
from ....sweeps.links import Halving, Level, LinkSweeps
from ....sweeps.orders.slots import lift
from ...ir import Scalar
from .. import leaves as L
from ..body_graph import LOCAL, BodyGraph
from ..stages.levels import ALL, EVEN, FIRST, LOADED, ODD, WORLD
from .elimination import Change, Elimination, Keys, classes, computed, refined, settled, split
from .indexing import chosen, each, elsewhere, rebuilt, scalars


class OneLevel(Level):
    """The symbolic row of a level, with those before and after it as operands."""

    offsets = (0, 1, -1)

    def __init__(self, E: Elimination) -> None:
        self.E = E

    def after(self, x: Array, *, zero: bool = True) -> Array:
        return self._moved(1, x, zero)

    def before(self, x: Array, *, zero: bool = True) -> Array:
        return self._moved(2, x, zero)

    def _moved(self, operand: int, x: Array, zero: bool) -> Array:
        moved = self.E.moved(operand, x)
        return self.E.inside(operand, moved) if zero else moved

    def kept(self, x: Array) -> Array:
        variables, changes = self.E.kept(x)
        self.E.steps.append(Change(ALL, (0,), changes))
        return self.E.at(0, variables)


class OneLink(LinkSweeps):
    """The symbolic link of a robot."""

    def __init__(self, order: Any) -> None:
        self.order = order
        self.graph: BodyGraph = order.graph
        self.several = order.ends is not None
        self.rows = replace(order, linked=True) if self.several else order

    @cached_property
    def branches(self) -> bool:
        """Whether some heavy path is carried by another."""
        return bool(self.order.rows_of_heavy_paths().branches)

    # ------------------------------------------------------------------ between bodies and links

    def at_links(self, x: Any, rank: int = 1) -> Any:
        return self._moved(x, L.BODY) if self.several else x

    def spread(self, x: Array) -> Array:
        return self._moved(x, L.LINK) if self.several else x

    def _moved(self, f: Any, whose: str) -> Any:
        graph, linked = self.graph, whose == L.BODY

        def one(x: Any) -> Any:
            if not isinstance(x, Scalar) or graph.common(x) or graph.phase(x) == LOCAL:
                return x
            phase = graph.phase(x) if linked else graph.phase(x) + 1
            return graph.placed(L.Gathered(x.number, whose), phase=phase, linked=linked)

        return each(f, one)

    def joined(self, join: Callable[..., Any], x: Any, *along: Any) -> Any:
        if not self.several:
            return x
        first = np.isin(np.arange(self.graph.n), np.append(0, self.order.ends[:-1] + 1))
        before, carries = self.order.carried(x, *along, outward=True)
        made = chosen(self.graph, self.graph.param(first), x, join(before, x, *along))
        self.order.close(carries, made)
        return self.at_links(made)

    # ------------------------------------------------------------------ one row after another

    def parent(self, x: Array, rank: int = 1, *, first: Array = None) -> Array:
        return self.rows.parent(x, first)

    def children(self, x: Array, rank: int = 1) -> Array:
        return self.rows.children(x, None)

    def backward(self, step: Callable[[Any, Any], tuple[Any, Any]], rows: Any, beyond: Any) -> Any:
        later, carries = self.rows.carried(lift(beyond), rows, start=lift(beyond), outward=False)
        state, result = step(rows, later)
        self.rows.close(carries, state)
        return self.order.pick(state, int(self.order.ends[0]) if self.several else 0), result

    def forward(self, step: Callable[[Any, Any], Any], rows: Any, first: Any) -> Any:
        x, carries = self.rows.carried(lift(first), rows, start=lift(first), outward=True)
        self.rows.close(carries, step(rows, x))
        return x

    def levels(self, step: Callable[[Level, Any], Any], rows: Any) -> Any:
        E, own = self._begun(rows), list(scalars(rows))

        def attempt(keys: Keys) -> tuple[Keys, Any]:
            E.count, E.steps = 0, []
            held = E.held(rows, keys, own)
            row = E.at(0, held)
            new = step(OneLevel(E), row)
            return refined(keys, own, [False] * len(own), [(row, new)]), (held, new)

        held, new = settled(classes(rows), attempt)
        # All rows are read before any row changes.
        fresh, changes = E.kept(new)
        E.steps.append(Change(ALL, OneLevel.offsets, changes))
        E.steps.append(Change(ALL, (0,), E.becomes(held, E.at(0, fresh))))
        E.initial += [(variable, value) for value, variable, _ in E.becomes(held, rows)]
        return self._finished(E, held)

    # ------------------------------------------------------------------ heavy paths

    def halved(self, how: Halving, own: Any, *, load: Any = None, world: Array = None) -> Array:
        return self._outward(how, *self._inward(how, own, load), world)

    def _inward(self, how: Halving, own: Any, load: Any) -> tuple[Any, Any, Any]:
        """Join each heavy path: return its links, the values between neighbours, and what paths store."""
        E = self._begun(own, load)
        branches = how.alone is not None and self.branches

        def attempt(keys: Keys) -> tuple[Keys, Any]:
            E.count = 0
            hung = E.held(load, keys, [0.0] * len(keys)) if branches else None
            bears = load + hung if branches else load
            parts = own if how.alone is None else how.alone(bears, own)
            held, between = self._joined(E, how, parts)
            more, stored = how.close(E.at(0, held)[0])
            added = list(scalars(more)) if branches else []
            none = [None if _is_zero(x) else key for key, x in zip(keys, added, strict=True)]
            return split(none, added), (hung, parts, held, between, more, stored)

        # Loads of a link: no variable for scalars to which no heavy path adds, one for those that stay equal.
        found = settled(classes(load) if branches else [], attempt)
        hung, parts, held, between, more, stored = found
        stored, closing = E.kept(stored, held)
        if branches:
            nothing = E.becomes(hung, each(hung, lambda _: 0.0))
            E.before += [Change(rows, (0,), nothing) for rows in (LOADED, WORLD)]
            closing += E.becomes(hung, E.at(1, hung) + more, 1)
        E.last.append(Change(FIRST, (0,), closing, carrier=branches))
        return self._started(E, parts, held, hung), between, stored

    def _joined(self, E: Elimination, how: Halving, parts: Any) -> tuple[Any, Any]:
        """Return (held, between): links, whose variables steps update, and values between neighbours."""
        own, first = list(scalars(parts)), E.count
        loaded = [self.graph.phase(x) >= E.phase for x in own]

        def attempt(keys: Keys) -> tuple[Keys, Any]:
            E.count = first
            held = E.held(parts, keys, own)
            before, row = E.at(1, held), E.at(0, held)
            whole, between = how.join(before, row)
            # The variables of a row that was joined to another are free for what lies between them.
            between, seams = E.kept(between, held)
            E.steps = [Change(ODD, (0, -1), [*seams, *E.becomes(held, whole, 1)])]
            written = [(before, whole)]
            if how.changes_neighbours:
                new = how.stays(row, *(E.inside(k, E.at(k, between)) for k in (1, 2)))
                E.steps.append(Change(EVEN, (0, -1, 1), E.becomes(held, new)))
                written.append((row, new))
            return refined(keys, own, loaded, written), (held, between)

        found: tuple[Any, Any] = settled(classes(parts), attempt)
        return found

    def _started(self, E: Elimination, parts: Any, held: Any, hung: Any) -> Any:
        """Return the parts before any join, for later reads; set the initial values of variables."""
        graph, none = self.graph, {x.number for x in scalars(hung) if isinstance(x, Scalar)}
        own = list(scalars(parts))

        def bare(x: Scalar) -> Any:
            return 0.0 if x.number in none else x if graph.phase(x) < E.phase else None

        def here(x: Scalar) -> Any:
            known = x.number in none or graph.phase(x) < E.phase
            return elsewhere(graph, x, 0) if known else None

        plain = rebuilt(parts, computed(graph, own, bare))
        E.initial += [(variable, value) for value, variable, _ in E.becomes(held, plain)]
        loaded = [graph.phase(x) >= E.phase for x in own]
        if not any(loaded):
            return parts
        # On links that carry heavy paths, all that depends on the load is computed again, and stored.
        both = zip(own, computed(graph, own, here), scalars(held), loaded, strict=True)
        there = [(x, value, variable) for x, value, variable, more in both if more]
        whose, values, variables = (np.array(column, dtype=object) for column in zip(*there, strict=True))
        lasting, changes = E.kept(values, hung)
        E.start.append(Change(LOADED, (0,), [*changes, *E.becomes(variables, values)]))
        known = {x.number: variable for x, variable in zip(whose, lasting, strict=True)}
        return rebuilt(parts, [known.get(x.number, x) if isinstance(x, Scalar) else x for x in own])

    def _outward(self, how: Halving, parts: Any, between: Any, stored: Any, world: Array) -> Array:
        """Return the value before each link, by back-substitution from the first row of each heavy path."""
        E = self._begun(parts, between, stored, world)
        E.outward = True
        branches = how.settle is not None and self.branches
        state = E.variables(world) if branches else world
        at_base = E.at(1, state) if branches else world
        base = E.at(0, stored) if how.enter is None else how.enter(E.at(0, stored), at_base)
        x = base[None]
        y = E.variables(x)
        E.start.append(Change(FIRST, (0,), E.becomes(y, x), carrier=branches))
        f, _ = how.sides(E.at(1, parts), E.at(1, y))
        _, g = how.sides(E.at(2, parts), E.inside(2, E.at(2, y)))
        E.steps.append(Change(ODD, (0, -1, 1), E.becomes(y, how.inside(E.at(0, between), f, E.inside(2, g)))))
        if branches and how.settle is not None:
            E.before.append(Change(WORLD, (0,), E.becomes(state, world)))
            # A link that carries heavy paths is never the last one of its own path.
            f, _ = how.sides(E.at(0, parts), E.at(0, y))
            _, g = how.sides(E.at(1, parts), E.at(1, y))
            E.last.append(Change(LOADED, (0, 1), E.becomes(state, how.settle(E.at(0, parts), f, g))))
        return self._finished(E, y)

    # ------------------------------------------------------------------ eliminations

    def _begun(self, *fields: Any) -> Elimination:
        """Return a new elimination; it runs in the phase after all of its fields are computed."""
        order = self.order
        order.rows_of_heavy_paths()
        phase = max(order.latest(*fields), 0) + 1
        made = Elimination(self.graph, len(order.eliminations), phase, self.several)
        order.eliminations.append(made)
        return made

    def _finished(self, E: Elimination, f: Any) -> Any:
        """Return a field of variables with their values after an elimination."""

        def one(x: Any) -> Any:
            leaf = L.EliminationResult(E.number, x.number) if E.owns(x) else None
            return x if leaf is None else self.graph.placed(leaf, phase=E.phase, linked=E.linked)

        return each(f, one)


def _is_zero(x: Any) -> bool:
    return not isinstance(x, Scalar) and x == 0.0
