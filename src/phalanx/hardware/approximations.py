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
ROOT_ERROR = 1.5  # the same for square roots
RECIPROCAL_ERROR = 1.3  # the same for reciprocals: 1 for cutting, the rest is that of the series
# Bits of precision at most: tables have two thousand entries then, or four thousand.
_TWO_TERMS = 29
FINEST = 42
FINEST_RECIPROCAL = 56
_ONE_STEP = 32  # bits inside of a reciprocal without a step by Newton
FINEST_ROOT = 25  # tables of roots have eight thousand
SHIFTED_ROOT_ERROR = 1.4  # of a root in fixed point: 1 for cutting, the rest is that of the unit
_GUARD = 3


def sincos(circuit: Circuit, x: Wire, fraction: int, magnitude: float) -> tuple[Wire, Wire]:
    """Sine and cosine of an angle in radians, up to `magnitude`, with `fraction` bits and an error of
    `SINE_ERROR`.

    The angle in quarter turns is a quadrant, the index of a table of sines and cosines S and C, and a rest
    r around the middle of the entry: sin = S + C r - S r² / 2, and its counterpart for the cosine. With F
    bits inside, the terms r³ / 6, the tables and the products each have an error of at most a unit of 2^-F,
    together 4.4. With more than `_TWO_TERMS` bits the cubic term is added, and r⁴ / 24 left out.
    """
    is_cubic = fraction > _TWO_TERMS
    guard = _GUARD + is_cubic
    inside = fraction + guard
    index = max(4, math.ceil((inside - 1.6) / 3))  # bits: 0.0807 2^-3k, the cubic term, is at most 2^-F / 4
    if is_cubic:
        index = math.ceil((inside - 4) / 4)  # 0.0158 2^-4k, the next one
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

    cube = (
        circuit.wire("mul", (square, top), inside - 3 * index + 2, inside + 3, index + coarse)
        if is_cubic
        else None
    )

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
        found = circuit.wire("sub", (sloped, bent), inside + 2, inside, 0, 0, 0)
        if cube is not None:
            third = table(math.pi**3 / 48, ahead + math.pi / 2, max(inside - 3 * index, 1))
            found = circuit.wire(
                "sub", (found, _product(circuit, third, cube, inside)), inside + 2, inside, 0, 0, 0
            )
        made.append(found)
    sine, cosine = (
        circuit.wire("quadrant", (*made, quadrant), fraction + 2, fraction, ahead, guard) for ahead in (0, 1)
    )
    return sine, cosine


def reciprocal(circuit: Circuit, x: Wire, fraction: int, width: int, least: float) -> Wire:
    """1 / x for x of at least `least`, positive, with `fraction` bits and an error of `RECIPROCAL_ERROR`.

    x is shifted to m in [1, 2). A table of its first bits gives y near 1 / m; with e = 1 - m y the result is
    y (1 + e + e²), shifted as x was. With b bits inside, two products, the square and e³ each have an error
    of at most 2^-(b + 2). Of more than `_ONE_STEP` bits that is the start of a step by Newton.
    """
    all_bits = fraction + 3 + max(math.ceil(-math.log2(least)), 0)
    bits = all_bits if all_bits <= _ONE_STEP else math.ceil(all_bits / 2) + 2
    index = math.ceil((bits + 2) / 3)
    if x.width < index + 4:
        more = index + 4 - x.width
        x = circuit.wire("shift", (x,), x.width + more, x.fraction + more, -more)
    top = x.width - 2  # the highest bit of a positive number
    most = max(top + 1 - math.floor(math.ldexp(least, x.fraction)).bit_length(), 0)
    zeros = circuit.wire("zeros", (x,), max(most.bit_length() + 1, 2), 0, most, top) if most else None
    m = _shifted(circuit, x, zeros, x.width, top, 0, most)
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
    if bits < all_bits:  # 1 / m = y + y e + y e² + …, of which y e² is below 2^-(all_bits + 2)
        near, inside = inside, all_bits + 2
        one = circuit.wire("constant", (), inside + 2, inside, 1 << inside)
        product = circuit.wire("mul", (m, result), inside + 2, inside, top + near - inside)
        e = circuit.wire("sub", (one, product), inside - bits + 2, inside, 0, 0, 0)
        correction = circuit.wire("mul", (result, e), inside - bits + 3, inside, near)
        result = circuit.wire("add", (result, correction), inside + 2, inside, inside - near, 0, 0)
    cut = inside - fraction - x.fraction + top
    return _shifted(circuit, result, zeros, width, fraction, cut, most)


def _shifted(
    circuit: Circuit, x: Wire, by: Wire | None, width: int, fraction: int, cut: int, most: int
) -> Wire:
    """x times 2^by, of at most `most` bits, without its lowest `cut` bits."""
    if by is None:
        return circuit.wire("shift", (x,), width, fraction, cut)
    return circuit.wire("shifted", (x, by), width, fraction, cut, most)


def root(circuit: Circuit, m: Wire, fraction: int) -> Wire:
    """The square root of m in [1, 4) with `fraction` bits and an error of `ROOT_ERROR`.

    A table of its first bits gives y near 1 / sqrt(m); with e = 1 - m y² the result is
    m y (1 + e / 2 + 3 e² / 8), in which 5 e³ / 16 is left out.
    """
    inside = fraction + 4
    index = math.ceil((inside + 2) / 3)
    if m.fraction < index + 2:
        more = index + 2 - m.fraction
        m = circuit.wire("shift", (m,), m.width + more, m.fraction + more, -more)
    entry = circuit.wire("field", (m,), index + 2, index, m.fraction - index, 0)
    numbers = tuple(
        # Entries below 1 are never read.
        round(math.ldexp(1 / math.sqrt(max(j + 0.5, 1 << index) / (1 << index)), index + 4))
        for j in range(4 << index)
    )
    y = circuit.wire("table", (entry,), index + 6, index + 4, numbers)
    near = circuit.wire("mul", (m, y), inside + 3, inside, m.fraction + index + 4 - inside)
    product = circuit.wire("mul", (near, y), inside + 2, inside, index + 4)
    one = circuit.wire("constant", (), inside + 2, inside, 1 << inside)
    small = inside - index + 3
    e = circuit.wire("sub", (one, product), small, inside, 0, 0, 0)
    square = circuit.wire("mul", (e, e), max(small - index + 3, 2), inside, inside)
    three = circuit.wire("scale", (square,), max(small - index + 3, 2), inside, 3, 2)  # 3 e² / 4
    series = circuit.wire("add", (e, three), small + 1, inside + 1, 0, 0, 0)  # in halves: e / 2 + 3 e² / 8
    correction = circuit.wire("mul", (near, series), small + 2, inside, inside + 1)
    return circuit.wire("add", (near, correction), fraction + 3, fraction, 0, 0, inside - fraction)


def root_scale(width: int, fraction: int) -> int:
    """k such that positive words of a format are below 4^k, and the highest two bits are above it."""
    return -((fraction + 3 - width) // 2)


def shifted_root(circuit: Circuit, x: Wire, fraction: int, width: int, least: float) -> Wire:
    """The square root of x of at least `least`, positive, with an error of `SHIFTED_ROOT_ERROR`.

    x is shifted by pairs of bits to m in [1, 4), and the root of m back by half as many.
    """
    if (x.width - 3 - x.fraction) % 2:
        x = circuit.wire("shift", (x,), x.width + 1, x.fraction, 0)
    top = x.width - 2
    scale = (top - 1 - x.fraction) // 2
    most = max(top + 1 - math.floor(math.ldexp(least, x.fraction)).bit_length(), 0) // 2
    if most == 0:
        y = root(circuit, _shifted(circuit, x, None, x.width, top - 1, 0, 0), fraction + scale + 2)
        return _shifted(circuit, y, None, width, fraction, 2, 0)
    pairs = circuit.wire("pairs", (x,), max(most.bit_length() + 1, 2), 0, most, top)
    twice = circuit.wire("shift", (pairs,), pairs.width + 1, 0, -1)
    m = circuit.wire("shifted", (x, twice), x.width, top - 1, 0, 2 * most)
    y = root(circuit, m, fraction + scale + 2)
    limit = circuit.wire("constant", (), pairs.width, 0, most)
    back = circuit.wire("sub", (limit, pairs), pairs.width, 0, 0, 0, 0)
    return circuit.wire("shifted", (y, back), width, fraction, most + 2, most)


def _product(circuit: Circuit, a: Wire, b: Wire, fraction: int) -> Wire:
    cut = a.fraction + b.fraction - fraction
    return circuit.wire("mul", (a, b), max(a.width + b.width - 1 - cut, 2), fraction, cut)
