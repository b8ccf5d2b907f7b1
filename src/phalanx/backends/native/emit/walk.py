# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From a program to LLVM: one walk over its statements.

Lanes of registers are states, unless the program itself puts segments of a chain into them: then there is
one state at a time, and inputs and outputs are plain memory. With states in lanes, rows of inputs are
transposed into registers or scratch memory, and outputs back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from ....ir import ops
from ....ir.form.program import (
    Choice,
    Clear,
    Final,
    Flag,
    For,
    If,
    Load,
    Move,
    Number,
    Owned,
    Part,
    Program,
    Region,
    Store,
    Turn,
    Value,
    Weave,
)
from ....ir.form.wholes import Counter, Index, Table, Whole, apart, counters_of, plus
from ..target import Target
from .trig import LARGEST
from .writer import Writer

_UNROLLED = 4  # blocks of a move that are written out
_COMPARED = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_ARITHMETIC = {"add": "add", "sub": "sub", "mul": "mul", "shl": "shl", "div": "udiv"}


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

    def __init__(self, element: str) -> None:
        self.element = element
        self.size = 8 if element == "double" else 4
        self.texts: list[str] = []
        self.used: set[str] = set()
        self._tables: dict[bytes, str] = {}

    @property
    def text(self) -> str:
        return "\n".join([*self._constants(), *self.texts])

    def table(self, values: np.ndarray) -> str:
        """The name of a constant array."""
        kind = np.int64 if values.dtype.kind in "iu" else np.float64 if self.size == 8 else np.float32
        return self._tables.setdefault(values.astype(kind).tobytes(), f"@table{len(self._tables)}")

    def _constants(self) -> Iterator[str]:
        for data, name in self._tables.items():
            text = "\\" + data.hex("\\") if data else ""
            yield f'{name} = internal constant [{len(data)} x i8] c"{text}", align 64'

    def add(self, program: Program, target: Target, name: str = "block", *, told: bool = False) -> None:
        """The function `name(in0, stride0, …, out0, stride0, …, told, scratch)`.

        The scratch memory must be aligned to 64 bytes. With `told` there is the address of the numbers
        that are for all states alike.
        """
        told = told or program.uniform is not None
        frame = Frame(self, program, target.lanes(self.size), name)
        w = Text(frame, target.fma, program.lanes)
        straight = program.is_straight
        if straight:
            w.load_inputs()
        else:
            w.label("entry")
        w.body(program.body)
        if straight:
            w.store_outputs()
        alone = "" if straight else "noalias "
        parameters = ", ".join(f"ptr {alone}%p{k}, i64 %s{k}" for k in range(len(frame.pointers)))
        if told:
            parameters += ", ptr %told"
        if not straight:
            parameters += ", ptr noalias %scratch"
        # Unless aligned, the stack would hold spilt registers across lines of cache: a third more time.
        aligned = "" if straight or program.lanes > 1 else "alignstack(64) "
        head = f"define internal void @{name}({parameters}) noinline {aligned}#0 {{"
        self.texts.append(f"{head}\n  {w.text}\n  ret void\n}}\n")


class Frame:
    """What the functions of one program share: where regions lie."""

    def __init__(self, module: Module, program: Program, lanes: int, name: str) -> None:
        self.module, self.program, self.name = module, program, name
        self.states = lanes if program.lanes == 1 else 1  # in the lanes of a register
        self.parts = 0
        self.offsets: dict[Region, int] = {}
        scratch = 0
        for region in program.scratch:
            self.offsets[region] = scratch
            scratch += region.size * program.lanes * self.states * module.size
        arguments = (*program.inputs, *program.outputs)
        self.pointers = {region: k for k, region in enumerate(arguments)}


class Text(Writer):
    """Text of one function; `width` numbers of the program stand in each place that it reads."""

    def __init__(self, frame: Frame, fma: bool, width: int) -> None:
        super().__init__(frame.module.element, width * frame.states, fma)
        self.frame, self.width = frame, width
        self.used = frame.module.used
        self.block = "0"
        self.prologue: list[str] = []
        self.names: dict[Any, str | float] = {}
        self.columns: dict[Region, list[str]] = {}
        self.results: dict[Region, dict[int, Any]] = {}
        self._labels = 0
        self._known: dict[tuple[Any, ...], str] = {}  # addresses, by block
        self._scopes: list[dict[Index, str]] = [{}]  # whole numbers, of the loops and conditions around

    @property
    def text(self) -> str:
        lines = self.lines
        if self.prologue:
            lines = [lines[0], *self.prologue, *lines[1:]]
        return "\n  ".join(lines)

    def body(self, statements: tuple[Any, ...]) -> None:
        for s in statements:
            write = _STATEMENTS.get(type(s))
            if write is None:
                raise TypeError(f"LLVM: no rule for the statement {type(s).__name__}.")
            write(self, s)

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

    # ------------------------------------------------------------- whole numbers

    def whole(self, x: Index) -> str:
        """A whole number; made once, and known wherever that is on the way."""
        if isinstance(x, int):
            return str(x)
        if isinstance(x, Counter):
            return str(self.names[x])
        for scope in self._scopes:
            if x in scope:
                return scope[x]
        made = self._scopes[-1][x] = self._whole(x)
        return made

    def _whole(self, x: Whole) -> str:
        if x.op == "entry":
            table, index = x.args
            place = self.put(f"getelementptr i64, ptr {self.table(table)}, i64 {self.whole(index)}")
            return self.put(f"load i64, ptr {place}, align 8")
        args = [self.whole(a) for a in x.args]
        if x.op in _ARITHMETIC:
            return self.put(f"{_ARITHMETIC[x.op]} i64 {args[0]}, {args[1]}")
        if x.op in _COMPARED:
            return self.put(f"icmp {_COMPARED[x.op]} i64 {args[0]}, {args[1]}")
        if x.op == "and":
            return self.put(f"and i1 {args[0]}, {args[1]}")
        if x.op == "select":
            return self.put(f"select i1 {args[0]}, i64 {args[1]}, i64 {args[2]}")
        raise TypeError(f"LLVM: no rule for the operation {x.op} on whole numbers.")

    def condition(self, x: Index) -> str:
        return str(bool(x)).lower() if isinstance(x, int) else self.whole(x)

    # ------------------------------------------------------------- places

    def table(self, table: Table) -> str:
        return self.frame.module.table(table.values)

    def address(self, region: Region, index: Index) -> str:
        """Where a place of a region is."""
        variable, constant = apart(index)
        kind = self.vector if region in self.frame.offsets else self.element
        base = self._base(region, variable, kind)
        return base if not constant else self.put(f"getelementptr {kind}, ptr {base}, i64 {constant}")

    def _base(self, region: Region, variable: Index, kind: str) -> str:
        key = (self.block, "base", region, variable)
        if key not in self._known:
            if region in self.frame.offsets:
                start = self.put(f"getelementptr i8, ptr %scratch, i64 {self.frame.offsets[region]}")
            else:
                start = f"%p{self.frame.pointers[region]}"
            if variable != 0:
                start = self.put(f"getelementptr {kind}, ptr {start}, i64 {self.whole(variable)}")
            self._known[key] = start
        return self._known[key]

    def fetch(self, place: str, *, align: int = 0) -> str:
        return self.put(f"load {self.vector}, ptr {place}, align {align or self.lanes * self.size}")

    def save(self, value: str | float, place: str, *, align: int = 0) -> None:
        v = self.vector
        self.do(f"store {v} {self.operand(value)}, ptr {place}, align {align or self.lanes * self.size}")

    def in_all_lanes(self, place: str) -> str:
        """The number at an address, in all lanes."""
        one = self.put(f"load {self.element}, ptr {place}, align {self.size}")
        v = self.vector
        wide = self.put(f"insertelement {v} poison, {self.element} {one}, i64 0")
        return self.put(f"shufflevector {v} {wide}, {v} poison, <{self.lanes} x i32> zeroinitializer")

    # ------------------------------------------------------------- real numbers

    def real(self, x: Any) -> str | float:
        if isinstance(x, float):
            return x
        found = self.names[x.carried, "final"] if isinstance(x, Final) else self.names[x]
        return found

    def _operand_of(self, x: Any) -> str:
        return self.operand(self.real(x))

    def on_load(self, s: Load) -> None:
        if s.region.kind == "uniform":
            at = self.put(f"getelementptr {self.element}, ptr %told, i64 {self.whole(s.index)}")
            self.names[s] = self.in_all_lanes(at)
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

    def on_clear(self, s: Clear) -> None:
        self.used.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        count = s.count * self.frame.program.lanes * self.frame.states * self.size
        place = self.address(s.region, 0)
        self.do(f"call void @llvm.memset.p0.i64(ptr {place}, i8 0, i64 {count}, i1 false)")

    def on_move(self, s: Move) -> None:
        """Rows of states through registers, as many columns at once as there are lanes."""
        if s.source.kind == s.target.kind == "scratch":
            return self._copy(s)
        inward = s.source.kind == "input"
        rows, to = (s.source, s.index) if inward else (s.target, s.to)
        number = self.frame.pointers[rows]

        def block(first: str, width: int) -> None:
            at = self.put(f"add i64 {self.whole(to)}, {first}") if to != 0 else first
            base = self.put(f"getelementptr {self.element}, ptr %p{number}, i64 {at}")
            region, start = (s.target, s.to) if inward else (s.source, s.index)
            place = self.address(region, start)
            step = self.put(f"mul i64 {first}, {s.step}") if s.step > 1 else first
            place = self.put(f"getelementptr {self.vector}, ptr {place}, i64 {step}")
            places = [
                self.put(f"getelementptr {self.vector}, ptr {place}, i64 {k * s.step}") for k in range(width)
            ]
            if inward:
                for value, where in zip(self.load_rows(base, f"%s{number}", width), places, strict=True):
                    self.save(value, where)
            else:
                self.store_rows(base, f"%s{number}", [self.fetch(where) for where in places])

        return self._in_blocks(s.count, s.rest, block)

    def _in_blocks(self, count: Index, rest: int, block: Callable[[str, int], None]) -> None:
        """`block(first, width)` for whole registers, then for what is left."""
        tail = rest % self.lanes
        if isinstance(count, int):
            whole = count // self.lanes
            if whole <= _UNROLLED:
                for k in range(whole):
                    block(str(k * self.lanes), self.lanes)
            else:
                self._each_block(str(whole), block)
            if tail:
                block(str(whole * self.lanes), tail)
            return
        blocks = self.put(f"udiv i64 {self.whole(count)}, {self.lanes}")
        with self._when(self.put(f"icmp ne i64 {blocks}, 0")):
            self._each_block(blocks, block)
        if tail:
            block(self.put(f"mul i64 {blocks}, {self.lanes}"), tail)

    def _each_block(self, count: str, block: Callable[[str, int], None]) -> None:
        def one(index: str) -> None:
            block(self.put(f"mul i64 {index}, {self.lanes}"), self.lanes)

        self._rounds("0", lambda i: (n := self.put(f"add i64 {i}, 1"), f"ne i64 {n}, {count}"), one)

    def _copy(self, s: Move) -> None:
        """One region of scratch memory into another."""
        assert s.step == 1
        assert isinstance(s.count, int)
        self.used.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        both = f"ptr {self.address(s.target, s.to)}, ptr {self.address(s.source, s.index)}"
        size = s.count * self.frame.program.lanes * self.frame.states * self.size
        self.do(f"call void @llvm.memcpy.p0.p0.i64({both}, i64 {size}, i1 false)")

    def on_weave(self, s: Weave) -> None:
        """Rows of plain memory, one for each lane, as columns or back."""
        starts = [self.address(s.memory, index) for index in s.starts]
        weave = Woven(self, starts)
        if not s.back:
            values = weave.load_rows("", "", s.count)
            for k, value in enumerate(values):
                self.save(value, self.address(s.region, plus(s.index, k)))
            return
        weave.store_rows(
            "", "", [self.fetch(self.address(s.region, plus(s.index, k))) for k in range(s.count)]
        )

    # ------------------------------------------------------------- loops

    def new_label(self, kind: str = "l") -> str:
        self._labels += 1
        return kind if self.block == "0" else f"{kind}{self._labels}"

    def label(self, name: str) -> None:
        self.do(f"{name}:")
        self.block = name

    def _rounds(
        self,
        first: str,
        following: Callable[[str], tuple[str, str]],
        body: Callable[[str], None],
        phis: Callable[[], list[tuple[str, str, Callable[[], str]]]] = list,
    ) -> None:
        """A loop: `following(index)` gives the next index and the condition to go on."""
        label, before = self.new_label(), self.block
        self.do(f"br label %{label}")
        self.label(label)
        index = f"%i{self._labels}"
        carried = phis()
        line = len(self.lines)
        self.lines.append("")
        with self._scope():
            body(index)
            after, more = following(index)
        go_on = self.put(f"icmp {more}")
        heads = [f"{index} = phi i64 [ {first}, %{before} ], [ {after}, %{self.block} ]"]
        heads += [
            f"{name} = phi {self.vector} [ {start}, %{before} ], [ {fed()}, %{self.block} ]"
            for name, start, fed in carried
        ]
        self.lines[line] = "\n  ".join(heads)
        leave = self.new_label("end")
        self.do(f"br i1 {go_on}, label %{label}, label %{leave}")
        self.label(leave)

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

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """Whole numbers that are made inside are not known behind."""
        self._scopes.append({})
        yield
        self._scopes.pop()

    @contextmanager
    def _when(self, condition: str) -> Iterator[None]:
        """Text that runs only if a condition holds."""
        then, done = self.new_label("then"), self.new_label("done")
        self.do(f"br i1 {condition}, label %{then}, label %{done}")
        self.label(then)
        with self._scope():
            yield
        self.do(f"br label %{done}")
        self.label(done)

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


class Woven(Writer):
    """Rows that lie at addresses of their own, not so many bytes apart."""

    def __init__(self, w: Text, starts: list[str]) -> None:
        super().__init__(w.element, w.lanes, w.fma)
        self.w, self.starts = w, starts
        self.lines, self.used = w.lines, w.used

    def put(self, text: str) -> str:
        return self.w.put(text)

    def _row(self, base: str, stride: str, r: int, start: int) -> str:
        at = self.starts[r]
        return self.put(f"getelementptr {self.element}, ptr {at}, i64 {start}") if start else at


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
