# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""NumPy generalized ufuncs around machine code, through NumPy's own C table.

No compiler is needed on the user's machine: the table of the ufunc C API holds the
constructor at a slot that has not moved since generalized ufuncs exist. It is checked
before use.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ...errors import warn

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
    told: int = 0,
) -> tuple[np.ufunc, Any]:
    """A gufunc with one loop per dtype (an address each), and what must live as long as it does.

    `operands` are how many inputs and outputs it has.

    `told` is the address that loops get as their last argument.
    """
    count = len(loops)
    functions = (ctypes.c_void_p * count)(*(address for _, address in loops))
    data = (ctypes.c_void_p * count)(*([told or None] * count))
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
    told: int,
    keep: Any,
) -> Any:
    """The gufunc around the loop at an address, told what stands at another; it keeps `keep` alive."""
    try:
        made, needs = make_gufunc(
            name, "", signature(shapes, outputs), (len(shapes) - outputs, outputs), [(dtype, loop)], told
        )
        setattr(made, "needs", (keep, needs))  # noqa: B010 - what it points to lives and dies with it
    except (RuntimeError, ImportError, AttributeError):  # ufuncs before NumPy 2.2 take no attributes
        _warn_of_slow_path()
        return SlowUfunc(name, shapes, outputs, dtype, loop, told, keep)
    return made


@cache
def _warn_of_slow_path() -> None:
    """Say so once in a process."""
    warn(f"NumPy {np.__version__} keeps its ufuncs differently; the ufuncs of kernels take a slower path.")


def signature(shapes: Sequence[tuple[int, ...]], outputs: int) -> str:
    """Core sizes as numbers, so many outputs last."""
    cores = ["(" + ",".join(map(str, s)) + ")" for s in shapes]
    return ",".join(cores[:-outputs]) + "->" + ",".join(cores[-outputs:])


class SlowUfunc:
    """The same loop called through ctypes, for a NumPy whose ufunc table looks different.

    Offers what Phalanx uses of a gufunc: calling with broadcasting and `out`.
    """

    def __init__(
        self,
        name: str,
        shapes: Sequence[tuple[int, ...]],
        outputs: int,
        dtype: np.dtype,
        loop: int,
        told: int,
        keep: Any,
    ) -> None:
        self.__name__ = name
        self.told = told  # the address that the loop gets as its last argument
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
            self._loop(args.ctypes.data, dims.ctypes.data, steps.ctypes.data, self.told)
        made = [r.reshape((*batch, *c)) for r, c in zip(rows[self.nin :], cores_out, strict=True)]
        if out is None:
            return made[0][()] if self.nout == 1 else tuple(result[()] for result in made)
        for each, result in zip(out if isinstance(out, tuple) else (out,), made, strict=True):
            if each.shape != result.shape:
                raise ValueError(f"{self.__name__}: out has shape {each.shape}, expected {result.shape}")
            each[...] = result
        return out
