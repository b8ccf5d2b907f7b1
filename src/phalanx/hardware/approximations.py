# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sine, cosine and reciprocal as sequences of units, with stated errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .circuit import Circuit, Wire

# Largest error of a sine or cosine in units of its last bit: 1 for cutting the guard bits off, the rest
# within them.
SINE_ERROR = 1.55
RECIPROCAL_ERROR = 1.3  # the same for reciprocals: 1 for cutting, the rest is that of the series
# Bits of precision at most: tables have two thousand entries then, four thousand of reciprocals.
FINEST = 29
_GUARD = 3


def sincos(circuit: Circuit, x: Wire, fraction: int, magnitude: float) -> tuple[Wire, Wire]:
    """Sine and cosine of an angle in radians, up to `magnitude`, with `fraction` bits and an error of
    `SINE_ERROR`.

    The angle in quarter turns is a quadrant, the index of a table of sines and cosines S and C, and a rest
    r around the middle of the entry: sin = S + C r - S r² / 2, and its counterpart for the cosine. With F
    bits inside, the terms r³ / 6, the tables and the products each have an error of at most a unit of 2^-F,
    together 4.4.
    """
    inside = fraction + _GUARD
    index = max(4, math.ceil((inside - 1.6) / 3))  # bits: 0.0807 2^-3k, the cubic term, is at most 2^-F / 4
    n = inside + 1  # bits of a quarter turn
    digits = n + 1 + max(math.frexp(magnitude)[1], 0)
    factor = round(math.ldexp(2 / math.pi, digits))
    phase = circuit.wire("phase", (x,), n + 2, n, factor, x.fraction + digits - n)
    quadrant = circuit.wire("field", (phase,), 2, 0, n, 0)
    entry = circuit.wire("field", (phase,), index, index, n - index, 0)
    rest = circuit.wire("field", (phase,), n - index, n, 0, 1)
    coarse = min(inside - 2 * index + 3, n - index)
    top = circuit.wire("field", (phase,), coarse, index + coarse, n - index - coarse, 1)
    # The rest is the middle of the interval that its bits stand for, so that cutting the angle has no bias.
    square = circuit.wire("mul", (top, top), coarse, inside + 3, 2 * (index + coarse) - inside - 3)

    def table(scale: float, ahead: float, bits: int) -> Wire:
        step = math.pi / 2 / (1 << index)
        middle = step / 2 + math.pi / 4 * math.ldexp(1.0, -n)
        numbers = tuple(
            round(math.ldexp(scale * math.sin(j * step + middle + ahead), bits)) for j in range(1 << index)
        )
        width = max(abs(x) for x in numbers).bit_length() + 1
        return circuit.wire("table", (entry,), width, bits, numbers)

    made = []
    for ahead in (0.0, math.pi / 2):
        sine = table(1.0, ahead, inside)
        slope = table(math.pi / 2, ahead + math.pi / 2, inside - index)
        bend = table(math.pi**2 / 8, ahead, max(inside - 2 * index, 1))
        linear = _product(circuit, slope, rest, inside)
        bent = _product(circuit, bend, square, inside)
        sloped = circuit.wire("add", (sine, linear), inside + 2, inside, 0, 0, 0)
        made.append(circuit.wire("sub", (sloped, bent), inside + 2, inside, 0, 0, 0))
    sine, cosine = (
        circuit.wire("quadrant", (*made, quadrant), fraction + 2, fraction, ahead, _GUARD) for ahead in (0, 1)
    )
    return sine, cosine


def reciprocal(circuit: Circuit, x: Wire, fraction: int, width: int, least: float) -> Wire:
    """1 / x for x of at least `least`, positive, with `fraction` bits and an error of `RECIPROCAL_ERROR`.

    x is shifted to m in [1, 2). A table of its first bits gives y near 1 / m; with e = 1 - m y the result is
    y (1 + e + e²), shifted as x was. With b bits inside, two products, the square and e³ each have an error
    of at most 2^-(b + 2).
    """
    bits = fraction + 3 + max(math.ceil(-math.log2(least)), 0)
    index = math.ceil((bits + 2) / 3)
    if x.width < index + 4:
        more = index + 4 - x.width
        x = circuit.wire("shift", (x,), x.width + more, x.fraction + more, -more)
    top = x.width - 2  # the highest bit of a positive number
    most = max(top + 1 - math.floor(math.ldexp(least, x.fraction)).bit_length(), 0)
    zeros = circuit.wire("zeros", (x,), max(most.bit_length() + 1, 2), 0, most, top)
    m = circuit.wire("shifted", (x, zeros), x.width, top, 0, most)
    entry = circuit.wire("field", (m,), index, index, top - index, 0)
    inside = bits + 2
    numbers = tuple(
        round(math.ldexp(1 / (1 + (j + 0.5) / (1 << index)), index + 3)) for j in range(1 << index)
    )
    y = circuit.wire("table", (entry,), index + 5, index + 3, numbers)
    product = circuit.wire("mul", (m, y), inside + 2, inside, top + index + 3 - inside)
    one = circuit.wire("constant", (), inside + 2, inside, 1 << inside)
    small = inside - index + 2
    e = circuit.wire("sub", (one, product), small, inside, 0, 0, 0)
    square = circuit.wire("mul", (e, e), max(small - index + 2, 2), inside, inside)
    series = circuit.wire("add", (e, square), small + 1, inside, 0, 0, 0)
    correction = circuit.wire("mul", (y, series), small + 2, inside, index + 3)
    result = circuit.wire("add", (y, correction), inside + 2, inside, inside - index - 3, 0, 0)
    cut = inside - fraction - x.fraction + top
    return circuit.wire("shifted", (result, zeros), width, fraction, cut, most)


def _product(circuit: Circuit, a: Wire, b: Wire, fraction: int) -> Wire:
    cut = a.fraction + b.fraction - fraction
    return circuit.wire("mul", (a, b), max(a.width + b.width - 1 - cut, 2), fraction, cut)
