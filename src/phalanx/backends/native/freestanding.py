# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs as LLVM text for machines without an operating system or a C library.

Each program becomes a function of one state and one of a batch of rows. Nothing is allocated, nothing is kept
between calls, and nothing outside the module is called.
"""

from __future__ import annotations

from pathlib import Path
from string import Template

from ...program.elementary.turns import CONSTANTS
from .emit.writer import Writer

# Bits of a number, those of its fraction, and what is added to its exponent.
_LAYOUTS = {"double": (64, 52, 1023), "float": (32, 23, 127)}


def far_text(element: str) -> str:
    """Sine and cosine of large arguments, as LLVM text that takes the place of the C library's."""
    bits, mantissa, bias = _LAYOUTS[element]
    text = Path(__file__).with_name("runtime").joinpath("far.ll").read_text(encoding="utf-8")
    k = CONSTANTS[element]
    return Template(text).substitute(
        element=element,
        suffix="" if element == "double" else "f",
        whole=f"i{bits}",
        widened="add i64 %raw, 0" if bits == 64 else f"zext i{bits} %raw to i64",
        narrowed="add i64 %scale.bits, 0" if bits == 64 else f"trunc i64 %scale.bits to i{bits}",
        mantissa=mantissa,
        exponents=2 * bias + 1,
        fractions=(1 << mantissa) - 1,
        implicit=1 << mantissa,
        offset=bias + mantissa - 62,
        unit=bias - 61,
        top=bits - 1,
        polynomials="\n".join([*_polynomial("s", k.sine, element), *_polynomial("c", k.cosine, element)]),
    )


def _polynomial(name: str, coefficients: tuple[float, ...], element: str) -> list[str]:
    """Text of a polynomial in %r2 by Horner's rule, each step rounded."""
    constant = Writer(element, 1, fma=False).scalar
    value, lines = constant(coefficients[-1]), []
    for k, a in reversed(list(enumerate(coefficients[:-1]))):
        lines.append(f"  %{name}.p{k} = fmul {element} {value}, %r2")
        value = f"%{name}.{k}" if k else f"%{name}"
        lines.append(f"  {value} = fadd {element} %{name}.p{k}, {constant(a)}")
    return lines
