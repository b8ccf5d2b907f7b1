# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Whether a program is well formed: `verify` raises with number and text of the first statement that is not.

Operands are defined before they are used and in scope, real where real numbers belong and integers where
integers do; loads and stores stay inside their buffers and tables; loops carry as many values as they yield
and run at least once; nothing stores to inputs, nothing loads outputs; iterations of a `ParallelFor` do not
reach what another stores. Indices are checked as intervals, in doubt by their values in all iterations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .ir import (
    INT_OPS,
    Attributed,
    Buffer,
    Containers,
    For,
    If,
    InductionVariable,
    IntExpr,
    Load,
    LoopCarried,
    ParallelFor,
    Program,
    Select,
    SimdRegion,
    Store,
    Table,
    Until,
    Value,
    apart,
    counters_of,
    evaluate,
    is_wide,
    statements,
)
from .ops import OPS
from .text import statement_texts

_MANY = 1 << 22  # iterations up to which indices are computed one by one
_STEPS = 64  # of a successor's interval, after which it counts as unbounded
_INTEGER_OPERANDS = {"select": 3}  # others on two integers, but for "entry" and "lanes"
Interval = tuple[float, float]
_NO_ITERATION = np.iinfo(np.int64).min
_ANY = (-np.inf, np.inf)


class InvalidProgramError(TypeError):
    """A program that is not well formed: a fault of the pass or builder that made it."""


def verify(program: Program) -> Program:
    """The program itself, if it is well formed; else an `InvalidProgramError`."""
    _Verifier(program).run()
    return program


class _FaultError(Exception):
    """The fault of the current statement."""


@dataclass(frozen=True)
class _Around:
    """The context of a statement: loops and conditions around it, outermost first, and lanes."""

    path: tuple[Any, ...] = ()
    width: int = 1
    in_region: bool = False
    until: bool = False
    parallel: ParallelFor | None = None

    def inside(self, s: Any, **changes: Any) -> _Around:
        facts = {name: getattr(self, name) for name in ("width", "in_region", "until", "parallel")}
        return _Around((*self.path, s), **(facts | changes))


class _Verifier:
    """The state of a verification: what is defined and in scope at the current statement."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.values: set[Any] = set()  # real numbers that may be used
        self.counters = set(program.sizes)
        self.defined: list[Any] = []  # in order
        self.around = _Around()
        self.ranges: dict[InductionVariable, Interval] = dict.fromkeys(program.sizes, (1, np.inf))
        self.seen: set[int] = set()
        self.number = 0
        self.buffers: dict[Buffer, str] = {}
        self._points: dict[tuple[int, ...], dict[InductionVariable, Any] | None] = {}

    def run(self) -> None:
        try:
            self._declarations()
            self._body(self.program.body, _Around(width=self.program.lanes))
        except _FaultError as fault:
            raise InvalidProgramError(self._message(str(fault))) from None

    def _message(self, fault: str) -> str:
        if not self.number:
            return f"program: {fault}."
        line = statement_texts(self.program)[self.number]
        return f'program: statement {self.number}, "{line}": {fault}.'

    def _declarations(self) -> None:
        p = self.program
        groups = {"input": p.inputs, "output": p.outputs, "scratch": p.scratch}
        groups["uniform"] = () if p.uniform is None else (p.uniform,)
        for kind, buffers in groups.items():
            for buffer in buffers:
                _require(buffer.kind == kind, f'{buffer.name} is declared as {kind}, but is "{buffer.kind}"')
                _require(buffer.size >= 0, f"{buffer.name} has a negative size")
                self.buffers[buffer] = kind
        for buffers in (p.inputs, p.outputs):  # an input and its adjoint may share a name
            names = Counter(b.name for b in buffers)
            _require(not names or max(names.values()) == 1, f"two inputs or outputs are named {_most(names)}")
        results = {buffer.name for buffer in p.outputs}
        for buffer in (*(b for b in p.inputs if b.name not in results), *p.outputs):
            shape = p.shapes.get(buffer.name, (-1,))
            _require(shape != (-1,) or not p.shapes, f"{buffer.name} has no shape")
            _require(
                not p.shapes or prod(shape) == buffer.size,
                f"{buffer.name} has shape {shape}, size {buffer.size}",
            )
        _require(p.lanes >= 1, f"there are {p.lanes} lanes")

    # ------------------------------------------------------------- statements

    def _body(self, body: Any, around: _Around) -> None:
        _require(isinstance(body, tuple), "statements are no tuple")
        for s in body:
            self.number += 1
            rule = _RULES.get(type(s))
            _require(rule is not None, f"no rule for the statement {type(s).__name__}")
            _require(id(s) not in self.seen, "the same statement stands in two places")
            self.seen.add(id(s))
            assert rule is not None
            self.around = around
            rule(self, s, around)

    def _define(self, *values: Any) -> None:
        self.values.update(values)
        self.defined.extend(values)

    @contextmanager
    def _inner(self) -> Iterator[None]:
        """A scope: values that are defined inside are out of scope after it."""
        count = len(self.defined)
        yield
        self.values.difference_update(self.defined[count:])
        del self.defined[count:]

    def load(self, s: Load, around: _Around) -> None:
        kind = self._memory(s.buffer)
        _require(kind != "output", f"loads from the output {s.buffer.name}")
        if isinstance(s.buffer, Table):
            _require(
                s.buffer.values.dtype.kind == "f",
                f"loads a real number from table {s.buffer.name} of integers",
            )
        self._address(s, around)
        self._define(s)

    def store(self, s: Store, around: _Around) -> None:
        _require(not isinstance(s.buffer, Table), f"stores to the table {getattr(s.buffer, 'name', '')}")
        kind = self._memory(s.buffer)
        _require(kind not in ("input", "uniform"), f"stores to the {kind} {s.buffer.name}")
        _require(
            not (around.until and kind == "output"), "stores to an output inside a loop that ends on data"
        )
        self._real(s.value, "the stored value")
        self._address(s, around)

    def _memory(self, buffer: Any) -> str:
        if isinstance(buffer, Table):
            return "constant"
        _require(isinstance(buffer, Buffer), "its memory is neither a buffer nor a table")
        _require(buffer in self.buffers, f"the buffer {buffer.name} is not declared")
        return self.buffers[buffer]

    def value(self, s: Value, around: _Around) -> None:
        _require(s.op in OPS, f"the operation {s.op!r} is unknown")
        wanted = OPS[s.op].arity
        _require(len(s.args) == wanted, f"{s.op} has {len(s.args)} operands, expected {wanted}")
        for a in s.args:
            self._real(a, "an operand")
        self._define(s)

    def select(self, s: Select, around: _Around) -> None:
        self._integer(s.condition, "the condition")
        self._real(s.a, "an operand")
        self._real(s.b, "an operand")
        self._define(s)

    # ------------------------------------------------------------- loops and blocks

    def loop(self, s: For, around: _Around) -> None:
        self._integer(s.first, "the first index")
        self._integer(s.end, "the end")
        self._starts(s, around)
        with self._counter(s, around):
            if s.successor is not None:
                _require(not s.down, "a loop over successors has no direction")
                _require(self._interval(s.first)[1] >= 0, "the first index is negative: the loop never runs")
                self.around = around.inside(s)
                self._integer(s.successor, "the successor")
                self._all_points(self.around.path, {s.counter})  # which end
            self._loop_body(s, around.inside(s))
        self._define(*s.carried)

    def until(self, s: Until, around: _Around) -> None:
        _require(not around.parallel, "a loop that ends on data stands inside parallel iterations")
        self._integer(s.limit, "the limit")
        self._starts(s, around)
        with self._counter(s, around):
            self._loop_body(s, around.inside(s, until=True))
        self._define(*s.carried)

    def parallel(self, s: ParallelFor, around: _Around) -> None:
        _require(around.parallel is None, "parallel iterations stand inside others")
        self._integer(s.first, "the first index")
        self._integer(s.end, "the end")
        with self._counter(s, around):
            self._body(s.body, around.inside(s, parallel=s))
            self._independent(s, around.inside(s, parallel=s))

    def _starts(self, s: For | Until, around: _Around) -> None:
        for c in s.carried:
            _require(isinstance(c, LoopCarried), "a loop-carried value is of another kind")
            _require(c not in self.values, "a loop-carried value belongs to two loops")
            self._real(c.start, "the start of a loop-carried value")
        carried, yields = len(s.carried), len(s.yields)
        _require(carried == yields, f"it carries {carried} values and yields {yields}")
        _require(len(set(s.carried)) == carried, "a loop-carried value appears twice")

    def _loop_body(self, s: For | Until, around: _Around) -> None:
        number = self.number
        self._define(*s.carried)
        self._body(s.body, around)
        last, self.number = self.number, number
        for x in s.yields:
            self._real(x, "a yielded value")
        if isinstance(s, Until):
            self._real(s.stop, "the condition to stop")
        self.number = last

    @contextmanager
    def _counter(self, s: For | Until | ParallelFor, around: _Around) -> Iterator[None]:
        """The scope of a loop's counter; raise unless the loop runs at least once."""
        _require(isinstance(s.counter, InductionVariable), "its counter is no induction variable")
        _require(s.counter not in self.ranges, "its counter is that of another loop")
        if isinstance(s, Until):
            first, end = (0.0, 0.0), self._interval(s.limit)
        else:
            first, end = self._interval(s.first), self._interval(s.end)
        if not isinstance(s, For) or s.successor is None:
            if end[0] <= first[1] and not self._runs(s, around):
                what = "the limit" if isinstance(s, Until) else "the number of iterations"
                raise _FaultError(f"{what} is not positive: a loop runs at least once")
            self.ranges[s.counter] = first[0], max(end[1] - 1, first[0])
        else:
            self.ranges[s.counter] = self._along(s, first)
        with self._inner():
            self.counters.add(s.counter)
            yield
            self.counters.discard(s.counter)

    def _runs(self, s: Any, around: _Around) -> bool:
        """Whether a loop always runs at least once; also True where that is not known."""
        first, end = (0, s.limit) if isinstance(s, Until) else (s.first, s.end)
        points = self._all_points(around.path, counters_of(first) | counters_of(end))
        if points is None:
            return True
        found = np.asarray(evaluate(end, points, {})) - np.asarray(evaluate(first, points, {}))
        return bool((found > 0).all())

    def _along(self, s: For, first: Interval) -> Interval:
        """The interval of the counter of a loop over successors."""
        low, high = max(first[0], 0), first[1]
        for _ in range(_STEPS):
            self.ranges[s.counter] = low, high
            after = self._interval(s.successor)
            wider = min(low, max(after[0], 0)), max(high, after[1])
            if wider == (low, high):
                return low, high
            low, high = wider
        return 0, np.inf

    def when(self, s: If, around: _Around) -> None:
        self._integer(s.condition, "the condition")
        with self._inner():
            self._body(s.body, around.inside(s))

    def attributed(self, s: Attributed, around: _Around) -> None:
        self._integer(s.body_index, "the body")
        bodies = self.program.bodies  # this index means no body, as -1 does in lanes
        if bodies:
            self._within(s.body_index, bodies + 1, around, f"body {{}} of {bodies}", least=-1)
        self._body(s.body, around.inside(s))

    def region(self, s: SimdRegion, around: _Around) -> None:
        _require(not around.in_region, "lanes stand inside lanes")
        _require(not around.until, "lanes stand inside a loop that ends on data")
        _require(s.width in (1, self.program.lanes), f"{s.width} lanes in a program of {self.program.lanes}")
        outside = self.values, self.counters, self.defined
        known = set() if around.parallel is None else {around.parallel.counter}
        self.values, self.counters, self.defined = set(), known, []  # it is a function of its own
        self._body(s.body, around.inside(s, width=s.width, in_region=True))
        self.values, self.counters, self.defined = outside

    # ------------------------------------------------------------- operands

    def _real(self, x: Any, what: str) -> None:
        if isinstance(x, float):
            return
        _require(
            not isinstance(x, int | IntExpr | InductionVariable),
            f"{what} is an integer, expected a real number",
        )
        _require(
            isinstance(x, Value | Load | Select | LoopCarried), f"{what} is no number, but {type(x).__name__}"
        )
        _require(x in self.values, f"{what} is not defined here")

    def _integer(self, x: Any, what: str) -> None:
        if isinstance(x, int):
            return
        if isinstance(x, InductionVariable):
            _require(x in self.counters, f"{what} has a counter of a loop that is not around it")
            return
        _require(
            not isinstance(x, float | Value | Load | Select | LoopCarried),
            f"{what} is a real number, expected an integer",
        )
        _require(isinstance(x, IntExpr), f"{what} is no integer, but {type(x).__name__}")
        _require(x.op in INT_OPS, f"the operation {x.op!r} on integers is unknown")
        args = x.args
        if x.op == "entry":
            _require(
                len(args) == 2 and isinstance(args[0], Table),
                f"{what}: an entry is one of a table at an index",
            )
            table = args[0]
            _require(
                table.values.dtype.kind in "iub", f"{what} comes from table {table.name} of real numbers"
            )
            self._integer(args[1], what)
            low, high = self._interval(args[1])
            if low < 0 or high >= len(table.values):
                message = f"index {{}} of table {table.name} is outside of 0 … {len(table.values) - 1}"
                self._within(args[1], len(table.values), self.around, message)
            return
        if x.op != "lanes":
            wanted = _INTEGER_OPERANDS.get(x.op, 2)
            _require(len(args) == wanted, f"{what}: {x.op} has {len(args)} operands, expected {wanted}")
        for a in args:
            self._integer(a, what)
        if x.op == "div":  # languages differ in quotients of negative numbers
            self._within(args[0], np.inf, self.around, f"{what} divides {{}}, expected at least 0", 0)
            self._within(args[1], np.inf, self.around, f"{what} divides by {{}}, expected at least 1", 1)

    # ------------------------------------------------------------- addresses

    def _address(self, s: Load | Store, around: _Around) -> None:
        """Check that an index stays inside its memory."""
        self._integer(s.index, "the index")
        buffer, index = s.buffer, s.index
        single = is_wide(index)
        if isinstance(buffer, Table):
            size = buffer.values.size // (around.width if buffer.wide else 1)
        elif buffer.kind == "scratch":
            size = buffer.size * self.program.lanes // (1 if single else around.width)
        else:
            size = buffer.size - (0 if single or buffer.kind == "uniform" else around.width - 1)
        if self.program.sizes and size <= 0:  # as large as the caller says
            return
        if self._interval(index)[1] == np.inf and self._depends_on_sizes(index):
            return
        self._within(index, size, around, f"index {{}} of {buffer.name} is outside of 0 … {size - 1}")

    def _within(self, index: Any, size: float, around: _Around, message: str, least: int = 0) -> None:
        low, high = self._interval(index)
        if least <= low and high < size:
            return
        try:
            points = self._all_points(around.path, counters_of(index))
            if points is None:
                return
            found = np.atleast_1d(np.asarray(evaluate(index, points, {})))
        except IndexError:
            raise _FaultError("an index of a table is outside of the table") from None
        wrong = found[(found < least) | (found >= size)]
        _require(not wrong.size, message.format(wrong[0] if wrong.size else ""))

    def _depends_on_sizes(self, index: Any) -> bool:
        seen: set[Any] = set()
        waiting = set(counters_of(index))
        while waiting:
            counter = waiting.pop()
            if counter in self.program.sizes:
                return True
            seen.add(counter)
            loop = self._loops().get(counter)
            if loop is not None:
                bounds = (loop.limit,) if isinstance(loop, Until) else (loop.first, loop.end)
                waiting |= set().union(*map(counters_of, bounds)) - seen
        return False

    def _loops(self) -> dict[InductionVariable, Any]:
        if not hasattr(self, "_loops_known"):
            every = statements(self.program.body)
            self._loops_known = {s.counter: s for s in every if isinstance(s, For | Until | ParallelFor)}
        return self._loops_known

    def _interval(self, x: Any) -> Interval:
        """The least and the largest value of an integer."""
        if isinstance(x, int):
            return x, x
        if isinstance(x, InductionVariable):
            return self.ranges.get(x, _ANY)
        if not isinstance(x, IntExpr):
            return _ANY
        if x.op == "entry":
            low, high = self._interval(x.args[1])
            values = x.args[0].values
            if low < 0 or high >= len(values):
                low, high = 0, len(values) - 1
            some = values[int(low) : int(high) + 1]
            return (int(some.min()), int(some.max())) if some.size else _ANY
        parts = [self._interval(a) for a in x.args]
        if x.op == "select":
            parts = parts[1:]
        if x.op in ("select", "lanes"):
            return min(p[0] for p in parts), max(p[1] for p in parts)
        return _INTERVALS[x.op](*parts)

    def _all_points(
        self, path: tuple[Any, ...], wanted: set[InductionVariable]
    ) -> dict[InductionVariable, Any] | None:
        """The counters around a statement in all iterations; None if they are too many, or not known."""
        needed = set(wanted)
        relevant: list[Any] = []
        for s in reversed(path):
            if isinstance(s, If):
                relevant.append(s)
                needed |= counters_of(s.condition)
            elif isinstance(s, For | Until | ParallelFor) and s.counter in needed:
                relevant.append(s)
                bounds = (s.limit,) if isinstance(s, Until) else (s.first, s.end)
                needed |= set().union(*map(counters_of, bounds))
                if isinstance(s, For):
                    needed |= counters_of(s.successor)
        if needed & set(self.program.sizes):
            return None
        key = tuple(map(id, relevant))
        if key not in self._points:
            self._points[key] = _points(tuple(reversed(relevant)))
        return self._points[key]

    # ------------------------------------------------------------- parallel iterations

    def _independent(self, s: ParallelFor, around: _Around) -> None:
        """Check that, in any run of the loop, no iteration stores to where another one loads or stores."""
        last, inside, paths = self.number, list(statements(s.body)), _paths(s)
        numbered = list(enumerate(inside, last - len(inside) + 1))
        reached: list[tuple[int, Any]] = [(k, x) for k, x in numbered if isinstance(x, Store)]
        buffers = list(dict.fromkeys(x.buffer for _, x in reached))
        reached += [(k, x) for k, x in numbered if isinstance(x, Load) and x.buffer in buffers]
        path_of = {id(x): (*around.path, *paths[id(x)]) for _, x in reached}
        outside = [a.counter for a in around.path[:-1] if hasattr(a, "counter")]
        runs: set[InductionVariable] = set()  # counters around the loop that some address depends on
        for self.number, x in reached:
            points = self._all_points(path_of[id(x)], counters_of(x.index) | {s.counter})
            same = points is None and isinstance(x, Store) and s.counter not in counters_of(x.index)
            _require(not same, f"every iteration stores to the same address of {x.buffer.name}")
            runs |= {c for c in points or () if c in outside}
        known = []
        for k, x in reached:
            points = self._all_points(path_of[id(x)], counters_of(x.index) | {s.counter} | runs)
            if points is not None:
                where = self._addresses(x, points, path_of[id(x)], around)
                which, *run = (np.broadcast_to(points[c], where.shape).ravel() for c in (s.counter, *runs))
                memory = np.full(where.size, buffers.index(x.buffer))
                known.append((k, x, where.ravel(), which, (memory, where.ravel(), *run)))
        self._owned(known)
        self.number = last

    def _owned(self, reached: list[tuple[int, Any, np.ndarray, np.ndarray, tuple[np.ndarray, ...]]]) -> None:
        """Raise if two iterations of a run reach a cell of memory, which a tuple of integers names."""
        cells = _numbered([np.concatenate(rows) for rows in zip(*(r[-1] for r in reached), strict=True)])
        owner, start = np.full(cells.size, _NO_ITERATION), 0
        for self.number, x, where, which, _ in reached:
            cell = cells[start : start + where.size]
            start += where.size
            what = f"{'store to' if isinstance(x, Store) else 'load what another stores at'} {x.buffer.name}"
            self._own(owner[cell], where, which, what)
            if isinstance(x, Store):
                owner[cell] = which
                self._own(owner[cell], where, which, what)

    def _own(self, owner: np.ndarray, where: np.ndarray, which: np.ndarray, what: str) -> None:
        for k in np.flatnonzero((owner != _NO_ITERATION) & (owner != which))[:1]:
            raise _FaultError(
                f"iterations {min(owner[k], which[k])} and {max(owner[k], which[k])} {what}[{where[k]}]"
            )

    def _addresses(
        self, x: Load | Store, points: dict[InductionVariable, Any], path: tuple[Any, ...], around: _Around
    ) -> np.ndarray:
        """Addresses of a load or store, (…, iterations)."""
        count = len(next(iter(points.values())))
        variable, constant = apart(x.index)
        where = np.asarray(evaluate(x.index, points, {}))
        if isinstance(variable, IntExpr) and variable.op == "lanes":
            each = [np.broadcast_to(evaluate(a, points, {}), count) for a in variable.args]
            where = np.stack(each) + constant
        elif (width := self._width(path, around)) > 1:
            where = where * min(width, self._numbers(x)) + np.arange(width)[:, None]
        return np.broadcast_to(where, (*where.shape[: where.ndim - 1], count))

    def _numbers(self, x: Load | Store) -> int:
        """The number of values at an index of a buffer: one for each lane in scratch memory."""
        return self.program.lanes if x.buffer.kind == "scratch" else 1

    def _width(self, path: tuple[Any, ...], around: _Around) -> int:
        """The number of contiguous values that a load or store accesses."""
        return next((a.width for a in reversed(path) if isinstance(a, SimdRegion)), around.width)


def _paths(s: ParallelFor) -> dict[int, tuple[Any, ...]]:
    """The loops and conditions between a parallel loop and each statement inside."""
    found: dict[int, tuple[Any, ...]] = {}

    def visit(body: tuple[Any, ...], path: tuple[Any, ...]) -> None:
        for x in body:
            found[id(x)] = path
            if isinstance(x, Containers):
                visit(x.body, (*path, x))

    visit(s.body, ())
    return found


def _numbered(rows: list[np.ndarray]) -> np.ndarray:
    """A number for each column of some rows, the same for equal columns."""
    made = np.zeros(rows[0].size if rows else 0, dtype=np.int64)
    for row in rows:
        values, at = np.unique(row, return_inverse=True)
        made = np.unique(made * len(values) + at, return_inverse=True)[1]
    return made


def _points(path: tuple[Any, ...]) -> dict[InductionVariable, Any] | None:
    """The values of induction variables, outermost first, in all iterations in which the conditions hold."""
    counters: dict[InductionVariable, Any] = {}
    count = 1

    def value(x: Any) -> np.ndarray:
        return np.broadcast_to(np.asarray(evaluate(x, counters, {})), (count,))

    for s in path:
        if isinstance(s, If):
            holds = np.flatnonzero(value(s.condition))
            counters = {c: x[holds] for c, x in counters.items()}
            count = len(holds) if counters else int(len(holds) > 0)
            continue
        if isinstance(s, For) and s.successor is not None:
            which, at = np.arange(count), value(s.first)
            found: list[tuple[np.ndarray, np.ndarray]] = []
            total, most = 0, -1
            while len(at) and total <= _MANY:
                found.append((which, at))
                total += len(at) + _STEPS  # a step takes as long as many iterations at once
                most = max(most, int(at.max()))
                # As many visits as there are numbers, and one more: some number came twice.
                _require(len(found) <= most + 1, "its successors never end")
                here = {c: x[which] for c, x in counters.items()} | {s.counter: at}
                after = np.broadcast_to(np.asarray(evaluate(s.successor, here, {})), at.shape)
                which, at = which[after >= 0], after[after >= 0]
            if total > _MANY:
                return None
            which, at = (np.concatenate(x) for x in zip(*found, strict=True))
        else:
            first = np.zeros(count, dtype=np.int64) if isinstance(s, Until) else value(s.first)
            trips = np.maximum(value(s.limit if isinstance(s, Until) else s.end) - first, 0)
            if trips.sum() > _MANY:
                return None
            which = np.repeat(np.arange(count), trips)
            at = first[which] + np.arange(len(which)) - np.repeat(np.cumsum(trips) - trips, trips)
        counters = {c: x[which] for c, x in counters.items()} | {s.counter: at}
        count = len(at)
    return counters


def _product(a: Interval, b: Interval) -> Interval:
    every = [0 if 0 in (x, y) else x * y for x in a for y in b]
    return min(every), max(every)


def _quotient(a: Interval, b: Interval) -> Interval:
    if b[0] <= 0:
        return _ANY
    every = [0 if np.isinf(y) and np.isfinite(x) else x // y if np.isfinite(x) else x for x in a for y in b]
    return min(every), max(every)


_INTERVALS: dict[str, Callable[..., Interval]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _product,
    "shl": lambda a, b: _product(a, (2 ** b[0], 2 ** b[1])),
    "div": _quotient,
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "and"), lambda a, b: (0, 1)),
}


def _require(holds: bool, fault: str) -> None:
    if not holds:
        raise _FaultError(fault)


def _most(names: Counter[str]) -> str:
    return names.most_common(1)[0][0] if names else ""


_RULES: dict[type, Callable[[_Verifier, Any, _Around], None]] = {
    Load: _Verifier.load,
    Store: _Verifier.store,
    Value: _Verifier.value,
    Select: _Verifier.select,
    For: _Verifier.loop,
    Until: _Verifier.until,
    ParallelFor: _Verifier.parallel,
    If: _Verifier.when,
    Attributed: _Verifier.attributed,
    SimdRegion: _Verifier.region,
}
