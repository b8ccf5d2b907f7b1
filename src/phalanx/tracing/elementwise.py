# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""NumPy's functions of numbers on arrays of recording scalars, elementwise.

Rules act on arrays of objects, each a node or a float. Masks are one or zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..program.graph import Graph
from ..program.ir import Scalar
from ..program.ops import LESS, SELECT
from .refusals import refuse

Rule = Callable[..., Any]
MOST_POWER = 64

_CONSTANTS = Graph()  # folds where no operand is a node


def objects(value: Any) -> np.ndarray:
    """Numbers, nodes or arrays of them as an array of nodes and floats."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return value
    if isinstance(value, Scalar):
        made = np.empty((), dtype=object)
        made[()] = value
        return made
    return np.asarray(np.asarray(value, dtype=float), dtype=object)


def each(rule: Rule, *arrays: Any) -> np.ndarray:
    """A function of a graph and scalars on every element of arrays."""
    spread = np.broadcast_arrays(*map(objects, arrays))
    made = np.empty(spread[0].shape, dtype=object)
    flat = made.ravel()
    for k, scalars in enumerate(zip(*(a.ravel() for a in spread), strict=True)):
        graph = next((x.graph for x in scalars if isinstance(x, Scalar)), _CONSTANTS)
        flat[k] = rule(graph, *scalars)
    return flat.reshape(made.shape)


def _each(rule: Rule) -> Rule:
    return lambda *arrays: each(rule, *arrays)


# ------------------------------------------------------------------- scalars


def known(*scalars: Any) -> bool:
    return all(not isinstance(x, Scalar) for x in scalars)


def _arithmetic(plain: Rule, recorded: Rule) -> Rule:
    """An operation that Python does for numbers, and the graph for others."""

    def rule(graph: Graph, *scalars: Any) -> Any:
        if not known(*scalars):
            return recorded(graph, *scalars)
        with np.errstate(all="ignore"):
            return float(plain(*map(np.float64, scalars)))

    return _each(rule)


def _divided(graph: Graph, a: Any, b: Any) -> Any:
    if not isinstance(b, Scalar) and float(b) == 0.0:
        refuse("divides a traced value by zero", "check the constant in the denominator")
    return graph.quotient(a, b)


def integer_power(graph: Graph, a: Any, n: int) -> Any:
    """a multiplied n times, by squares."""
    made: Any = None
    while n:
        if n & 1:
            made = a if made is None else graph.mul(made, a)
        n >>= 1
        if n:
            a = graph.mul(a, a)
    return 1.0 if made is None else made


def _power(graph: Graph, a: Any, b: Any) -> Any:
    if not isinstance(b, Scalar):
        n = float(b)
        if n.is_integer() and abs(n) <= MOST_POWER:
            power = integer_power(graph, a, int(abs(n)))
            return power if n >= 0.0 else graph.div(1.0, power)
        if n.is_integer():
            refuse(
                f"takes the power {n:.0f}", f"expected whole powers between -{MOST_POWER} and {MOST_POWER}"
            )
        if n == 0.5:
            return graph.sqrt(a)
    elif not isinstance(a, Scalar) and not float(a) > 0.0:
        refuse(f"takes a traced power of {float(a)}", "expected a positive base")
    logarithm = graph.log(a)
    return graph.exp(
        graph.mul(logarithm, b) if isinstance(logarithm, Scalar) or isinstance(b, Scalar) else logarithm * b
    )


def _not(graph: Graph, mask: Any) -> Any:
    if isinstance(mask, Scalar) and mask.op is SELECT and mask.args[1:] == (0.0, 1.0):
        return mask.args[0]
    return graph.choose(mask, 0.0, 1.0)


def _chosen(graph: Graph, mask: Any, a: Any, b: Any) -> Any:
    if isinstance(mask, Scalar) and mask.op is SELECT and mask.args[1:] == (0.0, 1.0):
        mask, a, b = mask.args[0], b, a
    return graph.choose(mask, a, b)


def _and(graph: Graph, a: Any, b: Any) -> Any:
    return graph.choose(a, b, 0.0)


def _or(graph: Graph, a: Any, b: Any) -> Any:
    return graph.choose(a, 1.0, b)


def _unequal(graph: Graph, a: Any, b: Any) -> Any:
    return _or(graph, graph.less(a, b), graph.less(b, a))


def _sign(graph: Graph, x: Any) -> Any:
    if not isinstance(x, Scalar):
        return float(np.sign(x))
    return graph.sub(graph.less(0.0, x), graph.less(x, 0.0))


less = _each(lambda g, a, b: g.less(a, b))
greater = _each(lambda g, a, b: g.less(b, a))
is_not = _each(_not)
unequal = _each(_unequal)
both = _each(_and)
either = _each(_or)
minimum = _each(lambda g, a, b: g.minimum(a, b))
maximum = _each(lambda g, a, b: g.maximum(a, b))
add = _arithmetic(np.add, Graph.add)
subtract = _arithmetic(np.subtract, Graph.sub)
multiply = _arithmetic(np.multiply, Graph.mul)
divide = _arithmetic(np.divide, _divided)
negative = _arithmetic(np.negative, Graph.neg)
sqrt = _each(lambda g, x: g.sqrt(x))
exp = _each(lambda g, x: g.exp(x))
log = _each(lambda g, x: g.log(x))
sin = _each(lambda g, x: g.sin(x))
cos = _each(lambda g, x: g.cos(x))
tanh = _each(lambda g, x: g.tanh(x))
floor = _each(lambda g, x: g.floor(x))
absolute = _each(lambda g, x: g.abs(x))
arctan2 = _each(lambda g, a, b: g.arctan2(a, b))
chosen = _each(_chosen)


def floor_divide(a: Any, b: Any) -> Any:
    """The largest integer at most a / b, corrected where the floor of the rounded quotient is one more."""
    quotient = floor(divide(a, b))
    return subtract(quotient, _is_beyond(a, b, quotient))


def remainder(a: Any, b: Any) -> Any:
    """a less a multiple of b, with the sign of b."""
    quotient = floor(divide(a, b))
    rest = subtract(a, multiply(quotient, b))
    return chosen(_is_beyond(a, b, quotient), add(rest, b), rest)


def _is_beyond(a: Any, b: Any, quotient: Any) -> Any:
    """One where rounding made a quotient too large: the rest has not the sign of b. Else zero."""
    rest = subtract(a, multiply(quotient, b))
    return less(multiply(rest, chosen(less(b, 0.0), -1.0, 1.0)), 0.0)


def rint(x: Any) -> Any:
    """The whole number next to x, of two the even one; x + 0.5 may be rounded."""
    made = floor(add(x, 0.5))
    is_beyond = greater(subtract(made, x), 0.5)
    is_half = multiply(is_not(unequal(subtract(made, x), 0.5)), unequal(remainder(made, 2.0), 0.0))
    return subtract(made, maximum(is_beyond, is_half))


def trunc(x: Any) -> Any:
    return chosen(less(x, 0.0), negative(floor(negative(x))), floor(x))


def fmod(a: Any, b: Any) -> Any:
    """a less a multiple of b, with the sign of a."""
    rest = remainder(absolute(a), absolute(b))
    return chosen(less(a, 0.0), negative(rest), rest)


def arcsinh(x: Any) -> Any:
    size = absolute(x)
    square = multiply(x, x)
    grown = log1p(add(size, divide(square, add(1.0, sqrt(add(1.0, square))))))
    return chosen(less(x, 0.0), negative(grown), grown)


def cosh(x: Any) -> Any:
    grown = exp(absolute(x))
    return multiply(0.5, add(grown, divide(1.0, grown)))


def log1p(x: Any) -> Any:
    """The logarithm of 1 + x: that of the rounded sum, and what rounding took from x."""
    total = add(1.0, x)
    lost = subtract(x, subtract(total, 1.0))
    return add(log(total), divide(lost, chosen(unequal(total, 0.0), total, 1.0)))


def logaddexp(a: Any, b: Any) -> Any:
    """The logarithm of exp(a) + exp(b); neither overflows."""
    return add(maximum(a, b), log1p(exp(negative(absolute(subtract(a, b))))))


def matmul(a: Any, b: Any) -> Any:
    return np.matmul(objects(a), objects(b))


def cofunction(x: Any) -> Any:
    """The cosine of an angle whose sine is x, or the other way round."""
    return sqrt(maximum(multiply(subtract(1.0, x), add(1.0, x)), 0.0))


UFUNCS: dict[np.ufunc, Rule] = {
    np.add: add,
    np.subtract: subtract,
    np.multiply: multiply,
    np.divide: divide,
    np.negative: negative,
    np.positive: _each(lambda g, x: x),
    np.power: _arithmetic(np.power, _power),
    np.float_power: _arithmetic(np.float_power, _power),
    np.square: lambda x: multiply(x, x),
    np.reciprocal: lambda x: divide(1.0, x),
    np.floor: floor,
    np.ceil: lambda x: negative(floor(negative(x))),
    np.floor_divide: floor_divide,
    np.remainder: remainder,
    np.fmod: fmod,
    np.rint: rint,
    np.trunc: trunc,
    np.absolute: absolute,
    np.fabs: absolute,
    np.sign: _each(_sign),
    np.copysign: lambda a, b: chosen(less(b, 0.0), subtract(0.0, absolute(a)), absolute(a)),
    np.heaviside: lambda x, at: chosen(less(x, 0.0), 0.0, chosen(less(0.0, x), 1.0, at)),
    np.sqrt: sqrt,
    np.exp: exp,
    np.exp2: lambda x: exp(multiply(x, math.log(2.0))),
    np.expm1: lambda x: multiply(tanh(multiply(x, 0.5)), add(exp(x), 1.0)),
    np.log: log,
    np.log1p: log1p,
    np.logaddexp: logaddexp,
    np.log2: lambda x: multiply(log(x), 1.0 / math.log(2.0)),
    np.log10: lambda x: multiply(log(x), 1.0 / math.log(10.0)),
    np.sin: sin,
    np.cos: cos,
    np.tan: lambda x: divide(sin(x), cos(x)),
    np.sinh: lambda x: multiply(tanh(x), cosh(x)),
    np.cosh: cosh,
    np.tanh: tanh,
    np.arctan: lambda x: arctan2(x, 1.0),
    np.arctan2: arctan2,
    np.arcsin: lambda x: arctan2(x, cofunction(x)),
    np.arccos: lambda x: arctan2(cofunction(x), x),
    np.hypot: lambda a, b: sqrt(add(multiply(a, a), multiply(b, b))),
    np.deg2rad: lambda x: multiply(x, math.pi / 180.0),
    np.radians: lambda x: multiply(x, math.pi / 180.0),
    np.rad2deg: lambda x: multiply(x, 180.0 / math.pi),
    np.degrees: lambda x: multiply(x, 180.0 / math.pi),
    np.arcsinh: arcsinh,
    np.arccosh: lambda x: log(add(x, sqrt(multiply(subtract(x, 1.0), add(x, 1.0))))),
    np.arctanh: lambda x: multiply(0.5, subtract(log1p(x), log1p(negative(x)))),
    np.minimum: minimum,
    np.maximum: maximum,
    np.fmin: minimum,
    np.fmax: maximum,
    np.conjugate: _each(lambda g, x: x),
    np.matmul: matmul,
    np.vecdot: lambda a, b: np.sum(multiply(a, b), axis=-1),
    np.matvec: lambda a, x: np.matmul(objects(a), objects(x)[..., None])[..., 0],
    np.vecmat: lambda x, a: np.matmul(objects(x)[..., None, :], objects(a))[..., 0, :],
}
# Those that give masks. Beside NaN, a comparison that includes equality holds.
MASKS: dict[np.ufunc, Rule] = {
    np.less: less,
    np.greater: greater,
    np.less_equal: lambda a, b: is_not(greater(a, b)),
    np.greater_equal: lambda a, b: is_not(less(a, b)),
    np.equal: lambda a, b: is_not(unequal(a, b)),
    np.not_equal: unequal,
    np.logical_and: lambda a, b: both(as_mask(a), as_mask(b)),
    np.logical_or: lambda a, b: either(as_mask(a), as_mask(b)),
    np.logical_xor: lambda a, b: unequal(as_mask(a), as_mask(b)),
    np.logical_not: lambda a: is_not(as_mask(a)),
    np.bitwise_and: both,
    np.bitwise_or: either,
    np.bitwise_xor: unequal,
    np.invert: is_not,
}
OF_MASKS = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert)


def as_mask(x: Any) -> np.ndarray:
    """One where x is not zero."""
    return each(lambda g, a: a if _is_mask(a) else _unequal(g, a, 0.0), x)


def _is_mask(a: Any) -> bool:
    """Whether a scalar is known to be one or zero."""
    if not isinstance(a, Scalar):
        return a in (0.0, 1.0)
    return a.op is LESS or (a.op is SELECT and all(_is_mask(x) for x in a.args[1:]))
