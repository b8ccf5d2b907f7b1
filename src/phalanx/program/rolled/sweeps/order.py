# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The sweeps on one symbolic body: each is recorded as loop-carried values, from body to body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....errors import PhalanxError
from ....spatial import Array, Field
from ....sweeps.orders.slots import lift
from ....sweeps.triangle import JoinLevels as Levels
from ....sweeps.triangle import Sums
from ....sweeps.verbs import Order
from ...ir import Scalar
from .. import leaves as L
from ..body_graph import LOCAL, BodyGraph
from ..heavy_path_tables import HeavyPathRows, heavy_path_rows
from .elimination import Elimination
from .indexing import HERE, THIRD, ChainPairs, chosen, each, elsewhere, rebuilt, scalars
from .links import OneLink
from .matrices import AncestorLoop, InverseRows, LoopedEntries, Matrix, Walks, box, several


@dataclass
class CarriedScalar:
    """A loop-carried scalar: from parent to child (outward), or summed from children to parent."""

    number: int
    phase: int
    root: Any  # the world's value of an outward one
    source: Any = None
    paired: bool = False  # whether it is carried from pair to pair of a column
    linked: bool = False  # whether it is carried from link to link, past the other bodies of joints

    @property
    def outward(self) -> bool:
        return self.phase % 2 == 0


class SerialPaths:
    """The operator that sums over the ancestors of each body, or its transpose, as a serial loop."""

    def __init__(self, order: Rolled, X: Any, *, back: bool = False) -> None:
        self.order, self.X, self.back = order, X, back

    def __matmul__(self, c: Any) -> Any:
        self.order.reordered = True
        if self.back:
            return self.order.accumulate(self.X, c)
        return self.order.propagate(self.X, c, None, None, None)

    @property
    def T(self) -> SerialPaths:
        return SerialPaths(self.order, self.X, back=not self.back)


@dataclass
class Rolled(Order):
    """Records the sweeps of an algorithm that runs on one body."""

    graph: BodyGraph
    chain: bool = True
    carries: list[CarriedScalar] = field(default_factory=list)
    totals: list[Any] = field(default_factory=list)
    picks: list[tuple[Any, int]] = field(default_factory=list)
    solves: list[tuple[Matrix, Any]] = field(default_factory=list)
    shape: str = "columns"
    eliminations: list[Elimination] = field(default_factory=list)
    sums: list[Any] = field(default_factory=list)
    model: Any = None  # of the whole robot
    heavy_path_rows: HeavyPathRows | None = None  # if the algorithm uses heavy paths
    ends: np.ndarray | None = None  # the last bodies of joints, if rows of matrices are these only
    linked: bool = False  # whether values are carried from link to link
    reordered: bool = False  # whether loops are serial where the algorithm joins runs of bodies

    # ------------------------------------------------------------------ along the tree

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        if root is None and plus is None and self.shape == "square" and all(x == 0.0 for x in scalars(c)):
            return c
        phase = self._opened(X, c, root, through, plus, outward=True)
        like = c if root is None else lift(root)
        paired = c is not None and self._is_paired(c)
        above, leaves = self._carried(like, phase, None if root is None else like, paired=paired)
        x = X @ above
        x = x if c is None else x + c
        x = x if through is None else through @ x
        x = x if plus is None else x + plus
        self.close(leaves, x)
        return x

    def accumulate(self, X: Any, c: Any) -> Any:
        arrived, leaves = self.carried(c, X, outward=False)
        y = c + arrived
        self.close(leaves, X.T @ y)
        return y

    def fold(self, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]) -> Any:
        arrived, leaves = self.carried(state, *local, outward=False)
        up, result = step(tuple(s + a for s, a in zip(state, arrived, strict=True)), *local)
        self.close(leaves, up)
        return result

    def parent(self, x: Array, root: Any) -> Array:
        roots = None if root is None else list(scalars(lift(root)))
        phase, paired = self._opened(x, root, outward=True), self._is_paired(x)
        made = []
        for k, value in enumerate(scalars(x)):
            at_root = 0.0 if roots is None else roots[k]
            same = (c for c in self.carries if c.outward and c.linked == self.linked and c.source is value)
            known = [c for c in same if _same(c.root, at_root)]
            carry = known[0] if known and isinstance(value, Scalar) else None
            carry = carry or self.carry(phase, at_root, paired=paired)
            carry.source = value
            made.append(self.leaf_of(carry))
        return rebuilt(x, made)

    def children(self, x: Any, tip: Any) -> Any:
        arrived, leaves = self.carried(x, start=None if tip is None else lift(tip), outward=False)
        self.close(leaves, x)
        return arrived

    def scan(self, join: Callable[[Any, Any], Any], elements: Any, root: Any, reverse: bool) -> Any:
        if not self.chain:
            raise PhalanxError(
                "scan: joins the runs of an unbranched chain; a tree has paths (sweep `paths`)."
            )
        self.reordered = True
        start = None if root is None else lift(root)
        like = elements if start is None else start
        known, leaves = self.carried(like, elements, start=start, outward=not reverse)
        x = join(elements, known) if reverse else join(known, elements)
        if root is None:
            end = self.graph.at_body(self.graph.n - 1 if reverse else 0)
            x = chosen(self.graph, end, elements, x)
        self.close(leaves, x)
        return x

    def contract(self, join: Callable[..., Any], elements: Any, load: Any, loaded: Any) -> Any:
        # Serial: each body applies its element to the load of its branches and passes it to its parent.
        self.reordered = True
        hung, leaves = self.carried(load(elements), elements, outward=False)
        nothing = each(elements, lambda _: 0.0)
        self.close(leaves, load(join(elements, loaded(nothing, hung))))
        return hung

    def paths(self, X: Any) -> SerialPaths:
        return SerialPaths(self, X)

    def relay(
        self, levels: Any, state: tuple[Any, ...], join: Callable[..., Any], along: Any, links: Any
    ) -> list[tuple[Any, ...]]:
        self.reordered = True
        if isinstance(levels, Sums):
            return [state, (self._sum(join, along(THIRD, HERE)),)]
        if not isinstance(levels, Levels):
            raise PhalanxError(
                "relay: its levels name single links, which a loop over links cannot serve; use the NumPy "
                'backend, or algorithm "auto".'
            )
        more = along(0, HERE) if along else ()
        phase = self._opened(*state, *more, outward=not levels.inward)
        known, leaves = self._carried(state, phase, None, paired=levels.pairs)
        ends = chosen(self.graph, self._start(levels), state, join(state, known, *more))
        self.close(leaves, ends)
        return [state, ends]

    def _sum(self, join: Callable[..., Any], more: tuple[Any, ...]) -> Array:
        """Record a sum over the links from the row of a pair on; return its leaf."""
        so_far = self.graph.placed(L.SoFar(), phase=LOCAL, paired=True)
        (x,) = join((box(so_far, (1, 1)),), None, *more)
        self.sums.append(x.ravel()[0])
        return box(self.graph.placed(L.Sum(len(self.sums) - 1), phase=LOCAL, paired=True), (1, 1))

    def _start(self, levels: Levels) -> Any:
        """Return 1 at the body or pair where a relay starts, else 0."""
        if levels.pairs and (levels.across or not levels.inward):
            return self.graph.placed(L.Delta(), phase=LOCAL, paired=True)
        mask = self.graph.at_body(self.graph.n - 1 if levels.inward else 0)
        return self.graph.of_pair(mask, L.ROW) if levels.pairs else mask

    # ------------------------------------------------------------------ one value of all bodies

    def total(self, values: Array) -> Array:
        made = each(values[..., 0], self.total_of)
        return made if made.shape else made[()]

    def total_of(self, value: Any) -> Any:
        """Return the sum of a value over all bodies."""
        if not isinstance(value, Scalar) or self.graph.is_param(value):
            return float(np.cumsum(self.graph.column(value))[-1])
        phase = _even(max(self.graph.phase(value), 0))
        self.totals.append((value, phase))
        return self.graph.placed(L.Total(len(self.totals) - 1), phase=phase + 1, common=True)

    def pick(self, x: Any, body: int) -> Any:
        picked = each(x, lambda value: self.pick_of(value, body))
        return picked[0] if isinstance(picked, Field) else picked[..., 0, :]

    def pick_of(self, value: Any, body: int) -> Any:
        """Return the value of one body, a uniform."""
        if not isinstance(value, Scalar) or self.graph.common(value):
            return value
        if self.graph.is_param(value):
            return float(self.graph.column(value)[body])
        phase = max(self.graph.phase(value), 0)
        self.picks.append((value, body))
        return self.graph.placed(L.Pick(len(self.picks) - 1), phase=phase + 1, common=True)

    def marked(self, x: Any, at: Array) -> Any:
        mask = at.ravel()[0]
        return each(x, lambda value: self.total_of(value * mask))[0]

    # ------------------------------------------------------------------ links

    def links(self, model: Any) -> OneLink:
        """Return the sweeps over the links of the robot, on a symbolic link."""
        return OneLink(self)

    def rows_of_heavy_paths(self) -> HeavyPathRows:
        """Return the table of the heavy paths of the robot, made at the first call."""
        self.heavy_path_rows = self.heavy_path_rows or heavy_path_rows(self.model)
        return self.heavy_path_rows

    # ------------------------------------------------------------------ pairs of bodies

    def pairs(
        self,
        start: Array,
        carry: Callable[..., Array],
        emit: Callable[..., Array],
        along: tuple[Any, ...],
        both: bool = False,
        runs: bool = False,
    ) -> Array:
        phase = max(self.latest(start, *along), 0) + 1
        there = each(along, lambda value: elsewhere(self.graph, value, L.THERE))
        first = list(scalars(start))
        x = rebuilt(start, [self.graph.leaf(L.Walked(k)) for k in range(len(first))])
        carried, emitted = list(scalars(carry(x, *there))), emit(x, *there).ravel().tolist()
        if both:
            return several(Walks(phase, first, carried, emitted))
        return box(Matrix(AncestorLoop(phase, first, carried, emitted[0], runs)), (1, 1))

    def pairs_in_runs(
        self, start: Array, carry: Callable[..., Array], emit: Callable[..., Array], along: tuple[Any, ...]
    ) -> Array:
        return self.pairs(start, carry, emit, along, runs=True)

    def triangle(self) -> ChainPairs:
        """Return the symbolic pair of the links of a chain."""
        return ChainPairs(self)

    def unit(self, ones: Array) -> Array:
        self.shape = "square"
        return box(self.graph.placed(L.Delta(), phase=LOCAL, paired=True), (1, 1))

    def matrix_of(self, entry: Any) -> Array:
        """Return the matrix whose entries loops over pairs compute."""
        return box(Matrix(LoopedEntries(max(self.graph.gathered_phase, 0) + 1, entry, self.shape)), (1, 1))

    def eliminate(self, M: Array) -> Array:
        return M  # the stage `Factor` factors it in place

    def substitute(self, factor: Array, b: Array) -> Array:
        matrix: Matrix = factor.ravel()[0]
        value = b.ravel()[0]
        if b.ndim == factor.ndim - 1 == 2:
            if value != 1.0:
                raise PhalanxError("substitute: rolled code solves for vectors and for the identity only.")
            return box(InverseRows(matrix), b.shape)
        phase = max(matrix.walk.phase, self.graph.phase(value) + 1)
        self.solves.append((matrix, value))
        return box(self.graph.placed(L.SolutionLeaf(len(self.solves) - 1), phase=phase), b.shape)

    # ------------------------------------------------------------------ carries

    def latest(self, *fields: Any) -> int:
        """Return the last phase in which a scalar of the fields is computed."""
        values = [x for f in fields if f is not None for x in scalars(f)]
        if any(self.graph.paired(x) for x in values):
            values = [x for x in values if self.graph.paired(x)]
        return max((self.graph.phase(x) for x in values), default=LOCAL)

    def _is_paired(self, f: Any) -> bool:
        return any(self.graph.paired(x) for x in scalars(f))

    def _opened(self, *fields: Any, outward: bool) -> int:
        """Return the first phase of the given direction in which all fields are known."""
        phase = max(self.latest(*fields), 0)
        return phase if (phase % 2 == 0) == outward else phase + 1

    @property
    def at_world(self) -> Any:
        """A number per body: 1 if its parent is the world, else 0."""
        return self.graph.param((self.model.parents < 0).astype(float))

    def carry(self, phase: int, root: Any = 0.0, *, paired: bool = False) -> CarriedScalar:
        """Return a new loop-carried value; its `source` is set later."""
        carry = CarriedScalar(len(self.carries), phase, root, paired=paired, linked=self.linked)
        self.carries.append(carry)
        return carry

    def leaf_of(self, carry: CarriedScalar) -> Scalar:
        """Return the leaf by which a body reads a loop-carried value."""
        return self.graph.placed(
            L.CarriedLeaf(carry.number), phase=carry.phase, paired=carry.paired, linked=carry.linked
        )

    def carried(
        self, like: Any, *fields: Any, outward: bool, start: Any = None
    ) -> tuple[Any, list[CarriedScalar]]:
        """Return a field of carries shaped as `like`, known once all fields are, and what to `close`."""
        return self._carried(like, self._opened(like, *fields, outward=outward), start)

    def _carried(
        self, like: Any, phase: int, roots: Any, *, paired: bool = False
    ) -> tuple[Any, list[CarriedScalar]]:
        """Return a field of carries shaped as `like`, with initial values `roots` (default: zeros)."""
        if isinstance(like, tuple):
            several = [self._carried(x, phase, None, paired=paired) for x in like]
            return tuple(x for x, _ in several), [carry for _, carries in several for carry in carries]
        count = sum(1 for _ in scalars(like))
        start = [0.0] * count if roots is None else list(scalars(roots))
        paired = paired or self._is_paired(like)
        made = [self.carry(phase, root, paired=paired) for root in start]
        return rebuilt(like, [self.leaf_of(c) for c in made]), made

    def close(self, carries: list[CarriedScalar], value: Any) -> None:
        """Set the sources of loop-carried values: what each body passes on."""
        for carry, source in zip(carries, scalars(value), strict=True):
            carry.source = source


def _same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, float) and isinstance(b, float) and a == b)


def _even(phase: int) -> int:
    return phase + phase % 2
