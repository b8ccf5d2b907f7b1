# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs over the bodies of a robot under construction: where bodies find their values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ...form.builder import Builder, Leaf, Values
from ...form.program import Buffer, Index, Real, Table, alike, plus, times
from ...ops import INPUT
from ...rewrite import Code
from ...task import UNIFORM
from .. import leaves as L
from ..bodies.joints import CoupledJoints
from ..heavy_path_tables import HeavyPathRows

LINKS = "links"  # the map that lists the last bodies of joints
END = "end of joint"  # from a body to the last one of its joint
CARRIER = "carrier of joint"  # from a body to the one on which its joint sits
DOF = "degree of freedom"  # from a body to the one that moves it
JOINT = "joint"  # from a body to the degree of freedom that it has first; others to one past the last

Where = Mapping[L.Whose, Index]  # the bodies that a round of a loop knows

_STRIP = 4  # registers in a strip of a matrix: narrow strips touch too many lines of cache


def settle(
    b: Builder, code: Code, targets: list[L.Leaf], leaf: Leaf, write: Callable[[L.Leaf, Real, str], None]
) -> None:
    """Append instructions and `write(target, value, quantity)` each result as soon as it is there.

    What the instructions read themselves changes only when all of them are done.
    """
    read = {i.args[0].slot for i in code.instructions if i.op == INPUT and isinstance(i.args[0], L.SpillSlot)}
    at_once: dict[int, list[L.Leaf]] = defaultdict(list)
    in_the_end: list[tuple[L.Leaf, Any]] = []
    for target, x in zip(targets, code.results, strict=True):
        changes = isinstance(target, L.SpillSlot) and target.slot in read
        if changes or not isinstance(x, int) or code.instructions[x].op == INPUT:
            in_the_end.append((target, x))
        else:
            at_once[x].append(target)
    values = Values(b, code, leaf)
    for number in values.written():
        for target in at_once[number]:
            write(target, values(number), code.instructions[number].quantity)
    for target, x in in_the_end:
        write(target, values(x), code.instructions[x].quantity if isinstance(x, int) else "")


class Stage(ABC):
    """A part of a program that runs after the one before it."""

    @property
    def written(self) -> tuple[str, ...]:
        """The outputs that it writes itself, whole."""
        return ()

    @abstractmethod
    def build(self, b: BodyBuilder) -> None:
        """Append the statements of the stage."""


@dataclass(frozen=True)
class StageLayout:
    """What stages find: sizes, tables and maps of one robot and algorithm."""

    inputs: Mapping[str, tuple[int, ...]]
    outputs: Mapping[str, tuple[int, ...]]
    n: int
    parents: np.ndarray | None  # None: a chain
    table: np.ndarray  # (n, columns)
    columns: Mapping[int, int]  # number of a parameter to its column in the table
    maps: Mapping[str, np.ndarray]
    slots: int
    commons: int
    joints: CoupledJoints | None = None  # the degrees of freedom of a robot with mimic joints
    heavy_paths: HeavyPathRows | None = None  # where they stand, if some stage visits limbs
    told: int = 0  # numbers that are told with a call, for all states alike

    @cached_property
    def depth(self) -> np.ndarray:
        """Number of ancestors of each body."""
        depth = np.arange(self.n)
        for i, p in enumerate([] if self.parents is None else self.parents.tolist()):
            depth[i] = 0 if p < 0 else depth[p] + 1
        return depth


class BodyBuilder(Builder):
    """A program over bodies, one body after another; all values of a body lie side by side.

    If its one state is `alone`, parts of it have bodies side by side; what these read of others is alike.
    """

    def __init__(self, layout: StageLayout, lanes: int, *, alone: bool = False) -> None:
        super().__init__(layout.inputs, layout.outputs, lanes if alone else 1, lanes)
        self.alone = alone
        self.layout = layout
        self.strip = _STRIP * lanes  # rows of a matrix that are kept while it is written
        self.n = layout.n
        spare = layout.joints is not None  # bodies without a rate of their own read a zero past the end
        for name, shape in () if alone else layout.inputs.items():
            target = self.region(name, prod(shape) + spare, given=True)
            self.move(target, 0, self.inputs[name], 0, prod(shape))
            if spare:
                self.store(target, prod(shape), 0.0)
        # One row is the world, if limbs hang on each other.
        rows = layout.n + (layout.heavy_paths is not None and layout.heavy_paths.branches)
        self.slots = self.region("slots", rows * layout.slots)
        self.commons = self.region(L.COMMONS, layout.commons)
        self.parameters = self.table("parameters", layout.table)

    # ------------------------------------------------------------- bodies

    def mapped(self, map: str, body: Index) -> Index:
        """Where a map sends a body."""
        return body if map == L.OWN else self.entry(map, self.layout.maps[map], body)

    def parent(self, body: Index) -> Index:
        parents = self.layout.parents
        return plus(body, -1) if parents is None else self.entry("parent", parents, body)

    @property
    def tree(self) -> BodyBuilder | None:
        """This builder, if bodies branch."""
        return None if self.layout.parents is None else self

    def kept(self, body: Index, slot: int) -> Index:
        """The place of a slot of a body."""
        return plus(times(body, self.layout.slots), slot)

    def value_of(self, body: Index, kept: int | float) -> Real:
        """A constant, or what a slot holds at a body."""
        return kept if isinstance(kept, float) else self.read(L.SpillSlot(kept), {L.OWN: body})

    # ------------------------------------------------------------- leaves and targets

    def read(self, leaf: L.Leaf, where: Where) -> Real:
        """What a leaf stands for."""
        region, index = self.place(leaf, where)
        return self.load(region, alike(index) if self.alone else index)

    def write(self, target: L.Leaf, where: Where, value: Real, quantity: str = "") -> None:
        """Put a value where it goes."""
        region, index = self.place(target, where)
        assert isinstance(region, Buffer)
        if isinstance(target, L.Added):
            self.add_to(region, index, value, quantity)
        else:
            self.store(region, index, value)

    def place(self, what: L.Leaf, where: Where) -> tuple[Buffer | Table, Index]:
        """Where a leaf is found, or a result goes."""
        p = self.layout
        if isinstance(what, L.Param):
            row = times(where[what.whose], p.table.shape[1])
            return self.parameters, plus(row, p.columns[what.column])
        if isinstance(what, L.State):
            row = times(self.mapped(what.map, where[L.OWN]), what.width)
            return self.given(what.name, what.width), plus(row, what.offset)
        if isinstance(what, L.SpillSlot):
            return self.slots, self.kept(self.body_of(what.whose, where), what.slot)
        if isinstance(what, L.Total):
            return self.commons, what.number
        if isinstance(what, L.Global):
            return self.given(what.name), what.index
        raise TypeError(f"rolled program: no body finds, or keeps, {what}.")

    def given(self, name: str, width: int = 0) -> Buffer:
        """Where an input lies, or what stands in its place: `width` numbers for each body."""
        if name == UNIFORM:
            return self.uniform(UNIFORM, self.layout.told)
        arguments = self.inputs if self.alone else {}
        return self.regions.get(name) or arguments.get(name) or self.region(name, self.n * width, given=True)

    def body_of(self, whose: L.Whose, where: Where) -> Index:
        """A body that a loop knows, or to which a map leads, or of a given number."""
        if whose in where:
            return where[whose]
        return whose if isinstance(whose, int) else self.mapped(whose, where[L.OWN])
