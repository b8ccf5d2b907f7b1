# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How languages like C spell what programs need; `$` stands for the prefix of all names of a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_LIBRARY = ("fabs", "sqrt", "copysign", "sin", "cos")


@dataclass(frozen=True)
class Dialect:
    """A language like C, in one precision."""

    name: str
    real: str  # "double" or "float"
    unsigned: str  # whole numbers of the size of real ones
    index: str  # whole numbers that count
    fma: str  # a function that multiplies and adds
    bits: str  # functions between numbers and their bits
    number: str
    function: str = "static inline"  # in front of functions that are always inlined
    constant: str = "static const"  # in front of tables
    pointer: str = ""  # in front of the type behind a pointer: its address space
    workspace: str = ""  # the same for scratch memory
    library: Mapping[str, str] = field(default_factory=dict)  # functions of its library

    @property
    def element(self) -> str:
        """What LLVM calls its real numbers."""
        return self.real

    def literal(self, x: float) -> str:
        """A constant; those that have no digits are made of their bits."""
        return literal(x, self)


def c(real: str) -> Dialect:
    """C99, also C++."""
    suffix = "" if real == "double" else "f"
    return Dialect(
        name="C",
        real=real,
        unsigned="uint64_t" if real == "double" else "uint32_t",
        index="ptrdiff_t",
        fma="$FMA",
        bits="$bits",
        number="$number",
        function="$INLINE",
        library={name: name + suffix for name in _LIBRARY},
    )


def cuda(real: str) -> Dialect:
    """CUDA, also compiled for the host."""
    suffix = "" if real == "double" else "f"
    return Dialect(
        name="CUDA",
        real=real,
        unsigned="unsigned long long" if real == "double" else "unsigned int",
        index="int",
        fma="fma" + suffix,
        bits="$bits",
        number="$number",
        function="$INLINE",
        library={name: name + suffix for name in _LIBRARY},
    )


def opencl(real: str) -> Dialect:
    """OpenCL C 1.2."""
    unsigned = "ulong" if real == "double" else "uint"
    return Dialect(
        name="OpenCL C",
        real=real,
        unsigned=unsigned,
        index="int",
        fma="fma",
        bits=f"as_{unsigned}",
        number=f"as_{real}",
        function="static inline",
        constant="__constant",
        library={name: name for name in _LIBRARY},
    )


def literal(x: float, dialect: Dialect) -> str:
    """A number as the language writes it, exactly."""
    import numpy as np

    with np.errstate(over="ignore"):
        value = np.float32(x) if dialect.real == "float" else np.float64(x)
    if not np.isfinite(value):
        kind, width = ("<u4", 8) if dialect.real == "float" else ("<u8", 16)
        return f"{dialect.number}({whole(int(value.view(kind)), dialect, width)})"
    text = repr(value.item()) if dialect.real == "double" else str(value)
    if "." not in text and "e" not in text:
        text += ".0"
    return text + ("f" if dialect.real == "float" else "")


def whole(x: int, dialect: Dialect, width: int = 0) -> str:
    """A whole number of the size of real ones, unsigned."""
    bits = 64 if dialect.real == "double" else 32
    x &= (1 << bits) - 1
    long = {"OpenCL C": "UL"}.get(dialect.name, "ULL") if bits == 64 else "U"
    return f"0x{x:0{width}X}{long}" if x > 9 else f"{x}{long}"


def named(text: str, prefix: str) -> str:
    """A text with the prefix of a file in place of `$`: in capitals in front of capitals, as macros are."""
    capitals = re.sub(r"\$(?=[A-Z])", f"{prefix.upper()}_", text)
    return capitals.replace("$", f"{prefix}_")
