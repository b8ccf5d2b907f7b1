# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""CUDA's driver through NVIDIA's Python bindings: the few calls that kernels need, errors in our words."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from ...errors import PhalanxError, installing

_NO_DEVICE = 100


class Driver:
    """Devices, their memory, and kernels on them; `api` is NVIDIA's module, or one with its functions."""

    def __init__(self, api: Any) -> None:
        self._api = api
        self._contexts: dict[int, Any] = {}
        try:
            result = api.cuInit(0)
        except RuntimeError as error:  # the package is there, the driver's library is not
            raise PhalanxError(
                f"cuda: no driver of NVIDIA's GPUs was found ({str(error).splitlines()[0].rstrip('.')}); "
                'install the display driver of this machine, or use device="cpu".'
            ) from None
        if int(result[0]) == _NO_DEVICE:
            raise PhalanxError('cuda: the driver finds no GPU on this machine; use device="cpu".')
        self._check("cuInit", result)

    def _call(self, name: str, *args: Any) -> Any:
        return self._check(name, getattr(self._api, name)(*args))

    def _check(self, name: str, result: tuple[Any, ...]) -> Any:
        """The results of a call after its status; raises if it failed."""
        if int(result[0]) != 0:
            message = self._api.cuGetErrorString(result[0])[-1]
            reason = message.decode(errors="replace") if isinstance(message, bytes) else str(result[0])
            raise PhalanxError(f"cuda: {name} failed: {reason}.")
        return result[1] if len(result) == 2 else result[1:]

    @contextmanager
    def on(self, device: int) -> Iterator[None]:
        """A context in which that device is current for this thread."""
        if device not in self._contexts:
            count = int(self._call("cuDeviceGetCount"))
            if not 0 <= device < count:
                raise PhalanxError(f"cuda: there is no device {device}; this machine has {count}.")
            self._contexts[device] = self._call("cuDevicePrimaryCtxRetain", self._call("cuDeviceGet", device))
        self._call("cuCtxPushCurrent", self._contexts[device])
        try:
            yield
        finally:
            self._call("cuCtxPopCurrent")

    def attribute(self, device: int, name: str) -> int:
        """An attribute of a device, such as "MULTIPROCESSOR_COUNT"."""
        which = getattr(self._api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self._call("cuDeviceGetAttribute", which, self._call("cuDeviceGet", device)))

    def capability(self, device: int) -> tuple[int, int]:
        """Its compute capability."""
        kind = "COMPUTE_CAPABILITY"
        return self.attribute(device, f"{kind}_MAJOR"), self.attribute(device, f"{kind}_MINOR")

    def device_of(self, pointer: int) -> int:
        """The device that memory belongs to."""
        which = self._api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        return int(self._call("cuPointerGetAttribute", which, pointer))

    def function(self, ptx: str, name: str) -> tuple[Any, Any]:
        """Load PTX on the current device; returns the module, and the kernel `name` of it."""
        module = self._call("cuModuleLoadData", ptx.encode() + b"\0")
        return module, self._call("cuModuleGetFunction", module, name.encode())

    def unload(self, device: int, module: Any) -> None:
        """Unload a module that `function` has loaded on a device."""
        with suppress(Exception), self.on(device):  # also at interpreter shutdown
            self._call("cuCtxSynchronize")  # it may still run
            self._call("cuModuleUnload", module)

    def resident(self, function: Any, threads: int) -> int:
        """Resident blocks per multiprocessor (occupancy)."""
        return int(self._call("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, threads, 0))

    def free_memory(self) -> int:
        """Bytes that are free on the device that is current."""
        return int(self._call("cuMemGetInfo")[0])

    def launch(
        self, function: Any, blocks: int, threads: int, stream: int, count: int, pointers: Sequence[int]
    ) -> None:
        """Start a kernel with a count and addresses as its arguments."""
        values = [ctypes.c_int64(count), *(ctypes.c_void_p(p) for p in pointers)]
        addresses = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        grid = (blocks, 1, 1, threads, 1, 1, 0)
        self._call("cuLaunchKernel", function, *grid, stream, ctypes.addressof(addresses), 0)

    # ------------------------------------------------------------- memory and streams

    def allocate(self, size: int) -> int:
        """Memory that lives until `free`."""
        return int(self._call("cuMemAlloc", size))

    def free(self, pointer: int) -> None:
        self._call("cuMemFree", pointer)

    @contextmanager
    def passing(self, size: int, stream: int) -> Iterator[int]:
        """Memory for work on a stream, freed when that work is done."""
        pointer = int(self._call("cuMemAllocAsync", size, stream))
        try:
            yield pointer
        finally:
            self._call("cuMemFreeAsync", pointer, stream)

    def copy_in(self, pointer: int, address: int, size: int, stream: int) -> None:
        """From the host to the device."""
        self._call("cuMemcpyHtoDAsync", pointer, address, size, stream)

    def copy_out(self, address: int, pointer: int, size: int, stream: int) -> None:
        """From the device to the host."""
        self._call("cuMemcpyDtoHAsync", address, pointer, size, stream)

    def wait(self, stream: int) -> None:
        """Return when all work on a stream is done."""
        self._call("cuStreamSynchronize", stream)

    def follow(self, stream: int, other: int) -> None:
        """Make a stream wait for the work submitted to another one so far."""
        event = self._call("cuEventCreate", 2)  # without times
        try:
            self._call("cuEventRecord", event, other)
            self._call("cuStreamWaitEvent", stream, event, 0)
        finally:
            self._call("cuEventDestroy", event)


@cache
def driver() -> Driver:
    """The driver of this machine."""
    try:
        from cuda.bindings import driver as api
    except ModuleNotFoundError as error:
        raise PhalanxError(
            f'"cuda" needs the package "{error.name}", which is not installed; {installing("cuda")}.'
        ) from None
    return Driver(api)
