# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Arrays from users: real numbers, none masked, no more than memory holds; and arrays for results.

The operating system hands out fresh pages one by one, each at the price of several states; where two
threads fill them, they wait for each other. Results of medium size therefore come from a pool of a few
buffers, at cache lines, used again once nobody holds a result any more.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from .errors import PhalanxError, shown

MOST_AXES = 32  # of a batch: that NumPy broadcasts
_DEEPEST = 64  # axes of an array
_LINE = 64  # bytes of a cache line: wide stores that straddle two take twice as long
_MEDIUM, _LARGE = 1 << 19, 1 << 24  # bytes of results between which buffers are recycled
# What reading a value as an array may raise; objects of other libraries raise what they like.
UNREADABLE = (TypeError, ValueError, OverflowError, RuntimeError)


def real_numbers(value: Any, where: str, expected: str) -> np.ndarray:
    """Return `value` as float64, or raise naming the argument and what was expected."""
    array = real_or_none(value, where)
    if array is None:
        raise PhalanxError(f"{where}: got {shown(value)}, expected {expected}.")
    return array


def real_or_none(value: Any, where: str) -> np.ndarray | None:
    """Return `value` as float64, None where it is no array of real numbers; masked entries raise."""
    refuse_masks(value, where)
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O":  # fractions, integers without end; NumPy would take None for NaN
            array = np.asarray(np.frompyfunc(float, 1, 1)(array))
        elif array.dtype.kind not in "fiub":
            raise TypeError
        return np.asarray(array, dtype=float)
    except UNREADABLE:
        return None


def real_array(value: Any, label: str, robot: str) -> np.ndarray:
    """Return `value` as float64 or float32; object, string and complex arrays are refused."""
    refuse_masks(value, label)
    try:
        array = np.asarray(value)
    except UNREADABLE:
        raise PhalanxError(
            f"{label} is not an array: its rows differ in length or cannot be read; "
            f'expected real numbers for robot "{robot}".'
        ) from None
    if array.dtype == np.float64 or array.dtype == np.float32:
        return array
    if array.dtype.kind not in "fiub":
        if hasattr(value, "scalars"):
            raise PhalanxError(
                f'{label} is a traced value, expected real numbers for robot "{robot}"; inside a traced '
                "function, take robot as an argument and call its methods."
            )
        raise PhalanxError(
            f'{label} has dtype {array.dtype}, expected real numbers for robot "{robot}"; '
            "convert it with np.asarray(x, dtype=float)."
        )
    return array.astype(np.float64)


def require_shape(shape: tuple[int, ...], core: tuple[int, ...], where: str, whose: str = "") -> None:
    """Raise unless a shape ends in the axes `core`; `whose` ends the message, as in ' for robot "panda"'."""
    if not ends_in(shape, core):
        expected = ", ".join(["…", *map(str, core)])
        raise PhalanxError(f"{where} has shape {shape}, expected ({expected}){whose}.")


def ends_in(shape: tuple[int, ...], core: tuple[int, ...]) -> bool:
    """Whether the axes `core` are the last ones of a shape."""
    return len(shape) >= len(core) and shape[len(shape) - len(core) :] == core


def common_batch(batches: Mapping[str, tuple[int, ...]], where: str, whose: str = "") -> tuple[int, ...]:
    """Return the shape to which the batches of some arrays broadcast, or raise naming all of them."""
    try:
        return np.broadcast_shapes(*batches.values())
    except ValueError:
        listed = ", ".join(f"{name} {batch}" for name, batch in batches.items())
        raise PhalanxError(f"{where}: the batch shapes{whose} do not broadcast: {listed}.") from None


def float_type(value: Any, where: str) -> np.dtype:
    """Return float64 or float32 as NumPy's type, or raise naming the argument."""
    try:
        kind = np.dtype(value)
    except UNREADABLE:
        kind = np.dtype(object)
    if kind not in (np.float64, np.float32):
        raise PhalanxError(f"{where}: dtype {shown(value)}, expected float64 or float32.")
    return kind


def is_masked_array(value: Any) -> bool:
    """Whether a value is a masked array, masked entries or not."""
    # What was never imported, or is being imported by another thread, made no array.
    kind = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return kind is not None and isinstance(value, kind)


def overlaps_itself(array: np.ndarray) -> bool:
    """Whether two elements of an array may share memory, as along an axis of stride zero."""
    axes = sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
    reach = array.itemsize  # bytes that the axes so far span
    for stride, length in axes if array.size else ():
        if stride < reach:
            return True
        reach += stride * (length - 1)
    return False


def refuse_masks(value: Any, where: str) -> None:
    """Raise if an entry is masked: NumPy would hand on whatever lies under the mask."""
    if _has_masks(value, _DEEPEST):
        raise PhalanxError(
            f"{where} has masked entries, expected plain numbers; fill them, as with np.ma.filled(x, 0.0)."
        )


def _has_masks(value: Any, depth: int) -> bool:
    if isinstance(value, list | tuple):
        return depth > 0 and "numpy.ma" in sys.modules and any(_has_masks(x, depth - 1) for x in value)
    return is_masked_array(value) and bool(np.ma.is_masked(value))


def is_endless(value: Any, depth: int = _DEEPEST) -> bool:
    """Whether lists are nested deeper than arrays have axes; a list that contains itself is."""
    if not isinstance(value, list | tuple):
        return False
    return depth == 0 or any(is_endless(x, depth - 1) for x in value)


def require_memory(size: int, where: str, remedy: str) -> None:
    """Raise if `size` bytes are more than this machine has.

    The system would promise them, and end the process when it writes to them.
    """
    if size > (most := _memory()):
        raise PhalanxError(
            f"{where} would take {_amount(size)}, and this machine has {_amount(most)} of memory; {remedy}."
        )


@contextmanager
def memory_for(what: str, remedy: str) -> Iterator[None]:
    """Explain if allocating memory for something fails meanwhile."""
    try:
        yield
    except MemoryError:
        raise PhalanxError(f"{what}: there is not enough memory; {remedy}.") from None


def _memory() -> int:
    """Bytes of memory that this machine has; where that is not known, all that it can address."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return sys.maxsize


def _amount(size: int) -> str:
    return f"{size / 1e9:.3g} GB" if size < 10**300 else "more than any number of bytes"


class _PooledBlock:
    """A block of memory, and the address of its first cache line."""

    def __init__(self, size: int) -> None:
        self.memory = np.empty(size + _LINE, np.uint8)
        self.size = size
        address = self.memory.__array_interface__["data"][0]
        self.data = (address + -address % _LINE, False)  # address, and that it may be written


_spare: deque[_PooledBlock] = deque(maxlen=4)  # appending drops the oldest; both ends are thread-safe


class _Loan:
    """A block lent to a user's arrays; it returns to the pool when the last of them is deleted."""

    def __init__(self, block: _PooledBlock, shape: tuple[int, ...], typestr: str) -> None:
        self.block = block
        self.__array_interface__ = {"shape": shape, "typestr": typestr, "data": block.data, "version": 3}

    def __del__(self, give_back: Any = _spare.append) -> None:
        give_back(self.block)


def empty_result(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array for a result, its content arbitrary."""
    dtype = np.dtype(dtype)
    size = prod(shape) * dtype.itemsize
    if size > _LARGE:
        require_memory(size, f"a result of shape {shape}", "take the states in several batches")
    if not _MEDIUM <= size <= _LARGE:
        return np.empty(shape, dtype)
    return np.asarray(_Loan(_block(size), shape, dtype.str))


def _block(size: int) -> _PooledBlock:
    """A block of memory of `size` bytes or up to half as much again from the pool, or a new one."""
    for _ in range(len(_spare)):
        try:
            block = _spare.popleft()
        except IndexError:  # another thread was faster
            break
        if size <= block.size <= size + size // 2:
            return block
        _spare.append(block)
    return _PooledBlock(size)
