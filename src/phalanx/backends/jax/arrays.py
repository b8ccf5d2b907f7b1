# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A wrapper of JAX arrays whose indexing and products compile to operations that XLA fuses.

The equations pick components and bodies by constant lists and multiply 3x3 matrices. Taken
literally these are gathers, whose derivatives are scatters, and calls of a matrix library, none of
which XLA fuses with their neighbours. Here constant indices become slices where they are consecutive,
and small products become sums of products, which also avoids TF32.
"""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_RUNS = 12  # number of slices up to which they replace a gather
_SMALL = 3  # inner size up to which a matrix product is unrolled; larger ones only compile longer
EXACT = jax.lax.Precision.HIGHEST


class JaxArray:
    """A JAX array with NumPy's indexing, including assignment (which replaces `value`)."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    dtype = property(lambda self: self.value.dtype)
    size = property(lambda self: self.value.size)
    T = property(lambda self: JaxArray(self.value.T))

    def __array_namespace__(self, **_: Any) -> Any:
        return NAMESPACE

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return getattr(NAMESPACE, function.__name__)(*args, **kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if method == "at" and ufunc is np.add:
            target, key, more = args
            target.value = target.value.at[_constant(key)].add(unwrap(more))
            return None
        if method != "__call__":
            return NotImplemented
        return getattr(NAMESPACE, ufunc.__name__)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        method = getattr(self.value, name)
        return lambda *args, **kwargs: wrap(method(*unwrap(args), **unwrap(kwargs)))

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("an array of JAX met a function of NumPy that has no counterpart")

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Any:
        # JAX clamps indices: without a length the sequence protocol would never end.
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"JaxArray({self.value!r})"

    def copy(self) -> JaxArray:
        """A copy: assignment to it leaves this array unchanged."""
        return JaxArray(self.value)

    def astype(self, dtype: Any) -> JaxArray:
        """The same values in another precision."""
        return JaxArray(self.value.astype(dtype))

    def __getitem__(self, key: Any) -> JaxArray:
        return JaxArray(_index(self.value, _constant(key)))

    def __setitem__(self, key: Any, new: Any) -> None:
        self.value = _assign(self.value, _constant(key), jnp.asarray(unwrap(new), self.value.dtype))

    def __matmul__(self, other: Any) -> JaxArray:
        return JaxArray(product(self.value, jnp.asarray(unwrap(other))))

    def __rmatmul__(self, other: Any) -> JaxArray:
        return JaxArray(product(jnp.asarray(other), self.value))

    def __neg__(self) -> JaxArray:
        return JaxArray(-self.value)


def _operators() -> None:
    """Add the binary operators and their reflected versions to `JaxArray`."""
    for name in ("add", "sub", "mul", "truediv", "pow", "lt", "le", "gt", "ge"):
        apply = getattr(operator, name)
        setattr(JaxArray, f"__{name}__", lambda a, b, f=apply: JaxArray(f(a.value, unwrap(b))))
        setattr(JaxArray, f"__r{name}__", lambda a, b, f=apply: JaxArray(f(unwrap(b), a.value)))


_operators()
jax.tree_util.register_pytree_node(JaxArray, lambda x: ((x.value,), None), lambda _, x: JaxArray(x[0]))


class Namespace:
    """The functions of `jax.numpy` on `JaxArray`s: the array namespace that the equations use."""

    def rescale(self, x: JaxArray) -> JaxArray:
        """`joints.rescale` by bit operations; constant under autodiff, since no result depends on it."""
        value = jax.lax.stop_gradient(x.value)
        kind = jnp.int64 if value.dtype == np.float64 else jnp.int32
        mask = kind(0x7FF << 52 if kind is jnp.int64 else 0xFF << 23)
        value = jnp.maximum(value, jnp.finfo(value.dtype).tiny)
        bits = jax.lax.bitcast_convert_type(value, kind) & mask
        return JaxArray(jax.lax.bitcast_convert_type(mask - bits, value.dtype))

    def __getattr__(self, name: str) -> Any:
        function = getattr(jnp, name)
        if not callable(function) or isinstance(function, type):
            return function
        return lambda *args, **kwargs: wrap(function(*unwrap(args), **unwrap(kwargs)))


NAMESPACE = Namespace()


def wrap(value: Any) -> Any:
    """JAX arrays, also those in tuples and lists, as `JaxArray`s; other values unchanged."""
    if isinstance(value, (tuple, list)):
        return type(value)(wrap(v) for v in value)
    return JaxArray(value) if isinstance(value, jax.Array) else value


def unwrap(value: Any) -> Any:
    """The JAX arrays inside a value, also in tuples, lists and dictionaries."""
    if isinstance(value, JaxArray):
        return value.value
    if isinstance(value, (tuple, list)):
        return type(value)(unwrap(v) for v in value)
    if isinstance(value, dict):
        return {k: unwrap(v) for k, v in value.items()}
    return value


def array(value: Any, dtype: Any = None) -> JaxArray:
    """A `JaxArray` from any array."""
    return JaxArray(jnp.asarray(unwrap(value), dtype))


def product(a: Any, b: Any) -> Any:
    """Matrix product; unrolled to a sum of outer products if the inner size is small."""
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] > _SMALL:
        return jnp.matmul(a, b, precision=EXACT)
    total = a[..., :, 0:1] * b[..., 0:1, :]
    for k in range(1, a.shape[-1]):
        total = total + a[..., :, k : k + 1] * b[..., k : k + 1, :]
    return total


# --------------------------------------------------------------------------- constant indices


def _constant(key: Any) -> tuple[Any, ...]:
    """An index as a tuple, with lists and masks converted to integer arrays."""
    parts = []
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, (list, np.ndarray)):
            part = np.asarray(part)
            part = np.flatnonzero(part) if part.dtype == bool else part
        parts.append(unwrap(part))
    return tuple(parts)


def _positions(x: Any, key: tuple[Any, ...]) -> tuple[list[int], tuple[Any, ...]]:
    """The positions of constant arrays in an index of x, and the index with its ellipsis expanded."""
    used = sum(part is not None and part is not Ellipsis for part in key)
    fill = (slice(None),) * (x.ndim - used)
    if not any(part is Ellipsis for part in key):
        key = (*key, ...)
    at = next(k for k, part in enumerate(key) if part is Ellipsis)
    key = (*key[:at], *fill, *key[at + 1 :])
    return [k for k, part in enumerate(key) if isinstance(part, np.ndarray)], key


def _index(x: Any, key: tuple[Any, ...]) -> Any:
    """x[key], by slices where constant index arrays are consecutive."""
    positions, key = _positions(x, key)
    if not positions:
        return x[key]
    plain = all(isinstance(part, (slice, np.ndarray)) or part is None for part in key)
    if len(positions) == 1 and plain:
        (at,) = positions
        rest = (*key[:at], slice(None), *key[at + 1 :])
        return _take(x[rest], key[at], at)
    if (
        len(positions) == 2
        and positions[1] == x.ndim - 1 == positions[0] + 1
        and plain
        and len(key) == x.ndim
    ):
        # Two component axes picked together: one axis of their pairs.
        rows, columns = np.broadcast_arrays(key[-2], key[-1])
        flat = x[key[:-2]].reshape((*x[key[:-2]].shape[:-2], x.shape[-2] * x.shape[-1]))
        return _take(flat, rows * x.shape[-1] + columns, flat.ndim - 1)
    return x[key]


def _runs(index: np.ndarray) -> list[tuple[int, int]]:
    """The runs [start, stop) of consecutive integers in an index; empty if there are too many."""
    edges = np.flatnonzero(np.diff(index) != 1) + 1
    if not len(index) or len(edges) >= _RUNS:
        return []
    return [(int(p[0]), int(p[-1]) + 1) for p in np.split(index, edges)]


def _take(x: Any, index: np.ndarray, axis: int) -> Any:
    """Gather along one axis by a constant index of any shape, by slices if it has few runs."""
    size = x.shape[axis]
    flat = np.where(index < 0, index + size, index).ravel()
    before = (slice(None),) * axis
    runs = _runs(flat)
    if runs == [(0, size)]:
        taken = x
    elif runs:
        pieces = [jax.lax.slice_in_dim(x, a, b, axis=axis) for a, b in runs]
        taken = pieces[0] if len(pieces) == 1 else jnp.concatenate(pieces, axis=axis)
    else:
        taken = x.at[(*before, flat)].get(mode="promise_in_bounds")
    return taken.reshape((*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])) if index.ndim != 1 else taken


def _assign(x: Any, key: tuple[Any, ...], new: Any) -> Any:
    """x with new values at a key, by concatenation if the key is one run of one axis."""
    positions, full = _positions(x, key)
    slices = [k for k, part in enumerate(full) if isinstance(part, slice) and part != slice(None)]
    special = [*positions, *slices]
    if len(special) == 1 and len(full) == x.ndim and all(isinstance(p, (slice, np.ndarray)) for p in full):
        (axis,) = special
        index = np.arange(x.shape[axis])[full[axis]]
        runs = _runs(index) if index.ndim == 1 else []
        if len(runs) == 1:
            start, stop = runs[0]
            shape = (*x.shape[:axis], stop - start, *x.shape[axis + 1 :])
            pieces = [
                jax.lax.slice_in_dim(x, 0, start, axis=axis),
                jnp.broadcast_to(new, shape),
                jax.lax.slice_in_dim(x, stop, x.shape[axis], axis=axis),
            ]
            return jnp.concatenate([p for p in pieces if p.shape[axis]], axis=axis)
    return x.at[key].set(new)
