# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Functions of kernels without multiply-adds as NumPy carries their LLVM text out, step by step."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from phalanx.backends.native.emit import elementary
from phalanx.backends.native.emit.writer import Writer
from phalanx.program import ops

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


class Lanes(Writer):
    """A writer whose names stand for NumPy arrays: what is written is carried out at once."""

    def __init__(self, dtype: np.dtype, lanes: int) -> None:
        super().__init__("double" if dtype == np.float64 else "float", lanes, False)
        self.dtype = dtype
        self.whole = np.dtype(np.int64 if dtype == np.float64 else np.int32)
        self.known: dict[str, Any] = {}

    def named(self, value: Any) -> str:
        name = f"%n{len(self.known)}"
        self.known[name] = value
        return name

    def operand(self, x: str | float) -> str:
        return x if isinstance(x, str) else self.named(np.full(self.lanes, x, self.dtype))

    def value(self, text: str) -> Any:
        if text.startswith("splat"):
            found = re.search(r"-?\d+(?=\)$)", text)
            assert found
            return np.full(self.lanes, int(found[0]), self.whole)
        return self.known[text]

    def put(self, text: str) -> str:
        """Carry out `operation <type> operands`."""
        return self.named(self._done(text))

    def _done(self, text: str) -> Any:
        operation, rest = text.split(" ", 1)
        plain = re.sub(r"<\d+ x \w+> ", "", rest)
        if operation in ("bitcast", "trunc"):
            value, kind = plain.split(" to ")
            if operation == "trunc":
                return self.value(value) & 1 != 0
            return self.value(value).view(self.dtype if self.element in kind else self.whole)
        if operation == "call":
            name, listed = re.fullmatch(r"@llvm\.(\w+)\.\w+\((.*)\)", plain).groups()  # type: ignore[union-attr]
            return _CALLED[name](*map(self.value, listed.split(", ")))
        if operation == "fcmp":
            test, plain = plain.split(" ", 1)
            return _COMPARED[test](*map(self.value, plain.split(", ")))
        args = [self.value(x) for x in plain.split(", ")]
        if operation == "select":
            return np.where(*args)
        if operation == "lshr":
            unsigned = args[0].view(f"u{self.whole.itemsize}") >> args[1].astype(f"u{self.whole.itemsize}")
            return unsigned.view(self.whole)
        return _ARITHMETIC[operation](*args)


def _rule(write: Callable[..., str]) -> Callable[..., np.ndarray]:
    def rule(*args: np.ndarray) -> np.ndarray:
        lanes = Lanes(args[0].dtype, len(args[0]))
        with np.errstate(all="ignore"):
            found: np.ndarray = lanes.known[write(lanes, *map(lanes.named, args))]
        return found

    return rule


RULES = {
    ops.SIN: _rule(lambda w, x: w.sincos(x)[0]),  # of arguments below 1e5
    ops.COS: _rule(lambda w, x: w.sincos(x)[1]),
    ops.EXP: _rule(elementary.exp),
    ops.TANH: _rule(elementary.tanh),
    ops.LOG: _rule(elementary.log),
    ops.ARCTAN2: _rule(elementary.arctan2),
}
