# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Eliminations on rows of links: loops over limbs, in each a loop over levels, in each loops over some rows.

On the level of distance h = 1, 2, 4, … every second of the rows 0, h, 2h, … goes, or every row meets
those h before and after it. Values of rows are kept in slots and change in place; a step is traced once,
on rows that stand for all, and says which rows it visits and where their neighbours are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from ...scalar import Node
from .. import leaves as L
from ..graph import BodyGraph, copied
from .indexing import each, elsewhere, rebuilt, scalars

Changes = list[tuple[Any, Node, int]]  # value, variable, operand
Keys = list[Any]  # for each scalar of a field; scalars of one key share a variable, those without have none
Made = TypeVar("Made")


@dataclass(frozen=True)
class Change:
    """What a step does: which rows it visits, where its operands are, and what they become."""

    rows: str  # ODD or EVEN multiples of h, ALL rows, the FIRST one, LADEN ones, or the WORLD
    offsets: tuple[int, ...]  # of the operands, in units of h
    values: Changes
    carrier: bool = False  # whether the link that carries the limb is one more operand


@dataclass
class Elimination:
    """Variables of rows and the steps that change them.

    Steps `before` all limbs, at the `start` of each, on its levels, and the `last` ones after these.
    """

    graph: BodyGraph
    number: int
    phase: int
    linked: bool  # whether rows are the last bodies of joints only
    outward: bool = False  # whether levels run from the largest h to the smallest
    initial: list[tuple[Node, Any]] = field(default_factory=list)
    before: list[Change] = field(default_factory=list)
    start: list[Change] = field(default_factory=list)
    steps: list[Change] = field(default_factory=list)
    last: list[Change] = field(default_factory=list)
    count: int = 0

    # ------------------------------------------------------------------ variables

    def variables(self, like: Any) -> Any:
        """A variable for each scalar of a field."""
        return each(like, lambda _: self._variable())

    def _variable(self) -> Node:
        self.count += 1
        leaf = L.Variable(self.number, self.count - 1)
        return self.graph.placed(leaf, phase=self.phase, linked=self.linked)

    def owns(self, x: Any) -> bool:
        """Whether x is a variable of this elimination."""
        return type(x) is Node and isinstance(x.leaf, L.Variable) and x.leaf.elimination == self.number

    def held(self, f: Any, keys: Keys, otherwise: list[Any]) -> Any:
        """The field with a variable for each key, and with other values where there is none."""
        made = {key: self._variable() for key in dict.fromkeys(keys) if key is not None}
        return rebuilt(f, [made.get(key, x) for key, x in zip(keys, otherwise, strict=True)])

    def kept(self, values: Any, spare: Any = None) -> tuple[Any, Changes]:
        """Variables that keep values of a row, and how they become these.

        Equal values share one, numbers need none, and what is a variable of the row already stays there.
        Variables of `spare` are taken first.
        """
        made = dict[int, Node]()
        for x in scalars(values):
            if type(x) is Node and isinstance(x.leaf, L.Gathered) and x.leaf.whose == 0:
                variable = self.graph.nodes[x.leaf.node]
                if self.owns(variable):
                    made[x.number] = variable
        taken = {x.number for x in made.values()}
        free = {x.number: x for x in scalars(spare) if self.owns(x) and x.number not in taken}
        unused, changes = list(free.values())[::-1], Changes()
        for x in scalars(values):
            if type(x) is Node and x.number not in made:
                made[x.number] = unused.pop() if unused else self._variable()
                changes.append((x, made[x.number], 0))
        return each(values, lambda x: made[x.number] if type(x) is Node else x), changes

    def becomes(self, variables: Any, values: Any, operand: int = 0) -> Changes:
        """What variables of an operand become."""
        seen = dict[int, tuple[Any, Node, int]]()
        for variable, value in zip(scalars(variables), scalars(values), strict=True):
            if self.owns(variable) and value is not elsewhere(self.graph, variable, operand):
                seen.setdefault(variable.number, (value, variable, operand))
        return list(seen.values())

    # ------------------------------------------------------------------ operands

    def at(self, operand: int, f: Any) -> Any:
        """A field as an operand has it."""
        return each(f, lambda x: elsewhere(self.graph, x, operand))

    def inside(self, operand: int, f: Any) -> Any:
        """The field, and zero where an operand would lie beyond the ends."""
        within = self.graph.leaf(L.InBounds(operand))
        return each(f, lambda x: self.graph.choose(within, x, 0.0))

    def moved(self, operand: int, f: Any) -> Any:
        """What has been computed from a row, as computed from another operand."""

        def there(x: Node) -> Any:
            if isinstance(x.leaf, L.Gathered):
                return self.graph.leaf(L.Gathered(x.leaf.node, operand))
            if isinstance(x.leaf, L.Param):
                return self.graph.leaf(L.Param(x.leaf.column, operand))
            return x if self.graph.common(x) else None

        return rebuilt(f, computed(self.graph, list(scalars(f)), there))


# ------------------------------------------------------------------- which scalars need variables


def classes(f: Any) -> Keys:
    """A key for each scalar: equal for equal scalars of the same array, such as those of a symmetric one."""
    arrays = [np.asarray(array, dtype=object).ravel().tolist() for array, _ in f.arrays()]
    numbers = [k for k, array in enumerate(arrays) for _ in array]
    return split(numbers, [x for array in arrays for x in array])


def split(keys: Keys, values: list[Any]) -> Keys:
    """A key for each scalar that has one: equal for those whose keys and values are equal."""
    first = dict[Any, int]()
    told = [x.number if type(x) is Node else ("constant", float(x)) for x in values]
    pairs = enumerate(zip(keys, told, strict=True))
    return [None if key is None else first.setdefault((key, name), k) for k, (key, name) in pairs]


def refined(keys: Keys, own: list[Any], loaded: list[bool], written: list[tuple[Any, Any]]) -> Keys:
    """Keys that tell apart what steps make different; none for what no step changes.

    `written`: fields as steps found and left them. What is `loaded` needs a variable in any case.
    """
    changed = list(loaded)
    for found, left in written:
        for k, (x, a, b) in enumerate(zip(own, scalars(found), scalars(left), strict=True)):
            changed[k] |= not (a is b or (type(x) is not Node and x == b))
    keys = [key if more else None for key, more in zip(keys, changed, strict=True)]
    for _, left in written:
        keys = split(keys, list(scalars(left)))
    return keys


def settled(keys: Keys, attempt: Callable[[Keys], tuple[Keys, Made]]) -> Made:
    """What an attempt makes with keys that it leaves as they are."""
    while True:
        again, made = attempt(keys)
        if again == keys:
            return made
        keys = again


def computed(graph: BodyGraph, values: list[Any], find: Callable[[Node], Any]) -> list[Any]:
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
