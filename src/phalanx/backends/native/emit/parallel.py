# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Vectorised parallel loops of one state: each SIMD lane computes one iteration.

Where an index has stride one in the induction variable, a load or store is contiguous; where it has stride
zero, a load is broadcast to all lanes; otherwise loads gather and stores scatter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....program.ir import (
    Attributed,
    For,
    If,
    Index,
    InductionVariable,
    IntExpr,
    Load,
    ParallelFor,
    Select,
    Store,
    Value,
    counters_of,
    statements,
)
from .writer import ARITHMETIC, COMPARED, AddressWriter


def runs_in_lanes(s: ParallelFor) -> bool:
    """Whether control flow is uniform across iterations."""
    return _is_uniform(s.body, s.counter)


def _is_uniform(body: tuple[Any, ...], counter: InductionVariable) -> bool:
    for x in body:
        if isinstance(x, For):
            steering = counters_of(x.first) | counters_of(x.end) | counters_of(x.successor)
        elif isinstance(x, If):
            steering = counters_of(x.condition)
        elif isinstance(x, Attributed | Load | Store | Select | Value):
            steering = set()
        else:
            return False
        if counter in steering or not _is_uniform(getattr(x, "body", ()), counter):
            return False
    return True


def stride(index: Any, counter: InductionVariable) -> int | None:
    """The stride of an index in an induction variable; None if it is not a constant."""
    if index is counter:
        return 1
    if counter not in counters_of(index):
        return 0
    op, (a, *more) = index.op, index.args
    if op in ("add", "sub"):
        first, second = stride(a, counter), stride(more[0], counter)
        if first is None or second is None:
            return None
        return first + second if op == "add" else first - second
    if op in ("mul", "shl"):
        factor, other = (a, more[0]) if isinstance(a, int) and op == "mul" else (more[0], a)
        grows = stride(other, counter)
        if not isinstance(factor, int) or grows is None:
            return None
        return grows * factor if op == "mul" else grows << factor
    return None


class LaneWriter(AddressWriter):
    """Writes the LLVM IR of iterations in SIMD lanes."""

    def in_lanes_of(self, s: ParallelFor, body: Callable[[tuple[Any, ...]], None]) -> Index:
        """Write the loop over full registers of iterations; returns the first iteration of the remainder."""
        lanes, whole = self.frame.parallel, self.frame.module.whole
        if isinstance(s.first, int) and isinstance(s.end, int):
            first, end = s.first, s.first + (s.end - s.first) // lanes * lanes
            if end > first:
                self._registers(s, body, str(first), str(end))
            return end
        start = self.whole(s.first)
        trips = self.put(f"sub {whole} {self.whole(s.end)}, {start}")
        full = self.put(f"and {whole} {trips}, {-lanes}")
        rest = InductionVariable()
        behind = self.names[rest] = self.put(f"add {whole} {start}, {full}")
        some, none = self.new_label("some"), self.new_label("none")
        any_full = self.put(f"icmp sgt {whole} {full}, 0")
        self.do(f"br i1 {any_full}, label %{some}, label %{none}")
        self.label(some)
        with self.scope():
            self._registers(s, body, start, behind)
        self.do(f"br label %{none}")
        self.label(none)
        return rest

    def _registers(
        self, s: ParallelFor, body: Callable[[tuple[Any, ...]], None], first: str, end: str
    ) -> None:
        """Write the loop over at least one register of iterations, from `first` to `end`."""
        lanes, whole = self.frame.parallel, self.frame.module.whole
        label, before = self.new_label("lanes"), self.block
        self.do(f"br label %{label}")
        self.label(label)
        heads = len(self.lines)
        self.do("")
        index = self.names[s.counter] = f"%{label}_index"
        aside = self.masks, self.turned, self.seen
        self.masks, self.turned, self.seen = {}, {}, {}
        self.counter, self.outside, self.lanes = s.counter, frozenset(self.names), lanes
        with self.scope():
            body(s.body)
            after = self.put(f"add {whole} {index}, {lanes}")
            more = self.put(f"icmp slt {whole} {after}, {end}")
        self.lines[heads] = f"{index} = phi {whole} [ {first}, %{before} ], [ {after}, %{self.block} ]"
        self.counter, self.outside, self.lanes = None, frozenset(), 1
        self.masks, self.turned, self.seen = aside
        for inner in (s, *statements(s.body)):  # written once more for the remainder
            self.names.pop(getattr(inner, "counter", None), None)
        leave = self.new_label("end")
        self.do(f"br i1 {more}, label %{label}, label %{leave}")
        self.label(leave)

    def spread(self, x: Any) -> str:
        """Broadcast a value from before the loop to all lanes."""
        return self.known(("in all lanes", x), lambda: self._spread(str(self.names[x])))

    def _spread(self, one: str) -> str:
        """Broadcast a number of one lane to all lanes."""
        kind = f"<1 x {self.element}>"
        return self.put(f"shufflevector {kind} {one}, {kind} poison, <{self.lanes} x i32> zeroinitializer")

    # ------------------------------------------------------------- memory

    def load_lanes(self, s: Load) -> str:
        """Load the number of each iteration: broadcast, contiguous or gathered."""
        assert self.counter is not None
        grows = stride(s.index, self.counter)
        if grows == 0:
            return self.in_all_lanes(self.address(s.buffer, s.index, single=True))
        if grows == 1:
            return self.fetch(self.address(s.buffer, s.index, single=True), self.size)
        name, pointers = self._scattered("gather", f"{self.vector} {{0}}", s)
        listed = f"<{self.lanes} x ptr> {pointers}, i32 {self.size}, {self._all()}, {self.vector} poison"
        return self.put(f"call {self.vector} {name}({listed})")

    def store_lanes(self, s: Store) -> None:
        """Store the number of each iteration: contiguous or scattered."""
        assert self.counter is not None
        value = self.operand_of(s.value)
        if stride(s.index, self.counter) == 1:
            return self.save(value, self.address(s.buffer, s.index, single=True), self.size)
        name, pointers = self._scattered("scatter", "void", s)
        listed = f"{self.vector} {value}, <{self.lanes} x ptr> {pointers}, i32 {self.size}, {self._all()}"
        return self.do(f"call void {name}({listed})")

    def _all(self) -> str:
        return f"<{self.lanes} x i1> splat (i1 true)"

    def _scattered(self, kind: str, result: str, s: Load | Store) -> tuple[str, str]:
        """(LLVM intrinsic, vector of addresses) of a gather or scatter."""
        v, pointers = self.vector, f"<{self.lanes} x ptr>"
        name = f"@llvm.masked.{kind}.v{self.lanes}f{8 * self.size}.v{self.lanes}p0"
        mask = f"<{self.lanes} x i1>"
        if kind == "gather":
            self.used.add(f"declare {v} {name}({pointers}, i32, {mask}, {v})")
        else:
            self.used.add(f"declare void {name}({v}, {pointers}, i32, {mask})")
        start = self.address(s.buffer, 0, single=True)
        return name, self.put(f"getelementptr {self.element}, ptr {start}, {self._integers_of(s.index)}")

    # ------------------------------------------------------------- integers of each lane

    @property
    def _whole_vector(self) -> str:
        return f"<{self.lanes} x {self.frame.module.whole}>"

    def _integers_of(self, x: Index) -> str:
        return f"{self._whole_vector} {self.each(x)}"

    def each(self, x: Index) -> str:
        """The vector of an integer expression, one lane per iteration."""
        w, kind, lanes = self.frame.module.whole, self._whole_vector, self.lanes
        if isinstance(x, int):
            return f"splat ({w} {x})"
        if self.counter not in counters_of(x):
            return self.known(("each", x), lambda: self._splat(self.whole(x)))
        if x is self.counter:
            counting = ", ".join(f"{w} {k}" for k in range(lanes))
            return self.known(
                ("each", x), lambda: self.put(f"add {kind} {self._splat(self.whole(x))}, <{counting}>")
            )
        assert isinstance(x, IntExpr)
        return self.known(("each", x), lambda: self._each(x))

    def _splat(self, x: str) -> str:
        w, kind = self.frame.module.whole, self._whole_vector
        one = self.put(f"insertelement {kind} poison, {w} {x}, i64 0")
        return self.put(f"shufflevector {kind} {one}, {kind} poison, <{self.lanes} x i32> zeroinitializer")

    def _each(self, x: IntExpr) -> str:
        w, kind, lanes = self.frame.module.whole, self._whole_vector, self.lanes
        if x.op == "entry":
            table, index = x.args
            start = self.frame.module.table(table.values)
            at = self.put(f"getelementptr {w}, ptr {start}, {self._integers_of(index)}")
            name = f"@llvm.masked.gather.v{lanes}{w}.v{lanes}p0"
            self.used.add(f"declare {kind} {name}(<{lanes} x ptr>, i32, <{lanes} x i1>, {kind})")
            listed = f"<{lanes} x ptr> {at}, i32 {int(w[1:]) // 8}, {self._all()}, {kind} poison"
            return self.put(f"call {kind} {name}({listed})")
        if x.op in ARITHMETIC:
            return self.put(f"{ARITHMETIC[x.op]} {kind} {self.each(x.args[0])}, {self.each(x.args[1])}")
        if x.op == "select":
            condition, a, b = x.args
            return self.put(f"select {self.holds(condition)}, {kind} {self.each(a)}, {kind} {self.each(b)}")
        raise TypeError(f"LLVM: no rule for the operation {x.op} on integers in lanes.")

    def holds(self, condition: Index) -> str:
        """A condition on integers with its LLVM type: one bit if it is uniform, else a mask of lanes."""
        if self.counter is None or self.counter not in counters_of(condition):
            return f"i1 {self.condition(condition)}"
        bits = f"<{self.lanes} x i1>"
        assert isinstance(condition, IntExpr)
        if condition.op == "and":
            both = [self._bits(a) for a in condition.args]
            return f"{bits} {self.put(f'and {bits} {both[0]}, {both[1]}')}"
        a, b = (self.each(x) for x in condition.args)
        return f"{bits} {self.put(f'icmp {COMPARED[condition.op]} {self._whole_vector} {a}, {b}')}"

    def _bits(self, condition: Index) -> str:
        """A condition as a mask, one bit per lane."""
        found = self.holds(condition)
        if not found.startswith("i1 "):
            return found.split("> ", 1)[1]
        bits = f"<{self.lanes} x i1>"
        one = self.put(f"insertelement {bits} poison, {found}, i64 0")
        return self.put(f"shufflevector {bits} {one}, {bits} poison, <{self.lanes} x i32> zeroinitializer")
