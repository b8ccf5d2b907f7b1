# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""DLPack's structure, read and made: where an array of another library lies, and ours for others."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

CUDA, MANAGED = 2, 13  # kinds of devices whose addresses CUDA's kernels take
_FLOAT = 2
_CODES = {0: "i", 1: "u", _FLOAT: "f", 5: "c", 6: "b"}
_NAME = b"dltensor"


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("number", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("axes", ctypes.c_int32),
        ("type", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER))
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class Shared(NamedTuple):
    """An array of another library: `owner` must live as long as its address is used."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # in bytes; None: C-contiguous
    dtype: str  # as NumPy's protocols write it
    device: int
    owner: Any


def lent(array: Any, stream: int | None) -> Shared:
    """What an array with `__dlpack__` lends to work on a stream."""
    capsule = array.__dlpack__(stream=stream)
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    tensor = ctypes.cast(api.PyCapsule_GetPointer(capsule, _NAME), ctypes.POINTER(_Managed)).contents.tensor
    size = tensor.type.bits // 8
    shape = tuple(tensor.shape[k] for k in range(tensor.axes))
    strides = tuple(size * tensor.strides[k] for k in range(tensor.axes)) if tensor.strides else None
    dtype = f"<{_CODES.get(tensor.type.code, 'V')}{size}"
    pointer = (tensor.data or 0) + tensor.offset
    return Shared(pointer, shape, strides, dtype, tensor.device.number, capsule)


_alive: dict[int, tuple[Any, ...]] = {}  # what has been lent to others, until they give it back


def capsule(
    pointer: int, shape: tuple[int, ...], dtype: np.dtype, device: tuple[int, int], owner: Any
) -> Any:
    """A capsule that lends C-contiguous memory of real numbers; `owner` lives until it is given back."""
    sizes = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    kind = _Type(_FLOAT, 8 * dtype.itemsize, 1)
    tensor = _Tensor(pointer, _Device(*device), len(shape), kind, sizes, None, 0)
    made = _Managed(tensor, None, _give_back)
    address = ctypes.addressof(made)
    _alive[address] = (made, sizes, owner)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR)
    return new(address, _NAME, _unused)


def _returned(managed: Any) -> None:
    _alive.pop(ctypes.addressof(managed.contents), None)


def _ended(address: int) -> None:
    """The end of a capsule; whoever has taken what it lends has renamed it."""
    api = ctypes.pythonapi
    valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", api))
    if valid(address, _NAME):
        get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", api)
        )
        _alive.pop(get(address, _NAME) or 0, None)


_give_back = _DELETER(_returned)
_unused = _DESTRUCTOR(_ended)
