# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Arrays on a GPU, of whatever library: where they lie, on which stream, and results of the same kind."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ...errors import PhalanxError, shown
from .cuda_driver import Driver
from .dlpack import CUDA, MANAGED, capsule, lent

DEFAULT_STREAM = 1  # as both protocols number it: the one that waits for all others


@dataclass(frozen=True)
class View:
    """An array on a device."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # in bytes; None: C-contiguous
    dtype: np.dtype
    device: int
    stream: int | None  # on which it is being computed, if its library tells
    writeable: bool
    owner: Any  # keeps the memory

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
    """Whether an array lies on a GPU."""
    if isinstance(array, np.ndarray | np.generic | float | int | list | tuple):
        return False
    if hasattr(type(array), "__dlpack_device__"):
        return int(array.__dlpack_device__()[0]) in (CUDA, MANAGED)
    return hasattr(array, "__cuda_array_interface__")


def view_of(array: Any, where: str, driver: Driver, stream: int | None) -> View:
    """Where an array on a GPU lies; with a `stream`, what its library still does to it comes first."""
    if hasattr(array, "block_until_ready"):  # JAX tells no stream
        array.block_until_ready()
    found = None
    with suppress(AttributeError, RuntimeError):  # PyTorch refuses those that record gradients
        found = array.__cuda_array_interface__
    if found is None:
        if getattr(array, "requires_grad", False):
            raise PhalanxError(f"{where} records gradients, which kernels do not; pass x.detach().")
        got = lent(array, stream if stream else DEFAULT_STREAM)
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
    """PyTorch's interface tells no stream; its current one is meant."""
    if type(array).__module__.partition(".")[0] != "torch":
        return None
    return int(sys.modules["torch"].cuda.current_stream(array.device).cuda_stream) or DEFAULT_STREAM


def handle_of(stream: Any) -> int | None:
    """The number of a stream: as it is, or of CuPy, PyTorch, Numba or NVIDIA's own packages."""
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


def empty_like(example: Any, view: View, shape: tuple[int, ...], driver: Driver, stream: int) -> Any:
    """An array for a result, of the library of an input."""
    library = type(example).__module__.partition(".")[0]
    if library == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, view.dtype.name), device=example.device)
    if library == "cupy":
        with example.device:
            return sys.modules["cupy"].empty(shape, view.dtype)
    return DeviceArray(driver, shape, view.dtype, view.device, stream)


def handed_over(result: Any, example: Any) -> Any:
    """A result as the library of an input has it, for one whose arrays cannot be written to."""
    if isinstance(result, DeviceArray) and type(example).__module__.startswith("jax"):
        return sys.modules["jax"].dlpack.from_dlpack(result)
    return result
