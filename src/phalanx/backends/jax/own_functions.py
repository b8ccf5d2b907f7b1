# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Users' own functions (`robot.function`) in programs of JAX: compiled kernels called back on the host.

A derivative is a product with Jacobians, which are such functions again: so both modes and all orders work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def in_jax(f: Any) -> Callable[..., Any]:
    """A function of JAX arrays, safe under `jit`, `vmap`, `grad` and `jvp`, from what `robot.function` made.

    Derivatives by q are those by its nq coordinates.
    """
    plain = f._plain
    flat = _flat(plain)

    def wrapped(*args: Any, **named: Any) -> Any:
        arrays = [jnp.asarray(x) for x in f._arguments(args, named)]
        dtype = jnp.result_type(float, *arrays) if _is_double(arrays) else jnp.float32
        return f._packed(flat(*(a.astype(dtype) for a in arrays)))

    wrapped.__name__, wrapped.__doc__ = f.name, f"`{f.name}` on JAX arrays of any batch shape."
    return wrapped


def _is_double(arrays: list[Any]) -> bool:
    return bool(jax.config.read("jax_enable_x64")) and not all(a.dtype == jnp.float32 for a in arrays)


def _flat(f: Any) -> Callable[..., tuple[Any, ...]]:
    """The results of a function one after another, for arrays of one type."""
    cores = [len(shape) for shape in f.inputs.values()]
    shapes = list(f.outputs.values())

    def host(*arrays: Any) -> tuple[np.ndarray, ...]:
        made = f._flat(*map(np.asarray, arrays))
        return tuple(np.asarray(x, arrays[0].dtype) for x in made)

    def compute(*arrays: Any) -> Any:
        batch = jnp.broadcast_shapes(
            *(a.shape[: a.ndim - core] for a, core in zip(arrays, cores, strict=True))
        )
        wanted = tuple(jax.ShapeDtypeStruct((*batch, *shape), arrays[0].dtype) for shape in shapes)
        return jax.pure_callback(host, wanted, *arrays, vmap_method="expand_dims")

    def derivative(primals: Any, tangents: Any) -> Any:
        moving = [(name, t) for name, t in zip(f.inputs, tangents, strict=True) if not _is_zero(t)]
        slopes = iter(_flat(f._jacobians(tuple(name for name, _ in moving)))(*primals))
        made = []
        for result, shape in zip(value(*primals), shapes, strict=True):
            total = jnp.zeros_like(result)
            for name, t in moving:
                total = total + _product(next(slopes), t, len(shape), len(f.inputs[name]))
            made.append(total)
        return value(*primals), tuple(made)

    value = jax.custom_jvp(compute)
    value.defjvp(derivative, symbolic_zeros=True)
    return value


def _is_zero(tangent: Any) -> bool:
    return isinstance(tangent, jax.custom_derivatives.SymbolicZero)


def _product(slope: Any, tangent: Any, result: int, axes: int) -> Any:
    """A Jacobian times a tangent: the sum over the last axes, which are those of an argument."""
    batch = tangent.ndim - axes
    spread = tangent.reshape((*tangent.shape[:batch], *(1,) * result, *tangent.shape[batch:]))
    return (slope * spread).sum(axis=tuple(range(-axes, 0))) if axes else slope * spread
