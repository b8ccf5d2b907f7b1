# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sine and cosine of whatever the equations run on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...spatial import Array, namespace


def sin(x: Array) -> Array:
    """Sine of floats, JAX arrays or traced scalars."""
    return _elementwise("sin", x)


def cos(x: Array) -> Array:
    """Cosine of floats, JAX arrays or traced scalars."""
    return _elementwise("cos", x)


def _elementwise(name: str, x: Array) -> Array:
    if x.dtype.kind != "O":
        return getattr(namespace(x), name)(x)
    flat = [_scalar(name, v) for v in x.ravel()]
    result = np.empty(len(flat), dtype=object)
    result[:] = flat
    return result.reshape(x.shape)


def _scalar(name: str, v: Any) -> Any:
    """The function of a plain float, a traced scalar or a number of arbitrary precision (mpmath)."""
    if isinstance(v, float):
        return getattr(math, name)(v)
    if hasattr(v, name):
        return getattr(v, name)()
    return getattr(v.context, name)(v)
