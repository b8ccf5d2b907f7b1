# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Builds programs over the bodies of a robot: stages, the layout of their data, the addresses of leaves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...builder import Builder, Inlined, Leaf, OpenLoop
from ...ir import UNIFORM, Buffer, Index, Load, Program, Real, Store, Table, Value, alike, plus, times
from .. import leaves as L
from ..heavy_path_tables import HeavyPathRows

if TYPE_CHECKING:
    from ..bodies.body import CoupledJoints

LINKS = "links"  # the map that lists the last bodies of joints
END = "end of joint"  # from a body to the last one of its joint
CARRIER = "carrier of joint"  # from a body to the one on which its joint sits
DOF = "degree of freedom"  # from a body to the degree of freedom that moves it
JOINT = "joint"  # from the first body of a degree of freedom to this; from others to one past the last

Where = Mapping[L.Whose, Index]  # the bodies that a loop iteration can address

_STRIP = 4  # registers in a strip of a matrix: narrow strips touch too many lines of cache


def settle(b: Builder, code: Program, leaf: Leaf, write: Callable[[L.Leaf, Real, str], None]) -> None:
    """Inline a template and `write(target, value, quantity)` each result as soon as it is computed.

    Slots that the template itself reads are written only at its end.
    """
    read = {s.buffer.slot for s in code.body if type(s) is Load and isinstance(s.buffer, L.SpillSlot)}
    at_once: dict[Any, list[L.Leaf]] = defaultdict(list)
    in_the_end: list[Store] = []
    for s in code.body:
        if type(s) is Store:
            target: Any = s.buffer
            changes = isinstance(target, L.SpillSlot) and target.slot in read
            if changes or type(s.value) is not Value:
                in_the_end.append(s)
            else:
                at_once[s.value].append(target)
    values = Inlined(b, lambda s: leaf(s.buffer))
    for s in code.body:
        if type(s) is Value:
            made = values.append(s)
            for target in at_once.get(s, ()):
                write(target, made, s.quantity)
    for s in in_the_end:
        target = s.buffer
        write(target, values(s.value), getattr(s.value, "quantity", ""))


class Stage(ABC):
    """A stage of a rolled program; it runs after the one before it."""

    @property
    def written(self) -> tuple[str, ...]:
        """The outputs that the stage itself writes completely."""
        return ()

    @abstractmethod
    def build(self, b: BodyBuilder) -> None:
        """Append the statements of the stage."""


@dataclass(frozen=True)
class StageLayout:
    """The sizes, tables and maps of one robot and algorithm, which stages read."""

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
    heavy_paths: HeavyPathRows | None = None  # their rows, if some stage visits heavy paths
    uniforms: int = 0  # number of uniforms: passed with a call, the same for all states

    @cached_property
    def depth(self) -> np.ndarray:
        """Number of ancestors of each body."""
        depth = np.arange(self.n)
        for i, p in enumerate([] if self.parents is None else self.parents.tolist()):
            depth[i] = 0 if p < 0 else depth[p] + 1
        return depth


class BodyBuilder(Builder):
    """Builds a program over bodies, one body after another; the values of a body are contiguous.

    If there is one state `alone`, SIMD lanes may be bodies; `read` then loads one value for all lanes.
    """

    def __init__(self, layout: StageLayout, lanes: int, *, alone: bool = False) -> None:
        super().__init__(layout.inputs, layout.outputs, lanes if alone else 1, lanes)
        self.alone = alone
        self.layout = layout
        self.private: Index = 0  # number of the work-item, where each has memory of its own
        self.privates = 1
        self.strip = _STRIP * lanes  # rows of a matrix that are buffered while it is written
        self.n = layout.n
        if not alone:
            self.stage_inputs()
        # One more row is for the world, if heavy paths carry others.
        self.rows = layout.n + (layout.heavy_paths is not None and layout.heavy_paths.branches)
        self.slots = self.buffer("slots", self.rows * layout.slots)
        self.commons = self.buffer(L.COMMONS, layout.commons)
        self.parameters = self.table("parameters", layout.table)

    def stage_inputs(self) -> None:
        """Copy all inputs to buffers of their names."""
        spare = self.layout.joints is not None  # bodies without a rate of their own read a zero past the end
        for name, shape in self.layout.inputs.items():
            target = self.buffer(name, prod(shape) + spare, given=True)
            self.move(target, 0, self.inputs[name], 0, prod(shape))
            if spare:
                self.store(target, prod(shape), 0.0)

    @contextmanager
    def rows_of_strip(self, width: Index) -> Iterator[OpenLoop]:
        """A loop over the rows of a strip of a matrix."""
        with self.loop(width) as loop:
            yield loop

    def over_columns(self, column: Callable[[Index], None]) -> None:
        """Append a loop over all bodies that computes one column of a matrix, or one row, after another."""
        with self.loop(self.n) as loop:
            column(loop.index)

    # ------------------------------------------------------------- bodies

    def mapped(self, map: str, body: Index) -> Index:
        """Return the index to which a map sends a body."""
        return body if map == L.OWN else self.entry(map, self.layout.maps[map], body)

    def parent(self, body: Index) -> Index:
        parents = self.layout.parents
        return plus(body, -1) if parents is None else self.entry("parent", parents, body)

    @property
    def tree(self) -> BodyBuilder | None:
        """This builder, if bodies branch."""
        return None if self.layout.parents is None else self

    def kept(self, body: Index, slot: int) -> Index:
        """Return the index of a slot of a body in the buffer of spill slots."""
        return plus(times(body, self.layout.slots), slot)

    def value_of(self, body: Index, kept: int | float) -> Real:
        """Return a constant (float) as it is, or load the spill slot (int) of a body."""
        return kept if isinstance(kept, float) else self.read(L.SpillSlot(kept), {L.OWN: body})

    # ------------------------------------------------------------- leaves and targets

    def read(self, leaf: L.Leaf, where: Where) -> Real:
        """Load the value of a leaf."""
        buffer, index = self.place(leaf, where)
        return self.load(buffer, alike(index) if self.alone else index)

    def write(self, target: L.Leaf, where: Where, value: Real, quantity: str = "") -> None:
        """Store a value at its target, or add it to an `Added` one."""
        buffer, index = self.place(target, where)
        assert isinstance(buffer, Buffer)
        if isinstance(target, L.Added):
            self.add_to(buffer, index, value, quantity)
        else:
            self.store(buffer, index, value)

    def place(self, what: L.Leaf, where: Where) -> tuple[Buffer | Table, Index]:
        """Return the address of a leaf, or of a target: its buffer or table, and the index there."""
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
        """Return the buffer of that name; if there is none, a new one with `width` scalars per body."""
        if name == UNIFORM:
            return self.uniform(UNIFORM, self.layout.uniforms)
        arguments = self.inputs if self.alone else {}
        return self.buffers.get(name) or arguments.get(name) or self.buffer(name, self.n * width, given=True)

    def body_of(self, whose: L.Whose, where: Where) -> Index:
        """Return the body of a role in a loop, the one to which a map leads, or the one of a given number."""
        if whose in where:
            return where[whose]
        return whose if isinstance(whose, int) else self.mapped(whose, where[L.OWN])
