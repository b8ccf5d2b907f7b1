# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Factors of the mass matrix on JAX: written out for small robots, Cholesky of a library for large ones."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

WRITTEN_OUT = 16  # degrees of freedom up to which a factor is written out


def factor(M: Any) -> Any:
    """The factor of M (…, k, k) that `solve` expects."""
    size = M.shape[-1]
    if size > WRITTEN_OUT:
        return jax.lax.linalg.cholesky(M, symmetrize_input=False)
    # From the tips to the root as in the sparse factor M = L^T D L: rows of L, with 1/D on the diagonal.
    rows = []
    for k in range(size - 1, -1, -1):
        inverse = 1.0 / M[..., k, k, None]
        row = M[..., k, :k]
        scaled = row * inverse
        pad = [(0, 0)] * (M.ndim - 2) + [(0, size - k - 1)]
        rows.append(jnp.pad(jnp.concatenate([scaled, inverse], axis=-1), pad))
        M = M[..., :k, :k] - scaled[..., :, None] * row[..., None, :]
    return jnp.stack(rows[::-1], axis=-2)


def solve(factor: Any, b: Any) -> Any:
    """x (…, k) with M x = b."""
    size = factor.shape[-1]
    if size <= WRITTEN_OUT:
        return _substitute(factor, b)
    many = factor.ndim > 2 and factor.shape[-3] == 1 and b.ndim > 1  # one matrix, many right-hand sides
    factor = factor[..., 0, :, :] if many else factor
    columns = b.swapaxes(-1, -2) if many else b[..., None]
    batch = jnp.broadcast_shapes(factor.shape[:-2], columns.shape[:-2])
    factor = jnp.broadcast_to(factor, (*batch, size, size))
    columns = jnp.broadcast_to(columns, (*batch, *columns.shape[-2:]))
    half = jax.lax.linalg.triangular_solve(factor, columns, left_side=True, lower=True)
    x = jax.lax.linalg.triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True)
    return x.swapaxes(-1, -2) if many else x[..., 0]


def _substitute(rows: Any, b: Any) -> Any:
    """Outward through L^T, then inward through D and L."""
    size = rows.shape[-1]
    parts = []
    for k in range(size - 1, -1, -1):
        last = b[..., k, None]
        parts.append(last)
        b = b[..., :k] - rows[..., k, :k] * last
    y = parts[::-1]
    x = y[0] * rows[..., 0, :1]
    for k in range(1, size):
        new = y[k] * rows[..., k, k, None] - (rows[..., k, :k] * x).sum(axis=-1, keepdims=True)
        x = jnp.concatenate([x, new], axis=-1)
    return x
