# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The builder of programs: statements are appended to the innermost open block.

Straight-line programs are the case without a loop; `run` inlines them into others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from .graph import live
from .ir import (
    UNIFORM,
    Attributed,
    Buffer,
    For,
    If,
    Index,
    InductionVariable,
    IntExpr,
    Load,
    LoopCarried,
    ParallelFor,
    Program,
    Real,
    Scalar,
    Select,
    SimdRegion,
    Store,
    Table,
    Until,
    Value,
    entry,
    int_expr,
    less,
    plus,
    times,
)
from .ops import ADD, COS, DIV, FMA, MUL, NEG, SIN

Leaf = Callable[[Any], Real]  # the value at a symbolic address

_WRITTEN_OUT = 4  # blocks up to which a move is unrolled


class OpenLoop:
    """An open loop: its index and its loop-carried values."""

    def __init__(self) -> None:
        self.index = InductionVariable()
        self.carried: dict[LoopCarried, Real] = {}

    def carry(self, start: Real) -> LoopCarried:
        """A new loop-carried value; `feed` sets its value in the next iteration."""
        made = LoopCarried(start)
        self.carried[made] = start
        return made

    def feed(self, carried: LoopCarried, value: Real) -> None:
        """Set the value for the next iteration."""
        self.carried[carried] = value


class OpenUntil(OpenLoop):
    """An open loop that ends on data."""

    condition: Real | None = None

    def stop(self, condition: Real) -> None:
        """End the loop with this iteration where a value is not zero."""
        self.condition = condition

    def ended(self) -> LoopCarried:
        """A value that after the loop is zero where the limit has ended it, not zero where `stop` has."""
        if self.condition is None:
            raise TypeError("program: a loop ends on a condition; call `stop` before `ended`.")
        flag = self.carry(0.0)
        self.feed(flag, self.condition)
        return flag


class Builder:
    """A program under construction."""

    def __init__(
        self,
        inputs: Mapping[str, tuple[int, ...]],
        outputs: Mapping[str, tuple[int, ...]],
        lanes: int = 1,
        together: int = 8,
    ) -> None:
        self.lanes = lanes
        self.together = together  # numbers that one block of a copy moves
        self.shapes = {**inputs, **outputs}
        self.inputs = {name: Buffer(name, prod(shape), "input", given=True) for name, shape in inputs.items()}
        self.outputs = {name: Buffer(name, prod(shape), "output") for name, shape in outputs.items()}
        self.buffers: dict[str, Buffer] = {}
        self._uniform: Buffer | None = None
        self.tables: dict[str, Table] = {}
        self._sizes: list[InductionVariable] = []
        self._body: list[Any] = []

    @property
    def length(self) -> int:
        """The number of statements so far, those of open blocks apart."""
        return len(self._body)

    def size(self) -> InductionVariable:
        """A new integer that the caller passes, such as a trip count."""
        self._sizes.append(made := InductionVariable())
        return made

    def finished(self, bodies: int = 0, parameters: int = 0) -> Program:
        """The finished program; `bodies` and `parameters` are the robot's counts."""
        return Program(
            tuple(self.inputs.values()),
            tuple(self.outputs.values()),
            tuple(self._body),
            tuple(self.buffers.values()),
            self.lanes,
            bodies,
            parameters,
            self.shapes,
            self._uniform,
            tuple(self._sizes),
        )

    # ------------------------------------------------------------- buffers and tables

    def buffer(self, name: str, size: int, *, given: bool = False) -> Buffer:
        """The scratch buffer of a name; one that exists already must be large enough."""
        made = self.buffers.setdefault(name, Buffer(name, size, given=given))
        assert size <= made.size, name
        return made

    def uniform(self, name: str, size: int) -> Buffer:
        """The buffer of runtime constants, the same for all states of a call."""
        self._uniform = self._uniform or Buffer(name, size, "uniform", given=True)
        return self._uniform

    def table(self, name: str, values: np.ndarray, *, wide: bool = False) -> Table:
        """The table of a name, made once."""
        return self.tables.setdefault(name, Table(name, values, wide))

    def entry(self, name: str, values: np.ndarray, index: Index) -> Index:
        """An integer from a table."""
        return entry(self.table(name, values), index)

    def wide_entry(self, name: str, values: np.ndarray, index: Index) -> Index:
        """Integers, one for each lane, from a wide table; -1 means none."""
        return IntExpr("entry", (self.table(name, values, wide=True), index))

    # ------------------------------------------------------------- real numbers

    def put(self, statement: Any) -> Any:
        self._body.append(statement)
        return statement

    def load(self, buffer: Buffer | Table, index: Index) -> Real:
        loaded: Load = self.put(Load(buffer, index))
        return loaded

    def store(self, buffer: Buffer, index: Index, value: Real) -> None:
        self.put(Store(buffer, index, value))

    def add_to(self, buffer: Buffer, index: Index, value: Real, quantity: str = "") -> None:
        """Add a value to the number at an index."""
        self.store(buffer, index, self.add(self.load(buffer, index), value, quantity))

    def choice(self, condition: Index, a: Real, b: Real) -> Real:
        """a where a condition on integers holds, else b."""
        made: Select = self.put(Select(condition, a, b))
        return made

    def value(
        self, op: str, *args: Real, quantity: str = "", of_product: str = "", body_index: int = -1
    ) -> Real:
        """An operation on real numbers."""
        made: Value = self.put(Value(op, args, quantity, of_product, body_index))
        return made

    def add(self, a: Real, b: Real, quantity: str = "") -> Real:
        return self.value(ADD, a, b, quantity=quantity)

    def mul(self, a: Real, b: Real) -> Real:
        return self.value(MUL, a, b)

    def div(self, a: Real, b: Real) -> Real:
        return self.value(DIV, a, b)

    def neg(self, a: Real) -> Real:
        return -a if isinstance(a, float) else self.value(NEG, a)

    def multiply_add(self, a: Real, b: Real, c: Real) -> Real:
        """a b + c."""
        return self.value(FMA, a, b, c)

    def turn(self, angles: Iterable[tuple[Real, str]]) -> list[tuple[Real, Real]]:
        """(sine, cosine) of each angle, which is given with the quantity it belongs to."""
        return [
            (self.value(SIN, x, quantity=quantity), self.value(COS, x, quantity=quantity))
            for x, quantity in angles
        ]

    # ------------------------------------------------------------- loops

    @contextmanager
    def _inside(self) -> Iterator[list[Any]]:
        outer, self._body = self._body, []
        try:
            yield self._body
        finally:
            self._body = outer

    @contextmanager
    def loop(self, end: Index, *, first: Index = 0, down: bool = False) -> Iterator[OpenLoop]:
        """A loop over first … end - 1 (at least one iteration), or back."""
        loop = OpenLoop()
        with self._inside() as body:
            yield loop
        carried, yields = tuple(loop.carried), tuple(loop.carried.values())
        self.put(For(loop.index, first, end, down, carried, yields, tuple(body)))

    @contextmanager
    def walk(self, first: Index, successor: Callable[[Index], Index]) -> Iterator[OpenLoop]:
        """A loop whose index starts at `first` and continues with successor(index) until that is negative."""
        loop = OpenLoop()
        with self._inside() as body:
            yield loop
        carried, yields = tuple(loop.carried), tuple(loop.carried.values())
        after = successor(loop.index)
        self.put(For(loop.index, first, 0, False, carried, yields, tuple(body), after))

    @contextmanager
    def until(self, limit: Index) -> Iterator[OpenUntil]:
        """A loop that `stop` ends, after `limit` iterations at the latest."""
        loop = OpenUntil()
        with self._inside() as body:
            yield loop
        if loop.condition is None:
            raise TypeError("program: a loop that ends on data needs a condition; call `stop`.")
        carried, yields = tuple(loop.carried), tuple(loop.carried.values())
        self.put(Until(loop.index, limit, carried, yields, loop.condition, tuple(body)))

    @contextmanager
    def parallel(self, end: Index, *, first: Index = 0) -> Iterator[InductionVariable]:
        """Independent iterations over first … end - 1, at least one."""
        counter = InductionVariable()
        with self._inside() as body:
            yield counter
        self.put(ParallelFor(counter, first, end, tuple(body)))

    @contextmanager
    def independent(self, end: Index, *, first: Index = 0, down: bool = False) -> Iterator[OpenLoop]:
        """A loop, as `loop` has it, whose iterations do not depend on each other.

        Builders for work-groups distribute them over work-items.
        """
        with self.loop(end, first=first, down=down) as loop:
            yield loop

    @contextmanager
    def only_if(self, condition: Index) -> Iterator[None]:
        """Statements that run only if a condition holds."""
        with self._inside() as body:
            yield
        if isinstance(condition, int):
            self._body += body if condition else []
        elif body:
            self.put(If(condition, tuple(body)))

    @contextmanager
    def attributed_to(self, body_index: Index) -> Iterator[None]:
        """Statements whose operations counts attribute to a body."""
        with self._inside() as body:
            yield
        self.put(Attributed(body_index, tuple(body)))

    @contextmanager
    def part(self, width: int) -> Iterator[None]:
        """Statements in a SIMD region of `width` lanes."""
        with self._inside() as body:
            yield
        self.put(SimdRegion(width, tuple(body)))

    def in_blocks(
        self, size: Index, width: int, block: Callable[[Index, int], None], rest: int | None = None
    ) -> None:
        """Call `block(first, width)` for indices 0 … size - 1: full blocks in a loop, then the remainder.

        Where the size is not a constant, `rest` is a constant with the same remainder.
        """
        known = size if rest is None else rest
        assert isinstance(known, int)
        blocks = int_expr("div", size, width)
        with self.only_if(int_expr("gt", blocks, 0)), self.loop(blocks) as loop:
            block(times(loop.index, width), width)
        if known % width:
            block(less(size, known % width), known % width)

    # ------------------------------------------------------------- memory

    def clear(self, buffer: Buffer, count: int) -> None:
        """Store zeros at the first `count` indices of a buffer."""

        def block(first: Index, width: int) -> None:
            for k in range(width):
                self.store(buffer, plus(first, k), 0.0)

        self.in_blocks(count, self.together, block)

    def copy(
        self, target: Buffer, to: Index, source: Buffer, index: Index, count: int, step: int = 1
    ) -> None:
        """Copy numbers `step` apart to adjacent indices: all loads (from `index`), then all stores (`to`)."""
        values = [self.load(source, plus(index, k * step)) for k in range(count)]
        for k, value in enumerate(values):
            self.store(target, plus(to, k), value)

    def move(
        self,
        target: Buffer,
        to: Index,
        source: Buffer,
        index: Index,
        count: Index,
        *,
        rest: int | None = None,
        step: int = 1,
    ) -> None:
        """Copy any number of numbers in blocks; `rest` as in `in_blocks`."""

        def block(first: Index, width: int) -> None:
            self.copy(target, plus(to, first), source, plus(index, times(first, step)), width, step)

        if isinstance(count, int) and count <= _WRITTEN_OUT * self.together:
            for first in range(0, count, self.together):
                block(first, min(self.together, count - first))
        else:
            self.in_blocks(count, self.together, block, rest)


class Inlined:
    """Straight-line code of another program, appended to a builder; `leaf` replaces its loads."""

    def __init__(self, b: Builder, leaf: Callable[[Load], Real]) -> None:
        self.b, self.leaf = b, leaf
        self._made: dict[Any, Real] = {}

    def __call__(self, x: Any) -> Real:
        """The value of an operand or result in the builder; a load is replaced at its first use."""
        if not isinstance(x, Scalar):
            return float(x)
        made = self._made.get(x)
        if made is None:
            assert type(x) is Load, x
            made = self._made[x] = self.leaf(x)
        return made

    def append(self, s: Value | Load) -> Real:
        """Append one of the code's loads or operations."""
        if type(s) is not Value:
            return self(s)
        made = self._made[s] = self.b.put(s.on(tuple([self(a) for a in s.args])))
        return made


def run(b: Builder, program: Program, leaf: Leaf) -> list[Real]:
    """Inline a template and return its results; `leaf` reads symbolic addresses."""
    inlined = Inlined(b, lambda s: leaf(s.buffer))
    for s in program.body:
        if type(s) is Value:
            inlined.append(s)
    return [inlined(x) for x in program.results]


def straight(
    inputs: Mapping[str, tuple[int, ...]],
    outputs: Mapping[str, tuple[int, ...]],
    results: Sequence[Any],
    uniforms: int = 0,
) -> Program:
    """The program whose results, scalars of one graph or floats, are the outputs, one after another.

    Its statements are those that the results need, in the order in which they were recorded. `uniforms` is
    the number of runtime constants.
    """
    nodes = live(results)
    known = nodes[0].graph.buffers if nodes else {}
    b = Builder(inputs, outputs)
    for name, shape in inputs.items():
        if name in known:
            b.inputs[name] = known[name]
            known[name].size = prod(shape)
    if UNIFORM in known and any(s.leaf is known[UNIFORM] for s in nodes):
        b._uniform = known[UNIFORM]
        b._uniform.size = uniforms
    for s in nodes:
        b.put(s)
    stored = iter(results)
    for buffer in b.outputs.values():
        for k in range(buffer.size):
            x = next(stored)
            b.store(buffer, k, x if isinstance(x, Scalar) else float(x))
    return b.finished()


def template(results: Sequence[Any], targets: Sequence[Any]) -> Program:
    """Straight-line code at symbolic addresses, to be inlined: each result has a target."""
    stores = [
        Store(target, 0, x if isinstance(x, Scalar) else float(x))
        for x, target in zip(results, targets, strict=True)
    ]
    return Program((), (), (*live(results), *stores))
