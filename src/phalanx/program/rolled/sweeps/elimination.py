# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Eliminations on rows of links: loops over heavy paths, in each over levels, in each over some rows.

On the level of distance h = 1, 2, 4, … every second of the rows 0, h, 2h, … is eliminated, or every row is
combined with those h before and after it. Spill slots hold the values of rows and change in place; a step is
traced once, on symbolic rows, and states which rows it visits and the offsets of their neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from ...ir import Scalar
from .. import leaves as L
from ..body_graph import BodyGraph, copied
from .indexing import each, elsewhere, rebuilt, scalars

Changes = list[tuple[Any, Scalar, int]]  # value, variable, operand
Keys = list[Any]  # for each scalar of a field; scalars of one key share a variable, those without have none
Made = TypeVar("Made")


@dataclass(frozen=True)
class Change:
    """A step: the rows that it visits, the offsets of its operands, and the new values of variables."""

    rows: str  # ODD or EVEN multiples of h, ALL rows, the FIRST one, LOADED ones, or the WORLD
    offsets: tuple[int, ...]  # of the operands, in units of h
    values: Changes
    carrier: bool = False  # whether the link that carries the heavy path is one more operand


@dataclass
class Elimination:
    """Variables of rows and the steps that change them.

    Steps run `before` all heavy paths, at the `start` of each, on its levels, and the `last` after these.
    """

    graph: BodyGraph
    number: int
    phase: int
    linked: bool  # whether rows are the last bodies of joints only
    outward: bool = False  # whether levels run from the largest h to the smallest
    initial: list[tuple[Scalar, Any]] = field(default_factory=list)
    before: list[Change] = field(default_factory=list)
    start: list[Change] = field(default_factory=list)
    steps: list[Change] = field(default_factory=list)
    last: list[Change] = field(default_factory=list)
    count: int = 0

    # ------------------------------------------------------------------ variables

    def variables(self, like: Any) -> Any:
        """Return a field like the given one whose scalars are new variables of this elimination."""
        return each(like, lambda _: self._variable())

    def _variable(self) -> Scalar:
        self.count += 1
        leaf = L.Variable(self.number, self.count - 1)
        return self.graph.placed(leaf, phase=self.phase, linked=self.linked)

    def owns(self, x: Any) -> bool:
        """Whether x is a variable of this elimination."""
        return isinstance(x, Scalar) and isinstance(x.leaf, L.Variable) and x.leaf.elimination == self.number

    def held(self, f: Any, keys: Keys, otherwise: list[Any]) -> Any:
        """Return the field with one variable for each key, and values of `otherwise` where it is None."""
        made = {key: self._variable() for key in dict.fromkeys(keys) if key is not None}
        return rebuilt(f, [made.get(key, x) for key, x in zip(keys, otherwise, strict=True)])

    def kept(self, values: Any, spare: Any = None) -> tuple[Any, Changes]:
        """Return variables that store the values of a row, and the changes that store them.

        Equal values share one, constants need none, and values that are variables of the row already stay.
        Variables of `spare` are reused first.
        """
        made = dict[int, Scalar]()
        for x in scalars(values):
            if isinstance(x, Scalar) and isinstance(x.leaf, L.Gathered) and x.leaf.whose == 0:
                variable = self.graph.nodes[x.leaf.node]
                if self.owns(variable):
                    made[x.number] = variable
        taken = {x.number for x in made.values()}
        free = {x.number: x for x in scalars(spare) if self.owns(x) and x.number not in taken}
        unused, changes = list(free.values())[::-1], Changes()
        for x in scalars(values):
            if isinstance(x, Scalar) and x.number not in made:
                made[x.number] = unused.pop() if unused else self._variable()
                changes.append((x, made[x.number], 0))
        return each(values, lambda x: made[x.number] if isinstance(x, Scalar) else x), changes

    def becomes(self, variables: Any, values: Any, operand: int = 0) -> Changes:
        """Return the changes that store new values in the variables of an operand."""
        seen = dict[int, tuple[Any, Scalar, int]]()
        for variable, value in zip(scalars(variables), scalars(values), strict=True):
            if self.owns(variable) and value is not elsewhere(self.graph, variable, operand):
                seen.setdefault(variable.number, (value, variable, operand))
        return list(seen.values())

    # ------------------------------------------------------------------ operands

    def at(self, operand: int, f: Any) -> Any:
        """Gather a field from the row of an operand."""
        return each(f, lambda x: elsewhere(self.graph, x, operand))

    def inside(self, operand: int, f: Any) -> Any:
        """Return the field, or zero where the operand lies beyond the ends of the heavy path."""
        within = self.graph.leaf(L.InBounds(operand))
        return each(f, lambda x: self.graph.choose(within, x, 0.0))

    def moved(self, operand: int, f: Any) -> Any:
        """Recompute a field, which was computed from a row, from the row of another operand."""

        def there(x: Scalar) -> Any:
            if isinstance(x.leaf, L.Gathered):
                return self.graph.leaf(L.Gathered(x.leaf.node, operand))
            if isinstance(x.leaf, L.Param):
                return self.graph.leaf(L.Param(x.leaf.column, operand))
            return x if self.graph.common(x) else None

        return rebuilt(f, computed(self.graph, list(scalars(f)), there))


# ------------------------------------------------------------------- which scalars need variables


def classes(f: Any) -> Keys:
    """Return a key for each scalar: the same for equal scalars of one array, such as a symmetric one."""
    arrays = [np.asarray(array, dtype=object).ravel().tolist() for array, _ in f.arrays()]
    numbers = [k for k, array in enumerate(arrays) for _ in array]
    return split(numbers, [x for array in arrays for x in array])


def split(keys: Keys, values: list[Any]) -> Keys:
    """Return refined keys: the same for scalars whose keys and values are equal; None stays None."""
    first = dict[Any, int]()
    names = [x.number if isinstance(x, Scalar) else ("constant", float(x)) for x in values]
    pairs = enumerate(zip(keys, names, strict=True))
    return [None if key is None else first.setdefault((key, name), k) for k, (key, name) in pairs]


def refined(keys: Keys, own: list[Any], loaded: list[bool], written: list[tuple[Any, Any]]) -> Keys:
    """Return keys that differ for scalars to which steps give different values; None where no step does.

    `written`: pairs of a field before and after a step. Scalars that are `loaded` need a variable anyway.
    """
    changed = list(loaded)
    for found, left in written:
        for k, (x, a, b) in enumerate(zip(own, scalars(found), scalars(left), strict=True)):
            changed[k] |= not (a is b or (not isinstance(x, Scalar) and x == b))
    keys = [key if more else None for key, more in zip(keys, changed, strict=True)]
    for _, left in written:
        keys = split(keys, list(scalars(left)))
    return keys


def settled(keys: Keys, attempt: Callable[[Keys], tuple[Keys, Made]]) -> Made:
    """Iterate an attempt to the fixed point of its keys; return what it makes there."""
    while True:
        again, made = attempt(keys)
        if again == keys:
            return made
        keys = again


def computed(graph: BodyGraph, values: list[Any], find: Callable[[Scalar], Any]) -> list[Any]:
    """Recompute values with some operands replaced by what `find` returns for them (None: recompute)."""
    known = dict[int, Any]()
    stack = [x for x in values if isinstance(x, Scalar)]
    quantity = graph.quantity
    while stack:
        x = stack[-1]
        if x.number not in known:
            known[x.number] = find(x)
        missing = [a for a in x.args if isinstance(a, Scalar) and known.get(a.number) is None]
        if known[x.number] is None and not missing:
            graph.quantity = x.quantity
            known[x.number] = copied(
                graph, x, [known[a.number] if isinstance(a, Scalar) else a for a in x.args]
            )
        if known[x.number] is not None:
            stack.pop()
        else:
            stack += missing
    graph.quantity = quantity
    return [known[x.number] if isinstance(x, Scalar) else x for x in values]
