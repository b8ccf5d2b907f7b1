# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How languages like C spell what programs need; `$` stands for the prefix of all names of a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

_LIBRARY = ("fabs", "sqrt", "copysign", "sin", "cos")
_SIGN = {"double": "0x8000000000000000UL", "float": "0x80000000U"}  # the bit that holds it


@dataclass(frozen=True)
class Dialect:
    """A language like C, in one precision."""

    name: str
    real: str  # "double" or "float"
    unsigned: str  # integers of the size of real ones
    index: str  # integers that count
    fma: str  # a function that multiplies and adds
    bits: str  # functions between numbers and their bits
    number: str
    function: str = "static inline"  # in front of functions that are always inlined
    constant: str = "static const"  # in front of tables
    pointer: str = ""  # in front of the type behind a pointer: its address space
    workspace: str = ""  # the same for scratch memory
    local_tables: bool = False  # whether tables stand inside functions
    strided: bool = False  # whether the scratch memory of neighbouring states lies side by side
    lanes: int = 1  # states that every number holds, in types of the language
    library: Mapping[str, str] = field(default_factory=dict)  # functions of its library

    @property
    def tag(self) -> str:
        """What names of functions end in, if numbers hold several states."""
        return str(self.lanes) if self.lanes > 1 else ""

    @property
    def type(self) -> str:
        """The type of numbers."""
        return self.real + self.tag

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
        local_tables=True,
        strided=True,
        library={name: name + suffix for name in _LIBRARY},
    )


def opencl(real: str, lanes: int = 1) -> Dialect:
    """OpenCL C 1.2; with `lanes` every number is a vector of so many states."""
    tag = str(lanes) if lanes > 1 else ""
    unsigned = ("ulong" if real == "double" else "uint") + tag
    library = {name: name for name in _LIBRARY}
    if lanes > 1:  # calls of the library's vector functions cost more than the bits
        library |= {name: f"${name.upper()}{tag}" for name in ("fabs", "copysign")}
    return Dialect(
        name="OpenCL C",
        real=real,
        unsigned=unsigned,
        index="int",
        fma=f"$FMA{tag}" if tag else "fma",
        bits=f"as_{unsigned}",
        number=f"as_{real}{tag}",
        function="static inline",
        constant="__constant",
        workspace="__global ",
        strided=True,
        lanes=lanes,
        library=library,
    )


def vector_macros(dialect: Dialect) -> str:
    """What text of OpenCL C with several states in a number needs."""
    tag, number, sign = dialect.tag, dialect.number, _SIGN[dialect.real]
    magnitude = f"({dialect.bits}(x) & ~{sign})"
    return "\n".join(
        [
            contraction(dialect),
            f"#define $FABS{tag}(x) {number}{magnitude}",
            f"#define $COPYSIGN{tag}(x, y) {number}({magnitude} | ({dialect.bits}(y) & {sign}))",
        ]
    )


def contracted(dialect: Dialect) -> Dialect:
    """OpenCL C for processors: no call for each `fma`, and the memory of a work-item in one place."""
    return replace(dialect, fma=f"$FMA{dialect.tag}", strided=False)


def contraction(dialect: Dialect) -> str:
    """What multiply-adds are, then."""
    note = "/* The only expressions of two steps: one rounding where processors do so fast. */"
    return f"{note}\n#define $FMA{dialect.tag}(a, b, c) ((a) * (b) + (c))"


def literal(x: float, dialect: Dialect) -> str:
    """A number as the language writes it, exactly."""
    import numpy as np

    with np.errstate(over="ignore"):
        value = np.float32(x) if dialect.real == "float" else np.float64(x)
    if not np.isfinite(value):
        kind, width = ("<u4", 8) if dialect.real == "float" else ("<u8", 16)
        number = dialect.number.removesuffix(dialect.tag)
        text = f"{number}({whole(int(value.view(kind)), dialect, width)})"
    else:
        text = repr(value.item()) if dialect.real == "double" else str(value)
        if "." not in text and "e" not in text:
            text += ".0"
        text += "f" if dialect.real == "float" else ""
    return f"({dialect.type})({text})" if dialect.lanes > 1 else text


def whole(x: int, dialect: Dialect, width: int = 0) -> str:
    """An integer of the size of real ones, unsigned."""
    bits = 64 if dialect.real == "double" else 32
    x &= (1 << bits) - 1
    long = {"OpenCL C": "UL"}.get(dialect.name, "ULL") if bits == 64 else "U"
    return f"0x{x:0{width}X}{long}" if x > 9 else f"{x}{long}"


def named(text: str, prefix: str) -> str:
    """A text with the prefix of a file in place of `$`: in capitals in front of capitals, as macros are."""
    capitals = re.sub(r"\$(?=[A-Z])", f"{prefix.upper()}_", text)
    return capitals.replace("$", f"{prefix}_")
