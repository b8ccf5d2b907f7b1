# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What each operation is as steps of an arithmetic; sine and cosine come in pairs, from `turns`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from . import analytic
from .sincos import rescale

RULES: dict[str, Callable[..., Any]] = {
    ops.ADD: lambda w, a, b: w.binary("fadd", a, b),
    ops.SUB: lambda w, a, b: w.binary("fsub", a, b),
    ops.MUL: lambda w, a, b: w.binary("fmul", a, b),
    ops.DIV: lambda w, a, b: w.binary("fdiv", a, b),
    ops.NEG: lambda w, a: w.neg(a),
    ops.FMA: lambda w, a, b, c: w.multiply_add(a, b, c),
    ops.FMS: lambda w, a, b, c: w.multiply_add(a, b, w.neg(c)),
    ops.FNMA: lambda w, a, b, c: w.multiply_add(w.neg(a), b, c),
    ops.EXP: analytic.exp,
    ops.TANH: analytic.tanh,
    ops.LOG: analytic.log,
    ops.ARCTAN2: analytic.arctan2,
    ops.MIN: analytic.minimum,
    ops.MAX: analytic.maximum,
    ops.SQRT: lambda w, a: w.intrinsic("sqrt", a),
    ops.RESCALE: rescale,
    ops.ABS: lambda w, a: w.intrinsic("fabs", a),
    ops.LESS: lambda w, a, b: w.where("olt", a, b, 1.0, 0.0),
    ops.TAINT: lambda w, a, b: w.multiply_add(a, 0.0, b),
    ops.SELECT: lambda w, mask, a, b: w.where("une", mask, 0.0, a, b),
}
