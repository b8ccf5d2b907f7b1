# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Built-in functions made from compiled code: the runtime that all kernels share, and one entry for each.

The runtime (`runtime/*.ll`) checks arrays, iterates over batches and lets threads share them; it is compiled
once for a machine. A function reads the facts of its kernel from a bytes object, its `self`.
"""

from __future__ import annotations

import ctypes
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from ...arrays import MOST_AXES
from . import compile
from .compile import Target, host
from .gufunc import lazily

# Every object has the same header, with its type last; free-threaded builds have more fields before it.
# The reference count is read only in versions that store it right before the type.
_HEAD = object.__basicsize__
# Fields of an array object, unchanged since NumPy 1.7; checked before first use.
_FIELDS = {"pointer": 0, "ndim": 8, "shape": 16, "strides": 24, "dtype": 40, "flags": 48}
_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x0001, 0x0100, 0x0400
_DATA = bytes.__basicsize__ - 1  # where the content of a bytes object starts
# None, True and False have reference counts, or are immortal since Python 3.12; counting those would
# move a cache line from core to core.
_COUNTED = sys.version_info < (3, 12)
_STEP = "Recompute the output, in place, from the arrays that were bound."
_METH_FASTCALL, _METH_NOARGS = 0x0080, 0x0004

OPERANDS = 16  # of a kernel, at most: the runtime has room for no more
_LONG = 256  # rows from which a bound step lets other threads run: some tens of microseconds
_LOOKS = 1000  # polls of a batch that others are about to finish: some tens of microseconds
_AWAKE = 2_000_000  # nanoseconds that a worker stays awake after its last rows, for the next call of a loop
_POLITE = 200_000  # of these, nanoseconds after which it yields its core between polls
_NAMES = ("direct", "bound", "vectorcall", "reset", "serve")
_PYTHON = (
    *("PyEval_SaveThread", "PyEval_RestoreThread", "PyLong_AsSsize_t", "PyErr_Occurred"),
    *("PyMethod_New", "PyObject_Vectorcall", "Py_DecRef"),
)
_HAVE_VECTORCALL = 1 << 11  # a flag of types, whose instances then hold the address of what calls them
# What sleeping threads need of the C library, by number of arguments.
_POSIX = {
    "pthread_mutex_init": 2,
    "pthread_mutex_lock": 1,
    "pthread_mutex_unlock": 1,
    "pthread_cond_init": 2,
    "pthread_cond_wait": 2,
    "pthread_cond_signal": 1,
    "pthread_cond_broadcast": 1,
    "sched_yield": 0,
}


@cache
def usable() -> bool:
    """Whether this Python and this NumPy lay out their objects as compiled code expects."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    probe = np.zeros((2, 3))[:, ::2]
    base = id(probe)
    word = ctypes.c_uint64.from_address
    at = {name: base + _HEAD + offset for name, offset in _FIELDS.items()}
    content = b"phalanx!"
    return bool(
        ctypes.string_at(id(content) + _DATA, 8) == content
        and word(base + _HEAD - 8).value == id(np.ndarray)
        and word(at["pointer"]).value == probe.ctypes.data
        and ctypes.c_int.from_address(at["ndim"]).value == 2
        and list((ctypes.c_int64 * 2).from_address(word(at["shape"]).value)) == [2, 2]
        and list((ctypes.c_int64 * 2).from_address(word(at["strides"]).value)) == [24, 16]
        and word(at["dtype"]).value == id(np.dtype(np.float64))
        and ctypes.c_int.from_address(at["flags"]).value == probe.flags.num
    )


@cache
def runtime() -> Mapping[str, int]:
    """Addresses of the functions that all kernels share, loaded for the life of the process.

    They are never freed: workers may still run them while the interpreter ends.
    """
    symbols = {name: _address(getattr(ctypes.pythonapi, name)) for name in _PYTHON}
    symbols |= {"True": id(True), "False": id(False), "None": id(None), "ndarray": id(np.ndarray)}
    own = None if (slot := _ufunc_slot()) is None else ctypes.c_void_p.from_address(id(np.add) + slot).value
    # If the slot of ufuncs is unknown, nothing calls `vectorcall`.
    symbols |= {
        "NotImplemented": id(NotImplemented),
        "lazily": id(lazily),
        "ufunc": own or symbols["Py_DecRef"],
    }
    symbols |= posix()
    ir = _runtime_ir(host())
    loaded, _ = compile.cached_or_made(
        ("runtime", ir), lambda: (ir, compile.CodegenOptions()), _NAMES, symbols
    )
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(loaded))
    ctypes.CFUNCTYPE(None)(loaded.addresses["reset"])()
    return loaded.addresses


@cache
def _ufunc_slot() -> int | None:
    """The offset of the vectorcall function in a ufunc of NumPy; None if it is not found."""
    offset = ctypes.c_ssize_t.from_address(
        id(np.ufunc) + _HEAD + 8 * 5
    ).value  # behind size, name, two sizes, …
    if not np.ufunc.__flags__ & _HAVE_VECTORCALL or not 0 < offset <= np.ufunc.__basicsize__ - 8:
        return None
    found = {ctypes.c_void_p.from_address(id(ufunc) + offset).value for ufunc in (np.add, np.sin, np.matmul)}
    return offset if len(found) == 1 and None not in found else None


def show_first(ufunc: Any) -> None:
    """Make a ufunc pass arguments other than plain arrays to `gufunc.lazily` before NumPy converts them."""
    if type(ufunc) is np.ufunc and usable() and (offset := _ufunc_slot()) is not None:
        ctypes.c_void_p.from_address(id(ufunc) + offset).value = runtime()["vectorcall"]


@cache
def posix() -> dict[str, int]:
    """Addresses of the C library's functions with which threads sleep; empty if one is missing."""
    names = (*_POSIX, "clock_gettime")
    found = {name: compile.address_in_process(name) for name in names}
    return {
        name: offset for name, offset in found.items() if offset is not None and None not in found.values()
    }


def _runtime_ir(target: Target) -> str:
    """The LLVM IR of the runtime, for this Python, this NumPy and a machine."""
    words: dict[str, Any] = {name: _HEAD + offset for name, offset in _FIELDS.items()}
    words |= {"type": _HEAD - 8, "data": _DATA, "most": MOST_AXES, "slots": MOST_AXES + 1, "long": _LONG}
    words["contiguous"], words["writeable"] = _CONTIGUOUS, _WRITEABLE
    words |= {"operands": OPERANDS, "row": 8 * OPERANDS, "steps": 4 * OPERANDS, "field": 0xFFFF}
    pause, declared = pausing(target)
    words |= {"looks": _LOOKS, "pause": pause, "awake": _AWAKE if posix() else 0, "polite": _POLITE}
    words["refer"] = _COUNT if _COUNTED else ""
    declarations = list(declared)
    if posix():
        declarations += [f"declare i32 @{f}({', '.join(['ptr'] * n)})" for f, n in _POSIX.items()]
        declarations.append("declare i32 @clock_gettime(i32, ptr)")
        words["clock"] = CLOCK.format(number=time.CLOCK_MONOTONIC)
    else:  # nothing sleeps: waiting threads poll
        declarations += [
            f"define internal i32 @{f}({', '.join(['ptr'] * n)}) {{\n  ret i32 0\n}}"
            for f, n in _POSIX.items()
        ]
        words["clock"] = "ret i64 0"
    words["declarations"] = "\n".join(declarations)
    folder = Path(__file__).with_name("runtime")
    ir = "".join(
        (folder / f"{part}.ll").read_text(encoding="utf-8") for part in ("entry", "walk", "workers", "team")
    )
    return Template(ir).substitute(words)


_COUNT = f"""%references.at = getelementptr i8, ptr %reply, i64 {_HEAD - 16}
  %references = load i64, ptr %references.at
  %references.next = add i64 %references, 1
  store i64 %references.next, ptr %references.at"""
CLOCK = """%failed = call i32 @clock_gettime(i32 {number}, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum"""


def pausing(target: Target) -> tuple[str, list[str]]:
    """LLVM IR of the instruction that pauses a core in a spin loop, and its declaration."""
    if target.triple.startswith(("x86_64", "amd64")):
        return "call void @llvm.x86.sse2.pause()", ["declare void @llvm.x86.sse2.pause()"]
    if target.triple.startswith(("aarch64", "arm64")):
        return "call void @llvm.aarch64.hint(i32 1)", ["declare void @llvm.aarch64.hint(i32)"]
    return "", []


def array_function(
    loaded: compile.Loaded,
    name: str,
    dtype: np.dtype,
    shapes: Sequence[tuple[int, ...]],
    outputs: int,
    uniforms: int,
    keep: Any,
) -> Callable[..., bool]:
    """The built-in function `direct(inputs…, outputs…)` of a kernel with operands of some core shapes.

    It checks that inputs broadcast to the last output and share no memory with it; with several outputs the
    caller must check the others.

    `uniforms` is the address that compiled loops get as their last argument.
    """
    assert len(shapes) <= OPERANDS, shapes
    words = [id(np.dtype(dtype)), loaded.loop, loaded.single, uniforms, len(shapes), loaded.shared]
    for k, shape in enumerate(shapes):
        flags = _ALIGNED | (_WRITEABLE if k >= len(shapes) - outputs else 0)
        words += [len(shape) | flags << 32, *shape, *[0] * (3 - len(shape))]
    return _builtin(runtime()["direct"], name, _METH_FASTCALL, words, (loaded, keep))


def bound_function(
    loaded: compile.Loaded,
    name: str,
    arrays: Sequence[np.ndarray],
    cores: Sequence[int],
    uniforms: int,
    keep: Any,
    helpers: int = 0,
) -> Any:
    """The built-in function `step()` that runs the loop on these arrays (outputs last).

    With `helpers` one state in contiguous arrays is shared with so many workers; the code must have phases.
    """
    batch = np.broadcast_shapes(*(a.shape[: a.ndim - c] for a, c in zip(arrays, cores, strict=True)))
    count = int(np.prod(batch))
    outer = [_outer_stride(a, c, batch) for a, c in zip(arrays, cores, strict=True)]
    inner = [s for a, c in zip(arrays, cores, strict=True) for s in a.strides[a.ndim - c :]]
    args = np.array([a.ctypes.data for a in arrays], dtype=np.uint64)
    dims = np.array([count], dtype=np.int64)
    steps = np.array([*outer, *inner], dtype=np.int64)
    words = [loaded.loop, uniforms, args.ctypes.data, dims.ctypes.data, steps.ctypes.data]
    words += [loaded.shared if helpers else 0, helpers]
    # NumPy moves the memory of an array, even with refcheck=False, only if it has no weak references.
    fixed = [weakref.ref(a) for a in arrays]
    doc = f"{name}()\n--\n\n{_STEP}"  # a signature as Python reads it
    held = (arrays, fixed, args, dims, steps, loaded, keep)
    return _builtin(runtime()["bound"], name, _METH_NOARGS, words, held, doc)


def _outer_stride(array: np.ndarray, core: int, batch: tuple[int, ...]) -> int:
    """The single stride of an array's batch, flattened; an error if there is none."""
    axes = array.ndim - core
    if int(np.prod(array.shape[:axes])) <= 1:
        return 0
    flat = np.broadcast_to(array, (*batch, *array.shape[axes:]))
    strides = [(n, s) for n, s in zip(flat.shape[: len(batch)], flat.strides, strict=False) if n > 1]
    for (_, outer), (n, s) in pairwise(strides):
        if outer != n * s:
            raise ValueError("the batch axes do not lie in one row")
    return strides[-1][1] if strides else 0


def _address(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


class _State(bytes):
    """The memory that a built-in function reads, and references to objects that must outlive it."""

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

    Its method definition is stored after the words: it must outlive the function even in a reference cycle,
    whose objects Python clears one after the other; the content of bytes is never cleared.
    """
    content = b"".join(w.to_bytes(8, sys.byteorder) for w in words)
    size = ctypes.sizeof(_MethodDef)
    state = _State(content + bytes(size) + name.encode() + b"\0" + doc.encode() + b"\0")
    state.keep = keep
    start = id(state) + _DATA + len(content)
    definition = _MethodDef(start + size, address, flags, start + size + len(name.encode()) + 1)
    ctypes.memmove(start, ctypes.addressof(definition), size)
    return _new_function()(start, state, None)


@cache
def _new_function() -> Callable[..., Any]:
    """Python's own constructor of built-in functions, with types that no other module changes."""
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return kind(("PyCFunction_NewEx", ctypes.pythonapi))
