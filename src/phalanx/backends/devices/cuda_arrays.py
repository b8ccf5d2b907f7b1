# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Arrays on a GPU, of any library: their address, their stream, and results of the same library.

Libraries describe their arrays by `__cuda_array_interface__` or by DLPack, whose structures are at the end.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...errors import PhalanxError, shown
from .cuda_driver import Driver

CUDA, MANAGED = 2, 13  # DLPack's kinds of devices whose addresses CUDA's kernels take
_FLOAT = 2
_CODES = {0: "i", 1: "u", _FLOAT: "f", 5: "c", 6: "b"}
_CAPSULE = b"dltensor"
DEFAULT_STREAM = 1  # as both protocols number it: the legacy default stream, which waits for all others


@dataclass(frozen=True)
class View:
    """An array on a device."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # in bytes; None: C-contiguous
    dtype: np.dtype
    device: int
    stream: int | None  # on which it is being computed, if its library says so
    writeable: bool
    owner: Any  # of the memory, which lives as long

    @property
    def is_contiguous(self) -> bool:
        if self.strides is None or 0 in self.shape:
            return True
        natural = self.dtype.itemsize
        for n, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if n != 1 and stride != natural:
                return False
            natural *= n
        return True


def is_on_device(array: Any) -> bool:
    """Whether an array is on a GPU."""
    if isinstance(array, np.ndarray | np.generic | float | int | list | tuple):
        return False
    if hasattr(type(array), "__dlpack_device__"):
        return int(array.__dlpack_device__()[0]) in (CUDA, MANAGED)
    return hasattr(array, "__cuda_array_interface__")


def view_of(array: Any, where: str, driver: Driver, stream: int | None) -> View:
    """The view of an array on a GPU; work on `stream` then waits for what its library still does to it."""
    if hasattr(array, "block_until_ready"):  # JAX names no stream
        array.block_until_ready()
    found = None
    with suppress(AttributeError, RuntimeError):  # PyTorch refuses those that record gradients
        found = array.__cuda_array_interface__
    if found is None:
        if getattr(array, "requires_grad", False):
            raise PhalanxError(f"{where} records gradients, which kernels do not; pass x.detach().")
        got = imported(array, stream if stream else DEFAULT_STREAM)
        dtype = np.dtype(got.dtype)
        return View(got.pointer, got.shape, got.strides, dtype, got.device, None, True, got.owner)
    if found.get("mask") is not None:
        raise PhalanxError(f"{where} is masked, expected plain numbers.")
    pointer, read_only = found["data"]
    shape, dtype = tuple(found["shape"]), np.dtype(found["typestr"])
    device = driver.device_of(pointer) if pointer else 0
    strides = tuple(found["strides"]) if found.get("strides") is not None else None
    own = found.get("stream", _torch_stream(array))
    return View(int(pointer or 0), shape, strides, dtype, device, own, not read_only, array)


def _torch_stream(array: Any) -> int | None:
    """PyTorch's current stream, which its interface does not name."""
    if type(array).__module__.partition(".")[0] != "torch":
        return None
    return int(sys.modules["torch"].cuda.current_stream(array.device).cuda_stream) or DEFAULT_STREAM


def handle_of(stream: Any) -> int | None:
    """The handle of a CUDA stream: an integer, or a stream of CuPy, PyTorch, Numba or NVIDIA's packages."""
    if stream is None or (isinstance(stream, int) and not isinstance(stream, bool) and stream >= 0):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("ptr", "cuda_stream", "handle"):
        found = getattr(stream, name, None)
        found = getattr(found, "value", found)
        if isinstance(found, int):
            return found
    raise PhalanxError(
        f"stream is {shown(stream)}, expected a stream of CuPy, PyTorch or Numba, or its number."
    )


class DeviceArray:
    """Memory of a GPU with numbers in it, for libraries that read either protocol; `np.asarray` copies it."""

    def __init__(self, driver: Driver, shape: tuple[int, ...], dtype: np.dtype, device: int, stream: int):
        self.shape, self.dtype = shape, dtype
        self._driver, self._device, self._stream = driver, device, stream
        self._pointer = 0
        if self.nbytes:
            with driver.on(device):
                self._pointer = driver.allocate(self.nbytes)

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._pointer, False),
            "version": 3,
            "strides": None,
            "stream": self._stream or DEFAULT_STREAM,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self._device

    def __dlpack__(self, stream: int | None = None, **options: Any) -> Any:
        with self._driver.on(self._device):
            self._driver.wait(self._stream)
        return capsule(self._pointer, self.shape, self.dtype, (CUDA, self._device), self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an array on a GPU cannot be read without a copy")
        made = np.empty(self.shape, self.dtype)
        if self.nbytes:
            with self._driver.on(self._device):
                self._driver.copy_out(made.ctypes.data, self._pointer, self.nbytes, self._stream)
                self._driver.wait(self._stream)
        return made if dtype is None else made.astype(dtype)

    def __repr__(self) -> str:
        return f"<DeviceArray {self.shape}, {self.dtype}, CUDA device {self._device}>"

    def __del__(self) -> None:
        if getattr(self, "_pointer", 0):
            with suppress(Exception), self._driver.on(self._device):  # also while the interpreter ends
                self._driver.free(self._pointer)


def empty_like(
    example: Any, dtype: np.dtype, shape: tuple[int, ...], driver: Driver, device: int, stream: int
) -> Any:
    """An uninitialised array for a result, of the library of an input."""
    library = type(example).__module__.partition(".")[0]
    if library == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype.name), device=example.device)
    if library == "cupy":
        with example.device:
            return sys.modules["cupy"].empty(shape, dtype)
    return DeviceArray(driver, shape, dtype, device, stream)


def handed_over(result: Any, example: Any) -> Any:
    """A result as an array of the library of an input: JAX cannot write to its own arrays."""
    if isinstance(result, DeviceArray) and type(example).__module__.startswith("jax"):
        return sys.modules["jax"].dlpack.from_dlpack(result)
    return result


# ------------------------------------------------------------------- DLPack


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
    """An array of another library; its address is valid as long as `owner` lives."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # in bytes; None: C-contiguous
    dtype: str  # as NumPy's protocols write it
    device: int
    owner: Any


def imported(array: Any, stream: int | None) -> Shared:
    """The memory of an array with `__dlpack__`, ready for work on a stream."""
    capsule = array.__dlpack__(stream=stream)
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    tensor = ctypes.cast(
        api.PyCapsule_GetPointer(capsule, _CAPSULE), ctypes.POINTER(_Managed)
    ).contents.tensor
    size = tensor.type.bits // 8
    shape = tuple(tensor.shape[k] for k in range(tensor.axes))
    strides = tuple(size * tensor.strides[k] for k in range(tensor.axes)) if tensor.strides else None
    dtype = f"<{_CODES.get(tensor.type.code, 'V')}{size}"
    pointer = (tensor.data or 0) + tensor.offset
    return Shared(pointer, shape, strides, dtype, tensor.device.number, capsule)


_alive: dict[int, tuple[Any, ...]] = {}  # memory that other libraries use, until they release it


def capsule(
    pointer: int, shape: tuple[int, ...], dtype: np.dtype, device: tuple[int, int], owner: Any
) -> Any:
    """A capsule with C-contiguous memory of real numbers; `owner` lives until it is released."""
    sizes = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    kind = _Type(_FLOAT, 8 * dtype.itemsize, 1)
    tensor = _Tensor(pointer, _Device(*device), len(shape), kind, sizes, None, 0)
    made = _Managed(tensor, None, _deleter)
    address = ctypes.addressof(made)
    _alive[address] = (made, sizes, owner)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR)
    return new(address, _CAPSULE, _destructor)


def _released(managed: Any) -> None:
    _alive.pop(ctypes.addressof(managed.contents), None)


def _ended(address: int) -> None:
    """The destructor of a capsule; a consumer that took its memory has renamed it."""
    api = ctypes.pythonapi
    valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", api))
    if valid(address, _CAPSULE):
        get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", api)
        )
        _alive.pop(get(address, _CAPSULE) or 0, None)


_deleter = _DELETER(_released)
_destructor = _DESTRUCTOR(_ended)
