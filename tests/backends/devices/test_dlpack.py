# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""DLPack's structure, read from NumPy and made for it."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from phalanx.backends.devices.cuda_arrays import _alive, capsule, imported

CPU = 1


class Lender:
    """Memory of the host, lent as if it were a device's."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options: object) -> object:
        pointer = self.values.ctypes.data
        return capsule(pointer, self.values.shape, self.values.dtype, (CPU, 0), self)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU, 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numpy_reads_what_we_lend_and_gives_it_back(dtype: str) -> None:
    lender = Lender(np.arange(6, dtype=dtype).reshape(2, 3))
    gone = weakref.ref(lender)
    taken = np.from_dlpack(lender)
    assert np.array_equal(taken, lender.values)
    assert taken.dtype == dtype
    del lender
    gc.collect()
    assert gone() is not None  # as long as anybody has it
    del taken
    gc.collect()
    assert gone() is None
    assert _alive == {}


def test_a_capsule_that_nobody_takes_gives_back_by_itself() -> None:
    made = Lender(np.zeros(3)).__dlpack__()
    assert len(_alive) == 1
    del made
    gc.collect()
    assert _alive == {}


@pytest.mark.parametrize(
    "array", [np.arange(12.0).reshape(3, 4), np.arange(12, dtype="f4").reshape(3, 4)[:, ::2]]
)
def test_we_read_what_numpy_lends(array: np.ndarray) -> None:
    found = imported(array, None)
    assert found.pointer == array.ctypes.data
    assert found.shape == array.shape
    assert found.strides in (None, array.strides)
    assert np.dtype(found.dtype) == array.dtype
    assert found.device == 0
