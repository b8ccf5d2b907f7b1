# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Built-in functions made from compiled code, and where Python and NumPy keep what such code reads.

What a function needs to know stands in a bytes object that Python hands it as `self`.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

# Every object begins alike, with its type last; builds without the GIL have more before it.
# How often it is referred to is read only in versions that keep the number right before the type.
_HEAD = object.__basicsize__
TYPE, COUNT = _HEAD - 8, _HEAD - 16
# Fields of an array object, unchanged since NumPy 1.7; checked before first use.
POINTER, NDIM, SHAPE, DTYPE, FLAGS = (_HEAD + place for place in (0, 8, 16, 40, 48))
CONTIGUOUS, ALIGNED, WRITEABLE = 0x0001, 0x0100, 0x0400
_DATA = bytes.__basicsize__ - 1  # where the content of a bytes object starts
# Words of `self`: of functions of arrays, and of those bound to arrays.
SAVE, RESTORE, TRUE, FALSE, ARRAY, NUMBER, WHOLE, TOLD = (_DATA + 8 * k for k in range(8))
NONE, ARGUMENTS, DIMENSIONS, STEPS, BOUND_TOLD = (_DATA + 8 * k for k in range(2, 7))
# None, True and False are counted like any object, or live for ever and are left alone: their memory
# would go from core to core.
COUNTED = sys.version_info < (3, 12)
LAYOUT = (_HEAD, _DATA, COUNTED)  # all that compiled code takes for given
_STEP = "Recompute the output, in place, from the arrays that were bound."
_METH_FASTCALL, _METH_NOARGS = 0x0080, 0x0004


@cache
def usable() -> bool:
    """Whether this Python and this NumPy lay out their objects as compiled code expects."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    probe = np.zeros((2, 3))[:, ::2]
    base = id(probe)
    word = ctypes.c_uint64.from_address
    content = b"phalanx!"
    return bool(
        ctypes.string_at(id(content) + _DATA, 8) == content
        and word(base + TYPE).value == id(np.ndarray)
        and word(base + POINTER).value == probe.ctypes.data
        and ctypes.c_int.from_address(base + NDIM).value == 2
        and list((ctypes.c_int64 * 2).from_address(word(base + SHAPE).value)) == [2, 2]
        and word(base + DTYPE).value == id(np.dtype(np.float64))
        and ctypes.c_int.from_address(base + FLAGS).value == probe.flags.num
    )


def array_function(address: int, name: str, dtype: np.dtype, told: int, keep: Any) -> Callable[..., bool]:
    """The built-in function `direct(inputs…, out)` or `shared(inputs…, out, ticket)`.

    `told` is the address that compiled loops get as their last argument.
    """
    words = [*_lock(), id(True), id(False), id(np.ndarray), id(np.dtype(dtype)), id(np.dtype(np.int64)), told]
    return _builtin(address, name, _METH_FASTCALL, words, keep)


def bound_function(
    address: int, name: str, arrays: Sequence[np.ndarray], cores: Sequence[int], told: int, keep: Any
) -> Any:
    """The built-in function `step()` that runs the loop on these arrays (output last)."""
    batch = np.broadcast_shapes(*(a.shape[: a.ndim - c] for a, c in zip(arrays, cores, strict=True)))
    count = int(np.prod(batch))
    outer = [_outer_stride(a, c, batch) for a, c in zip(arrays, cores, strict=True)]
    inner = [s for a, c in zip(arrays, cores, strict=True) for s in a.strides[a.ndim - c :]]
    args = np.array([a.ctypes.data for a in arrays], dtype=np.uint64)
    dims = np.array([count], dtype=np.int64)
    steps = np.array([*outer, *inner], dtype=np.int64)
    words = [*_lock(), id(None), args.ctypes.data, dims.ctypes.data, steps.ctypes.data, told]
    # NumPy moves the memory of an array, even where asked not to check, only if none refers weakly to it.
    fixed = [weakref.ref(a) for a in arrays]
    doc = f"{name}()\n--\n\n{_STEP}"  # a signature as Python reads it
    return _builtin(address, name, _METH_NOARGS, words, (arrays, fixed, args, dims, steps, keep), doc)


def _outer_stride(array: np.ndarray, core: int, batch: tuple[int, ...]) -> int:
    """The one stride that walks an array's batch, or an error if there is none."""
    axes = array.ndim - core
    if int(np.prod(array.shape[:axes])) <= 1:
        return 0
    flat = np.broadcast_to(array, (*batch, *array.shape[axes:]))
    strides = [(n, s) for n, s in zip(flat.shape[: len(batch)], flat.strides, strict=False) if n > 1]
    for (_, outer), (n, s) in pairwise(strides):
        if outer != n * s:
            raise ValueError("the batch axes do not lie in one row")
    return strides[-1][1] if strides else 0


def _lock() -> list[int]:
    """Addresses of the functions that give up the GIL and take it again.

    Without such a lock they let other threads go on that must stop all, to collect garbage for instance.
    """
    functions = (ctypes.pythonapi.PyEval_SaveThread, ctypes.pythonapi.PyEval_RestoreThread)
    return [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]


class _State(bytes):
    """The bytes that a built-in function reads, and what must live as long as it does."""

    keep: Any


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_void_p),
    )


def _builtin(address: int, name: str, flags: int, words: list[int], keep: Any, doc: str = "") -> Any:
    """The function at an address as an object of Python, with `words` for its `self`.

    Its definition stands behind the words: it must outlive the function even in a cycle of garbage, whose
    parts Python empties one after the other; the content of bytes is never emptied.
    """
    content = b"".join(w.to_bytes(8, sys.byteorder) for w in words)
    size = ctypes.sizeof(_MethodDef)
    state = _State(content + bytes(size) + name.encode() + b"\0" + doc.encode() + b"\0")
    state.keep = keep
    place = id(state) + _DATA + len(content)
    definition = _MethodDef(place + size, address, flags, place + size + len(name.encode()) + 1)
    ctypes.memmove(place, ctypes.addressof(definition), size)
    return _new_function()(place, state, None)


@cache
def _new_function() -> Callable[..., Any]:
    """Python's own constructor of built-in functions, with types that no other module changes."""
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return kind(("PyCFunction_NewEx", ctypes.pythonapi))
