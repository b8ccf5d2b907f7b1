# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""NumPy's functions of arrays on arrays of recording scalars: a rule for each that functions may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np

from .elementwise import (
    absolute,
    add,
    as_mask,
    chosen,
    divide,
    greater,
    is_not,
    known,
    less,
    matmul,
    maximum,
    minimum,
    multiply,
    objects,
    rint,
    sin,
    subtract,
    trunc,
    unequal,
)
from .linear_algebra import (
    cholesky,
    det,
    inv,
    matrix_norm,
    matrix_power,
    norm,
    slogdet,
    solve,
    vector_norm,
)
from .reductions import (
    all_of,
    any_of,
    average_of,
    count_of,
    max_of,
    mean_of,
    median_of,
    min_of,
    prod_of,
    ptp_of,
    sort,
    std_of,
    sum_of,
    var_of,
)
from .refusals import refuse

Rule = Callable[..., Any]


def _block(rows: Any) -> Any:
    """Blocks joined along the last axis, rows of them along the one before."""
    rows = rows if isinstance(rows, list) else [rows]
    if any(isinstance(x, list) for row in rows if isinstance(row, list) for x in row):
        refuse(
            "joins blocks of blocks of blocks", "expected rows of blocks, as in np.block([[A, B], [C, D]])"
        )
    if not any(isinstance(row, list) for row in rows):
        return np.concatenate([np.atleast_1d(objects(x)) for x in rows], axis=-1)
    return np.concatenate(
        [np.concatenate([np.atleast_2d(objects(x)) for x in row], axis=-1) for row in rows], axis=-2
    )


def clip(x: Any, lower: Any = None, upper: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """x, but not below `lower` nor above `upper`."""
    lower, upper = (min if lower is None else lower), (max if upper is None else upper)
    if lower is not None:
        x = maximum(x, lower)
    return x if upper is None else minimum(x, upper)


def where(mask: Any, *values: Any) -> Any:
    if len(values) != 2:
        refuse("asks where a traced value is not zero", "use np.where(condition, a, b) with both values")
    return chosen(as_mask(mask), *values)


def select(conditions: Iterable[Any], values: Iterable[Any], default: Any = 0.0) -> Any:
    made = default
    for mask, value in reversed(list(zip(conditions, values, strict=True))):
        made = where(mask, value, made)
    return made


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """Straight lines between points at known abscissae xp; fp may be traced."""
    nodes = objects(xp)
    if nodes.ndim != 1 or not all(known(p) for p in nodes) or (np.diff(nodes.astype(float)) <= 0.0).any():
        refuse(
            "interpolates between abscissae that are traced or do not rise",
            "use np.interp(x, xp, fp) of numbers xp",
        )
    heights = objects(fp)
    made = objects(heights[0])
    for a, b, low, high in zip(nodes, nodes[1:], heights, heights[1:], strict=False):
        slope = divide(subtract(high, low), b - a)
        made = add(made, multiply(slope, subtract(clip(x, a, b), a)))
    made = made if left is None else where(less(x, nodes[0]), left, made)
    return made if right is None else where(greater(x, nodes[-1]), right, made)


def polyval(p: Any, x: Any) -> Any:
    made: Any = np.zeros(np.shape(objects(x)))
    for a in objects(p):
        made = add(multiply(made, x), a)
    return made


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    rows = np.moveaxis(objects(y), axis, -1)
    middles = multiply(0.5, add(rows[..., 1:], rows[..., :-1]))
    if x is None:
        return multiply(sum_of(middles, -1), dx)
    nodes = objects(x)
    widths = np.diff(nodes if nodes.ndim == 1 else np.moveaxis(nodes, axis, -1))
    return sum_of(multiply(middles, widths), -1)


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, **more: Any) -> Any:
    if more:
        refuse(f"calls np.linspace with {', '.join(more)}", "leave it out")
    share = np.linspace(0.0, 1.0, num, endpoint=endpoint)
    first, last = np.broadcast_arrays(objects(start), objects(stop))
    return add(first, multiply(share.reshape(-1, *(1,) * first.ndim), subtract(last, first)))


def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8) -> Any:
    return is_not(greater(absolute(subtract(a, b)), add(atol, multiply(rtol, absolute(b)))))


def rounded(x: Any, decimals: int = 0) -> Any:
    scale = 10.0 ** abs(decimals)
    if decimals < 0:
        return multiply(rint(divide(x, scale)), scale)
    return divide(rint(multiply(x, scale)), scale)


def sinc(x: Any) -> Any:
    angle = multiply(np.pi, chosen(unequal(x, 0.0), x, 1e-20))
    return divide(sin(angle), angle)


# ------------------------------------------------------------------- new arrays


def _new(make: Rule) -> Rule:
    """A function that makes an array of numbers, called with like=."""

    def rule(*args: Any, **more: Any) -> Any:
        return objects(make(*args, **more)).copy()

    return rule


def pad(x: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0.0) -> Any:
    x = objects(x)
    chosen_by = {"constant_values": -1} if mode == "constant" else {}
    index = np.pad(np.arange(x.size).reshape(x.shape), pad_width, mode, **chosen_by)  # type: ignore[call-overload]
    return np.append(x.ravel(), objects(float(constant_values)))[index]


def _alike(fill: float) -> Rule:
    def rule(x: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Any:
        return np.full(np.shape(objects(x)) if shape is None else shape, fill, dtype=object)

    return rule


def full_like(
    x: Any, fill_value: Any, dtype: Any = None, *more: Any, shape: Any = None, **unused: Any
) -> Any:
    return np.broadcast_to(objects(fill_value), np.shape(objects(x)) if shape is None else shape).copy()


# Those that only move entries, and those that NumPy makes of sums and products: it does so with objects, too.
MOVES: tuple[Rule, ...] = (
    np.append,
    np.atleast_1d,
    np.atleast_2d,
    np.atleast_3d,
    np.broadcast_arrays,
    np.broadcast_to,
    np.column_stack,
    np.concatenate,
    np.copy,
    np.delete,
    np.diag,
    np.diagflat,
    np.diagonal,
    np.dsplit,
    np.dstack,
    np.expand_dims,
    np.flip,
    np.fliplr,
    np.flipud,
    np.hsplit,
    np.hstack,
    np.insert,
    np.linalg.diagonal,
    np.meshgrid,
    np.moveaxis,
    np.ravel,
    np.repeat,
    np.reshape,
    np.resize,
    np.roll,
    np.rollaxis,
    np.rot90,
    np.split,
    np.array_split,
    np.squeeze,
    np.stack,
    np.swapaxes,
    np.take,
    np.tile,
    np.transpose,
    np.tril,
    np.triu,
    np.unstack,
    np.vsplit,
    np.vstack,
)
SUMS: tuple[Rule, ...] = (
    np.convolve,
    np.cross,
    np.cumsum,
    np.cumprod,
    np.diff,
    np.dot,
    np.ediff1d,
    np.einsum,
    np.inner,
    np.kron,
    np.linalg.cross,
    np.linalg.tensordot,
    np.linalg.trace,
    np.outer,
    np.tensordot,
    np.trace,
)
FACTS: tuple[Rule, ...] = (np.shape, np.ndim, np.size)  # that are known
OWN: dict[Rule, Rule] = {
    np.sum: sum_of,
    np.prod: prod_of,
    np.mean: mean_of,
    np.var: var_of,
    np.std: std_of,
    np.average: average_of,
    np.ptp: ptp_of,
    np.count_nonzero: count_of,
    np.sort: sort,
    np.median: median_of,
    np.block: _block,
    np.matrix_transpose: lambda x: np.swapaxes(objects(x), -1, -2),
    np.linalg.multi_dot: lambda arrays: reduce(np.dot, map(objects, arrays)),
    np.min: min_of,
    np.max: max_of,
    np.amin: min_of,
    np.amax: max_of,
    np.all: all_of,
    np.any: any_of,
    np.clip: clip,
    np.where: where,
    np.select: select,
    np.interp: interp,
    np.polyval: polyval,
    np.vdot: lambda a, b: np.dot(objects(a).ravel(), objects(b).ravel()),
    np.linalg.outer: lambda a, b: multiply(objects(a)[:, None], objects(b)),
    np.linalg.matmul: matmul,
    np.linalg.vecdot: lambda a, b, axis=-1: sum_of(multiply(a, b), axis),
    np.linalg.matrix_transpose: lambda x: np.swapaxes(objects(x), -1, -2),
    np.linalg.matrix_power: matrix_power,
    np.linalg.vector_norm: lambda x, *, axis=None, keepdims=False, ord=2: vector_norm(x, axis, keepdims, ord),
    np.linalg.matrix_norm: lambda x, *, keepdims=False, ord="fro": matrix_norm(x, keepdims, ord),
    np.linalg.slogdet: slogdet,
    np.linalg.norm: norm,
    np.linalg.solve: solve,
    np.linalg.inv: inv,
    np.linalg.cholesky: cholesky,
    np.linalg.det: det,
    np.trapezoid: trapezoid,
    np.linspace: linspace,
    np.isclose: isclose,
    np.sinc: sinc,
    np.round: rounded,
    np.around: rounded,
    np.fix: trunc,
    np.real: objects,
    np.pad: pad,
    np.zeros: _new(np.zeros),
    np.ones: _new(np.ones),
    np.empty: _new(np.zeros),
    np.full: lambda shape, value, **unused: np.broadcast_to(objects(value), shape).copy(),
    np.eye: _new(np.eye),
    np.identity: _new(np.identity),
    np.arange: _new(np.arange),
    np.zeros_like: _alike(0.0),
    np.ones_like: _alike(1.0),
    np.empty_like: _alike(0.0),
    np.full_like: full_like,
}
