# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What stands in for NVIDIA's bindings: devices that run PTX, slowly, and remember their calls."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np

from .ptx_machine import _SPACES, Machine, Memory

MAJOR, MINOR = 9, 0
_OUT_OF_MEMORY = 2


class FakeCuda:
    """The functions of `cuda.bindings.driver` that are called, on memory of its own."""

    def __init__(self, devices: int = 1, capability: tuple[int, int] = (MAJOR, MINOR)) -> None:
        self.memory = Memory(_SPACES["global"])
        self.devices, self.capability = devices, capability
        self.calls: list[tuple[Any, ...]] = []
        self.current: list[Any] = []
        self.free_bytes = 1 << 30
        self.unloaded = 0
        self.owner: dict[int, int] = {}  # device of an address
        self.CUdevice_attribute = SimpleNamespace(
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR="major",
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR="minor",
            CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT="multiprocessors",
            CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK="threads",
        )
        self.CUpointer_attribute = SimpleNamespace(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL="ordinal")

    def names(self) -> list[str]:
        """Which functions were called."""
        return [call[0] for call in self.calls]

    # ------------------------------------------------------------- devices

    def cuInit(self, flags: int) -> tuple[int]:
        return (0,) if self.devices else (100,)

    def cuGetErrorString(self, error: int) -> tuple[int, bytes]:
        return 0, b"out of memory" if error == _OUT_OF_MEMORY else b"some error"

    def cuDeviceGetCount(self) -> tuple[int, int]:
        return 0, self.devices

    def cuDeviceGet(self, number: int) -> tuple[int, int]:
        return 0, number

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int, str]:
        return 0, f"context {device}"

    def cuCtxPushCurrent(self, context: str) -> tuple[int]:
        self.current.append(context)
        return (0,)

    def cuCtxPopCurrent(self) -> tuple[int, str]:
        return 0, self.current.pop()

    def cuDeviceGetAttribute(self, which: str, device: int) -> tuple[int, int]:
        known = {
            "major": self.capability[0],
            "minor": self.capability[1],
            "multiprocessors": 2,
            "threads": 1024,
        }
        return 0, known[which]

    def cuPointerGetAttribute(self, which: str, pointer: int) -> tuple[int, int]:
        return 0, self.owner.get(pointer, 0)

    # ------------------------------------------------------------- kernels

    def cuModuleLoadData(self, image: bytes) -> tuple[int, Machine]:
        assert self.current
        assert image.endswith(b"\0")
        return 0, Machine(image[:-1].decode(), self.memory)

    def cuModuleGetFunction(self, module: Machine, name: bytes) -> tuple[int, Any]:
        return 0, (module, name.decode())

    def cuModuleUnload(self, module: Machine) -> tuple[int]:
        self.unloaded += 1
        return (0,)

    def cuCtxSynchronize(self) -> tuple[int]:
        return (0,)

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(
        self, f: Any, threads: int, shared: int
    ) -> tuple[int, int]:
        return 0, 1

    def cuLaunchKernel(
        self,
        f: Any,
        gx: int,
        gy: int,
        gz: int,
        bx: int,
        by: int,
        bz: int,
        shared: int,
        stream: int,
        at: int,
        more: int,
    ) -> tuple[int]:
        assert (gy, gz, by, bz, shared, more) == (1, 1, 1, 1, 0, 0)
        machine, name = f
        places = (ctypes.c_void_p * len(machine.functions[name].parameters)).from_address(at)
        values = [ctypes.c_uint64.from_address(place).value for place in places]
        self.calls.append(("launch", gx, bx, stream, values[0], self.current[-1]))
        machine.launch(name, gx, bx, values)
        return (0,)

    # ------------------------------------------------------------- memory and streams

    def cuMemGetInfo(self) -> tuple[int, int, int]:
        return 0, self.free_bytes, 1 << 40

    def cuMemAlloc(self, size: int) -> tuple[int, int]:
        if size > self.free_bytes:
            return _OUT_OF_MEMORY, 0
        pointer = self.memory.allocate(size)
        self.owner[pointer] = int(self.current[-1].split()[1])
        return 0, pointer

    def cuMemFree(self, pointer: int) -> tuple[int]:
        self.memory.release(pointer)
        return (0,)

    def cuMemAllocAsync(self, size: int, stream: int) -> tuple[int, int]:
        return self.cuMemAlloc(size)

    def cuMemFreeAsync(self, pointer: int, stream: int) -> tuple[int]:
        return self.cuMemFree(pointer)

    def cuMemcpyHtoDAsync(self, pointer: int, address: int, size: int, stream: int) -> tuple[int]:
        at = pointer - self.memory.base
        self.memory.data[at : at + size] = np.frombuffer(ctypes.string_at(address, size), np.uint8)
        self.memory.written[at : at + size] = True
        self.calls.append(("in", size, stream))
        return (0,)

    def cuMemcpyDtoHAsync(self, address: int, pointer: int, size: int, stream: int) -> tuple[int]:
        at = pointer - self.memory.base
        assert self.memory.written[at : at + size].all()
        ctypes.memmove(address, self.memory.data[at : at + size].tobytes(), size)
        self.calls.append(("out", size, stream))
        return (0,)

    def cuStreamSynchronize(self, stream: int) -> tuple[int]:
        self.calls.append(("wait", stream))
        return (0,)

    def cuEventCreate(self, flags: int) -> tuple[int, str]:
        return 0, "event"

    def cuEventDestroy(self, event: str) -> tuple[int]:
        return (0,)

    def cuEventRecord(self, event: str, stream: int) -> tuple[int]:
        self.calls.append(("record", stream))
        return (0,)

    def cuStreamWaitEvent(self, stream: int, event: str, flags: int) -> tuple[int]:
        self.calls.append(("follow", stream))
        return (0,)


class FakeArray:
    """An array of some library on such a device, told by the interface that CuPy, PyTorch and JAX share."""

    def __init__(self, cuda: FakeCuda, values: np.ndarray, device: int = 0, **facts: Any) -> None:
        self.cuda, self.shape, self.dtype = cuda, values.shape, values.dtype
        content = np.ascontiguousarray(values).tobytes()
        self.pointer = cuda.memory.allocate(content) if content else 0
        cuda.owner[self.pointer] = device
        self.__cuda_array_interface__ = {
            "shape": values.shape,
            "typestr": values.dtype.str,
            "data": (self.pointer, False),
            "version": 3,
            **facts,
        }

    def get(self) -> np.ndarray:
        """What is in it now."""
        at = self.pointer - self.cuda.memory.base
        size = self.dtype.itemsize * int(np.prod(self.shape))
        return self.cuda.memory.data[at : at + size].view(self.dtype).reshape(self.shape)
