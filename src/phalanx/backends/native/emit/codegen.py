# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From a program to LLVM: one walk over its statements.

Lanes of registers are states, unless the program itself puts segments of a chain into them: then there is
one state at a time, and inputs and outputs are plain memory. Inputs and outputs are rows, one for each
lane: neighbouring numbers are loaded as they lie and transposed in registers, or back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ....program import ops
from ....program.elementary.rules import RULES
from ....program.elementary.sincos import LARGEST, sincos
from ....program.form.program import (
    Attributed,
    For,
    If,
    IntExpr,
    Load,
    Program,
    Select,
    SimdRegion,
    Store,
    Value,
    apart,
    counters_of,
    plus,
)
from ..compile import Target
from .addressing import AddressWriter, MemoryLayout

_TURNS = (ops.SIN, ops.COS)
_KNOWN = {0.0: "zeroinitializer", 1.0: "splat (i1 true)"}  # masks


class Text(AddressWriter):
    """Text of one function, statement by statement."""

    def body(self, statements: tuple[Any, ...]) -> None:
        for together in _groups(statements):
            kind = type(together[0])
            write = _STATEMENTS.get(kind)
            if write is None:
                raise TypeError(f"LLVM: no rule for the statement {kind.__name__}.")
            write(self, *together)

    # ------------------------------------------------------------- real numbers and memory

    def on_load(self, *loads: Load) -> None:
        region, (variable, first) = loads[0].region, apart(loads[0].index)
        rows = self.rows(region, variable)
        if len(rows) == self.lanes:
            self.names.update(zip(loads, self.load_rows(rows, first, len(loads)), strict=True))
            return
        for k, s in enumerate(loads):
            if rows:
                self.names[s] = self.in_all_lanes(self.piece_of(rows[0], first + k))
            else:
                self.names[s] = self.fetch(self.address(region, s.index), self.alignment(region))

    def on_store(self, *stores: Store) -> None:
        region, (variable, first) = stores[0].region, apart(stores[0].index)
        values = [self.operand_of(s.value) for s in stores]
        if rows := self.rows(region, variable):
            return self.store_rows(rows, first, values)
        for s, value in zip(stores, values, strict=True):
            self.save(value, self.address(region, s.index), self.alignment(region))
        return None

    def on_select(self, s: Select) -> None:
        v, a, b = self.vector, self.operand_of(s.a), self.operand_of(s.b)
        self.names[s] = self.put(f"select i1 {self.condition(s.condition)}, {v} {a}, {v} {b}")

    def on_value(self, s: Value, *more: Value) -> None:
        if s.op in _TURNS:
            return self._turn((s, *more))
        if s.op == ops.TAINT:
            return self._taint(s)
        rule = RULES.get(s.op)
        if rule is None:
            raise TypeError(f"LLVM: no rule for the operation {s.op}.")
        if not self._masked(s):
            self.names[s] = rule(self, *(self.real(a) for a in s.args))
        return None

    def _taint(self, s: Value) -> None:
        """A multiply-add, unless the slow path of sines has looked at the number already."""
        x, taint = s.args
        seen, found = self.seen.get(taint, frozenset()), self.turned.get(x)
        if found is None:
            self.names[s] = RULES[s.op](self, self.real(x), self.real(taint))
        elif found in seen:
            self.names[s] = self.names[taint]
        else:
            self.names[s] = (
                found if isinstance(taint, float) else self.binary("fadd", self.real(taint), found)
            )
        self.seen[s] = seen | {found} if found else seen

    def _masked(self, s: Value) -> bool:
        """Whether it is a test, or a choice by one, written here: bits decide, not numbers in their place."""
        bits, operands = f"<{self.lanes} x i1>", [self.operand_of(a) for a in s.args[-2:]]
        if s.op == ops.LESS:
            holds = self.masks[s] = self.binary("fcmp olt", *operands)
            operands = [self.constant(1.0), self.constant(0.0)]
        elif s.op == ops.SELECT and s.args[0] in self.masks:
            holds = self.masks[s.args[0]]
            both = [_KNOWN.get(a) if isinstance(a, float) else self.masks.get(a) for a in s.args[1:]]
            if all(both) and any(a in self.masks for a in s.args[1:]):
                self.masks[s] = self.put(f"select {bits} {holds}, {bits} {both[0]}, {bits} {both[1]}")
        else:
            return False
        self.names[s] = self.put(
            f"select {bits} {holds}, {', '.join(f'{self.vector} {x}' for x in operands)}"
        )
        return True

    def _turn(self, turns: tuple[Value, ...]) -> None:
        """Sine and cosine of some angles; if one is too large for the fast path, the C library steps in."""
        v = self.vector
        angles = {s.args[0]: self.operand_of(s.args[0]) for s in turns}
        m, beyond = len(angles), ""
        for x in angles.values():  # some processors have no maximum
            large = self.compare("ugt", self.intrinsic("fabs", x), LARGEST)  # or NaN
            beyond = self.put(f"or <{self.lanes} x i1> {beyond}, {large}") if beyond else large
        turned = [sincos(self, x) for x in angles.values()]
        bits = self.put(f"bitcast <{self.lanes} x i1> {beyond} to i{self.lanes}")
        rare = self.put(f"icmp ne i{self.lanes} {bits}, 0")
        before, slow, fast = self.block, self.new_label("slow"), self.new_label("fast")
        self.do(f"br i1 {rare}, label %{slow}, label %{fast}, !prof !0")
        self.label(slow)
        place = f"%{slow}_place"  # an alloca inside a loop would take stack in every round
        self.prologue.append(f"{place} = alloca [{3 * m} x {v}], align {self.size * self.lanes}")
        columns = [*angles.values(), *(sine for sine, _ in turned), *(cosine for _, cosine in turned)]
        places = [self.put(f"getelementptr {v}, ptr {place}, i64 {k}") for k in range(3 * m)]
        for value, at in zip(columns, places, strict=True):
            self.save(value, at, self.size * self.lanes)
        self.do(f"call void @turn_large(ptr {place}, i64 {m * self.lanes})")
        taint: str | float = 0.0
        for x in angles.values():
            taint = RULES[ops.TAINT](self, x, taint)
        again = [self.fetch(at, self.size * self.lanes) for at in places]
        self.do(f"br label %{fast}")
        self.label(fast)
        joined = {
            (op, x): self.put(f"phi {v} [ {columns[k]}, %{before} ], [ {again[k]}, %{slow} ]")
            for k, (op, x) in enumerate(((op, x) for op in _TURNS for x in angles), m)
        }
        self.names.update({s: joined[s.op, s.args[0]] for s in turns})
        found = self.put(f"phi {v} [ {self.constant(0.0)}, %{before} ], [ {taint}, %{slow} ]")
        self.turned.update(dict.fromkeys(angles, found))

    # ------------------------------------------------------------- control

    def on_for(self, s: For) -> None:
        start, stop = (plus(s.end, -1), plus(s.first, -1)) if s.down else (s.first, s.end)
        first, last, whole = self.whole(start), self.whole(stop), self.frame.module.whole
        starts = [self.operand_of(c.start) for c in s.carried]
        for table_entry in _entries(s.body):  # LLVM does not see that these loads are loop-invariant
            if all(c in self.names for c in counters_of(table_entry)):
                self.whole(table_entry)
        label, before = self.new_label(), self.block
        self.do(f"br label %{label}")
        self.label(label)
        heads = len(self.lines)
        self.do("")
        index = self.names[s.counter] = f"%{label}_index"
        phis = [f"%{label}_{k}" for k in range(len(starts))]
        self.names.update(zip(s.carried, phis, strict=True))
        with self.scope():
            self.body(s.body)
            if s.successor is None:
                after = self.put(f"add {whole} {index}, {-1 if s.down else 1}")
                go_on = self.put(f"icmp ne {whole} {after}, {last}")
            else:
                after = self.whole(s.successor)
                go_on = self.put(f"icmp sge {whole} {after}, 0")
        fed = [self.real(x) for x in s.yields]
        rounds = [(whole, index, first, after)]
        rounds += [(self.vector, *each) for each in zip(phis, starts, map(self.operand, fed), strict=True)]
        self.lines[heads] = "\n  ".join(
            f"{name} = phi {kind} [ {begin}, %{before} ], [ {again}, %{self.block} ]"
            for kind, name, begin, again in rounds
        )
        self.names.update(zip(s.carried, fed, strict=True))
        leave = self.new_label("end")
        self.do(f"br i1 {go_on}, label %{label}, label %{leave}")
        self.label(leave)

    def on_if(self, s: If) -> None:
        then, done = self.new_label("then"), self.new_label("done")
        self.do(f"br i1 {self.condition(s.condition)}, label %{then}, label %{done}")
        self.label(then)
        with self.scope():
            self.body(s.body)
        self.do(f"br label %{done}")
        self.label(done)

    def on_attributed(self, s: Attributed) -> None:
        self.body(s.body)

    def on_simd_region(self, s: SimdRegion) -> None:
        """A function of its own, called here."""
        frame = self.frame
        name = f"@{frame.name}_{frame.parts}"
        frame.parts += 1
        w = Text(frame, self.fma, s.width)
        w.body(s.body)
        pointers = [f"%p{k}" for k in range(len(frame.pointers))]
        parameters = "".join(f", ptr noalias {p}" for p in pointers)
        head = f"define internal void {name}(ptr noalias %scratch{parameters}) noinline alignstack(64) #0 {{"
        frame.module.texts.append(f"{head}\n  {w.text}\n  ret void\n}}\n")
        self.do(f"call void {name}(ptr %scratch{''.join(f', ptr {p}' for p in pointers)})")


def _groups(statements: tuple[Any, ...]) -> Iterator[list[Any]]:
    """Statements one by one, but those together that load or store neighbours, or turn angles."""
    group: list[Any] = []
    for s in statements:
        if group and not _joins(group, s):
            yield group
            group = []
        group.append(s)
    if group:
        yield group


def _joins(group: list[Any], s: Any) -> bool:
    last = group[-1]
    if type(last) is not type(s):
        return False
    if isinstance(s, Value):
        return last.op in _TURNS and s.op in _TURNS and all(s.args[0] is not x for x in group)
    if isinstance(s, Load | Store):
        return last.region is s.region and s.index == plus(last.index, 1)
    return False


def _entries(body: tuple[Any, ...]) -> Iterator[IntExpr]:
    """Entries of tables that statements read whatever happens, those of loops inside included."""
    for s in body:
        for field in ("index", "condition", "first", "end", "following"):
            yield from _entries_of(getattr(s, field, None))
        if not isinstance(s, If | SimdRegion):
            yield from _entries(getattr(s, "body", ()))


def _entries_of(index: Any) -> Iterator[IntExpr]:
    if isinstance(index, IntExpr):
        if index.op == "entry":
            yield index
        for a in index.args:
            yield from _entries_of(a)


_STATEMENTS: dict[type, Callable[..., None]] = {
    Load: Text.on_load,
    Value: Text.on_value,
    Select: Text.on_select,
    Store: Text.on_store,
    For: Text.on_for,
    If: Text.on_if,
    Attributed: Text.on_attributed,
    SimdRegion: Text.on_simd_region,
}


# ------------------------------------------------------------------------- modules


def scratch_bytes(program: Program, target: Target, size: int) -> int:
    """Scratch memory that a block of a program needs."""
    lanes = target.lanes(size) if program.lanes == 1 else program.lanes
    return sum(region.size for region in program.scratch) * lanes * size


def block_function(program: Program, target: Target, element: str) -> tuple[str, set[str], int]:
    """LLVM text of the function `block` of a program, its declarations, and bytes of scratch memory."""
    module = Module(element)
    module.add(program, target)
    return module.text, module.used, scratch_bytes(program, target, module.size)


def branched_block_function(
    programs: list[Program], target: Target, element: str
) -> tuple[str, set[str], int]:
    """A block that runs one of several programs: the number in front of what is told says which."""
    module = Module(element)
    for k, program in enumerate(programs):
        module.add(program, target, f"branch{k}", told=True)
    count = len(programs[0].inputs) + len(programs[0].outputs)
    parameters = ", ".join(f"ptr %p{k}, i64 %s{k}" for k in range(count)) + ", ptr %told"
    labels = " ".join(f"i64 {k}, label %b{k}" for k in range(1, len(programs)))
    lines = [
        "%whichp = getelementptr i64, ptr %told, i64 -1",
        "%which = load i64, ptr %whichp",
        f"switch i64 %which, label %b0 [ {labels} ]",
    ]
    for k in range(len(programs)):
        lines += [f"b{k}:", f"call void @branch{k}({parameters})", "ret void"]
    body = "\n  ".join(lines)
    module.texts.append(f"define internal void @block({parameters}) noinline #0 {{\n  {body}\n}}\n")
    return module.text, module.used, 0


class Module:
    """The functions of one or several programs, and the tables that they share."""

    def __init__(self, element: str, whole: str = "i64", align: int = 64) -> None:
        self.element = element
        self.size = 8 if element == "double" else 4
        self.whole = whole  # the type of whole numbers
        self.align = align  # of tables
        self.texts: list[str] = []
        self.used: set[str] = set()
        self._tables: dict[bytes, str] = {}

    @property
    def text(self) -> str:
        return "\n".join([*self._constants(), *self.texts])

    def table(self, values: np.ndarray) -> str:
        """The name of a constant array."""
        kind = self.whole.replace("i", "int") if values.dtype.kind in "iu" else f"float{8 * self.size}"
        return self._tables.setdefault(values.astype(kind).tobytes(), f"@table{len(self._tables)}")

    def _constants(self) -> Iterator[str]:
        for data, name in self._tables.items():
            text = "\\" + data.hex("\\") if data else ""
            yield f'{name} = internal constant [{len(data)} x i8] c"{text}", align {self.align}'

    def add(
        self,
        program: Program,
        target: Target,
        name: str = "block",
        *,
        told: bool = False,
        clamped: bool = False,
    ) -> None:
        """The function `name(in0, stride0, …, out0, stride0, …, told, scratch, last)`.

        The scratch memory must be aligned to 64 bytes. With `told` there is the address of the numbers
        that are for all states alike. If `clamped`, states may be fewer than lanes: those beyond the `last`
        one repeat it, and outputs may stand where inputs do that are read before.
        """
        told = told or program.uniform is not None or bool(program.sizes)
        frame = MemoryLayout(self, program, target.lanes(self.size), name, clamped=clamped)
        w = Text(frame, target.fma, program.lanes)
        if clamped:
            w.clamp()
        w.sizes(program.sizes)
        w.body(program.body)
        straight = program.is_straight
        alone = "" if straight or clamped else "noalias "
        parameters = ", ".join(f"ptr {alone}%p{k}, i64 %s{k}" for k in range(len(frame.pointers)))
        if told:
            parameters += ", ptr %told"
        if not straight:
            parameters += ", ptr noalias %scratch"
        if clamped:
            parameters += ", i64 %last"
        # Unless aligned, the stack would hold spilt registers across lines of cache: a third more time.
        aligned = "" if straight or program.lanes > 1 else "alignstack(64) "
        head = f"define internal void @{name}({parameters}) noinline {aligned}#0 {{"
        self.texts.append(f"{head}\n  {w.text}\n  ret void\n}}\n")
