# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Numbers from users: real ones, none of them masked, and no more of them than memory holds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .errors import PhalanxError, shown

MOST_AXES = 32  # of a batch: that NumPy broadcasts
_DEEPEST = 64  # axes of an array
# What reading a value as an array may raise; objects of other libraries raise what they like.
UNREADABLE = (TypeError, ValueError, OverflowError, RuntimeError)


def real_numbers(value: Any, where: str, expected: str) -> np.ndarray:
    """Return `value` as float64, or raise naming the place and what was expected."""
    array = real_or_none(value, where)
    if array is None:
        raise PhalanxError(f"{where}: got {shown(value)}, expected {expected}.")
    return array


def real_or_none(value: Any, where: str) -> np.ndarray | None:
    """Return `value` as float64, None where it is no array of real numbers; masked entries raise."""
    refuse_masks(value, where)
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O":  # fractions, whole numbers without end; NumPy would take None for NaN
            array = np.asarray(np.frompyfunc(float, 1, 1)(array))
        elif array.dtype.kind not in "fiub":
            raise TypeError
        return np.asarray(array, dtype=float)
    except UNREADABLE:
        return None


def float_type(value: Any, where: str) -> np.dtype:
    """Return float64 or float32 as NumPy's type, or raise naming the place."""
    try:
        kind = np.dtype(value)
    except UNREADABLE:
        kind = np.dtype(object)
    if kind not in (np.float64, np.float32):
        raise PhalanxError(f"{where}: dtype {shown(value)}, expected float64 or float32.")
    return kind


def is_masked_array(value: Any) -> bool:
    """Whether a value is a masked array, masked entries or not."""
    masked = sys.modules.get("numpy.ma")  # what was never imported made no array
    return masked is not None and isinstance(value, masked.MaskedArray)


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
    """Whether lists are nested deeper than an array can have axes, as one that holds itself."""
    if not isinstance(value, list | tuple):
        return False
    return depth == 0 or any(is_endless(x, depth - 1) for x in value)


def require_memory(size: int, where: str, remedy: str) -> None:
    """Raise if so many bytes are more than this machine has.

    The system would promise them, and end the process when it writes to them.
    """
    if size > (most := _memory()):
        raise PhalanxError(
            f"{where} would take {_amount(size)}, and this machine has {_amount(most)} of memory; {remedy}."
        )


@contextmanager
def memory_for(what: str, remedy: str) -> Iterator[None]:
    """Tell in our words if the memory for something ends meanwhile."""
    try:
        yield
    except MemoryError:
        raise PhalanxError(f"{what}: there is not enough memory; {remedy}.") from None


def _memory() -> int:
    """Bytes of memory that this machine has; where it does not tell, all that it can address."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return sys.maxsize


def _amount(size: int) -> str:
    return f"{size / 1e9:.3g} GB" if size < 10**300 else "more than any number of bytes"
