# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sine and cosine: within 2 ulp up to 1e5; beyond, a language takes a library or `far.ll`.

The argument is reduced by multiples of pi/2 in a few exact steps, then two polynomials
(interpolation in Chebyshev nodes on the reduced interval) give both functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .arithmetic import Arithmetic

LARGEST = 1e5


@dataclass(frozen=True)
class SincosConstants:
    """What one precision needs; `parts` add up to pi/2."""

    magic: float  # adding it rounds to whole numbers and leaves them in the low bits
    top: int
    parts: tuple[float, ...]
    split: tuple[float, ...]  # parts short enough that their multiples are exact without fma
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


CONSTANTS = {
    "double": SincosConstants(
        1.5 * 2.0**52,
        63,
        (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
        tuple(
            map(
                float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2ep-69", "0x1.b839a252p-104")
            )
        ),
        (
            -0.16666666666666666,
            0.008333333333330946,
            -0.0001984126983675497,
            2.755731610068303e-06,
            -2.5051131455427943e-08,
            1.5918101230273893e-10,
        ),
        (
            0.041666666666666664,
            -0.0013888888888887395,
            2.4801587298763433e-05,
            -2.7557317270560326e-07,
            2.0876146024689743e-09,
            -1.1382614868556182e-11,
        ),
    ),
    "float": SincosConstants(
        1.5 * 2.0**23,
        31,
        tuple(map(float.fromhex, ("0x1.921fb6p+0", "-0x1.777a5cp-25", "-0x1.ee59dap-50"))),
        tuple(
            map(
                float.fromhex,
                ("0x1.92p+0", "0x1.fcp-12", "-0x1.58p-21", "0x1.1p-30", "0x1.68p-39", "0x1.84698ap-48"),
            )
        ),
        (-0.16666664539365847, 0.00833272461378369, -0.0001958283067883539),
        (0.04166666453632113, -0.0013888279330556913, 2.4542871110869853e-05),
    ),
}


def sincos(w: Arithmetic, x: Any) -> tuple[Any, Any]:
    """Sine and cosine of arguments below 1e5."""
    k = CONSTANTS[w.element]
    t = w.multiply_add(x, 2.0 / 3.141592653589793, k.magic)
    n = w.binary("fsub", t, k.magic)
    r = _reduced(w, x, n)
    r2 = w.binary("fmul", r, r)
    s: Any = k.sine[-1]
    c: Any = k.cosine[-1]
    for a in reversed(k.sine[:-1]):
        s = w.multiply_add(s, r2, a)
    for a in reversed(k.cosine[:-1]):
        c = w.multiply_add(c, r2, a)
    sine = w.multiply_add(w.binary("fmul", r, r2), s, r)
    cosine = w.multiply_add(r2, w.multiply_add(r2, c, -0.5), 1.0)
    # The quarter turns n exchange the two and change signs.
    q = w.bits(t)
    odd = w.odd(q)
    sine, cosine = w.select(odd, cosine, sine), w.select(odd, sine, cosine)
    top = w.integer("shl", q, k.top - 1)
    after = w.integer("shl", w.integer("add", q, 1), k.top - 1)
    return _signed(w, sine, top), _signed(w, cosine, after)


def _reduced(w: Arithmetic, x: Any, n: Any) -> Any:
    """x less n quarter turns."""
    k = CONSTANTS[w.element]
    if w.fma:
        for part in k.parts:
            x = w.multiply_add(n, -part, x)
        return x
    # Products are exact, differences not always: what they lose is gathered and added last.
    lost: Any = 0.0
    for part in k.split:
        product = w.binary("fmul", n, part)
        rest = w.binary("fsub", x, product)
        error = w.binary("fsub", w.binary("fsub", x, rest), product)
        lost = w.binary("fadd", lost, error)
        x = rest
    return w.binary("fadd", x, lost)


def _signed(w: Arithmetic, x: Any, bits: Any) -> Any:
    """x with its sign flipped where the top bit of `bits` is set."""
    sign = w.integer("and", bits, -(1 << CONSTANTS[w.element].top))
    return w.number(w.integer("xor", w.bits(x), sign))


def rescale(w: Arithmetic, x: Any) -> Any:
    """The power of two that brings x >= 0 to between two and four: its exponent is that of x mirrored."""
    exponent, least = (0x7FF << 52, 2.0**-1022) if w.element == "double" else (0xFF << 23, 2.0**-126)
    normal = w.where("ogt", x, least, x, least)  # at least the smallest normal number
    bits = w.integer("and", w.bits(normal), exponent)
    return w.number(w.integer("sub", exponent, bits))
