# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Elementary functions as steps of an abstract arithmetic: the same in every language and on every processor.

`Arithmetic` is what a language must be able to write. Names of operations and tests are LLVM's: "fadd",
"olt", "lshr". Numbers and masks are strings, or whatever else a value is in the language; Python numbers are
constants.
"""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
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
        """The bits of a number as an integer."""

    @abstractmethod
    def number(self, bits: Any) -> Any:
        """The number that some bits represent."""

    @abstractmethod
    def integer(self, op: str, a: Any, b: Any) -> Any:
        """An operation on integers: "add", "sub", "and", "or", "xor", "shl", "lshr"."""

    @abstractmethod
    def odd(self, bits: Any) -> Any:
        """The mask of odd integers."""

    def steps(self, op: str, *args: Number) -> Any:
        """An operation of the table `OPS`, but not a sine or cosine."""
        from .ops import OPS  # which names the functions of this module

        steps = OPS[op].steps
        assert steps is not None, op
        return steps(self, *args)

    def where(self, test: str, x: Number, y: Number, a: Number, b: Number) -> Any:
        """a where the test of x and y holds, else b."""
        return self.select(self.compare(test, x, y), a, b)


# ------------------------------------------------------------------- sincos


LARGEST = 1e5


@dataclass(frozen=True)
class SincosConstants:
    """What one precision needs; `parts` add up to pi/2."""

    magic: float  # adding it rounds to integers and leaves them in the low bits
    top: int
    parts: tuple[float, ...]
    split: tuple[float, ...]  # parts short enough that their multiples are exact without fma
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


SINCOS_CONSTANTS = {
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
    k = SINCOS_CONSTANTS[w.element]
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
    # n quarter turns exchange sine and cosine and change signs.
    q = w.bits(t)
    odd = w.odd(q)
    sine, cosine = w.select(odd, cosine, sine), w.select(odd, sine, cosine)
    top = w.integer("shl", q, k.top - 1)
    after = w.integer("shl", w.integer("add", q, 1), k.top - 1)
    return _signed(w, sine, top), _signed(w, cosine, after)


def _reduced(w: Arithmetic, x: Any, n: Any) -> Any:
    """x less n quarter turns."""
    k = SINCOS_CONSTANTS[w.element]
    if w.fma:
        for part in k.parts:
            x = w.multiply_add(n, -part, x)
        return x
    # Products are exact, differences not always: their rounding errors are summed and added last.
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
    sign = w.integer("and", bits, -(1 << SINCOS_CONSTANTS[w.element].top))
    return w.number(w.integer("xor", w.bits(x), sign))


def rescale(w: Arithmetic, x: Any) -> Any:
    """The power of two that brings x >= 0 to between two and four: its exponent is that of x mirrored."""
    exponent, least = (0x7FF << 52, 2.0**-1022) if w.element == "double" else (0xFF << 23, 2.0**-126)
    normal = w.where("ogt", x, least, x, least)  # at least the smallest normal number
    bits = w.integer("and", w.bits(normal), exponent)
    return w.number(w.integer("sub", exponent, bits))


# ------------------------------------------------------------------- analytic


@dataclass(frozen=True)
class AnalyticConstants:
    """What one precision needs; polynomials begin with their constant terms."""

    size: int
    mantissa: int  # bits after the point
    magic: float  # adding it rounds to integers and leaves them in the low bits
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


ANALYTIC_CONSTANTS = {
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


def floor(w: Arithmetic, x: Number) -> Any:
    """The largest integer that is not greater; -0 stays -0."""
    large = 2.0 ** ANALYTIC_CONSTANTS[w.element].mantissa  # from there on all floats are integers
    size = w.intrinsic("fabs", x)
    nearest = w.binary("fsub", w.binary("fadd", size, large), large)
    nearest = w.intrinsic("copysign", nearest, x)
    below = w.binary("fsub", nearest, w.where("ogt", nearest, x, 1.0, 0.0))
    return w.where("olt", size, large, below, x)


def exp(w: Arithmetic, x: Number) -> Any:
    """The exponential."""
    k = ANALYTIC_CONSTANTS[w.element]
    n, value = _exponential(w, maximum(w, minimum(w, x, k.range[1]), k.range[0]))
    # Scaled by two powers of half the exponent: the full power alone may overflow or underflow.
    half = w.multiply_add(n, 0.5, k.magic)
    other = w.binary("fadd", w.binary("fsub", n, w.binary("fsub", half, k.magic)), k.magic)
    return w.binary("fmul", w.binary("fmul", value, _power(w, half)), _power(w, other))


def tanh(w: Arithmetic, x: Number) -> Any:
    """The hyperbolic tangent: x + x z P/Q of small numbers, 1 - 2 / (exp(2 x) + 1) of others."""
    k = ANALYTIC_CONSTANTS[w.element]
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
    k = ANALYTIC_CONSTANTS[w.element]
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
    k = ANALYTIC_CONSTANTS[w.element]
    high, low = k.pi
    left = w.intrinsic("copysign", 1.0, x)
    y_size, x_size = w.intrinsic("fabs", y), w.intrinsic("fabs", x)
    steep = w.compare("ogt", y_size, x_size)
    a, b = w.select(steep, x_size, y_size), w.select(steep, y_size, x_size)
    # Infinite coordinates become 1, finite ones beside them 0; the sum of large ones would overflow.
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
    # The angle is eighths pi + sign (t + rest), with pi in two parts.
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
    """An integer n and the exponential of x divided by 2^n."""
    k = ANALYTIC_CONSTANTS[w.element]
    n = w.binary("fsub", w.multiply_add(x, 1.0 / math.log(2.0), k.magic), k.magic)
    r = w.multiply_add(n, -k.ln2[0], x)
    r = w.multiply_add(n, -k.ln2[1], r)
    tail = w.multiply_add(w.binary("fmul", r, r), _polynomial(w, r, k.exp), r)
    return n, w.binary("fadd", tail, 1.0)


def _power(w: Arithmetic, shifted: Any) -> Any:
    """2^n of an integer to which `magic` was added."""
    k = ANALYTIC_CONSTANTS[w.element]
    return w.number(w.integer("shl", w.integer("add", w.bits(shifted), k.bias), k.mantissa))


def _polynomial(w: Arithmetic, x: Any, coefficients: Sequence[float]) -> Any:
    value: Any = coefficients[-1]
    for a in reversed(coefficients[:-1]):
        value = w.multiply_add(value, x, a)
    return value


def _bits_of(x: float, element: str) -> int:
    """The bits of a number as an integer."""
    form, integer = ("<d", "<q") if element == "double" else ("<f", "<i")
    found: int = struct.unpack(integer, struct.pack(form, x))[0]
    return found
