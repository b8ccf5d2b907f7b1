# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The one form of a program: buffers, tables, loops with loop-carried values, loads and stores.

Statements are `Load`, `Value`, `Select` and `Store`, and those that hold others: `For`, `Until`,
`ParallelFor`, `If`, `Attributed` and `SimdRegion`. The first three also define a real number, which
later statements use. Straight-line code is the case without loops. Everything else is a visitor: counting,
interpreting, writing LLVM. A visitor that meets a statement it does not know raises.

One program computes one state. A backend may put different states into SIMD lanes, all in lockstep; or a
program itself has SIMD regions whose lanes are the segments of a chain (`SimdRegion.width`): a scratch buffer
then holds `width` adjacent numbers at every index.

Integers are induction variables, entries of tables, and expressions of them without side effects: equal
expressions compare equal, and constants fold while they are built.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .ops import INPUT, OPS

# ------------------------------------------------------- integers: addresses, trip counts, conditions


@dataclass(frozen=True, eq=False)
class Table:
    """Constants of a program, real numbers or integers. A `wide` one has a number per lane in each entry."""

    name: str
    values: np.ndarray
    wide: bool = False

    kind = "constant"
    given = True


@dataclass(frozen=True, eq=False)
class InductionVariable:
    """The index of a loop."""


@dataclass(frozen=True)
class IntExpr:
    """An operation of `INT_OPS` on integers; the first operand of "entry" is a table.

    "lanes" has an operand for each lane, or one for all: a load with such an index gathers single
    numbers of a buffer, a store scatters them.
    """

    op: str
    args: tuple[Any, ...]

    def __post_init__(self) -> None:
        if self.op not in INT_OPS:
            raise TypeError(f"program: unknown operation on integers {self.op!r}.")


Index = int | InductionVariable | IntExpr  # conditions are integers, too: one where they hold, else zero

# The meaning of each operation, on integers and on arrays of them.
INT_OPS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "shl": lambda a, b: a << b,
    "div": lambda a, b: a // b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "and": lambda a, b: a & b,
    "select": lambda c, a, b: np.where(c, a, b) if isinstance(c, np.ndarray) else (a if c else b),
    "entry": lambda table, i: table.values[i],
    "lanes": lambda *each: np.array(each),
}


def int_expr(op: str, *args: Any) -> Index:
    """The expression of an operation on integers; on constants, its value."""
    if all(isinstance(a, int | Table) for a in args):
        return int(INT_OPS[op](*args))
    return IntExpr(op, args)


def plus(a: Index, b: Index) -> Index:
    """a + b; constant terms merge into one, the last operand."""
    if isinstance(a, int):
        a, b = b, a
    if isinstance(b, int):
        variable, constant = apart(a)
        constant += b
        if variable == 0 or constant == 0:
            return constant if variable == 0 else variable
        return int_expr("add", variable, constant)
    (first, k), (second, m) = apart(a), apart(b)
    return plus(int_expr("add", first, second), k + m)


def less(a: Index, b: Index) -> Index:
    """a - b."""
    return plus(a, -b) if isinstance(b, int) else int_expr("sub", a, b)


def times(a: Index, b: Index) -> Index:
    """a * b."""
    if isinstance(a, int):
        a, b = b, a
    if b == 1:
        return a
    return 0 if b == 0 or a == 0 else int_expr("mul", a, b)


def select(condition: Index, a: Index, b: Index) -> Index:
    """a where a condition holds, else b."""
    if isinstance(condition, int):
        return a if condition else b
    return int_expr("select", condition, a, b)


def alike(index: Index) -> Index:
    """The index of one number that all lanes share."""
    return IntExpr("lanes", (index,))


def apart(index: Index) -> tuple[Index, int]:
    """(variable part, constant) of a sum."""
    if isinstance(index, int):
        return 0, index
    if isinstance(index, IntExpr) and index.op == "add" and isinstance(index.args[1], int):
        return index.args[0], index.args[1]
    return index, 0


def entry(table: Table, index: Index) -> Index:
    """An entry of a table of integers; equal entries fold to a constant, the identity table to the index."""
    values = table.values
    if len(values) and (values == values[0]).all():
        return int(values[0])
    if np.array_equal(values, np.arange(len(values))):
        return index
    return int_expr("entry", table, index)


def evaluate(index: Any, counters: dict[InductionVariable, Any], known: dict[Any, Any]) -> Any:
    """The value of an integer expression for given counters; an array of values if counters are arrays."""
    if type(index) is InductionVariable:
        return counters[index]
    if type(index) is not IntExpr:
        return index
    if index not in known:
        known[index] = INT_OPS[index.op](*(evaluate(a, counters, known) for a in index.args))
    return known[index]


def is_wide(index: Any) -> bool:
    """Whether an index differs from lane to lane: a load or store then gathers or scatters single numbers."""
    if type(index) is not IntExpr:
        return False
    return (
        index.op == "lanes" or (index.op == "entry" and index.args[0].wide) or any(map(is_wide, index.args))
    )


def counters_of(index: Any) -> set[InductionVariable]:
    """The induction variables that an expression depends on."""
    if type(index) is InductionVariable:
        return {index}
    if type(index) is not IntExpr:
        return set()
    return set().union(*(counters_of(a) for a in index.args))


# -------------------------------------------------------------------- memory

UNIFORM = "uniform"  # the buffer of runtime constants, the same for all states of a call


@dataclass(eq=False)
class Buffer:
    """Memory for `size` real numbers. Inputs are read only, outputs written only.

    While equations are traced, the size of an input covers the indices that they have read so far.
    """

    name: str
    size: int
    kind: str = "scratch"  # or "input", "output", "uniform": runtime constants of a call
    given: bool = False  # whether the caller passes its numbers


# ------------------------------------------------------------------- real numbers


class Scalar:
    """A real number of a program. While equations are traced, operators on it record more of them.

    `body_index` is the body that it is computed for, -1 for none; `graph` and `number` belong to the trace.
    """

    __slots__ = ("body_index", "graph", "number", "quantity")
    op: str
    args: tuple[Any, ...]
    body_index: int
    graph: Any
    number: int
    quantity: str

    @property
    def leaf(self) -> Any:
        """The buffer or symbolic address it is loaded from, None if it is computed."""
        return None

    def __add__(self, other: Any) -> Any:
        return self.graph.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self.graph.sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.graph.sub(other, self)

    def __mul__(self, other: Any) -> Any:
        return self.graph.mul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self.graph.div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.graph.div(other, self)

    def __neg__(self) -> Any:
        return self.graph.neg(self)

    def __abs__(self) -> Any:
        return self.graph.abs(self)

    # NumPy calls these for each entry of an array of objects.

    def sin(self) -> Any:
        return self.graph.sin(self)

    def cos(self) -> Any:
        return self.graph.cos(self)

    def sqrt(self) -> Any:
        return self.graph.sqrt(self)

    def exp(self) -> Any:
        return self.graph.exp(self)

    def log(self) -> Any:
        return self.graph.log(self)

    def tanh(self) -> Any:
        return self.graph.tanh(self)

    def floor(self) -> Any:
        return self.graph.floor(self)

    def arctan2(self, other: Any) -> Any:
        return self.graph.arctan2(self, other)

    def minimum(self, other: Any) -> Any:
        return self.graph.minimum(self, other)

    def maximum(self, other: Any) -> Any:
        return self.graph.maximum(self, other)

    def less(self, other: Any) -> Any:
        return self.graph.less(self, other)

    def choose(self, a: Any, b: Any) -> Any:
        return self.graph.choose(self, a, b)

    def rescale(self) -> Any:
        return self.graph.rescale(self)


class Value(Scalar):
    """An operation on real numbers. A multiply-add has two quantities, of its product and of its sum."""

    __slots__ = ("args", "of_product", "op")

    def __init__(
        self, op: str, args: tuple[Any, ...], quantity: str = "", of_product: str = "", body_index: int = -1
    ) -> None:
        if op not in OPS:
            raise TypeError(f"program: unknown operation on real numbers {op!r}.")
        self.op = op
        self.args = args
        self.quantity = quantity
        self.of_product = of_product
        self.body_index = body_index
        self.number = -1

    def on(self, args: tuple[Any, ...]) -> Value:
        """The same operation on other operands."""
        return Value(self.op, args, self.quantity, self.of_product, self.body_index)

    def __repr__(self) -> str:
        operands = (f"%{getattr(a, 'number', -1)}" if isinstance(a, Scalar) else repr(a) for a in self.args)
        return f"%{self.number} = {self.op}({', '.join(operands)})"


class Load(Scalar):
    """A real number loaded from a buffer or a table.

    In a template, which is inlined into loops, `buffer` is a symbolic address (`rolled/leaves.py`).
    """

    __slots__ = ("buffer", "index")
    op = INPUT
    args = ()

    def __init__(self, buffer: Any, index: Index) -> None:
        self.buffer = buffer
        self.index = index
        self.quantity = ""
        self.body_index = -1

    @property
    def leaf(self) -> Any:
        return self.buffer

    def __repr__(self) -> str:
        return f"{getattr(self.buffer, 'name', self.buffer)}[{self.index}]"


@dataclass(frozen=True, eq=False)
class Select:
    """`a` where a condition on integers holds, else `b`."""

    condition: Index
    a: Any
    b: Any


@dataclass(frozen=True, eq=False)
class LoopCarried:
    """A loop-carried value: `start` in the first iteration, later what the iteration before yields.

    After its loop it has the value that the last iteration has yielded.
    """

    start: Any


Real = float | Scalar | Select | LoopCarried


# ------------------------------------------------------------------- statements


@dataclass(frozen=True, eq=False)
class Store:
    """Store a value in a buffer at an index."""

    buffer: Buffer
    index: Index
    value: Any


@dataclass(frozen=True, eq=False)
class For:
    """A loop whose counter runs over first … end - 1, or `down` from end - 1; at least one iteration.

    With a `successor`, the counter takes that as its next value until it is negative; `end` is then unused.
    `yields` are the next values of the loop-carried ones.
    """

    counter: InductionVariable
    first: Index
    end: Index
    down: bool
    carried: tuple[LoopCarried, ...]
    yields: tuple[Any, ...]
    body: tuple[Any, ...]
    successor: Index | None = None


@dataclass(frozen=True, eq=False)
class Until:
    """A loop that ends on data: iterations until `stop` is not zero, at least one and at most `limit`.

    `stop` and `yields` are values at the end of an iteration; the last one yields as well. The counter
    numbers iterations from 0. Lanes that are done keep their loop-carried values and what they
    have stored, and the loop ends with the last lane: no lane changes the bits of another.
    """

    counter: InductionVariable
    limit: Index
    carried: tuple[LoopCarried, ...]
    yields: tuple[Any, ...]
    stop: Any
    body: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class ParallelFor:
    """Independent iterations whose counter runs over first … end - 1; at least one.

    They may run in any order, in SIMD lanes, in the work-items of a group, or one after another; after the
    loop all that they have stored can be loaded. No iteration loads what another stores.
    """

    counter: InductionVariable
    first: Index
    end: Index
    body: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class If:
    """Statements that run only if a condition holds."""

    condition: Index
    body: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Attributed:
    """Statements whose operations counts attribute to a body."""

    body_index: Index
    body: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class SimdRegion:
    """Statements with lanes of their own, a function in compiled code.

    Scratch buffers have `width` numbers at every index: the lanes of the program, or one. Inputs and outputs
    are indexed by single numbers: a load or store reaches `width` consecutive ones.
    """

    width: int
    body: tuple[Any, ...]


Containers = For | Until | ParallelFor | If | Attributed | SimdRegion  # statements that hold others


@dataclass(frozen=True, eq=False)
class Program:
    """Inputs, outputs and scratch memory, and the statements in order."""

    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    body: tuple[Any, ...]
    scratch: tuple[Buffer, ...] = ()
    lanes: int = 1  # numbers at every index of scratch memory
    bodies: int = 0  # of the robot, and its parameters, for counts
    parameters: int = 0
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # of inputs and outputs
    uniform: Buffer | None = None
    sizes: tuple[InductionVariable, ...] = ()  # integers that a call passes, such as trip counts
    # Of the symbols in equations that use nothing of the robot: its number, or what the symbol stands for.
    meanings: dict[Any, Any] = field(default_factory=dict)

    @property
    def results(self) -> list[Any]:
        """The stored values of straight-line code, in order."""
        return [s.value for s in self.body if type(s) is Store]

    @property
    def targets(self) -> list[Any]:
        """The symbolic addresses to which a template stores its results, in order."""
        return [s.buffer for s in self.body if type(s) is Store]

    @property
    def values(self) -> list[Any]:
        """The loads and operations of straight-line code, in order."""
        return [s for s in self.body if type(s) is not Store]

    @property
    def stores(self) -> list[Store]:
        """The stores of straight-line code, in order."""
        return [s for s in self.body if type(s) is Store]

    @property
    def is_straight(self) -> bool:
        """Whether there is no loop."""
        return not any(isinstance(s, For | Until | ParallelFor) for s in statements(self.body))

    def text(self) -> str:
        """The program as text, which `parse` of `phalanx.program.text` reads back."""
        from .text import text  # which knows all statements

        return text(self)

    __str__ = text


def counter_values(s: For, counters: dict[InductionVariable, Any]) -> Sequence[int]:
    """The values of a loop's counter in order, given those of the loops around it."""
    first = int(evaluate(s.first, counters, {}))
    if s.successor is None:
        found = range(first, int(evaluate(s.end, counters, {})))
        assert len(found) > 0, "a loop runs at least once"
        return found[::-1] if s.down else found
    visited = []
    while first >= 0:
        visited.append(first)
        first = int(evaluate(s.successor, {**counters, s.counter: first}, {}))
    return visited


def statements(body: tuple[Any, ...]) -> Iterator[Any]:
    """All statements in order, nested ones included."""
    for s in body:
        yield s
        if isinstance(s, Containers):
            yield from statements(s.body)


def operands_of(s: Any) -> tuple[Any, ...]:
    """The real numbers that a statement reads, but not those of statements inside it."""
    if isinstance(s, Value):
        return s.args
    if isinstance(s, Select):
        return s.a, s.b
    if isinstance(s, Store):
        return (s.value,)
    if isinstance(s, For | Until):
        ends = (s.stop,) if isinstance(s, Until) else ()
        return *(c.start for c in s.carried), *s.yields, *ends
    return ()


def is_scratch(buffer: Any) -> bool:
    """Whether memory is a scratch buffer of the program."""
    return isinstance(buffer, Buffer) and buffer.kind == "scratch"


def stores_output(body: tuple[Any, ...]) -> bool:
    """Whether statements store an output."""
    return any(isinstance(s, Store) and s.buffer.kind == "output" for s in statements(body))


def read_by(body: tuple[Any, ...]) -> set[Any]:
    """The real numbers that statements read, nested ones included."""
    return {x for s in statements(body) for x in operands_of(s)}


def renamed(s: Value | Select | Store, names: Mapping[Any, Any]) -> Any:
    """The statement with its operands replaced by `names`; itself if none of them is."""
    if isinstance(s, Value):
        return s.on(tuple([names.get(a, a) for a in s.args])) if any(map(names.__contains__, s.args)) else s
    if isinstance(s, Select):
        either = s.a in names or s.b in names
        return Select(s.condition, names.get(s.a, s.a), names.get(s.b, s.b)) if either else s
    return Store(s.buffer, s.index, names[s.value]) if s.value in names else s


def checked(program: Program) -> Program:
    """The program; with `PHALANX_VERIFY=1` in the environment it is verified, and raises if it is broken.

    A template, which has no outputs of its own, is verified in the program that it is inlined into.
    """
    if os.environ.get("PHALANX_VERIFY") == "1" and program.outputs:
        from .verify import verify  # for developers: no user's call imports it

        verify(program)
    return program
