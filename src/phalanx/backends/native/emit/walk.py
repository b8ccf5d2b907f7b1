# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From a program to LLVM: one walk over its statements.

Lanes of registers are states, unless the program itself puts segments of a chain into them: then there is
one state at a time, and inputs and outputs are plain memory. With states in lanes, rows of inputs are
transposed into registers or scratch memory, and outputs back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ....program import ops
from ....program.form.program import (
    Choice,
    Clear,
    Flag,
    For,
    If,
    Load,
    Move,
    Number,
    Owned,
    Part,
    Store,
    Turn,
    Value,
    Weave,
)
from ....program.form.wholes import Whole, apart, counters_of, plus
from .moves import Moves
from .trig import LARGEST


class Text(Moves):
    """Text of one function, statement by statement."""

    def body(self, statements: tuple[Any, ...]) -> None:
        for s in statements:
            write = _STATEMENTS.get(type(s))
            if write is None:
                raise TypeError(f"LLVM: no rule for the statement {type(s).__name__}.")
            write(self, s)

    # ------------------------------------------------------------- rows of states in registers

    # ------------------------------------------------------------- rows of states in registers

    def load_inputs(self) -> None:
        """The inputs of straight-line code, one register for each number."""
        for k, region in enumerate(self.frame.program.inputs):
            self.columns[region] = self.load_rows(f"%p{k}", f"%s{k}", region.size)

    def store_outputs(self) -> None:
        for region in self.frame.program.outputs:
            k, made = self.frame.pointers[region], self.results[region]
            self.store_rows(
                f"%p{k}", f"%s{k}", [self.operand(self.real(made[i])) for i in range(region.size)]
            )

    # ------------------------------------------------------------- real numbers

    def on_load(self, s: Load) -> None:
        if s.region.kind == "uniform":
            at = self.put(f"getelementptr {self.element}, ptr %told, i64 {self.whole(s.index)}")
            self.names[s] = self.in_all_lanes(at)
        elif s.alike:
            self.names[s] = self.in_all_lanes(self.address(s.region, s.index, single=True))
        elif s.region in self.columns:
            assert isinstance(s.index, int)
            self.names[s] = self.columns[s.region][s.index]
        else:
            plain = self.size if s.region in self.frame.pointers else 0
            self.names[s] = self.fetch(self.address(s.region, s.index), align=plain)

    def on_number(self, s: Number) -> None:
        kind = self.vector if s.table.wide and self.width > 1 else self.element
        variable, constant = apart(s.index)
        key = (self.block, "row", s.table, variable)
        if key not in self._known:
            at = f"{self.table(s.table)}, i64 {self.whole(variable)}"
            self._known[key] = self.put(f"getelementptr {kind}, ptr {at}")
        place = self.put(f"getelementptr {kind}, ptr {self._known[key]}, i64 {constant}")
        if s.table.wide or self.lanes == 1:
            self.names[s] = self.fetch(place, align=0 if self.lanes > 1 else self.size)
        else:
            self.names[s] = self.in_all_lanes(place)

    def on_flag(self, s: Flag) -> None:
        v = self.vector
        one = self.operand(1.0)
        self.names[s] = self.put(f"select i1 {self.condition(s.condition)}, {v} {one}, {v} zeroinitializer")

    def on_choice(self, s: Choice) -> None:
        v = self.vector
        a, b = (self.operand(self.real(x)) for x in (s.a, s.b))
        self.names[s] = self.put(f"select i1 {self.condition(s.condition)}, {v} {a}, {v} {b}")

    def on_value(self, s: Value) -> None:
        rule = RULES.get(s.op)
        if rule is None:
            raise TypeError(f"LLVM: no rule for the operation {s.op}.")
        self.names[s] = rule(self, *(self.real(a) for a in s.args))

    def chosen(self, mask: str | float, a: str | float, b: str | float) -> str:
        """a in the lanes where the mask is not zero, else b."""
        v = self.vector
        where = self.put(f"fcmp une {v} {self.operand(mask)}, zeroinitializer")
        return self.put(f"select <{self.lanes} x i1> {where}, {v} {self.operand(a)}, {v} {self.operand(b)}")

    def smaller(self, a: str | float, b: str | float) -> str:
        """One in the lanes where a < b, else zero."""
        v = self.vector
        where = self.put(f"fcmp olt {v} {self.operand(a)}, {self.operand(b)}")
        return self.put(f"select <{self.lanes} x i1> {where}, {v} {self.operand(1.0)}, {v} zeroinitializer")

    def on_turn(self, s: Turn) -> None:
        """Sine and cosine of all angles; if one is too large for the fast path, the C library steps in."""
        v, m = self.vector, len(s.angles)
        names = [self.operand(self.real(a)) for a in s.angles]
        largest = ""
        for x in names:
            size = self.intrinsic("fabs", x)
            largest = self.intrinsic("maxnum", largest, size) if largest else size
        turned = [self.sincos(x) for x in names]
        beyond = self.put(f"fcmp ogt {v} {largest}, {self.constant(LARGEST)}")
        bits = self.put(f"bitcast <{self.lanes} x i1> {beyond} to i{self.lanes}")
        rare = self.put(f"icmp ne i{self.lanes} {bits}, 0")
        before, slow, fast = self.block, self.new_label("slow"), self.new_label("fast")
        self.do(f"br i1 {rare}, label %{slow}, label %{fast}, !prof !0")
        self.label(slow)
        memory = f"alloca [{3 * m} x {v}], align {self.size * self.lanes}"
        if before == "0":
            place = self.put(memory)
        else:  # an alloca inside a loop would take stack in every round
            place = f"%{slow}_place"
            self.prologue.append(f"{place} = {memory}")
        for k, (x, (sine, cosine)) in enumerate(zip(names, turned, strict=True)):
            for part, value in ((0, x), (m, sine), (2 * m, cosine)):
                at = self.put(f"getelementptr {v}, ptr {place}, i64 {part + k}")
                self.do(f"store {v} {value}, ptr {at}")
        self.do(f"call void @turn_large(ptr {place}, i64 {m * self.lanes})")
        again = []
        for k in range(m):
            pair = []
            for part in (m, 2 * m):
                at = self.put(f"getelementptr {v}, ptr {place}, i64 {part + k}")
                pair.append(self.put(f"load {v}, ptr {at}"))
            again.append(pair)
        self.do(f"br label %{fast}")
        self.label(fast)
        for k, ((sine, cosine), (s2, c2)) in enumerate(zip(turned, again, strict=True)):
            joined = [
                self.put(f"phi {v} [ {a}, %{before} ], [ {b}, %{slow} ]")
                for a, b in ((sine, s2), (cosine, c2))
            ]
            for made, name in zip((s.sines[k], s.cosines[k]), joined, strict=True):
                if made is not None:
                    self.names[made] = name

    # ------------------------------------------------------------- memory

    def on_store(self, s: Store) -> None:
        if s.region.kind == "output" and self.columns:
            self.results.setdefault(s.region, {})[s.index] = s.value  # type: ignore[index]
            return
        plain = self.size if s.region in self.frame.pointers else 0
        self.save(self.real(s.value), self.address(s.region, s.index), align=plain)

    # ------------------------------------------------------------- control

    def on_for(self, s: For) -> None:
        starts = [self.operand(self.real(c.start)) for c in s.carried]
        if s.following is not None:
            first = self.whole(s.first)

            def following(index: str) -> tuple[str, str]:
                after = self.whole(s.following)  # type: ignore[arg-type]
                return after, f"sge i64 {after}, 0"

        else:
            start, stop = (plus(s.end, -1), plus(s.first, -1)) if s.down else (s.first, s.end)
            first, last = self.whole(start), self.whole(stop)

            def following(index: str) -> tuple[str, str]:
                after = self.put(f"add i64 {index}, {-1 if s.down else 1}")
                return after, f"ne i64 {after}, {last}"

        def phis() -> list[tuple[str, str, Callable[[], str]]]:
            made: list[tuple[str, str, Callable[[], str]]] = []
            for carried, begin, fed in zip(s.carried, starts, s.again, strict=True):
                self.names[carried] = name = f"%c{self.count}"
                self.count += 1
                made.append((name, begin, partial(self._operand_of, fed)))
            return made

        def body(index: str) -> None:
            self.names[s.counter] = index
            self.body(s.body)

        for table_entry in _entries(s.body):  # LLVM does not see that these loads are loop-invariant
            if all(c in self.names for c in counters_of(table_entry)):
                self.whole(table_entry)
        self._rounds(first, following, body, phis)
        for carried, fed in zip(s.carried, s.again, strict=True):
            self.names[carried, "final"] = self.real(fed)

    def on_if(self, s: If) -> None:
        with self._when(self.condition(s.condition)):
            self.body(s.body)

    def on_owned(self, s: Owned) -> None:
        self.body(s.body)

    def on_part(self, s: Part) -> None:
        """A function of its own, called here."""
        frame = self.frame
        name = f"@{frame.name}_{frame.parts}"
        frame.parts += 1
        w = Text(frame, self.fma, s.width)
        w.label("entry")
        w.body(s.body)
        pointers = [f"%p{k}" for k in range(len(frame.pointers))]
        parameters = "".join(f", ptr noalias {p}" for p in pointers)
        head = f"define internal void {name}(ptr noalias %scratch{parameters}) noinline alignstack(64) #0 {{"
        frame.module.texts.append(f"{head}\n  {w.text}\n  ret void\n}}\n")
        self.do(f"call void {name}(ptr %scratch{''.join(f', ptr {p}' for p in pointers)})")


def _entries(body: tuple[Any, ...]) -> Iterator[Whole]:
    """Entries of tables that statements read whatever happens, those of loops inside included."""
    for s in body:
        for field in ("index", "condition", "first", "end", "following", "to", "count"):
            yield from _entries_of(getattr(s, field, None))
        if not isinstance(s, If | Part):
            yield from _entries(getattr(s, "body", ()))


def _entries_of(index: Any) -> Iterator[Whole]:
    if isinstance(index, Whole):
        if index.op == "entry":
            yield index
        for a in index.args:
            yield from _entries_of(a)


RULES: dict[str, Callable[..., str | float]] = {
    ops.ADD: lambda w, a, b: w.binary("fadd", a, b),
    ops.SUB: lambda w, a, b: w.binary("fsub", a, b),
    ops.MUL: lambda w, a, b: w.binary("fmul", a, b),
    ops.DIV: lambda w, a, b: w.binary("fdiv", a, b),
    ops.NEG: lambda w, a: w.neg(a),
    ops.FMA: lambda w, a, b, c: w.multiply_add(a, b, c),
    ops.FMS: lambda w, a, b, c: w.multiply_add(a, b, w.neg(c)),
    ops.FNMA: lambda w, a, b, c: w.multiply_add(w.neg(a), b, c),
    ops.MIN: lambda w, a, b: w.intrinsic("minimum", w.operand(a), w.operand(b)),
    ops.MAX: lambda w, a, b: w.intrinsic("maximum", w.operand(a), w.operand(b)),
    ops.SQRT: lambda w, a: w.intrinsic("sqrt", w.operand(a)),
    ops.RESCALE: lambda w, a: w.rescale(a),
    ops.ABS: lambda w, a: w.intrinsic("fabs", w.operand(a)),
    ops.LESS: lambda w, a, b: w.smaller(a, b),
    ops.CHOOSE: lambda w, a, b, c: w.chosen(a, b, c),
}

_STATEMENTS: dict[type, Callable[[Text, Any], None]] = {
    Load: Text.on_load,
    Number: Text.on_number,
    Flag: Text.on_flag,
    Choice: Text.on_choice,
    Value: Text.on_value,
    Turn: Text.on_turn,
    Store: Text.on_store,
    Clear: Text.on_clear,
    Move: Text.on_move,
    Weave: Text.on_weave,
    For: Text.on_for,
    If: Text.on_if,
    Owned: Text.on_owned,
    Part: Text.on_part,
}
