# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rolled programs of segments: one link stands for all, one segment for all segments of a chain.

Two levels of loops: over the links of a segment, many segments at once, and over the segments. A phase
has a loop over links, then one over segments. Segments have one length: shorter ones end in links that
weigh nothing and whose joints an infinite rotor holds, which changes no bit of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, product
from typing import Any, ClassVar

import numpy as np

from ....errors import PhalanxError
from ....robot.model import Model
from ....spatial import Array, Field
from ....sweeps.links import LinkSweeps
from ....sweeps.orders.segments import CutChain, SegmentSweeps, starts
from ....sweeps.orders.slots import lift
from ....sweeps.verbs import Neighbours, Segments, ordering
from ...ir import Load, Program, Scalar
from ...ops import NEG
from ...quantities import announcing
from ...task import SEGMENTS, TraceTask
from .. import leaves as L
from ..bodies.body import body_arguments
from ..body_graph import LOCAL, BodyGraph
from ..heavy_path_tables import HeavyPathRows
from ..stages.bodies import Stage
from ..stages.loops import BodyLoop, Once
from ..sweeps.indexing import chosen, rebuilt, scalars
from ..sweeps.order import CarriedScalar, Rolled
from .build import build_stage
from .halving import CutLinks
from .layout import SegmentBuilder
from .link import placing, segment_link
from .plan import ChainPlan, LinkPlan, staged
from .rows import RowLevels, build_levels


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
    width: int = 1  # results of each link
    sent: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # to neighbours, one output a message

    one_state: ClassVar[bool] = True  # lanes are segments of one state, never states
    reordered: ClassVar[bool] = False

    def alone(self, lanes: int = 8) -> None:
        """None: a program of segments has one state in any case."""

    def built(self, lanes: int = 8, *, lockstep: bool = True) -> Program:
        """The program with `lanes` segments side by side, in lockstep like SIMD lanes or independently."""
        return self._built(SegmentBuilder(self, lanes, lockstep=lockstep), [])

    def between_messages(self, lanes: int = 8) -> list[Program]:
        """The program cut where messages are exchanged: programs on the same memory, to be run in order."""
        cuts: list[int] = []
        whole = self._built(SegmentBuilder(self, lanes), cuts)
        for buffer in whole.scratch:
            buffer.given = True  # by the program before
        return [replace(whole, body=whole.body[a:b]) for a, b in pairwise([0, *cuts, len(whole.body)])]

    def _built(self, b: SegmentBuilder, cuts: list[int]) -> Program:
        """The program; `cuts` gets the number of statements before each message is received."""
        b.spread_all()
        for over, stage in self.stages:
            if isinstance(stage, RowLevels):
                build_levels(b, stage)
                continue
            assert isinstance(stage, BodyLoop | Once)
            if f"received{len(cuts)}" in _read(stage):
                cuts.append(b.length)
            build_stage(b, over, stage)
        b.gather()
        parameters = sum(table.size for table in self.tables)
        return b.finished(int(self.bodies.max()) + 1, parameters)


def _read(stage: BodyLoop | Once) -> set[str]:
    """The names of the buffers of uniforms that a stage reads."""
    buffers = [s.buffer for s in stage.code.body if type(s) is Load]
    return {leaf.name for leaf in buffers if isinstance(leaf, L.Global)}


def roll_segments(task: TraceTask) -> SegmentProgram:
    """The loops of an algorithm that cuts a chain into segments."""
    order = WholeChain(task.model, task.segments or task.arguments.get(SEGMENTS))
    link, given, more = body_arguments(order.link, task)
    more = {name: order.parts.shared(x) if name in task.optional else x for name, x in more.items()}
    if task.is_part:
        order.neighbours = RolledNeighbours(order.parts.chain.graph)
        more["neighbours"] = order.neighbours
    run = announcing(task.algorithm.run, order.parts.links.graph, task.function.symbol)
    with ordering(order):
        result = replace(task.algorithm, run=run).with_rotors(link, given, more)
    return order.planned(task, result)


class WholeChain(CutChain):
    """The order of a chain that is cut; its links and its segments record the sweeps."""

    parts: SymbolicSegments
    neighbours: RolledNeighbours | None = None  # of a part of a chain

    def __init__(self, model: Model, count: int | None) -> None:
        first = starts(model.links, count)
        lengths = np.diff(first, append=model.n)
        place = np.arange(lengths.max())
        self.bodies = np.where(place < lengths[:, None], first[:, None] + place, -1)
        super().__init__(SymbolicSegments(*self.bodies.shape))
        self.link = segment_link(self.parts.links, model, self.bodies)
        self._arriving: list[tuple[CarriedScalar, Any]] = []  # with values before, or beyond, the chain

    @cached_property
    def heads(self) -> Any:
        """One at the first link of each segment, else zero."""
        first = np.zeros(self.bodies.shape)
        first[:, 0] = 1.0
        return self.parts.links.graph.param(first.ravel())

    @cached_property
    def fills(self) -> Any:
        """One at links that fill up a segment, else zero."""
        return self.parts.links.graph.param((self.bodies < 0).astype(float).ravel())

    def segments(self, count: int | None, ends: Any) -> Segments:
        return self.parts

    def links(self, model: Model) -> LinkSweeps:
        return CutLinks(self)

    def is_same(self, a: Any, b: Any) -> bool:
        return all(x is y or x == y for x, y in zip(scalars(a), scalars(b), strict=True))

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        x = super().propagate(X, c, root, through, plus)
        return self._recorded(x, x, root)

    def accumulate(self, X: Any, c: Any) -> Any:
        y = super().accumulate(X, c)
        self._recorded(y, X.T @ y, None)
        return y

    def scan(self, join: Callable[[Any, Any], Any], elements: Any, root: Any, reverse: bool) -> Any:
        x = super().scan(join, elements, root, reverse)
        return self._recorded(x, x, root)

    def _recorded(self, x: Any, source: Any, root: Any) -> Any:
        """x, whose loop hands on `source` from link to link: neighbours need no loop of their own."""
        links = self.parts.links
        at_root = [0.0] * len(links.newest) if root is None else list(scalars(lift(root)))
        if len(at_root) == len(links.newest):
            self._arriving += zip(links.newest, at_root, strict=True)
        return x

    def identity(self, join: Callable[[Any, Any], Any], elements: Any, reverse: bool) -> Any:
        """The element that `join` leaves out: its square matrices are zero or one, all else is zero."""
        if not isinstance(elements, Field):
            return None
        shapes = [array.shape[1:] for array, _ in elements.arrays()]
        square = [
            rank == 2 and shape[0] == shape[1]
            for (_, rank), shape in zip(elements.arrays(), shapes, strict=True)
        ]
        if sum(square) > 1:
            return None
        for ones in product(*((True, False) if is_square else (False,) for is_square in square)):
            arrays = [
                (np.eye(shape[0]) if one else np.zeros(shape)).astype(object)
                for one, shape in zip(ones, shapes, strict=True)
            ]
            unit = type(elements)(*arrays)
            own = lift(unit)
            joined = join(elements, own) if reverse else join(own, elements)
            if self.is_same(joined, elements):
                return unit
        return None

    def parent(self, x: Array, root: Any) -> Array:
        known = self._neighbours(x, root, outward=True)
        return super().parent(x, root) if known is None else known

    def children(self, x: Any, tip: Any) -> Any:
        known = self._neighbours(x, tip, outward=False)
        return super().children(x, tip) if known is None else known

    def link_before(self, x: Array, root: Any) -> Array:
        """As `parent`, of links; padding links pass on the value of the link before them."""
        known = self._neighbours(x, root, outward=True, of_links=True)
        if known is not None:
            return known
        if isinstance(self.fills, Scalar):
            x = chosen(self.parts.links.graph, self.fills, self.inside.parent(x, None), x)
        return super().parent(x, root)

    def link_behind(self, x: Array) -> Array:
        """As `children`, of links; padding links pass on the value of the link behind them."""
        known = self._neighbours(x, None, outward=False, of_links=True)
        if known is not None:
            return known
        beyond = self.parts.chain.children(self.parts.first(x), None)
        return self.parts.links.children(x, beyond, fills=self.fills)

    def _neighbours(self, x: Any, root: Any, *, outward: bool, of_links: bool = False) -> Any:
        """The values of links before (or behind), if constants or some loop's own; else None."""
        links, own = self.parts.links, list(scalars(x))
        roots = [0.0] * len(own) if root is None else list(scalars(lift(root)))
        made = []
        for value, at_root in zip(own, roots, strict=True):
            column = None if isinstance(at_root, Scalar) else _constants(links.graph, value)
            if column is not None:
                made.append(links.graph.param(self._shifted(column, at_root, outward, of_links)))
                continue
            found = (
                carry
                for carry, known in self._arriving
                if carry.source is value
                and carry.outward == outward
                and (known is at_root or known == at_root)
            )
            carry = next(found, None)
            if carry is None:
                return None
            made.append(links.leaf_of(carry))
        return rebuilt(x, made)

    def _shifted(self, column: np.ndarray, root: float, outward: bool, of_links: bool) -> np.ndarray:
        """The constants before (or behind) each row; `of_links`, those of rows that fill up are left out."""
        bodies = np.arange(self.bodies.size)
        rows = bodies
        if of_links:
            rows = np.flatnonzero(self.bodies.ravel() >= 0)
            bodies = np.maximum.accumulate(self.bodies, axis=1).ravel()
        before = (self.bodies.ravel() >= 0) | (not of_links)  # what fills up is behind its own body
        near = bodies - before if outward else bodies + 1
        ends = (near < 0) | (near >= len(rows))
        return np.where(ends, root, column[rows[np.clip(near, 0, len(rows) - 1)]])

    def pick(self, x: Any, body: int) -> Any:
        segment, place = divmod(body, self.parts.longest)
        if place != self.parts.longest - 1:
            raise PhalanxError(
                "segments: only the last link of a segment has a value of its own; leave `batch` out."
            )
        return self.parts.chain.pick(self.parts.last(x), segment)

    def planned(self, task: TraceTask, result: Any) -> SegmentProgram:
        """The program that computes some scalars for each link."""
        parts = self.parts
        links, chain = LinkPlan(parts.links.graph, parts.links), ChainPlan(parts.chain.graph, parts.chain)
        links.chain, chain.links = chain, links
        values = np.asarray(result, dtype=object).ravel().tolist()
        for k, value in enumerate(values):
            links.output(value, L.State(L.OUT, L.OWN, len(values), k))
        messages = RolledNeighbours(chain.graph) if self.neighbours is None else self.neighbours
        for name, sent in zip(messages.outputs, messages.sent, strict=True):
            for k, value in enumerate(sent):
                chain.output(value, L.Global(name, k))
        stages = staged(links, chain)
        stages[:0] = [(False, loop) for loop in placing(links, self.link)]
        return SegmentProgram(
            {**task.shapes, **messages.inputs},
            task.output,
            self.bodies,
            self.link.source.maps,
            (links.graph.table(links.columns), chain.graph.table(chain.columns)),
            (links.columns, chain.columns),
            stages,
            (len(links.slots), len(chain.slots)),
            (len(links.commons), len(chain.commons)),
            len(links.ends),
            len(values),
            messages.outputs,
        )


def _constants(graph: BodyGraph, x: Any) -> np.ndarray | None:
    """The values of x over all links if it is a parameter, a number, or minus one; else None."""
    if isinstance(x, Scalar) and x.op is NEG and graph.is_param(x.args[0]):
        return -graph.column(x.args[0])
    return graph.column(x) if graph.is_param(x) or not isinstance(x, Scalar) else None


class ChainGraph(BodyGraph):
    """The graph of the symbolic segment; its current quantity is that of the graph of links."""

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
    """One symbolic segment for all of them: values pass between its links and itself as leaves."""

    links: SegmentLinks
    chain: RolledSegments

    def __init__(self, count: int, longest: int) -> None:
        self.count, self.longest = count, longest
        self.links = SegmentLinks(self)
        self.chain = RolledSegments(ChainGraph(count, self.links.graph))

    def shared(self, x: Any) -> Any:
        """An input that all links share, as the symbolic segment reads it."""
        return rebuilt(
            x,
            [
                self.chain.graph.placed(v.leaf, phase=LOCAL, common=True)
                if isinstance(v, Scalar) and isinstance(v.leaf, L.Global)
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
            if not isinstance(value, Scalar):
                return value
            if inner.is_param(value):
                return outer.param(inner.column(value).reshape(self.count, self.longest)[:, place])
            is_local, phase = inner.phase(value) == LOCAL, max(inner.phase(value), 0)
            if (phase % 2 == 0) != (place > 0) and self.longest > 1:
                phase += 1  # a loop ends at one link of a segment only
                value = value if is_local else inner.elsewhere(value)
            return outer.placed(L.End(value.number, phase), phase=phase)

        return rebuilt(x, [one(value) for value in scalars(x)])

    def spread(self, x: Any) -> Any:
        inner, outer = self.links.graph, self.chain.graph

        def one(value: Any) -> Any:
            if not isinstance(value, Scalar):
                return value
            return inner.placed(L.Share(value.number), phase=max(outer.phase(value), 0) + 1, common=True)

        return rebuilt(x, [one(value) for value in scalars(x)])


class RolledSegments(Rolled):
    """The sweeps along the segments."""

    def fold_from(
        self, tips: Any, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]
    ) -> Any:
        starts = [lift(tip) for tip in tips]
        phase = self._opened(*state, *local, *starts, outward=False)
        return _folded(self, phase, starts, step, state, local)

    def children(self, x: Any, tip: Any) -> Any:
        tips = None if tip is None else list(scalars(lift(tip)))
        made = []
        for k, value in enumerate(scalars(x)):
            at_tip = 0.0 if tips is None else tips[k]
            inward = (c for c in self.carries if not c.outward and c.source is value)
            known = next((c for c in inward if c.root is at_tip or c.root == at_tip), None)
            if known is None or not isinstance(value, Scalar):
                return super().children(x, tip)
            made.append(self.leaf_of(known))
        return rebuilt(x, made)


class SegmentLinks(Rolled, SegmentSweeps):
    """The sweeps over the links of a segment, whose root is a value of the segment."""

    def __init__(self, parts: SymbolicSegments) -> None:
        super().__init__(BodyGraph(parts.count * parts.longest))
        self.parts = parts
        self.newest: list[CarriedScalar] = []  # loop-carried values of the latest sweep

    def rows_of_heavy_paths(self) -> HeavyPathRows:
        """The rows of the chain; stages have them from the bodies of segments."""
        none = np.zeros(0, dtype=int)
        return HeavyPathRows(none, none, none, none, 0)

    def close(self, carries: list[CarriedScalar], value: Any) -> None:
        super().close(carries, value)
        self.newest = carries

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        return super().propagate(X, c, self._root(root), through, plus)

    def parent(self, x: Array, root: Any) -> Array:
        return super().parent(x, self._root(root))

    def accumulate_from(self, X: Any, c: Any, tips: Any) -> tuple[Any, Any]:
        start = None if tips is None else self.parts.spread(tips)
        arrived, carries = self.carried(c, X, start, start=start, outward=False)
        y = c + arrived
        up = X.T @ y
        self.close(carries, up)
        return y, up

    def children(self, x: Any, tip: Any, fills: Any = 0.0) -> Any:
        start = None if tip is None else self.parts.spread(tip)
        arrived, carries = self.carried(x, start, start=start, outward=False)
        self.close(carries, chosen(self.graph, fills, arrived, x))
        return arrived

    def scan_from(
        self, join: Callable[[Any, Any], Any], elements: Any, root: Any, reverse: bool, *, all_rooted: bool
    ) -> Any:
        start = None if root is None else self.parts.spread(root)
        like = elements if start is None else start
        known, carries = self.carried(like, elements, start=start, outward=not reverse)
        x = join(elements, known) if reverse else join(known, elements)
        if start is None or not all_rooted:
            begins = np.zeros((self.parts.count, self.parts.longest))
            begins[:, -1 if reverse else 0] = 1.0
            if start is not None:
                begins[slice(0, -1) if reverse else slice(1, None)] = 0.0
            x = chosen(self.graph, self.graph.param(begins.ravel()), elements, x)
        self.close(carries, x)
        return x

    def fold(self, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]) -> Any:
        return self.fold_from((None,) * len(state), step, state, local)

    def fold_from(
        self, tips: Any, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]
    ) -> Any:
        starts = [tip if tip is None else self.parts.spread(tip) for tip in tips]
        phase = self._opened(*state, *local, *starts, outward=False)
        while any(carry.phase == phase for carry in self.carries):
            phase += 2  # two folds in one loop need more registers than there are
        return _folded(self, phase, starts, step, state, local)

    def _root(self, root: Any) -> Any:
        if root is None:
            return None
        root = self.parts.spread(root)
        return root[0] if isinstance(root, Field) else root[..., 0, :]


def _folded(
    order: Rolled,
    phase: int,
    starts: list[Any],
    step: Callable[..., Any],
    state: tuple[Any, ...],
    local: tuple[Any, ...],
) -> Any:
    """Record a fold in the loop of a phase; `starts` are the initial values that arrive, None for zeros."""
    arrived = [order._carried(s, phase, start) for s, start in zip(state, starts, strict=True)]
    up, kept = step(tuple(s + a for s, (a, _) in zip(state, arrived, strict=True)), *local)
    for (_, leaves), value in zip(arrived, up, strict=True):
        order.close(leaves, value)
    return kept


class RolledNeighbours(Neighbours):
    """Messages of a program: outputs are sent; inputs are received, and known one phase later."""

    def __init__(self, graph: BodyGraph) -> None:
        self.graph = graph
        self.sent: list[list[Any]] = []
        self.received: list[int] = []

    def exchange(self, sent: tuple[Any, ...], like: tuple[Any, ...]) -> tuple[Any, ...]:
        values = [value for x in sent for value in scalars(x)]
        phase = max([self.graph.phase(value) for value in values]) + 1
        name, made, count = f"received{len(self.sent)}", [], 0
        for x in like:
            size = sum(1 for _ in scalars(x))
            leaves = [L.Global(name, k) for k in range(count, count + size)]
            made.append(rebuilt(x, [self.graph.placed(a, phase=phase, common=True) for a in leaves]))
            count += size
        self.sent.append(values)
        self.received.append(count)
        return tuple(made)

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the received messages."""
        return {f"received{k}": (count,) for k, count in enumerate(self.received)}

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the sent messages."""
        return {f"sent{k}": (len(values),) for k, values in enumerate(self.sent)}
