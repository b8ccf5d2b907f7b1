# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How many threads share a large batch."""

from __future__ import annotations

import os

import numpy as np

from ..errors import PhalanxError, shown

_threads: int | None = None


def set_threads(count: int | None) -> None:
    """Use at most `count` threads for large batches (None: all cores)."""
    global _threads
    _threads = None if count is None else positive(count, "set_threads")


def available_threads() -> int:
    """How many threads a large batch may use when nobody says otherwise."""
    if _threads is not None:
        return _threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def positive(count: object, where: str) -> int:
    """A number of threads, or an error naming the place."""
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise PhalanxError(f"{where}: got {shown(count)}, expected a positive whole number or None.")
    return int(count)
