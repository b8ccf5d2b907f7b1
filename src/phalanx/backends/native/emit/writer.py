# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""LLVM IR of one function: SIMD arithmetic, and loads and stores of rows of states with transposition.

Inputs and outputs are rows, one per state. A block of rows is loaded contiguously and transposed in
registers, so that lane k of every vector belongs to state k.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ....program.elementary import Arithmetic
from ....program.ir import Buffer, Index, InductionVariable, IntExpr, Program, Table, apart


@dataclass
class LlvmWriter(Arithmetic):
    """Appends instructions of one function body, in SSA form, to `lines`."""

    element: str
    lanes: int
    fma: bool
    lines: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    count: int = 0

    @property
    def vector(self) -> str:
        return f"<{self.lanes} x {self.element}>"

    @property
    def size(self) -> int:
        return 8 if self.element == "double" else 4

    def put(self, instruction: str) -> str:
        """Append `%x = instruction` and return the name."""
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {instruction}")
        return name

    def do(self, line: str) -> None:
        self.lines.append(line)

    def constant(self, value: float) -> str:
        """A vector of equal constants."""
        return f"splat ({self.element} {self.scalar(value)})"

    def scalar(self, value: float) -> str:
        if self.element == "float":
            value = ctypes.c_float(value).value  # infinite beyond the largest, which `struct` refuses
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"

    def operand(self, x: str | float) -> str:
        return x if isinstance(x, str) else self.constant(x)

    def binary(self, op: str, a: str | float, b: str | float) -> str:
        return self.put(f"{op} {self.vector} {self.operand(a)}, {self.operand(b)}")

    def neg(self, a: str | float) -> str:
        return self.constant(-a) if isinstance(a, float) else self.put(f"fneg {self.vector} {a}")

    def intrinsic(self, name: str, *args: str | float) -> str:
        v, full = self.vector, f"@llvm.{name}.v{self.lanes}f{8 * self.size}"
        self.used.add(f"declare {v} {full}({', '.join([v] * len(args))})")
        return self.put(f"call {v} {full}({', '.join(f'{v} {self.operand(a)}' for a in args)})")

    def multiply_add(self, a: str | float, b: str | float, c: str | float) -> str:
        if self.fma:
            return self.intrinsic("fma", a, b, c)
        return self.binary("fadd", self.binary("fmul", a, b), c)

    def compare(self, test: str, x: str | float, y: str | float) -> str:
        return self.binary(f"fcmp {test}", x, y)

    def select(self, holds: str, a: str | float, b: str | float) -> str:
        v = self.vector
        return self.put(f"select <{self.lanes} x i1> {holds}, {v} {self.operand(a)}, {v} {self.operand(b)}")

    # ------------------------------------------------------------- bits

    @property
    def _integers(self) -> str:
        return f"<{self.lanes} x i{8 * self.size}>"

    def bits(self, x: str | float) -> str:
        return self.put(f"bitcast {self.vector} {self.operand(x)} to {self._integers}")

    def number(self, bits: str) -> str:
        return self.put(f"bitcast {self._integers} {bits} to {self.vector}")

    def integer(self, op: str, a: str | int, b: str | int) -> str:
        first, second = (x if isinstance(x, str) else f"splat (i{8 * self.size} {x})" for x in (a, b))
        return self.put(f"{op} {self._integers} {first}, {second}")

    def odd(self, bits: str) -> str:
        return self.put(f"trunc {self._integers} {bits} to <{self.lanes} x i1>")

    # ------------------------------------------------------------- memory

    def fetch(self, address: str, align: int) -> str:
        return self.put(f"load {self.vector}, ptr {address}, align {align}")

    def save(self, value: str, address: str, align: int) -> None:
        self.do(f"store {self.vector} {value}, ptr {address}, align {align}")

    def in_all_lanes(self, address: str) -> str:
        """Load the number at an address and broadcast it to all lanes."""
        one = self.put(f"load {self.element}, ptr {address}, align {self.size}")
        v = self.vector
        wide = self.put(f"insertelement {v} poison, {self.element} {one}, i64 0")
        return self.put(f"shufflevector {v} {wide}, {v} poison, <{self.lanes} x i32> zeroinitializer")

    # ------------------------------------------------------------- rows and lanes

    def load_rows(self, rows: list[str], first: int, length: int) -> list[str]:
        """Load `length` columns of a block of rows, from `first` on: a vector each, one lane per row."""
        columns: list[str] = []
        for start, valid, width in self._chunks(length):
            # Vector j holds the pieces of rows j, j + width, … side by side.
            pieces = [self._load(self.piece_of(row, first + start), valid, width) for row in rows]
            vectors = [self._joined(pieces[j::width]) for j in range(width)]
            columns += self._transposed(vectors, width)[:valid]
        return columns

    def store_rows(self, rows: list[str], first: int, columns: list[str]) -> None:
        """Store vectors as columns of a block of rows."""
        for start, valid, width in self._chunks(len(columns)):
            part = columns[start : start + valid] + ["poison"] * (width - valid)
            for j, vector in enumerate(self._transposed(part, width)):
                for k, row in enumerate(rows[j::width]):
                    address = self.piece_of(row, first + start)
                    self._store(self._piece(vector, k, width), address, valid, width)

    def _chunks(self, length: int) -> list[tuple[int, int, int]]:
        """(first column, number of columns, power of two that holds them) of each piece of a row."""
        chunks = []
        for start in range(0, length, self.lanes):
            valid = min(self.lanes, length - start)
            chunks.append((start, valid, 1 << (valid - 1).bit_length()))
        return chunks

    def piece_of(self, row: str, start: int) -> str:
        return self.put(f"getelementptr {self.element}, ptr {row}, i64 {start}") if start else row

    def _narrow(self, width: int) -> str:
        return f"<{width} x {self.element}>"

    def _mask(self, valid: int, width: int) -> str:
        return f"<{width} x i1> <" + ", ".join(f"i1 {int(k < valid)}" for k in range(width)) + ">"

    def _load(self, address: str, valid: int, width: int) -> str:
        v = self._narrow(width)
        if valid == width:
            return self.put(f"load {v}, ptr {address}, align {self.size}")
        name = f"@llvm.masked.load.v{width}f{8 * self.size}.p0"
        self.used.add(f"declare {v} {name}(ptr, i32, <{width} x i1>, {v})")
        mask = self._mask(valid, width)
        return self.put(f"call {v} {name}(ptr {address}, i32 {self.size}, {mask}, {v} zeroinitializer)")

    def _store(self, value: str, address: str, valid: int, width: int) -> None:
        v = self._narrow(width)
        if valid == width:
            return self.do(f"store {v} {value}, ptr {address}, align {self.size}")
        name = f"@llvm.masked.store.v{width}f{8 * self.size}.p0"
        self.used.add(f"declare void {name}({v}, ptr, i32, <{width} x i1>)")
        mask = self._mask(valid, width)
        return self.do(f"call void {name}({v} {value}, ptr {address}, i32 {self.size}, {mask})")

    def _joined(self, pieces: list[str]) -> str:
        """Concatenate narrow vectors into one register."""
        width = self.lanes // len(pieces)
        while len(pieces) > 1:
            both = zip(pieces[::2], pieces[1::2], strict=True)
            pieces = [self._shuffle(a, b, range(2 * width), width) for a, b in both]
            width *= 2
        return pieces[0]

    def _piece(self, vector: str, k: int, width: int) -> str:
        """The k-th narrow vector of a register."""
        if width == self.lanes:
            return vector
        return self._shuffle(vector, "poison", range(k * width, (k + 1) * width), self.lanes)

    def _transposed(self, rows: list[str], width: int) -> list[str]:
        """Transpose rows and columns within each group of `width` lanes.

        Each step swaps one bit of the row index with the same bit of the column index.
        """
        rows, lanes = list(rows), self.lanes
        d = 1
        while d < width:
            low = [j if not j & d else lanes + j - d for j in range(lanes)]
            high = [j + d if not j & d else lanes + j for j in range(lanes)]
            for r in range(width):
                if not r & d:
                    a, b = rows[r], rows[r | d]
                    rows[r], rows[r | d] = (self._shuffle(a, b, pick, lanes) for pick in (low, high))
            d *= 2
        return rows

    def _shuffle(self, a: str, b: str, pick: Sequence[int], width: int) -> str:
        """Shuffle two vectors of `width` lanes: lane k of the result is number `pick[k]` of both in a row."""
        if a == b == "poison":
            return "poison"
        mask, v = ", ".join(f"i32 {k}" for k in pick), self._narrow(width)
        return self.put(f"shufflevector {v} {a}, {v} {b}, <{len(pick)} x i32> <{mask}>")


# ------------------------------------------------------------------- addressing


if TYPE_CHECKING:
    from .codegen import Module

COMPARED = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_EXTREMES = {"minimum": ("olt", "or"), "maximum": ("ogt", "and")}
ARITHMETIC = {"add": "add", "sub": "sub", "mul": "mul", "shl": "shl", "div": "udiv"}


class MemoryLayout:
    """Arguments and scratch offsets of the buffers of one program, shared by all of its functions."""

    def __init__(
        self,
        module: Module,
        program: Program,
        lanes: int,
        name: str,
        *,
        clamped: bool = False,
        parallel: int = 1,
    ) -> None:
        self.module, self.program, self.name = module, program, name
        self.parallel = parallel  # iterations of a parallel loop in the lanes of a register, of one state
        self.clamped = clamped  # whether lanes beyond the last state repeat it
        self.states = lanes if program.lanes == 1 else 1  # in the lanes of a register
        self.parts = 0
        self.offsets: dict[Buffer, int] = {}
        scratch = 0
        for buffer in program.scratch:
            self.offsets[buffer] = scratch
            scratch += buffer.size * program.lanes * self.states * module.size
        arguments = (*program.inputs, *program.outputs)
        self.pointers = {buffer: k for k, buffer in enumerate(arguments)}


class AddressWriter(LlvmWriter):
    """Writes addresses and integers of one function; `width` is how many lanes the program itself uses."""

    def __init__(self, frame: MemoryLayout, fma: bool, width: int) -> None:
        super().__init__(frame.module.element, width * frame.states, fma)
        self.frame, self.width = frame, width
        self.used = frame.module.used
        self.prologue: list[str] = []
        self.names: dict[Any, str | float] = {}
        self.masks: dict[Any, str] = {}  # of values that are one or zero, a bit for each lane
        self.counter: InductionVariable | None = None  # of the parallel loop whose iterations are in lanes
        self.outside: frozenset[Any] = frozenset()  # values from before that loop, which have one lane
        self.active = ""  # the mask of lanes that are not done, inside a loop that ends on data
        self.turned: dict[Any, str] = {}  # angle whose sine was taken -> its taint
        self.seen: dict[Any, frozenset[str]] = {}  # taint -> those of `turned` that it already includes
        self._labels = 0
        self._scopes: list[dict[Any, str]] = [{}]  # values so far, in each enclosing loop or condition
        self.label("entry")

    @property
    def text(self) -> str:
        return "\n  ".join([self.lines[0], *self.prologue, *self.lines[1:]])

    def known(self, key: Any, make: Callable[[], str]) -> str:
        """The value of a key in any enclosing scope; if none has it, `make` writes it in the innermost."""
        for scope in self._scopes:
            if key in scope:
                return scope[key]
        made = self._scopes[-1][key] = make()
        return made

    def intrinsic(self, name: str, *args: Any) -> str:
        """Call an LLVM intrinsic; expand minimum and maximum of doubles where 32-bit code generators fail."""
        if name not in _EXTREMES or self.frame.module.whole != "i32" or self.vector != "<1 x double>":
            return super().intrinsic(name, *args)
        (a, b), (test, joint) = args, _EXTREMES[name]
        same = self.number(self.integer(joint, self.bits(a), self.bits(b)))  # zeros may differ in sign
        found = self.where("oeq", a, b, same, self.where(test, a, b, a, b))
        return str(self.where("uno", a, b, self.binary("fadd", a, b), found))

    def clamp(self) -> None:
        """Compute the offset of each lane's row from the first; lanes beyond the last state repeat it."""
        self.used.add("declare i64 @llvm.umin.i64(i64, i64)")
        for r in range(1, self.lanes):
            self.do(f"%lane{r} = call i64 @llvm.umin.i64(i64 {r}, i64 %last)")
            for k in range(len(self.frame.pointers)):
                self.do(f"%row{k}_{r} = mul i64 %s{k}, %lane{r}")

    def sizes(self, counters: tuple[InductionVariable, ...]) -> None:
        """Load the integers that are passed with a call, first of the uniforms."""
        for k, counter in enumerate(counters):
            address = self.put(f"{_AT} i64, ptr %uniforms, i64 {k}")
            self.names[counter] = self.put(f"load i64, ptr {address}, align 8")

    # ------------------------------------------------------------- integers

    def whole(self, x: Index) -> str:
        """The LLVM operand of an integer expression."""
        if isinstance(x, int):
            return str(x)
        return (
            str(self.names[x]) if isinstance(x, InductionVariable) else self.known(x, lambda: self._whole(x))
        )

    def _whole(self, x: IntExpr) -> str:
        w = self.frame.module.whole
        if x.op == "entry":
            table, index = x.args
            name = self.frame.module.table(table.values)
            address = self.put(f"getelementptr {w}, ptr {name}, {w} {self.whole(index)}")
            return self.put(f"load {w}, ptr {address}, align {int(w[1:]) // 8}")
        args = [self.whole(a) for a in x.args]
        if x.op in ARITHMETIC:
            return self.put(f"{ARITHMETIC[x.op]} {w} {args[0]}, {args[1]}")
        if x.op in COMPARED:
            return self.put(f"icmp {COMPARED[x.op]} {w} {args[0]}, {args[1]}")
        if x.op == "and":
            return self.put(f"and i1 {args[0]}, {args[1]}")
        if x.op == "select":
            return self.put(f"select i1 {args[0]}, {w} {args[1]}, {w} {args[2]}")
        raise TypeError(f"LLVM: no rule for the operation {x.op} on integers.")

    def condition(self, x: Index) -> str:
        return str(bool(x)).lower() if isinstance(x, int) else self.whole(x)

    # ------------------------------------------------------------- buffers

    def in_lanes(self, buffer: Buffer | Table) -> bool:
        """Whether each element of a buffer holds one number per lane."""
        return buffer in self.frame.offsets or (isinstance(buffer, Table) and buffer.wide)

    def unit(self, buffer: Buffer | Table, *, single: bool = False) -> str:
        """The LLVM type of an element of a buffer; with `single`, that of one number."""
        return self.vector if self.in_lanes(buffer) and not single else self.element

    def address(self, buffer: Buffer | Table, index: Index, *, single: bool = False) -> str:
        """The address of an element of a buffer; with `single`, of a number of it."""
        variable, constant = apart(index)
        kind = self.unit(buffer, single=single)

        def base() -> str:
            start, w = self._start(buffer), self.frame.module.whole
            return (
                start if variable == 0 else self.put(f"{_AT} {kind}, ptr {start}, {w} {self.whole(variable)}")
            )

        found = self.known((buffer, variable, kind), base)
        return found if not constant else self.put(f"{_AT} {kind}, ptr {found}, i64 {constant}")

    def _start(self, buffer: Buffer | Table) -> str:
        frame = self.frame
        if isinstance(buffer, Table):
            return frame.module.table(buffer.values)
        if buffer in frame.offsets:
            return self.put(f"{_AT} i8, ptr %scratch, i64 {frame.offsets[buffer]}")
        return "%uniforms" if buffer.kind == "uniform" else f"%p{frame.pointers[buffer]}"

    def rows(self, buffer: Buffer | Table, index: Index) -> list[str]:
        """Addresses of the rows that lanes read: one per lane, one that all share, or none if contiguous.

        Rows belong to states, or begin at the indices of an expression "lanes".
        """
        if isinstance(index, IntExpr) and index.op == "lanes":
            return [self.address(buffer, each, single=True) for each in index.args]
        if buffer.kind == "uniform" or (isinstance(buffer, Table) and not buffer.wide):
            return [self.address(buffer, index)]
        if buffer not in self.frame.pointers or self.frame.program.lanes > 1:
            return []
        first, number = self.address(buffer, index), self.frame.pointers[buffer]
        if self.frame.clamped:
            offsets = [f"%row{number}_{r}" for r in range(1, self.lanes)]
        else:
            offsets = [self.put(f"mul i64 %s{number}, {r}") for r in range(1, self.lanes)]
        return [first, *(self.put(f"{_AT} i8, ptr {first}, i64 {offset}") for offset in offsets)]

    def alignment(self, buffer: Buffer | Table) -> int:
        return self.size if buffer in self.frame.pointers else self.size * self.lanes

    def real(self, x: Any) -> str | float:
        if x in self.outside and isinstance(self.names[x], str):
            return self.spread(x)
        return x if isinstance(x, float) else self.names[x]

    def spread(self, x: Any) -> str:
        """Broadcast a value of one lane to all lanes of a parallel loop."""
        raise NotImplementedError

    def operand_of(self, x: Any) -> str:
        return self.operand(self.real(x))

    # ------------------------------------------------------------- labels

    def new_label(self, kind: str = "l") -> str:
        self._labels += 1
        return f"{kind}{self._labels}"

    def label(self, name: str) -> None:
        self.do(f"{name}:")
        self.block = name

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A context whose computed values are forgotten at its end: they would not dominate later uses."""
        self._scopes.append({})
        yield
        self._scopes.pop()


_AT = "getelementptr"
