# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Functions of single numbers, of whatever the equations run on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import spatial
from ...spatial import Array, cos_sin, namespace

# Of plain floats: constants of a robot, of which every processor shall make the same.
_FLOATS: dict[str, Callable[[float], float]] = {
    "sin": lambda x: cos_sin(x)[1],
    "cos": lambda x: cos_sin(x)[0],
    "sqrt": math.sqrt,
}


def sin(x: Array) -> Array:
    """Sine of floats, JAX arrays or traced scalars."""
    return _elementwise("sin", x)


def cos(x: Array) -> Array:
    """Cosine of floats, JAX arrays or traced scalars."""
    return _elementwise("cos", x)


def sqrt(x: Array) -> Array:
    """Square root of floats, JAX arrays or traced scalars."""
    return _elementwise("sqrt", x)


def arctan2(y: Array, x: Array) -> Array:
    """Angle of points (x, y) of floats, JAX arrays or traced scalars."""
    if y.dtype.kind != "O":
        return namespace(y).arctan2(y, x)
    return _objects([_angle(*each) for each in zip(y.ravel(), x.ravel(), strict=True)], y)


def choose_less(x: Array, bound: float, a: Array, b: Array) -> Array:
    """a where x < bound, else b, of floats, JAX arrays or traced scalars."""
    if x.dtype.kind != "O":
        return namespace(x).where(x < bound, a, b)
    return _objects([_chosen(*each, bound) for each in zip(x.ravel(), a.ravel(), b.ravel(), strict=True)], x)


def at_least(x: Array, bound: float) -> Array:
    """x, or the bound where that is more, of floats, JAX arrays or traced scalars."""
    if x.dtype.kind != "O":
        return namespace(x).maximum(x, x.dtype.type(bound))
    return _objects([v.maximum(bound) if hasattr(v, "maximum") else max(v, bound) for v in x.ravel()], x)


def _elementwise(name: str, x: Array) -> Array:
    if x.dtype.kind != "O":
        return getattr(namespace(x), name)(x)
    return _objects([_scalar(name, v) for v in x.ravel()], x)


def _objects(flat: list[Any], like: np.ndarray) -> np.ndarray:
    result = np.empty(len(flat), dtype=object)
    result[:] = flat
    return result.reshape(like.shape)


def _chosen(x: Any, a: Any, b: Any, bound: float) -> Any:
    if hasattr(x, "graph"):
        return x.graph.choose(x.graph.less(x, bound), a, b)
    return a if x < bound else b


def _angle(y: Any, x: Any) -> Any:
    graph = getattr(y, "graph", None) or getattr(x, "graph", None)
    return spatial.arctan2(y, x) if graph is None else graph.arctan2(y, x)


def _scalar(name: str, v: Any) -> Any:
    """The function of a plain float, a traced scalar or a number of arbitrary precision (mpmath)."""
    if isinstance(v, float):
        return _FLOATS[name](v)
    if hasattr(v, name):
        return getattr(v, name)()
    return getattr(v.context, name)(v)
