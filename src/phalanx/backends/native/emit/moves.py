# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Text of numbers that move: rows of states in and out of lanes, rows of one state, whole regions."""

from __future__ import annotations

from collections.abc import Callable

from ....program.form.program import Clear, Move, Weave
from ....program.form.wholes import Index, plus
from .places import Places
from .writer import Writer

_UNROLLED = 4  # blocks of a move that are written out


class Moves(Places):
    """Statements that move numbers."""

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
        starts = [self.address(s.memory, index, single=True) for index in s.starts]
        weave = Woven(self, starts)
        if s.region is None:
            return weave.store_rows("", "", [self.operand(self.real(x)) for x in s.values])
        if not s.back:
            values = weave.load_rows("", "", s.count)
            for k, value in enumerate(values):
                self.save(value, self.address(s.region, plus(s.index, k)))
            return None
        return weave.store_rows(
            "", "", [self.fetch(self.address(s.region, plus(s.index, k))) for k in range(s.count)]
        )


class Woven(Writer):
    """Rows that lie at addresses of their own, not so many bytes apart."""

    def __init__(self, w: Places, starts: list[str]) -> None:
        super().__init__(w.element, w.lanes, w.fma)
        self.w, self.starts = w, starts
        self.lines, self.used = w.lines, w.used

    def put(self, text: str) -> str:
        return self.w.put(text)

    def _row(self, base: str, stride: str, r: int, start: int) -> str:
        at = self.starts[r]
        return self.put(f"getelementptr {self.element}, ptr {at}, i64 {start}") if start else at
