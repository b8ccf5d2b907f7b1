# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The table of operations on real numbers: a row defines one, and all visitors read it.

A row has no defaults for what an operation means: one with a gap raises a `TypeError` when it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ..errors import PhalanxError
from ..robot.joints import rescale
from . import elementary, intervals

Rule = Callable[..., Any]

INPUT = "input"
ADD, SUB, MUL, DIV, NEG = "add", "sub", "mul", "div", "neg"
SIN, COS = "sin", "cos"
EXP, TANH, LOG, ARCTAN2 = "exp", "tanh", "log", "arctan2"
RESCALE = "rescale"  # the power of two that brings x >= 0 to between two and four, if x is a normal number
FMA, FMS, FNMA = "fma", "fms", "fnma"  # a b + c, a b - c, c - a b
MIN, MAX, SQRT, ABS, FLOOR = "min", "max", "sqrt", "abs", "floor"
LESS = "less"  # one where a < b, else zero
SELECT = "choose"  # b where a is not zero, else c
TAINT = "taint"  # b, which is +0 or NaN, and NaN where a is not finite
CONSTANT = "constant"  # the derivative of a piecewise constant operation
EVERY = 3  # operands at most


def _no_derivative(y: Any, *args: Any) -> NoReturn:
    raise PhalanxError(f"derivatives: there is no rule for the operation {y.op}.")


def _not_recorded(graph: Any, *args: Any) -> NoReturn:
    raise PhalanxError("loops over bodies: passes make multiply-adds and taints, equations record neither.")


@dataclass(frozen=True, kw_only=True)
class Op:
    """An operation.

    `numpy` is its meaning on arrays. `steps(w, …)` writes it in any arithmetic (`elementary.py`); sines and
    cosines have none, since visitors take both together. `derivative(y, …)` gives the partial derivatives of
    y with respect to its operands, or is `CONSTANT`; of one that `selects`, it gives (mask, operand where the
    mask is not zero, the other one), so that derivatives are selected, never multiplied by a mask.
    `interval(…)` is its meaning on intervals. `record(graph, …)` adds it to a graph, folded. `parameters` are
    those of its function in languages that call one. The first `reached_by` operands make the result NaN or
    infinite if they are.
    """

    name: str
    arity: int
    numpy: Rule
    steps: Rule | None
    derivative: Rule | str
    interval: Rule
    record: Rule
    reached_by: int = 0
    selects: bool = False
    is_lowered: bool = False  # made by passes after tracing, never recorded
    parameters: tuple[str, ...] = ()
    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    trigonometric: int = 0

    @property
    def counts(self) -> tuple[int, int, int, int]:
        return self.multiplications, self.additions, self.divisions, self.trigonometric


# ------------------------------------------------------------------- meanings and derivatives

# Where one-sided derivatives differ, the derivative is: of |x| and of sqrt(x) zero at x = 0, of two
# equal numbers that of the first one.


def _minimum(a: Any, b: Any) -> Any:
    return np.where((a < b) | np.isnan(a) | ((a == b) & np.signbit(a)), a, b)


def _maximum(a: Any, b: Any) -> Any:
    return np.where((a > b) | np.isnan(a) | ((a == b) & np.signbit(b)), a, b)


def _less(a: Any, b: Any) -> Any:
    kind = np.result_type(a, b).type
    return np.where(a < b, kind(1), kind(0))


def _of_angle(y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    scale = 1.0 / (a * a + b * b)
    return b * scale, -(a * scale)


def _multiply_add(name: str, interval: Rule, numpy: Rule, steps: Rule) -> Op:
    return Op(
        name=name,
        arity=3,
        numpy=numpy,
        steps=steps,
        derivative=_no_derivative,
        interval=interval,
        record=_not_recorded,
        reached_by=EVERY,
        is_lowered=True,
        multiplications=1,
        additions=1,
    )


# ------------------------------------------------------------------- the table

OPS = {
    op.name: op
    for op in (
        Op(
            name=ADD,
            arity=2,
            additions=1,
            numpy=np.add,
            steps=lambda w, a, b: w.binary("fadd", a, b),
            derivative=lambda y, a, b: (1.0, 1.0),
            interval=intervals.add,
            record=lambda graph, a, b: a + b,
            reached_by=EVERY,
        ),
        Op(
            name=SUB,
            arity=2,
            additions=1,
            numpy=np.subtract,
            steps=lambda w, a, b: w.binary("fsub", a, b),
            derivative=lambda y, a, b: (1.0, -1.0),
            interval=intervals.sub,
            record=lambda graph, a, b: a - b,
            reached_by=EVERY,
        ),
        Op(
            name=MUL,
            arity=2,
            multiplications=1,
            numpy=np.multiply,
            steps=lambda w, a, b: w.binary("fmul", a, b),
            derivative=lambda y, a, b: (b, a),
            interval=intervals.mul,
            record=lambda graph, a, b: a * b,
            reached_by=EVERY,
        ),
        Op(
            name=DIV,
            arity=2,
            divisions=1,
            numpy=np.divide,
            steps=lambda w, a, b: w.binary("fdiv", a, b),
            derivative=lambda y, a, b: (1.0 / b, -(y * (1.0 / b))),
            interval=intervals.div,
            record=lambda graph, a, b: a / b,
            reached_by=1,  # 1 / inf is zero
        ),
        Op(
            name=NEG,
            arity=1,
            numpy=np.negative,
            steps=lambda w, a: w.neg(a),
            derivative=lambda y, a: (-1.0,),
            interval=intervals.neg,
            record=lambda graph, a: graph.neg(a),
            reached_by=EVERY,
        ),
        Op(
            name=SIN,
            arity=1,
            trigonometric=1,
            numpy=np.sin,
            steps=None,
            derivative=lambda y, a: (a.cos(),),
            interval=intervals.sin,
            record=lambda graph, a: graph.sin(a),
            reached_by=EVERY,
        ),
        Op(
            name=COS,
            arity=1,
            trigonometric=1,
            numpy=np.cos,
            steps=None,
            derivative=lambda y, a: (-a.sin(),),
            interval=intervals.cos,
            record=lambda graph, a: graph.cos(a),
            reached_by=EVERY,
        ),
        Op(
            name=EXP,
            arity=1,
            trigonometric=1,
            numpy=np.exp,
            steps=elementary.exp,
            parameters=("x",),
            derivative=lambda y, a: (y,),
            interval=intervals.monotone(np.exp),
            record=lambda graph, a: graph.exp(a),
        ),
        Op(
            name=TANH,
            arity=1,
            trigonometric=1,
            numpy=np.tanh,
            steps=elementary.tanh,
            parameters=("x",),
            derivative=lambda y, a: (1.0 - y * y,),
            interval=intervals.monotone(np.tanh),
            record=lambda graph, a: graph.tanh(a),
        ),
        Op(
            name=LOG,
            arity=1,
            trigonometric=1,
            numpy=np.log,
            steps=elementary.log,
            parameters=("x",),
            derivative=lambda y, a: (1.0 / a,),
            interval=intervals.log,
            record=lambda graph, a: graph.log(a),
        ),
        Op(
            name=ARCTAN2,
            arity=2,
            trigonometric=1,
            numpy=np.arctan2,
            steps=elementary.arctan2,
            parameters=("y", "x"),
            derivative=_of_angle,
            interval=intervals.arctan2,
            record=lambda graph, a, b: graph.arctan2(a, b),
        ),
        Op(
            name=RESCALE,
            arity=1,
            numpy=rescale,
            steps=elementary.rescale,
            parameters=("x",),
            derivative=CONSTANT,  # results scaled by it are continuous
            interval=intervals.rescale,
            record=lambda graph, a: graph.rescale(a),
        ),
        Op(
            name=SQRT,
            arity=1,
            divisions=1,
            numpy=np.sqrt,
            steps=lambda w, a: w.intrinsic("sqrt", a),
            derivative=lambda y, a: (y.graph.choose(y.graph.less(0.0, y), 0.5 / y, 0.0),),
            interval=intervals.sqrt,
            record=lambda graph, a: graph.sqrt(a),
            reached_by=EVERY,
        ),
        Op(
            name=ABS,
            arity=1,
            numpy=np.abs,
            steps=lambda w, a: w.intrinsic("fabs", a),
            derivative=lambda y, a: (y.graph.less(0.0, a) - a.less(0.0),),
            interval=intervals.absolute,
            record=lambda graph, a: graph.abs(a),
            reached_by=EVERY,
        ),
        Op(
            name=FLOOR,
            arity=1,
            numpy=np.floor,
            steps=elementary.floor,
            parameters=("x",),
            derivative=CONSTANT,
            interval=intervals.floor,
            record=lambda graph, a: graph.floor(a),
            reached_by=EVERY,
        ),
        Op(
            name=MIN,
            arity=2,
            numpy=_minimum,
            steps=elementary.minimum,
            derivative=lambda y, a, b: (y.graph.less(b, a), b, a),
            selects=True,
            interval=intervals.minimum,
            record=lambda graph, a, b: graph.minimum(a, b),
        ),
        Op(
            name=MAX,
            arity=2,
            numpy=_maximum,
            steps=elementary.maximum,
            derivative=lambda y, a, b: (y.graph.less(a, b), b, a),
            selects=True,
            interval=intervals.maximum,
            record=lambda graph, a, b: graph.maximum(a, b),
        ),
        Op(
            name=LESS,
            arity=2,
            numpy=_less,
            steps=lambda w, a, b: w.where("olt", a, b, 1.0, 0.0),
            derivative=CONSTANT,
            interval=intervals.less,
            record=lambda graph, a, b: graph.less(a, b),
        ),
        Op(
            name=SELECT,
            arity=3,
            numpy=lambda mask, a, b: np.where(mask != 0, a, b),
            steps=lambda w, mask, a, b: w.where("une", mask, 0.0, a, b),
            derivative=lambda y, mask, a, b: (mask, a, b),
            selects=True,
            interval=intervals.chosen,
            record=lambda graph, mask, a, b: graph.choose(mask, a, b),
        ),
        _multiply_add(
            FMA,
            interval=lambda a, b, c: intervals.add(intervals.mul(a, b), c),
            numpy=lambda a, b, c: a * b + c,
            steps=lambda w, a, b, c: w.multiply_add(a, b, c),
        ),
        _multiply_add(
            FMS,
            interval=lambda a, b, c: intervals.sub(intervals.mul(a, b), c),
            numpy=lambda a, b, c: a * b - c,
            steps=lambda w, a, b, c: w.multiply_add(a, b, w.neg(c)),
        ),
        _multiply_add(
            FNMA,
            interval=lambda a, b, c: intervals.sub(c, intervals.mul(a, b)),
            numpy=lambda a, b, c: c - a * b,
            steps=lambda w, a, b, c: w.multiply_add(w.neg(a), b, c),
        ),
        Op(
            name=TAINT,
            arity=2,
            numpy=lambda a, b: a * 0.0 + b,
            steps=lambda w, a, b: w.multiply_add(a, 0.0, b),
            derivative=_no_derivative,
            interval=lambda taint, b: b,
            record=_not_recorded,
            is_lowered=True,
        ),
    )
}
