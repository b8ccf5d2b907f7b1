# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The operations of scalar programs; every interpreter has a rule for each row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Op:
    """An operation: its number of operands and what it counts as."""

    name: str
    arity: int
    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    trigonometric: int = 0


INPUT = "input"
ADD, SUB, MUL, DIV, NEG = "add", "sub", "mul", "div", "neg"
SIN, COS = "sin", "cos"
EXP, TANH, LOG, ARCTAN2 = "exp", "tanh", "log", "arctan2"
RESCALE = "rescale"  # the power of two that brings x >= 0 to between two and four, if x is a normal number
FMA, FMS, FNMA = "fma", "fms", "fnma"  # a b + c, a b - c, c - a b
MIN, MAX, SQRT, ABS = "min", "max", "sqrt", "abs"
LESS = "less"  # one where a < b, else zero
SELECT = "choose"  # b where a is not zero, else c
TAINT = "taint"  # b, which is +0 or NaN, and NaN where a is not finite
LOWERED = frozenset({FMA, FMS, FNMA, TAINT})  # made by passes behind the trace, never recorded

OPS = {
    op.name: op
    for op in (
        Op(INPUT, 0),
        Op(ADD, 2, additions=1),
        Op(SUB, 2, additions=1),
        Op(MUL, 2, multiplications=1),
        Op(DIV, 2, divisions=1),
        Op(NEG, 1),
        Op(SIN, 1, trigonometric=1),
        Op(COS, 1, trigonometric=1),
        Op(EXP, 1, trigonometric=1),
        Op(TANH, 1, trigonometric=1),
        Op(LOG, 1, trigonometric=1),
        Op(ARCTAN2, 2, trigonometric=1),
        Op(RESCALE, 1),
        Op(FMA, 3, multiplications=1, additions=1),
        Op(FMS, 3, multiplications=1, additions=1),
        Op(FNMA, 3, multiplications=1, additions=1),
        Op(MIN, 2),
        Op(MAX, 2),
        Op(SQRT, 1, divisions=1),
        Op(ABS, 1),
        Op(LESS, 2),
        Op(SELECT, 3),
        Op(TAINT, 2),
    )
}
