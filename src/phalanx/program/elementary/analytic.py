# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Exponential, hyperbolic tangent, logarithm and arc tangent: within 2 ulp everywhere.

Arguments are reduced in exact steps; then polynomials, by interpolation in Chebyshev nodes on the reduced
interval. There is no branch: infinities, NaN, overflow and underflow go the same way.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .arithmetic import Arithmetic, Number


@dataclass(frozen=True)
class AnalyticConstants:
    """What one precision needs; polynomials begin with their constant terms."""

    size: int
    mantissa: int  # bits after the point
    magic: float  # adding it rounds to whole numbers and leaves them in the low bits
    ln2: tuple[float, float]  # of the first part, multiples by exponents are exact
    range: tuple[float, float]  # outside, the exponential is zero or infinite
    exp: tuple[float, ...]  # exp(x) = 1 + x + x^2 p(x) up to ln(2) / 2
    saturated: float  # from there on the hyperbolic tangent is one
    tanh: tuple[tuple[float, ...], tuple[float, ...]]  # tanh(x) = x + x z p(z) / q(z), z = x^2, up to 0.7
    log: tuple[float, ...]  # 2 artanh(s) = 2 s + s z p(z), z = s^2, up to 3 - sqrt(8)
    atan: tuple[float, ...]  # arctan(t) = t + t z p(z), z = t^2, up to sqrt(2) - 1
    pi: tuple[float, float]  # parts that add up

    @property
    def bias(self) -> int:
        return (1 << self.size - self.mantissa - 2) - 1


CONSTANTS = {
    "double": AnalyticConstants(
        64,
        52,
        1.5 * 2.0**52,
        (float.fromhex("0x1.62e42fefa38p-1"), float.fromhex("0x1.ef35793c7673p-45")),
        (-746.0, 710.0),
        (
            0.5,
            0.16666666666666666,
            0.041666666666651246,
            0.008333333333332147,
            0.0013888888905973543,
            0.00019841269854409363,
            2.480153620505534e-05,
            2.755727992579576e-06,
            2.761390867578486e-07,
            2.509563297507093e-08,
        ),
        20.0,
        (
            (-0.3333333333333333, -0.02049522886753235, -0.00019901990913769401),
            (1.0, 0.46148568660258626, 0.023286572463946293, 0.00020636437984939814),
        ),
        (
            0.666666666666667,
            0.3999999999989322,
            0.28571428628810996,
            0.22222210674238516,
            0.18182922513515942,
            0.15330617306743305,
            0.1463003136412286,
        ),
        (
            -0.3333333333333333,
            0.1999999999999548,
            -0.14285714284657894,
            0.11111111014561013,
            -0.09090904549884611,
            0.07692182535116648,
            -0.06664502215671447,
            0.058580687568615106,
            -0.05085030492810941,
            0.03921955253255129,
            -0.019162068915902573,
        ),
        (math.pi, float.fromhex("0x1.1a62633145c07p-53")),
    ),
    "float": AnalyticConstants(
        32,
        23,
        1.5 * 2.0**23,
        (float.fromhex("0x1.62e4p-1"), float.fromhex("0x1.7f7d1cp-20")),
        (-104.0, 89.0),
        (0.5, 0.16666631400585175, 0.04166662320494652, 0.008357248269021511, 0.0013918773038312793),
        10.0,
        (
            (-0.3333333432674408, -0.014762332662940025),
            (1.0, 0.4442870020866394, 0.015810128301382065),
        ),
        (0.6666668653488159, 0.39988550543785095, 0.29590317606925964),
        (
            -0.3333333134651184,
            0.19999538362026215,
            -0.14263896644115448,
            0.10743099451065063,
            -0.06449835002422333,
        ),
        (float.fromhex("0x1.921fb6p+1"), float.fromhex("-0x1.777a5cp-24")),
    ),
}
SMALL = 0.7  # below it the hyperbolic tangent is a quotient of polynomials
STEEP = math.sqrt(2.0) - 1.0  # the tangent of pi/8


def minimum(w: Arithmetic, a: Number, b: Number) -> Any:
    """The lesser of two, NaN if one is; -0 is less than 0. Beside a constant, one instruction."""
    if isinstance(a, float):
        a, b = b, a
    if not isinstance(b, float) or math.isnan(b):
        return w.intrinsic("minimum", a, b)
    return w.where("olt", b, a, b, a)


def maximum(w: Arithmetic, a: Number, b: Number) -> Any:
    """The greater of two, NaN if one is; 0 is greater than -0. Beside a constant, one or two instructions."""
    if isinstance(a, float):
        a, b = b, a
    if not isinstance(b, float) or math.isnan(b):
        return w.intrinsic("maximum", a, b)
    return w.where("ogt", b, a, b, a) if b else w.where("ole", a, b, b, a)


def exp(w: Arithmetic, x: Number) -> Any:
    """The exponential."""
    k = CONSTANTS[w.element]
    n, value = _exponential(w, maximum(w, minimum(w, x, k.range[1]), k.range[0]))
    # Twice half the exponent: a power of two alone may be beyond the largest or below the least number.
    half = w.multiply_add(n, 0.5, k.magic)
    other = w.binary("fadd", w.binary("fsub", n, w.binary("fsub", half, k.magic)), k.magic)
    return w.binary("fmul", w.binary("fmul", value, _power(w, half)), _power(w, other))


def tanh(w: Arithmetic, x: Number) -> Any:
    """The hyperbolic tangent: x + x z P/Q of small numbers, 1 - 2 / (exp(2 x) + 1) of others."""
    k = CONSTANTS[w.element]
    size = w.intrinsic("fabs", x)
    n, value = _exponential(w, w.binary("fmul", minimum(w, size, k.saturated), 2.0))
    grown = w.binary("fmul", value, _power(w, w.binary("fadd", n, k.magic)))
    z = w.binary("fmul", size, size)
    above, below = (_polynomial(w, z, each) for each in k.tanh)
    small = w.compare("olt", size, SMALL)
    above = w.select(small, w.binary("fmul", z, above), -2.0)
    below = w.select(small, below, w.binary("fadd", grown, 1.0))
    factor = w.select(small, size, 1.0)
    return w.intrinsic("copysign", w.multiply_add(factor, w.binary("fdiv", above, below), factor), x)


def log(w: Arithmetic, x: Number) -> Any:
    """The natural logarithm."""
    k = CONSTANTS[w.element]
    lift = float(k.mantissa + 2)
    tiny = w.compare("olt", x, 2.0 ** (1 - k.bias))
    normal = w.select(tiny, w.binary("fmul", x, 2.0**lift), x)
    root = _bits_of(math.sqrt(0.5), w.element)
    moved = w.integer("add", w.bits(normal), (k.bias << k.mantissa) - root)
    exponent = w.integer("lshr", moved, k.mantissa)
    exponent = w.integer("or", exponent, _bits_of(2.0**k.mantissa, w.element))
    n = w.binary("fsub", w.number(exponent), 2.0**k.mantissa + k.bias)
    n = w.binary("fsub", n, w.select(tiny, lift, 0.0))
    rest = w.integer("add", w.integer("and", moved, (1 << k.mantissa) - 1), root)
    f = w.binary("fsub", w.number(rest), 1.0)  # between sqrt(1/2) and sqrt(2), less one
    # log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + z p(z)) with s = f / (2 + f): all but f itself is small.
    s = w.binary("fdiv", f, w.binary("fadd", f, 2.0))
    z = w.binary("fmul", s, s)
    half = w.binary("fmul", w.binary("fmul", f, 0.5), f)
    more = w.multiply_add(z, _polynomial(w, z, k.log), half)
    less = w.binary("fsub", half, w.multiply_add(s, more, w.binary("fmul", n, k.ln2[1])))
    found = w.multiply_add(n, k.ln2[0], w.binary("fsub", f, less))
    found = w.where("oeq", x, math.inf, x, found)
    found = w.where("oeq", x, 0.0, -math.inf, found)
    return w.where("uge", x, 0.0, w.where("uno", x, x, x, found), math.nan)


def arctan2(w: Arithmetic, y: Number, x: Number) -> Any:
    """The angle of the point (x, y), between -pi and pi."""
    k = CONSTANTS[w.element]
    high, low = k.pi
    left = w.intrinsic("copysign", 1.0, x)
    y_size, x_size = w.intrinsic("fabs", y), w.intrinsic("fabs", x)
    steep = w.compare("ogt", y_size, x_size)
    a, b = w.select(steep, x_size, y_size), w.select(steep, y_size, x_size)
    # Of infinite ones only the kind matters; large ones would overflow in their sum.
    endless = w.compare("oeq", b, math.inf)
    a = w.select(endless, w.where("oeq", a, math.inf, 1.0, 0.0), a)
    b = w.select(endless, 1.0, b)
    scale = w.where("ogt", b, 2.0 ** (k.bias - 2), 0.25, 1.0)
    a, b = w.binary("fmul", a, scale), w.binary("fmul", b, scale)
    # arctan(a / b) = pi/4 + arctan((a - b) / (a + b)).
    beyond = w.compare("ogt", a, w.binary("fmul", b, STEEP))
    above = w.select(beyond, w.binary("fsub", a, b), a)
    below = w.select(beyond, w.binary("fadd", a, b), w.where("oeq", b, 0.0, 1.0, b))
    t = w.binary("fdiv", above, below)
    z = w.binary("fmul", t, t)
    rest = w.binary("fmul", w.binary("fmul", t, z), _polynomial(w, z, k.atan))
    # The angle is turns + sign (t + rest), where turns is a multiple of pi/4 in two parts.
    eighths = w.select(beyond, 0.25, 0.0)
    sign = w.select(steep, -1.0, 1.0)
    eighths = w.multiply_add(eighths, sign, w.select(steep, 0.5, 0.0))
    behind = w.compare("olt", left, 0.0)
    eighths = w.select(behind, w.binary("fsub", 1.0, eighths), eighths)
    sign = w.binary("fmul", sign, left)
    small = w.multiply_add(sign, rest, w.binary("fmul", eighths, low))
    angle = w.multiply_add(eighths, high, w.multiply_add(sign, t, small))
    angle = w.intrinsic("copysign", angle, y)
    return w.where("uno", x, y, math.nan, angle)


# ------------------------------------------------------------------- what they share


def _exponential(w: Arithmetic, x: Any) -> tuple[Any, Any]:
    """A whole number n and the exponential of x divided by 2^n."""
    k = CONSTANTS[w.element]
    n = w.binary("fsub", w.multiply_add(x, 1.0 / math.log(2.0), k.magic), k.magic)
    r = w.multiply_add(n, -k.ln2[0], x)
    r = w.multiply_add(n, -k.ln2[1], r)
    tail = w.multiply_add(w.binary("fmul", r, r), _polynomial(w, r, k.exp), r)
    return n, w.binary("fadd", tail, 1.0)


def _power(w: Arithmetic, shifted: Any) -> Any:
    """2^n of a whole number to which `magic` was added."""
    k = CONSTANTS[w.element]
    return w.number(w.integer("shl", w.integer("add", w.bits(shifted), k.bias), k.mantissa))


def _polynomial(w: Arithmetic, x: Any, coefficients: Sequence[float]) -> Any:
    value: Any = coefficients[-1]
    for a in reversed(coefficients[:-1]):
        value = w.multiply_add(value, x, a)
    return value


def _bits_of(x: float, element: str) -> int:
    """The bits of a number as a whole one."""
    form, whole = ("<d", "<q") if element == "double" else ("<f", "<i")
    found: int = struct.unpack(whole, struct.pack(form, x))[0]
    return found
