# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The sweeps on one body that stands for all: each becomes values carried from body to body."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import PhalanxError
from ...spatial import Array, Field
from ...sweeps import Order, bodies_of
from ..scalar import Node
from .graph import LOCAL, BodyGraph


@dataclass
class Carry:
    """A scalar that goes from parent to child (outward), or as a sum from children to parent."""

    number: int
    phase: int
    root: Any  # the world's value of an outward one
    source: Any = None

    @property
    def outward(self) -> bool:
        return self.phase % 2 == 0


@dataclass(frozen=True)
class Walk:
    """A walk from each body along its ancestors: what is carried, and the entry at each one."""

    phase: int
    start: list[Any]
    carried: list[Any]
    entry: Any


@dataclass(frozen=True)
class Matrix:
    """A symmetric matrix over bodies, and what is added on its diagonal."""

    walk: Walk
    diagonal: Any = 0.0

    def __add__(self, other: Any) -> Matrix:
        # A value per body stands for the diagonal matrix of all of them.
        return Matrix(self.walk, self.diagonal + other)

    __radd__ = __add__


@dataclass(frozen=True)
class Solution:
    """The inverse of a matrix, row by row."""

    matrix: Matrix


class Paths:
    """The operator from each body's ancestors: a loop has no better way than one body after another."""

    def __init__(self, order: Rolled, X: Any, *, back: bool = False) -> None:
        self.order, self.X, self.back = order, X, back

    def __matmul__(self, c: Any) -> Any:
        if self.back:
            return self.order.accumulate(self.X, c)
        return self.order.propagate(self.X, c, None, None, None)

    @property
    def T(self) -> Paths:
        return Paths(self.order, self.X, back=not self.back)


@dataclass
class Rolled(Order):
    """Records the sweeps of an algorithm that runs on one body."""

    graph: BodyGraph
    chain: bool = True
    carries: list[Carry] = field(default_factory=list)
    totals: list[Any] = field(default_factory=list)
    picks: list[tuple[Any, int]] = field(default_factory=list)
    solves: list[tuple[Matrix, Any]] = field(default_factory=list)

    # ------------------------------------------------------------------ along the tree

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        phase = self._opened(X, c, root, through, plus, outward=True)
        like = c if root is None else _lift(root)
        above, leaves = self._carried(like, phase, None if root is None else like)
        x = X @ above
        x = x if c is None else x + c
        x = x if through is None else through @ x
        x = x if plus is None else x + plus
        self._close(leaves, x)
        return x

    def accumulate(self, X: Any, c: Any) -> Any:
        phase = self._opened(X, c, outward=False)
        arrived, leaves = self._carried(c, phase, None)
        y = c + arrived
        self._close(leaves, X.T @ y)
        return y

    def fold(self, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]) -> Any:
        phase = self._opened(*state, *local, outward=False)
        arrived = [self._carried(s, phase, None) for s in state]
        up, kept = step(tuple(s + a for s, (a, _) in zip(state, arrived, strict=True)), *local)
        for (_, leaves), value in zip(arrived, up, strict=True):
            self._close(leaves, value)
        return kept

    def parent(self, x: Array, root: Any) -> Array:
        roots = None if root is None else list(_scalars(_lift(root)))
        phase = self._opened(x, root, outward=True)
        made = []
        for k, value in enumerate(_scalars(x)):
            at_root = 0.0 if roots is None else roots[k]
            known = [c for c in self.carries if c.outward and c.source is value and _same(c.root, at_root)]
            carry = known[0] if known and type(value) is Node else self._carry(phase, at_root)
            carry.source = value
            made.append(self._leaf(carry))
        return _rebuilt(x, made)

    def children(self, x: Any, tip: Any) -> Any:
        phase = self._opened(x, outward=False)
        arrived, leaves = self._carried(x, phase, None if tip is None else _lift(tip))
        self._close(leaves, x)
        return arrived

    def scan(self, join: Callable[[Any, Any], Any], elements: Any, root: Any, reverse: bool) -> Any:
        if not self.chain:
            raise PhalanxError(
                "scan: joins the runs of an unbranched chain; a tree has paths (sweep `paths`)."
            )
        phase = self._opened(elements, root, outward=not reverse)
        start = None if root is None else _lift(root)
        known, leaves = self._carried(elements if start is None else start, phase, start)
        x = join(elements, known) if reverse else join(known, elements)
        if root is None:
            end = self.graph.param(
                (np.arange(self.graph.n) == (self.graph.n - 1 if reverse else 0)).astype(float)
            )
            both = zip(_scalars(elements), _scalars(x), strict=True)
            x = _rebuilt(x, [self.graph.choose(end, alone, joined) for alone, joined in both])
        self._close(leaves, x)
        return x

    def paths(self, X: Any) -> Paths:
        return Paths(self, X)

    def relay(
        self, levels: Any, state: tuple[Any, ...], join: Callable[..., Any], along: Any, links: Any
    ) -> list[tuple[Any, ...]]:
        raise PhalanxError(
            "relay: its levels name single links, which a loop over links cannot serve; use the NumPy "
            'backend, or algorithm "auto".'
        )

    # ------------------------------------------------------------------ one value of all bodies

    def total(self, values: Array) -> Array:
        made = np.empty(values.shape[:-1], dtype=object)
        for index in np.ndindex(made.shape):
            made[index] = self._total(values[(*index, 0)])
        return made if made.shape else made[()]

    def _total(self, value: Any) -> Any:
        if type(value) is not Node or self.graph.is_param(value):
            return float(np.cumsum(self.graph.column(value))[-1])
        phase = _even(max(self.graph.phase(value), 0))
        self.totals.append((value, phase))
        return self.graph.placed("total", len(self.totals) - 1, phase=phase + 1, common=True)

    def pick(self, x: Any, body: int) -> Any:
        def one(value: Any) -> Any:
            if type(value) is not Node or self.graph.common(value):
                return value
            if self.graph.is_param(value):
                return float(self.graph.column(value)[body])
            phase = max(self.graph.phase(value), 0)
            self.picks.append((value, body))
            return self.graph.placed("pick", len(self.picks) - 1, phase=phase + 1, common=True)

        picked = _rebuilt(x, [one(value) for value in _scalars(x)])
        return picked[0] if isinstance(picked, Field) else picked[..., 0, :]

    # ------------------------------------------------------------------ pairs of bodies

    def pairs(
        self, start: Array, carry: Callable[..., Array], emit: Callable[..., Array], along: tuple[Any, ...]
    ) -> Array:
        phase = max(self._latest(start, *along), 0) + 1
        there = tuple(_rebuilt(f, [self._there(x) for x in _scalars(f)]) for f in along)
        first = list(_scalars(start))
        x = np.empty(len(first), dtype=object)
        x[:] = [self.graph.leaf("walk", k) for k in range(len(first))]
        x = x.reshape(start.shape)
        entry = emit(x, *there).ravel()[0]
        walk = Walk(phase, first, list(_scalars(carry(x, *there))), entry)
        return _box(Matrix(walk), (1, 1))

    def _there(self, x: Any) -> Any:
        """A value at the ancestor that a walk has reached."""
        if type(x) is not Node or self.graph.common(x):
            return x
        if self.graph.is_param(x):
            return self.graph.leaf("param there", x.args[1])
        return self.graph.leaf("there", x.number)

    def eliminate(self, M: Array) -> Array:
        return M  # what is solved with is factored where it is kept

    def substitute(self, factor: Array, b: Array) -> Array:
        matrix: Matrix = factor.ravel()[0]
        value = b.ravel()[0]
        if b.ndim == factor.ndim - 1 == 2:
            if value != 1.0:
                raise PhalanxError("substitute: rolled code solves for vectors and for the identity only.")
            return _box(Solution(matrix), b.shape)
        phase = max(matrix.walk.phase, self.graph.phase(value) + 1)
        self.solves.append((matrix, value))
        return _box(self.graph.placed("solution", len(self.solves) - 1, phase=phase), b.shape)

    # ------------------------------------------------------------------ carries

    def _latest(self, *fields: Any) -> int:
        values = (x for f in fields if f is not None for x in _scalars(f))
        return max((self.graph.phase(x) for x in values), default=LOCAL)

    def _opened(self, *fields: Any, outward: bool) -> int:
        """The first phase of the right direction in which all fields are known."""
        phase = max(self._latest(*fields), 0)
        return phase if (phase % 2 == 0) == outward else phase + 1

    def _carry(self, phase: int, root: Any) -> Carry:
        carry = Carry(len(self.carries), phase, root)
        self.carries.append(carry)
        return carry

    def _leaf(self, carry: Carry) -> Node:
        return self.graph.placed("carry", carry.number, phase=carry.phase)

    def _carried(self, like: Any, phase: int, roots: Any) -> tuple[Any, list[Carry]]:
        """A field of carries shaped as `like`, starting from `roots` (default: zeros)."""
        count = sum(1 for _ in _scalars(like))
        start = [0.0] * count if roots is None else list(_scalars(roots))
        made = [self._carry(phase, root) for root in start]
        return _rebuilt(like, [self._leaf(c) for c in made]), made

    def _close(self, carries: list[Carry], value: Any) -> None:
        for carry, source in zip(carries, _scalars(value), strict=True):
            carry.source = source


def _same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, float) and isinstance(b, float) and a == b)


def _even(phase: int) -> int:
    return phase + phase % 2


def _box(value: Any, shape: tuple[int, ...]) -> np.ndarray:
    box = np.empty(shape, dtype=object)
    box.fill(value)
    return box


def _scalars(f: Any) -> Iterator[Any]:
    """All scalars of a field, of an operator or of an array."""
    if isinstance(f, Field):
        for array, _ in bodies_of(f):
            yield from np.asarray(array, dtype=object).ravel().tolist()
    elif isinstance(f, float) or type(f) is Node:
        yield f
    elif hasattr(f, "ravel"):
        yield from np.asarray(f, dtype=object).ravel().tolist()


def _rebuilt(like: Any, scalars: list[Any]) -> Any:
    """A field shaped as `like` of other scalars."""
    rest = iter(scalars)

    def made(array: Any, _: int = 0) -> np.ndarray:
        fresh = np.empty(array.size, dtype=object)
        fresh[:] = [next(rest) for _ in range(array.size)]
        return fresh.reshape(array.shape)

    return like.map(made) if isinstance(like, Field) else made(np.asarray(like, dtype=object))


def _lift(root: Any) -> Any:
    """The root's value with a body axis of length one."""
    if isinstance(root, Field):
        return root.map(lambda array, rank: array[(..., None, *(slice(None),) * rank)])
    return root[..., None, :]
