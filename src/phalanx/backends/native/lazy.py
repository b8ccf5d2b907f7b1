# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The generalized ufunc of a kernel as users hold it: NumPy's own, and on Dask arrays chunk by chunk.

Dask finds out what a ufunc returns by calling it with one coordinate, which a robot refuses; it does not know
how long axes are that no input has, and it cannot send a ufunc to another process. A kernel knows and can, so
Dask arrays are taken before NumPy hands them over.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...errors import PhalanxError, listing

Recipe = tuple[Callable[..., Any], tuple[Any, ...]]  # what makes the kernel again, as for pickling


class Gufunc:
    """A NumPy generalized ufunc, for all that asks; calls with Dask arrays give Dask arrays."""

    def __init__(self, made: Any, recipe: Recipe, shapes: Sequence[tuple[int, ...]], dtype: Any) -> None:
        self._made, self._recipe, self._shapes, self._dtype = made, recipe, shapes, dtype

    @property
    def __class__(self) -> Any:  # isinstance(kernel.ufunc, np.ufunc)
        return type(self._made)

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise AttributeError("the class of a ufunc cannot be changed")

    def __getattr__(self, name: str) -> Any:
        if name == "_made":  # a copy without anything yet
            raise AttributeError(name)
        return getattr(self._made, name)

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """What the kernel computes, for any batch."""
        for x in inputs:
            if type(x) is not np.ndarray:
                arrays = sys.modules.get("dask.array")
                if arrays is not None and isinstance(x, arrays.Array):
                    return self._lazily(arrays, inputs, options)
        return self._made(*inputs, **options)

    def __repr__(self) -> str:
        return repr(self._made)

    def __reduce__(self) -> Any:
        return _again, (self._recipe,)

    def _lazily(self, arrays: Any, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
        """The result as Dask arrays, nothing computed yet."""
        made = self._made
        where = f"{made.__name__} on Dask arrays"
        unknown = [name for name in options if name != "axes"]
        if unknown or len(inputs) != made.nin:
            told = f"the options {listing(unknown)}" if unknown else f"{len(inputs)} inputs"
            raise PhalanxError(f"{where}: got {told}, expected {made.nin} inputs, and axes= at most.")
        cores, outputs = self._shapes[: made.nin], self._shapes[made.nin :]
        if "axes" not in options:
            for x, core in zip(inputs, cores, strict=True):
                if np.ndim(x) < len(core) or tuple(np.shape(x)[np.ndim(x) - len(core) :]) != core:
                    expected = ", ".join(map(str, core))
                    raise PhalanxError(
                        f"{where}: an input has shape {np.shape(x)}, expected (…, {expected})."
                    )
        inputs = [_like(arrays, x, len(core), inputs) for x, core in zip(inputs, cores, strict=True)]
        types = [self._dtype] * made.nout
        return arrays.apply_gufunc(
            _Chunks(self._recipe),
            made.signature,
            *inputs,
            output_dtypes=types if made.nout > 1 else types[0],
            output_sizes={str(n): n for shape in outputs for n in shape},
            **options,
        )


def _like(arrays: Any, x: Any, core: int, inputs: Sequence[Any]) -> Any:
    """A plain array in the chunks of a Dask array beside it; one of Dask's as it is."""
    if isinstance(x, arrays.Array) or np.ndim(x) <= core:
        return x
    guide = next(other for other in inputs if isinstance(other, arrays.Array))
    batch = np.ndim(x) - core
    behind = guide.ndim - core - batch
    chunks = [
        guide.chunks[behind + k] if behind + k >= 0 and guide.shape[behind + k] == size else -1
        for k, size in enumerate(np.shape(x)[:batch])
    ]
    return arrays.from_array(np.asarray(x), chunks=(*chunks, *np.shape(x)[batch:]))


class _Chunks:
    """The kernel on the chunks of Dask arrays, in any process."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    def __call__(self, *chunks: Any) -> Any:
        """What the kernel computes for some chunks."""
        make, facts = self.recipe
        robot = next(fact for fact in facts if hasattr(fact, "digest"))
        return _kernel(robot.digest, make, _Facts(facts))._native.ufunc(*chunks)


class _Facts(tuple[Any, ...]):
    """Facts that are the same if they are written the same, so that a process makes each kernel once."""

    def __hash__(self) -> int:
        return hash(repr([f for f in self if not hasattr(f, "digest")]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Facts) and hash(self) == hash(other)


@lru_cache(32)
def _kernel(digest: str, make: Callable[..., Any], facts: _Facts) -> Any:
    """A kernel of this process."""
    return make(*facts)


def _again(recipe: Recipe) -> Gufunc:
    make, facts = recipe
    made: Gufunc = make(*facts).ufunc
    return made
