# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs over the bodies of a robot under construction: where bodies find their values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ...form.builder import Builder
from ...form.builder import Leaf as Read
from ...form.program import Real, Region
from ...form.wholes import Index, plus, times
from ...trace import TOLD
from .. import leaves as L
from ..bodies.joints import Joints
from ..limbs import LimbRows

LINKS = "links"  # the map that lists the last bodies of joints
END = "end of joint"  # from a body to the last one of its joint
CARRIER = "carrier of joint"  # from a body to the one on which its joint sits


class Stage(ABC):
    """A part of a program that runs after the one before it."""

    @abstractmethod
    def build(self, b: BodyBuilder) -> None:
        """Append the statements of the stage."""


@dataclass(frozen=True)
class Layout:
    """What stages find: sizes, tables and maps of one robot and algorithm."""

    inputs: Mapping[str, tuple[int, ...]]
    output: tuple[int, ...]
    n: int
    parents: np.ndarray | None  # None: a chain
    table: np.ndarray  # (n, columns)
    columns: Mapping[int, int]  # number of a parameter to its column in the table
    maps: Mapping[str, np.ndarray]
    slots: int
    commons: int
    angles: int
    carries: Mapping[int, int]  # outward ones: place among the values that a tree keeps
    arrivals: Mapping[int, int]  # inward ones
    joints: Joints | None = None  # the degrees of freedom of a robot with mimic joints
    limbs: LimbRows | None = None  # where they stand, if some stage visits limbs
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

    With `lanes`, parts of it have bodies of one state side by side; what these read of others is alike.
    """

    def __init__(self, layout: Layout, strip: int, lanes: int = 1) -> None:
        super().__init__(layout.inputs, {"out": layout.output}, lanes)
        self.layout = layout
        self.strip = strip  # rows of a matrix that are kept while it is written
        self.n = layout.n
        spare = layout.joints is not None  # bodies without a rate of their own read a zero past the end
        for name, shape in layout.inputs.items() if lanes == 1 else ():
            target = self.region(name, prod(shape) + spare, given=True)
            self.move(target, 0, self.inputs[name], 0, prod(shape))
            if spare:
                self.store(target, prod(shape), 0.0)
        # One row is the world, if limbs hang on each other.
        rows = layout.n + (layout.limbs is not None and layout.limbs.branches)
        self.slots = self.region("slots", rows * layout.slots)
        self.commons = self.region("commons", layout.commons)
        self.angles = self.region("angles", 2 * layout.n * layout.angles)
        self.parameters = self.table("parameters", layout.table)

    # ------------------------------------------------------------- bodies

    def mapped(self, map: str, body: Index) -> Index:
        """Where a map sends a body."""
        return body if map == L.OWN else self.entry(map, self.layout.maps[map], body)

    def parent(self, body: Index) -> Index:
        parents = self.layout.parents
        return plus(body, -1) if parents is None else self.entry("parent", parents, body)

    def slot_of_parent(self, body: Index, *, linked: bool = False) -> Index:
        """The number of the parent, or of the link before, plus one, since the world comes first."""
        return plus(self.mapped(CARRIER, body) if linked else self.parent(body), 1)

    def kept(self, body: Index, slot: int) -> Index:
        """The place of a slot of a body."""
        return plus(times(body, self.layout.slots), slot)

    def value_of(self, body: Index, kept: int | float) -> Real:
        """A constant, or what a slot holds at a body."""
        return kept if isinstance(kept, float) else self.load(self.slots, self.kept(body, kept))

    def root(self, value: Any) -> Real:
        """The value at the world: a constant or a common one."""
        return self.read(value, {}) if isinstance(value, L.Leaf) else float(value)

    # ------------------------------------------------------------- leaves

    def given(self, name: str) -> Region:
        """Where an input lies."""
        return self.regions[name] if name in self.regions else self.inputs[name]

    def load(self, region: Region, index: Index, *, alike: bool | None = None) -> Real:
        return super().load(region, index, alike=self.lanes > 1 if alike is None else alike)

    def reader(self, where: Mapping[L.Whose, Index], given: Mapping[Any, Real] | None = None) -> Read:
        """What is found from some bodies; some leaves are given."""
        known = given or {}
        return lambda leaf: known[leaf] if leaf in known else self.read(leaf, where)

    def read(self, leaf: L.Leaf, where: Mapping[L.Whose, Index]) -> Real:
        """What a leaf stands for."""
        p = self.layout
        if isinstance(leaf, L.Param):
            row = times(where[leaf.whose], p.table.shape[1])
            return self.number(self.parameters, plus(row, p.columns[leaf.column]))
        if isinstance(leaf, L.State):
            row = times(self.mapped(leaf.map, where[L.OWN]), leaf.width)
            return self.load(self.given(leaf.name), plus(row, leaf.offset))
        if isinstance(leaf, L.Slot):
            body = where[leaf.whose] if leaf.whose in where else self.mapped(str(leaf.whose), where[L.OWN])
            return self.load(self.slots, self.kept(body, leaf.slot))
        if isinstance(leaf, L.SlotAt):
            return self.load(self.slots, self.kept(leaf.body, leaf.slot))
        if isinstance(leaf, L.Turned):
            return self.load(self.angles, plus(self.angle(where[L.OWN], leaf.number), int(not leaf.sine)))
        if isinstance(leaf, L.Common):
            return self.load(self.commons, leaf.number)
        if isinstance(leaf, L.Told):
            at = leaf.number if leaf.to_all else plus(where[L.OWN], leaf.number)
            return self.load(self.uniform(TOLD, p.told), at)
        if isinstance(leaf, L.Global):
            return self.load(self.given(leaf.name), leaf.index)
        raise TypeError(f"rolled program: no body finds {leaf}.")

    def angle(self, body: Index, number: int) -> Index:
        """The place of the sine of an angle, before its cosine."""
        return plus(times(body, 2 * self.layout.angles), 2 * number)
