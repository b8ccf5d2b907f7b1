# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Text of one LLVM function: real numbers in lanes, and rows of states in and out of them.

States arrive and leave as rows. A block of rows is loaded as it lies and transposed in
registers, so that lane k of every vector belongs to state k.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from ....program.elementary.arithmetic import Arithmetic


@dataclass
class LlvmWriter(Arithmetic):
    """Text of one function body in single-assignment form."""

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

    def put(self, text: str) -> str:
        """Append `%x = text` and return the name."""
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(text)

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

    def fetch(self, place: str, align: int) -> str:
        return self.put(f"load {self.vector}, ptr {place}, align {align}")

    def save(self, value: str, place: str, align: int) -> None:
        self.do(f"store {self.vector} {value}, ptr {place}, align {align}")

    def in_all_lanes(self, place: str) -> str:
        """The number at an address, in all lanes."""
        one = self.put(f"load {self.element}, ptr {place}, align {self.size}")
        v = self.vector
        wide = self.put(f"insertelement {v} poison, {self.element} {one}, i64 0")
        return self.put(f"shufflevector {v} {wide}, {v} poison, <{self.lanes} x i32> zeroinitializer")

    # ------------------------------------------------------------- rows and lanes

    def load_rows(self, rows: list[str], first: int, length: int) -> list[str]:
        """Columns of a block of rows from the first on: `length` vectors, one lane per row."""
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
                    place = self.piece_of(row, first + start)
                    self._store(self._piece(vector, k, width), place, valid, width)

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

    def _load(self, place: str, valid: int, width: int) -> str:
        v = self._narrow(width)
        if valid == width:
            return self.put(f"load {v}, ptr {place}, align {self.size}")
        name = f"@llvm.masked.load.v{width}f{8 * self.size}.p0"
        self.used.add(f"declare {v} {name}(ptr, i32, <{width} x i1>, {v})")
        mask = self._mask(valid, width)
        return self.put(f"call {v} {name}(ptr {place}, i32 {self.size}, {mask}, {v} zeroinitializer)")

    def _store(self, value: str, place: str, valid: int, width: int) -> None:
        v = self._narrow(width)
        if valid == width:
            return self.do(f"store {v} {value}, ptr {place}, align {self.size}")
        name = f"@llvm.masked.store.v{width}f{8 * self.size}.p0"
        self.used.add(f"declare void {name}({v}, ptr, i32, <{width} x i1>)")
        mask = self._mask(valid, width)
        return self.do(f"call void {name}({v} {value}, ptr {place}, i32 {self.size}, {mask})")

    def _joined(self, pieces: list[str]) -> str:
        """Narrow vectors side by side in one register."""
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
        """Rows as columns within each group of `width` lanes.

        Each step exchanges one bit of row and column number.
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
        """A vector of some of the numbers of two that are so wide."""
        if a == b == "poison":
            return "poison"
        mask, v = ", ".join(f"i32 {k}" for k in pick), self._narrow(width)
        return self.put(f"shufflevector {v} {a}, {v} {b}, <{len(pick)} x i32> <{mask}>")
