# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Elementary functions without multiply-adds as NumPy carries them out, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phalanx.program import elementary, ops
from phalanx.program.elementary import Arithmetic, sincos

_COMPARED: dict[str, Callable[..., Any]] = {
    "olt": lambda a, b: a < b,
    "ole": lambda a, b: a <= b,
    "ogt": lambda a, b: a > b,
    "oeq": lambda a, b: a == b,
    "uge": lambda a, b: ~(a < b),
    "uno": lambda a, b: np.isnan(a) | np.isnan(b),
}
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fdiv": np.divide,
    "add": np.add,
    "or": np.bitwise_or,
    "and": np.bitwise_and,
    "xor": np.bitwise_xor,
    "shl": np.left_shift,
}
_CALLED: dict[str, Callable[..., Any]] = {"fabs": np.abs, "copysign": np.copysign}


class Lanes(Arithmetic):
    """An arithmetic on NumPy arrays: what is written is carried out at once."""

    fma = False

    def __init__(self, dtype: np.dtype) -> None:
        self.element = "double" if dtype == np.float64 else "float"
        self.real = dtype.type
        self.signed = np.int64 if dtype == np.float64 else np.int32

    def operand(self, x: Any) -> Any:
        return self.real(x) if isinstance(x, float) else self.signed(x) if isinstance(x, int) else x

    def binary(self, op: str, a: Any, b: Any) -> Any:
        return _ARITHMETIC[op](self.operand(a), self.operand(b))

    def neg(self, a: Any) -> Any:
        return -self.operand(a)

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        return self.binary("fadd", self.binary("fmul", a, b), c)

    def intrinsic(self, name: str, *args: Any) -> Any:
        return _CALLED[name](*map(self.operand, args))

    def compare(self, test: str, x: Any, y: Any) -> Any:
        return _COMPARED[test](self.operand(x), self.operand(y))

    def select(self, holds: Any, a: Any, b: Any) -> Any:
        return np.where(holds, self.operand(a), self.operand(b))

    def bits(self, x: Any) -> Any:
        return x.view(self.signed)

    def number(self, bits: Any) -> Any:
        return bits.view(self.real)

    def integer(self, op: str, a: Any, b: Any) -> Any:
        a, b = self.operand(a), self.operand(b)
        if op == "lshr":
            unsigned = np.dtype(self.signed).str.replace("i", "u")
            return (a.view(unsigned) >> b.astype(unsigned)).view(self.signed)
        return _ARITHMETIC[op](a, b)

    def odd(self, bits: Any) -> Any:
        return bits & 1 != 0


def _rule(write: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def rule(*args: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            found: np.ndarray = write(Lanes(args[0].dtype), *args)
        return found

    return rule


RULES = {
    ops.SIN: _rule(lambda w, x: sincos(w, x)[0]),  # of arguments below 1e5
    ops.COS: _rule(lambda w, x: sincos(w, x)[1]),
    ops.EXP: _rule(elementary.exp),
    ops.TANH: _rule(elementary.tanh),
    ops.LOG: _rule(elementary.log),
    ops.ARCTAN2: _rule(elementary.arctan2),
}
