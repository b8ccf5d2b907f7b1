# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Batches of programs whose loop ends on data: a lane whose state is done takes the next state.

The prologue runs on registers full of neighbouring states and leaves its values in a queue; lanes take them
from there, one by one, as they become free. What a finished state hands to the epilogue goes to a second
queue, and the epilogue runs as soon as that fills a register. So a slow state delays no other, and every
lane computes on its own state alone: a result has the same bits in any batch, order and thread.

Programs with other loops run in lockstep: lanes that are done wait for the others.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ...program.ir import Buffer, Index, IntExpr, Load, Program, Table, statements
from ...program.passes.nonfinite import spread
from ...program.passes.sections import Sections, sections
from . import availability, cache, compile
from .compile import Target, host
from .emit.codegen import Module, Text
from .emit.writer import MemoryLayout
from .loop import ELEMENTS, attributes, floating_point_status, runtime_text
from .rollout import Rollout, Scratch
from .rollout import module as in_lockstep

_BLOCKS, _QUEUE = 16, 1 << 14  # registers of states in a queue at most, and bytes
# How many registers of states run side by side, and up to how many values of a state: they hide latencies.
_REGISTERS = {4: 8, 2: 24}


@dataclass(eq=False)
class BatchProgram:
    """A program compiled for batches of states."""

    program: Program
    code: Rollout
    refilled: bool

    def __call__(self, *inputs: Any, threads: int = 1, sizes: Sequence[int] = ()) -> Any:
        """The outputs for a batch of states, a tuple if there are several."""
        shapes = [self.program.shapes[b.name] for b in self.program.inputs]
        arrays = [np.asarray(x, dtype=self.code.dtype) for x in inputs]
        batch = np.broadcast_shapes(
            *(a.shape[: a.ndim - len(s)] for a, s in zip(arrays, shapes, strict=True))
        )
        for k, (a, shape) in enumerate(zip(arrays, shapes, strict=True)):
            if a.shape[a.ndim - len(shape) :] != shape:
                name = self.program.inputs[k].name
                raise ValueError(f"{self.code.name}: {name} has shape {a.shape}, expected (…, *{shape}).")
            arrays[k] = np.ascontiguousarray(np.broadcast_to(a, (*batch, *shape))).reshape(-1, *shape)
        results = [self.program.shapes[b.name] for b in self.program.outputs]
        # If allocation fails, outputs stay NaN.
        outs = [np.full((prod(batch), *shape), np.nan, self.code.dtype) for shape in results]
        if prod(batch):
            cores = [len(s) for s in (*shapes, *results)]
            self.code.fill([*arrays, *outs], cores, tuple(sizes), threads)
        outs = [out.reshape((*batch, *shape)) for out, shape in zip(outs, results, strict=True)]
        return outs[0] if len(outs) == 1 else tuple(outs)


def compiled(
    program: Program,
    name: str = "program",
    dtype: Any = np.float64,
    *,
    refill: bool = True,
    registers: int = 0,
) -> BatchProgram:
    """The machine code of a program for batches, compiled now or read from disk.

    Lanes are refilled if the program is a prologue, one loop that ends on data and an epilogue. A value
    of all lanes fills `registers`, a power of two: more of them hide the latency of short loops.
    """
    cache.check_variables()
    availability.require()
    start, kind = time.perf_counter(), np.dtype(dtype)
    tainted = spread(program)
    found = sections(tainted) if refill else None
    made = in_lockstep(tainted, kind, host()) if found is None else module(found, kind, host(), registers)
    options = compile.CodegenOptions()
    loaded, cached = compile.cached_or_made(("batch", made, options), lambda: (made, options))
    seconds = time.perf_counter() - start
    code = Rollout(name, kind, loaded, len(program.outputs), seconds, cached, made)
    return BatchProgram(program, code, found is not None)


# ------------------------------------------------------------------- LLVM IR


def module(parts: Sections, dtype: np.dtype, target: Target, registers: int = 0) -> str:
    """The LLVM IR of a program in sections and of the loop over a batch; few states use one register."""
    element, width = ELEMENTS[dtype], target.lanes(dtype.itemsize)
    values = len(parts.loop.carried) + len(parts.live)
    wide = registers or next((n for n, most in _REGISTERS.items() if values <= most), 1)
    made = Module(element)
    for name, lanes in {"few": width, "batch": width * wide}.items():
        _BatchWriter(parts, MemoryLayout(made, parts.program, lanes, name), target).write()
    save, restore, needs = floating_point_status(target)
    scratch = Scratch(sum(b.size for b in parts.program.scratch) * width * wide * made.size)
    made.used |= scratch.declarations
    count = range(len(parts.program.inputs) + len(parts.program.outputs))

    def listed(form: str) -> str:
        return "\n  ".join(form.format(k=k) for k in count)

    loads = listed("%a{k} = getelementptr ptr, ptr %args, i64 {k}\n  %b{k} = load ptr, ptr %a{k}")
    steps = listed("%o{k}p = getelementptr i64, ptr %steps, i64 {k}\n  %o{k} = load i64, ptr %o{k}p")
    strided = ", ".join(f"ptr %b{k}, i64 %o{k}" for k in count) + f", ptr %uniforms, ptr {scratch.address}"
    alone = ", ".join(f"ptr %b{k}, i64 0" for k in count) + f", ptr %uniforms, ptr {scratch.address}"
    functions = f"""
define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %uniforms) #0 {{
  {save}
  {scratch.counted("%count")}
  {loads}
  {steps}
  %some = icmp sle i64 %count, {width}
  br i1 %some, label %few, label %many
few:
  call void @few(i64 %count, {strided})
  br label %end
many:
  call void @batch(i64 %count, {strided})
  br label %end
end:
  {scratch.put}
  {restore}
  ret void
}}
define void @single(ptr %args, ptr %uniforms) #0 {{
  {loads}
  {scratch.get}
  call void @few(i64 1, {alone})
  {scratch.put}
  ret void
}}"""
    whole = [made.text, runtime_text("sincos.ll", element), functions, *needs, *sorted(made.used)]
    return "\n".join([*whole, *attributes(element, target)])


class _SectionWriter(Text):
    """Writes one section of a program, in which every lane has a state index of its own."""

    def __init__(self, frame: MemoryLayout, fma: bool, blocks: int) -> None:
        super().__init__(frame, fma, 1)
        self.blocks, self.capacity = blocks, (blocks + 1) * self.lanes  # of a queue: registers, states
        self.states: list[str] = []  # the index of each lane's state
        self.sizes(frame.program.sizes)

    def rows(self, buffer: Buffer | Table, index: Index) -> list[str]:
        if buffer not in self.frame.pointers or (isinstance(index, IntExpr) and index.op == "lanes"):
            return super().rows(buffer, index)
        number = self.frame.pointers[buffer]

        def first(lane: int) -> str:
            offset = self.put(f"mul i64 %s{number}, {self.states[lane]}")
            return self.put(f"getelementptr i8, ptr %p{number}, i64 {offset}")

        rows = [self.known((buffer, lane), lambda lane=lane: first(lane)) for lane in range(self.lanes)]  # type: ignore[misc]
        if index == 0:
            return rows
        at = self.whole(index)
        return [self.put(f"getelementptr {self.element}, ptr {row}, i64 {at}") for row in rows]

    # ------------------------------------------------------------- numbers of states

    @property
    def numbers(self) -> str:
        return f"<{self.lanes} x i64>"

    def counting(self) -> str:
        return "<" + ", ".join(f"i64 {k}" for k in range(self.lanes)) + ">"

    def splat(self, x: str) -> str:
        """Broadcast an integer to all lanes."""
        one = self.put(f"insertelement {self.numbers} poison, i64 {x}, i64 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self.put(f"shufflevector {self.numbers} {one}, {self.numbers} poison, {zeros}")

    def apart(self, vector: str) -> list[str]:
        return [self.put(f"extractelement {self.numbers} {vector}, i64 {k}") for k in range(self.lanes)]

    def entry(self, queue: str, k: int, at: str, kind: str) -> str:
        """The address of an entry of the k-th row of a queue."""
        row = self.put(f"getelementptr {kind}, ptr {queue}, i64 {k * self.capacity}") if k else queue
        return self.put(f"getelementptr {kind}, ptr {row}, i64 {at}")

    def call(self, name: str, kind: str, *operands: str, result: str = "") -> str:
        """Call an LLVM intrinsic on vectors of numbers or of state indices."""
        listed = ", ".join(operands)
        types = ", ".join(_type(x) for x in operands)
        suffix = f"v{self.lanes}{'i64' if kind == self.numbers else f'f{8 * self.size}'}"
        self.used.add(f"declare {result or kind} @llvm.{name}.{suffix}({types})")
        return self.put(f"call {result or kind} @llvm.{name}.{suffix}({listed})")


def _type(operand: str) -> str:
    """The type in front of an operand."""
    return operand[: operand.index(">") + 1] if operand.startswith("<") else operand.split(" ")[0]


class _BatchWriter:
    """The functions `begin` (prologue), `batch` (the loop, and both queues) and `finish` (epilogue)."""

    def __init__(self, parts: Sections, frame: MemoryLayout, target: Target) -> None:
        self.parts, self.frame, self.fma = parts, frame, target.fma
        self.module = frame.module
        self.bits = target.bits
        starts = [c.start for c in parts.loop.carried]
        self.queued = list(dict.fromkeys(x for x in (*starts, *parts.live) if not isinstance(x, float)))
        row = max(len(self.queued), len(parts.results), 1) * frame.states * frame.module.size
        self.blocks = max(1, min(_BLOCKS, _QUEUE // row))
        arguments = range(len(frame.pointers))
        self.parameters = "".join(f", ptr %p{k}, i64 %s{k}" for k in arguments) + ", ptr %uniforms"

    def write(self) -> None:
        self._begin()
        self._finish()
        self._batch()

    def _function(self, name: str, parameters: str, w: _SectionWriter) -> None:
        parameters = f"{parameters}{self.parameters}, ptr noalias %scratch"
        head = f"define internal void @{name}({parameters}) noinline alignstack(64) #0 {{"
        self.module.texts.append(f"{head}\n  {w.text}\n  ret void\n}}\n")

    def _begin(self) -> None:
        """`begin(first, last, queue, states, …)`: the prologue of states from `first` on, up to `last`."""
        w = _SectionWriter(self.frame, self.fma, self.blocks)
        wanted = w.put(f"add {w.numbers} {w.splat('%first')}, {w.counting()}")
        w.used.add("declare i64 @llvm.smin.i64(i64, i64)")
        for lane in range(w.lanes):
            number = w.put(f"add i64 %first, {lane}")
            w.states.append(w.put(f"call i64 @llvm.smin.i64(i64 {number}, i64 %last)"))
        inside = w.put(f"icmp sle {w.numbers} {wanted}, {w.splat('%last')}")
        numbered = w.put(
            f"select <{w.lanes} x i1> {inside}, {w.numbers} {wanted}, {w.numbers} splat (i64 -1)"
        )
        w.do(f"store {w.numbers} {numbered}, ptr %states, align 8")
        w.body(self.parts.prologue)
        for k, x in enumerate(self.queued):
            w.save(w.operand_of(x), w.entry("%queue", k, "0", w.element), w.size)
        self._function(f"begin_{self.frame.name}", "i64 %first, i64 %last, ptr %queue, ptr %states", w)

    def _finish(self) -> None:
        """`finish(count, queue, states, …)`: the epilogue of `count` states of a queue; last lanes padded."""
        w = _SectionWriter(self.frame, self.fma, self.blocks)
        w.do("br label %register")
        w.label("register")
        first = w.put("phi i64 [ 0, %entry ], [ %first1, %done ]")
        left = w.put(f"sub i64 %count, {first}")
        there = w.put(f"icmp slt {w.numbers} {w.counting()}, {w.splat(left)}")
        zeros = f"<{w.lanes} x i32> zeroinitializer"

        def padded(vector: str, kind: str) -> str:
            alone = w.put(f"shufflevector {kind} {vector}, {kind} poison, {zeros}")
            return w.put(f"select <{w.lanes} x i1> {there}, {kind} {vector}, {kind} {alone}")

        with w.scope():
            numbers = w.put(f"load {w.numbers}, ptr {w.entry('%states', 0, first, 'i64')}, align 8")
            w.states = w.apart(padded(numbers, w.numbers))
            for k, x in enumerate(self.parts.results):
                w.names[x] = padded(w.fetch(w.entry("%queue", k, first, w.element), w.size), w.vector)
            w.body(self.parts.epilogue)
        w.do("br label %done")
        w.label("done")
        w.do(f"%first1 = add i64 {first}, {w.lanes}")
        more = w.put("icmp slt i64 %first1, %count")
        w.do(f"br i1 {more}, label %register, label %leave")
        w.label("leave")
        self._function(f"finish_{self.frame.name}", "i64 %count, ptr %queue, ptr %states", w)

    def _batch(self) -> None:
        """`batch(count, …)`: the loop over all states."""
        parts, w = self.parts, _SectionWriter(self.frame, self.fma, self.blocks)
        loop, lanes, size = parts.loop, w.lanes, w.size
        bits = f"<{lanes} x i1>"
        passed = "".join(f", ptr %p{k}, i64 %s{k}" for k in range(len(self.frame.pointers)))
        passed += ", ptr %uniforms, ptr %scratch"
        w.prologue += [
            f"%queue = alloca [{max(1, len(self.queued)) * w.capacity} x {w.element}], align 64",
            f"%states = alloca [{w.capacity} x i64], align 64",
            f"%results = alloca [{max(1, len(parts.results)) * w.capacity} x {w.element}], align 64",
            f"%numbers = alloca [{w.capacity} x i64], align 64",
        ]
        limit = (
            w.splat(w.whole(loop.limit)) if not isinstance(loop.limit, int) else f"splat (i64 {loop.limit})"
        )
        last = w.put("sub i64 %count, 1")
        some = w.put("icmp sgt i64 %count, 0")
        w.do(f"br i1 {some}, label %some, label %leave")
        w.label("some")
        w.hoist(loop.body)
        w.do("br label %first")
        w.label("first")
        # Lanes begin without a state: index -1, and values that are never read.
        values = [*loop.carried, *parts.live]
        w.do("br label %take")

        # take: free lanes get the next states of the queue.
        w.label("take")
        at_take = len(w.lines)
        w.do("")
        short = w.put("icmp slt i64 %left, " + str(lanes))
        w.do(f"br i1 {short}, label %refill, label %taken")
        w.label("refill")
        for k in range(len(self.queued)):
            rest = w.fetch(w.entry("%queue", k, "%head", w.element), size)
            w.save(rest, w.entry("%queue", k, "0", w.element), size)
        rest = w.put(f"load {w.numbers}, ptr {w.entry('%states', 0, '%head', 'i64')}, align 8")
        w.do(f"store {w.numbers} {rest}, ptr %states, align 8")
        more = w.put("icmp slt i64 %next, %count")
        w.do(f"br i1 {more}, label %begin, label %none")
        w.label("begin")
        filled = w.put("phi i64 [ %left, %refill ], [ %filled1, %begin ]")
        number = w.put("phi i64 [ %next, %refill ], [ %number1, %begin ]")
        slot, address = w.entry("%queue", 0, filled, w.element), w.entry("%states", 0, filled, "i64")
        w.do(
            f"call void @begin_{self.frame.name}(i64 {number}, i64 {last}, ptr {slot}, ptr {address}{passed})"
        )
        w.do(f"%filled1 = add i64 {filled}, {lanes}")
        w.do(f"%number1 = add i64 {number}, {lanes}")
        room = w.put(f"icmp sle i64 %filled1, {w.capacity - lanes}")
        more = w.put("icmp slt i64 %number1, %count")
        w.do(f"br i1 {w.put(f'and i1 {room}, {more}')}, label %begin, label %refilled")
        w.label("none")
        w.do(f"store {w.numbers} splat (i64 -1), ptr {w.entry('%states', 0, '%left', 'i64')}, align 8")
        nothing = w.put(f"add i64 %left, {lanes}")
        w.do("br label %refilled")
        w.label("refilled")
        next1 = w.put("phi i64 [ %number1, %begin ], [ %next, %none ]")
        left1 = w.put(f"phi i64 [ %filled1, %begin ], [ {nothing}, %none ]")
        w.do("br label %taken")
        w.label("taken")
        head = w.put("phi i64 [ %head, %take ], [ 0, %refilled ]")
        left = w.put(f"phi i64 [ %left, %take ], [ {left1}, %refilled ]")
        after = w.put(f"phi i64 [ %next, %take ], [ {next1}, %refilled ]")
        taken = {}
        for x in values:
            start = x.start if x in loop.carried else x
            if isinstance(start, float):
                taken[x] = w.select("%free", start, f"%old{values.index(x)}")
                continue
            address = w.entry("%queue", self.queued.index(start), head, w.element)
            operands = (f"ptr {address}", f"{bits} %free", f"{w.vector} %old{values.index(x)}")
            taken[x] = w.call("masked.expandload", w.vector, *operands)
        address = w.entry("%states", 0, head, "i64")
        state = w.call(
            "masked.expandload", w.numbers, f"ptr {address}", f"{bits} %free", f"{w.numbers} %old_state"
        )
        trip = w.put(f"select {bits} %free, {w.numbers} zeroinitializer, {w.numbers} %old_trip")
        used = self._popcount(w, "%free")
        head1, left2 = w.put(f"add i64 {head}, {used}"), w.put(f"sub i64 {left}, {used}")
        active = w.put(f"icmp sge {w.numbers} {state}, zeroinitializer")
        w.do(f"br i1 {w.any(active)}, label %body, label %flush")

        # body: one iteration of all lanes.
        w.label("body")
        w.names.update(taken)
        with w.scope():
            if any(b in self.frame.pointers for b in _loaded(loop.body)):
                none = w.put(f"select {bits} {active}, {w.numbers} {state}, {w.numbers} {w.splat(last)}")
                w.states = w.apart(none)
            w.body(loop.body)
        yields = {c: w.operand_of(x) for c, x in zip(loop.carried, loop.yields, strict=True)}
        stop = w.mask(loop.stop)
        trip1 = w.put(f"add {w.numbers} {trip}, splat (i64 1)")
        out = w.put(f"icmp sge {w.numbers} {trip1}, {limit}")
        ended = w.put(f"or {bits} {stop}, {out}")
        done = w.put(f"and {bits} {ended}, {active}")
        free = w.put(f"or {bits} {ended}, {w.inverted(active)}")
        passing = {x: yields.get(x, taken[x]) for x in values}
        # Finished states leave.
        for k, x in enumerate(parts.results):
            self._leave(w, passing[x], w.element, done, w.entry("%results", k, "%tail", w.element))
        self._leave(w, state, "i64", done, w.entry("%numbers", 0, "%tail", "i64"))
        tail = w.put(f"add i64 %tail, {self._popcount(w, done)}")
        full = w.put(f"icmp sge i64 {tail}, {w.blocks * lanes}")
        bodied = w.block
        w.do(f"br i1 {full}, label %finish, label %again")
        w.label("finish")
        w.do(
            f"call void @finish_{self.frame.name}(i64 {w.blocks * lanes}, ptr %results, ptr %numbers{passed})"
        )
        for k in range(len(parts.results)):
            rest = w.fetch(w.entry("%results", k, str(w.blocks * lanes), w.element), size)
            w.save(rest, w.entry("%results", k, "0", w.element), size)
        rest = w.put(f"load {w.numbers}, ptr {w.entry('%numbers', 0, str(w.blocks * lanes), 'i64')}, align 8")
        w.do(f"store {w.numbers} {rest}, ptr %numbers, align 8")
        tail1 = w.put(f"sub i64 {tail}, {w.blocks * lanes}")
        w.do("br label %again")
        w.label("again")
        tail2 = w.put(f"phi i64 [ {tail}, %{bodied} ], [ {tail1}, %finish ]")
        w.do("br label %take")
        heading = [("i64", "%head", "0", head1), ("i64", "%left", "0", left2), ("i64", "%next", "0", after)]
        heading += [("i64", "%tail", "0", tail2), (bits, "%free", "splat (i1 true)", free)]
        heading += [
            (w.numbers, "%old_state", "splat (i64 -1)", state),
            (w.numbers, "%old_trip", "zeroinitializer", trip1),
        ]
        heading += [(w.vector, f"%old{k}", "zeroinitializer", passing[x]) for k, x in enumerate(values)]
        w.lines[at_take] = "\n  ".join(
            f"{name} = phi {kind} [ {begin}, %first ], [ {again}, %again ]"
            for kind, name, begin, again in heading
        )

        w.label("flush")
        rest_of = w.put("icmp sgt i64 %tail, 0")
        w.do(f"br i1 {rest_of}, label %last, label %leave")
        w.label("last")
        w.do(f"call void @finish_{self.frame.name}(i64 %tail, ptr %results, ptr %numbers{passed})")
        w.do("br label %leave")
        w.label("leave")
        self._function(self.frame.name, "i64 %count", w)

    def _leave(self, w: _SectionWriter, vector: str, kind: str, done: str, address: str) -> None:
        """Compress-store: the numbers of the lanes in the mask `done`, contiguously, register by register."""
        # LLVM 22 splits this one into a store that faults: no more than a register at once.
        lanes, width = w.lanes, self.bits // (64 if kind == "i64" else 8 * w.size)
        v, bits, short = (
            f"<{width} x {kind}>",
            f"<{width} x i1>",
            "i64" if kind == "i64" else f"f{8 * w.size}",
        )
        name = f"@llvm.experimental.vector.compress.v{width}{short}"
        w.used.add(f"declare {v} {name}({v}, {bits}, {v})")
        for first in range(0, lanes, width):
            piece, mask = vector, done
            if width < lanes:
                pick = f"<{width} x i32> <" + ", ".join(f"i32 {first + k}" for k in range(width)) + ">"
                wide = f"<{lanes} x {kind}>"
                piece = w.put(f"shufflevector {wide} {vector}, {wide} poison, {pick}")
                mask = w.put(f"shufflevector <{lanes} x i1> {done}, <{lanes} x i1> poison, {pick}")
            packed = w.put(f"call {v} {name}({v} {piece}, {bits} {mask}, {v} poison)")
            w.do(f"store {v} {packed}, ptr {address}, align {8 if kind == 'i64' else w.size}")
            if first + width < lanes:
                address = w.put(f"getelementptr {kind}, ptr {address}, i64 {self._popcount(w, mask, width)}")

    def _popcount(self, w: _SectionWriter, mask: str, lanes: int = 0) -> str:
        lanes = lanes or w.lanes
        w.used.add(f"declare i{lanes} @llvm.ctpop.i{lanes}(i{lanes})")
        packed = w.put(f"bitcast <{lanes} x i1> {mask} to i{lanes}")
        count = w.put(f"call i{lanes} @llvm.ctpop.i{lanes}(i{lanes} {packed})")
        return count if lanes == 64 else w.put(f"zext i{lanes} {count} to i64")


def _loaded(body: tuple[Any, ...]) -> set[Any]:
    """The buffers that statements read."""
    return {s.buffer for s in statements(body) if isinstance(s, Load)}
