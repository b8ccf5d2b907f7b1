# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rolled programs of segments: one link stands for all, one segment for all segments of a chain.

Two levels of loops: over the links of a segment, many segments at once, and over the segments. A phase
has a loop over links, then one over segments. Segments have one length: shorter ones end in links that
weigh nothing and whose joints an infinite rotor holds, which changes no bit of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....errors import PhalanxError
from ....robot.model import Model
from ....spatial import Array, Field
from ....sweeps.orders.segments import starts
from ....sweeps.verbs import Order, Segments, ordering
from ...form.program import Program
from ...quantities import announcing
from ...scalar import Node
from ...task import TraceTask
from .. import leaves as L
from ..bodies.body import body_arguments
from ..graph import LOCAL, BodyGraph
from ..stages.bodies import Stage
from ..stages.loops import BodyLoop, Once
from ..sweeps.indexing import rebuilt, scalars
from ..sweeps.order import Rolled
from .build import build_stage
from .layout import SegmentBuilder
from .link import placing, segment_link
from .plan import ChainPlan, LinkPlan, staged


@dataclass(frozen=True)
class SegmentProgram:
    """What an emitter needs: for links and for segments their tables, and all stages in order.

    Rows of links are those of segment 0, then of segment 1, and so on. Where some joints are not
    one-degree-of-freedom screws, transforms are inputs, too. A loop over all links gives them their
    constants; one over the rows of such a motion (`BodyLoop.bodies`) then puts its own in their place.
    """

    inputs: Mapping[str, tuple[int, ...]]
    output: tuple[int, ...]
    bodies: np.ndarray  # (segments, longest): the body of each row, -1 for links that fill up
    maps: Mapping[str, np.ndarray]  # (segments * longest,)
    tables: tuple[np.ndarray, np.ndarray]  # (rows, columns) of links and of segments
    columns: tuple[Mapping[int, int], Mapping[int, int]]
    stages: list[tuple[bool, Stage]]  # whether over segments, and the stage
    slots: tuple[int, int]
    commons: tuple[int, int]
    ends: int

    def built(self, lanes: int = 8, *, lockstep: bool = True) -> Program:
        """The program, with so many segments side by side, in lockstep as lanes of registers are, or not."""
        b = SegmentBuilder(self, lanes, lockstep=lockstep)
        b.spread_all()
        for over, stage in self.stages:
            assert isinstance(stage, BodyLoop | Once)
            build_stage(b, over, stage)
        b.gather()
        parameters = sum(table.size for table in self.tables)
        return b.finished(int(self.bodies.max()) + 1, parameters)


def roll_segments(task: TraceTask) -> SegmentProgram:
    """The loops of an algorithm that cuts a chain into segments."""
    order = WholeChain(task.model, task.arguments.get("segments"))
    link = order.link
    _, given, more = body_arguments(link, task)
    more = {name: order.parts.shared(x) if name in task.optional else x for name, x in more.items()}
    run = announcing(task.algorithm.run, order.parts.links.graph, task.function.symbol)
    with ordering(order):
        result = replace(task.algorithm, run=run).with_rotors(link, given, more)
    return order.planned(task, result)


class WholeChain(Order):
    """The order of a chain that is only ever cut; its links and its segments record the sweeps."""

    def __init__(self, model: Model, count: int | None) -> None:
        first = starts(model.links, count)
        lengths = np.diff(first, append=model.n)
        place = np.arange(lengths.max())
        self.bodies = np.where(place < lengths[:, None], first[:, None] + place, -1)
        self.parts = SymbolicSegments(*self.bodies.shape)
        self.link = segment_link(self.parts.links, model, self.bodies)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise PhalanxError("rolled code: an algorithm of segments sweeps inside or along them only.")

    propagate = accumulate = fold = pairs = scan = paths = relay = parent = children = _refuse
    pick = total = eliminate = substitute = _refuse

    def segments(self, count: int | None, ends: Any) -> Segments:
        return self.parts

    def planned(self, task: TraceTask, result: Any) -> SegmentProgram:
        """The program that computes one scalar per link."""
        parts = self.parts
        links, chain = LinkPlan(parts.links.graph, parts.links), ChainPlan(parts.chain.graph, parts.chain)
        links.chain, chain.links = chain, links
        (value,) = np.asarray(result, dtype=object).ravel().tolist()
        links.output(value, L.State(L.OUT, L.OWN, 1, 0))
        stages = staged(links, chain)
        stages[:0] = [(False, loop) for loop in placing(links, self.link)]
        return SegmentProgram(
            task.shapes,
            task.output,
            self.bodies,
            self.link.source.maps,
            (links.graph.table(links.columns), chain.graph.table(chain.columns)),
            (links.columns, chain.columns),
            stages,
            (len(links.slots), len(chain.slots)),
            (len(links.commons), len(chain.commons)),
            len(links.ends),
        )


class ChainGraph(BodyGraph):
    """The graph of segments: the quantity under way is told by that of links."""

    def __init__(self, n: int, links: BodyGraph) -> None:
        self._links = links
        super().__init__(n)

    @property
    def quantity(self) -> str:
        return self._links.quantity

    @quantity.setter
    def quantity(self, name: str) -> None:
        self._links.quantity = name


class SymbolicSegments(Segments):
    """One segment that stands for all: values pass between its links and itself as leaves."""

    links: SegmentLinks
    chain: Rolled

    def __init__(self, count: int, longest: int) -> None:
        self.count, self.longest = count, longest
        self.links = SegmentLinks(self)
        self.chain = Rolled(ChainGraph(count, self.links.graph))

    def shared(self, x: Any) -> Any:
        """An input; what all links share, only the segments read."""
        return rebuilt(
            x,
            [
                self.chain.graph.placed(v.leaf, phase=LOCAL, common=True)
                if type(v) is Node and isinstance(v.leaf, L.Global)
                else v
                for v in scalars(x)
            ],
        )

    def first(self, x: Any) -> Any:
        return self._at(x, 0)

    def last(self, x: Any) -> Any:
        return self._at(x, self.longest - 1)

    def _at(self, x: Any, place: int) -> Any:
        inner, outer = self.links.graph, self.chain.graph

        def one(value: Any) -> Any:
            if type(value) is not Node:
                return value
            if inner.is_param(value):
                return outer.param(inner.column(value).reshape(self.count, self.longest)[:, place])
            phase = max(inner.phase(value), 0)
            if (phase % 2 == 0) != (place > 0) and self.longest > 1:
                raise PhalanxError("segments: a loop keeps only values at the links where it ends.")
            return outer.placed(L.End(value.number), phase=phase)

        return rebuilt(x, [one(value) for value in scalars(x)])

    def spread(self, x: Any) -> Any:
        inner, outer = self.links.graph, self.chain.graph

        def one(value: Any) -> Any:
            if type(value) is not Node:
                return value
            return inner.placed(L.Share(value.number), phase=max(outer.phase(value), 0) + 1, common=True)

        return rebuilt(x, [one(value) for value in scalars(x)])


class SegmentLinks(Rolled):
    """The sweeps over the links of a segment, whose root is a value of the segment."""

    def __init__(self, parts: SymbolicSegments) -> None:
        super().__init__(BodyGraph(parts.count * parts.longest))
        self.parts = parts

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        return super().propagate(X, c, self._root(root), through, plus)

    def parent(self, x: Array, root: Any) -> Array:
        return super().parent(x, self._root(root))

    def fold(self, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]) -> Any:
        return self.fold_from((None,) * len(state), step, state, local)

    def fold_from(
        self, tips: Any, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]
    ) -> Any:
        phase = self._opened(*state, *local, outward=False)
        while any(carry.phase == phase for carry in self.carries):
            phase += 2  # two folds in one loop need more registers than there are
        starts = [tip if tip is None else self.parts.spread(tip) for tip in tips]
        arrived = [self._carried(s, phase, start) for s, start in zip(state, starts, strict=True)]
        up, kept = step(tuple(s + a for s, (a, _) in zip(state, arrived, strict=True)), *local)
        for (_, leaves), value in zip(arrived, up, strict=True):
            self.close(leaves, value)
        return kept

    def _root(self, root: Any) -> Any:
        if root is None:
            return None
        root = self.parts.spread(root)
        return root[0] if isinstance(root, Field) else root[..., 0, :]
