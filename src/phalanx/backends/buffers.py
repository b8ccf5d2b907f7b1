# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Memory for results: at cache lines, and used again once nobody holds a result any more.

The operating system hands out fresh pages one by one, each at the price of several states; where two
threads fill them, they wait for each other. Results of medium size therefore come from a pool of a few
buffers.
"""

from __future__ import annotations

from collections import deque
from math import prod
from typing import Any

import numpy as np

from ..arrays import require_memory

_LINE = 64  # bytes of a cache line: wide stores that straddle two take twice as long
_SMALL, _LARGE = 1 << 19, 1 << 24  # bytes of results between which buffers are recycled


class _Block:
    """Some memory and the first cache line in it."""

    def __init__(self, size: int) -> None:
        self.memory = np.empty(size + _LINE, np.uint8)
        self.size = size
        address = self.memory.__array_interface__["data"][0]
        self.place = (address + -address % _LINE, False)


_spare: deque[_Block] = deque(maxlen=4)  # appending drops the oldest; both ends are thread-safe


class _Loan:
    """A block in the hands of a user; the end of the last array on it gives it back."""

    def __init__(self, block: _Block, shape: tuple[int, ...], typestr: str) -> None:
        self.block = block
        self.__array_interface__ = {"shape": shape, "typestr": typestr, "data": block.place, "version": 3}

    def __del__(self, give_back: Any = _spare.append) -> None:
        give_back(self.block)


def empty_result(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array for a result, its content arbitrary."""
    dtype = np.dtype(dtype)
    size = prod(shape) * dtype.itemsize
    if size > _LARGE:
        require_memory(size, f"a result of shape {shape}", "take the states in several batches")
    if not _SMALL <= size <= _LARGE:
        return np.empty(shape, dtype)
    return np.asarray(_Loan(_block(size), shape, dtype.str))


def _block(size: int) -> _Block:
    """A spare block of that size, at most half as large again, or a new one."""
    for _ in range(len(_spare)):
        try:
            block = _spare.popleft()
        except IndexError:  # another thread was faster
            break
        if size <= block.size <= size + size // 2:
            return block
        _spare.append(block)
    return _Block(size)
