# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The generalized ufunc of a kernel on Dask arrays, chunk by chunk, and in other processes.

Dask finds out what a ufunc returns by calling it with one coordinate, which a robot refuses; it does not know
how long axes are that no input has, and it cannot send a ufunc to another process. A kernel knows and can:
its ufunc is NumPy's own, and shows what is no plain array to `lazily` before NumPy does (`show_first`).
"""

from __future__ import annotations

import copyreg
import sys
import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...errors import PhalanxError, listing

Recipe = tuple[Callable[..., Any], tuple[Any, ...]]  # what makes the kernel again, as for pickling


class Facts:
    """What a ufunc knows of its kernel.

    The robot, which keeps its ufuncs, is told by its description: Python does not find cycles through them.
    """

    def __init__(self, recipe: Recipe, shapes: Sequence[tuple[int, ...]], dtype: Any) -> None:
        self.shapes, self.dtype = shapes, dtype
        self._make, facts = recipe
        robot = next(fact for fact in facts if hasattr(fact, "digest"))
        self._robot, self._described = weakref.ref(robot), robot.__reduce__()
        self._facts = tuple(None if fact is robot else fact for fact in facts)
        self._place = facts.index(robot)

    @property
    def recipe(self) -> Recipe:
        """What makes the kernel again."""
        facts = list(self._facts)
        make, described = self._described
        facts[self._place] = self._robot() or make(*described)
        return self._make, tuple(facts)


_facts: dict[int, tuple[Any, Facts]] = {}  # of ufuncs of NumPy before 2.2, which take no attributes and stay


def know(ufunc: Any, facts: Facts) -> None:
    """Let a ufunc know its kernel."""
    try:
        setattr(ufunc, "kernel", facts)  # noqa: B010
    except AttributeError:
        _facts[id(ufunc)] = ufunc, facts


def _facts_of(ufunc: Any) -> Facts | None:
    found = getattr(ufunc, "kernel", None) or _facts.get(id(ufunc), (None, None))[1]
    return found if isinstance(found, Facts) else None


def lazily(ufunc: Any, /, *inputs: Any, **options: Any) -> Any:
    """The result of a kernel's ufunc as Dask arrays, nothing computed yet; NotImplemented without any."""
    arrays, facts = sys.modules.get("dask.array"), _facts_of(ufunc)
    kind = getattr(arrays, "Array", None)  # none as long as another thread imports it
    if arrays is None or kind is None or facts is None or not any(isinstance(x, kind) for x in inputs):
        return NotImplemented
    where = f"{ufunc.__name__} on Dask arrays"
    unknown = [name for name in options if name != "axes"]
    if unknown or len(inputs) != ufunc.nin:
        told = f"the options {listing(unknown)}" if unknown else f"{len(inputs)} inputs"
        raise PhalanxError(f"{where}: got {told}, expected {ufunc.nin} inputs, and axes= at most.")
    cores, outputs = facts.shapes[: ufunc.nin], facts.shapes[ufunc.nin :]
    if "axes" not in options:
        for x, core in zip(inputs, cores, strict=True):
            if np.ndim(x) < len(core) or tuple(np.shape(x)[np.ndim(x) - len(core) :]) != core:
                expected = ", ".join(map(str, core))
                raise PhalanxError(f"{where}: an input has shape {np.shape(x)}, expected (…, {expected}).")
    laid = [_like(arrays, x, len(core), inputs) for x, core in zip(inputs, cores, strict=True)]
    types = [facts.dtype] * ufunc.nout
    return arrays.apply_gufunc(
        _Chunks(facts.recipe),
        ufunc.signature,
        *laid,
        output_dtypes=types if ufunc.nout > 1 else types[0],
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


def _again(recipe: Recipe) -> Any:
    make, facts = recipe
    return make(*facts).ufunc


_numpys: Any = copyreg.dispatch_table.get(np.ufunc)  # how NumPy pickles its own ufuncs


def _reduced(ufunc: Any) -> Any:
    """How a ufunc is pickled: that of a kernel as what makes it again, others as NumPy does."""
    facts = _facts_of(ufunc)
    return (_again, (facts.recipe,)) if facts is not None else _numpys(ufunc)


if _numpys is not None:
    copyreg.pickle(np.ufunc, _reduced)
