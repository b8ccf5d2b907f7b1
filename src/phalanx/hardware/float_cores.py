# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Arithmetic of 32-bit floating point (IEEE 754 binary32) as pipelined modules, and what they compute.

Results are rounded to the nearest, ties to even. Subnormal numbers are zero, as operands and as results, with
their sign; a result is subnormal if it is below 2^-126 after rounding. All NaN are 0x7fc00000.
Words are the bits of a number as an integer of two's complement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

NAN = 0x7FC00000
_TINY = 2.0**-126


@dataclass(frozen=True)
class Core:
    """A pipelined module of two operands `a` and `b`, or of one, and the bits of its registers."""

    name: str
    operands: tuple[int, ...]
    width: int
    body: str

    @property
    def registers(self) -> int:
        """Bits of registers, that of the result included."""
        bits = self.width
        for top, names in re.findall(r"^ *reg (?:\[(\d+):0\] )?([^;]+);", self.body, re.MULTILINE):
            bits += (int(top or 0) + 1) * len(names.split(","))
        return bits

    def text(self, prefix: str) -> str:
        """The Verilog of the module."""
        inputs = [f"input wire [{w - 1}:0] {n}," for w, n in zip(self.operands, "ab", strict=False)]
        return "\n".join(
            [
                f"module {prefix}_{self.name} (",
                "  input wire clk, input wire ce,",
                *(f"  {line}" for line in inputs),
                f"  output reg [{self.width - 1}:0] y",
                ");",
                self.body.strip("\n"),
                "endmodule",
            ]
        )


# ------------------------------------------------------------------- words and numbers


def words_of(numbers: Any) -> Any:
    """Real numbers, rounded to float32, as words; subnormal ones as zero."""
    x = np.asarray(numbers)
    y = x.astype(np.float32)
    size = np.abs(x.astype(np.float64))
    # A result whose exponent had no limit would be rounded up to the smallest normal number from here on.
    least = np.copysign(np.float32(_TINY), y)
    y = np.where(
        size < _TINY, np.where(size >= _TINY * (1 - 2.0**-25), least, np.copysign(np.float32(0), y)), y
    )
    bits = y.astype(np.float32).view(np.int32).astype(np.int64)
    return np.where(np.isnan(x), NAN, bits)


def numbers_of(words: Any) -> Any:
    """Words as numbers in float32; subnormal ones as zero."""
    x = np.asarray(words).astype(np.int32).view(np.float32)
    return np.where(np.abs(x) < np.float32(_TINY), np.copysign(np.float32(0), x), x)


def added(a: Any, b: Any) -> Any:
    """The words of a sum."""
    with np.errstate(all="ignore"):
        return words_of(numbers_of(a) + numbers_of(b))  # sums below 2^-125 are exact


def multiplied(a: Any, b: Any) -> Any:
    """The words of a product, which is exact in double precision."""
    with np.errstate(all="ignore"):
        return words_of(numbers_of(a).astype(np.float64) * numbers_of(b).astype(np.float64))


def negated(a: Any) -> Any:
    """The words with the other sign."""
    return np.asarray(a) ^ np.int64(-(1 << 31))


def as_integer(a: Any, width: int, fraction: int) -> Any:
    """Numbers as integers in units of 2^-fraction, cut towards zero; those that do not fit as zero."""
    x = numbers_of(a).astype(np.float64)
    fits = ~out_of(a, width - 1 - fraction)
    return np.trunc(np.ldexp(np.where(fits, x, 0.0), fraction)).astype(np.int64)


def out_of(a: Any, digits: int) -> Any:
    """Whether numbers are 2^digits or more in magnitude, infinite or NaN."""
    return (np.asarray(a) >> 23) % 256 >= 127 + digits


def reciprocal_words(y: Any, x: Any) -> Any:
    """1 / x from the words of y, the reciprocal of the mantissa of x, and those of x."""
    exponent, sign, nan = (x >> 0) % 256, (x >> 8) % 2, (x >> 9) % 2
    power = (y >> 23) % 256 + 127 - exponent
    value = np.where(power <= 0, 0, (power << 23) | (y % (1 << 23)))
    value = np.where(exponent == 0, 255 << 23, np.where(exponent == 255, 0, value))
    return np.where(nan == 1, NAN, _signed(value, sign))


def root_words(y: Any, x: Any) -> Any:
    """The square root of x from the words of y, that of its mantissa, and from those of x."""
    exponent, sign, nan = (x >> 0) % 256, (x >> 8) % 2, (x >> 9) % 2
    power = (y >> 23) % 256 + ((exponent + 127) >> 1) - 127
    value = np.where(exponent == 255, 255 << 23, (power << 23) | (y % (1 << 23)))
    value = np.where((nan == 1) | ((sign == 1) & (exponent != 0)), NAN, value)
    return np.where(exponent == 0, _signed(0 * value, sign), value)


def _signed(value: Any, sign: Any) -> Any:
    return value - (sign << 31)


# ------------------------------------------------------------------- modules


def leading_zeros(name: str, bits: int, width: int) -> str:
    """An expression for the zeros before the highest one of a signal."""
    cases = "".join(f"{name}[{bits - 1 - k}] ? {width}'d{k} : " for k in range(bits))
    return f"{cases}{width}'d{bits}"


_ADD = f"""
  wire swap = b[30:0] > a[30:0];  // the larger magnitude first
  wire [31:0] greater = swap ? b : a;
  wire [31:0] lesser = swap ? a : b;
  wire a_infinite = &a[30:23];
  wire b_infinite = &b[30:23];
  reg sign1, minus1, infinite1, nan1;
  reg [7:0] exponent1, shift1;
  reg [23:0] greater1, lesser1;
  wire [26:0] wide = {{lesser1, 3'd0}};
  wire [26:0] moved = wide >> shift1;
  wire lost = |(wide & ~(27'h7ffffff << shift1));
  reg sign2, minus2, infinite2, nan2;
  reg [7:0] exponent2;
  reg [23:0] greater2;
  reg [26:0] lesser2;
  reg sign3, infinite3, nan3;
  reg [7:0] exponent3;
  reg [27:0] sum3;
  wire [4:0] zeros = {leading_zeros("sum3", 28, 5)};
  reg sign4, infinite4, nan4, zero4;
  reg [9:0] exponent4;
  reg [27:0] mantissa4;
  wire up = mantissa4[3] & (mantissa4[4] | (|mantissa4[2:0]));
  wire [24:0] rounded = {{1'b0, mantissa4[27:4]}} + {{24'd0, up}};
  wire [9:0] exponent = exponent4 + {{9'd0, rounded[24]}};
  wire none = zero4 | exponent[9] | (exponent == 10'd0);
  wire infinite = infinite4 | (exponent >= 10'd255);
  wire unused = &{{1'b0, rounded[23], lesser[31]}};
  always @(posedge clk)
    if (ce) begin
      sign1 <= greater[31];
      minus1 <= a[31] ^ b[31];
      infinite1 <= a_infinite | b_infinite;
      nan1 <= (a_infinite & (|a[22:0])) | (b_infinite & (|b[22:0]))
        | (a_infinite & b_infinite & (a[31] ^ b[31]));
      exponent1 <= greater[30:23];
      shift1 <= greater[30:23] - lesser[30:23];
      greater1 <= (greater[30:23] == 8'd0) ? 24'd0 : {{1'b1, greater[22:0]}};
      lesser1 <= (lesser[30:23] == 8'd0) ? 24'd0 : {{1'b1, lesser[22:0]}};
      sign2 <= sign1;
      minus2 <= minus1;
      infinite2 <= infinite1;
      nan2 <= nan1;
      exponent2 <= exponent1;
      greater2 <= greater1;
      lesser2 <= {{moved[26:1], moved[0] | lost}};
      sign3 <= sign2 & ~(minus2 & ({{greater2, 3'd0}} == lesser2));
      infinite3 <= infinite2;
      nan3 <= nan2;
      exponent3 <= exponent2;
      sum3 <= minus2 ? {{1'b0, greater2, 3'd0}} - {{1'b0, lesser2}}
        : {{1'b0, greater2, 3'd0}} + {{1'b0, lesser2}};
      sign4 <= sign3;
      infinite4 <= infinite3;
      nan4 <= nan3;
      zero4 <= sum3 == 28'd0;
      exponent4 <= {{2'd0, exponent3}} + 10'd1 - {{5'd0, zeros}};
      mantissa4 <= sum3 << zeros;
      y <= nan4 ? 32'h{NAN:x} : infinite4 ? {{sign4, 8'hff, 23'd0}} : none ? {{sign4, 31'd0}}
        : infinite ? {{sign4, 8'hff, 23'd0}} : {{sign4, exponent[7:0], rounded[22:0]}};
    end
"""

_MULTIPLY = f"""
  wire a_special = &a[30:23];
  wire b_special = &b[30:23];
  wire a_zero = a[30:23] == 8'd0;
  wire b_zero = b[30:23] == 8'd0;
  reg sign1, zero1, infinite1, nan1, sign2, zero2, infinite2, nan2, sign3, zero3, infinite3, nan3;
  reg [9:0] exponent1, exponent2, exponent3;
  reg [47:0] product1, product2;
  reg [23:0] mantissa3;
  reg guard3, sticky3;
  wire up = guard3 & (mantissa3[0] | sticky3);
  wire [24:0] rounded = {{1'b0, mantissa3}} + {{24'd0, up}};
  wire [9:0] exponent = exponent3 + {{9'd0, rounded[24]}};
  wire none = zero3 | exponent[9] | (exponent == 10'd0);
  wire unused = rounded[23];
  always @(posedge clk)
    if (ce) begin
      sign1 <= a[31] ^ b[31];
      zero1 <= a_zero | b_zero;
      infinite1 <= a_special | b_special;
      nan1 <= (a_special & (|a[22:0])) | (b_special & (|b[22:0]))
        | (a_special & b_zero) | (b_special & a_zero);
      exponent1 <= {{2'd0, a[30:23]}} + {{2'd0, b[30:23]}} - 10'd127;
      product1 <= {{24'd0, 1'b1, a[22:0]}} * {{24'd0, 1'b1, b[22:0]}};
      sign2 <= sign1;
      zero2 <= zero1;
      infinite2 <= infinite1;
      nan2 <= nan1;
      exponent2 <= exponent1;
      product2 <= product1;
      sign3 <= sign2;
      zero3 <= zero2;
      infinite3 <= infinite2;
      nan3 <= nan2;
      exponent3 <= exponent2 + {{9'd0, product2[47]}};
      mantissa3 <= product2[47] ? product2[47:24] : product2[46:23];
      guard3 <= product2[47] ? product2[23] : product2[22];
      sticky3 <= (|product2[21:0]) | (product2[47] & product2[22]);
      y <= nan3 ? 32'h{NAN:x} : infinite3 ? {{sign3, 8'hff, 23'd0}} : none ? {{sign3, 31'd0}}
        : (exponent >= 10'd255) ? {{sign3, 8'hff, 23'd0}} : {{sign3, exponent[7:0], rounded[22:0]}};
    end
"""

_RECIPROCAL = f"""
  // a: the reciprocal of the mantissa; b: whether it is NaN, sign and exponent of the argument
  wire [9:0] exponent = {{2'd0, a[30:23]}} + 10'd127 - {{2'd0, b[7:0]}};
  wire unused = &{{1'b0, a[31], exponent[8]}};
  always @(posedge clk)
    if (ce)
      y <= b[9] ? 32'h{NAN:x} : (b[7:0] == 8'd0) ? {{b[8], 8'hff, 23'd0}}
        : ((&b[7:0]) | exponent[9] | (exponent == 10'd0)) ? {{b[8], 31'd0}}
        : {{b[8], exponent[7:0], a[22:0]}};
"""

_ROOT = f"""
  // a: the root of the mantissa; b: whether it is NaN, sign and exponent of the argument
  wire [8:0] twice = {{1'b0, b[7:0]}} + 9'd127;
  wire [7:0] exponent = a[30:23] + twice[8:1] - 8'd127;
  wire unused = &{{1'b0, a[31], twice[0]}};
  always @(posedge clk)
    if (ce)
      y <= (b[7:0] == 8'd0) ? (b[9] ? 32'h{NAN:x} : {{b[8], 31'd0}}) : (b[9] | b[8]) ? 32'h{NAN:x}
        : (&b[7:0]) ? 32'h7f800000 : {{1'b0, exponent, a[22:0]}};
"""

ADD = Core("float_add", (32, 32), 32, _ADD)
MULTIPLY = Core("float_multiply", (32, 32), 32, _MULTIPLY)
RECIPROCAL = Core("float_reciprocal", (32, 10), 32, _RECIPROCAL)
ROOT = Core("float_root", (32, 10), 32, _ROOT)


@cache
def to_integer(width: int, fraction: int) -> Core:
    """A number as an integer of `width` bits in units of 2^-fraction, cut towards zero: two clocks."""
    bits = width - 1
    most = 126 + bits - fraction  # the largest exponent that fits
    body = f"""
  reg sign1;
  reg [7:0] shift1;
  reg [{bits - 1}:0] size1;
  wire [{bits - 1}:0] size = size1 >> shift1;
  always @(posedge clk)
    if (ce) begin
      sign1 <= a[31];
      shift1 <= 8'd{most} - a[30:23];
      size1 <= (a[30:23] == 8'd0) ? {bits}'d0 : {{1'b1, a[22:0], {bits - 24}'d0}};
      y <= sign1 ? {width}'d0 - {{1'b0, size}} : {{1'b0, size}};
    end
"""
    return Core(f"float_to_integer_{width}_{fraction}", (32,), width, body)


@cache
def from_integer(width: int, fraction: int) -> Core:
    """An integer in units of 2^-fraction as a number, rounded to the nearest; NaN if `b`: three clocks."""
    digits = width.bit_length()
    total = max(width, 27)
    padded = f"{{size1, {total - width}'d0}}" if total > width else "size1"
    low = total - 25
    body = f"""
  reg sign1, bad1, sign2, bad2, zero2;
  reg [{width - 1}:0] size1;
  wire [{digits - 1}:0] zeros = {leading_zeros("size1", width, digits)};
  wire [{total - 1}:0] wide = {padded};
  reg [{total - 1}:0] mantissa2;
  reg [7:0] exponent2;
  wire up = mantissa2[{low}] & (mantissa2[{low + 1}] | (|mantissa2[{low - 1}:0]));
  wire [24:0] rounded = {{1'b0, mantissa2[{total - 1}:{low + 1}]}} + {{24'd0, up}};
  wire [7:0] exponent = exponent2 + {{7'd0, rounded[24]}};
  wire unused = rounded[23];
  always @(posedge clk)
    if (ce) begin
      sign1 <= a[{width - 1}];
      bad1 <= b;
      size1 <= a[{width - 1}] ? {width}'d0 - a : a;
      sign2 <= sign1;
      bad2 <= bad1;
      zero2 <= size1 == {width}'d0;
      mantissa2 <= wide << zeros;
      exponent2 <= 8'd{127 + width - 1 - fraction} - {{{8 - digits}'d0, zeros}};
      y <= bad2 ? 32'h{NAN:x} : zero2 ? 32'd0 : {{sign2, exponent, rounded[22:0]}};
    end
"""
    return Core(f"float_from_integer_{width}_{fraction}", (width, 1), 32, body)
