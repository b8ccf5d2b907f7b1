# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs under construction: statements are appended where the builder stands.

Straight-line programs are the case without a loop; there all angles are turned together, and early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from ..ops import ADD, COS, DIV, FMA, INPUT, MUL, NEG, SIN
from ..rewrite import Code
from ..task import UNIFORM
from .program import (
    Attributed,
    Buffer,
    For,
    If,
    Index,
    InductionVariable,
    IntExpr,
    Load,
    LoopCarried,
    Program,
    Real,
    Select,
    SimdRegion,
    Store,
    Table,
    Value,
    entry,
    int_expr,
    less,
    plus,
    times,
)

Leaf = Callable[[Any], Real]  # an input of instructions

_WRITTEN_OUT = 4  # blocks of a move, at most, without a loop


class OpenLoop:
    """An open loop: its index and its loop-carried values."""

    def __init__(self) -> None:
        self.index = InductionVariable()
        self.carried: dict[LoopCarried, Real] = {}

    def carry(self, start: Real) -> LoopCarried:
        """A loop-carried value; what it becomes is told by `feed`."""
        made = LoopCarried(start)
        self.carried[made] = start
        return made

    def feed(self, carried: LoopCarried, value: Real) -> None:
        """Tell the value for the next round."""
        self.carried[carried] = value


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
        self.together = together  # numbers that move at once
        self.shapes = {**inputs, **outputs}
        self.inputs = {name: Buffer(name, prod(shape), "input", given=True) for name, shape in inputs.items()}
        self.outputs = {name: Buffer(name, prod(shape), "output") for name, shape in outputs.items()}
        self.regions: dict[str, Buffer] = {}
        self._uniform: Buffer | None = None
        self.tables: dict[str, Table] = {}
        self._sizes: list[InductionVariable] = []
        self._body: list[Any] = []

    def size(self) -> InductionVariable:
        """A whole number that is told with a call, in front of all else."""
        self._sizes.append(made := InductionVariable())
        return made

    def finished(self, bodies: int = 0, parameters: int = 0) -> Program:
        """The program, for a robot of so many bodies and parameters."""
        return Program(
            tuple(self.inputs.values()),
            tuple(self.outputs.values()),
            tuple(self._body),
            tuple(self.regions.values()),
            self.lanes,
            bodies,
            parameters,
            self.shapes,
            self._uniform,
            tuple(self._sizes),
        )

    # ------------------------------------------------------------- places

    def region(self, name: str, size: int, *, given: bool = False) -> Buffer:
        """Scratch memory; what is reserved under that name already has to be enough."""
        made = self.regions.setdefault(name, Buffer(name, size, given=given))
        assert size <= made.size, name
        return made

    def uniform(self, name: str, size: int) -> Buffer:
        """The numbers that are told with a call, for all states alike."""
        self._uniform = self._uniform or Buffer(name, size, "uniform", given=True)
        return self._uniform

    def table(self, name: str, values: np.ndarray, *, wide: bool = False) -> Table:
        """Constants under a name, made once."""
        return self.tables.setdefault(name, Table(name, values, wide))

    def entry(self, name: str, values: np.ndarray, index: Index) -> Index:
        """A whole number from a table."""
        return entry(self.table(name, values), index)

    def wide_entry(self, name: str, values: np.ndarray, index: Index) -> Index:
        """Whole numbers, one for each lane, from a table; -1 stands for none."""
        return IntExpr("entry", (self.table(name, values, wide=True), index))

    # ------------------------------------------------------------- real numbers

    def put(self, statement: Any) -> Any:
        self._body.append(statement)
        return statement

    def load(self, region: Buffer | Table, index: Index) -> Real:
        loaded: Load = self.put(Load(region, index))
        return loaded

    def store(self, region: Buffer, index: Index, value: Real) -> None:
        self.put(Store(region, index, value))

    def add_to(self, region: Buffer, index: Index, value: Real, quantity: str = "") -> None:
        """Add a value to what stands at a place."""
        self.store(region, index, self.add(self.load(region, index), value, quantity))

    def choice(self, condition: Index, a: Real, b: Real) -> Real:
        """a where a condition on whole numbers holds, else b."""
        made: Select = self.put(Select(condition, a, b))
        return made

    def value(self, op: str, *args: Real, quantity: str = "", of_product: str = "") -> Real:
        """An operation on real numbers."""
        made: Value = self.put(Value(op, args, quantity, of_product))
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
        """Sine and cosine of each of some angles, which are given with the quantity they are for."""
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
        """A loop over first … end - 1 (at least one round), or back."""
        loop = OpenLoop()
        with self._inside() as body:
            yield loop
        carried, again = tuple(loop.carried), tuple(loop.carried.values())
        self.put(For(loop.index, first, end, down, carried, again, tuple(body)))

    @contextmanager
    def walk(self, first: Index, successor: Callable[[Index], Index]) -> Iterator[OpenLoop]:
        """A loop whose index is `first`, then what `successor` says of it, until that is negative."""
        loop = OpenLoop()
        with self._inside() as body:
            yield loop
        carried, again = tuple(loop.carried), tuple(loop.carried.values())
        after = successor(loop.index)
        self.put(For(loop.index, first, 0, False, carried, again, tuple(body), after))

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
        """Statements that count in the name of a body."""
        with self._inside() as body:
            yield
        self.put(Attributed(body_index, tuple(body)))

    @contextmanager
    def part(self, width: int) -> Iterator[None]:
        """Statements with so many lanes of their own."""
        with self._inside() as body:
            yield
        self.put(SimdRegion(width, tuple(body)))

    def in_blocks(
        self, size: Index, width: int, block: Callable[[Index, int], None], rest: int | None = None
    ) -> None:
        """`block(first, count)` for all whole blocks of some places, in a loop, then for the rest.

        Where the size is not a constant, `rest` is some number with the same remainder.
        """
        known = size if rest is None else rest
        assert isinstance(known, int)
        blocks = int_expr("div", size, width)
        with self.only_if(int_expr("gt", blocks, 0)), self.loop(blocks) as loop:
            block(times(loop.index, width), width)
        if known % width:
            block(less(size, known % width), known % width)

    # ------------------------------------------------------------- memory

    def clear(self, region: Buffer, count: int) -> None:
        """Zeros at the first places of a region."""

        def block(first: Index, width: int) -> None:
            for k in range(width):
                self.store(region, plus(first, k), 0.0)

        self.in_blocks(count, self.together, block)

    def copy(
        self, target: Buffer, to: Index, source: Buffer, index: Index, count: int, step: int = 1
    ) -> None:
        """Numbers that stand `step` apart from `index` on, one after another from `to` on, all at once."""
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
        """A copy of as many numbers as one likes; `rest` as `in_blocks` has it."""

        def block(first: Index, width: int) -> None:
            self.copy(target, plus(to, first), source, plus(index, times(first, step)), width, step)

        if isinstance(count, int) and count <= _WRITTEN_OUT * self.together:
            for first in range(0, count, self.together):
                block(first, min(self.together, count - first))
        else:
            self.in_blocks(count, self.together, block, rest)


class Values:
    """The values of instructions as statements; inputs are read where they are first used."""

    def __init__(self, b: Builder, code: Code, leaf: Leaf) -> None:
        self.b, self.code, self.leaf = b, code, leaf
        self._known: list[Any] = [None] * len(code.instructions)

    def __call__(self, x: Any) -> Real:
        """An operand or result: an instruction by its number, or a constant."""
        if not isinstance(x, int):
            return float(x)
        if self._known[x] is None:
            self._known[x] = self.leaf(self.code.instructions[x].args[0])
        found: Real = self._known[x]
        return found

    def written(self) -> Iterator[int]:
        """Append the instructions one after another, and tell the number of each."""
        for number, made in enumerate(self.code.instructions):
            if made.op == INPUT:
                continue
            operands = [self(a) for a in made.args]
            self._known[number] = self.b.value(
                made.op, *operands, quantity=made.quantity, of_product=made.of_product
            )
            yield number


def run(b: Builder, code: Code, leaf: Leaf) -> list[Real]:
    """Append instructions and return their results."""
    values = Values(b, code, leaf)
    for _ in values.written():
        pass
    return [values(x) for x in code.results]


def straight(
    code: Code,
    inputs: Mapping[str, tuple[int, ...]],
    outputs: Mapping[str, tuple[int, ...]],
    told: int = 0,
) -> Program:
    """The program of instructions whose results are the outputs, one after another.

    So many numbers are `told` with a call, for all states alike.
    """
    b = Builder(inputs, outputs)
    given = {name: [b.load(region, k) for k in range(region.size)] for name, region in b.inputs.items()}

    def leaf(name: str, index: int) -> Real:
        return b.load(b.uniform(UNIFORM, told), index) if name == UNIFORM else given[name][index]

    written = StatementWriter(b, code, leaf)
    written.write(written.order)
    results = iter(code.results)
    for region in b.outputs.values():
        for k in range(region.size):
            b.store(region, k, written(next(results)))
    return b.finished()


class StatementWriter:
    """Instructions as statements, in any number of portions; all angles are turned together, and early."""

    def __init__(self, b: Builder, code: Code, leaf: Callable[..., Real]) -> None:
        self.b, self.code, self.leaf = b, code, leaf
        self._made: dict[int, Real] = {}
        turns = _turns(code)
        self.order = list(dict.fromkeys([*_needed_for(code, turns), *turns, *range(len(code.instructions))]))

    def __call__(self, x: Any) -> Real:
        """An operand or result: an instruction by its number, or a constant."""
        return self._made[x] if isinstance(x, int) else float(x)

    def write(self, numbers: Iterable[int]) -> None:
        """Append some instructions."""
        for number in numbers:
            i = self.code.instructions[number]
            if i.op == INPUT:
                self._made[number] = self.leaf(*i.args)
            else:
                args = [self(a) for a in i.args]
                self._made[number] = self.b.value(i.op, *args, quantity=i.quantity, of_product=i.of_product)


def _turns(code: Code) -> list[int]:
    """The instructions that take sines and cosines, angle by angle."""
    found: dict[int, list[int]] = {}
    for number, i in enumerate(code.instructions):
        if i.op in (SIN, COS):
            found.setdefault(i.args[0], []).append(number)
    return [number for each in found.values() for number in each]


def _needed_for(code: Code, wanted: list[int]) -> list[int]:
    """All instructions behind some, these left out."""
    seen: set[int] = set()
    stack = [code.instructions[number].args[0] for number in wanted]
    while stack:
        number = stack.pop()
        if number not in seen:
            seen.add(number)
            if code.instructions[number].op != INPUT:
                stack += [a for a in code.instructions[number].args if isinstance(a, int)]
    return sorted(seen)
