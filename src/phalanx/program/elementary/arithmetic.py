# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a language must be able to write so that elementary functions can be written in it.

Names of operations and tests are LLVM's: "fadd", "olt", "lshr". Numbers and masks are text, or whatever else
stands for a value in the language; a Python number is a constant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

Number = Any  # a value of the language, or a constant


class Arithmetic(ABC):
    """Real numbers of one precision, their bits as integers of the same size, and masks."""

    element: str  # "double" or "float"
    fma: bool  # whether a multiply-add rounds once

    @abstractmethod
    def binary(self, op: str, a: Number, b: Number) -> Any:
        """The sum, difference, product or quotient: "fadd", "fsub", "fmul", "fdiv"."""

    @abstractmethod
    def neg(self, a: Number) -> Any:
        """-a."""

    @abstractmethod
    def multiply_add(self, a: Number, b: Number, c: Number) -> Any:
        """a b + c."""

    @abstractmethod
    def intrinsic(self, name: str, *args: Number) -> Any:
        """A function that every language has: "fabs", "sqrt", "copysign", "minimum", "maximum"."""

    @abstractmethod
    def compare(self, test: str, x: Number, y: Number) -> Any:
        """The mask of a test, such as "olt": of numbers, none NaN, the first is less."""

    @abstractmethod
    def select(self, holds: Any, a: Number, b: Number) -> Any:
        """a where a mask holds, else b."""

    @abstractmethod
    def bits(self, x: Number) -> Any:
        """The bits of a number as a whole one."""

    @abstractmethod
    def number(self, bits: Any) -> Any:
        """The number of some bits."""

    @abstractmethod
    def integer(self, op: str, a: Any, b: Any) -> Any:
        """An operation on integers: "add", "sub", "and", "or", "xor", "shl", "lshr"."""

    @abstractmethod
    def odd(self, bits: Any) -> Any:
        """The mask of odd integers."""

    def where(self, test: str, x: Number, y: Number, a: Number, b: Number) -> Any:
        """a where the test of x and y holds, else b."""
        return self.select(self.compare(test, x, y), a, b)
