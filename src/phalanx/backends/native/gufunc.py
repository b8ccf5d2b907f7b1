# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""NumPy generalized ufuncs around machine code, through NumPy's own C table, and on Dask arrays.

No compiler is needed on the user's machine: the table of the ufunc C API holds the
constructor at a slot that has not moved since generalized ufuncs exist. It is checked
before use.

Dask finds out what a ufunc returns by calling it with one coordinate, which a robot refuses; it does not know
how long axes are that no input has, and it cannot send a ufunc to another process. The ufunc of a kernel is
NumPy's own, but passes arguments that are no plain arrays to `lazily` first (`objects.show_first`).
"""

from __future__ import annotations

import copyreg
import ctypes
import sys
import weakref
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from ...arrays import require_shape
from ...errors import PhalanxError, listing, warn

_SLOT = 31  # PyUFunc_FromFuncAndDataAndSignature
_DOUBLE, _FLOAT = 12, 11


@cache
def _constructor() -> Any:
    capsule = import_module("numpy._core._multiarray_umath")._UFUNC_API
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    # Slot 0 holds the type object itself: what the table of this NumPy is really about.
    if table[0] != id(np.ufunc):
        raise RuntimeError("the ufunc table of this NumPy looks different")
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
    )
    return make(table[_SLOT])


def make_gufunc(
    name: str,
    doc: str,
    signature: str,
    operands: tuple[int, int],
    loops: list[tuple[np.dtype, int]],
    uniforms: int = 0,
) -> tuple[np.ufunc, Any]:
    """A gufunc with one loop per dtype (an address each), and what must live as long as it does.

    `operands` are how many inputs and outputs it has.

    `uniforms` is the address that loops get as their last argument.
    """
    count = len(loops)
    functions = (ctypes.c_void_p * count)(*(address for _, address in loops))
    data = (ctypes.c_void_p * count)(*([uniforms or None] * count))
    codes = b"".join(bytes([_DOUBLE if d == np.float64 else _FLOAT] * sum(operands)) for d, _ in loops)
    types = ctypes.create_string_buffer(codes, len(codes))
    texts = [s.encode() for s in (name, doc, signature)]
    made = _constructor()(
        ctypes.cast(functions, ctypes.c_void_p),
        ctypes.cast(data, ctypes.c_void_p),
        ctypes.cast(types, ctypes.c_char_p),
        count,
        *operands,
        -1,
        texts[0],
        texts[1],
        0,
        texts[2],
    )
    return made, (functions, data, types, texts)


def around(
    name: str,
    shapes: Sequence[tuple[int, ...]],
    outputs: int,
    dtype: np.dtype,
    loop: int,
    uniforms: int,
    keep: Any,
) -> Any:
    """The gufunc around the loop at an address, with uniforms at another; it keeps `keep` alive."""
    try:
        made, needs = make_gufunc(
            name, "", signature(shapes, outputs), (len(shapes) - outputs, outputs), [(dtype, loop)], uniforms
        )
        setattr(made, "needs", (keep, needs))  # noqa: B010 - what it points to lives and dies with it
    except (RuntimeError, ImportError, AttributeError):  # ufuncs before NumPy 2.2 take no attributes
        _warn_of_slow_path()
        return SlowUfunc(name, shapes, outputs, dtype, loop, uniforms, keep)
    return made


@cache
def _warn_of_slow_path() -> None:
    """Warn once in a process that ufuncs take a slower path."""
    warn(f"NumPy {np.__version__} keeps its ufuncs differently; the ufuncs of kernels take a slower path.")


def signature(shapes: Sequence[tuple[int, ...]], outputs: int) -> str:
    """The gufunc signature with core sizes as numbers, for `outputs` outputs."""
    cores = ["(" + ",".join(map(str, s)) + ")" for s in shapes]
    return ",".join(cores[:-outputs]) + "->" + ",".join(cores[-outputs:])


class SlowUfunc:
    """The same loop called through ctypes, for a NumPy whose ufunc table looks different.

    Has the subset of a gufunc that Phalanx uses: calls with broadcasting and `out`.
    """

    def __init__(
        self,
        name: str,
        shapes: Sequence[tuple[int, ...]],
        outputs: int,
        dtype: np.dtype,
        loop: int,
        uniforms: int,
        keep: Any,
    ) -> None:
        self.__name__ = name
        self.uniforms = uniforms  # the address that the loop gets as its last argument
        self.shapes = shapes
        self.dtype = dtype
        self.keep = keep
        self.nin, self.nout = len(shapes) - outputs, outputs
        pointers = [ctypes.c_void_p] * 4
        self._loop = ctypes.CFUNCTYPE(None, *pointers)(loop)

    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        cores, cores_out = self.shapes[: self.nin], self.shapes[self.nin :]
        arrays = [np.ascontiguousarray(x, dtype=self.dtype) for x in inputs]
        for array, shape in zip(arrays, cores, strict=True):
            if array.shape[array.ndim - len(shape) :] != shape:
                raise ValueError(f"{self.__name__}: shape {array.shape} does not end in {shape}")
        batch = np.broadcast_shapes(*(a.shape[: a.ndim - len(s)] for a, s in zip(arrays, cores, strict=True)))
        count = int(np.prod(batch))
        rows = [
            np.ascontiguousarray(np.broadcast_to(a, (*batch, *s))).reshape(count, *s)
            for a, s in zip(arrays, cores, strict=True)
        ]
        rows += [np.empty((count, *core), self.dtype) for core in cores_out]
        if count and rows[-1].size:
            args = np.array([a.ctypes.data for a in rows], dtype=np.uint64)
            dims = np.array([count], dtype=np.int64)
            inner = [s for a in rows for s in a.strides[1:]]
            steps = np.array([*(a.strides[0] for a in rows), *inner], dtype=np.int64)
            self._loop(args.ctypes.data, dims.ctypes.data, steps.ctypes.data, self.uniforms)
        made = [r.reshape((*batch, *c)) for r, c in zip(rows[self.nin :], cores_out, strict=True)]
        if out is None:
            return made[0][()] if self.nout == 1 else tuple(result[()] for result in made)
        for each, result in zip(out if isinstance(out, tuple) else (out,), made, strict=True):
            if each.shape != result.shape:
                raise ValueError(f"{self.__name__}: out has shape {each.shape}, expected {result.shape}")
            each[...] = result
        return out


# ------------------------------------------------------------------- Dask

Recipe = tuple[Callable[..., Any], tuple[Any, ...]]  # constructor and arguments, as for pickling


class Facts:
    """Shapes, dtype and constructor of the kernel of a ufunc.

    The robot, which holds its ufuncs, is given by its description: Python does not find cycles through them.
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
        """The constructor of the kernel and its arguments."""
        facts = list(self._facts)
        make, described = self._described
        facts[self._place] = self._robot() or make(*described)
        return self._make, tuple(facts)


_facts: dict[int, tuple[Any, Facts]] = {}  # of ufuncs of NumPy before 2.2, which take no attributes and stay


def know(ufunc: Any, facts: Facts) -> None:
    """Attach the facts of its kernel to a ufunc."""
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
        got = f"the options {listing(unknown)}" if unknown else f"{len(inputs)} inputs"
        raise PhalanxError(f"{where}: got {got}, expected {ufunc.nin} inputs, and axes= at most.")
    cores, outputs = facts.shapes[: ufunc.nin], facts.shapes[ufunc.nin :]
    if "axes" not in options:
        for x, core in zip(inputs, cores, strict=True):
            require_shape(np.shape(x), core, f"{where}: an input")
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
        """The result of the kernel for some chunks."""
        make, facts = self.recipe
        robot = next(fact for fact in facts if hasattr(fact, "digest"))
        return _kernel(robot.digest, make, _Facts(facts))._native.ufunc(*chunks)


class _Facts(tuple[Any, ...]):
    """Facts of a kernel, equal where their printed forms are, so that a process makes each kernel once."""

    def __hash__(self) -> int:
        return hash(repr([f for f in self if not hasattr(f, "digest")]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Facts) and hash(self) == hash(other)


@lru_cache(32)
def _kernel(digest: str, make: Callable[..., Any], facts: _Facts) -> Any:
    """The kernel with this digest, cached in this process."""
    return make(*facts)


def _again(recipe: Recipe) -> Any:
    make, facts = recipe
    return make(*facts).ufunc


_numpys: Any = copyreg.dispatch_table.get(np.ufunc)  # how NumPy pickles its own ufuncs


def _reduced(ufunc: Any) -> Any:
    """How a ufunc is pickled: that of a kernel by its constructor, others as NumPy does."""
    facts = _facts_of(ufunc)
    return (_again, (facts.recipe,)) if facts is not None else _numpys(ufunc)


if _numpys is not None:
    copyreg.pickle(np.ufunc, _reduced)
