# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Languages like C: the syntax of numbers and arithmetic in each, and helper functions of programs.

`$` is the prefix of all names of a file, which `named` fills in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..program import ops
from ..program.elementary import LARGEST, Arithmetic, sincos
from .names import MACROS

_LIBRARY = ("fabs", "sqrt", "copysign", "sin", "cos")
_SIGN = {"double": "0x8000000000000000UL", "float": "0x80000000U"}  # the sign bit


@dataclass(frozen=True)
class Dialect:
    """A language like C, in one precision."""

    name: str
    real: str  # "double" or "float"
    unsigned: str  # unsigned integers of the size of `real`
    index: str  # the type of loop counters
    fma: str  # the function that multiplies and adds
    bits: str  # the function from a number to its bits
    number: str  # and back
    function: str = "static inline"  # qualifiers of functions that are always inlined
    constant: str = "static const"  # qualifiers of tables
    pointer: str = ""  # the address space of inputs and outputs
    workspace: str = ""  # the address space of scratch memory
    local_tables: bool = False  # whether tables are local to functions
    strided: bool = False  # whether the scratch memory of neighbouring states is interleaved
    lanes: int = 1  # states that every number holds, in vector types of the language
    library: Mapping[str, str] = field(default_factory=dict)  # names of the math library's functions

    @property
    def tag(self) -> str:
        """The suffix of types and functions whose numbers hold several states."""
        return str(self.lanes) if self.lanes > 1 else ""

    @property
    def type(self) -> str:
        """The type of a number, such as "double" or "float4"."""
        return self.real + self.tag

    def literal(self, x: float) -> str:
        """A number as the language writes it, exactly; NaN and infinities are made from their bits."""
        with np.errstate(over="ignore"):
            value = np.float32(x) if self.real == "float" else np.float64(x)
        if not np.isfinite(value):
            kind, digits = ("<u4", 8) if self.real == "float" else ("<u8", 16)
            made = f"{self.number.removesuffix(self.tag)}({self.integer(int(value.view(kind)), digits)})"
        else:
            made = repr(value.item()) if self.real == "double" else str(value)
            if "." not in made and "e" not in made:
                made += ".0"
            made += "f" if self.real == "float" else ""
        return f"({self.type})({made})" if self.lanes > 1 else made

    def integer(self, x: int, digits: int = 0) -> str:
        """An unsigned integer of the size of real numbers."""
        bits = 64 if self.real == "double" else 32
        x &= (1 << bits) - 1
        long = {"OpenCL C": "UL"}.get(self.name, "ULL") if bits == 64 else "U"
        return f"0x{x:0{digits}X}{long}" if x > 9 else f"{x}{long}"


def _library(real: str) -> dict[str, str]:
    """Functions of C's math library in a precision."""
    return {name: name if real == "double" else f"{name}f" for name in _LIBRARY}


def c(real: str) -> Dialect:
    """C99, also C++."""
    return Dialect(
        name="C",
        real=real,
        unsigned="uint64_t" if real == "double" else "uint32_t",
        index="ptrdiff_t",
        fma="$FMA",
        bits="$bits",
        number="$number",
        function="$INLINE",
        library=_library(real),
    )


def cuda(real: str) -> Dialect:
    """CUDA, also compiled for the host."""
    return Dialect(
        name="CUDA",
        real=real,
        unsigned="unsigned long long" if real == "double" else "unsigned int",
        index="int",
        fma="fma" if real == "double" else "fmaf",
        bits="$bits",
        number="$number",
        function="$INLINE",
        local_tables=True,
        strided=True,
        library=_library(real),
    )


def opencl(real: str, lanes: int = 1) -> Dialect:
    """OpenCL C 1.2; with several `lanes` every number is a vector, one state in each lane."""
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
    """The macros of OpenCL C whose numbers hold several states."""
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
    """OpenCL C for processors: `fma` is a contracted expression, and scratch memory is not interleaved."""
    return replace(dialect, fma=f"$FMA{dialect.tag}", strided=False)


def contraction(dialect: Dialect) -> str:
    """The macro of multiply-adds that the compiler contracts."""
    note = "/* The only expressions of two steps: one rounding where processors do so fast. */"
    return f"{note}\n#define $FMA{dialect.tag}(a, b, c) ((a) * (b) + (c))"


def named(source: str, prefix: str) -> str:
    """A source with the prefix of a file for `$`, in capitals in front of macros."""
    capitals = re.sub(rf"\$(?={MACROS.pattern}\b)", f"{prefix.upper()}_", source)
    return capitals.replace("$", f"{prefix}_")


# ------------------------------------------------------------------- statements


_BINARY = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
_COMPARED = {"olt": "<", "ole": "<=", "ogt": ">", "oge": ">=", "oeq": "==", "une": "!="}
_INTEGER = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "shl": "<<", "lshr": ">>"}
_EXTREMES = ("minimum", "maximum")  # no library has them with these signs and NaNs


class SourceWriter(Arithmetic):
    """The arithmetic that writes statements: the result of every step is a constant with a name."""

    def __init__(self, dialect: Dialect, *, fma: bool = True, depth: int = 1) -> None:
        self.dialect, self.fma = dialect, fma
        self.element = dialect.real  # as LLVM spells it
        self.lines: list[str] = []
        self.helpers: set[str] = set()  # functions of `helpers` that are called
        self.depth = depth
        self.count = 0

    @property
    def source(self) -> str:
        return "\n".join(self.lines)

    def do(self, statement: str) -> None:
        self.lines.append("  " * self.depth + statement)

    def fresh(self, letter: str = "v") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def put(self, expression: str, kind: str = "") -> str:
        """Append a constant with this value and return its name."""
        name = self.fresh()
        self.do(f"const {kind or self.dialect.type} {name} = {expression};")
        return name

    def operand(self, x: Any) -> str:
        return self.dialect.literal(x) if isinstance(x, float) else str(x)

    # ------------------------------------------------------------- arithmetic

    def binary(self, op: str, a: Any, b: Any) -> str:
        return self.put(f"{self.operand(a)} {_BINARY[op]} {self._signed(b)}")

    def _signed(self, x: Any) -> str:
        """An operand after an operator: a - -b needs a space or brackets."""
        operand = self.operand(x)
        return f"({operand})" if operand.startswith("-") else operand

    def neg(self, a: Any) -> Any:
        return -a if isinstance(a, float) else self.put(f"-{self._signed(a)}")

    def multiply_add(self, a: Any, b: Any, c: Any) -> str:
        if self.fma:
            return self.put(f"{self.dialect.fma}({self.operand(a)}, {self.operand(b)}, {self.operand(c)})")
        return self.binary("fadd", self.binary("fmul", a, b), c)

    def intrinsic(self, name: str, *args: Any) -> str:
        if name in _EXTREMES:
            return self.put(self.called(name, *args))
        return self.put(f"{self.dialect.library[name]}({', '.join(map(self.operand, args))})")

    def called(self, helper: str, *args: Any) -> str:
        """A call of one of the functions of `helpers`."""
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
        first = self.dialect.integer(a) if isinstance(a, int) else a
        second = (str(b) if shifts else self.dialect.integer(b)) if isinstance(b, int) else b
        return self.put(f"{first} {_INTEGER[op]} {second}", self.dialect.unsigned)

    def odd(self, bits: str) -> str:
        return f"(({bits} & 1U) != 0U)"


# ------------------------------------------------------------------- functions that programs call


_ORDER = (*_EXTREMES, *(name for name, op in ops.OPS.items() if op.parameters), "sincos")


def helpers(dialect: Dialect, wanted: Iterable[str], fused: str = "") -> list[str]:
    """The sources of these functions and of those that they call.

    If `fused` is a condition of the preprocessor, sines and cosines have a form for each case.
    """
    made: dict[str, str] = {}
    missing = list(wanted)
    while missing:
        name = missing.pop()
        if name not in made:
            made[name], more = _helper(dialect, name, fused)
            missing += more
    return [made[name] for name in _ORDER if name in made]


def _helper(dialect: Dialect, name: str, fused: str) -> tuple[str, set[str]]:
    if name == "sincos":
        return _sincos(dialect, fused), set()
    if name in _EXTREMES:
        return _extreme(dialect, name), set()
    parameters = ops.OPS[name].parameters
    w = SourceWriter(dialect)
    result = w.steps(name, *parameters)
    listed = ", ".join(f"{dialect.type} {p}" for p in parameters)
    head = f"{dialect.function} {dialect.type} ${name}{dialect.tag}({listed}) {{"
    return "\n".join([head, *w.lines, f"  return {w.operand(result)};", "}"]), w.helpers


def _sincos(dialect: Dialect, fused: str) -> str:
    """Sine and cosine; of large angles by the library if `careful`, else the caller computes again."""
    real, tag = dialect.type, dialect.tag
    absolute, sine, cosine = (dialect.library[name] for name in ("fabs", "sin", "cos"))
    listed = f"{real} x, int careful, {real} *s, {real} *c, {real} *far"
    lines = [f"{dialect.function} void $sincos{tag}({listed}) {{", f"  {real} size;"]
    if fused:
        lines += [f"#if {fused}", *_steps(dialect, fma=True), "#else", *_steps(dialect, fma=False), "#endif"]
    else:
        lines += _steps(dialect, fma=True)
    lines += [f"  size = {absolute}(x);", "  *far = size > *far ? size : *far;"]
    if dialect.lanes > 1:
        lines += ["  if (careful) {", f"    *s = $sin_far{tag}(x, *s);", f"    *c = $cos_far{tag}(x, *c);"]
    else:
        lines.append(f"  if (careful && size > {dialect.literal(LARGEST)}) {{")
        lines += [f"    *s = {sine}(x);", f"    *c = {cosine}(x);"]
    made = "\n".join([*lines, "  }", "}"])
    return "\n\n".join([_far(dialect, "sin"), _far(dialect, "cos"), made]) if dialect.lanes > 1 else made


def _steps(dialect: Dialect, *, fma: bool) -> list[str]:
    """The statements that assign *s and *c from x."""
    w = SourceWriter(dialect, fma=fma)
    sine, cosine = sincos(w, "x")
    return [*w.lines, f"  *s = {sine};", f"  *c = {cosine};"]


def _far(dialect: Dialect, name: str) -> str:
    """A sine or cosine by the library in lanes whose angle is beyond the fast path; hardly ever called."""
    kind, limit = dialect.type, replace(dialect, lanes=1).literal(LARGEST)
    lines = [f"__attribute__((noinline)) static {kind} ${name}_far{dialect.tag}({kind} x, {kind} near) {{"]
    for k in range(dialect.lanes):
        lines.append(f"  if (fabs(x.s{k:x}) > {limit}) near.s{k:x} = {name}(x.s{k:x});")
    return "\n".join([*lines, "  return near;", "}"])


def _extreme(dialect: Dialect, name: str) -> str:
    """Minimum or maximum of two numbers, NaN if one is; -0 is less than +0."""
    real, test, joint = dialect.type, *(("<", "|") if name == "minimum" else (">", "&"))
    w = SourceWriter(dialect)  # without branches, so that compilers vectorise
    alike = w.put(f"{dialect.number}({dialect.bits}(a) {joint} {dialect.bits}(b))")
    found = w.select(f"(a {test} b)", "a", w.select(f"(b {test} a)", "b", alike))
    found = w.select("(a != a)", "a", w.select("(b != b)", "b", found))
    head = f"{dialect.function} {real} ${name}{dialect.tag}({real} a, {real} b) {{"
    return "\n".join([head, *w.lines, f"  return {found};", "}"])


def bits_functions(dialect: Dialect) -> str:
    """The functions between numbers and their bits, where the language has none of its own."""
    real, bits = dialect.real, dialect.unsigned
    copy = "y;\n  memcpy(&y, &x, sizeof y);\n  return y;\n}"
    return (
        f"{dialect.function} {bits} {dialect.bits}({real} x) {{\n  {bits} {copy}\n\n"
        f"{dialect.function} {real} {dialect.number}({bits} x) {{\n  {real} {copy}"
    )
