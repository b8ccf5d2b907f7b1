# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Code generator from a program to LLVM IR: one rule per kind of statement.

SIMD lanes hold states, unless the program itself puts segments of a chain into them: then it computes one
state at a time, and inputs and outputs are plain memory. Inputs and outputs are rows, one per lane:
neighbouring numbers are loaded together and transposed in registers; stores do the reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ....program import ops
from ....program.elementary import LARGEST, sincos
from ....program.ir import (
    Attributed,
    For,
    If,
    InductionVariable,
    IntExpr,
    Load,
    ParallelFor,
    Program,
    Select,
    SimdRegion,
    Store,
    Until,
    Value,
    apart,
    checked,
    counters_of,
    int_expr,
    plus,
)
from ..compile import Target
from .parallel import LaneWriter, runs_in_lanes
from .phases import Phase, Prefetch, counters_used, phases, prefetch
from .writer import MemoryLayout

_SINCOS = (ops.SIN, ops.COS)
_KNOWN = {0.0: "zeroinitializer", 1.0: "splat (i1 true)"}  # masks


class Text(LaneWriter):
    """Writes the LLVM IR of one function, statement by statement."""

    def body(self, body: tuple[Any, ...]) -> None:
        for together in _groups(body):
            kind = type(together[0])
            write = _STATEMENTS.get(kind)
            if write is None:
                raise TypeError(f"LLVM: no rule for the statement {kind.__name__}.")
            write(self, *together)

    # ------------------------------------------------------------- real numbers and memory

    def on_load(self, *loads: Load) -> None:
        if self.counter is not None:
            self.names.update((s, self.load_lanes(s)) for s in loads)
            return
        buffer, (variable, first) = loads[0].buffer, apart(loads[0].index)
        rows = self.rows(buffer, variable)
        if len(rows) == self.lanes:
            self.names.update(zip(loads, self.load_rows(rows, first, len(loads)), strict=True))
            return
        for k, s in enumerate(loads):
            if rows:
                self.names[s] = self.in_all_lanes(self.piece_of(rows[0], first + k))
            else:
                self.names[s] = self.fetch(self.address(buffer, s.index), self.alignment(buffer))

    def on_store(self, *stores: Store) -> None:
        if self.counter is not None:
            for s in stores:
                self.store_lanes(s)
            return None
        buffer, (variable, first) = stores[0].buffer, apart(stores[0].index)
        values = [self.operand_of(s.value) for s in stores]
        if rows := self.rows(buffer, variable):
            if self.active:
                before = self.load_rows(rows, first, len(stores))
                values = [self.select(self.active, a, b) for a, b in zip(values, before, strict=True)]
            return self.store_rows(rows, first, values)
        for s, value in zip(stores, values, strict=True):
            address, align = self.address(buffer, s.index), self.alignment(buffer)
            if self.active:
                value = self.select(self.active, value, self.fetch(address, align))
            self.save(value, address, align)
        return None

    def on_select(self, s: Select) -> None:
        v, a, b = self.vector, self.operand_of(s.a), self.operand_of(s.b)
        condition = f"i1 {self.condition(s.condition)}" if self.counter is None else self.holds(s.condition)
        self.names[s] = self.put(f"select {condition}, {v} {a}, {v} {b}")

    def on_value(self, s: Value, *more: Value) -> None:
        if s.op in _SINCOS:
            return self._sincos((s, *more))
        if s.op == ops.TAINT:
            return self._taint(s)
        if not self._masked(s):
            self.names[s] = self.steps(s.op, *(self.real(a) for a in s.args))
        return None

    def _taint(self, s: Value) -> None:
        """A multiply-add, unless the slow path of sine and cosine has computed the number's taint."""
        x, taint = s.args
        seen, found = self.seen.get(taint, frozenset()), self.turned.get(x)
        if found is None:
            self.names[s] = self.steps(s.op, self.real(x), self.real(taint))
        elif found in seen:
            self.names[s] = self.names[taint]
        else:
            self.names[s] = (
                found if isinstance(taint, float) else self.binary("fadd", self.real(taint), found)
            )
        self.seen[s] = seen | {found} if found else seen

    def _masked(self, s: Value) -> bool:
        """Write a comparison, or a select by one, with a mask of bits; False for other operations."""
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

    def _sincos(self, values: tuple[Value, ...]) -> None:
        """Sines and cosines of some angles; if one is too large for the fast path, call the C library."""
        v = self.vector
        angles = {s.args[0]: self.operand_of(s.args[0]) for s in values}
        m, beyond = len(angles), ""
        for x in angles.values():  # some processors have no maximum
            large = self.compare("ugt", self.intrinsic("fabs", x), LARGEST)  # or NaN
            beyond = self.put(f"or <{self.lanes} x i1> {beyond}, {large}") if beyond else large
        computed = [sincos(self, x) for x in angles.values()]
        bits = self.put(f"bitcast <{self.lanes} x i1> {beyond} to i{self.lanes}")
        rare = self.put(f"icmp ne i{self.lanes} {bits}, 0")
        before, slow, fast = self.block, self.new_label("slow"), self.new_label("fast")
        self.do(f"br i1 {rare}, label %{slow}, label %{fast}, !prof !0")
        self.label(slow)
        buffer = f"%{slow}_place"  # an alloca inside a loop would take stack in every iteration
        self.prologue.append(f"{buffer} = alloca [{3 * m} x {v}], align {self.size * self.lanes}")
        columns = [*angles.values(), *(sine for sine, _ in computed), *(cosine for _, cosine in computed)]
        addresses = [self.put(f"getelementptr {v}, ptr {buffer}, i64 {k}") for k in range(3 * m)]
        for value, at in zip(columns, addresses, strict=True):
            self.save(value, at, self.size * self.lanes)
        self.do(f"call void @sincos_large(ptr {buffer}, i64 {m * self.lanes})")
        taint: str | float = 0.0
        for x in angles.values():
            taint = self.steps(ops.TAINT, x, taint)
        again = [self.fetch(at, self.size * self.lanes) for at in addresses]
        self.do(f"br label %{fast}")
        self.label(fast)
        joined = {
            (op, x): self.put(f"phi {v} [ {columns[k]}, %{before} ], [ {again[k]}, %{slow} ]")
            for k, (op, x) in enumerate(((op, x) for op in _SINCOS for x in angles), m)
        }
        self.names.update({s: joined[s.op, s.args[0]] for s in values})
        found = self.put(f"phi {v} [ {self.constant(0.0)}, %{before} ], [ {taint}, %{slow} ]")
        self.turned.update(dict.fromkeys(angles, found))

    # ------------------------------------------------------------- control

    def hoist(self, body: tuple[Any, ...]) -> None:
        """Load entries of tables in front of a loop: LLVM does not see that they are loop-invariant."""
        for table_entry in _entries(body):
            if all(c in self.names for c in counters_of(table_entry)):
                self.whole(table_entry)

    def on_for(self, s: For) -> None:
        start, stop = (plus(s.end, -1), plus(s.first, -1)) if s.down else (s.first, s.end)
        first, last, whole = self.whole(start), self.whole(stop), self.frame.module.whole
        starts = [self.operand_of(c.start) for c in s.carried]
        self.hoist(s.body)
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
        heading = [(whole, index, first, after)]
        heading += [(self.vector, *each) for each in zip(phis, starts, map(self.operand, fed), strict=True)]
        self.lines[heads] = "\n  ".join(
            f"{name} = phi {kind} [ {begin}, %{before} ], [ {again}, %{self.block} ]"
            for kind, name, begin, again in heading
        )
        self.names.update(zip(s.carried, fed, strict=True))
        leave = self.new_label("end")
        self.do(f"br i1 {go_on}, label %{label}, label %{leave}")
        self.label(leave)

    def on_until(self, s: Until) -> None:
        """A loop that ends with its last active lane; masks preserve the values of lanes that are done."""
        whole, bits, outside = self.frame.module.whole, f"<{self.lanes} x i1>", self.active
        limit, starts = self.whole(s.limit), [self.operand_of(c.start) for c in s.carried]
        self.hoist(s.body)
        label, before = self.new_label(), self.block
        self.do(f"br label %{label}")
        self.label(label)
        heads = len(self.lines)
        self.do("")
        index = self.names[s.counter] = f"%{label}_index"
        active = self.active = f"%{label}_active"
        phis = [f"%{label}_{k}" for k in range(len(starts))]
        self.names.update(zip(s.carried, phis, strict=True))
        with self.scope():
            self.body(s.body)
            fed = [self.select(active, self.real(x), c) for x, c in zip(s.yields, phis, strict=True)]
            left = self.put(f"and {bits} {active}, {self.inverted(self.mask(s.stop))}")
            after = self.put(f"add {whole} {index}, 1")
            go_on = self.put(f"and i1 {self.any(left)}, {self.put(f'icmp slt {whole} {after}, {limit}')}")
        heading = [(whole, index, "0", after), (bits, active, outside or "splat (i1 true)", left)]
        heading += [(self.vector, *each) for each in zip(phis, starts, fed, strict=True)]
        self.lines[heads] = "\n  ".join(
            f"{name} = phi {kind} [ {begin}, %{before} ], [ {again}, %{self.block} ]"
            for kind, name, begin, again in heading
        )
        self.names.update(zip(s.carried, fed, strict=True))
        self.active = outside
        leave = self.new_label("end")
        self.do(f"br i1 {go_on}, label %{label}, label %{leave}")
        self.label(leave)

    def on_parallel_for(self, s: ParallelFor) -> None:
        """Iterations in SIMD lanes where lanes hold no states, else one after another."""
        first = s.first
        if self.frame.parallel > 1 and self.lanes == 1 and not self.active and runs_in_lanes(s):
            first = self.in_lanes_of(s, self.body)
        if first == s.end:
            return
        rest = For(s.counter, first, s.end, False, (), (), s.body)
        if first is s.first or isinstance(first, int):
            self.on_for(rest)
        else:
            self.on_if(If(int_expr("lt", first, s.end), (rest,)))

    def on_prefetch(self, s: Prefetch) -> None:
        """Prefetch all cache lines at once: one by one they take longer than the arithmetic between them."""
        self.used.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        for buffer, index, stores in s.numbers:
            address = self.address(buffer, index)
            self.do(f"call void @llvm.prefetch.p0(ptr {address}, i32 {int(stores)}, i32 3, i32 1)")

    def mask(self, x: Any) -> str:
        """The mask of lanes in which a number is not zero."""
        return self.masks[x] if x in self.masks else self.compare("une", self.real(x), 0.0)

    def inverted(self, mask: str) -> str:
        return self.put(f"xor <{self.lanes} x i1> {mask}, splat (i1 true)")

    def any(self, mask: str) -> str:
        """Whether a bit of a mask is set."""
        bits = self.put(f"bitcast <{self.lanes} x i1> {mask} to i{self.lanes}")
        return self.put(f"icmp ne i{self.lanes} {bits}, 0")

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
        """Call a separate function with the body, in lanes of the region's width."""
        frame = self.frame
        name = f"@{frame.name}_{frame.parts}"
        frame.parts += 1
        w = Text(frame, self.fma, s.width)
        counters = [c for c in self.names if c in counters_used(s.body)]
        w.names.update((c, f"%i{k}") for k, c in enumerate(counters))
        w.body(s.body)
        pointers = [f"%p{k}" for k in range(len(frame.pointers))]
        whole = frame.module.whole
        parameters = "".join(f", ptr noalias {p}" for p in pointers)
        parameters += "".join(f", {whole} %i{k}" for k in range(len(counters)))
        head = f"define internal void {name}(ptr noalias %scratch{parameters}) noinline alignstack(64) #0 {{"
        frame.module.texts.append(f"{head}\n  {w.text}\n  ret void\n}}\n")
        passed = "".join(f", ptr {p}" for p in pointers)
        passed += "".join(f", {whole} {self.names[c]}" for c in counters)
        self.do(f"call void {name}(ptr %scratch{passed})")


def _groups(statements: tuple[Any, ...]) -> Iterator[list[Any]]:
    """Group consecutive statements that load or store neighbours, or compute sines and cosines."""
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
        return last.op in _SINCOS and s.op in _SINCOS and all(s.args[0] is not x for x in group)
    if isinstance(s, Load | Store):
        return last.buffer is s.buffer and s.index == plus(last.index, 1)
    return False


def _entries(body: tuple[Any, ...]) -> Iterator[IntExpr]:
    """Table entries that statements read unconditionally, those in nested loops included."""
    for s in body:
        for field in ("index", "condition", "first", "end", "limit"):
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
    Until: Text.on_until,
    ParallelFor: Text.on_parallel_for,
    If: Text.on_if,
    Attributed: Text.on_attributed,
    SimdRegion: Text.on_simd_region,
    Prefetch: Text.on_prefetch,
}


# ------------------------------------------------------------------------- modules


def scratch_bytes(program: Program, target: Target, size: int, *, parallel: bool = False) -> int:
    """Bytes of scratch memory that a block of a program needs."""
    lanes = target.lanes(size) if program.lanes == 1 and not parallel else program.lanes
    return sum(buffer.size for buffer in program.scratch) * lanes * size


def block_function(
    program: Program, target: Target, element: str, *, parallel: bool = False
) -> tuple[str, set[str], int]:
    """LLVM IR of the function `block` of a program, its declarations, and bytes of scratch memory.

    With `parallel` it computes one state, with parallel loops in SIMD lanes.
    """
    module = Module(element)
    module.add(program, target, parallel=parallel)
    return module.text, module.used, scratch_bytes(program, target, module.size, parallel=parallel)


def branched_block_function(
    programs: list[Program], target: Target, element: str
) -> tuple[str, set[str], int]:
    """LLVM IR of a block that runs one of several programs: the integer before the uniforms selects it."""
    module = Module(element)
    for k, program in enumerate(programs):
        module.add(program, target, f"branch{k}", uniforms=True)
    count = len(programs[0].inputs) + len(programs[0].outputs)
    parameters = ", ".join(f"ptr %p{k}, i64 %s{k}" for k in range(count)) + ", ptr %uniforms"
    labels = " ".join(f"i64 {k}, label %b{k}" for k in range(1, len(programs)))
    lines = [
        "%whichp = getelementptr i64, ptr %uniforms, i64 -1",
        "%which = load i64, ptr %whichp",
        f"switch i64 %which, label %b0 [ {labels} ]",
    ]
    for k in range(len(programs)):
        lines += [f"b{k}:", f"call void @branch{k}({parameters})", "ret void"]
    body = "\n  ".join(lines)
    module.texts.append(f"define internal void @block({parameters}) noinline #0 {{\n  {body}\n}}\n")
    return module.text, module.used, 0


class Module:
    """An LLVM module: the functions of one or several programs, and the constant tables they share."""

    def __init__(self, element: str, whole: str = "i64", align: int = 64) -> None:
        self.element = element
        self.size = 8 if element == "double" else 4
        self.whole = whole  # the LLVM type of integers
        self.align = align  # of tables
        self.texts: list[str] = []
        self.used: set[str] = set()
        self._tables: dict[bytes, str] = {}
        self.phases: dict[str, list[int]] = {}  # of functions whose parallel loops cores may share

    @property
    def text(self) -> str:
        return "\n".join([*self._constants(), *self.texts])

    def table(self, values: np.ndarray) -> str:
        """The name of the constant array with these values, added to the module if it is new."""
        kind = self.whole.replace("i", "int") if values.dtype.kind in "iu" else f"float{8 * self.size}"
        return self._tables.setdefault(values.astype(kind).tobytes(), f"@table{len(self._tables)}")

    def _constants(self) -> Iterator[str]:
        for data, name in self._tables.items():
            escaped = "\\" + data.hex("\\") if data else ""
            yield f'{name} = internal constant [{len(data)} x i8] c"{escaped}", align {self.align}'

    def add(
        self,
        program: Program,
        target: Target,
        name: str = "block",
        *,
        uniforms: bool = False,
        clamped: bool = False,
        parallel: bool = False,
    ) -> None:
        """Append the function `name(in0, stride0, …, out0, stride0, …, uniforms, scratch, last)`.

        The scratch memory must be aligned to 64 bytes. With `uniforms` it has the address of the numbers
        that all states share. If `clamped`, there may be fewer states than lanes: lanes beyond the `last`
        state repeat it, and outputs may alias inputs that are read before. If `parallel`, there is one
        state, and lanes hold iterations of parallel loops.
        """
        checked(program)
        uniforms = uniforms or program.uniform is not None or bool(program.sizes)
        lanes = target.lanes(self.size)
        states, iterations = (1, lanes) if parallel or program.lanes > 1 else (lanes, 1)
        frame = MemoryLayout(self, program, states, name, clamped=clamped, parallel=iterations)
        straight = program.is_straight
        alone = "" if straight or clamped else "noalias "
        parameters = ", ".join(f"ptr {alone}%p{k}, i64 %s{k}" for k in range(len(frame.pointers)))
        if uniforms:
            parameters += ", ptr %uniforms"
        if not straight:
            parameters += ", ptr noalias %scratch"
        if clamped:
            parameters += ", i64 %last"
        w = Text(frame, target.fma, program.lanes)
        if clamped:
            w.clamp()
        w.sizes(program.sizes)
        parts = [] if parallel or clamped or program.lanes == 1 else phases(program)
        if parts:
            self.phases[name] = [phase.iterations for phase in parts]
            for k, phase in enumerate(parts):
                self._add_phase(f"{name}_phase{k}", phase, frame, target, parameters)
                passed = parameters.replace("noalias ", "")
                w.do(f"call void @{name}_phase{k}({passed}, i64 0, i64 {phase.iterations})")
        else:
            w.body(program.body)
        # Unaligned spill slots would straddle cache lines: a third more time.
        aligned = "" if straight or program.lanes > 1 else "alignstack(64) "
        head = f"define internal void @{name}({parameters}) noinline {aligned}#0 {{"
        self.texts.append(f"{head}\n  {w.text}\n  ret void\n}}\n")

    def _add_phase(
        self, name: str, phase: Phase, frame: MemoryLayout, target: Target, parameters: str
    ) -> None:
        """Append a function of one phase for the iterations `first` … `end` - 1 of its loop, at least one."""
        w = Text(frame, target.fma, frame.program.lanes)
        w.sizes(frame.program.sizes)
        ahead = prefetch(phase, frame.program.lanes)
        if phase.iterations:
            (s,) = phase.body
            first, end = InductionVariable(), InductionVariable()
            w.names |= {first: "%first", end: "%end"}
            w.on_for(For(s.counter, first, end, False, (), (), (ahead, *s.body)))
        else:
            w.body((ahead, *phase.body))
        head = f"define internal void @{name}({parameters}, i64 %first, i64 %end) noinline #0 {{"
        self.texts.append(f"{head}\n  {w.text}\n  ret void\n}}\n")
