# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Statements of a language like C as an arithmetic: every step a constant with a name."""

from __future__ import annotations

from typing import Any

from ..program.elementary.arithmetic import Arithmetic
from .dialects import Dialect, literal, whole

_BINARY = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
_COMPARED = {"olt": "<", "ole": "<=", "ogt": ">", "oge": ">=", "oeq": "==", "une": "!="}
_INTEGER = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "shl": "<<", "lshr": ">>"}
_TOGETHER = ("minimum", "maximum")  # functions that no library has with these signs and NaNs


class SourceWriter(Arithmetic):
    """Text of one function body."""

    def __init__(self, dialect: Dialect, *, fma: bool = True, depth: int = 1) -> None:
        self.dialect, self.fma = dialect, fma
        self.element = dialect.element
        self.lines: list[str] = []
        self.helpers: set[str] = set()  # functions of `helpers.py` that are called
        self.depth = depth
        self.count = 0

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def do(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def fresh(self, letter: str = "v") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def put(self, text: str, kind: str = "") -> str:
        """Append a constant and return its name."""
        name = self.fresh()
        self.do(f"const {kind or self.dialect.type} {name} = {text};")
        return name

    def operand(self, x: Any) -> str:
        return literal(x, self.dialect) if isinstance(x, float) else str(x)

    # ------------------------------------------------------------- arithmetic

    def binary(self, op: str, a: Any, b: Any) -> str:
        return self.put(f"{self.operand(a)} {_BINARY[op]} {self._signed(b)}")

    def _signed(self, x: Any) -> str:
        """An operand behind an operator: a - -b needs a space or brackets."""
        text = self.operand(x)
        return f"({text})" if text.startswith("-") else text

    def neg(self, a: Any) -> Any:
        return -a if isinstance(a, float) else self.put(f"-{self._signed(a)}")

    def multiply_add(self, a: Any, b: Any, c: Any) -> str:
        if self.fma:
            return self.put(f"{self.dialect.fma}({self.operand(a)}, {self.operand(b)}, {self.operand(c)})")
        return self.binary("fadd", self.binary("fmul", a, b), c)

    def intrinsic(self, name: str, *args: Any) -> str:
        if name in _TOGETHER:
            return self.put(self.called(name, *args))
        return self.put(f"{self.dialect.library[name]}({', '.join(map(self.operand, args))})")

    def called(self, helper: str, *args: Any) -> str:
        """A call of one of our own functions."""
        self.helpers.add(helper)
        return f"${helper}{self.dialect.tag}({', '.join(map(self.operand, args))})"

    def compare(self, test: str, x: Any, y: Any) -> str:
        a, b = self.operand(x), self.operand(y)
        if test == "uno":
            return f"(({a} != {a}) | ({b} != {b}))"
        if test == "uge":
            return f"!({a} < {b})"
        return f"({a} {_COMPARED[test]} {b})"

    def select(self, holds: str, a: Any, b: Any) -> str:
        return self.put(f"{holds} ? {self.operand(a)} : {self.operand(b)}")

    # ------------------------------------------------------------- bits

    def bits(self, x: Any) -> str:
        return self.put(f"{self.dialect.bits}({self.operand(x)})", self.dialect.unsigned)

    def number(self, bits: str) -> str:
        return self.put(f"{self.dialect.number}({bits})")

    def integer(self, op: str, a: Any, b: Any) -> str:
        shifts = op in ("shl", "lshr")
        first = whole(a, self.dialect) if isinstance(a, int) else a
        second = (str(b) if shifts else whole(b, self.dialect)) if isinstance(b, int) else b
        return self.put(f"{first} {_INTEGER[op]} {second}", self.dialect.unsigned)

    def odd(self, bits: str) -> str:
        return f"(({bits} & 1U) != 0U)"
